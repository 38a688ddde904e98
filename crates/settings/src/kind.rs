//! What a setting takes: its words in messages, its JSON Schema, its range, and the check of a value.

use std::ops::RangeInclusive;

use crate::prelude::*;
use crate::reader::Least;
use crate::table;

/// The most calls, sessions or repetitions of anything at once.
pub const COUNT_MAX: u32 = 100_000;
/// The most calls in all.
pub const CALLS_MAX: u64 = 1_000_000_000_000;
/// The most calls that a limit can be about.
pub const LIMIT_MAX: u64 = 1_000_000_000;
/// The longest time in milliseconds: a leap year.
pub const MILLISECONDS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;
/// The most calls per second that can be asked for.
pub const RATE_MAX: f64 = 1e6;

const WIDE_MAX: u64 = u32::MAX as u64;

/// What a setting takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// True or false.
    Boolean,
    /// A whole number in a range, both ends included.
    Whole(u64, u64),
    /// A whole number that may be negative.
    Signed,
    /// A whole number from 0 up, or a text of digits where other readers have no such number.
    Seed,
    /// A number in a range.
    Number(Range),
    /// A time, with its unit.
    Time(Least),
    /// A number of bytes, or a text with a unit.
    Size,
    /// A text that is not empty.
    Text,
    /// Where a file or a folder is.
    Path,
    /// A list of texts.
    Texts,
    /// A list of names of tools.
    Names,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// A list of some of these names.
    SomeOf(fn() -> Vec<&'static str>),
    /// A list of tables with these settings.
    Tables(fn() -> &'static [Setting]),
    /// Tables with these settings, by name.
    TablesByName(fn() -> &'static [Setting]),
    /// Something with a reader of its own: its words, and its schema.
    Other(&'static str, fn() -> Value),
}

/// The range of a number.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// In words, without an article.
    pub words: &'static str,
    /// What it stands for in help.
    pub placeholder: &'static str,
    /// The least.
    pub least: f64,
    /// The most; may be infinite.
    pub most: f64,
    /// Whether the least itself is too little, and the most itself too much.
    pub excludes: (bool, bool),
}

/// A whole number from 0 up.
pub const WHOLE: Kind = Kind::Whole(0, u64::MAX);
/// A whole number from 1 to [`COUNT_MAX`].
pub const COUNT: Kind = Kind::Whole(1, COUNT_MAX as u64);
/// A whole number from 0 to the largest of 32 bits.
pub const COUNT_OR_ZERO: Kind = Kind::Whole(0, WIDE_MAX);
/// A whole number from 1 to [`CALLS_MAX`].
pub const CALLS: Kind = Kind::Whole(1, CALLS_MAX);
/// A time of more than zero.
pub const TIME: Kind = Kind::Time(Least::MoreThanZero);
/// A time, or zero.
pub const TIME_OR_ZERO: Kind = Kind::Time(Least::Zero);
/// Calls per second.
pub const RATE: Kind = number(
    "number of calls per second, more than 0 and at most 1000000",
    "PER_SECOND",
    0.0..=RATE_MAX,
    (true, false),
);
/// A number from 0 up.
pub const NOT_NEGATIVE: Kind = number(
    "number from 0 up",
    "NUMBER",
    0.0..=f64::INFINITY,
    (false, false),
);
/// A number from 1 up.
pub const FACTOR: Kind = number(
    "number from 1 to 100000",
    "FACTOR",
    1.0..=COUNT_MAX as f64,
    (false, false),
);
/// A share from 0 to 1.
pub const SHARE: Kind = number(
    "share from 0 to 1 (0.01 is 1 %)",
    "SHARE",
    0.0..=1.0,
    (false, false),
);
/// A share, neither nothing nor all.
pub const OPEN_SHARE: Kind = number(
    "share of more than 0 and less than 1",
    "SHARE",
    0.0..=1.0,
    (true, true),
);

/// A number in a range, by its words and what it stands for in help; whether either end is excluded.
pub const fn number(
    words: &'static str,
    placeholder: &'static str,
    within: RangeInclusive<f64>,
    excludes: (bool, bool),
) -> Kind {
    Kind::Number(Range {
        words,
        placeholder,
        least: *within.start(),
        most: *within.end(),
        excludes,
    })
}

/// A limit, from so many up.
pub const fn limit(least: u64) -> Kind {
    Kind::Whole(least, LIMIT_MAX)
}

/// A whole number of milliseconds, from so many up.
pub const fn milliseconds(least: u64) -> Kind {
    Kind::Whole(least, MILLISECONDS_MAX)
}

impl Range {
    /// Whether a number is in it.
    pub fn contains(&self, value: f64) -> bool {
        let is_above = value > self.least || !self.excludes.0 && value >= self.least;
        let is_below = value < self.most || !self.excludes.1 && value <= self.most;
        value.is_finite() && is_above && is_below
    }
}

impl Kind {
    /// The value of an entry as it is kept; what does not fit is a problem.
    pub fn check(self, reader: &mut Reader<'_>, field: &Field) -> Option<Data> {
        let mut field = field;
        let parsed;
        // A flag is a text, whatever it stands for.
        if let Data::Text(text) = &field.value.data
            && reader.is_given_besides(&field.value.span)
        {
            parsed = Field {
                value: Node {
                    data: self.parse(text),
                    span: field.value.span.clone(),
                },
                ..field.clone()
            };
            field = &parsed;
        }
        match self {
            Self::Boolean => reader.boolean_of(field),
            Self::Whole(least, most) => reader.integer_of(field, least, most),
            Self::Signed => {
                let hint = "write it without quotes or a fraction";
                let whole = field.value.integer();
                let whole = whole.filter(|it| i64::try_from(*it).is_ok());
                whole
                    .map(Data::Integer)
                    .or_else(|| reader.refuse(field, "a whole number", hint))
            }
            Self::Seed => reader.seed_of(field),
            Self::Number(range) => reader
                .number_of(field, &format!("a {}", range.words), |it| {
                    range.contains(it)
                })
                .map(Data::Number),
            Self::Time(least) => reader.duration_of(field, least),
            Self::Size => {
                let size = reader.size_of(field)?;
                Some(Data::Integer(i128::try_from(size).unwrap_or(i128::MAX)))
            }
            Self::Text | Self::Path => reader
                .text_of(field)
                .map(|text| Data::Text(text.to_owned())),
            Self::Texts => reader.texts_of(field).map(Data::texts),
            Self::Names => Some(Data::texts(table::names(reader, field))),
            Self::OneOf(known) => {
                let name = reader.choice_of(&field.value, &field.name, known)?;
                Some(Data::Text(name.to_owned()))
            }
            Self::SomeOf(known) => {
                let known = known();
                let two: Vec<String> = known
                    .iter()
                    .take(2)
                    .map(|name| format!("{name:?}"))
                    .collect();
                let hint = format!("write a list, such as [{}]", two.join(", "));
                let names = reader
                    .list(field, hint)
                    .iter()
                    .filter_map(|node| reader.choice_of(node, &field.name, &known));
                Some(Data::texts(names.map(str::to_owned)))
            }
            Self::Tables(_) | Self::TablesByName(_) | Self::Other(..) => {
                Some(field.value.data.clone())
            }
        }
    }

    /// The value that a text stands for, as a flag or a default has it. What is no such value stays a text, for
    /// which [`Kind::check`] has a message.
    pub fn parse(self, text: &str) -> Data {
        let whole = || text.parse::<i128>().ok().map(Data::Integer);
        let parsed = match self {
            Self::Boolean => text.parse().ok().map(Data::Boolean),
            Self::Whole(..) | Self::Signed | Self::Seed | Self::Size => whole(),
            Self::Number(_) => whole().or_else(|| text.parse().ok().map(Data::Number)),
            Self::Names | Self::Other(..) if text == "[]" => Some(Data::List(Vec::new())),
            _ => None,
        };
        parsed.unwrap_or_else(|| Data::Text(text.to_owned()))
    }

    /// The same for a default: that of a time in milliseconds may have another unit.
    pub(crate) fn parse_default(self, text: &str) -> Data {
        match (self, parse_duration(text)) {
            (Self::Whole(_, MILLISECONDS_MAX), Ok(time)) => {
                Data::Integer(time.as_millis().cast_signed())
            }
            _ => self.parse(text),
        }
    }

    /// What is said of it, where that is always the same.
    fn row(self) -> Option<&'static KindRow> {
        let name = match self {
            Self::Boolean => "boolean",
            Self::Signed => "signed",
            Self::Seed => "seed",
            Self::Time(Least::MoreThanZero) => "time",
            Self::Time(Least::Zero) => "time or zero",
            Self::Size => "size",
            Self::Text => "text",
            Self::Path => "path",
            Self::Texts => "texts",
            Self::Names => "names",
            _ => return None,
        };
        ROWS.get(name)
    }

    /// What it stands for in help: `COUNT`.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Whole(_, MILLISECONDS_MAX) => "MILLISECONDS",
            Self::Whole(..) => "COUNT",
            Self::Number(range) => range.placeholder,
            Self::Tables(_) | Self::TablesByName(_) => "TABLE",
            other => other.row().map_or("NAME", |row| &row.placeholder),
        }
    }

    /// What it takes, for people.
    pub fn describe(self) -> String {
        match self {
            Self::Whole(least, MILLISECONDS_MAX) => format!("milliseconds from {least} up"),
            Self::Whole(least, LIMIT_MAX | WIDE_MAX | CALLS_MAX..) => {
                format!("whole number from {least} up")
            }
            Self::Whole(least, most) => format!("whole number from {least} to {most}"),
            Self::Number(range) => range.words.into(),
            Self::OneOf(names) => format!("one of {}", names.join(", ")),
            Self::SomeOf(names) => format!("list of {}", names().join(", ")),
            Self::Tables(_) => "list of tables".into(),
            Self::TablesByName(_) => "table of tables, by name".into(),
            Self::Other(words, _) => words.into(),
            other => other.row().map(|row| row.words.clone()).unwrap_or_default(),
        }
    }

    /// Its JSON Schema.
    pub fn schema(self) -> Value {
        match self {
            Self::Whole(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Number(range) => range.schema(),
            Self::OneOf(names) => one_of(names),
            Self::SomeOf(names) => json!({ "type": "array", "items": one_of(&names()) }),
            Self::Tables(table) => json!({ "type": "array", "items": table_schema(table()) }),
            Self::TablesByName(table) => json!({
                "type": ["object", "null"],
                "additionalProperties": table_schema(table()),
            }),
            Self::Other(_, schema) => schema(),
            other => other
                .row()
                .map(|row| row.schema.clone())
                .unwrap_or_default(),
        }
    }
}

