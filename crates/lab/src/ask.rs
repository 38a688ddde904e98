//! Questions to the client in the middle of a call: requests of the server's own in the handshake era,
//! `input_required` in the stateless one.

use mcprove_arguments::SchemaCheck;
use mcprove_servers::hosting::Refusal;
use mcprove_servers::hosting::message::{INVALID_PARAMS, MISSING_CAPABILITY};
use mcprove_trace::protocol::Era;
use serde_json::{Map, Value, json};

use super::call::{Call, Reply, text};

/// One question.
pub struct Question {
    /// Its name among the questions of a call.
    pub key: &'static str,
    /// What the client is asked to do.
    pub method: &'static str,
    /// With what.
    pub params: Value,
}

impl Question {
    /// To sample a message from a model.
    pub fn sampling(key: &'static str, prompt: &str, max_tokens: u64) -> Self {
        let content = text(prompt);
        Self {
            key,
            method: "sampling/createMessage",
            params: json!({
                "messages": [{ "role": "user", "content": content }],
                "maxTokens": max_tokens,
            }),
        }
    }

    /// To ask the user for what the schema describes.
    pub fn elicitation(key: &'static str, message: &str, schema: &Value) -> Self {
        Self {
            key,
            method: "elicitation/create",
            params: json!({ "message": message, "requestedSchema": schema }),
        }
    }

    /// To list the roots.
    pub fn roots(key: &'static str) -> Self {
        Self {
            key,
            method: "roots/list",
            params: json!({}),
        }
    }

    /// What the client must be able to do.
    pub fn capability(&self) -> &'static str {
        match self.method {
            "sampling/createMessage" => "sampling",
            "elicitation/create" => "elicitation",
            _ => "roots",
        }
    }

    /// Whether this can be an answer.
    fn takes(&self, answer: &Value) -> bool {
        match self.capability() {
            "sampling" => answer.get("role").is_some() && answer.get("content").is_some(),
            "roots" => answer.get("roots").is_some_and(Value::is_array),
            _ => match answer.get("action").and_then(Value::as_str) {
                Some("accept") => {
                    let none = json!({});
                    let content = answer.get("content").unwrap_or(&none);
                    let schema = self.params.get("requestedSchema").unwrap_or(&Value::Null);
                    SchemaCheck::new(schema).is_ok_and(|check| check.failure(content).is_none())
                }
                Some("decline" | "cancel") => true,
                _ => false,
            },
        }
    }
}

/// Asks all questions, and gives the answers by their keys; or else what the call is to be answered with.
/// `state` goes out and comes back with the answers in the stateless era.
pub async fn ask(
    call: Call<'_>,
    questions: &[Question],
    state: Option<&str>,
) -> Result<Map<String, Value>, Reply> {
    match call.exchange.revision.era() {
        Era::Handshake => ask_now(call, questions).await,
        Era::Stateless => take_answers(call, questions, state),
    }
}

async fn ask_now(call: Call<'_>, questions: &[Question]) -> Result<Map<String, Value>, Reply> {
    let lacking = questions
        .iter()
        .map(Question::capability)
        .find(|name| !call.exchange.client_capability(name));
    if let Some(name) = lacking {
        let problem = format!("the client does not declare {name}");
        return Err(Reply::failed(json!({ "problem": problem }), &problem));
    }
    let mut answers = Map::new();
    for question in questions {
        match call.exchange.ask(question.method, &question.params).await {
            Ok(answer) if question.takes(&answer) => {
                answers.insert(question.key.to_owned(), answer)
            }
            Ok(_) => {
                let problem = format!("the client's answer to {} does not fit", question.method);
                return Err(Reply::failed(json!({ "problem": problem }), &problem));
            }
            Err(problem) => return Err(Reply::failed(json!({ "problem": problem }), &problem)),
        };
    }
    Ok(answers)
}

fn take_answers(
    call: Call<'_>,
    questions: &[Question],
    state: Option<&str>,
) -> Result<Map<String, Value>, Reply> {
    let params = &call.exchange.request.params;
    let given = params.get("requestState");
    if let Some(given) = given {
        let is_ours = given
            .as_str()
            .and_then(|given| call.lab.seal.check(given))
            .is_some_and(|given| Some(given) == state);
        if !is_ours {
            let text = "Invalid params: requestState is not what was given out";
            return Err(Reply::error(INVALID_PARAMS, text));
        }
    }
    let responses = params.get("inputResponses");
    let answer = |question: &Question| {
        let answer = responses?.get(question.key)?;
        question.takes(answer).then(|| answer.clone())
    };
    let answers: Option<Map<String, Value>> = questions
        .iter()
        .map(|question| Some((question.key.to_owned(), answer(question)?)))
        .collect();
    match answers {
        Some(answers) if state.is_none() || given.is_some() => Ok(answers),
        _ => Err(require(call, questions, state)),
    }
}

/// The state together with a mark of what was asked, with what and by whom: it fits no other call.
pub fn bound(call: Call<'_>, state: &str) -> String {
    let exchange = call.exchange;
    let identity = exchange.caller().identity.as_ref();
    let user = identity.map(|identity| identity.user.as_str());
    let arguments = exchange.request.params.get("arguments");
    let about = json!([exchange.request.tool(), arguments, user]).to_string();
    format!("{state}.{}", call.lab.seal.mark(&about))
}

/// The result that asks for input.
pub fn require(call: Call<'_>, questions: &[Question], state: Option<&str>) -> Reply {
    let lacking: Map<String, Value> = questions
        .iter()
        .map(Question::capability)
        .filter(|name| !call.exchange.client_capability(name))
        .map(|name| (name.to_owned(), json!({})))
        .collect();
    if !lacking.is_empty() {
        let names: Vec<_> = lacking.keys().map(String::as_str).collect();
        return Reply::Refused(Refusal {
            code: MISSING_CAPABILITY,
            message: format!("Missing required client capability: {}", names.join(", ")),
            data: Some(json!({ "requiredCapabilities": lacking })),
        });
    }
    let requests: Map<String, Value> = questions
        .iter()
        .map(|question| {
            let request = json!({ "method": question.method, "params": question.params });
            (question.key.to_owned(), request)
        })
        .collect();
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let (Some(state), Some(fields)) = (state, result.as_object_mut()) {
        let state = call.lab.seal.put(state);
        fields.insert("requestState".to_owned(), state.into());
    }
    Reply::Whole(result)
}
