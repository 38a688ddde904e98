//! What the arguments of a tool say that it does: acts to choose from, programs to run, files to write.

use std::collections::BTreeSet;

use mcprove_arguments::is_safeguard;
use mcprove_trace::verbs::{Effect, Form, Use, find};
use mcprove_trace::words::tokens;
use serde_json::Value;

use super::prose::is_in;

/// How many values of a schema are looked at; a larger one is not known.
const VALUES_MAX: usize = 20_000;

/// What an argument says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Clue {
    /// One of the values that it can have names a write.
    Act { argument: String, value: String },
    /// It is a program, a command or a query in a language that can write.
    Program(String),
    /// It names a file to be written.
    Output(String),
    /// It names a file.
    File(String),
    /// The schema is too large to be read.
    TooLarge,
}

/// Names of arguments that choose what is done.
const CHOICES: &str = "act action actions operation operations op command cmd subcommand method mode verb task intent \
    function do power relay state";
/// Names of arguments that are programs, whatever is said of them.
const PROGRAMS: &str = "sql command cmd commands shell script bash powershell javascript argv cypher mutation exec program";
/// Languages that make an argument a program wherever they stand in its name: `sql_query`, `python_code`.
const LANGUAGE_NAMES: &str = "sql cypher javascript js python bash shell powershell graphql";
/// Names of arguments that are programs when the description says so.
const TEXTS: &str =
    "code query function expression statement statements queries program input source filter where";
const LANGUAGES: &str = "sql cypher javascript js python shell bash command commands script code mutation sparql graphql";
/// What is no program although a language stands before it.
const ABOUT: &str = "version type dialect id name path file enabled";
const FILES: &str = "path paths file files filename filepath dir directory folder";
const OUTPUTS: &str = "output out dest destination save target export download";

/// The first clue that speaks against a call, else a file, else nothing.
/// Of a tool that is said to only read, a switch counts where it has to be given.
pub(super) fn clue(schema: &Value, is_hinted: bool) -> Option<Clue> {
    let mut file = None;
    let mut open = vec![("", schema, true)];
    let mut followed = BTreeSet::new();
    let mut seen = 0;
    while let Some((argument, value, is_required)) = open.pop() {
        seen += 1;
        if seen > VALUES_MAX {
            return Some(Clue::TooLarge);
        }
        match value {
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (argument, item, is_required)));
            }
            Value::Object(map) => {
                let property = Property {
                    argument,
                    schema: value,
                    is_required,
                    is_hinted,
                };
                match property.clue() {
                    Some(Clue::File(name)) => file = file.or(Some(Clue::File(name))),
                    Some(clue) => return Some(clue),
                    None => {}
                }
                for (key, inner) in map {
                    match (key.as_str(), inner) {
                        ("properties", Value::Object(properties)) => {
                            let required = map.get("required").and_then(Value::as_array);
                            open.extend(properties.iter().map(|(name, inner)| {
                                let mut required = required.into_iter().flatten();
                                (name.as_str(), inner, required.any(|other| other == name))
                            }));
                        }
                        ("$ref", Value::String(reference)) => {
                            let target = reference.strip_prefix('#');
                            let target = target.and_then(|pointer| schema.pointer(pointer));
                            if followed.insert((argument, reference)) {
                                open.extend(target.map(|target| (argument, target, is_required)));
                            }
                        }
                        ("default" | "examples" | "description" | "title" | "required", _) => {}
                        _ => open.push((argument, inner, is_required)),
                    }
                }
            }
            _ => {}
        }
    }
    file
}

/// A part of a schema, with the argument that it is about.
struct Property<'a> {
    argument: &'a str,
    schema: &'a Value,
    is_required: bool,
    is_hinted: bool,
}

