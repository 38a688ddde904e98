//! What the settings of a suite take that others do not: unions, names, and what is read with the whole suite in view.

#![expect(
    clippy::unnecessary_wraps,
    reason = "a row of the table of types reads into an option"
)]
use std::sync::LazyLock;

use mcprove_fault::file::{Item, read_list};
use mcprove_load::config::CommandWords;
use mcprove_settings::kind::{Kind, number};

use super::settings::ProviderSettings;
use super::variables::is_name;
use crate::gates::expectations_of;
use crate::prelude::*;

/// One of the model providers, by its name.
pub const PROVIDER: Kind = Kind::OneOf(provider::NAMES);

/// The schemas of kinds by name.
static SCHEMAS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("kinds.json")).unwrap_or_default());

/// The schema of a kind: one of `kinds.json`, or a definition of the schema of suites.
pub fn schema_of(name: &str) -> Value {
    SCHEMAS
        .get(name)
        .cloned()
        .unwrap_or_else(|| reference(name))
}

pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Kinds: the words of each, and the name of its schema.
macro_rules! kinds {
    ($($kind:ident: $words:literal, $schema:literal;)*) => {
        $(pub const $kind: Kind = Kind::Other($words, || schema_of($schema));)*
    };
}

kinds! {
    ADDRESS: "text", "address";
    AGENTS: "list of [maps](#keys-of-an-agent)", "agents";
    ARGUMENTS: "map", "arguments";
    BUDGET: "[map](#keys-of-budget)", "budget";
    DEFAULTS: "[map](#keys-of-defaults)", "defaults";
    EXPECTATIONS: "list of `{target, matcher}`", "expectations";
    FAULTS: "list of [faults](faults.md)", "list_of_faults";
    FAULT_OR_FAULTS: "[fault](faults.md), or list of them", "fault_or_faults";
    LOADS: "list of [maps](#keys-of-a-load)", "loads";
    NAMES: "name, or list of names", "names";
    NEGATIVE_PATH: "[map](#keys-of-negative_path)", "negative_path";
    REASON: "text, or false", "reason";
    SERVERS: "map of [maps](#keys-of-a-server), by name", "servers";
    TOOLS: "list of [maps](#keys-of-a-tool-test)", "tools";
    TURNS: "list of texts, at least one", "turns";
    VARIABLES: "map", "variables";
}

/// How freely a model chooses its words.
pub const TEMPERATURE: Kind = number("number from 0 to 2", "NUMBER", 0.0..=2.0, (false, false));

/// A setting that is read with what stands around it, and only declared here.
#[derive(Debug, Default)]
pub struct ReadElsewhere;

impl SettingType for ReadElsewhere {
    const KIND: Kind = Kind::Text;

    fn read(_: &mut Reader<'_>, _: &Field, _: &Setting) -> Option<Self> {
        None
    }
}

/// Types of settings around other types: what each takes, and its reader.
macro_rules! types {
    ($($type:ident($inner:ty): $kind:expr, $read:ident;)*) => {
        $(
            #[derive(Debug, Default)]
            pub struct $type(pub $inner);

            impl SettingType for $type {
                const KIND: Kind = $kind;

                fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
                    $read(reader, field).map(Self)
                }
            }
        )*
    };
}

types! {
    ShellWords(CommandWords): CommandWords::KIND, shell_words;
    Names(Vec<(String, Range<usize>)>): NAMES, names;
    Turns(Vec<String>): TURNS, turns;
    Reason(String): REASON, reason;
    MockFaults(Vec<Item>): FAULT_OR_FAULTS, mock_faults;
    CallArguments(Map<String, Value>): ARGUMENTS, call_arguments;
    Checks(Vec<Probe>): Kind::SomeOf(names_of_checks), checks;
    NegativePathExpectations(Vec<Expectation>): EXPECTATIONS, negative_path_expectations;
    Address(String): ADDRESS, text;
    HttpAddress(String): Kind::Text, http_address;
    VariableName(String): Kind::Text, variable_name;
}

fn text(reader: &mut Reader<'_>, field: &Field) -> Option<String> {
    reader.text_of(field).map(str::to_owned)
}

/// The words of a command in one text, as a shell splits them; else what is wrong.
pub fn split_words(text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|error| error.to_string())
}

/// The words of a command: one text, which is split, or a list.
fn shell_words(reader: &mut Reader<'_>, field: &Field) -> Option<CommandWords> {
    let mut field = field.clone();
    if let Data::Text(text) = &field.value.data {
        match split_words(text) {
            Ok(words) => field.value.data = Data::texts(words),
            Err(problem) => {
                let message = sentence!("`command` cannot be split into words: {problem}");
                let hint = "check the quotes, or write a list: [python, -m, my_mcp]";
                reader.problem(&field.value.span, message, hint);
                return None;
            }
        }
    }
    CommandWords::read(reader, &field, &Setting::BARE)
}

/// What the calls of a mock meet: one fault, or a list.
fn mock_faults(reader: &mut Reader<'_>, field: &Field) -> Option<Vec<Item>> {
    let mut list = field.clone();
    if matches!(field.value.data, Data::Text(_) | Data::Table(_)) {
        list.value.data = Data::List(vec![field.value.clone()]);
    }
    Some(read_list(reader, &list, &[]))
}

