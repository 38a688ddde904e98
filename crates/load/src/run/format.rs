//! The formats of the files of a run, and which version of them is read: a file of another version
//! may mean something else by the same names, so it is refused.

use crate::prelude::*;

/// The format of `metrics.json`.
pub const METRICS: &str = "metrics.v1";
/// The format of `trace.jsonl`; one without a version is of the first.
pub const TRACE: &str = mcprove_trace::stream::TRACE_FORMAT;

/// Why a file of a run cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It is of a version, or a format, that is not known here.
    #[error("{path} is of the format {found:?}, and this mcprove reads {known:?}")]
    Other {
        /// The file.
        path: String,
        /// What it says it is.
        found: String,
        /// What is read.
        known: &'static str,
    },
    /// It is not there, or has not its form.
    #[error("{0}")]
    Unreadable(String),
}

impl UserError for FormatError {
    fn hint(&self) -> Message {
        let hint = match self {
            Self::Other { .. } => {
                "another version of mcprove made it: use that one, or make the run again"
            }
            Self::Unreadable(_) => "leave the run out, or make it again",
        };
        hint.into()
    }
}

/// The only thing that every version of a file has.
#[derive(Deserialize)]
struct Tag {
    schema: Option<String>,
}

/// Refuses `text`, the file at `path`, if it says that it is anything but `known`. What it is when
/// it says nothing is for the reader to find out.
pub fn check(path: &Path, text: &[u8], known: &'static str) -> Result<(), FormatError> {
    let found = serde_json::from_slice::<Tag>(text)
        .ok()
        .and_then(|tag| tag.schema);
    match found {
        Some(found) if found != known => Err(FormatError::Other {
            path: path.display().to_string(),
            found,
            known,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_that_it_is_another_is_refused() {
        for (text, is_refused) in [
            (r#"{"schema":"metrics.v1","more":[1]}"#, false),
            (r#"{"schema":"metrics.v9"}"#, true),
            (r#"{"schema":"trace.v1"}"#, true),
            (r#"{"more":1}"#, false),
            ("not json", false),
        ] {
            let checked = check(Path::new("m.json"), text.as_bytes(), METRICS);
            assert_eq!(checked.is_err(), is_refused, "{text}: {checked:?}");
        }
        let error = check(Path::new("m.json"), br#"{"schema":"metrics.v9"}"#, METRICS);
        assert_eq!(
            error.unwrap_err().to_string(),
            "m.json is of the format \"metrics.v9\", and this mcprove reads \"metrics.v1\""
        );
    }
}
