//! What can go wrong while arguments are made.

use mcprove_settings::message::{Message, UserError, sentence};

/// What is made, or why it could not be.
pub type Result<T, E = ArgumentsError> = std::result::Result<T, E>;

/// Why no arguments could be made for a schema.
///
/// A `place` is a JSON pointer: into the arguments, or into the schema where the text says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// The schema is no valid JSON Schema.
    #[error("the schema is invalid at {}: {reason}", display(place))]
    InvalidSchema {
        /// Pointer into the schema.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// It takes a part of the library that was not built.
    #[error("{0} needs the feature `schema` of mcprove, which is not built")]
    NotBuilt(String),
    /// The schema itself exceeds a limit.
    #[error("the schema has {what} beyond the limit of {limit}")]
    SchemaTooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The most that is accepted.
        limit: usize,
    },
    /// A needed part of the schema is elsewhere, and nothing is ever fetched.
    #[error(
        "{} needs the remote schema {reference:?}, which is never fetched",
        display(place)
    )]
    RemoteReference {
        /// Where the schema is needed.
        place: String,
        /// The `$ref` as written.
        reference: String,
    },
    /// A `$ref` points at nothing.
    #[error(
        "{} refers to {reference:?}, which the schema does not have",
        display(place)
    )]
    UnresolvedReference {
        /// Where the schema is needed.
        place: String,
        /// The `$ref` as written.
        reference: String,
    },
    /// The schema asks for more than is ever made.
    #[error(
        "{} needs {needs} {what}, more than the limit of {limit}",
        display(place)
    )]
    OverLimit {
        /// Where it is asked for.
        place: String,
        /// What is asked for.
        what: &'static str,
        /// How much the schema asks for.
        needs: String,
        /// The most that is made.
        limit: usize,
    },
    /// Nothing that was tried satisfies the schema.
    #[error("{} could not be satisfied: {reason}", display(place))]
    Unsatisfiable {
        /// The place that failed.
        place: String,
        /// What failed there.
        reason: String,
        /// What to try.
        hint: Message,
    },
    /// The schema takes too long to satisfy.
    #[error("gave up at {} after {limit} steps of {what}", display(place))]
    TooMuchWork {
        /// Where the work ended.
        place: String,
        /// Which work.
        what: &'static str,
        /// The most that is done.
        limit: usize,
    },
}

impl UserError for ArgumentsError {
    fn hint(&self) -> Message {
        match self {
            Self::InvalidSchema { .. } | Self::UnresolvedReference { .. } => {
                "correct the schema of the tool".into()
            }
            Self::NotBuilt(_) => Message::default(),
            Self::RemoteReference { .. } => {
                sentence!("put it under `$defs`, or give the arguments by hand")
            }
            Self::Unsatisfiable { hint, .. } => hint.clone(),
            Self::SchemaTooLarge { .. } | Self::OverLimit { .. } | Self::TooMuchWork { .. } => {
                "give the arguments by hand".into()
            }
        }
    }
}

impl ArgumentsError {
    pub fn over_limit(
        place: &str,
        what: &'static str,
        needs: &impl ToString,
        limit: usize,
    ) -> Self {
        Self::OverLimit {
            place: place.to_owned(),
            what,
            needs: needs.to_string(),
            limit,
        }
    }

    pub fn unsatisfiable(
        place: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<Message>,
    ) -> Self {
        Self::Unsatisfiable {
            place: place.into(),
            reason: reason.into(),
            hint: hint.into(),
        }
    }

    pub fn too_much_work(place: &str, what: &'static str, limit: usize) -> Self {
        Self::TooMuchWork {
            place: place.to_owned(),
            what,
            limit,
        }
    }

    /// Whether trying another branch is of no use.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::TooMuchWork { .. })
    }

    /// Keeps the first of several errors, unless trying on is of no use.
    pub fn keep_in(self, first: &mut Option<Self>) -> Result<(), Self> {
        if self.is_final() {
            return Err(self);
        }
        first.get_or_insert(self);
        Ok(())
    }
}

fn display(place: &str) -> &str {
    if place.is_empty() { "the root" } else { place }
}
