//! The JSON values of a file, before their meaning is known: one value, the elements of one list,
//! or one value per line. They are borrowed from the text and parsed one by one, so that importing
//! takes little more memory than the text and the trace.

use serde_json::error::Category;

use super::words;
use crate::prelude::*;

/// Steps of a path that says where something is; a longer one only says that it is deep.
const PATH_MAX: usize = 100;

/// The keys of an object, with their values unread.
pub type Outline<'a> = BTreeMap<String, &'a RawValue>;

/// The values of a file.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    pub elements: Vec<Element<'a>>,
}

/// One value of a file.
#[derive(Debug, Clone)]
pub struct Element<'a> {
    /// The JSON, without white space around it; in a file of lines not checked yet.
    pub json: &'a str,
    origin: Origin,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// It is the whole file.
    Whole,
    /// It is an element of the list that is the whole file.
    Item(usize),
    /// It is a line, counted from 1.
    Line(usize),
}

impl Element<'_> {
    /// Adds to an error where the value stands.
    pub fn locate<T>(&self, read: Result<T>) -> Result<T> {
        match self.origin {
            Origin::Whole => read,
            Origin::Item(index) => read.at(index),
            Origin::Line(line) => read.map_err(|error| ImportError {
                line: error.line.or(Some(line)),
                ..error
            }),
        }
    }

    /// A path in this value, as a path in the file.
    pub fn place(&self, path: &str) -> String {
        match self.origin {
            Origin::Whole => path.to_owned(),
            Origin::Item(index) => format!("[{index}].{path}"),
            Origin::Line(line) => format!("line {line}, {path}"),
        }
    }
}

impl<'a> Document<'a> {
    /// Finds the values of a text.
    pub fn read(text: &'a str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut document = Self {
            text,
            elements: Vec::new(),
        };
        let mut lines = (1..)
            .zip(text.lines())
            .map(|(number, line)| (number, line.trim()))
            .filter(|(_, line)| !line.is_empty());
        let Some(first) = lines.next() else {
            return refuse("it is empty", "check whether the trace was written");
        };
        let second = lines.next();
        if second.is_some() && serde_json::from_str::<IgnoredAny>(first.1).is_ok() {
            let all = [first].into_iter().chain(second).chain(lines);
            let element = |(number, json)| Element {
                json,
                origin: Origin::Line(number),
            };
            document.elements.extend(all.map(element));
            return Ok(document);
        }
        let whole: &RawValue = document.parse(text)?;
        let json = whole.get();
        if json.starts_with('[') {
            let items = document.list(json)?.into_iter().enumerate();
            document.elements.extend(items.map(|(index, json)| Element {
                json,
                origin: Origin::Item(index),
            }));
        } else {
            let origin = Origin::Whole;
            document.elements.push(Element { json, origin });
        }
        Ok(document)
    }

    /// The values, without the last of several lines where the file ends in the middle of it: whoever writes
    /// line by line may be killed. And that line.
    pub fn without_cut_line(&self) -> (&[Element<'a>], Option<&Element<'a>>) {
        let is_cut = |last: &Element<'a>| {
            let whole = serde_json::from_str::<IgnoredAny>(last.json);
            matches!(last.origin, Origin::Line(_)) && whole.is_err_and(|error| error.is_eof())
        };
        match self.elements.split_last() {
            Some((last, rest @ [_, ..])) if !self.text.ends_with('\n') && is_cut(last) => {
                (rest, Some(last))
            }
            _ => (&self.elements, None),
        }
    }

    /// Reads each value, with its place in errors.
    pub fn each<'d>(&'d self, mut read: impl FnMut(&'d Element<'a>) -> Result) -> Result {
        self.elements
            .iter()
            .try_for_each(|element| element.locate(read(element)))
    }

    /// Parses a part of the text.
    pub fn parse<Parsed: Deserialize<'a>>(&self, part: &'a str) -> Result<Parsed> {
        serde_json::from_str(part).map_err(|error| self.explain::<Parsed>(part, &error))
    }

    /// Parses each element of a list.
    pub fn list(&self, part: &'a str) -> Result<Vec<&'a str>> {
        if !part.trim_start().starts_with('[') {
            return refuse("this must be a list", "write [] for an empty one");
        }
        let items: Vec<&RawValue> = self.parse(part)?;
        Ok(items.into_iter().map(RawValue::get).collect())
    }

    /// What a parser said about a part of the text, with its place in the whole text. The part is parsed again
    /// for the path: only an error pays for this.
    pub fn explain<Parsed: Deserialize<'a>>(
        &self,
        part: &'a str,
        error: &serde_json::Error,
    ) -> ImportError {
        let (line, column) = self.place(part, error.line(), error.column());
        let reason = reason(error);
        let mut parser = serde_json::Deserializer::from_str(part);
        let again = serde_path_to_error::deserialize::<_, Parsed>(&mut parser);
        let path = again.err().and_then(|error| {
            (1..PATH_MAX)
                .contains(&error.path().iter().len())
                .then(|| error.path().to_string())
        });
        let (message, hint) = match (error.classify(), words::of_syntax(&reason)) {
            (Category::Eof, _) => (
                "the JSON ends too early".to_owned(),
                "the file is cut off; write it again, or remove what is not whole".to_owned(),
            ),
            (_, Some(explained)) => explained,
            (Category::Data, None) => words::of_types(&reason),
            _ => (
                format!("this is not JSON: {}", words::of_signs(&reason)),
                "a trace is one JSON value, or one JSON value per line".to_owned(),
            ),
        };
        let key = reason
            .strip_prefix("duplicate field `")
            .map(|key| key.trim_end_matches('`').to_owned());
        let error = ImportError {
            message: message.into(),
            line: Some(line),
            column: Some(column),
            path: key,
            hint: hint.into(),
        };
        path.iter().fold(error, |error, path| error.within(path))
    }

    /// A line and column in a part of the text, in the whole text.
    pub fn place(&self, part: &str, line: usize, column: usize) -> (usize, usize) {
        let before = part
            .as_ptr()
            .addr()
            .checked_sub(self.text.as_ptr().addr())
            .and_then(|offset| self.text.get(..offset))
            .unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = line.max(1);
        let column = match line {
            1 => column + (before.len() - line_start),
            _ => column,
        };
        let lines_before = before.bytes().filter(|byte| *byte == b'\n').count();
        (lines_before + line, column.max(1))
    }
}

/// What a parser said, without the place.
pub fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason)
        .to_owned()
}
