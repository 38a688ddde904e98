//! One setting, one declaration: a field of a struct with its documentation, its default and what it takes. The
//! reader, the JSON Schema, the writer, the flag, `--explain` and the tables in the documents are made from it.
//!
//! ```
//! use std::time::Duration;
//! use mcprove_settings::setting::{Settings, fill};
//! use mcprove_settings::reader::Reader;
//! use mcprove_settings::tree::Document;
//!
//! /// Calls in a row.
//! #[derive(Debug, Settings)]
//! struct Load {
//!     /// Calls in flight.
//!     #[setting(default = 10)]
//!     concurrent: u32,
//!     /// How long it lasts.
//!     #[setting(default = "60s")]
//!     duration: Duration,
//! }
//!
//! let document = Document::from_toml("concurrent = 0\nduration = \"5s\"", "load.toml").unwrap();
//! let mut reader = Reader::new(&document);
//! let mut load = Load::initial();
//! let section = reader.section_of(&document.root, "the file", Load::declared(), |_| None);
//! fill(&mut load, &mut reader, &section);
//! assert_eq!((load.concurrent, load.duration), (10, Duration::from_secs(5)));
//! let errors = reader.finish().unwrap_err().to_string();
//! assert!(errors.contains("`concurrent` must be a whole number from 1 to 100000, not 0"));
//! ```

#[cfg(not(feature = "schema"))]
pub use mcprove_settings_derive::NoSchema as JsonSchema;
#[cfg(feature = "schema")]
pub use schemars::JsonSchema;

pub use mcprove_settings_derive::{
    Opaque, PublicSettings, Settings, Shown, choice, data, in_seconds, sparse, stored,
};

use crate::kind;
use crate::prelude::*;
use crate::tree::COMMAND_LINE;

/// A setting, as it is declared.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The name, in `snake_case`.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is when it is not given.
    pub fallback: Fallback,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The flag without its dashes, where it has one.
    pub flag: Option<&'static str>,
    /// The flag of one letter.
    pub short: Option<char>,
    /// What happens where it is given to something that does not have it.
    pub elsewhere: Elsewhere,
}

/// What a setting is when it is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// This value.
    Value(&'static str),
    /// What these words say, such as "half-way".
    Words(&'static str),
    /// It must be given.
    Required,
    /// Nothing.
    Nothing,
}

/// What happens to a setting that is given to something that does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// It is ignored with a warning, so that it may stay in a file.
    Ignored,
    /// It is a problem.
    Refused,
    /// It is a problem, and another table has something for every scenario.
    Instead(&'static str, &'static str),
}

/// A struct with settings; derived.
pub trait Settings {
    /// Its settings.
    fn declared() -> &'static [Setting]
    where
        Self: Sized;
    /// With every fixed default.
    fn initial() -> Self
    where
        Self: Sized;
    /// Its settings.
    fn table(&self) -> &'static [Setting];
    /// Sets the setting at this place of the table from an entry; what does not fit is a problem.
    fn read(&mut self, index: usize, reader: &mut Reader<'_>, field: &Field);
    /// The setting at this place of the table; none if there is nothing to write.
    fn write(&self, index: usize) -> Option<Data>;
}

/// No settings.
impl Settings for () {
    fn declared() -> &'static [Setting] {
        &[]
    }
    fn initial() {}
    fn table(&self) -> &'static [Setting] {
        &[]
    }
    fn read(&mut self, _: usize, _: &mut Reader<'_>, _: &Field) {}
    fn write(&self, _: usize) -> Option<Data> {
        None
    }
}

