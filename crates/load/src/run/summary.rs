//! `summary.json`: how a run ended, in the few words that a CI job needs.

use crate::prelude::*;

/// What an interrupted command ends with, as shells have it.
const INTERRUPTED: u8 = 130;
/// What a command ends with that could not write a file.
const NOT_WRITTEN: u8 = 2;

/// How a run ended (format `summary.v1`). Everything else is in `metrics.json`.
#[data]
pub struct Summary {
    /// The format: `summary.v1`.
    pub schema: String,
    /// A ULID.
    pub run_id: String,
    /// Whether every limit held, nothing critical was found, and something succeeded.
    pub passed: bool,
    /// Passed, failed, or not enough evidence.
    pub outcome: RunOutcome,
    /// What the command that did the run ends with: 130 interrupted, else 2 when a file could not be written,
    /// else 1 failed, 2 not enough evidence, 0 passed.
    pub exit_code: u8,
    /// Whether the run was interrupted, or ended before its time.
    pub partial: bool,
    /// The name of the scenario.
    pub scenario: String,
    /// Calls that ended, in whatever way.
    pub total_requests: u64,
    /// The share of them that failed; null without a call.
    pub error_rate: Option<f64>,
    /// Calls that never answered.
    pub deadlock_count: u32,
    /// Calls that answered late, or were past the hang threshold when the run was interrupted.
    pub hang_count: u32,
    /// Times the server process ended.
    pub crash_count: u32,
    /// Limits that were not kept.
    pub threshold_violations: Vec<ThresholdViolation>,
    /// What was found, worst first.
    pub findings: Vec<SummaryFinding>,
    /// What a run cannot pass without and could not be judged, each with the reason: limits,
    /// whether anything works, whether calls get stuck.
    pub inconclusive: Vec<Message>,
    /// What else detectors could not judge. It does not change how the run ended.
    #[serde(default)]
    pub not_judged: Vec<NotJudged>,
    /// Marks from A to F.
    pub grades: Grades,
}

/// Something that could not be judged, for want of evidence.
#[data(Eq)]
pub struct NotJudged {
    /// Who could not.
    pub detector: String,
    /// Why.
    pub sentence: Message,
}

/// Something that was found.
#[data(Eq)]
#[schemars(rename = "Finding")]
pub struct SummaryFinding {
    /// Who found it.
    pub detector: String,
    /// How much it matters; only `critical` makes a run fail.
    pub severity: Severity,
    /// What it is.
    pub sentence: Message,
    /// What to try next.
    pub hint: Option<Message>,
}

impl From<&Report> for Summary {
    fn from(report: &Report) -> Self {
        let findings = report.findings().into_iter().map(|verdict| SummaryFinding {
            detector: verdict.detector.clone(),
            severity: verdict.severity,
            sentence: verdict.sentence.clone(),
            hint: verdict.hint.clone(),
        });
        Self {
            schema: "summary.v1".to_owned(),
            run_id: report.run_id.clone(),
            passed: report.passed(),
            outcome: report.outcome(),
            exit_code: match report.outcome() {
                _ if report.interrupted => INTERRUPTED,
                _ if report.has_lost() => NOT_WRITTEN,
                RunOutcome::Failed => 1,
                RunOutcome::Inconclusive => 2,
                RunOutcome::Passed => 0,
            },
            partial: report.partial,
            scenario: report.scenario_kind.name().to_owned(),
            total_requests: report.throughput.total_requests,
            error_rate: report.error_rate(),
            deadlock_count: report.deadlock_count,
            hang_count: report.hang_count,
            crash_count: report.crash_count,
            threshold_violations: report.threshold_violations.clone(),
            findings: findings.collect(),
            inconclusive: report
                .inconclusive_gates()
                .map(|verdict| verdict.sentence.clone())
                .collect(),
            not_judged: report
                .inconclusive_checks()
                .map(|verdict| NotJudged {
                    detector: verdict.detector.clone(),
                    sentence: verdict.sentence.clone(),
                })
                .collect(),
            grades: report.grades.clone(),
        }
    }
}

impl Summary {
    /// The text of `summary.json`.
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }
}

#[cfg(test)]
mod tests {
    use mcprove_score::verdict::Verdict;

    use super::*;
    use crate::drive::Scenario;

    #[test]
    fn the_exit_code_is_that_of_the_command() {
        let finding = Verdict::finding("race", Severity::Critical, "Found.", "look");
        let open = Verdict::inconclusive("success", "Nothing yet.", "wait");
        let cases = [
            (None, false, 0),
            (None, true, 130),
            (Some(&finding), false, 1),
            (Some(&finding), true, 130),
            (Some(&open), false, 2),
            (Some(&open), true, 130),
        ];
        for (verdict, interrupted, expected) in cases {
            let mut report = Report::empty(Scenario::sustained().kind);
            report.verdicts = verdict.into_iter().cloned().collect();
            report.interrupted = interrupted;
            let summary = Summary::from(&report);
            assert_eq!(summary.exit_code, expected, "{verdict:?} {interrupted}");
        }
    }

    #[test]
    fn what_could_not_be_judged_is_listed_apart_from_limits() {
        let mut report = Report::empty(Scenario::sustained().kind);
        report.verdicts = vec![
            Verdict::inconclusive("p99_latency", "The limit is open.", "run longer").about_limit(),
            Verdict::inconclusive("leak", "3 samples are too few.", "run longer"),
            Verdict::pass("protocol", "Kept."),
        ];
        let summary = Summary::from(&report);
        assert_eq!(summary.inconclusive, ["The limit is open."]);
        let leak = NotJudged {
            detector: "leak".to_owned(),
            sentence: "3 samples are too few.".into(),
        };
        assert_eq!(summary.not_judged, [leak]);
    }
}
