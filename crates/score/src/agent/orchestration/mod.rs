//! Whether errors are made good: the coarse gate, where [`recovery`](super::recovery) is the fine one.
//!
//! `orchestration.error_recovery` is the fraction of the calls that failed (`is_error: true`) which are
//! followed, at any later place, by a success (`is_error: false`) of the same tool on the same server;
//! 1 when none failed. Where the trace does not say of one call whether it failed, the value is
//! unknown: that call may be one more failure, or what makes one good. The name is that of mcptest.

use crate::prelude::*;

const ERROR_RECOVERY: &str = "orchestration.error_recovery";

/// What became of the calls that failed.
#[sparse(marked)]
#[stored]
pub struct OrchestrationReport {
    /// Calls that failed.
    pub errored: u64,
    /// Those of them that the same tool made good later.
    pub recovered: u64,
    /// The places of the others, in order.
    pub unrecovered: Vec<usize>,
    /// The places of the calls of which the trace does not say whether they failed, in order.
    #[sparse]
    pub unknown: Vec<usize>,
    /// `recovered / errored`; 1 when none failed; `None` where one is unknown.
    pub error_recovery: Option<f64>,
}

/// Looks at what became of each call that failed.
///
/// ```
/// use mcprove_score::agent::orchestration::score_orchestration;
/// use mcprove_trace::AgentRun;
///
/// let text = r#"{"tool_calls":[{"name":"search"},{"name":"fetch"},{"name":"search"}],
///     "tool_results":[{"call_index":0,"is_error":true},{"call_index":1,"is_error":true},
///                     {"call_index":2,"is_error":false}]}"#;
/// let run: AgentRun = serde_json::from_str(text).unwrap();
/// let report = score_orchestration(&run);
/// assert_eq!(report.error_recovery, Some(0.5));
/// assert_eq!(report.unrecovered, [1]);
/// ```
pub fn score_orchestration(run: &AgentRun) -> OrchestrationReport {
    let mut report = OrchestrationReport {
        errored: 0,
        recovered: 0,
        unrecovered: Vec::new(),
        unknown: Vec::new(),
        error_recovery: None,
    };
    let mut succeeded_later = BTreeSet::new();
    let results = run.results();
    for (index, (call, result)) in run.tool_calls.iter().zip(results).enumerate().rev() {
        let tool = (call.name.as_str(), call.server.as_deref());
        match result.and_then(|result| result.is_error) {
            Some(false) => {
                succeeded_later.insert(tool);
            }
            Some(true) => {
                report.errored += 1;
                if succeeded_later.contains(&tool) {
                    report.recovered += 1;
                } else {
                    report.unrecovered.push(index);
                }
            }
            None => report.unknown.push(index),
        }
    }
    report.unrecovered.reverse();
    report.unknown.reverse();
    if report.unknown.is_empty() {
        report.error_recovery = Some(share(report.recovered, report.errored).unwrap_or(1.0));
    }
    report
}

/// The metric `orchestration`.
#[derive(Debug)]
pub struct Orchestration;

impl Metric for Orchestration {
    type Block = ();

    const ABOUT: About = About {
        name: "orchestration",
        explanation: "whether failed calls are followed by a success",
        targets: &[Target::lowest(
            ERROR_RECOVERY,
            "the fraction of failed calls after which the same tool succeeded, 0 to 1",
        )],
        default_gate: "`orchestration.error_recovery` is 1",
        ..About::PLAIN
    };

    /// The default gate: every call that failed is made good.
    fn score_run(
        &self,
        run: &AgentRun,
        _case: &Case<'_, ()>,
        card: &mut RunCard<'_>,
    ) -> ScoreResult {
        let report = score_orchestration(run);
        card.set(ERROR_RECOVERY, report.error_recovery);
        let Some(error_recovery) = report.error_recovery else {
            card.note(
                "orchestration.error_recovery is unknown for ",
                ": the trace does not say which calls failed.",
            );
            card.cannot_judge(unknown(run, &report));
            return Ok(());
        };
        if let Some(first) = report.unrecovered.first() {
            let message = unrecovered(run, &report, *first);
            let expected = json!({ "minimum": 1 });
            card.fail(ERROR_RECOVERY, expected, error_recovery, message);
            let never = report.unrecovered.iter().map(|place| {
                sentence!(
                    "call {place}, {}, failed and was not followed by a success",
                    tool(run, *place)
                )
            });
            card.add_first_findings(count(report.unrecovered.len()), "such call", never);
            card.detail(&report);
        }
        Ok(())
    }
}

fn unknown(run: &AgentRun, report: &OrchestrationReport) -> ScoreError {
    let first = report.unknown.first().copied().unwrap_or_default();
    ScoreError::new(
        ERROR_RECOVERY,
        sentence!(
            "the trace does not say whether {} failed; the first is {}",
            named_places("call", &report.unknown),
            tool(run, first)
        ),
        "record the results (tool_results[i].is_error), or leave out the orchestration block",
    )
}

/// The tool of a call, with its server where that is known.
fn tool(run: &AgentRun, place: usize) -> Message {
    let call = &run.tool_calls[place];
    let server = call.server.as_deref();
    let server = server.map_or_else(Message::default, |server| {
        sentence!(" on {}", quoted(server))
    });
    sentence!("{}{server}", quoted(&call.name))
}

fn unrecovered(run: &AgentRun, report: &OrchestrationReport, first: usize) -> Diagnostic {
    let missed = report.errored - report.recovered;
    let message = sentence!(
        "{} of {} {} not followed by a success: {}",
        whole(missed),
        counted(report.errored, "failed call"),
        if missed == 1 { "was" } else { "were" },
        named_places("call", &report.unrecovered),
    );
    let tool = tool(run, first);
    let hint = sentence!("look at what the agent does after call {first} ({tool}) fails");
    Diagnostic::new(message, hint)
}

#[cfg(test)]
mod tests;
