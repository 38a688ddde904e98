//! Whether the answer to `tools/call` is the result that the protocol asks for. An answer in any
//! other form is no answer: a client that trusts the protocol breaks on it.

use serde_json::Value;

use crate::protocol::Tool;

/// What is wrong with a tool's result, if anything.
pub(super) fn find_fault(result: &Value, tool: &Tool) -> Option<String> {
    let Some(members) = result.as_object() else {
        return Some(format!("the result is {}, not an object", kind(result)));
    };
    let fault = match members.get("content") {
        None => Some("the result has no `content`".to_owned()),
        Some(Value::Array(blocks)) => blocks.iter().find_map(find_block_fault),
        Some(other) => Some(format!("`content` is {}, not a list", kind(other))),
    };
    if fault.is_some() {
        return fault;
    }
    let is_error = match members.get("isError") {
        None => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(other) => return Some(format!("`isError` is {}, not true or false", kind(other))),
    };
    let must_be_structured = tool.output_schema.is_some() && !is_error;
    match members.get("structuredContent") {
        None | Some(Value::Null) if must_be_structured => Some(
            "the tool has an output schema, but its result has no `structuredContent`".to_owned(),
        ),
        _ => None,
    }
}

fn find_block_fault(block: &Value) -> Option<String> {
    match block.get("type").and_then(Value::as_str) {
        None => Some("`content` has an item without a `type`".to_owned()),
        Some("text") if !block.get("text").is_some_and(Value::is_string) => {
            Some("`content` has a text without a `text`".to_owned())
        }
        Some(_) => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(output_schema: Option<Value>) -> Tool {
        let mut tool: Tool = serde_json::from_value(json!({ "name": "t" })).unwrap();
        tool.output_schema = output_schema;
        tool
    }

    #[test]
    fn results_of_the_wrong_form_are_found() {
        let cases = [
            (json!([]), "the result is a list, not an object"),
            (json!(5), "the result is a number, not an object"),
            (json!({}), "the result has no `content`"),
            (json!({ "content": "x" }), "`content` is a text, not a list"),
            (
                json!({ "content": [5] }),
                "`content` has an item without a `type`",
            ),
            (
                json!({ "content": [{ "type": "text" }] }),
                "`content` has a text without a `text`",
            ),
            (
                json!({ "content": [], "isError": "yes" }),
                "`isError` is a text, not true or false",
            ),
        ];
        for (result, fault) in cases {
            assert_eq!(find_fault(&result, &tool(None)).as_deref(), Some(fault));
        }
    }

    #[test]
    fn results_of_the_right_form_pass() {
        for result in [
            json!({ "content": [] }),
            json!({ "content": [{ "type": "text", "text": "" }], "isError": false }),
            json!({ "content": [{ "type": "something new" }], "_meta": {} }),
        ] {
            assert_eq!(find_fault(&result, &tool(None)), None, "{result}");
        }
    }

    #[test]
    fn an_output_schema_asks_for_structured_content() {
        let tool = tool(Some(json!({ "type": "object" })));
        assert!(find_fault(&json!({ "content": [] }), &tool).is_some());
        let failed = json!({ "content": [], "isError": true });
        assert_eq!(find_fault(&failed, &tool), None);
        let structured = json!({ "content": [], "structuredContent": {} });
        assert_eq!(find_fault(&structured, &tool), None);
    }
}
