//! The values that an argument had in the recorded calls.

use super::prelude::*;

/// Letters of the longest code.
const CODE_CHARS_MAX: usize = 3;

/// `DE`, `EUR`, `en`.
fn is_code(text: &str) -> bool {
    let letters = text.chars().count();
    let is_short = letters < CODE_CHARS_MAX || text.chars().all(char::is_uppercase);
    letters <= CODE_CHARS_MAX && is_short && !is_choice(&text.to_lowercase())
}

/// What some of the values are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    Number,
    /// True or false.
    Flag,
    Text,
    /// A text of one word.
    Word,
    Date,
    /// An address of mail.
    Address,
    /// One of few: `low`, `open`.
    Choice,
    /// A plain word of letters.
    Plain,
    /// A short code: `DE`, `EUR`.
    Code,
}

/// The values that an argument had in the recorded calls.
#[derive(Debug, Default)]
pub struct Recorded {
    values: BTreeSet<String>,
    /// The digits of values like `T-1042`.
    serials: BTreeSet<String>,
    shapes: BTreeSet<Shape>,
    /// The first, as recorded.
    pub example: Option<String>,
}

impl Recorded {
    /// Adds the value of one call: lists count by their elements, objects have arguments of their own.
    pub fn add(&mut self, value: &Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Null | Value::Object(_) => {}
                Value::Bool(value) => {
                    self.shapes.insert(Shape::Flag);
                    self.keep(value.to_string(), || value.to_string());
                }
                Value::Number(value) => {
                    self.shapes.insert(Shape::Number);
                    self.keep(json_number(value), || value.to_string());
                }
                Value::String(text) => self.add_text(text),
                Value::Array(values) => open.extend(values.iter().rev()),
            }
        }
    }

    fn keep(&mut self, value: String, shown: impl Fn() -> String) {
        self.values.insert(value);
        if self.example.is_none() {
            self.example = Some(shown());
        }
    }

    fn add_text(&mut self, text: &str) {
        let normal = normal(text);
        if let Some(number) = number(text) {
            self.shapes.insert(Shape::Number);
            self.values.insert(number);
        } else if let Some(flag) = flag(text) {
            self.shapes.insert(Shape::Flag);
            self.values.insert(flag.to_string());
        }
        let is_word = !normal.is_empty() && !text.trim().contains(char::is_whitespace);
        let is_choice = is_choice(&normal.replace(' ', "-"));
        let is_plain = is_word && normal.chars().all(char::is_alphabetic);
        let is_code = is_code(text);
        for (shape, has_it) in [
            (Shape::Text, !normal.is_empty()),
            (Shape::Word, is_word),
            (Shape::Choice, is_choice),
            (Shape::Plain, is_plain && !is_code),
            (Shape::Code, is_plain && is_code),
            (Shape::Address, is_word && text.contains('@')),
        ] {
            if has_it {
                self.shapes.insert(shape);
            }
        }
        if is_date(text) {
            self.shapes.insert(Shape::Date);
            self.values.extend(text.get(..10).map(self::normal));
        }
        if is_word && let Some(serial) = serial(text) {
            self.serials.insert(serial);
        }
        if let Some(file) = text
            .rsplit('/')
            .next()
            .filter(|_| is_word && text.contains('/'))
        {
            self.values.insert(self::normal(file));
        }
        self.keep(normal, || text.to_owned());
    }

    /// Whether some values are like this.
    pub fn has_shape(&self, shape: Shape) -> bool {
        self.shapes.contains(&shape)
    }

    /// Whether some call had this text.
    pub fn has(&self, text: &str) -> bool {
        let normal = normal(text);
        let is_cut = text.ends_with('…') || text.ends_with("...");
        let starts = |start: &str| {
            self.values
                .range(start.to_owned()..)
                .next()
                .is_some_and(|value| value.starts_with(start))
        };
        let last = text.rsplit('/').next().unwrap_or(text);
        self.values.contains(&normal)
            || number(text).is_some_and(|number| self.values.contains(&number))
            || flag(text).is_some_and(|flag| self.values.contains(&flag.to_string()))
            || is_cut && starts(normal.trim_end_matches('…'))
            || text.contains('/') && self.values.contains(&self::normal(last))
            || serial(text).is_some_and(|serial| self.values.contains(&serial))
    }

    /// Whether some call had a text that begins with this one, whole words.
    pub fn begins(&self, text: &str) -> bool {
        let start = format!("{} ", normal(text));
        self.values
            .range(start.clone()..)
            .next()
            .is_some_and(|value| value.starts_with(&start))
    }

    /// Whether a word can be held against them: a plain word against plain words, a code against codes.
    pub fn takes_word(&self, word: &str) -> bool {
        let is_code = is_code(word);
        self.has_shape(if is_code { Shape::Code } else { Shape::Plain })
            || is_code && self.has_shape(Shape::Choice)
    }

    /// Whether some call had this amount, as such or in another unit.
    pub fn has_amount(&self, amount: &str, unit: &str) -> bool {
        let is_serial = self.serials.contains(amount);
        self.values.contains(amount)
            || is_serial
            || scaled(amount, unit)
                .iter()
                .any(|amount| self.values.contains(amount))
    }

    /// Whether an amount can be held against them.
    pub fn takes_amount(&self) -> bool {
        self.has_shape(Shape::Number) || !self.serials.is_empty()
    }
}