/// A type that a setting may have.
pub trait SettingType: Default {
    /// What it takes, unless the setting says it.
    const KIND: Kind;
    /// From a value that [`Kind::check`] has accepted; none of a type with a reader of its own.
    fn from_data(_: Data) -> Option<Self> {
        None
    }
    /// As a value; none if it is not written.
    fn write(&self) -> Option<Data> {
        None
    }
    /// The default of a setting.
    fn initial(setting: &Setting) -> Self {
        match setting.fallback {
            Fallback::Value(text) => Self::from_data(setting.kind.parse(text)).unwrap_or_default(),
            _ => Self::default(),
        }
    }
    /// From an entry; what does not fit is a problem.
    fn read(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Self> {
        setting.kind.check(reader, field).and_then(Self::from_data)
    }
}

/// Fills settings from the entries of a section; those that are not given stay as they are.
pub fn fill(settings: &mut dyn Settings, reader: &mut Reader<'_>, section: &Section<'_>) {
    fill_asking(settings, reader, section, Some("\"…\""));
}

/// The same; what is required is asked for where its value is given as a hint shows it.
pub(crate) fn fill_asking(
    settings: &mut dyn Settings,
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    value: Option<&'static str>,
) {
    for (index, declared) in settings.table().iter().enumerate() {
        let mut given = declared.names().filter_map(|name| section.get(name));
        let Some(first) = given.next() else {
            if let (Fallback::Required, Some(value)) = (declared.fallback, value) {
                reader.missing(section, declared.name, value);
            }
            continue;
        };
        for second in given {
            let (earlier, later) = if first.span.start < second.span.start {
                (first, second)
            } else {
                (second, first)
            };
            cannot_both(reader, later, &earlier.name);
        }
        settings.read(index, reader, first);
    }
}

/// The tables of a list, each filled; those without what is required are left out.
pub fn read_tables<T: SettingTable>(
    reader: &mut Reader<'_>,
    field: &Field,
    hint: &'static str,
) -> Vec<T> {
    let mut tables = Vec::new();
    for node in reader.list(field, hint) {
        let section = reader.section_of(node, T::LABEL, T::declared(), T::advice);
        let mut table = T::initial();
        fill(&mut table, reader, &section);
        let required = T::declared()
            .iter()
            .filter(|it| it.fallback == Fallback::Required);
        if required
            .into_iter()
            .all(|it| section.get(it.name).is_some())
        {
            tables.push(table);
        }
    }
    tables
}

/// Reads texts that are given for a setting of this name outside of a file, such as for a flag.
pub fn reads<T: SettingType>(
    name: &'static str,
    kind: Kind,
) -> impl Fn(&str) -> Result<T, ConfigErrors> + Clone {
    move |text| {
        let document = Document::empty(COMMAND_LINE);
        let mut reader = Reader::new(&document);
        let value = kind.check(&mut reader, &Field::given(name, kind.parse(text), 1));
        reader.finish()?;
        Ok(value.and_then(T::from_data).unwrap_or_default())
    }
}

/// What is wrong with values that no file was read for.
pub fn check(settings: &dyn Settings) -> Result<(), ConfigErrors> {
    let document = Document::empty("settings");
    let mut reader = Reader::new(&document);
    for (declared, data) in values(settings) {
        declared
            .kind
            .check(&mut reader, &Field::new(declared.name, data));
    }
    reader.finish().map(drop)
}

/// Two settings that exclude each other are both given.
pub fn cannot_both(reader: &mut Reader<'_>, later: &Field, other: &str) {
    let message = sentence!(
        "{} and {} cannot both be given",
        setting(other),
        setting(&later.name)
    );
    reader.problem(&later.span, message, "leave out one of them");
}

/// Sets one setting by its name, as a file would; false if there is none of that name.
pub fn set(settings: &mut dyn Settings, reader: &mut Reader<'_>, field: &Field) -> bool {
    let index = settings
        .table()
        .iter()
        .position(|it| it.has_name(&field.name));
    if let Some(index) = index {
        settings.read(index, reader, field);
    }
    index.is_some()
}

/// The value of a setting by its name.
pub fn get(settings: &dyn Settings, name: &str) -> Option<Data> {
    let index = settings.table().iter().position(|it| it.has_name(name))?;
    settings.write(index)
}

/// Every setting that has a value, with it.
pub fn values(settings: &dyn Settings) -> impl Iterator<Item = (&'static Setting, Data)> + '_ {
    settings
        .table()
        .iter()
        .enumerate()
        .filter_map(|(index, declared)| Some((declared, settings.write(index)?)))
}

impl Setting {
    /// Nothing is said of it yet.
    pub const BARE: Self = Self {
        name: "",
        about: "",
        kind: Kind::Text,
        fallback: Fallback::Nothing,
        aliases: &[],
        flag: None,
        short: None,
        elsewhere: Elsewhere::Refused,
    };

    /// Its name and its other names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether it is meant by this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// What it is when it is not given, in words; empty if that is nothing.
    pub const fn default_words(&self) -> &'static str {
        match self.fallback {
            Fallback::Value(words) | Fallback::Words(words) => words,
            Fallback::Required | Fallback::Nothing => "",
        }
    }

    /// The fixed value that it has when it is not given.
    pub fn default_value(&self) -> Option<Value> {
        match self.fallback {
            Fallback::Value(text) => Node::new(self.kind.parse_default(text)).to_json().ok(),
            _ => None,
        }
    }

    /// Its JSON Schema.
    pub fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        let mut description = self.about.to_owned();
        if !self.default_words().is_empty() {
            description = format!("{description}. Default: {}", self.default_words());
        }
        if let Value::Object(fields) = &mut schema {
            fields.insert("description".into(), description.into());
            if let Some(value) = self.default_value() {
                fields.insert("default".into(), value);
            }
        }
        schema
    }
}

