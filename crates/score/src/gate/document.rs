//! A run as the document that paths lead into, made of no more than a path asks for.
//!
//! `tool_results[i]` is the result of `tool_calls[i]`, wherever it stands in the trace. What is unknown
//! is not there, so that a path to it leads nowhere; what is known to be empty is.

use crate::prelude::*;

/// The part of a run that a path begins with, as a document. `None` where what it asks for is not known
/// of every call.
pub fn document(run: &AgentRun, path: &Path) -> Option<Value> {
    let part = match path.steps() {
        [PathStep::Key(key), ..] => key.as_str(),
        _ => "",
    };
    let value = match part {
        "tool_calls" => Value::Array(calls(run, path)?),
        "tool_results" => Value::Array(results(run, path)?),
        "faults" => json!(run.faults),
        "conversation" => json!(run.conversation),
        "model" => json!(run.model),
        "prompt" => json!(run.prompt),
        "final_response" => json!(run.final_response),
        "passed" => json!(run.passed),
        // The names of all that there is, so that a slip in a name is told.
        _ => {
            let is_known = [
                ("model", run.model.is_some()),
                ("prompt", run.prompt.is_some()),
                ("final_response", run.final_response.is_some()),
                ("passed", run.passed.is_some()),
                ("conversation", run.conversation.is_some()),
                ("tool_calls", true),
                ("tool_results", true),
                ("faults", true),
            ];
            return Some(
                is_known
                    .into_iter()
                    .filter(|(_, is_known)| *is_known)
                    .map(|(name, _)| (name, Value::Null))
                    .collect(),
            );
        }
    };
    (!value.is_null()).then(|| json!({ part: value }))
}

/// The calls. Who made one is known: where it was not code, it was the model.
fn calls(run: &AgentRun, path: &Path) -> Option<Vec<Value>> {
    elements(&run.tool_calls, path, |call: &ToolCall, asked| {
        Some(match asked {
            Asked::Length => Value::Null,
            Asked::Key("name") => json!({ "name": call.name }),
            Asked::Key("server") => json!({ "server": call.server.as_ref()? }),
            Asked::Key("caller") => json!({ "caller": call.caller }),
            Asked::Key("args") | Asked::Whole if call.args.is_null() => return None,
            Asked::Key("args") => json!({ "args": call.args.value() }),
            Asked::Key(_) | Asked::Whole => {
                let mut value = json!(call);
                if call.caller.is_none() {
                    value["caller"] = Value::Null;
                }
                value
            }
        })
    })
}

/// The result of each call.
fn results(run: &AgentRun, path: &Path) -> Option<Vec<Value>> {
    elements(run.results(), path, |result: Option<&ToolResult>, asked| {
        let result = result?;
        Some(match asked {
            Asked::Length => Value::Null,
            Asked::Key("is_error") => json!({ "is_error": result.is_error? }),
            Asked::Key("result") if result.result.is_null() => return None,
            Asked::Key("result") => json!({ "result": result.result.value() }),
            Asked::Key(_) | Asked::Whole => json!(result),
        })
    })
}

/// What a path asks for of one element of a list.
enum Asked<'p> {
    /// Whether it is there.
    Length,
    /// The value of a key.
    Key(&'p str),
    /// All of it.
    Whole,
}

/// The elements of a list, made of no more than the path asks for: making more of a million calls would take
/// longer than everything else. `None` where what it asks for is not known of one that it leads to.
fn elements<T>(
    items: impl IntoIterator<Item = T>,
    path: &Path,
    make: impl Fn(T, Asked<'_>) -> Option<Value>,
) -> Option<Vec<Value>> {
    let steps = path.steps();
    let element = |(place, item)| match (steps.get(1), steps.get(2)) {
        (Some(PathStep::Index(index)), _) if *index != place => Some(Value::Null),
        (Some(PathStep::Length), _) => make(item, Asked::Length),
        (_, Some(PathStep::Key(key))) => make(item, Asked::Key(key)),
        _ => make(item, Asked::Whole),
    };
    items.into_iter().enumerate().map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(run: &Value, path: &str) -> Option<Result<Value, String>> {
        let run: AgentRun = serde_json::from_value(run.clone()).unwrap();
        let path = Path::parse(path).unwrap();
        let document = document(&run, &path)?;
        Some(path.resolve(&document).map_err(|error| error.to_string()))
    }

    #[test]
    fn a_result_is_that_of_its_call() {
        let run = json!({
            "tool_calls": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
            "tool_results": [
                {"call_index": 2, "is_error": true, "result": "x"},
                {"call_index": 0, "is_error": false},
            ],
        });
        let found = |path: &str| find(&run, path).map(Result::unwrap);
        assert_eq!(found("tool_results[0].is_error"), Some(json!(false)));
        assert_eq!(found("tool_results[2].is_error"), Some(json!(true)));
        assert_eq!(found("tool_results[2].result"), Some(json!("x")));
        assert_eq!(found("tool_results[1].is_error"), None, "call 1 has none");
        assert_eq!(found("tool_results[*].is_error"), None);
        assert_eq!(found("tool_results.length"), None);
        assert!(find(&run, "tool_results[3].is_error").unwrap().is_err());
    }

    #[test]
    fn what_is_unknown_is_not_empty() {
        let unknown = json!({"tool_calls": [{"name": "a"}]});
        let partly = json!({
            "tool_calls": [{"name": "a"}],
            "tool_results": [{"call_index": 0, "result": "x"}],
        });
        let nothing = json!({"tool_calls": []});
        for (run, path, expected) in [
            (&unknown, "tool_results[*].is_error", None),
            (&unknown, "tool_results.length", None),
            (&unknown, "final_response", None),
            (&unknown, "passed", None),
            (&unknown, "conversation.stop_reason", None),
            (&partly, "tool_results[*].is_error", None),
            (&partly, "tool_results[0].is_error", None),
            (&partly, "tool_results[*].result", Some(json!(["x"]))),
            (&nothing, "tool_results[*].is_error", Some(json!([]))),
            (&nothing, "tool_calls.length", Some(json!(0))),
            (&nothing, "faults[*].kind", Some(json!([]))),
        ] {
            let found = find(run, path).map(Result::unwrap);
            assert_eq!(found, expected, "{path} of {run}");
        }
        let calls = json!({"tool_calls": [
            {"name": "a", "server": "s", "args": {"q": "x"}}, {"name": "b", "args": null}]});
        for (path, expected) in [
            ("tool_calls[0].args.q", Some(json!("x"))),
            ("tool_calls[1].args", None),
            ("tool_calls[*].args.q", None),
            ("tool_calls[*].server", None),
            ("tool_calls[0].server", Some(json!("s"))),
            ("tool_calls[1]", None),
            ("tool_calls", None),
            ("tool_calls.length", Some(json!(2))),
            ("tool_calls[*].name", Some(json!(["a", "b"]))),
            ("tool_calls[*].caller", Some(json!([null, null]))),
        ] {
            let found = find(&calls, path).map(Result::unwrap);
            assert_eq!(found, expected, "{path} of {calls}");
        }
        let error = find(&nothing, "tool_cals[*].name").unwrap().unwrap_err();
        assert!(error.contains("did you mean `tool_calls`?"), "{error}");
    }
}
