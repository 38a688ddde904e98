//! What came of bad requests.

use super::Probe;

use mcprove_trace::prelude::*;

/// What came of all probes of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct NegativePathReport {
    /// Each probe, in the order in which they were made.
    pub probes: Vec<ProbeReport>,
    /// Whether the server does not answer `ping`, so that only the end of its connection shows that a bad
    /// request broke it.
    pub is_ping_unanswered: bool,
}

/// What came of one probe.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeReport {
    /// The probe.
    pub probe: Probe,
    /// What came of it.
    pub verdict: Verdict,
    /// Of one that failed what was expected, and what came of it.
    pub breach: Option<Breach>,
    /// Of one that failed the same as the verdict says, without a word of what the server said.
    pub unquoted: Option<String>,
    /// How long the answer took.
    pub duration: Duration,
}

/// How a contract was broken, in short, without a word of what the server said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breach {
    /// What must come of the bad request.
    pub expected: &'static str,
    /// What came of it: `the tool accepted it`.
    pub found: &'static str,
}

/// What came of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
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
        self.count(|verdict| matches!(verdict, Verdict::Passed | Verdict::Failed(_)))
    }

    fn count(&self, is_it: fn(&Verdict) -> bool) -> usize {
        self.probes
            .iter()
            .filter(|report| is_it(&report.verdict))
            .count()
    }

    /// How many did not meet the contract.
    pub fn failures(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Failed(_)))
    }

    /// Whether every probe that ran passed; unknown when none did, or one could not be made.
    pub fn gate_passed(&self) -> Option<bool> {
        let undone = self.count(|verdict| matches!(verdict, Verdict::Undone(_)));
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
