//! Strict mode: arguments against `inputSchema`, results against the protocol and `outputSchema`. A
//! result in no form that the protocol knows makes its call `Malformed`, one that does not fit the
//! tool's own schema a `ProtocolError`; any misfit fails the run.

use crate::prelude::*;
use mcprove_arguments::SchemaCheck;
use mcprove_client::session::ResultCheck;
use mcprove_trace::protocol::{find_strict_fault, parse_bounded};

pub const SCHEMA_CHECK: &str = "schema";

/// What strict mode knows of the server's tools.
#[derive(Debug, Default)]
pub struct Strict {
    outputs: OnceLock<BTreeMap<String, Output>>,
    /// The revision that is spoken.
    revision: OnceLock<Revision>,
    /// Results that are none.
    malformed: Misfits,
    /// What was wrong about the arguments that were given, by tool.
    inputs: Mutex<BTreeMap<String, String>>,
}

#[derive(Debug)]
struct Output {
    check: Result<SchemaCheck, String>,
    misfits: Misfits,
}

/// How many results did not fit, and why the first did not.
#[derive(Debug, Default)]
struct Misfits {
    count: AtomicU64,
    first: OnceLock<String>,
}

impl Misfits {
    fn add(&self, reason: &str) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.first.get_or_init(|| reason.to_owned());
    }

    /// `3 results of t do not fit (why)`; none without any.
    fn describe(&self, whose: &str, misses: &str, miss: &str) -> Option<String> {
        let first = self.first.get()?;
        Some(match self.count.load(Ordering::Relaxed) {
            1 => format!("1 result{whose} {misses} ({first})"),
            count => format!("{count} results{whose} {miss} ({first})"),
        })
    }
}

impl Strict {
    /// Takes the schemas from the list of tools; only the first list counts.
    pub fn learn(&self, tools: &[Tool], revision: Revision) {
        let _ = self.revision.set(revision);
        let outputs = tools.iter().filter_map(|tool| {
            let schema = tool.output_schema.as_ref()?;
            let output = Output {
                check: SchemaCheck::new(schema).map_err(|error| error.to_string()),
                misfits: Misfits::default(),
            };
            Some((tool.name.clone(), output))
        });
        let _ = self.outputs.set(outputs.collect());
    }

    /// Checks arguments that were given; why they do not fit, if they do not.
    pub fn check_arguments(&self, tool: &Tool, arguments: &Value) -> Option<String> {
        let failure = match SchemaCheck::new(&tool.input_schema) {
            Ok(check) => check.failure(arguments),
            Err(error) => Some(error.to_string()),
        };
        let failure = failure?;
        lock(&self.inputs).insert(tool.name.clone(), failure.clone());
        Some(format!("the arguments do not fit inputSchema: {failure}"))
    }

    /// Why a result is none, or does not fit the output schema of its tool; none if all checks passed.
    pub fn check_result(&self, tool: &str, result: &str) -> Option<Failure> {
        let revision = *self.revision.get()?;
        let output = self.outputs.get()?.get(tool);
        let result: Value = match parse_bounded(result) {
            Ok(result) => result,
            // Too deep or too large to be looked at, which the protocol allows.
            Err(error) => return output.map(|output| output.reject(&error.to_string())),
        };
        if is_answer_to_come(&result) {
            return None;
        }
        if let Some(fault) = find_strict_fault(&result, revision) {
            let fault = fault.rendered();
            self.malformed.add(&fault);
            return Some(Failure::new(ErrorCategory::Malformed, fault));
        }
        // A failure need not have what a success has.
        let is_error = result.get("isError").and_then(Value::as_bool);
        let output = output.filter(|_| is_error != Some(true))?;
        let misfit = output.failure(&result)?;
        Some(output.reject(&misfit))
    }

