//! The bad requests of a test, made and judged.

use mcprove_arguments::ArgumentsError;
use mcprove_check::negative_path::{
    Examination, NegativePathReport, RequestOutcome, Sessions, Subject, SubjectError, examine,
};
use mcprove_score::gate::judge as hold;

use super::Listed;
use super::judged::{FLAGS, begins_with};
use crate::prelude::*;
use crate::run::servers::{Lease, Turn};

/// What all bad requests are gated on, unless the test says otherwise.
const GATE: &str = "negative_path.gate_passed";

/// How much of a schema is told.
const SCHEMA_CHARACTERS_MAX: usize = 300;

/// Makes the bad requests of a test, and notes in the report what does not hold. None if nothing could be
/// made.
pub async fn run(
    test: &ToolTestPlan,
    plan: &NegativePathPlan,
    args: &Value,
    mut sessions: OwnSessions<'_, '_>,
    listed: &Listed,
    report: &mut TestReport,
) -> Option<NegativePathReport> {
    // All tools of the server matter only for the name that none of them has.
    let names: Vec<String> = match sessions.lease().await {
        Ok(lease) => lease
            .connected
            .tools
            .iter()
            .flatten()
            .map(|tool| tool.name.clone())
            .collect(),
        Err(reason) => {
            report.errors.push(inconclusive(&reason));
            return None;
        }
    };
    let subject = subject(test, &names, args, listed, report);
    if subject.are_made_up {
        report.notes.push(
            "negative_path: the arguments of the test do not fit the schema of the tool, so the bad requests were made from others".into(),
        );
    }
    let examination = Examination {
        subject: &subject,
        probes: &plan.checks,
        timeout: plan.timeout,
    };
    let probes = examine(&examination, &mut sessions).await;
    if let Some(lease) = sessions.lease {
        lease.done().await;
    }
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
    let (schema, reason) = match listed {
        Listed::Tool(tool) => {
            let schema = &tool.input_schema;
            match Subject::new(&test.tool, tools(), schema, args) {
                Ok(subject) => return subject,
                Err(error) if error.is_invalid_schema() => {
                    refuse_schema(schema, &error, report);
                    (None, "its inputSchema is not valid".to_owned())
                }
                Err(error) => (Some(schema), unknown(&error)),
            }
        }
        Listed::Unknown(reason) => (None, format!("tools/list failed: {reason}")),
        Listed::Missing(_) => (None, listed.remark(test).unwrap_or_default()),
    };
    Subject::unreadable(&test.tool, tools(), schema, args, reason)
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

fn refuse_schema(schema: &Value, error: &SubjectError, report: &mut TestReport) {
    let message = match error {
        SubjectError::NoSchema => error.to_string(),
        _ => format!("the inputSchema of the tool is not valid: {error}"),
    };
    let shown = shorten(&schema.to_string(), SCHEMA_CHARACTERS_MAX);
    let actual = (!schema.is_null()).then_some(shown);
    let expected = "a valid JSON Schema of the type object";
    report.fail("inputSchema", expected, actual, message);
}

/// Holds the outcome of the bad requests against the gate of the test, or the default one.
fn gate(
    test: &ToolTestPlan,
    plan: &NegativePathPlan,
    probes: &NegativePathReport,
    report: &mut TestReport,
) {
    // Where the test says what must come of them, in the block or beside it, that is the gate.
    let mut beside = test.expect.iter();
    let is_replaced =
        plan.expect.is_some() || beside.any(|expect| begins_with(expect, &["negative_path"]));
    if probes.is_ping_unanswered {
        report.notes.push(
            sentence!("negative_path: the server does not answer `ping`, so that only a closed connection would show \
             that a bad request broke it"),
        );
    }
    let skipped = skipped(probes);
    let notes = skipped
        .iter()
        .map(|line| sentence!("negative_path: skipped {line}"));

    report.notes.extend(notes);
    for probe in &probes.probes {
        let name = probe.probe.name();
        match &probe.outcome {
            RequestOutcome::Passed | RequestOutcome::Skipped(_) => {}
            RequestOutcome::Undone(reason) => {
                let reason = format!("{name} could not be made: {reason}");
                report.errors.push(inconclusive(&reason));
            }
            RequestOutcome::Failed(message) if is_replaced => {
                report.notes.push(sentence!("negative_path: {message}"));
            }
            RequestOutcome::Failed(message) => {
                let breach = probe.breach.as_ref();
                let (expected, found) = breach.map(|it| (&*it.expected, &*it.found)).unzip();
                report.failures.push(GateFailure {
                    place: Some(format!("negative_path.{name}")),
                    ..gate_failure(GATE, expected, found, message.clone())
                });
            }
        }
    }
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
        match hold(expectation, &document, FLAGS) {
            Ok(failure) => report.failures.extend(failure),
            Err(error) => report.errors.push(error),
        }
    }
}

/// The probes that were not made, those with the same reason together.
fn skipped(probes: &NegativePathReport) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for probe in &probes.probes {
        if let RequestOutcome::Skipped(reason) = &probe.outcome {
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
        reason.to_owned(),
        sentence!(
            "choose probes that apply under `checks:`, or leave `negative_path:` out for this tool"
        ),
    )
    .inconclusive()
}

/// Sessions that no other test uses: a bad request may break its server.
pub struct OwnSessions<'t, 'a> {
    turn: &'t Turn<'a>,
    stop: &'t Stop,
    lease: Option<Lease<'a>>,
}

impl<'t, 'a> OwnSessions<'t, 'a> {
    pub const fn new(turn: &'t Turn<'a>, stop: &'t Stop) -> Self {
        Self {
            turn,
            stop,
            lease: None,
        }
    }

    async fn lease(&mut self) -> Result<&Lease<'a>, String> {
        if !self.stop.is_running() {
            return Err("the run was interrupted".to_owned());
        }
        if self.lease.is_none() {
            let lease = self.turn.own_session().await;
            self.lease = Some(lease.map_err(|error| error.to_string())?);
        }
        self.lease.as_ref().ok_or_else(String::new)
    }
}

impl Sessions for OwnSessions<'_, '_> {
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>> {
        Box::pin(async { Ok(Arc::clone(self.lease().await?.session())) })
    }

    fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.turn.pool.pulse)
    }

    fn replace(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.spoil();
        }
    }
}
