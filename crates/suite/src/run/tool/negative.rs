//! The bad requests of a test, made and judged.

use std::sync::Arc;

use mcprove_arguments::ArgumentsError;
use mcprove_check::negative_path::{
    Examination, NegativePathReport, Sessions, Subject, SubjectError, Verdict, examine,
};
use mcprove_check::pulse::Pulse;
use mcprove_client::session::Session;
use mcprove_load::drive::Stop;
use mcprove_score::gate::{GateFailure, ScoreError, judge as hold};
use mcprove_settings::text::shorten;
use mcprove_trace::BoxFuture;
use serde_json::{Value, json};

use super::Listed;
use super::judged::{FLAGS, begins_with, spelt};
use crate::plan::{NegativePathPlan, ToolTestPlan};
use crate::run::report::TestReport;
use crate::run::servers::{Lease, Turn};

/// What all bad requests are gated on, unless the test says otherwise.
const GATE: &str = "negative_path.gate_passed";

/// How much of a schema is told.
const SCHEMA_CHARACTERS_MAX: usize = 300;

/// Makes the bad requests of a test, and notes in the report what does not hold. None if nothing could be
/// made.
pub(super) async fn run(
    test: &ToolTestPlan,
    plan: &NegativePathPlan,
    args: &Value,
    (turn, stop): (&Turn<'_>, &Stop),
    listed: Listed,
    report: &mut TestReport,
) -> Option<NegativePathReport> {
    let mut sessions = OwnSessions {
        turn,
        stop,
        lease: None,
    };
    // All tools of the server matter only for the name that none of them has.
    let names = match sessions.names().await {
        Ok(names) => names,
        Err(reason) => {
            report.errors.push(inconclusive(&reason));
            return None;
        }
    };
    let subject = subject(test, &names, args, &listed, report);
    if subject.are_made_up {
        report.notes.push(
            "negative_path: the arguments of the test do not fit the schema of the tool, so the bad requests were made from others".to_owned(),
        );
    }
    let examination = Examination {
        subject: &subject,
        probes: &plan.checks,
        timeout: plan.timeout,
    };
    let probes = examine(&examination, &mut sessions).await;
    sessions.done().await;
    gate(test, plan, &probes, report);
    Some(probes)
}

/// What the bad requests are made from. A schema that is none is a finding; where nothing is known of what it
/// accepts, only probes that need not know are made.
fn subject<'a>(
    test: &'a ToolTestPlan,
    names: &'a [String],
    args: &Value,
    listed: &'a Listed,
    report: &mut TestReport,
) -> Subject<'a> {
    let tools = || names.iter().map(String::as_str);
    let unreadable =
        |schema, reason| Subject::unreadable(&test.tool, tools(), schema, args, reason);
    let tool = match listed {
        Listed::Tool(tool) => tool,
        Listed::Unknown(reason) => {
            return unreadable(None, format!("tools/list failed: {reason}"));
        }
        Listed::Missing(_) => {
            return unreadable(None, listed.remark(test).unwrap_or_default());
        }
    };
    match Subject::new(&test.tool, tools(), &tool.input_schema, args) {
        Ok(subject) => subject,
        Err(error) if error.is_invalid_schema() => {
            let failure = invalid_schema(&tool.input_schema, &error);
            report.failures.push(failure);
            unreadable(None, "its inputSchema is not valid".to_owned())
        }
        Err(error) => unreadable(Some(&tool.input_schema), unknown(&error)),
    }
}

/// Why nothing is known of what a schema accepts.
fn unknown(error: &SubjectError) -> String {
    match error {
        SubjectError::Schema(ArgumentsError::RemoteReference { place, reference })
        | SubjectError::Arguments {
            error: ArgumentsError::RemoteReference { place, reference },
            ..
        } => format!(
            "its inputSchema needs the remote schema {reference:?} at {place}, which is never fetched; put it under \
             `$defs`"
        ),
        error => error.to_string(),
    }
}

fn invalid_schema(schema: &Value, error: &SubjectError) -> GateFailure {
    let message = match error {
        SubjectError::NoSchema => error.to_string(),
        _ => format!("the inputSchema of the tool is not valid: {error}"),
    };
    GateFailure {
        target: "inputSchema".to_owned(),
        expected: json!("a valid JSON Schema of the type object"),
        actual: match schema {
            Value::Null => Value::Null,
            schema => json!(shorten(&schema.to_string(), SCHEMA_CHARACTERS_MAX)),
        },
        message,
        ..GateFailure::default()
    }
}