// Values of several words: a name with capitals, or what follows a colon.

/// Words of the longest value without quotation marks.
const VALUE_WORDS_MAX: usize = 8;

impl Statement<'_> {
    /// Words with capitals: `with the title Weekly Report`, `the customer is Alice`.
    pub fn name_of_words(&self) -> Option<Stated> {
        let rest = self.tokens.rest(self.at);
        let is_part = |token: &&Token| token.kind == Kind::Word && token.is_capital();
        let count = rest
            .iter()
            .take(VALUE_WORDS_MAX)
            .take_while(is_part)
            .count();
        let text = rest
            .iter()
            .take(count)
            .map(|token| token.text.as_str())
            .collect::<Vec<&str>>()
            .join(" ");
        let ends = rest.get(count).is_none_or(ends_value);
        let is_comparable = match count {
            1 => self.values.takes_word(&self.first.text) || self.has_long_text(),
            _ => self.values.has_shape(Shape::Text),
        };
        let is_introduced = self.link != Link::None || self.is_introduced();
        let is_value = ends && is_comparable && is_introduced && self.is_value_word();
        is_value.then(|| Stated {
            is_recorded: self.values.has(&text) || self.values.begins(&text),
            text,
            end: self.at + count,
        })
    }

    /// Whether the values are texts of several words, which one word can only contradict after `to`.
    pub fn has_long_text(&self) -> bool {
        self.link == Link::To && !self.values.has_shape(Shape::Word)
    }

    /// What follows a colon or an equals sign: up to a mark, as far as it is one value.
    pub fn text(&self) -> Option<Stated> {
        let rest = self.tokens.rest(self.at);
        let is_end = |token: &&Token| !matches!(token.class, Comma | Stop);
        let words: Vec<&Token> = rest
            .iter()
            .take(VALUE_WORDS_MAX + 1)
            .take_while(is_end)
            .collect();
        let said = |count: usize| {
            words
                .iter()
                .take(count)
                .map(|token| token.text.as_str())
                .collect::<Vec<&str>>()
                .join(" ")
        };
        if let Some(count) = (1..=words.len())
            .rev()
            .find(|count| self.values.has(&said(*count)))
        {
            return Some(Stated {
                text: said(count),
                is_recorded: true,
                end: self.at + count,
            });
        }
        // `status: open and priority: high`: each is a value of its own.
        let count = words
            .iter()
            .position(|token| token.class == And)
            .unwrap_or(words.len());
        let is_value = match count {
            0 => false,
            1 => self.is_value_word() || self.values.has_shape(Shape::Choice),
            _ => {
                let value = words.get(..count).unwrap_or_default();
                count <= VALUE_WORDS_MAX
                    && self.is_label()
                    && !is_heading(self.name)
                    && !value.iter().any(|token| is_of_clause(token))
            }
        };
        let is_value = is_value && self.values.has_shape(Shape::Text);
        (is_value && !is_function_word(&self.first.lower)).then(|| Stated {
            text: said(count),
            is_recorded: false,
            end: self.at + count,
        })
    }

    /// Whether the name begins something: `- Title: …`, `with title: …`.
    pub fn is_label(&self) -> bool {
        self.start == 0
            || matches!(
                self.tokens.class(self.start - 1),
                Comma | Stop | And | Preposition | Determiner
            )
    }
}

/// Whether a token shows that a clause follows, and no value.
fn is_of_clause(token: &Token) -> bool {
    token.class.is_auxiliary() || matches!(token.class, Agent | Person)
}
