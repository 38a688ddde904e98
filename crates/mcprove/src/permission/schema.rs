//! What the arguments of a tool say that it does: acts to choose from, programs to run, files to write.

use mcprove_score::agent::words::tokens;
use mcprove_score::trace::verbs::{Effect, Form, Use, find};
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
const CHOICES: &str =
    "action actions operation operations op command cmd method mode verb task intent function do";
/// Names of arguments that are programs, whatever is said of them.
const PROGRAMS: &str =
    "sql command cmd commands shell script bash powershell javascript argv cypher mutation";
/// Names of arguments that are programs when the description says so.
const TEXTS: &str =
    "code query function expression statement statements queries program input source";
const LANGUAGES: &str =
    "sql cypher javascript js python shell bash command commands script code mutation sparql";
const FILES: &str = "path paths file files filename filepath dir directory folder";
const OUTPUTS: &str = "output out dest destination save target export download";

/// The first clue that speaks against a call, else a file, else nothing.
/// Of a tool that is said to only read, a switch counts where it has to be given.
pub(super) fn clue(schema: &Value, is_hinted: bool) -> Option<Clue> {
    let mut file = None;
    let mut open = vec![("", schema, true)];
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
                match describe(argument, value, is_required, is_hinted) {
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

/// What one argument says.
fn describe(argument: &str, schema: &Value, is_required: bool, is_hinted: bool) -> Option<Clue> {
    let name = tokens(argument);
    let named = |list: &str| name.iter().any(|word| is_in(list, word));
    let last_is = |list: &str| name.last().is_some_and(|word| is_in(list, word));
    let listed = schema
        .get("enum")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let mut values = listed
        .iter()
        .chain(schema.get("const"))
        .filter_map(Value::as_str);
    if let Some(value) = values.find(|value| is_act(value, last_is(CHOICES))) {
        return Some(Clue::Act {
            argument: argument.to_owned(),
            value: value.to_owned(),
        });
    }
    if argument.is_empty() || !listed.is_empty() || schema.get("const").is_some() {
        return None;
    }
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("string");
    if kind == "boolean" {
        return (is_switch(&name) && (is_required || !is_hinted)).then(|| Clue::Act {
            argument: argument.to_owned(),
            value: "true".to_owned(),
        });
    }
    if !matches!(kind, "string" | "array") {
        return None;
    }
    let description = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let words = tokens(
        description
            .get(..description.len().min(2000))
            .unwrap_or_default(),
    );
    let says = |list: &str| words.iter().any(|word| is_in(list, word));
    let runs = words
        .iter()
        .any(|word| find(word).is_some_and(|verb| verb.effect == Effect::Runs));
    if last_is(PROGRAMS)
        || (named(TEXTS) && says(LANGUAGES) && (runs || says("sql cypher mutation")))
    {
        return Some(Clue::Program(argument.to_owned()));
    }
    if last_is("pipeline") && kind == "array" {
        return Some(Clue::Program(argument.to_owned()));
    }
    let is_file = named(FILES) || says("path file filename");
    let is_written = named(OUTPUTS)
        || (last_is("filename") && !is_required && description.is_empty())
        || words.iter().any(|word| {
            find(word)
                .is_some_and(|verb| is_in("save write store download export overwrite", verb.lemma))
        });
    if named(FILES) && is_written || is_file && named("output out dest destination") {
        return Some(Clue::Output(argument.to_owned()));
    }
    named(FILES).then(|| Clue::File(argument.to_owned()))
}

/// Whether a value to choose names a write; where it chooses an act, nouns that can be verbs count.
fn is_act(value: &str, chooses: bool) -> bool {
    const OF_TIME: &str = "at by date time times timestamp asc desc";
    let words = tokens(value);
    let Some(verb) = words.first().and_then(|word| find(word)) else {
        return false;
    };
    let of_time = words.get(1).is_some_and(|word| is_in(OF_TIME, word));
    let counts = match verb.effect {
        Effect::Writes => verb.used == Use::Verb || chooses,
        Effect::Adds | Effect::Runs => chooses,
        Effect::Reads | Effect::Computes => false,
    };
    counts && matches!(verb.form, Form::Base | Form::Third) && !of_time
}

/// Whether a yes or no asks for a write: `clear`, `mark_as_read`.
fn is_switch(name: &[String]) -> bool {
    const HARMLESS: &str = "cache complete empty fix refresh sync update";
    let verb = name.first().and_then(|word| find(word));
    verb.is_some_and(|verb| {
        verb.effect == Effect::Writes
            && verb.form == Form::Base
            && verb.used != Use::NounOrVerb
            && !is_in(HARMLESS, verb.lemma)
    })
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
        !properties.is_empty() && properties.values().all(is_number)
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
}