macro_rules! setting_type {
    ($($type:ty, $kind:expr, $from:expr, $to:expr;)*) => {
        $(impl SettingType for $type {
            const KIND: Kind = $kind;
            fn from_data(data: Data) -> Option<Self> {
                ($from)(data)
            }
            fn write(&self) -> Option<Data> {
                Some(($to)(self))
            }
        })*
    };
}

fn whole<T: TryFrom<i128>>(data: &Data) -> Option<T> {
    match data {
        Data::Integer(value) => T::try_from(*value).ok(),
        Data::Text(digits) => digits.parse::<i128>().ok()?.try_into().ok(),
        _ => None,
    }
}

fn text(data: Data) -> Option<String> {
    match data {
        Data::Text(text) => Some(text),
        _ => None,
    }
}

/// A whole number, or a text of it where other readers have no such number.
fn seed(value: u64) -> Data {
    i64::try_from(value).map_or_else(
        |_| Data::Text(value.to_string()),
        |it| Data::Integer(it.into()),
    )
}

setting_type! {
    bool, Kind::Boolean, |data| match data { Data::Boolean(value) => Some(value), _ => None }, |it: &bool| Data::Boolean(*it);
    u32, kind::COUNT, |data| whole(&data), |it: &u32| Data::Integer(i128::from(*it));
    i64, Kind::Signed, |data| whole(&data), |it: &i64| Data::Integer(i128::from(*it));
    u64, kind::CALLS, |data| whole(&data), |it: &u64| seed(*it);
    usize, Kind::Size, |data| match data {
        Data::Text(text) => parse_size(&text).ok(),
        data => whole(&data),
    }, |it: &usize| seed(*it as u64);
    f64, kind::NOT_NEGATIVE, |data| match data {
        Data::Number(value) => Some(value),
        #[allow(clippy::cast_precision_loss, reason = "where a whole number is too large for a double, the nearest one is used")]
        Data::Integer(value) => Some(value as f64),
        _ => None,
    }, |it: &f64| Data::Number(*it);
    Duration, kind::TIME, |data| match data {
        Data::Text(text) => parse_duration(&text).ok(),
        data => whole(&data).map(Duration::from_millis),
    }, |it: &Duration| Data::Text(write_duration(*it));
    String, Kind::Text, text, |it: &String| Data::Text(it.clone());
    PathBuf, Kind::Path, |data| text(data).map(PathBuf::from), |it: &PathBuf| Data::Text(it.display().to_string());
}

/// A type of which a setting may have a list.
pub trait SettingItem: Sized {
    /// What the list takes, unless the setting says it.
    const KIND: Kind;
    /// From a list that [`Kind::check`] has accepted; none where it has a reader of its own.
    fn from_list(_nodes: Vec<Node>) -> Option<Vec<Self>> {
        None
    }
    /// As a list; none if it is not written, or as tables of their own.
    fn write_list(_items: &[Self]) -> Option<Data> {
        None
    }
    /// From an entry; what does not fit is a problem.
    fn read_list(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Vec<Self>> {
        match setting.kind.check(reader, field)? {
            Data::List(nodes) => Self::from_list(nodes),
            _ => None,
        }
    }
}

impl<T: SettingItem> SettingType for Vec<T> {
    const KIND: Kind = T::KIND;

