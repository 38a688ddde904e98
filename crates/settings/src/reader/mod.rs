//! Takes a document apart, and collects every problem instead of stopping at the first.
//!
//! A section is read through a [`Section`], which knows its names: an unknown one is a problem with
//! a suggestion. A value of the wrong form is a problem too, and then reads as if it were absent.

mod values;

use super::error::Problems;
use super::outside::{is_linked, warning};
use crate::prelude::*;

/// How much of a wrong text is repeated in a message.
const SHOWN_MAX: usize = 60;

pub use values::Least;

/// Reads one document.
pub struct Reader<'d> {
    document: &'d Document,
    problems: Problems,
    warnings: Vec<Warning>,
}

/// What is odd about a file, but harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file and the place in it.
    pub place: String,
    /// What is odd.
    pub message: Message,
    /// Whether it is about a value that was given besides the file.
    pub is_besides: bool,
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.spelled(crate::message::Spelling::Toml);
        write!(formatter, "{}: {message}", self.place)
    }
}

/// A table whose names are known.
#[derive(Clone)]
pub struct Section<'d> {
    /// How it is called in messages: `[scenario]`.
    pub label: Message,
    fields: &'d [Field],
    span: &'d Range<usize>,
}

/// What to say about a name that a section does not have, if something better than the nearest
/// known one is known.
pub(crate) type Advice = fn(&str) -> Option<Message>;

impl<'d> Section<'d> {
    /// The entry of that name.
    pub fn get(&self, name: &str) -> Option<&'d Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Every entry.
    pub fn fields(&self) -> &'d [Field] {
        self.fields
    }

    /// Where it begins.
    pub fn span(&self) -> &'d Range<usize> {
        self.span
    }
}

impl<'d> Reader<'d> {
    pub fn new(document: &'d Document) -> Self {
        let mut problems = Problems::default();
        for error in document.repeats() {
            problems.push(|| error.clone());
        }
        Self {
            document,
            problems,
            warnings: Vec::new(),
        }
    }

    /// The warnings, if there was no problem.
    pub fn finish(self) -> Result<Vec<Warning>, ConfigErrors> {
        if self.problems.is_empty() {
            let file = Path::new(&self.document.file);
            Ok(if !self.warnings.is_empty() && is_linked(file) {
                vec![warning(file)]
            } else {
                self.warnings
            })
        } else {
            Err(self.problems.into_errors(&self.document.file))
        }
    }

    /// Whether anything is wrong so far.
    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// How many things are wrong so far.
    pub fn problem_count(&self) -> usize {
        self.problems.count()
    }

    /// Takes a problem down, as it is changed.
    fn changed_problem(
        &mut self,
        span: &Range<usize>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
        change: impl FnOnce(ConfigError) -> ConfigError,
    ) {
        let document = self.document;
        let error = || change(document.error(span, message, hint));
        self.problems.push(error);
    }

    /// Takes a problem down.
    pub fn problem(
        &mut self,
        span: &Range<usize>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) {
        self.changed_problem(span, message, hint, |error| error);
    }

    /// Takes down a problem that shows nothing of the file.
    pub fn open_problem(
        &mut self,
        span: &Range<usize>,
        message: &'static str,
        hint: impl Into<Message>,
    ) {
        self.changed_problem(span, message, hint, |error| error.with_gist(message));
    }

    /// Takes down that a key is unknown.
    pub fn unknown_key(
        &mut self,
        field: &Field,
        label: impl Into<Message>,
        hint: impl FnOnce() -> Message,
    ) {
        let document = self.document;
        self.problems.push(|| {
            let name = shorten(&field.name, SHOWN_MAX);
            let hint = if document.is_bare(field) {
                "put the text before it in quotes, if the comma belongs to it".into()
            } else {
                hint()
            };
            let message = sentence!("unknown key {name:?} in {}", label.into());
            document
                .error(&field.span, message, hint)
                .with_gist("an unknown key")
        });
    }

    /// Whether a value was given besides the file, such as a flag.
    pub const fn is_given_besides(&self, span: &Range<usize>) -> bool {
        self.document.is_given_besides(span)
    }

    /// Takes down the problems of another file.
    pub fn adopt(&mut self, errors: ConfigErrors) {
        for error in errors.0 {
            self.problems.push(|| error);
        }
    }

    /// Takes down what is odd about another file.
    pub fn adopt_warnings(&mut self, warnings: Vec<Warning>) {
        self.warnings.extend(warnings);
    }

    /// The place of these bytes.
    pub fn place(&self, span: &Range<usize>) -> SourcePlace {
        self.document
            .error(span, "", "")
            .place
            .unwrap_or(SourcePlace { line: 1, column: 1 })
    }

    /// Takes a problem down on a line that must not be shown.
    pub fn secret_problem(
        &mut self,
        span: &Range<usize>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) {
        self.changed_problem(span, message, hint, ConfigError::without_excerpt);
    }

    /// Takes down what is odd, but harmless.
    pub fn warn(&mut self, span: &Range<usize>, message: impl Into<Message>) {
        let place = self.document.error(span, "", "").place;
        let place = place.map_or_else(String::new, |place| format!(":{place}"));
        self.warnings.push(Warning {
            place: format!("{}{place}", self.document.file),
            message: message.into(),
            is_besides: self.document.is_given_besides(span),
        });
    }