    /// What was found.
    pub fn verdict(&self) -> Verdict {
        let mut problems = Vec::new();
        for (tool, failure) in lock(&self.inputs).iter() {
            problems.push(format!(
                "the arguments given for {tool} do not fit its inputSchema ({failure})"
            ));
        }
        for (tool, output) in self.outputs.get().into_iter().flatten() {
            problems.extend(output.misfits.describe(
                &format!(" of {tool}"),
                "does not fit its outputSchema",
                "do not fit its outputSchema",
            ));
        }
        problems.extend(
            self.malformed
                .describe("", "breaks the protocol", "break the protocol"),
        );
        if problems.is_empty() {
            return Verdict::pass(
                SCHEMA_CHECK,
                "All results have the form of the protocol, and all arguments and results fit the schemas of their tools.",
            );
        }
        Verdict::critical(
            SCHEMA_CHECK,
            format!("Schemas were not kept: {}.", problems.join("; ")),
            sentence!(
                "correct the schema or what does not fit it; leave out {} to ignore this",
                setting("strict")
            ),
        )
    }
}

impl Output {
    fn reject(&self, misfit: &str) -> Failure {
        self.misfits.add(misfit);
        Failure::new(
            ErrorCategory::ProtocolError,
            format!("the result does not fit outputSchema: {misfit}"),
        )
    }

    fn failure(&self, result: &Value) -> Option<String> {
        let check = match &self.check {
            Ok(check) => check,
            Err(error) => return Some(format!("outputSchema itself is not valid: {error}")),
        };
        match result.get("structuredContent") {
            Some(content) => check.failure(content),
            None => Some("there is no structuredContent".to_owned()),
        }
    }
}

/// Whether a result says that the answer is still to come: a task was made, or input is asked for.
fn is_answer_to_come(result: &Value) -> bool {
    let kind = result.get("resultType").and_then(Value::as_str);
    let is_task = result.get("task").is_some_and(Value::is_object);
    is_task || kind.is_some_and(|kind| kind != "complete")
}

/// The check that a session makes of each result, besides the one that it was given.
pub fn result_check(strict: &Arc<Strict>, given: Option<ResultCheck>) -> ResultCheck {
    let strict = Arc::clone(strict);
    Arc::new(move |tool, result| {
        strict
            .check_result(tool, result)
            .or_else(|| given.as_ref().and_then(|given| given(tool, result)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn strict(revision: Revision) -> Strict {
        let tools = json!([
            { "name": "plain", "inputSchema": {} },
            { "name": "typed", "inputSchema": {}, "outputSchema": { "type": "object", "required": ["v"] } },
        ]);
        let tools: Vec<Tool> = serde_json::from_value(tools).unwrap();
        let strict = Strict::default();
        strict.learn(&tools, revision);
        strict
    }

    #[test]
    fn results_are_held_against_the_protocol_and_the_schema() {
        use ErrorCategory::{Malformed, ProtocolError};
        let deep = format!("{{\"content\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let cases = [
            ("plain", r#"{"content":[]}"#, None),
            ("plain", "5", Some(Malformed)),
            ("plain", "null", Some(Malformed)),
            ("plain", "[]", Some(Malformed)),
            ("plain", "{}", Some(Malformed)),
            ("plain", r#"{"content":"x"}"#, Some(Malformed)),
            ("plain", r#"{"content":[{"type":"text"}]}"#, Some(Malformed)),
            (
                "plain",
                r#"{"content":[],"isError":"yes"}"#,
                Some(Malformed),
            ),
            ("plain", r#"{"isError":true}"#, Some(Malformed)),
            ("plain", r#"{"content":[{"type":"new"}]}"#, Some(Malformed)),
            ("plain", &deep, None),
            (
                "typed",
                r#"{"content":[],"structuredContent":{"v":1}}"#,
                None,
            ),
            (
                "typed",
                r#"{"content":[],"structuredContent":{}}"#,
                Some(ProtocolError),
            ),
            ("typed", r#"{"content":[]}"#, Some(ProtocolError)),
            ("typed", r#"{"content":[],"isError":true}"#, None),
            ("typed", &deep, Some(ProtocolError)),
            // The answer is still to come.
            ("typed", r#"{"resultType":"input_required"}"#, None),
            ("typed", r#"{"task":{"taskId":"1"}}"#, None),
        ];
        let strict = strict(Revision::V2025_11_25);
        for (tool, result, expected) in cases {
            let failure = strict.check_result(tool, result);
            let category = failure.as_ref().map(|failure| failure.category);
            assert_eq!(category, expected, "{tool}: {result}: {failure:?}");
        }
    }
}
