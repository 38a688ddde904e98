//! What the arguments of a tool say that it does: acts to choose from, programs to run, files to write.

use mcprove_arguments::is_safeguard;
use mcprove_trace::verbs::{Effect, Form, Use, find};

use super::Reason;
use super::words::is_in;
use crate::prelude::*;

/// How many values of a schema are looked at; a larger one is not known.
const VALUES_MAX: usize = 20_000;
/// How much of a description is read.
const DESCRIPTION_BYTES_MAX: usize = 2000;

/// The first argument that is a file, or the reason that speaks against a call.
/// Of a tool that is said to only read, a switch counts where it has to be given.
pub fn find_file(schema: &Value, is_hinted: bool) -> Result<Option<String>, Reason> {
    let mut file = None;
    let mut open = vec![("", schema, true)];
    let mut followed = BTreeSet::new();
    let mut seen = 0;
    while let Some((argument, value, is_required)) = open.pop() {
        seen += 1;
        if seen > VALUES_MAX {
            return Err(Reason::TooLong);
        }
        match value {
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (argument, item, is_required)));
            }
            Value::Object(map) => {
                let found =
                    Property::new(argument, value, is_required).file(is_required || !is_hinted)?;
                file = file.or_else(|| found.then(|| argument.to_owned()));
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
    Ok(file)
}

/// A part of a schema, with the argument that it is about.
struct Property<'a> {
    argument: &'a str,
    /// The words of the argument's name.
    name: Vec<String>,
    /// The words that describe it.
    words: Vec<String>,
    schema: &'a Value,
    is_required: bool,
}

/// The arguments of a tool.
fn arguments(schema: &Value) -> impl Iterator<Item = Property<'_>> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| Property::new(name, schema, true))
}

impl<'a> Property<'a> {
    fn new(argument: &'a str, schema: &'a Value, is_required: bool) -> Self {
        let description = schema["description"].as_str().unwrap_or_default();
        let end = description.floor_char_boundary(DESCRIPTION_BYTES_MAX);
        Self {
            argument,
            name: tokens(argument),
            words: tokens(description.get(..end).unwrap_or_default()),
            schema,
            is_required,
        }
    }

    fn is_named(&self, list: &str) -> bool {
        self.name.iter().any(|word| is_in(list, word))
    }

    fn first_is(&self, list: &str) -> bool {
        self.name.first().is_some_and(|word| is_in(list, word))
    }

    fn last_is(&self, list: &str) -> bool {
        self.name.last().is_some_and(|word| is_in(list, word))
    }

    fn says(&self, list: &str) -> bool {
        self.words.iter().any(|word| is_in(list, word))
    }

    /// Whether it is a file; or the reason why it speaks against a call, where a switch counts if `counts`.
    fn file(&self, counts: bool) -> Result<bool, Reason> {
        let refuse = |value: &str| {
            Err(Reason::Act {
                argument: self.argument.to_owned(),
                value: value.to_owned(),
            })
        };
        if let Some(value) = self.act() {
            return refuse(value);
        }
        if self.argument.is_empty() {
            return Ok(false);
        }
        let is_write_name = counts && self.has_write_name();
        let is_switch = self.is_yes_or_no();
        if self.is_listed() && !is_switch {
            return if is_write_name {
                refuse("any value")
            } else {
                Ok(false)
            };
        }
        if self.has_kind("boolean") || is_switch {
            if is_safeguard(self.argument) {
                return refuse("false");
            }
            let asks = self.words.first().is_some_and(|word| is_write(word));
            let writes = counts && (self.is_writing_switch() || asks);
            return if writes { refuse("true") } else { Ok(false) };
        }
        let is_text = self.has_kind("string") || self.has_kind("array");
        let is_file = is_text && self.is_file()?;
        if is_write_name || counts && self.asks_for_write() {
            return refuse("any value");
        }
        Ok(is_file)
    }

    /// Whether its values are listed.
    fn is_listed(&self) -> bool {
        self.schema.get("enum").is_some() || self.schema.get("const").is_some()
    }

    /// A value that it can have, or is suggested, that names a write.
    fn act(&self) -> Option<&'a str> {
        let chooses = self.last_is("CHOICES");
        let mut values = self.texts(&["enum", "const", "default", "examples"]);
        let free = |key| self.schema[key].as_str();
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

