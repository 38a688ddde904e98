//! What is wrong with a text that is no YAML, in our own words: those of the parser name its
//! settings, and repeat the place.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::{Error, ExternalMessageSource};

use super::{DEPTH_MAX, SyntaxError, flow};
use crate::prelude::*;

/// How much of a wrong name is repeated.
const SHOWN_MAX: usize = 60;

/// What to try where nothing better is known.
const LAYOUT: &str = "check the indentation, and put texts with `:`, `#` or brackets in quotes";
const BRACKETS: &str =
    "every `[` needs its `]`, every `{` its `}`; a text that holds one of these is put in quotes";
const ALIASES: &str = "write out what the aliases (`*name`) stand for, or put texts that begin with `*` or `&` in quotes";

/// What is wrong with the text at this place, and what to try.
pub fn describe(error: &Error, text: &str, span: Range<usize>) -> SyntaxError {
    let (span, message, hint) = may_be_cut(error)
        .then(|| flow::cut_text(text, span.start))
        .flatten()
        .unwrap_or_else(|| {
            let (message, hint) = match error.without_snippet() {
                Error::InvalidScalar { .. } if is_tagged(text, span.start) => (
                    "the value does not fit its tag (such as `!!int`)".to_owned(),
                    "leave the tag out, or correct the value",
                ),
                error => words(error),
            };
            (span, message, hint.into())
        });
    invalid(span, &message, hint)
}

fn invalid(span: Range<usize>, message: &str, hint: impl Into<Message>) -> SyntaxError {
    SyntaxError {
        span,
        message: format!("not valid YAML: {message}").into(),
        hint: hint.into(),
        gist: "not valid YAML",
    }
}

/// Whether a tag stands before what is at this place.
fn is_tagged(text: &str, start: usize) -> bool {
    text.get(..start)
        .unwrap_or_default()
        .split_whitespace()
        .next_back()
        .is_some_and(|word| word.starts_with('!'))
}

/// Whether it may be that a bracket ended a text too early.
fn may_be_cut(error: &Error) -> bool {
    let Error::ExternalMessage { source, .. } = error.without_snippet() else {
        return false;
    };
    let ExternalMessageSource::Parser(error) = &**source else {
        return false;
    };
    matches!(
        error.kind(),
        ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::ExpectedBlockSequenceEntry
            | ErrorKind::ExpectedBlockMappingKey
    )
}

/// Whether it is a key that is there twice.
pub fn is_repeat(error: &Error) -> bool {
    match error.without_snippet() {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => is_repeat(error),
        error => matches!(error, Error::DuplicateMappingKey { .. }),
    }
}

/// A key that is there twice.
pub fn twice(key: &str, span: Range<usize>) -> SyntaxError {
    invalid(span, &is_twice(Some(key)), "leave one of them out")
}

fn is_twice(key: Option<&str>) -> String {
    key.map_or("a key is there twice".into(), |key| {
        format!("the key `{}` is there twice", shorten(key, SHOWN_MAX))
    })
}

fn words(error: &Error) -> (String, &'static str) {
    let (message, hint) = match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => return words(error),
        Error::DuplicateMappingKey { key, .. } => {
            return (is_twice(key.as_deref()), "leave one of them out");
        }
        Error::ExternalMessage { source, msg, .. } => {
            return match &**source {
                ExternalMessageSource::Parser(error) => syntax(error.kind(), msg),
                _ => (msg.clone(), LAYOUT),
            };
        }
        Error::Budget { breach, .. } => return too_much(breach),
        Error::MultipleDocuments { .. } => (
            "there is a second document in the file",
            "keep one of them: a line `---` begins another",
        ),
        Error::UnknownAnchor { .. } => ("no anchor (`&name`) is there for this alias", ALIASES),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            ("aliases of aliases make it too large", ALIASES)
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => ("an alias holds itself", ALIASES),
        Error::MergeValueNotMapOrSeqOfMaps { .. } | Error::MergeKeyNotAllowed { .. } => (
            "`<<` can only take in a map",
            "give it an alias of a map, or put the key in quotes",
        ),
        Error::UnsupportedTag { .. } | Error::TaggedScalarCannotDeserializeIntoString { .. } => (
            "a tag (`!name`) means nothing here",
            "leave it out, or put a text that begins with `!` in quotes",
        ),
        Error::Eof { .. } => ("it ends too early", LAYOUT),
        Error::Message { msg, .. } => return (msg.clone(), LAYOUT),
        Error::InvalidScalar { .. } | Error::NullIntoString { .. } => {
            ("this cannot be the name of a key", "put it in quotes")
        }
        _ => ("it cannot be understood from here on", LAYOUT),
    };
    (message.into(), hint)
}

/// What the parser itself found.
fn syntax(kind: &ErrorKind, message: &str) -> (String, &'static str) {
    match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => (
            "a tab cannot be used for indentation".into(),
            "indent with spaces",
        ),
        ErrorKind::UnexpectedCharacter { .. } => (
            message.into(),
            "put the text in quotes; is it a text file at all?",
        ),
        ErrorKind::RecursionLimitExceeded => too_deep(),
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::MismatchedFlowCollectionEnd { .. } => (message.into(), BRACKETS),
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            (message.into(), flow::QUOTES)
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => (
            message.into(),
            "put the missing quote at its end, or indent the lines that belong to it",
        ),
        _ => (message.into(), LAYOUT),
    }
}

fn too_much(breach: &BudgetBreach) -> (String, &'static str) {
    match breach {
        BudgetBreach::Depth { .. } | BudgetBreach::InclusionDepth { .. } => too_deep(),
        BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => {
            ("there are too many aliases in it".into(), ALIASES)
        }
        BudgetBreach::Documents { .. } => (
            "there are too many documents in the file".into(),
            "keep one of them: a line `---` begins another",
        ),
        _ => (
            "it holds more values than are taken".into(),
            "leave out what is not needed; aliases (`*name`) count as often as they are used",
        ),
    }
}

fn too_deep() -> (String, &'static str) {
    (
        format!("lists and maps are more than {DEPTH_MAX} deep in each other"),
        "is it the right file? no setting is as deep",
    )
}
