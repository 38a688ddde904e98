//! The keys of a block: what each takes, where its value goes, its default, what it does. The reader, the JSON
//! Schema and the table in the documents are made from these.

use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Node};
use serde_json::{Map, Value, json};

/// The longest time that can be given, in milliseconds: a leap year.
const TIME_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;
/// The most calls that a limit can be about.
pub const COUNT_MAX: u64 = 1_000_000_000;

/// A key of a map with the settings `S`.
pub struct Key<S: 'static> {
    /// The name, with `_`; `-` is accepted too.
    pub name: &'static str,
    /// What it takes, and where that goes: an [`At`].
    pub field: &'static dyn Field<S>,
    /// What it is when it is not given.
    pub default: Fallback,
    /// What it does.
    pub explanation: &'static str,
}

impl<S> Key<S> {
    /// A key that is what the default of the settings has where it is not given.
    pub const fn new(
        name: &'static str,
        field: &'static dyn Field<S>,
        explanation: &'static str,
    ) -> Self {
        Self {
            name,
            field,
            default: Fallback::Settings,
            explanation,
        }
    }

    /// A key that must be given.
    pub const fn required(
        name: &'static str,
        field: &'static dyn Field<S>,
        explanation: &'static str,
    ) -> Self {
        Self {
            default: Fallback::Required,
            ..Self::new(name, field, explanation)
        }
    }

    /// A key that may be left out, which means this.
    pub const fn or(
        name: &'static str,
        field: &'static dyn Field<S>,
        without: &'static str,
        explanation: &'static str,
    ) -> Self {
        Self {
            default: Fallback::Words(without),
            ..Self::new(name, field, explanation)
        }
    }
}

/// What a key is when it is not given.
#[derive(Debug, Clone, Copy)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// This, in words.
    Words(&'static str),
    /// What the default of the settings has.
    Settings,
}

