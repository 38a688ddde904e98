//! What the settings of a suite take that others do not: unions, names, and what is read with the whole suite in view.

use std::ops::Range;

use mcprove_check::negative_path::Probe;
use mcprove_score::gate::Expectation;
use mcprove_settings::kind::{Kind, one_of};
use mcprove_settings::reader::Reader;
use mcprove_settings::setting::{Setting, SettingType, Settings};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field, Node};
use serde_json::{Value, json};

use super::entry::settings;
use super::settings::{ProviderSettings, names_of};
use super::targets;
use super::variables::is_name as is_variable_name;
use crate::gates::{expectations_of, json as json_of};

/// An address, whose host is written out.
const ADDRESS_PATTERN: &str =
    "^([Hh][Tt][Tt][Pp]|[Ww][Ss])[Ss]?://([^/?#@$\\s]|\\$(?!\\{))+([/?#]|$)";
/// The name of a variable, about.
const VARIABLE_PATTERN: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// A word for yes or no, which is no reason.
const NO_REASON_PATTERN: &str = "^\\s*([Nn]|[Nn][Oo]|[Oo][Ff][Ff]|[Ff][Aa][Ll][Ss][Ee]|[Yy]|[Yy][Ee][Ss]|[Oo][Nn]|[Tt][Rr][Uu][Ee])?\\s*$";
/// What a target of a tool test begins with, or a variable.
const TARGET_PATTERN: &str =
    "^(result|error)([.\\[]|$)|^(is[_-]error|duration[_-]ms)$|^negative[_-]path[.\\[]|\\$\\{";

/// How model providers are spoken to.
pub const PROVIDERS: &[&str] = &["anthropic", "openai"];

pub(super) const ADDRESS: Kind = Kind::Other(
    "text",
    || json!({ "type": "string", "minLength": 1, "pattern": ADDRESS_PATTERN }),
);
pub(super) const TEXTS_BY_NAME: Kind = Kind::Other("map of texts", || {
    json!({
        "type": ["object", "null"],
        "additionalProperties": { "type": ["string", "integer", "boolean"] },
    })
});
pub(super) const SIZE: Kind = Kind::Other(
    "number of bytes, or text such as 64KiB",
    || json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "minLength": 1 }] }),
);
pub(super) const NAME_OR_NAMES: Kind = Kind::Other("name, or list of names", || {
    let names = json!({ "type": "array", "items": Kind::Text.schema(), "uniqueItems": true });
    json!({ "anyOf": [Kind::Text.schema(), names, { "type": "null" }] })
});
pub(super) const VARIABLES: Kind = Kind::Other(
    "map",
    || json!({ "type": ["object", "null"], "propertyNames": { "pattern": VARIABLE_PATTERN } }),
);
pub(super) const FAULTS: Kind = Kind::Other(
    "list of [faults](faults.md)",
    || json!({ "anyOf": [reference("faults"), { "type": "null" }] }),
);
pub(super) const FAULT_OR_FAULTS: Kind = Kind::Other("[fault](faults.md), or list of them", || {
    json!({ "anyOf": [
        Kind::Text.schema(),
        { "$ref": "#/$defs/faults/items" },
        reference("faults"),
        { "type": "null" },
    ] })
});
pub(super) const EXPECTATIONS: Kind = Kind::Other("list of `{target, matcher}`", || {
    json!({
        "type": "array",
        "items": { "allOf": [
            reference("expectation"),
            { "properties": { "target": { "pattern": TARGET_PATTERN } } },
        ] },
        "minItems": 1,
    })
});
pub(super) const SERVERS: Kind = Kind::Other(
    "map of [maps](#keys-of-a-server), by name",
    || json!({ "type": ["object", "null"], "additionalProperties": reference("server") }),
);
pub(super) const TOOLS: Kind = Kind::Other("list of [maps](#keys-of-a-tool-test)", || {
    list_of("tool_test")
});
pub(super) const AGENTS: Kind = Kind::Other("list of [maps](#keys-of-an-agent)", || {
    list_of("agent_test")
});
pub(super) const LOADS: Kind =
    Kind::Other("list of [maps](#keys-of-a-load)", || list_of("load_test"));
pub(super) const BUDGET: Kind = Kind::Other("[map](#keys-of-budget)", || reference("budget"));
pub(super) const NEGATIVE_PATH: Kind = Kind::Other("[map](#keys-of-negative_path)", || {
    reference("negative_path")
});
pub(super) const DEFAULTS: Kind = Kind::Other("[map](#keys-of-defaults)", || reference("defaults"));

/// As the section of this name of a load configuration.
macro_rules! load_section {
    ($constant:ident, $name:literal) => {
        pub(super) const $constant: Kind = Kind::Other(
            concat!("as [", $name, "] of a [load configuration](load-config.md)"),
            || reference(concat!("load_", $name)),
        );
    };
}
load_section!(LOAD_SCENARIO, "scenario");
load_section!(LOAD_THRESHOLDS, "thresholds");
load_section!(LOAD_FAULTS, "faults");
load_section!(LOAD_SESSION, "session");
load_section!(LOAD_PROTOCOL, "protocol");
load_section!(LOAD_OUTPUT, "output");

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn list_of(name: &str) -> Value {
    json!({ "type": ["array", "null"], "items": reference(name) })
}