    fn has_kind(&self, kind: &str) -> bool {
        match self.schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(|other| other == kind),
            Some(other) => other == kind,
            None => kind == "string",
        }
    }

    /// Every text in the values of these keywords.
    fn texts(&self, keywords: &[&str]) -> Vec<&'a str> {
        let mut texts = Vec::new();
        for keyword in keywords {
            add_texts(self.schema.get(keyword), &mut texts);
        }
        texts
    }

    /// Whether its values are the texts `true` and `false`.
    fn is_yes_or_no(&self) -> bool {
        let values = self.texts(&["enum"]);
        let is_one = |value: &&str| is_in("true false yes no 0 1", &value.to_lowercase());
        !values.is_empty() && values.iter().all(is_one)
    }

    /// Whether it is described as what is written: "Message to send", "The record to create".
    fn asks_for_write(&self) -> bool {
        let posts = |word: &str| is_write(word) || is_in("post update upload share", word);
        let mut pairs = self.words.windows(2).take(6);
        pairs.any(|pair| pair[0] == "to" && posts(&pair[1]))
    }

    /// Whether a text is a file that is read; an error if it is a program, or a file that is written.
    fn is_file(&self) -> Result<bool, Reason> {
        let has_verb = |is_one: fn(Effect, &str) -> bool| {
            let mut verbs = self.words.iter().filter_map(|word| find(word));
            verbs.any(|verb| is_one(verb.effect, verb.lemma))
        };
        let runs = has_verb(|effect, _| effect == Effect::Runs);
        let mut pairs = self.words.windows(3);
        let is_program = self.last_is("PROGRAMS")
            || (self.is_named("LANGUAGE_NAMES") && !self.last_is("ABOUT"))
            || (self.is_named("command") && self.last_is("line args arguments"))
            || (self.is_named("TEXTS")
                && self.says("LANGUAGES")
                && (runs || self.says("sql cypher mutation graphql")))
            || (self.is_named("expression filter where") && self.says("python javascript js"))
            || pairs.any(|said| said[0] == "command" && said[1] == "to" && runs)
            || (self.last_is("pipeline") && self.has_kind("array"))
            || self.suggests_sql();
        if is_program {
            return Err(Reason::Program(self.argument.to_owned()));
        }
        let is_file = self.is_named("FILES");
        let is_written = self.is_named("OUTPUTS")
            || (self.last_is("filename") && !self.is_required && self.words.is_empty())
            || has_verb(|_, lemma| is_in("save write store download export overwrite", lemma));
        let is_output = self.is_named("output out dest destination");
        if is_file && (is_written || is_output) || is_output && self.says("path file filename") {
            return Err(Reason::Output(self.argument.to_owned()));
        }
        Ok(is_file)
    }

    /// Whether a suggested value is SQL that writes.
    fn suggests_sql(&self) -> bool {
        const WRITES: &str = "drop |delete from|insert into|truncate |alter table";
        self.texts(&["default", "examples"]).iter().any(|value| {
            let value = value.to_lowercase();
            WRITES.split('|').any(|words| value.contains(words))
        })
    }

    /// Whether a yes or no asks for a write: `clear`, `mark_as_read`, `auto_remove`.
    fn is_writing_switch(&self) -> bool {
        let writes = |(at, word): (usize, &String)| {
            let verb = find(word).filter(|verb| {
                verb.effect == Effect::Writes
                    && verb.form == Form::Base
                    && (verb.used == Use::Verb || (at == 0 && verb.used == Use::VerbOrNoun))
                    && !is_in("HARMLESS_SWITCHES", verb.lemma)
            });
            verb.is_some() || is_in("WRITING_SWITCHES", word)
        };
        !self.first_is("SHOWS") && self.name.iter().enumerate().any(writes)
    }

    /// Whether an argument of this name is something to write: `delete_id`, `new_name`, `replacement`.
    fn has_write_name(&self) -> bool {
        let is_write_first = self.name.first().is_some_and(|word| is_write(word));
        let mut pairs = self.name.windows(2);
        (is_write_first && !self.last_is("at time date by after before"))
            || (self.name.len() > 1 && self.first_is("new desired set"))
            || self.first_is("SENT")
            || self
                .name
                .starts_with(&["email".to_owned(), "to".to_owned()])
            || pairs.any(|pair| pair[0] == "to" && is_write(&pair[1]))
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
    let words = tokens(value);
    if chooses && (is_in("on off", &value.to_lowercase())) {
        return true;
    }
    // A long text is a sentence, of which only an order counts.
    let considered = if words.len() <= 4 { words.len() } else { 1 };
    words.iter().take(considered).enumerate().any(|(at, word)| {
        let Some(verb) = find(word) else { return false };
        let of_time = words
            .get(at + 1)
            .is_some_and(|word| is_in("at by date time times timestamp asc desc", word));
        let counts = match verb.effect {
            Effect::Writes => verb.used == Use::Verb || (chooses && at == 0),
            Effect::Adds | Effect::Runs => chooses && at == 0,
            Effect::Reads | Effect::Computes => false,
        };
        counts && matches!(verb.form, Form::Base | Form::Third) && !of_time
    })
}

/// Whether a word is a verb that writes, in its base form.
fn is_write(word: &str) -> bool {
    find(word).is_some_and(|verb| {
        verb.effect == Effect::Writes && verb.used == Use::Verb && verb.form == Form::Base
    })
}