impl<'a> Property<'a> {
    /// What it says.
    fn clue(&self) -> Option<Clue> {
        let name = tokens(self.argument);
        let last_is = |list: &str| name.last().is_some_and(|word| is_in(list, word));
        if let Some(value) = self.act(last_is(CHOICES)) {
            return Some(self.to_act(value));
        }
        let is_listed = self.schema.get("enum").is_some() || self.schema.get("const").is_some();
        if self.argument.is_empty() {
            return None;
        }
        let counts = self.is_required || !self.is_hinted;
        if is_listed && !self.is_yes_or_no() {
            return (counts && is_write_name(&name)).then(|| self.to_act("any value"));
        }
        if self.has_kind("boolean") || self.is_yes_or_no() {
            if is_safeguard(self.argument) {
                return Some(self.to_act("false"));
            }
            let is_switch =
                is_switch(&name) || self.words().first().is_some_and(|word| is_write(word));
            return (counts && is_switch).then(|| self.to_act("true"));
        }
        let is_text = self.has_kind("string") || self.has_kind("array");
        let said = is_text.then(|| self.text_clue(&name)).flatten();
        match said {
            None | Some(Clue::File(_))
                if counts && (is_write_name(&name) || self.asks_for_write()) =>
            {
                Some(self.to_act("any value"))
            }
            said => said,
        }
    }

    /// A value that it can have, or is suggested, that names a write.
    fn act(&self, chooses: bool) -> Option<&'a str> {
        let mut values = Vec::new();
        for key in ["enum", "const", "default", "examples"] {
            add_texts(self.schema.get(key), &mut values);
        }
        let free = |key| self.schema.get(key).and_then(Value::as_str);
        if chooses {
            // `^(list|delete)$`, and words that stand for numbers.
            let pattern = free("pattern").unwrap_or_default();
            values.extend(pattern.split(['|', '(', ')', '^', '$', ':', '?']));
            let listed = self.schema.get("enum").is_some() || self.has_kind("boolean");
            let said = free("description").filter(|_| !listed).unwrap_or_default();
            let is_enumeration = said.contains([',', '|', '/']) || said.contains(" or ");
            if is_enumeration {
                values.extend(said.split([',', '|', '/', ' ', '(', ')', '"', '\'', '`', '.', ':']));
            }
        }
        if !self.argument.is_empty() {
            values.extend(free("title").filter(|_| self.schema.get("const").is_some()));
        }
        values.into_iter().find(|value| is_act(value, chooses))
    }

    fn to_act(&self, value: &str) -> Clue {
        Clue::Act {
            argument: self.argument.to_owned(),
            value: value.to_owned(),
        }
    }

    fn has_kind(&self, kind: &str) -> bool {
        match self.schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|other| other == kind),
            Some(other) => other == kind,
            None => kind == "string",
        }
    }

    /// Whether its values are the texts `true` and `false`.
    fn is_yes_or_no(&self) -> bool {
        let mut values = Vec::new();
        add_texts(self.schema.get("enum"), &mut values);
        let is_one = |value: &&str| is_in("true false yes no 0 1", &value.to_lowercase());
        !values.is_empty() && values.iter().all(is_one)
    }

    /// The words that describe it.
    fn words(&self) -> Vec<String> {
        let description = self.schema.get("description").and_then(Value::as_str);
        let description = description.unwrap_or_default();
        let end = description.floor_char_boundary(2000);
        tokens(description.get(..end).unwrap_or_default())
    }

    /// Whether it is described as what is written: "Message to send", "The record to create".
    fn asks_for_write(&self) -> bool {
        let words = self.words();
        let mut pairs = words.windows(2).take(6);
        pairs.any(|pair| {
            let posts = |word: &String| is_write(word) || is_in("post update upload share", word);
            pair.first().is_some_and(|word| word == "to") && pair.get(1).is_some_and(posts)
        })
    }

    /// What a text says: that it is a program, or a file.
    fn text_clue(&self, name: &[String]) -> Option<Clue> {
        let named = |list: &str| name.iter().any(|word| is_in(list, word));
        let last_is = |list: &str| name.last().is_some_and(|word| is_in(list, word));
        let words = self.words();
        let says = |list: &str| words.iter().any(|word| is_in(list, word));
        let runs = words
            .iter()
            .any(|word| find(word).is_some_and(|verb| verb.effect == Effect::Runs));
        let is_program = last_is(PROGRAMS)
            || (named(LANGUAGE_NAMES) && !last_is(ABOUT))
            || (named("command") && last_is("line args arguments"))
            || (named(TEXTS) && says(LANGUAGES) && (runs || says("sql cypher mutation graphql")))
            || (named("expression filter where") && says("python javascript js"))
            || words
                .windows(3)
                .any(|said| said[0] == "command" && said[1] == "to" && runs)
            || (last_is("pipeline") && self.has_kind("array"))
            || self.suggests_sql();
        if is_program {
            return Some(Clue::Program(self.argument.to_owned()));
        }
        let is_file = named(FILES) || says("path file filename");
        let is_written = named(OUTPUTS)
            || (last_is("filename") && !self.is_required && words.is_empty())
            || words.iter().any(|word| {
                find(word).is_some_and(|verb| {
                    is_in("save write store download export overwrite", verb.lemma)
                })
            });
        if named(FILES) && is_written || is_file && named("output out dest destination") {
            return Some(Clue::Output(self.argument.to_owned()));
        }
        named(FILES).then(|| Clue::File(self.argument.to_owned()))
    }

    /// Whether a suggested value is SQL that writes.
    fn suggests_sql(&self) -> bool {
        const WRITES: [&str; 5] = [
            "drop ",
            "delete from",
            "insert into",
            "truncate ",
            "alter table",
        ];
        let mut values = Vec::new();
        add_texts(self.schema.get("default"), &mut values);
        add_texts(self.schema.get("examples"), &mut values);
        let is_sql = |value: &str| {
            let value = value.to_lowercase();
            WRITES.iter().any(|words| value.contains(words))
        };
        values.into_iter().any(is_sql)
    }
}