/// A setting that is read with what stands around it, and only declared here.
#[derive(Debug, Default)]
pub(super) struct ReadElsewhere;

impl SettingType for ReadElsewhere {
    const KIND: Kind = Kind::Text;

    fn read(_: &mut Reader<'_>, _: &Field, _: &Setting) -> Option<Self> {
        None
    }
}

/// The words of a command: one text, or a list.
#[derive(Debug, Default)]
pub(super) struct CommandWords(pub Vec<String>);

const COMMAND_HINT: &str = "write [python, -m, my_mcp]";

/// The words of a command in one text, as a shell splits them; else what is wrong.
pub(super) fn split_words(text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|error| error.to_string())
}

impl SettingType for CommandWords {
    const KIND: Kind = Kind::Other("text, or list of texts", || {
        json!({ "anyOf": [
            Kind::Text.schema(),
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] })
    });

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let words = match &field.value.data {
            Data::List(_) => reader.texts_of(field)?,
            _ => match split_words(reader.text_of(field)?) {
                Ok(words) => words,
                Err(problem) => {
                    let message = format!("`command` cannot be split into words: {problem}");
                    let hint = format!("check the quotes, or write a list: {COMMAND_HINT}");
                    reader.problem(&field.value.span, message, hint);
                    return None;
                }
            },
        };
        let has_program = words.first().is_some_and(|word| !word.trim().is_empty());
        if !has_program {
            reader.problem(
                &field.value.span,
                "`command` names no program",
                COMMAND_HINT,
            );
        }
        has_program.then_some(Self(words))
    }
}

/// Names, each with its place: one text, or a list.
#[derive(Debug, Default)]
pub(super) struct Names(pub Vec<(String, Range<usize>)>);

impl Names {
    pub fn texts(self) -> Vec<String> {
        self.0.into_iter().map(|(name, _)| name).collect()
    }
}

impl SettingType for Names {
    const KIND: Kind = Kind::Other("list of names", || {
        let names = json!({ "type": "array", "items": Kind::Text.schema() });
        json!({ "anyOf": [names, Kind::Text.schema(), { "type": "null" }] })
    });

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let (key, hint) = (&field.name, "write [one, two]");
        let nodes = match &field.value.data {
            Data::Text(_) => std::slice::from_ref(&field.value),
            Data::Null => &[],
            _ => reader.list(field, hint),
        };
        let mut names: Vec<(String, Range<usize>)> = Vec::new();
        for node in nodes {
            let Some(name) = text_in(reader, node, key, "names", hint) else {
                continue;
            };
            if names.iter().any(|(known, _)| known == name) {
                let message = format!("{name:?} is in `{key}` twice");
                reader.problem(&node.span, message, "leave one of them out");
            } else {
                names.push((name.to_owned(), node.span.clone()));
            }
        }
        Some(Self(names))
    }
}

/// A text of a list that is not empty.
fn text_in<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    list: &str,
    what: &str,
    hint: &'static str,
) -> Option<&'n str> {
    let text = node.text().filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let found = node.text().map_or(node.kind(), |_| "an empty one");
        let message = format!("`{list}` must hold {what}, not {found}");
        reader.problem(&node.span, message, hint);
    }
    text
}

/// What an agent is asked, one after the other.
#[derive(Debug, Default)]
pub(super) struct Turns(pub Vec<String>);

impl SettingType for Turns {
    const KIND: Kind = Kind::Other(
        "list of texts, at least one",
        || json!({ "type": "array", "items": Kind::Text.schema(), "minItems": 1 }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let hint = "write what the user says, one text for each turn";
        let nodes = reader.list(field, hint);
        refuse_empty(reader, field, "so nothing is asked", hint);
        let texts = nodes
            .iter()
            .filter_map(|node| text_in(reader, node, &field.name, "texts", hint));
        Some(Self(texts.map(str::to_owned).collect()))
    }
}

/// A list with nothing in it.
fn refuse_empty(reader: &mut Reader<'_>, field: &Field, so: &str, hint: &'static str) {
    if matches!(&field.value.data, Data::List(nodes) if nodes.is_empty()) {
        let message = format!("`{}` is empty, {so}", field.name);
        reader.problem(&field.value.span, message, hint);
    }
}

/// Why a test is not run: a text, or false.
#[derive(Debug, Default)]
pub(super) struct Reason(pub String);

impl SettingType for Reason {
    const KIND: Kind = Kind::Other("text, or false", || {
        json!({ "anyOf": [
            { "type": "string", "minLength": 1, "not": { "pattern": NO_REASON_PATTERN } },
            { "const": false },
        ] })
    });

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        // YAML has only `true` and `false` for yes and no, so the other words arrive as texts.
        let word = match &field.value.data {
            Data::Boolean(false) => return None,
            Data::Boolean(true) => "true".to_owned(),
            Data::Text(reason) => reason.trim().to_ascii_lowercase(),
            _ => String::new(),
        };
        let hint = match word.as_str() {
            "" => "say why it is skipped, or leave it out",
            "no" | "n" | "off" | "false" => {
                "did you mean false? without quotes it does not skip; leave it out for the same"
            }
            "yes" | "y" | "on" | "true" => {
                "give a reason: `skip: the test account is not there yet`"
            }
            _ => return field.value.text().map(|reason| Self(reason.to_owned())),
        };
        reader.wrong(field, "the reason as a text, or false", hint);
        None
    }
}

