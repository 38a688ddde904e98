//! Negative paths: a few bad requests that a tool must reject, each after a kind of fault that has been
//! found in real servers.
//!
//! A [`Probe`] is one of the [`ENTRIES`], with a function that makes its bad request. Making a request is
//! pure: [`Probe::request`] takes the schema of the tool and arguments that it accepts, and proves with a
//! validator that what it makes is not accepted, or says why the probe does not apply. [`examine`] sends
//! the requests, each within its own deadline, and judges what comes back. What hung or crashed gets a
//! new session for the next probe.
//!
//! ```
//! use mcprove_check::negative_path::{Probe, Subject};
//! use serde_json::json;
//!
//! let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] });
//! let subject = Subject::new("search", ["search"], &schema, &json!({ "q": "x" })).unwrap();
//! let request = Probe::WrongType.request(&subject).unwrap();
//! assert_eq!(request.arguments, json!({ "q": 12345 }));
//! let why = Probe::ExtraField.request(&subject).unwrap_err();
//! assert_eq!(why.to_string(), "the schema allows other fields (`additionalProperties` is not false)");
//! ```

mod examine;
mod probes;
mod subject;
mod whole;

#[cfg(test)]
mod tests;

pub use examine::{Examination, Sessions, examine};
pub use probes::{ENTRIES, Entry};
pub use subject::{BadRequest, NotApplicable, Subject, SubjectError};
pub use whole::{OwnSessions, negative_path};

use mcprove_settings::setting::in_seconds;

use crate::prelude::*;

/// A bad request.
#[stored(open, Copy, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// A tool that does not exist.
    UnknownTool,
    /// Without a required argument.
    MissingRequired,
    /// An argument of another type.
    WrongType,
    /// An argument that the schema forbids.
    ExtraField,
    /// A very large argument.
    Oversized,
}

impl Probe {
    /// Every probe and its name, in the order in which they are made.
    pub const ALL: [Self; 5] = [
        Self::UnknownTool,
        Self::MissingRequired,
        Self::WrongType,
        Self::ExtraField,
        Self::Oversized,
    ];

    /// What there is to know of it.
    pub const fn entry(self) -> &'static Entry {
        // They stand in the order of the variants, which a test holds.
        &ENTRIES[self as usize]
    }

    /// Its name in suites and reports.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// The probe of this name; `-` and `_` are the same.
    ///
    /// ```
    /// use mcprove_check::negative_path::Probe;
    ///
    /// assert_eq!(Probe::parse("wrong-type"), Some(Probe::WrongType));
    /// assert_eq!(Probe::parse("wrong"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        let normal = name.replace('-', "_");
        Self::ALL.into_iter().find(|probe| probe.name() == normal)
    }

    /// The bad request for a tool, or why the probe does not apply to it.
    pub fn request(self, subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
        let can_be_made = match self {
            // The name of a tool that does not exist is made whatever the schema.
            Self::UnknownTool => true,
            Self::MissingRequired => subject.plainly_required().is_some(),
            // What is large is rejected or not, whatever the schema says.
            Self::Oversized => subject.has_schema(),
            Self::WrongType | Self::ExtraField => false,
        };
        match &subject.unreadable {
            Some(reason) if !can_be_made => Err(reason.clone()),
            _ => (self.entry().make)(subject),
        }
    }
}

/// The outcome of all probes of a tool.
#[stored(open, Eq)]
pub struct NegativePathReport {
    /// Each probe, in the order in which they were made.
    pub probes: Vec<RequestReport>,
    /// Whether the server does not answer `ping`, so that only the end of its connection shows that a bad
    /// request broke it.
    pub is_ping_unanswered: bool,
}

/// The outcome of one probe.
#[in_seconds]
#[stored(open, Eq)]
pub struct RequestReport {
    /// The probe.
    pub probe: Probe,
    /// Its outcome.
    pub outcome: RequestOutcome,
    /// Of one that failed what was expected, and its outcome.
    pub breach: Option<Breach>,
    /// Of one that failed the same as the outcome says, without a word of what the server said.
    pub unquoted: Option<String>,
    /// How long the answer took.
    pub duration: Duration,
}

/// How a contract was broken, in short, without a word of what the server said.
#[stored(open, Eq)]
pub struct Breach {
    /// What must come of the bad request.
    pub expected: Cow<'static, str>,
    /// Its outcome: `the tool accepted it`.
    pub found: Cow<'static, str>,
}

/// The outcome of a probe.
#[stored(Eq)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// The contract was kept.
    Passed,
    /// It was not: what was sent, what came back, what to do.
    Failed(String),
    /// The probe does not apply, for this reason: it is not counted.
    Skipped(String),
    /// The probe could not be made, for this reason.
    Undone(String),
}

impl NegativePathReport {
    /// How many probes ran.
    pub fn checks_run(&self) -> usize {
        self.count(|outcome| matches!(outcome, RequestOutcome::Passed | RequestOutcome::Failed(_)))
    }

    fn count(&self, is_it: fn(&RequestOutcome) -> bool) -> usize {
        self.probes
            .iter()
            .filter(|report| is_it(&report.outcome))
            .count()
    }

    /// How many did not meet the contract.
    pub fn failures(&self) -> usize {
        self.count(|outcome| matches!(outcome, RequestOutcome::Failed(_)))
    }

    /// Whether every probe that ran passed; unknown when none did, or one could not be made.
    pub fn gate_passed(&self) -> Option<bool> {
        let undone = self.count(|outcome| matches!(outcome, RequestOutcome::Undone(_)));
        match (self.failures(), self.checks_run(), undone) {
            (1.., ..) => Some(false),
            (0, 1.., 0) => Some(true),
            _ => None,
        }
    }

    /// The values that can be gated: `checks_run`, `failures` and `gate_passed`, which is 1, 0, or null
    /// where it is not known.
    pub fn targets(&self) -> Value {
        json!({
            "checks_run": self.checks_run(),
            "failures": self.failures(),
            "gate_passed": self.gate_passed().map(u8::from),
        })
    }
}