/// Every text in a value.
fn add_texts<'a>(value: Option<&'a Value>, texts: &mut Vec<&'a str>) {
    match value {
        Some(Value::String(text)) => texts.push(text),
        Some(Value::Array(items)) => items.iter().for_each(|item| add_texts(Some(item), texts)),
        Some(Value::Object(members)) => {
            members
                .values()
                .for_each(|member| add_texts(Some(member), texts));
        }
        _ => {}
    }
}

/// Whether a value to choose names a write; where it chooses an act, any word and nouns that can be verbs count.
fn is_act(value: &str, chooses: bool) -> bool {
    const OF_TIME: &str = "at by date time times timestamp asc desc";
    let words = tokens(value);
    if chooses && (is_in("on off", &value.to_lowercase())) {
        return true;
    }
    // A long text is a sentence, of which only an order counts.
    let considered = if words.len() <= 4 { words.len() } else { 1 };
    words.iter().take(considered).enumerate().any(|(at, word)| {
        let Some(verb) = find(word) else { return false };
        let of_time = words.get(at + 1).is_some_and(|word| is_in(OF_TIME, word));
        let counts = match verb.effect {
            Effect::Writes => verb.used == Use::Verb || (chooses && at == 0),
            Effect::Adds | Effect::Runs => chooses && at == 0,
            Effect::Reads | Effect::Computes => false,
        };
        counts && matches!(verb.form, Form::Base | Form::Third) && !of_time
    })
}

/// Whether a yes or no asks for a write: `clear`, `mark_as_read`, `auto_remove`.
fn is_switch(name: &[String]) -> bool {
    const HARMLESS: &str = "cache complete empty refresh sync update";
    const SHOWS: &str = "include includes with show has is only list return can allow was without exclude skip ignore";
    const OTHERS: &str = "ack autofix confirm consume permanent permanently yes";
    if name.first().is_some_and(|word| is_in(SHOWS, word)) {
        return false;
    }
    name.iter().enumerate().any(|(at, word)| {
        let verb = find(word).filter(|verb| {
            verb.effect == Effect::Writes
                && verb.form == Form::Base
                && (verb.used == Use::Verb || (at == 0 && verb.used == Use::VerbOrNoun))
                && !is_in(HARMLESS, verb.lemma)
        });
        verb.is_some() || is_in(OTHERS, word)
    })
}