/// Holds what came of the bad requests against the gate of the test, or the default one.
fn gate(
    test: &ToolTestPlan,
    plan: &NegativePathPlan,
    probes: &NegativePathReport,
    report: &mut TestReport,
) {
    // Where the test says what must come of them, in the block or beside it, that is the gate.
    let mut beside = test.expect.iter().map(spelt);
    let is_replaced =
        plan.expect.is_some() || beside.any(|expect| begins_with(&expect, &["negative_path"]));
    note_what_was_not_found_out(probes, report);
    for probe in &probes.probes {
        let name = probe.probe.name();
        match &probe.verdict {
            Verdict::Passed | Verdict::Skipped(_) => {}
            Verdict::Undone(reason) => {
                let reason = format!("{name} could not be made: {reason}");
                report.errors.push(inconclusive(&reason));
            }
            Verdict::Failed(message) if is_replaced => {
                report.notes.push(format!("negative_path: {message}"));
            }
            Verdict::Failed(message) => report.failures.push(GateFailure {
                target: GATE.to_owned(),
                place: Some(format!("negative_path.{name}")),
                expected: json!(probe.breach.map(|breach| breach.expected)),
                actual: json!(probe.breach.map(|breach| breach.found)),
                message: message.clone(),
                ..GateFailure::default()
            }),
        }
    }
    let skipped = skipped(probes);
    if probes.checks_run() == 0 && !skipped.is_empty() {
        // A schema that is none was told already.
        if report.errors.is_empty() && report.failures.is_empty() {
            let reasons = skipped.join("; ");
            report.errors.push(inconclusive(&format!(
                "no bad request applies to the tool ({reasons})"
            )));
        }
        return;
    }
    let document = json!({ "negative_path": probes.targets() });
    for expectation in plan.expect.iter().flatten() {
        match hold(&spelt(expectation), &document, FLAGS) {
            Ok(failure) => report.failures.extend(failure),
            Err(error) => report.errors.push(error),
        }
    }
}

/// Notes in the report which bad requests were not made, and what could not be seen of those that were.
fn note_what_was_not_found_out(probes: &NegativePathReport, report: &mut TestReport) {
    if probes.is_ping_unanswered {
        report.notes.push(
            "negative_path: the server does not answer `ping`, so that only a closed connection would show \
             that a bad request broke it"
                .to_owned(),
        );
    }
    let skipped = skipped(probes);
    let notes = skipped
        .into_iter()
        .map(|line| format!("negative_path: skipped {line}"));
    report.notes.extend(notes);
}

/// The probes that were not made, those with the same reason together.
fn skipped(probes: &NegativePathReport) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for probe in &probes.probes {
        if let Verdict::Skipped(reason) = &probe.verdict {
            let name = probe.probe.name();
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
    }
    let line = |(reason, names): (&str, Vec<&str>)| format!("{}: {reason}", names.join(", "));
    reasons.into_iter().map(line).collect()
}

fn inconclusive(reason: &str) -> ScoreError {
    ScoreError::new(
        GATE,
        format!("inconclusive: {reason}"),
        "choose probes that apply under `checks:`, or leave `negative_path:` out for this tool",
    )
}

/// Sessions that no other test uses: a bad request may break its server.
struct OwnSessions<'t, 'a> {
    turn: &'t Turn<'a>,
    stop: &'t Stop,
    lease: Option<Lease<'a>>,
}

impl<'a> OwnSessions<'_, 'a> {
    async fn lease(&mut self) -> Result<&Lease<'a>, String> {
        if !self.stop.is_running() {
            return Err("the run was interrupted".to_owned());
        }
        let lease = match self.lease.take() {
            Some(lease) => lease,
            None => self
                .turn
                .own_session()
                .await
                .map_err(|error| error.to_string())?,
        };
        Ok(self.lease.insert(lease))
    }

    async fn names(&mut self) -> Result<Vec<String>, String> {
        let lease = self.lease().await?;
        let tools = lease
            .connected()
            .tools
            .as_ref()
            .map(Vec::as_slice)
            .unwrap_or_default();
        Ok(tools.iter().map(|tool| tool.name.clone()).collect())
    }

    async fn done(self) {
        if let Some(lease) = self.lease {
            lease.done().await;
        }
    }
}

impl Sessions for OwnSessions<'_, '_> {
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>> {
        Box::pin(async { Ok(Arc::clone(self.lease().await?.session())) })
    }

    fn pulse(&self) -> Arc<Pulse> {
        self.turn.pulse()
    }

    fn replace(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.spoil();
        }
    }
}
