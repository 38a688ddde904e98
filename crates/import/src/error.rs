//! Why a file could not be imported: what happened, where, and what to try.

use crate::prelude::*;

/// Why a file could not be imported.
///
/// ```
/// use mcprove_import::import;
///
/// let error = import("{\"runs\": [\n  {\"tool_calls\": [}\n]}").unwrap_err();
/// assert_eq!((error.line, error.column), (Some(2), Some(19)));
/// assert!(error.to_string().starts_with("line 2, column 19: "));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportError {
    /// What is wrong.
    pub message: Message,
    /// The line, counted from 1, where one is to blame.
    pub line: Option<usize>,
    /// The column, counted from 1 in bytes, where one is to blame.
    pub column: Option<usize>,
    /// The path to what is wrong: `runs[1].tool_calls[0]`; from the line on, in a file of lines.
    pub path: Option<String>,
    /// What to try.
    pub hint: Message,
}

impl fmt::Display for ImportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Diagnostic::from(self.text()).fmt(formatter)
    }
}

impl std::error::Error for ImportError {}

impl UserError for ImportError {
    fn text(&self) -> Message {
        let places = [
            self.line.map(|line| format!("line {line}")),
            self.column.map(|column| format!("column {column}")),
            self.path.clone(),
        ];
        let places: Vec<String> = places.into_iter().flatten().collect();
        let message = self.message.clone();
        if places.is_empty() {
            return message;
        }
        message.after(format!("{}: ", places.join(", ")))
    }

    fn hint(&self) -> Message {
        self.hint.clone()
    }
}

impl ImportError {
    /// An error about the shape of a value; the callers add where it stands.
    pub fn shape(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            ..Self::default()
        }
    }
}

/// What reading comes to.
pub type Result<T = (), E = ImportError> = std::result::Result<T, E>;

/// An error about the shape of a value.
pub fn refuse<T>(message: impl Into<Message>, hint: impl Into<Message>) -> Result<T> {
    Err(ImportError::shape(message, hint))
}

/// An error, or what may be one, that gets its place on the way out.
pub trait Placed: Sized {
    /// The same, in what stands under this key.
    fn within(self, key: &str) -> Self;

    /// The same, in the element of a list.
    fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl Placed for ImportError {
    fn within(mut self, key: &str) -> Self {
        self.path = Some(match self.path.take() {
            None => key.to_owned(),
            Some(rest) if rest.starts_with('[') => format!("{key}{rest}"),
            Some(rest) => format!("{key}.{rest}"),
        });
        self
    }
}

impl<T> Placed for Result<T> {
    fn within(self, key: &str) -> Self {
        self.map_err(|error| error.within(key))
    }
}