    /// A table with these settings; nothing at all is an empty one.
    pub fn section_of<'n>(
        &mut self,
        node: &'n Node,
        label: impl Into<Message>,
        settings: &[Setting],
        advice: Advice,
    ) -> Section<'n> {
        let known: Vec<&str> = settings.iter().flat_map(Setting::names).collect();
        self.section(node, label, &known, advice)
    }

    /// A table with these names; nothing at all is an empty one.
    pub fn section<'n>(
        &mut self,
        node: &'n Node,
        label: impl Into<Message>,
        known: &[&str],
        advice: impl Fn(&str) -> Option<Message>,
    ) -> Section<'n> {
        let label = label.into();
        let fields: &[Field] = match &node.data {
            Data::Table(fields) => fields,
            Data::Null => &[],
            _ => {
                let message = sentence!("{label} must be a table, not {}", node.kind());
                self.problem(
                    &node.span,
                    message,
                    sentence!("write one {} per line", assignment("name", "value")),
                );
                &[]
            }
        };
        for field in fields {
            if known.contains(&field.name.as_str()) {
                continue;
            }
            self.unknown_key(field, label.clone(), || {
                advice(&field.name).unwrap_or_else(|| suggestion(known, &field.name))
            });
        }
        Section {
            label,
            fields,
            span: &node.span,
        }
    }

    /// A value of the wrong form.
    pub fn wrong(&mut self, field: &Field, expected: &str, hint: impl Into<Message>) {
        let found = match &field.value.data {
            Data::Text(text) => format!("{:?}", shorten(text, SHOWN_MAX)),
            other => other.plain().unwrap_or(field.value.kind().to_owned()),
        };
        let message = sentence!(
            "{}{}",
            setting(&field.name),
            format!(" must be {expected}, not {found}")
        );
        self.problem(&field.value.span, message, hint);
    }
}

/// Lists the names that there are.
pub fn one_of(known: &[&str]) -> String {
    format!("known: {}", known.join(", "))
}

/// The shortest name that is taken for an abbreviation.
const ABBREVIATION_MIN: usize = 3;
/// A slip in a name that is not longer says little: `cmd` is not `cwd`.
const SHORT_MAX: usize = 4;

/// The known name that was probably meant: one that begins so, one a few slips away, or one that is abbreviated so
/// or written out so.
pub fn near<'a>(known: &[&'a str], name: &str) -> Option<&'a str> {
    // A name of megabytes is no slip of the keyboard, and would take long to compare.
    if name.len() > SHOWN_MAX {
        return None;
    }
    let normal = name.to_lowercase().replace('-', "_");
    let difference = |known: &&&'a str| known.len().abs_diff(normal.len());
    let is_long = normal.len() >= ABBREVIATION_MIN;
    let begun = known.iter().filter(|known| known.starts_with(&normal));
    let abbreviated = known.iter().filter(|known| is_abbreviated(known, &normal));
    let begun = begun.min_by_key(difference).filter(|_| is_long).copied();
    let abbreviated = abbreviated.min_by_key(difference).copied();
    if normal.len() <= SHORT_MAX {
        begun.or(abbreviated).or_else(|| slip(known, name))
    } else {
        begun.or_else(|| slip(known, name)).or(abbreviated)
    }
}

/// The known name that is a few slips of the keyboard away.
pub fn slip<'a>(known: &[&'a str], name: &str) -> Option<&'a str> {
    if name.len() > SHOWN_MAX {
        return None;
    }
    let name = name.to_lowercase();
    nearest(known.iter().copied(), &name)
        .or_else(|| nearest(known.iter().copied(), &name.replace('-', "_")))
}

/// Whether one of both is the other with letters left out, the first not: `cmd` for `command`, `arguments` for
/// `args`. What is much longer is something else.
fn is_abbreviated(known: &str, name: &str) -> bool {
    let (short, long) = if known.len() < name.len() {
        (known, name)
    } else {
        (name, known)
    };
    let is_near = short.len() >= ABBREVIATION_MIN && short.len() * 3 >= long.len();
    let mut letters = long.chars();
    is_near
        && short.chars().next() == long.chars().next()
        && short
            .chars()
            .all(|letter| letters.any(|other| other == letter))
}

/// The hint after a name that is not known: a close one, or something else to try.
pub fn meant(close: Option<impl fmt::Debug>, otherwise: impl Into<Message>) -> Message {
    close.map_or_else(
        || otherwise.into(),
        |close| format!("did you mean {close:?}?").into(),
    )
}

/// The nearest known name, or all of them.
pub fn suggestion(known: &[&str], name: &str) -> Message {
    meant(near(known, name), one_of(known))
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn beginnings_slips_and_abbreviations_are_understood() {
        for (known, name, expected) in [
            (
                &["timeout_ms", "tool", "tags"][..],
                "timeout",
                Some("timeout_ms"),
            ),
            (&["args", "tags", "name"], "arguments", Some("args")),
            (
                &["negative_path", "name"],
                "negative",
                Some("negative_path"),
            ),
            (&["cwd", "command"], "cmd", Some("command")),
            (
                &["unknown_tool", "oversized"],
                "unknown",
                Some("unknown_tool"),
            ),
            (
                &["startup_timeout_ms", "startup_timeout"],
                "startup-timeout-",
                Some("startup_timeout_ms"),
            ),
            (&["target", "matcher"], "taget", Some("target")),
            (
                &["stability.weakest_score", "stability.score"],
                "stabilty.score",
                Some("stability.score"),
            ),
            (&["response", "responses"], "respones", Some("response")),
            (&["servers", "tools"], "Severs", Some("servers")),
            (&["api", "web"], "apj", Some("api")),
            (&["command", "url"], "c", None),
            (&["url", "mock"], "colour", None),
        ] {
            assert_eq!(near(known, name), expected, "{name}");
        }
    }
}