/// What is said of a kind that has no range.
#[derive(Deserialize)]
struct KindRow {
    placeholder: String,
    words: String,
    schema: Value,
}

/// Those kinds.
static ROWS: LazyLock<BTreeMap<String, KindRow>> =
    LazyLock::new(|| serde_json::from_str(include_str!("kinds.json")).expect("our own file"));

impl Range {
    fn schema(&self) -> Value {
        let (least, most) = (
            if self.excludes.0 {
                "exclusiveMinimum"
            } else {
                "minimum"
            },
            if self.excludes.1 {
                "exclusiveMaximum"
            } else {
                "maximum"
            },
        );
        let mut schema = json!({ "type": "number", least: self.least });
        if self.most.is_finite()
            && let Value::Object(fields) = &mut schema
        {
            fields.insert(most.to_owned(), json!(self.most));
        }
        schema
    }
}

/// Names, each as it is and with `-` for `_`.
pub fn one_of(names: &[&str]) -> Value {
    let spellings: Vec<String> = names
        .iter()
        .flat_map(|name| table::spellings(name))
        .collect();
    json!({ "enum": spellings })
}

/// The schema of a table with these settings.
pub fn table_schema(settings: &[Setting]) -> Value {
    let mut table = Map::new();
    let required: Vec<&str> = settings
        .iter()
        .filter(|it| it.fallback == Fallback::Required)
        .map(|it| it.name)
        .collect();
    // A table of YAML with nothing in it is null.
    let kind = if required.is_empty() {
        json!(["object", "null"])
    } else {
        json!("object")
    };
    table.insert("type".into(), kind);
    table.insert("properties".into(), properties(settings).into());
    table.insert("additionalProperties".into(), json!(false));
    if !required.is_empty() {
        table.insert("required".into(), json!(required));
    }
    Value::Object(table)
}

/// The schemas of settings by name, each under its other names too.
pub fn properties<'s>(settings: impl IntoIterator<Item = &'s Setting>) -> Map<String, Value> {
    let mut properties = Map::new();
    for setting in settings {
        let schema = setting.schema();
        for name in setting.names() {
            properties.insert(name.to_owned(), schema.clone());
        }
    }
    properties
}