/// Whether an argument of this name is something to write: `delete_id`, `new_name`, `replacement`.
fn is_write_name(name: &[String]) -> bool {
    const SENDS: &str = "webhook callback body payload replacement";
    let first = name.first();
    let is_time = name
        .last()
        .is_some_and(|word| is_in("at time date by after before", word));
    let is_new = name.len() > 1 && first.is_some_and(|word| is_in("new desired set", word));
    let is_sent = first.is_some_and(|word| is_in(SENDS, word))
        || name.starts_with(&["email".to_owned(), "to".to_owned()]);
    let is_given = name
        .windows(2)
        .any(|pair| pair[0] == "to" && is_write(&pair[1]));
    (first.is_some_and(|word| is_write(word)) && !is_time) || is_new || is_sent || is_given
}

/// Whether a word is a verb that writes, in its base form.
fn is_write(word: &str) -> bool {
    find(word).is_some_and(|verb| {
        verb.effect == Effect::Writes && verb.used == Use::Verb && verb.form == Form::Base
    })
}

/// The argument that is a query in a language that is not named; of a tool that queries, it decides what is done.
pub(super) fn query(schema: &Value) -> Option<&str> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    let is_query = |(name, schema): &(&String, &Value)| {
        let property = Property {
            argument: name,
            schema,
            is_required: true,
            is_hinted: false,
        };
        let is_search = |word: &String| {
            is_in(
                "search term terms keyword keywords text question natural language find match name",
                word,
            )
        };
        let is_named = tokens(name)
            .last()
            .is_some_and(|word| is_in("q query statement", word));
        is_named && property.has_kind("string") && !property.words().iter().any(is_search)
    };
    let mut properties = properties.iter();
    properties.find(is_query).map(|(name, _)| name.as_str())
}

