//! Facts: what an engine notes for the report, written and read by the same type.

use serde::de::DeserializeOwned;

use super::metrics::Note;
use crate::prelude::*;

/// What is read of facts.
pub type FactResult<T = ()> = Result<T, FactError>;

/// Something that an engine, a scenario or a detector notes, and reads again to make a report: live, or from the
/// trace. Each is declared beside the code that writes it.
///
/// ```
/// use std::sync::Arc;
/// use mcprove_trace::stream::{EventStream, Fact, MetricsSink};
/// use serde::{Deserialize, Serialize};
///
/// /// How many rounds there were.
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Rounds {
///     count: u32,
/// }
///
/// impl Fact for Rounds {
///     const NAME: &'static str = "rounds";
/// }
///
/// let metrics = Arc::new(MetricsSink::new());
/// let recorder = EventStream::new(vec![metrics.clone()]).recorder();
/// recorder.fact("three of them", &Rounds { count: 3 });
/// recorder.merge();
/// assert_eq!(metrics.snapshot().facts::<Rounds>().unwrap(), [Rounds { count: 3 }]);
/// ```
pub trait Fact: Serialize + DeserializeOwned {
    /// The name of its notes.
    const NAME: &'static str;

    /// The fact in the data of a note.
    fn parse(data: &str) -> FactResult<Self> {
        serde_json::from_slice(data.as_bytes())
            .map_err(|error| FactError::new(Self::NAME, data.to_owned(), &error))
    }
}

/// A record has the name of a type that cannot read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the record {name:?}: {reason}")]
pub struct FactError {
    pub name: &'static str,
    /// The data of the record.
    pub data: String,
    /// What is wrong with them.
    pub reason: String,
}

impl FactError {
    /// Of what serde reports.
    pub fn new(name: &'static str, data: String, reason: &serde_json::Error) -> Self {
        Self {
            name,
            data,
            reason: reason.to_string(),
        }
    }
}

impl UserError for FactError {
    fn hint(&self) -> Message {
        "read the trace with the version that wrote it; one that was edited by hand must be made again".into()
    }
}

impl Metrics {
    /// The facts of one type, in order of time.
    pub fn facts<F: Fact>(&self) -> FactResult<Vec<F>> {
        let parse = |note: &Note| F::parse(&note.data);
        self.notes_of(F::NAME).map(parse).collect()
    }

    /// The first fact of a type.
    pub fn first<F: Fact>(&self) -> FactResult<Option<F>> {
        self.notes_of(F::NAME)
            .next()
            .map(|note| F::parse(&note.data))
            .transpose()
    }
}
