//! What is wrong with the result of a tool: its form, or that it does not fit the schema that the tool gives
//! for it.

use crate::prelude::*;

/// What is wrong with a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub message: Message,
    /// The same, without a word of what the tool answered.
    pub unquoted: Message,
    /// Whether it is its form, and not that it does not fit the schema of the tool.
    pub is_of_form: bool,
}

impl Fault {
    /// The first fault of a result of a tool with this output schema.
    pub fn of(result: &Value, output_schema: Option<&Value>) -> Option<Self> {
        let form = find_fault(result, false);
        let is_of_form = form.is_some();
        let (message, unquoted) = match form {
            Some(message) => (message, None),
            None => misfit(result, output_schema?)?,
        };
        Some(Self {
            unquoted: unquoted.unwrap_or_else(|| message.clone()),
            message,
            is_of_form,
        })
    }
}

/// Where and why the structured content does not fit the schema that the tool gives for it, and the same without a word
/// of what the tool answered, where that is another.
fn misfit(result: &Value, schema: &Value) -> Option<(Message, Option<Message>)> {
    let content = result.get("structuredContent");
    let Some(content) = content.filter(|content| !content.is_null()) else {
        let message =
            sentence!("the tool has an output schema, but its result has no `structuredContent`");
        return Some((message, None));
    };
    match SchemaCheck::new(schema) {
        Ok(check) => {
            let why = check.failure(content)?;
            let short = sentence!("`structuredContent` does not fit the outputSchema of the tool");
            Some((sentence!("{short}: {why}"), Some(short)))
        }
        Err(
            error @ (ArgumentsError::InvalidSchema { .. }
            | ArgumentsError::UnresolvedReference { .. }),
        ) => Some((
            sentence!("the outputSchema of the tool is not valid: {error}"),
            None,
        )),
        // Beyond our limits, nothing can be said.
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_are_told_with_and_without_what_was_answered() {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let result = |content: Value| json!({ "content": [], "structuredContent": content });
        assert_eq!(Fault::of(&result(json!({ "n": 1 })), Some(&schema)), None);
        let fault = Fault::of(&result(json!({ "n": "mine" })), Some(&schema)).unwrap();
        assert!(
            fault.message.rendered().contains("/n: ") && !fault.is_of_form,
            "{fault:?}"
        );
        assert!(
            fault
                .unquoted
                .rendered()
                .ends_with("the outputSchema of the tool"),
            "{fault:?}"
        );
        let banana = json!({ "type": "banana" });
        let fault = Fault::of(&result(json!({})), Some(&banana)).unwrap();
        assert!(
            fault.unquoted.rendered().contains("is not valid")
                && fault.unquoted.rendered().contains("banana")
        );
        let fault = Fault::of(&json!({ "content": [] }), Some(&schema)).unwrap();
        assert!(
            fault.message.rendered().contains("no `structuredContent`"),
            "{fault:?}"
        );
        assert!(Fault::of(&json!({}), Some(&schema)).unwrap().is_of_form);
    }
}