    fn from_data(data: Data) -> Option<Self> {
        match data {
            Data::List(nodes) => T::from_list(nodes),
            _ => None,
        }
    }

    fn read(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Self> {
        T::read_list(reader, field, setting)
    }

    fn write(&self) -> Option<Data> {
        T::write_list(self)
    }
}

impl SettingItem for String {
    const KIND: Kind = Kind::Texts;

    fn from_list(nodes: Vec<Node>) -> Option<Vec<Self>> {
        Some(
            nodes
                .into_iter()
                .filter_map(|node| text(node.data))
                .collect(),
        )
    }

    fn write_list(items: &[Self]) -> Option<Data> {
        (!items.is_empty()).then(|| Data::texts(items.iter().cloned()))
    }
}

/// Settings that stand in a table of their own, of which there may be many.
pub trait SettingTable: Settings {
    /// How it is called in messages.
    const LABEL: Part;

    /// What to say about a name that it does not have.
    fn advice(_name: &str) -> Option<Message> {
        None
    }
}

/// Tables by name, which are written as tables of their own.
impl<T: SettingTable> SettingType for BTreeMap<String, T> {
    const KIND: Kind = Kind::TablesByName(T::declared);

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let tables = match &field.value.data {
            Data::Table(tables) => tables.as_slice(),
            Data::Null => &[],
            _ => {
                reader.wrong(
                    field,
                    "a table of tables, by name",
                    "write one table for each name",
                );
                &[]
            }
        };
        let read = tables.iter().map(|table| {
            let section = reader.section_of(&table.value, T::LABEL, T::declared(), T::advice);
            let mut settings = T::initial();
            fill(&mut settings, reader, &section);
            (table.name.clone(), settings)
        });
        Some(read.collect())
    }
}

/// A value whose default is decided where it is used.
impl<T: SettingType> SettingType for Option<T> {
    const KIND: Kind = T::KIND;

    fn initial(_: &Setting) -> Self {
        None
    }

    fn from_data(data: Data) -> Option<Self> {
        T::from_data(data).map(Some)
    }

    fn read(reader: &mut Reader<'_>, field: &Field, setting: &Setting) -> Option<Self> {
        T::read(reader, field, setting).map(Some)
    }

    fn write(&self) -> Option<Data> {
        self.as_ref().and_then(T::write)
    }
}

/// How deep arguments may be as a table; deeper ones are written as JSON.
const TABLE_DEPTH_MAX: usize = 16;

/// Arguments of a call: a table, or JSON in a text.
impl SettingType for Value {
    const KIND: Kind = Kind::Other(
        "table, or JSON in a text",
        || json!({ "type": ["object", "string"] }),
    );

    fn from_data(data: Data) -> Option<Self> {
        Node::new(data).to_json().ok()
    }

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let expected = "a table, or an object of JSON in a text";
        let hint = "write { name = \"value\" } or '{\"name\": null}'";
        match &field.value.data {
            Data::Table(_) => reader.json_of(&field.value),
            Data::Text(text) => match serde_json::from_str::<Value>(text) {
                Ok(value @ Value::Object(_)) => Some(value),
                Ok(_) => reader.refuse(field, expected, hint),
                Err(error) => reader.refuse(field, expected, format!("{hint}; {error}")),
            },
            _ => reader.refuse(field, expected, hint),
        }
    }

    fn write(&self) -> Option<Data> {
        match Data::from(self.clone()) {
            Data::Null => None,
            table @ Data::Table(_) if is_in_toml(&table, TABLE_DEPTH_MAX) => Some(table),
            _ => Some(Data::Text(self.to_string())),
        }
    }
}

/// Whether TOML has such a value, and it is not too deep to be read.
fn is_in_toml(data: &Data, depth: usize) -> bool {
    let is_within = |node: &Node| is_in_toml(&node.data, depth - 1);
    depth > 0
        && match data {
            Data::Null => false,
            Data::Integer(value) => i64::try_from(*value).is_ok(),
            Data::List(nodes) => nodes.iter().all(is_within),
            Data::Table(fields) => fields.iter().all(|field| is_within(&field.value)),
            _ => true,
        }
}