/// How freely a model chooses its words.
#[derive(Debug, Default)]
pub(super) struct Temperature(pub f64);

impl SettingType for Temperature {
    const KIND: Kind = Kind::Other(
        "number, 0 to 2",
        || json!({ "type": "number", "minimum": 0, "maximum": 2 }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let is_allowed = |value| (0.0..=2.0).contains(&value);
        let value = reader.number_of(field, "a number from 0 to 2", is_allowed);
        value.map(Self)
    }
}

/// The arguments of a call.
#[derive(Debug)]
pub(super) struct CallArguments(pub Value);

impl Default for CallArguments {
    fn default() -> Self {
        Self(json!({}))
    }
}

impl SettingType for CallArguments {
    const KIND: Kind = Kind::Other("map", || json!({ "type": ["object", "null"] }));

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        match field.value.data {
            Data::Null => None,
            Data::Table(_) => json_of(reader, &field.value).map(Self),
            _ => {
                reader.wrong(field, "a map of arguments", "write { query: x }");
                None
            }
        }
    }
}

/// Which bad requests are made.
#[derive(Debug)]
pub(super) struct Checks(pub Vec<Probe>);

impl Default for Checks {
    fn default() -> Self {
        Self(Probe::ALL.to_vec())
    }
}

fn names_of_checks() -> Vec<&'static str> {
    Probe::ALL.map(Probe::name).to_vec()
}

impl SettingType for Checks {
    const KIND: Kind = Kind::SomeOf(names_of_checks);

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let hint = "leave it out for all of them";
        let nodes = reader.list(field, hint);
        refuse_empty(reader, field, "so nothing is checked", hint);
        let known = names_of_checks();
        let mut checks = Vec::new();
        for node in nodes {
            let probe = reader
                .choice_of(node, "checks", &known)
                .and_then(Probe::parse);
            checks.extend(probe.filter(|probe| !checks.contains(probe)));
        }
        Some(Self(checks))
    }
}

/// A table within a table, with settings of its own.
#[derive(Debug)]
pub(super) struct Nested<T>(pub T);

impl<T: Settings> Default for Nested<T> {
    fn default() -> Self {
        Self(T::initial())
    }
}

impl<T: Settings> SettingType for Nested<T> {
    const KIND: Kind = Kind::Text;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let label = format!("`{}`", field.name);
        let known = names_of::<T>();
        let node = table::spelled(reader, &field.value, &label, &known)?;
        let (settings, _) = settings(reader, &node, &label, &[]);
        Some(Self(settings))
    }
}

/// What must come of bad requests.
#[derive(Debug, Default)]
pub(super) struct NegativePathExpectations(pub Vec<Expectation>);

impl SettingType for NegativePathExpectations {
    const KIND: Kind = EXPECTATIONS;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let expectations = expectations_of(reader, field, &targets::resolve_of_negative_path);
        Some(Self(expectations))
    }
}

/// The address of a model provider.
#[derive(Debug, Default)]
pub(super) struct HttpAddress(pub String);

impl SettingType for HttpAddress {
    const KIND: Kind = Kind::Text;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let url = reader.text_of(field)?;
        let is_address = url.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
                && !rest.is_empty()
                && !rest.starts_with(['/', '?', '#'])
        });
        if !is_address {
            let hint = "use http:// or https://, such as http://127.0.0.1:11434";
            reader.wrong(field, "an http address", hint);
        }
        is_address.then(|| Self(url.to_owned()))
    }
}

/// The name of a variable of the environment, which has a secret.
#[derive(Debug, Default)]
pub(super) struct VariableName(pub String);

impl SettingType for VariableName {
    const KIND: Kind = Kind::Text;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let name = reader.text_of(field)?;
        if !is_variable_name(name) {
            // Whoever puts the key itself here should not see it again.
            let message = format!(
                "`{}` must be the name of a variable of the environment",
                field.name
            );
            let hint = "write OPENAI_API_KEY, and put the key into that variable";
            reader.secret_problem(&field.value.span, message, hint);
            return None;
        }
        Some(Self(name.to_owned()))
    }
}

impl SettingType for ProviderSettings {
    const KIND: Kind = Kind::Other(
        "one of anthropic, openai, or [map](#keys-of-provider)",
        || json!({ "anyOf": [one_of(PROVIDERS), reference("provider")] }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Self> {
        if matches!(field.value.data, Data::Text(_)) {
            let name = reader.choice_of(&field.value, &field.name, PROVIDERS)?;
            return Some(Self {
                kind: Some(name.to_owned()),
                ..Self::default()
            });
        }
        Nested::read(reader, field, setting).map(|table| table.0)
    }
}
