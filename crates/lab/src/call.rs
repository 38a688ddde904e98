//! One call of a tool of the lab: its arguments, and what comes of it.

use mcprove_servers::hosting::{Exchange, Refusal};
use serde_json::{Map, Value, json};

use super::behaviour::Lab;

/// A call whose arguments fit the schema of its tool.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The request and the way back.
    pub exchange: &'a Exchange,
    /// What the lab remembers.
    pub lab: &'a Lab,
}

/// What a call is answered with.
pub enum Reply {
    /// This object, and the same as JSON text.
    Structured(Value),
    /// This object, the same as JSON text, and more content after it.
    Blocks {
        /// The object.
        structured: Value,
        /// What follows the text.
        blocks: Vec<Value>,
        /// Whether the tool says that it failed.
        is_error: bool,
    },
    /// This whole result.
    Whole(Value),
    /// A JSON-RPC error.
    Error(Refusal),
    /// A JSON-RPC error that over HTTP has the status of a bad request.
    Refused(Refusal),
}

impl Reply {
    /// A JSON-RPC error.
    pub fn error(code: i64, message: impl Into<String>) -> Self {
        Self::Error(Refusal::new(code, message))
    }

    /// A result in which the tool says that it failed, and why.
    pub fn failed(structured: Value, message: &str) -> Self {
        Self::Blocks {
            structured,
            blocks: vec![text(message)],
            is_error: true,
        }
    }

    /// Sends it.
    pub async fn send(self, exchange: &Exchange) {
        let result = match self {
            Self::Structured(structured) => structured_result(&structured, Vec::new(), false),
            Self::Blocks {
                structured,
                blocks,
                is_error,
            } => structured_result(&structured, blocks, is_error),
            Self::Whole(result) => result,
            Self::Error(refusal) => {
                return exchange.reply(refusal.response(&exchange.request.id)).await;
            }
            Self::Refused(refusal) => return exchange.refuse(&refusal).await,
        };
        exchange.reply(exchange.success(result)).await;
    }
}

/// A block of text.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A result with these blocks only.
pub fn content(blocks: &[Value]) -> Reply {
    Reply::Whole(json!({ "content": blocks }))
}

fn structured_result(structured: &Value, blocks: Vec<Value>, is_error: bool) -> Value {
    let mut content = vec![text(&structured.to_string())];
    content.extend(blocks);
    let mut result = json!({ "content": content, "structuredContent": structured });
    if let (true, Some(fields)) = (is_error, result.as_object_mut()) {
        fields.insert("isError".to_owned(), true.into());
    }
    result
}

impl<'a> Call<'a> {
    /// An argument.
    pub fn argument(&self, name: &str) -> Option<&'a Value> {
        self.exchange.request.argument(name)
    }

    /// The arguments.
    pub fn arguments(&self) -> Map<String, Value> {
        match self.exchange.request.params.get("arguments") {
            Some(Value::Object(arguments)) => arguments.clone(),
            _ => Map::new(),
        }
    }

    /// A text, or its default.
    pub fn text_or(&self, name: &str, default: &'a str) -> &'a str {
        let given = self.argument(name).and_then(Value::as_str);
        given.unwrap_or(default)
    }

    /// A flag, which is off unless it is given.
    pub fn flag(&self, name: &str) -> bool {
        self.argument(name).and_then(Value::as_bool) == Some(true)
    }

    /// A whole number from zero up, or its default; never more than `max`.
    pub fn capped(&self, name: &str, default: u64, max: u64) -> u64 {
        self.argument(name).map_or(default, count).min(max)
    }
}

/// A whole number from zero up, however it is written; what is too large is the largest.
pub fn count(number: &Value) -> u64 {
    if let Some(number) = number.as_u64() {
        return number;
    }
    // JSON calls 1e30 and 2.0 integers too. The cast saturates.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast that stays at the ends is what is wanted"
    )]
    let number = number.as_f64().unwrap_or_default() as u64;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_counts() {
        let cases = [
            (json!(0), 0),
            (json!(2.0), 2),
            (json!(u64::MAX), u64::MAX),
            (json!(1e30), u64::MAX),
            (json!(-5), 0),
        ];
        for (number, expected) in cases {
            assert_eq!(count(&number), expected, "{number}");
        }
    }
}