/// Whether every argument is a number, and there is one.
pub(super) fn has_numbers_only(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| {
        let is_number = |schema: &Value| {
            let items = schema.get("items").unwrap_or(schema);
            matches!(
                items.get("type").and_then(Value::as_str),
                Some("number" | "integer")
            )
        };
        // What is counted or owned is no mere number.
        let is_thing = |name: &String| {
            let words = tokens(name);
            words
                .iter()
                .any(|word| is_in("id ids account user item quantity amount stock", word))
        };
        let is_thing = properties.keys().any(is_thing);
        !properties.is_empty() && !is_thing && properties.values().all(is_number)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_that_act_run_or_write_are_found() {
        let of = |properties: Value| {
            clue(
                &json!({ "type": "object", "properties": properties }),
                false,
            )
        };
        assert!(matches!(
            of(json!({"action": {"enum": ["list", "create"]}})),
            Some(Clue::Act { .. })
        ));
        assert!(matches!(
            of(
                json!({"a": {"properties": {"mode": {"anyOf": [{"const": "dry_run"}, {"const": "apply"}]}}}})
            ),
            Some(Clue::Act { .. })
        ));
        assert!(matches!(
            of(json!({"method": {"enum": ["GET", "POST"]}})),
            Some(Clue::Act { .. })
        ));
        assert_eq!(
            of(json!({"sort": {"enum": ["created", "updated", "create_time"]}})),
            None
        );
        assert_eq!(
            of(json!({"kind": {"enum": ["commit", "post", "tag"]}})),
            None
        );
        assert!(matches!(
            of(json!({"sql": {"type": "string"}})),
            Some(Clue::Program(_))
        ));
        let query = json!({"query": {"type": "string", "description": "SQL to execute"}});
        assert!(matches!(of(query), Some(Clue::Program(_))));
        assert_eq!(
            of(json!({"query": {"type": "string", "description": "What to look for"}})),
            None
        );
        assert_eq!(
            of(json!({"code": {"type": "string", "description": "Currency code"}})),
            None
        );
        let saved = json!({"filename": {"type": "string", "description": "File to save the screenshot to"}});
        assert!(matches!(of(saved), Some(Clue::Output(_))));
        assert!(matches!(
            of(json!({"output_path": {"type": "string"}})),
            Some(Clue::Output(_))
        ));
        assert!(matches!(
            of(json!({"path": {"type": "string"}})),
            Some(Clue::File(_))
        ));
        let large = json!({"a": {"enum": vec!["x"; VALUES_MAX]}});
        assert_eq!(of(large), Some(Clue::TooLarge));
    }

    #[test]
    fn names_defaults_references_and_switches_are_read() {
        let of = |properties: Value| clue(&json!({ "properties": properties }), false);
        let acts = |properties: Value| matches!(of(properties), Some(Clue::Act { .. }));
        for properties in [
            json!({"action": {"type": "string", "default": "delete"}}),
            json!({"op": {"type": "string", "examples": ["delete", "purge"]}}),
            json!({"request": {"type": "object", "examples": [{"op": "delete"}]}}),
            json!({"action": {"type": "string", "pattern": "^(list|delete)$"}}),
            json!({"action": {"type": "string", "description": "list, create or delete"}}),
            json!({"action": {"enum": ["list", "bulk-remove"]}}),
            json!({"power": {"enum": ["on", "off"]}}),
            json!({"dry_run": {"type": "boolean"}}),
            json!({"no_op": {"type": "boolean"}, "preview": {"type": ["boolean", "null"]}}),
            json!({"auto_remove": {"type": "boolean"}}),
            json!({"purge": {"type": ["boolean", "null"]}}),
            json!({"purge": {"type": "integer"}}),
            json!({"purge": {"enum": ["true", "false"]}}),
            json!({"delete_id": {"type": "integer"}}),
            json!({"new_name": {"type": "string"}}),
            json!({"amount_to_send": {"type": "number"}}),
            json!({"text": {"type": "string", "description": "The message to send"}}),
            json!({"x": {"type": "string", "description": "Text to post to the channel"}}),
            json!({"flag": {"type": "boolean", "description": "Delete the items after reading"}}),
            json!({"kind": {"enum": ["list", "all_delete"]}}),
            json!({"desired_state": {"enum": ["started", "stopped"], "type": "string"}}),
            json!({"confirm": {"type": "boolean"}}),
            json!({"webhook_url": {"type": "string"}}),
            json!({"email_to": {"type": "string"}}),
        ] {
            assert!(acts(properties.clone()), "{properties}");
        }
        let referred = json!({
            "$defs": {"Action": {"enum": ["list", "post", "drop"]}, "Tree": {"properties": {"a": {"$ref": "#/$defs/Tree"}}}},
            "properties": {"action": {"$ref": "#/$defs/Action"}, "tree": {"$ref": "#/$defs/Tree"}}
        });
        assert!(matches!(clue(&referred, false), Some(Clue::Act { .. })));
        for name in [
            "sql_query",
            "python_code",
            "command_line",
            "exec",
            "program",
            "graphql",
        ] {
            let found = of(json!({ name: {"type": "string"} }));
            assert!(matches!(found, Some(Clue::Program(_))), "{name}");
        }
        let long = format!("{}é SQL to execute", "x ".repeat(990));
        let found = of(json!({"query": {"type": "string", "description": long}}));
        assert!(matches!(found, Some(Clue::Program(_))));
        let injected = json!({"where": {"type": "string", "default": "1=1; DROP TABLE users"}});
        assert!(matches!(of(injected), Some(Clue::Program(_))));
        for properties in [
            json!({"include_deleted": {"type": "boolean"}}),
            json!({"only_open": {"type": "boolean"}}),
            json!({"created_after": {"type": "string"}}),
            json!({"mode": {"enum": ["fast", "deep"]}}),
            json!({"python_version": {"type": "string"}}),
            json!({"query": {"type": "string", "examples": ["how to create a bucket"]}}),
            json!({"limit": {"type": "integer", "description": "How many to return"}}),
        ] {
            assert_eq!(of(properties.clone()), None, "{properties}");
        }
    }
}
