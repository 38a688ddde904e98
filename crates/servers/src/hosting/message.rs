//! What arrives and what is refused: JSON-RPC, read the way a careful server reads it.

use crate::prelude::*;

/// The key under which a stateless request names its revision.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key under which a stateless request names what its client can do.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key under which a stateless request names its client.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key under which a stateless request asks for log messages.
pub const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The key under which a stateless result names its server.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// The key under which a message names the subscription that it belongs to.
pub const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON, but not a message.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// A method with the wrong parameters.
pub const INVALID_PARAMS: i64 = -32602;
/// The server's own fault.
pub const INTERNAL_ERROR: i64 = -32603;
/// The server has too much to do.
pub const TOO_BUSY: i64 = -32000;
/// No such resource, in the handshake era.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// HTTP headers that contradict the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// A revision that the server does not speak.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The fields of a JSON object: parameters, arguments.
pub type Fields = Map<String, Value>;
/// What a request comes to.
pub type Outcome = Result<Value, Refusal>;

/// Why a message is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The JSON-RPC error code.
    pub code: i64,
    /// What is wrong.
    pub message: String,
    /// More about it, for programs.
    pub data: Option<Value>,
}

impl Refusal {
    /// A refusal without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The refusal of wrong parameters.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// The refusal of a revision, with those that would be accepted.
    pub fn unsupported_version(requested: &str, supported: &[Revision]) -> Self {
        Self {
            code: UNSUPPORTED_VERSION,
            message: "Unsupported protocol version".to_owned(),
            data: Some(json!({ "supported": supported, "requested": requested })),
        }
    }

    /// The refusal of a resource that is not there.
    pub fn no_resource(uri: &str, revision: Revision) -> Self {
        let code = match revision.era() {
            Era::Handshake => RESOURCE_NOT_FOUND,
            Era::Stateless => INVALID_PARAMS,
        };
        Self {
            data: Some(json!({ "uri": uri })),
            ..Self::new(code, format!("Resource not found: {uri}"))
        }
    }

    /// The error response to the request with this id.
    pub fn response(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// A request of the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// A string or a number.
    pub id: Value,
    /// The method.
    pub method: String,
    /// The parameters; empty when there are none.
    pub params: Fields,
}

/// A message of the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification {
        /// The method.
        method: String,
        /// The parameters; empty when there are none.
        params: Fields,
    },
    /// Answers a request of the server.
    Response {
        /// The id of that request.
        id: Value,
        /// The result, or the error object.
        outcome: Result<Value, Value>,
    },
    /// No message at all.
    Invalid {
        /// The id, as far as there is one.
        id: Value,
        /// What is wrong with it.
        refusal: Refusal,
        /// What arrived.
        value: Value,
    },
}

impl Message {
    /// Reads a message from JSON.
    pub fn from_value(mut value: Value) -> Self {
        if let Some(problem) = problem(&value) {
            let id = value.get("id").filter(|id| id_problem(id).is_none());
            return Self::Invalid {
                id: id.cloned().unwrap_or_default(),
                refusal: Refusal::new(INVALID_REQUEST, format!("Invalid request: {problem}")),
                value,
            };
        }
        // It has been looked at: what is missing from here on is not wanted.
        let mut take = |name| value.get_mut(name).map(Value::take);
        let id = take("id");
        let params = match take("params") {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        match (take("method"), id) {
            (Some(Value::String(method)), Some(id)) => {
                Self::Request(Request { id, method, params })
            }
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (_, id) => Self::Response {
                id: id.unwrap_or_default(),
                outcome: match take("result") {
                    Some(result) => Ok(result),
                    None => Err(take("error").unwrap_or_default()),
                },
            },
        }
    }
}

/// Why something is no message.
fn problem(value: &Value) -> Option<&'static str> {
    let Value::Object(fields) = value else {
        return Some("a message is an object");
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some("\"jsonrpc\" must be \"2.0\"");
    }
    let id = fields.get("id");
    match fields.get("method") {
        Some(Value::String(_)) if fields.get("params").is_some_and(|it| !it.is_object()) => {
            Some("\"params\" must be an object")
        }
        Some(Value::String(_)) => id.and_then(id_problem),
        Some(_) => Some("\"method\" must be a string"),
        None => match (id, fields.get("result"), fields.get("error")) {
            (Some(_), Some(_), None) | (Some(_), None, Some(_)) => None,
            _ => Some("neither a request nor a response"),
        },
    }
}

/// Why something is no id: one that is not given back as it came. Whole numbers beyond 64 bits lose digits.
fn id_problem(id: &Value) -> Option<&'static str> {
    /// From here on not every whole number has a double of its own.
    const DOUBLES_APART: f64 = 9_007_199_254_740_992.0;
    match id {
        Value::String(_) => None,
        Value::Number(number) => {
            let is_kept = !number.is_f64() || number.as_f64()?.abs() < DOUBLES_APART;
            (!is_kept).then_some("\"id\" is a number too large to be given back as it is")
        }
        _ => Some("\"id\" must be a string or a number"),
    }
}

/// How severe a log message is: a level of the protocol, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for developers.
    #[default]
    Debug,
    /// What happens.
    Info,
    /// What happens and matters.
    Notice,
    /// What may become a problem.
    Warning,
    /// What went wrong.
    Error,
    /// A part that failed.
    Critical,
    /// What somebody must see to at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// The level that a value names.
    pub fn of(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

impl Request {
    /// The `_meta` of the request.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }

    /// Whether the request is of the stateless era.
    pub fn is_stateless(&self) -> bool {
        self.method == "server/discover" || self.meta(META_VERSION).is_some()
    }

    /// The tool that is called.
    pub fn tool(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// A parameter that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }

    /// The arguments of what is called; none is an empty map, and anything else is refused.
    pub fn arguments(&self) -> Result<&Fields, Refusal> {
        static NONE: LazyLock<Fields> = LazyLock::new(Map::new);
        match self.params.get("arguments") {
            None => Ok(&NONE),
            Some(Value::Object(arguments)) => Ok(arguments),
            Some(_) => Err(Refusal::invalid(
                "Invalid params: arguments must be an object",
            )),
        }
    }

    /// An argument of the tool that is called.
    pub fn argument(&self, name: &str) -> Option<&Value> {
        self.params.get("arguments")?.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Message {
        Message::from_value(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn an_id_is_given_back_as_it_came_or_refused() {
        for id in [
            "18446744073709551615",
            "-9223372036854775808",
            "0",
            "1.5",
            "\"x\"",
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Request(request) = read(&text) else {
                panic!("{id} was refused");
            };
            assert_eq!(request.id.to_string(), id);
        }
        for id in ["18446744073709551616", "-9223372036854775809", "1e300"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Invalid { id, refusal, .. } = read(&text) else {
                panic!("{id} was taken");
            };
            assert_eq!((id, refusal.code), (Value::Null, INVALID_REQUEST));
            assert!(refusal.message.contains("too large"), "{}", refusal.message);
        }
    }
}
