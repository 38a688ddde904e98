//! Answers to what a server asks of its client: roots, sampling, elicitation, ping.
//!
//! The same answers serve requests of the handshake era and `input_required` results of the
//! stateless era.

use crate::prelude::*;

/// The code of a sampling request that the user turned down.
const USER_REJECTED: i64 = -1;

/// What a request of the server is answered with: a result, or an error code and message.
pub type Response = Result<Value, (i64, String)>;

/// Answers what a server asks of its client.
pub trait Responder: Send + Sync + 'static {
    /// The capabilities that the client declares: what it is prepared to be asked.
    fn capabilities(&self, revision: Revision) -> Value;

    /// Answers one request. Must not block: it runs where messages are read.
    fn respond(&self, method: &str, params: &Value) -> Response;
}

/// Declares every capability, has no roots, and declines sampling and elicitation cleanly.
#[derive(Debug, Clone, Copy, Default)]
pub struct Decline;

impl Responder for Decline {
    fn capabilities(&self, revision: Revision) -> Value {
        let mut capabilities = json!({ "roots": {}, "sampling": {} });
        if revision >= Revision::V2025_06_18 {
            capabilities["elicitation"] = json!({});
        }
        if revision.era() == Era::Stateless {
            capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
        }
        capabilities
    }

    fn respond(&self, method: &str, _params: &Value) -> Response {
        match method {
            "ping" => Ok(json!({})),
            "roots/list" => Ok(json!({ "roots": [] })),
            "elicitation/create" => Ok(json!({ "action": "decline" })),
            "sampling/createMessage" => {
                Err((USER_REJECTED, "mcprove declines sampling requests".into()))
            }
            other => Err((METHOD_NOT_FOUND, format!("mcprove does not answer {other}"))),
        }
    }
}

/// Accepts elicitation with the defaults of the asked form (generated values where there are none)
/// and answers sampling with a fixed text, so that tools which ask can run to their end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Accept;

impl Responder for Accept {
    fn capabilities(&self, revision: Revision) -> Value {
        Decline.capabilities(revision)
    }

    fn respond(&self, method: &str, params: &Value) -> Response {
        match method {
            "elicitation/create" => Ok(accept_form(params)),
            "sampling/createMessage" => Ok(json!({
                "role": "assistant",
                "content": { "type": "text", "text": "mcprove" },
                "model": "mcprove",
                "stopReason": "endTurn",
            })),
            other => Decline.respond(other, params),
        }
    }
}

/// Fills the form that an elicitation asks for.
fn accept_form(params: &Value) -> Value {
    let fields = params
        .pointer("/requestedSchema/properties")
        .and_then(Value::as_object);
    let Some(fields) = fields else {
        return json!({ "action": "accept" });
    };
    let content: serde_json::Map<String, Value> = fields
        .iter()
        .filter_map(|(name, field)| Some((name.clone(), form_value(field)?)))
        .collect();
    json!({ "action": "accept", "content": content })
}

/// A value for one field; `None` where there is none, for a form must not hold null.
fn form_value(field: &Value) -> Option<Value> {
    if let Some(default) = field.get("default").filter(|value| !value.is_null()) {
        return Some(default.clone());
    }
    let wrapped = json!({
        "type": "object", "properties": { "field": field }, "required": ["field"],
    });
    mcprove_arguments::minimal(&wrapped)
        .ok()
        .and_then(|made| made.get("field").cloned())
        .filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declining_is_clean() {
        assert_eq!(
            Decline.respond("roots/list", &Value::Null).unwrap()["roots"],
            json!([])
        );
        let action = Decline.respond("elicitation/create", &Value::Null).unwrap();
        assert_eq!(action["action"], "decline");
        assert_eq!(
            Decline
                .respond("sampling/createMessage", &Value::Null)
                .unwrap_err()
                .0,
            -1
        );
        assert_eq!(
            Decline.respond("x/y", &Value::Null).unwrap_err().0,
            METHOD_NOT_FOUND
        );
    }

    #[test]
    fn accepting_uses_the_defaults_of_the_form() {
        let params = json!({ "requestedSchema": { "type": "object", "properties": {
            "name": { "type": "string", "default": "Ada" },
            "age": { "type": "integer", "minimum": 3 },
        } } });
        let answer = Accept.respond("elicitation/create", &params).unwrap();
        assert_eq!(answer["content"], json!({ "name": "Ada", "age": 3 }));
    }

    #[test]
    fn capabilities_fit_the_revision() {
        assert!(
            Decline
                .capabilities(Revision::V2025_03_26)
                .get("elicitation")
                .is_none()
        );
        assert!(
            Decline
                .capabilities(Revision::V2025_11_25)
                .get("elicitation")
                .is_some()
        );
        assert!(
            Decline
                .capabilities(Revision::V2026_07_28)
                .get("extensions")
                .is_some()
        );
    }
}
