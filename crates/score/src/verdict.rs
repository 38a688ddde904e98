//! What a detector concluded, in the one shape that every report prints.
//!
//! Three kinds are never mixed up: the target holds ([`Outcome::Pass`]), the target failed
//! ([`Outcome::Finding`]), or the evidence is not enough ([`Outcome::Inconclusive`]). A check that
//! could not run is never a pass. Every detector of this crate ends in a [`Verdict`]; the
//! `verdicts` of `metrics.json` are these.

use crate::prelude::*;

/// The name of what says whether any call succeeded.
pub const SUCCESS: &str = "success";

/// How a detector ended.
#[choice(Copy, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The target holds.
    Pass,
    /// The target failed.
    Finding,
    /// The evidence is not enough to say either.
    Inconclusive,
}

impl Outcome {
    /// Whether a limit holds, where that is known, and whether it is certain that it does not.
    pub fn of(holds: Option<bool>, is_certain: bool) -> Self {
        match holds {
            Some(true) => Self::Pass,
            Some(false) if is_certain => Self::Finding,
            _ => Self::Inconclusive,
        }
    }
}

/// How much a finding matters.
#[choice(open, Copy, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; the severity of everything that is not a finding.
    Info,
    /// Worth looking at; the run still passes.
    Warning,
    /// The run does not pass.
    Critical,
}

/// Which findings make a run fail.
#[choice(Copy, Default, Eq)]
pub enum FailOn {
    /// Critical ones.
    #[default]
    Critical,
    /// Warnings too.
    Warning,
}

impl FailOn {
    /// Whether this makes a run fail.
    pub fn is_failure(self, verdict: &Verdict) -> bool {
        let is_warning =
            verdict.outcome == Outcome::Finding && verdict.severity == Severity::Warning;
        verdict.is_failure() || self == Self::Warning && is_warning
    }

    /// Whether it is the default, which reports leave out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl SettingType for FailOn {
    const KIND: Kind = Kind::OneOf(&["critical", "warning"]);

    fn from_data(data: Data) -> Option<Self> {
        serde_json::from_value(Node::new(data).to_json().ok()?).ok()
    }

    fn write(&self) -> Option<Data> {
        let name = serde_json::to_value(self).ok()?;
        Some(Data::Text(name.as_str()?.to_owned()))
    }
}

/// The conclusion of one detector.
///
/// ```
/// use mcprove_score::verdict::{Severity, Verdict};
///
/// let verdict = Verdict::finding("leak", Severity::Critical, "Memory grew by 80 MB.", "find out what keeps it")
///     .number("growth_mb", 80.0)
///     .number("r_squared", f64::NAN);
/// assert!(verdict.is_failure());
/// assert!(verdict.numbers["r_squared"].is_null());
/// ```
#[sparse]
#[data(open)]
#[serde(remote = "Self")]
pub struct Verdict {
    /// The detector, in `snake_case`.
    pub detector: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How much that matters.
    pub severity: Severity,
    /// The numbers it rests on; null where one is unknown.
    pub numbers: BTreeMap<String, Value>,
    /// What it means, in one plain sentence.
    pub sentence: Message,
    /// What to try next.
    pub hint: Option<Message>,
    /// The limit that it is about, if it is about one.
    #[serde(skip)]
    limit: Option<String>,
}

/// What the detector of a limit begins with, in files too.
const LIMIT: &str = "threshold:";

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer).map(Self::with_stored_limit)
    }
}

impl Verdict {
    /// The same, as about the limit that its detector names.
    pub fn about_limit(mut self) -> Self {
        self.detector.insert_str(0, LIMIT);
        self.with_stored_limit()
    }

    /// The same after it was read from a file, where only the detector tells that it is about a limit.
    pub fn with_stored_limit(mut self) -> Self {
        self.limit = self.detector.strip_prefix(LIMIT).map(str::to_owned);
        self
    }

    /// The limit that it is about.
    pub fn limit(&self) -> Option<&str> {
        self.limit.as_deref()
    }

