//! One call of a tool of the lab: its arguments, and what comes of it.

use super::catalogue;
use crate::prelude::*;

/// A call whose arguments fit the schema of its tool.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The request and the way back.
    pub exchange: &'a Exchange,
    /// What the lab remembers.
    pub lab: &'a Lab,
    /// The arguments, with the defaults of those that were not given.
    pub arguments: &'a Fields,
}

/// What a request is answered with in place of what it asks for.
pub enum Reply {
    /// Another result.
    Result(Value),
    /// A JSON-RPC error.
    Error(Refusal),
}

/// What a request comes to.
pub type Answered = Result<Value, Reply>;

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal)
    }
}

/// Sends the answer to a request.
pub async fn send(exchange: &Exchange, answer: Answered) {
    let outcome = match answer {
        Ok(result) | Err(Reply::Result(result)) => Ok(result),
        // Over HTTP it has the status of a bad request.
        Err(Reply::Error(refusal)) if refusal.code == MISSING_CAPABILITY => {
            return exchange.refuse(&refusal).await;
        }
        Err(Reply::Error(refusal)) => Err(refusal),
    };
    exchange.reply(exchange.response(outcome)).await;
}

/// The error of wrong parameters.
pub fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::new(INVALID_PARAMS, text)
}

/// A block of text.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A result that says this, with these arguments in their places.
pub fn said(says: &str, arguments: &Fields) -> Value {
    let said = catalogue::render(&says.into(), arguments);
    json!({ "content": [text(said.as_str().unwrap_or_default())] })
}

/// A result with this object, the same as JSON text, and more content after it.
pub fn structured(body: &Value, blocks: Vec<Value>) -> Value {
    let mut content = vec![text(&body.to_string())];
    content.extend(blocks);
    json!({ "content": content, "structuredContent": body })
}

/// A result in which the tool says that it failed, and why.
pub fn failed(body: &Value, message: &str) -> Value {
    let mut result = structured(body, vec![text(message)]);
    result["isError"] = true.into();
    result
}

/// The same with nothing but a problem.
pub fn problem(problem: &str) -> Value {
    failed(&json!({ "problem": problem }), problem)
}

impl<'a> Call<'a> {
    /// A text; an empty one if there is none.
    pub fn text(&self, name: &str) -> &'a str {
        self.given(name).unwrap_or_default()
    }

    /// A text, if it is given.
    pub fn given(&self, name: &str) -> Option<&'a str> {
        self.arguments.get(name)?.as_str()
    }

    /// A flag, which is off unless it is given.
    pub fn flag(&self, name: &str) -> bool {
        self.arguments.get(name) == Some(&Value::Bool(true))
    }

    /// A whole number from zero up, and never more than `max`.
    pub fn count(&self, name: &str, max: u64) -> u64 {
        self.arguments.get(name).map_or(0, count).min(max)
    }
}

/// A whole number from zero up, however it is written; what is too large is the largest.
pub fn count(number: &Value) -> u64 {
    // JSON calls 1e30 and 2.0 integers too. The cast saturates.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast that stays at the ends is what is wanted"
    )]
    let nearest = || number.as_f64().unwrap_or_default() as u64;
    number.as_u64().unwrap_or_else(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_counts() {
        for (number, expected) in [
            (json!(0), 0),
            (json!(-5), 0),
            (json!(59_999), 59_999),
            (json!(2.0), 2),
            (json!(9_223_372_036_855_u64), 9_223_372_036_855),
            (json!(u64::MAX), u64::MAX),
            (json!(1e300), u64::MAX),
        ] {
            assert_eq!(count(&number), expected, "{number}");
        }
    }
}
