//! What a scenario or a check finds out itself, noted so that the report has it as a verdict.

use std::collections::BTreeMap;

use mcprove_score::verdict::{Outcome, Severity, Verdict};
use mcprove_settings::message::Message;
use mcprove_trace::stream::Fact;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context::RunContext;

/// A verdict in the making.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CheckFact {
    pub detector: String,
    pub passed: bool,
    pub critical: bool,
    #[serde(default)]
    pub inconclusive: bool,
    pub sentence: String,
    pub hint: Message,
    #[serde(default)]
    pub numbers: BTreeMap<String, Value>,
}

impl Fact for CheckFact {
    const NAME: &'static str = "check";
}

impl RunContext {
    /// Notes a verdict, which the report has.
    pub fn note_verdict(&self, verdict: &Verdict) {
        let fact = CheckFact {
            detector: verdict.detector.clone(),
            passed: verdict.outcome == Outcome::Pass,
            critical: verdict.severity == Severity::Critical,
            inconclusive: verdict.outcome == Outcome::Inconclusive,
            sentence: verdict.sentence.clone(),
            hint: verdict.hint.clone().unwrap_or_default(),
            numbers: verdict.numbers.clone(),
        };
        self.fact(&verdict.detector, &fact);
    }
}

impl From<CheckFact> for Verdict {
    fn from(check: CheckFact) -> Self {
        let (outcome, severity) = match (check.inconclusive, check.passed, check.critical) {
            (true, ..) => (Outcome::Inconclusive, Severity::Info),
            (_, true, _) => (Outcome::Pass, Severity::Info),
            (.., true) => (Outcome::Finding, Severity::Critical),
            (.., false) => (Outcome::Finding, Severity::Warning),
        };
        Self {
            detector: check.detector,
            outcome,
            severity,
            numbers: check.numbers,
            sentence: check.sentence,
            hint: (outcome != Outcome::Pass).then_some(check.hint),
        }
    }
}