impl Names {
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// Names, each with its place: one text, or a list.
fn names(reader: &mut Reader<'_>, field: &Field) -> Option<Vec<(String, Range<usize>)>> {
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
            let message = sentence!("{name:?} is in `{key}` twice");
            reader.problem(&node.span, message, "leave one of them out");
        } else {
            names.push((name.to_owned(), node.span.clone()));
        }
    }
    Some(names)
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
        let message = sentence!("`{list}` must hold {what}, not {found}");
        reader.problem(&node.span, message, hint);
    }
    text
}

/// What an agent is asked, one after the other.
fn turns(reader: &mut Reader<'_>, field: &Field) -> Option<Vec<String>> {
    let hint = "write what the user says, one text for each turn";
    let nodes = reader.list(field, hint);
    refuse_empty(reader, field, "so nothing is asked", hint);
    let texts = nodes
        .iter()
        .filter_map(|node| text_in(reader, node, &field.name, "texts", hint));
    Some(texts.map(str::to_owned).collect())
}

/// A list with nothing in it.
fn refuse_empty(reader: &mut Reader<'_>, field: &Field, so: &str, hint: &'static str) {
    if matches!(&field.value.data, Data::List(nodes) if nodes.is_empty()) {
        let message = sentence!("`{}` is empty, {so}", field.name);
        reader.problem(&field.value.span, message, hint);
    }
}

/// Why a test is not run: a text, or false.
fn reason(reader: &mut Reader<'_>, field: &Field) -> Option<String> {
    // YAML has only `true` and `false` for yes and no, so the other words arrive as texts.
    let word = match &field.value.data {
        Data::Boolean(false) => return None,
        Data::Boolean(true) => "true".to_owned(),
        Data::Text(reason) => reason.trim().to_ascii_lowercase(),
        _ => String::new(),
    };
    let hint = match word.as_str() {
        "" => "say why it is skipped, or leave it out".into(),
        "no" | "n" | "off" | "false" => {
            "did you mean false? without quotes it does not skip; leave it out for the same".into()
        }
        "yes" | "y" | "on" | "true" => {
            sentence!("give a reason: `skip: the test account is not there yet`")
        }
        _ => return field.value.text().map(str::to_owned),
    };
    reader.wrong(field, "the reason as a text, or false", hint);
    None
}

fn call_arguments(reader: &mut Reader<'_>, field: &Field) -> Option<Map<String, Value>> {
    match field.value.data {
        Data::Null => None,
        Data::Table(_) => reader.json_of(&field.value)?.as_object().cloned(),
        _ => {
            reader.wrong(field, "a map of arguments", "write { query: x }");
            None
        }
    }
}

fn names_of_checks() -> Vec<&'static str> {
    Probe::ALL.map(Probe::name).to_vec()
}

/// Which bad requests are made.
fn checks(reader: &mut Reader<'_>, field: &Field) -> Option<Vec<Probe>> {
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
    Some(checks)
}

/// A table within a table, with settings of its own.
#[derive(Debug)]
pub struct Nested<T>(pub T);

impl<T: Settings> Default for Nested<T> {
    fn default() -> Self {
        Self(T::initial())
    }
}

impl<T: Settings> SettingType for Nested<T> {
    const KIND: Kind = Kind::Text;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        table::read_map(reader, &field.value, &sentence!("`{}`", field.name)).map(Self)
    }
}

/// What must come of bad requests.
fn negative_path_expectations(reader: &mut Reader<'_>, field: &Field) -> Option<Vec<Expectation>> {
    let resolve = &super::tools::resolve_of_negative_path;
    Some(expectations_of(reader, field, resolve))
}

/// The address of a model provider.
fn http_address(reader: &mut Reader<'_>, field: &Field) -> Option<String> {
    let url = reader.text_of(field)?;
    let is_address = parts_of_url(url).is_some_and(|(scheme, authority, _)| {
        matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") && !authority.is_empty()
    });
    if !is_address {
        let hint = "use http:// or https://, such as http://127.0.0.1:11434";
        reader.wrong(field, "an http address", hint);
    }
    is_address.then(|| url.to_owned())
}

/// The name of a variable of the environment, which has a secret.
fn variable_name(reader: &mut Reader<'_>, field: &Field) -> Option<String> {
    let name = reader.text_of(field)?;
    let is_allowed = is_name(name);
    if !is_allowed {
        // Whoever puts the key itself here should not see it again.
        let message = sentence!(
            "`{}` must be the name of a variable of the environment",
            field.name
        );
        let hint = "write OPENAI_API_KEY, and put the key into that variable";
        reader.secret_problem(&field.value.span, message, hint);
    }
    is_allowed.then(|| name.to_owned())
}

impl SettingType for ProviderSettings {
    const KIND: Kind = Kind::Other(
        "name, or [map](#keys-of-provider)",
        || json!({ "anyOf": [PROVIDER.schema(), reference("provider")] }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Self> {
        if matches!(field.value.data, Data::Text(_)) {
            return Some(Self {
                kind: Some(<_>::from_data(PROVIDER.check(reader, field)?)?),
                ..Self::default()
            });
        }
        Nested::read(reader, field, setting).map(|table| table.0)
    }
}