    /// The target holds.
    pub fn pass(detector: impl Into<String>, sentence: impl Into<Message>) -> Self {
        Self {
            detector: detector.into(),
            outcome: Outcome::Pass,
            severity: Severity::Info,
            numbers: BTreeMap::new(),
            sentence: sentence.into(),
            hint: None,
            limit: None,
        }
    }

    /// The target failed, with what to try.
    pub fn finding(
        detector: impl Into<String>,
        severity: Severity,
        sentence: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Self {
        Self {
            outcome: Outcome::Finding,
            severity,
            hint: Some(hint.into()),
            ..Self::pass(detector, sentence)
        }
    }

    /// The target failed so that the run does not pass.
    pub fn critical(
        detector: impl Into<String>,
        sentence: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Self {
        Self::finding(detector, Severity::Critical, sentence, hint)
    }

    /// The target failed in what is worth looking at.
    pub fn warning(
        detector: impl Into<String>,
        sentence: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Self {
        Self::finding(detector, Severity::Warning, sentence, hint)
    }

    /// The evidence is not enough, with how to get more.
    pub fn inconclusive(
        detector: impl Into<String>,
        sentence: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Self {
        Self {
            outcome: Outcome::Inconclusive,
            hint: Some(hint.into()),
            ..Self::pass(detector, sentence)
        }
    }

    /// Adds a number. What is unknown, infinite or not a number becomes null.
    pub fn number(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.numbers.insert(name.into(), value.into());
        self
    }

    /// Adds fields of a report, under the names that they have there; those that it leaves out are not added.
    pub fn numbers_of(mut self, report: &impl Serialize, names: &[&str]) -> Self {
        let mut fields = serde_json::to_value(report).unwrap_or_default();
        let given = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), fields.get_mut(name)?.take())));
        self.numbers.extend(given);
        self
    }

    /// Adds every field of a report that is a number, or null.
    pub fn numbers_in(mut self, report: &impl Serialize) -> Self {
        if let Ok(Value::Object(fields)) = serde_json::to_value(report) {
            let numbers = fields
                .into_iter()
                .filter(|(_, value)| value.is_number() || value.is_null());
            self.numbers.extend(numbers);
        }
        self
    }

    /// Whether this alone makes a run fail.
    pub fn is_failure(&self) -> bool {
        self.outcome == Outcome::Finding && self.severity == Severity::Critical
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_critical_finding_fails() {
        let cases = [
            (Verdict::pass("d", "s"), false),
            (Verdict::inconclusive("d", "s", "h"), false),
            (Verdict::finding("d", Severity::Info, "s", "h"), false),
            (Verdict::finding("d", Severity::Warning, "s", "h"), false),
            (Verdict::finding("d", Severity::Critical, "s", "h"), true),
        ];
        for (verdict, fails) in cases {
            assert_eq!(verdict.is_failure(), fails, "{verdict:?}");
        }
    }

    #[test]
    fn it_round_trips_with_names_in_snake_case() {
        let verdict = Verdict::finding("race", Severity::Warning, "It differs.", "look")
            .number("calls", 3_u64)
            .number("share", f64::INFINITY)
            .number("unknown", None::<f64>);
        let json = serde_json::to_string(&verdict).unwrap();
        assert_eq!(
            json,
            r#"{"detector":"race","outcome":"finding","severity":"warning","numbers":{"calls":3,"share":null,"unknown":null},"sentence":"It differs.","hint":"look"}"#
        );
        assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
        let pass = serde_json::to_string(&Verdict::pass("race", "Same.")).unwrap();
        assert!(!pass.contains("hint"), "{pass}");
        let limit = Verdict::inconclusive("p99", "Few calls.", "longer").about_limit();
        let json = serde_json::to_value(&limit).unwrap();
        assert_eq!(json["detector"], "threshold:p99");
        assert!(json.get("limit").is_none(), "{json}");
        let read: Verdict = serde_json::from_value(json).unwrap();
        assert_eq!((read.limit(), &read), (Some("p99"), &limit));
    }
}
