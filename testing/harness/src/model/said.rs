//! What a model says, and how each provider writes it down.

use serde_json::{Value, json};

use super::{Asked, Shape};

/// What comes back.
#[derive(Debug, Clone)]
pub enum Said {
    /// An answer.
    Speech(Speech),
    /// A failure of the provider.
    Status {
        /// The HTTP status.
        status: u16,
        /// The value of `Retry-After`.
        retry_after: Option<&'static str>,
    },
    /// These bytes, as a success.
    Raw(&'static str),
    /// Nothing: the connection is closed.
    Silence,
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Speech {
    /// What is said.
    pub text: String,
    /// The tools that are called.
    pub calls: Vec<SpokenCall>,
    /// Why it ends there.
    pub end: SpeechEnd,
    /// Whether tokens are not told.
    pub is_uncounted: bool,
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpeechEnd {
    /// All is said.
    #[default]
    Said,
    /// It was cut off at its limit of tokens.
    Cut,
    /// The provider pauses (Anthropic only).
    Paused,
    /// The model declines.
    Declined,
}

/// A call in an answer.
#[derive(Debug, Clone)]
pub struct SpokenCall {
    /// The tool, as the model calls it.
    pub name: String,
    /// The arguments, as JSON or not.
    pub arguments: String,
    /// Whether code that the model wrote makes it (Anthropic only).
    pub is_of_code: bool,
}

impl SpokenCall {
    /// A call by the model itself.
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: arguments.into(),
            is_of_code: false,
        }
    }
}

/// Tokens in, whatever is asked.
const TOKENS_IN: u64 = 10;
/// Tokens out, whatever is said.
const TOKENS_OUT: u64 = 5;

impl Said {
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Speech(Speech {
            text: text.into(),
            ..Speech::default()
        })
    }

    /// One call.
    pub fn call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::calls(vec![SpokenCall::new(name, arguments)])
    }

    /// Several calls at once.
    pub fn calls(calls: Vec<SpokenCall>) -> Self {
        Self::Speech(Speech {
            calls,
            ..Speech::default()
        })
    }

    /// The status and the body of the response.
    pub(super) fn respond(&self, asked: &Asked) -> (u16, String) {
        match self {
            Self::Speech(speech) => (200, speech.write(asked)),
            Self::Status { status, .. } => (*status, failure(asked.shape)),
            Self::Raw(body) => (200, (*body).to_owned()),
            Self::Silence => (0, String::new()),
        }
    }
}

fn failure(shape: Shape) -> String {
    let error = json!({ "type": "overloaded_error", "message": "come back later" });
    match shape {
        Shape::Anthropic => json!({ "type": "error", "error": error }).to_string(),
        Shape::OpenAi => json!({ "error": error }).to_string(),
    }
}

impl Speech {
    fn write(&self, asked: &Asked) -> String {
        match asked.shape {
            Shape::Anthropic => self.anthropic(asked),
            Shape::OpenAi => self.open_ai(asked),
        }
    }

    fn anthropic(&self, asked: &Asked) -> String {
        // A thought, which has to come back as it is.
        let thought = r#"{"type":"thinking","thinking":"Well.","signature":"c2lnbmVk"}"#;
        let mut blocks = vec![thought.to_owned()];
        if !self.text.is_empty() {
            blocks.push(json!({ "type": "text", "text": self.text }).to_string());
        }
        let turn = asked.answers();
        let code = format!("srvtoolu_{turn}");
        let is_code = self.calls.iter().any(|call| call.is_of_code);
        if is_code {
            let input = json!({ "code": "await tools()" });
            let block = json!({ "type": "server_tool_use", "id": code, "name": "code_execution", "input": input });
            blocks.push(block.to_string());
        }
        for (place, call) in self.calls.iter().enumerate() {
            let caller = if call.is_of_code {
                json!({ "type": "code_execution_20250825", "tool_id": code })
            } else {
                json!({ "type": "direct" })
            };
            // What is no JSON cannot stand here, so it stands as a text.
            let is_json = serde_json::from_str::<Value>(&call.arguments).is_ok();
            let input = if is_json {
                call.arguments.clone()
            } else {
                Value::from(call.arguments.as_str()).to_string()
            };
            let name = Value::from(call.name.as_str());
            blocks.push(format!(
                r#"{{"type":"tool_use","id":"toolu_{turn}_{place}","name":{name},"input":{input},"caller":{caller}}}"#
            ));
        }
        let stop = match self.end {
            SpeechEnd::Cut => "max_tokens",
            SpeechEnd::Paused => "pause_turn",
            SpeechEnd::Declined => "refusal",
            SpeechEnd::Said if self.calls.is_empty() => "end_turn",
            SpeechEnd::Said => "tool_use",
        };
        let usage = json!({ "input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT });
        let usage = if self.is_uncounted {
            Value::Null
        } else {
            usage
        };
        let container = if is_code {
            json!({ "id": "container_1", "expires_at": "2030-01-01T00:00:00Z" })
        } else {
            Value::Null
        };
        format!(
            r#"{{"id":"msg_{turn}","type":"message","role":"assistant","content":[{}],"stop_reason":"{stop}","usage":{usage},"container":{container}}}"#,
            blocks.join(",")
        )
    }

    fn open_ai(&self, asked: &Asked) -> String {
        let turn = asked.answers();
        let calls: Vec<Value> = self
            .calls
            .iter()
            .enumerate()
            .map(|(place, call)| {
                json!({
                    "id": format!("call_{turn}_{place}"), "type": "function",
                    "function": { "name": call.name, "arguments": call.arguments },
                })
            })
            .collect();
        let stop = match (self.end, calls.is_empty()) {
            (SpeechEnd::Cut, _) => "length",
            (_, true) => "stop",
            (_, false) => "tool_calls",
        };
        let said = (!self.text.is_empty()).then_some(self.text.as_str());
        let (content, refusal) = if self.end == SpeechEnd::Declined {
            (None, said)
        } else {
            (said, None)
        };
        let mut message = json!({ "role": "assistant", "content": content, "refusal": refusal });
        if let (false, Some(fields)) = (calls.is_empty(), message.as_object_mut()) {
            fields.insert("tool_calls".to_owned(), calls.into());
        }
        let mut reply = json!({
            "id": format!("chatcmpl_{turn}"), "object": "chat.completion",
            "choices": [{ "index": 0, "message": message, "finish_reason": stop }],
        });
        if let (false, Some(fields)) = (self.is_uncounted, reply.as_object_mut()) {
            let usage = json!({
                "prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT,
                "total_tokens": TOKENS_IN + TOKENS_OUT,
            });
            fields.insert("usage".to_owned(), usage);
        }
        reply.to_string()
    }
}
