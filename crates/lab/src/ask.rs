//! Questions to the client in the middle of a call: requests of the server's own in the handshake era,
//! `input_required` in the stateless one.

use super::catalogue::text;
use crate::prelude::*;

#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// Its name among the questions of a call.
    pub key: String,
    /// What the client is asked to do.
    pub method: String,
    pub params: Value,
}

/// The questions of a tool, with the arguments of a call in their places.
pub fn questions(call: Call<'_>, tool: &LabTool) -> Vec<Question> {
    tool.asks
        .iter()
        .cloned()
        .map(|question| Question {
            params: render(&question.params, call.arguments),
            ..question
        })
        .collect()
}

/// Answers with what a tool says of the answers to these questions.
pub async fn answer(call: Call<'_>, tool: &LabTool, questions: &[Question]) -> Answered {
    let state = tool.state.then(|| tool.name());
    let mut answers = ask(call, questions, state).await?;
    for fields in answers.values_mut().filter_map(Value::as_object_mut) {
        // Whoever declines gives nothing.
        fields.entry("content").or_insert_with(|| json!({}));
    }
    Ok(said(&tool.says, &answers))
}

impl Question {
    /// What the client must be able to do.
    pub fn capability(&self) -> &'static str {
        match self.method.as_str() {
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
            _ => match text(answer, "action") {
                "accept" => {
                    let none = json!({});
                    let content = answer.get("content").unwrap_or(&none);
                    let check = SchemaCheck::new(&self.params["requestedSchema"]);
                    check.is_ok_and(|check| check.failure(content).is_none())
                }
                action => matches!(action, "decline" | "cancel"),
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
) -> Result<Fields, Reply> {
    match call.exchange.revision.era() {
        Era::Handshake => ask_now(call, questions).await,
        Era::Stateless => take_answers(call, questions, state),
    }
}

async fn ask_now(call: Call<'_>, questions: &[Question]) -> Result<Fields, Reply> {
    let failed = |text: String| Reply::Result(problem(&text));
    if let Some(name) = lacking(call, questions).next() {
        return Err(failed(format!("the client does not declare {name}")));
    }
    let mut answers = Map::new();
    for question in questions {
        let (method, params) = (&question.method, &question.params);
        let answer = call.exchange.ask(method, params).await.map_err(failed)?;
        if !question.takes(&answer) {
            return Err(failed(format!(
                "the client's answer to {method} does not fit"
            )));
        }
        answers.insert(question.key.clone(), answer);
    }
    Ok(answers)
}

fn take_answers(
    call: Call<'_>,
    questions: &[Question],
    state: Option<&str>,
) -> Result<Fields, Reply> {
    let params = &call.exchange.request.params;
    let given = params.get("requestState");
    if let Some(given) = given {
        let is_ours = given
            .as_str()
            .and_then(|given| call.lab.signed_state.check(given))
            .is_some_and(|given| Some(given) == state);
        if !is_ours {
            let text = "Invalid params: requestState is not what was given out";
            return Err(invalid(text).into());
        }
    }
    let responses = params.get("inputResponses");
    let answer = |question: &Question| {
        let answer = responses?.get(&question.key)?;
        question.takes(answer).then(|| answer.clone())
    };
    let answers: Option<Fields> = questions
        .iter()
        .map(|question| Some((question.key.clone(), answer(question)?)))
        .collect();
    match answers {
        Some(answers) if state.is_none() || given.is_some() => Ok(answers),
        _ => Err(require(call, questions, state)),
    }
}

/// The state together with a mark of what was asked, with what and by whom: it fits no other call.
pub fn bound(call: Call<'_>, state: &str) -> String {
    let exchange = call.exchange;
    let arguments = exchange.request.params.get("arguments");
    let about = json!([exchange.request.tool(), arguments, exchange.caller().user()]).to_string();
    format!("{state}.{}", call.lab.signed_state.mark(&about))
}

/// What a client cannot do that is asked to.
fn lacking(call: Call<'_>, questions: &[Question]) -> impl Iterator<Item = &'static str> {
    questions
        .iter()
        .map(Question::capability)
        .filter(move |name| !call.exchange.client_capability(name))
}

/// The result that asks for input.
pub fn require(call: Call<'_>, questions: &[Question], state: Option<&str>) -> Reply {
    let lacking: Fields = lacking(call, questions)
        .map(|name| (name.to_owned(), json!({})))
        .collect();
    if !lacking.is_empty() {
        let names: Vec<_> = lacking.keys().map(String::as_str).collect();
        let message = format!("Missing required client capability: {}", names.join(", "));
        let mut refusal = Refusal::new(MISSING_CAPABILITY, message);
        refusal.data = Some(json!({ "requiredCapabilities": lacking }));
        return refusal.into();
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": {} });
    for Question {
        key,
        method,
        params,
    } in questions
    {
        result["inputRequests"][key] = json!({ "method": method, "params": params });
    }
    if let Some(state) = state {
        result["requestState"] = call.lab.signed_state.put(state).into();
    }
    Reply::Result(result)
}