/// The argument that is a query in a language that is not named; of a tool that queries, it decides what is done.
pub fn query(schema: &Value) -> Option<String> {
    let is_query = |property: &Property<'_>| {
        property.last_is("q query statement")
            && property.has_kind("string")
            && !property.says("SEARCH")
    };
    let found = arguments(schema).find(is_query)?;
    Some(found.argument.to_owned())
}

/// Whether an argument is a text that may be a program.
pub fn takes_text(schema: &Value) -> bool {
    arguments(schema).any(|property| {
        let kind = property.schema.get("type");
        kind.is_none_or(|kind| kind == "string")
            && !property.last_is("NAMING")
            && !property.is_listed()
    })
}

/// Whether an argument names a thing that the server keeps, such as a layer or a range of a sheet.
pub fn names_thing(schema: &Value) -> bool {
    arguments(schema).any(|property| {
        property.is_named("THINGS") || (property.name.len() > 1 && property.last_is("id"))
    })
}

/// Whether every argument is a number, and there is one.
pub fn has_numbers_only(schema: &Value) -> bool {
    let is_number = |property: Property<'_>| {
        let items = property.schema.get("items").unwrap_or(property.schema);
        matches!(items["type"].as_str(), Some("number" | "integer")) && !property.is_named("OWNED")
    };
    let mut properties = arguments(schema).peekable();
    properties.peek().is_some() && properties.all(is_number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_that_act_run_or_write_are_found() {
        let of = |properties: Value| {
            find_file(
                &json!({ "type": "object", "properties": properties }),
                false,
            )
        };
        assert!(matches!(
            of(json!({"action": {"enum": ["list", "create"]}})),
            Err(Reason::Act { .. })
        ));
        assert!(matches!(
            of(
                json!({"a": {"properties": {"mode": {"anyOf": [{"const": "dry_run"}, {"const": "apply"}]}}}})
            ),
            Err(Reason::Act { .. })
        ));
        assert!(matches!(
            of(json!({"method": {"enum": ["GET", "POST"]}})),
            Err(Reason::Act { .. })
        ));
        assert_eq!(
            of(json!({"sort": {"enum": ["created", "updated", "create_time"]}})),
            Ok(None)
        );
        assert_eq!(
            of(json!({"kind": {"enum": ["commit", "post", "tag"]}})),
            Ok(None)
        );
        assert!(matches!(
            of(json!({"sql": {"type": "string"}})),
            Err(Reason::Program(_))
        ));
        let query = json!({"query": {"type": "string", "description": "SQL to execute"}});
        assert!(matches!(of(query), Err(Reason::Program(_))));
        assert_eq!(
            of(json!({"query": {"type": "string", "description": "What to look for"}})),
            Ok(None)
        );
        assert_eq!(
            of(json!({"code": {"type": "string", "description": "Currency code"}})),
            Ok(None)
        );
        let saved = json!({"filename": {"type": "string", "description": "File to save the screenshot to"}});
        assert!(matches!(of(saved), Err(Reason::Output(_))));
        assert!(matches!(
            of(json!({"output_path": {"type": "string"}})),
            Err(Reason::Output(_))
        ));
        assert!(matches!(
            of(json!({"path": {"type": "string"}})),
            Ok(Some(_))
        ));
        let large = json!({"a": {"enum": vec!["x"; VALUES_MAX]}});
        assert_eq!(of(large), Err(Reason::TooLong));
    }

    #[test]
    fn names_defaults_references_and_switches_are_read() {
        let of = |properties: Value| find_file(&json!({ "properties": properties }), false);
        let acts = |properties: Value| matches!(of(properties), Err(Reason::Act { .. }));
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
        assert!(matches!(
            find_file(&referred, false),
            Err(Reason::Act { .. })
        ));
        for name in [
            "sql_query",
            "python_code",
            "command_line",
            "exec",
            "program",
            "graphql",
        ] {
            let found = of(json!({ name: {"type": "string"} }));
            assert!(matches!(found, Err(Reason::Program(_))), "{name}");
        }
        let long = format!("{}é SQL to execute", "x ".repeat(990));
        let found = of(json!({"query": {"type": "string", "description": long}}));
        assert!(matches!(found, Err(Reason::Program(_))));
        let injected = json!({"where": {"type": "string", "default": "1=1; DROP TABLE users"}});
        assert!(matches!(of(injected), Err(Reason::Program(_))));
        for properties in [
            json!({"include_deleted": {"type": "boolean"}}),
            json!({"only_open": {"type": "boolean"}}),
            json!({"created_after": {"type": "string"}}),
            json!({"mode": {"enum": ["fast", "deep"]}}),
            json!({"python_version": {"type": "string"}}),
            json!({"query": {"type": "string", "examples": ["how to create a bucket"]}}),
            json!({"limit": {"type": "integer", "description": "How many to return"}}),
        ] {
            assert_eq!(of(properties.clone()), Ok(None), "{properties}");
        }
    }
}