/// What values of the type `T` look like in a file.
#[derive(Clone, Copy)]
pub struct Form<T> {
    /// For people.
    pub takes: fn() -> String,
    /// For programs.
    pub schema: fn() -> Value,
    /// What the schema refers to below `$defs`.
    pub definition: fn() -> Option<(&'static str, Value)>,
    /// Reads the value of this name in a section; what is wrong is taken down, and reads as absent.
    pub read: fn(&mut Reader<'_>, &Section<'_>, &str) -> Option<T>,
    /// A default as it would be written.
    pub written: fn(&T) -> Value,
}

/// A field of the settings `S`: its form, and where it is.
pub struct At<S, T>(pub Form<T>, pub fn(&mut S) -> &mut T);

/// The same for a field that may be left out.
pub struct Maybe<S, T>(pub Form<T>, pub fn(&mut S) -> &mut Option<T>);

/// A field without its type.
pub trait Field<S>: Sync {
    /// What the form says of it: what it takes, its schema, what that refers to.
    fn describe(&self) -> (String, Value, Option<(&'static str, Value)>);

    /// The value in some settings.
    fn written(&self, settings: &mut S) -> Value;

    /// Reads the value of this name into the settings.
    fn read(&self, reader: &mut Reader<'_>, section: &Section<'_>, name: &str, into: &mut S);
}

impl<T> Form<T> {
    fn describe(&self) -> (String, Value, Option<(&'static str, Value)>) {
        ((self.takes)(), (self.schema)(), (self.definition)())
    }
}

impl<S, T> Field<S> for At<S, T> {
    fn describe(&self) -> (String, Value, Option<(&'static str, Value)>) {
        self.0.describe()
    }

    fn written(&self, settings: &mut S) -> Value {
        (self.0.written)((self.1)(settings))
    }

    fn read(&self, reader: &mut Reader<'_>, section: &Section<'_>, name: &str, into: &mut S) {
        if let Some(value) = (self.0.read)(reader, section, name) {
            *(self.1)(into) = value;
        }
    }
}

impl<S, T> Field<S> for Maybe<S, T> {
    fn describe(&self) -> (String, Value, Option<(&'static str, Value)>) {
        self.0.describe()
    }

    fn written(&self, _settings: &mut S) -> Value {
        Value::Null
    }

    fn read(&self, reader: &mut Reader<'_>, section: &Section<'_>, name: &str, into: &mut S) {
        if section.get(name).is_some() {
            *(self.1)(into) = (self.0.read)(reader, section, name);
        }
    }
}

/// A key, for those who describe it.
#[derive(Debug, Clone)]
pub struct KeyInfo {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub takes: String,
    /// Its default, for people; empty where it must be given.
    pub default: String,
    /// What it does.
    pub explanation: &'static str,
    /// Its JSON Schema, with its description and default.
    pub schema: Value,
    /// What the schema refers to below `$defs`.
    pub definition: Option<(&'static str, Value)>,
}

/// The keys of a map, described.
pub(crate) fn infos<S: Default>(keys: &[Key<S>]) -> Vec<KeyInfo> {
    let mut settings = S::default();
    let mut info = |key: &Key<S>| {
        let (takes, mut schema, definition) = key.field.describe();
        let (default, value) = match key.default {
            Fallback::Required => (String::new(), None),
            Fallback::Words(words) => (words.to_owned(), None),
            Fallback::Settings => match key.field.written(&mut settings) {
                Value::String(text) => (text.clone(), Some(Value::String(text))),
                other => (other.to_string(), Some(other)),
            },
        };
        let mut description = key.explanation.to_owned();
        if !default.is_empty() {
            description = format!("{description}. Default: {default}");
        }
        insert(&mut schema, "description", json!(description));
        if let Some(value) = value {
            insert(&mut schema, "default", value);
        }
        KeyInfo {
            name: key.name,
            takes,
            default,
            explanation: key.explanation,
            schema,
            definition,
        }
    };
    keys.iter().map(&mut info).collect()
}

/// Reads the settings in a section.
pub(crate) fn fill<S: Default>(
    keys: &[Key<S>],
    reader: &mut Reader<'_>,
    section: &Section<'_>,
) -> S {
    let mut settings = S::default();
    for key in keys {
        key.field.read(reader, section, key.name, &mut settings);
    }
    settings
}

/// Reads the settings in a map, which `label` names in messages.
pub(crate) fn fill_map<S: Default>(
    keys: &[Key<S>],
    reader: &mut Reader<'_>,
    node: &Node,
    label: &str,
) -> Option<S> {
    let known = names(keys);
    let node = table::spelled(reader, node, label, &known)?;
    let section = table::section(reader, &node, label, &known);
    Some(fill(keys, reader, &section))
}

/// The names of keys.
pub(crate) fn names<S>(keys: &[Key<S>]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The JSON Schema of a map with these keys.
pub(crate) fn map_schema(keys: &[KeyInfo], required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .flat_map(|key| spellings(key.name).map(|name| (name, key.schema.clone())))
        .collect();
    let mut map = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        insert(&mut map, "required", json!(required));
    }
    map
}

pub(crate) fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(object) = schema {
        object.insert(name.to_owned(), value);
    }
}

/// A name with `_`, and with `-` where that is another.
pub fn spellings(name: &str) -> impl Iterator<Item = String> + use<> {
    let dashed = name.replace('_', "-");
    let other = (dashed != name).then_some(dashed);
    std::iter::once(name.to_owned()).chain(other)
}

/// A whole number from `LEAST` up.
pub const fn count<const LEAST: u64>() -> Form<u64> {
    Form {
        takes: || format!("whole number, {LEAST} or more"),
        schema: || json!({ "type": "integer", "minimum": LEAST, "maximum": COUNT_MAX }),
        definition: || None,
        read: |reader, section, name| reader.integer(section, name, LEAST..=COUNT_MAX),
        written: |value| json!(value),
    }
}

/// A whole number of milliseconds, from `LEAST` up.
pub const fn milliseconds<const LEAST: u64>() -> Form<u64> {
    Form {
        takes: || format!("milliseconds, {LEAST} or more"),
        schema: || json!({ "type": "integer", "minimum": LEAST, "maximum": TIME_MS_MAX }),
        read: |reader, section, name| reader.integer(section, name, LEAST..=TIME_MS_MAX),
        ..count::<LEAST>()
    }
}

/// A number from 0 to 1.
pub const SHARE: Form<f64> = Form {
    takes: || "number, 0 to 1".to_owned(),
    schema: || json!({ "type": "number", "minimum": 0, "maximum": 1 }),
    definition: || None,
    read: |reader, section, name| {
        let expected = "a number from 0 to 1";
        reader.number(section, name, expected, |value| {
            (0.0..=1.0).contains(&value)
        })
    },
    written: |value| json!(value),
};

/// True or false.
pub const FLAG: Form<bool> = Form {
    takes: || "boolean".to_owned(),
    schema: || json!({ "type": "boolean" }),
    definition: || None,
    read: |reader, section, name| reader.boolean(section, name),
    written: |value| json!(value),
};

/// A text that is not empty; unless it may be left out, it must be there.
pub const TEXT: Form<String> = Form {
    takes: || "text".to_owned(),
    schema: || json!({ "type": "string", "minLength": 1 }),
    definition: || None,
    read: table::required,
    written: |value| json!(value),
};

/// A list of names.
pub const NAMES: Form<Vec<String>> = Form {
    takes: || "list of names".to_owned(),
    schema: || json!({ "type": "array", "items": (TEXT.schema)() }),
    definition: || None,
    read: |reader, section, name| Some(table::names(reader, section, name)),
    written: |value| json!(value),
};

/// One of a list of maps.
pub trait Row: Default + 'static {
    /// What it is called in messages: `an edge`.
    const LABEL: &'static str;
    /// What to try where there is no list.
    const HINT: &'static str;
    /// Its keys. Where a name alone will do, only the first is required, else all.
    const KEYS: &'static [Key<Self>];
    /// Makes one of its name alone, where that will do.
    const NAMED: Option<fn(String) -> Self> = None;
}

/// A list of maps.
pub const fn rows<S: Row>() -> Form<Vec<S>> {
    Form {
        takes: || {
            let or_names = S::NAMED.map_or("", |_| "names, or of ");
            format!("list of {or_names}`{{{}}}`", names(S::KEYS).join(", "))
        },
        schema: || {
            let mut required = names(S::KEYS);
            let keys = infos(S::KEYS);
            let items = if S::NAMED.is_some() {
                required.truncate(1);
                json!({ "anyOf": [(TEXT.schema)(), map_schema(&keys, &required)] })
            } else {
                map_schema(&keys, &required)
            };
            json!({ "type": "array", "items": items })
        },
        definition: || infos(S::KEYS).into_iter().find_map(|key| key.definition),
        read: |reader, section, list| {
            let nodes = reader.list(section.get(list)?, S::HINT).iter();
            let rows = nodes.filter_map(|node| match (S::NAMED, &node.data) {
                (Some(named), Data::Text(_)) => table::name_of(reader, node, list).map(named),
                _ => fill_map(S::KEYS, reader, node, S::LABEL),
            });
            Some(rows.collect())
        },
        // No metric has any by default.
        written: |_| json!([]),
    }
}

/// The key of the tools that write.
pub(crate) const fn mutating_tools<S>(field: &'static dyn Field<S>) -> Key<S> {
    Key::new(
        "mutating_tools",
        field,
        "tools that write, whatever their names and annotations say",
    )
}

/// The key of the tools that never write.
pub(crate) const fn readonly_tools<S>(field: &'static dyn Field<S>) -> Key<S> {
    Key::new(
        "readonly_tools",
        field,
        "tools that never write, whatever their names and annotations say; wins over `mutating_tools`",
    )
}
