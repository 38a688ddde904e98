//! Tools that need input, and get it with the next request.

use mcprove_servers::hosting::message::INVALID_PARAMS;
use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::Revision;
use serde_json::{Map, Value, json};

use crate::ask::{Question, ask, require};
use crate::call::{Call, Reply, content, text};
use crate::registry::{Entry, nothing};

const fn entry(
    name: &'static str,
    explanation: &'static str,
    answer: for<'a> fn(Call<'a>) -> BoxFuture<'a, Reply>,
) -> Entry {
    Entry {
        name,
        group: "conformance",
        explanation,
        input: nothing,
        output: None,
        since: Revision::V2026_07_28,
        answer,
    }
}

/// A question for one text.
fn elicitation(key: &'static str, message: &str, field: &str, kind: &str) -> Question {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": kind } },
        "required": [field],
    });
    Question::elicitation(key, message, &schema)
}

/// A text in an answer.
fn said<'a>(answers: &'a Map<String, Value>, pointer: &str) -> &'a str {
    let mut parts = pointer.splitn(2, '/');
    let answer = parts.next().and_then(|key| answers.get(key));
    let rest = format!("/{}", parts.next().unwrap_or_default());
    let text = answer.and_then(|answer| answer.pointer(&rest)?.as_str());
    text.unwrap_or_default()
}

/// A name.
pub const ELICITATION: Entry = entry(
    "test_input_required_result_elicitation",
    "Asks for a name.",
    |call| {
        Box::pin(async move {
            let question = elicitation("user_name", "What is your name?", "name", "string");
            match ask(call, &[question], None).await {
                Ok(answers) => {
                    let name = said(&answers, "user_name/content/name");
                    content(&[text(&format!("Hello, {name}!"))])
                }
                Err(reply) => reply,
            }
        })
    },
);

/// A sampled message.
pub const SAMPLING: Entry = entry(
    "test_input_required_result_sampling",
    "Asks for a sampled message.",
    |call| {
        Box::pin(async move {
            let prompt = "What is the capital of France?";
            let question = Question::sampling("capital_question", prompt, 100);
            match ask(call, &[question], None).await {
                Ok(answers) => content(&[text(said(&answers, "capital_question/content/text"))]),
                Err(reply) => reply,
            }
        })
    },
);

/// The roots.
pub const ROOTS: Entry = entry(
    "test_input_required_result_list_roots",
    "Asks for the roots.",
    |call| {
        Box::pin(async move {
            match ask(call, &[Question::roots("client_roots")], None).await {
                Ok(answers) => {
                    let roots = answers
                        .get("client_roots")
                        .and_then(|answer| answer.get("roots"));
                    let roots = roots.map(Value::to_string).unwrap_or_default();
                    content(&[text(&format!("Roots: {roots}"))])
                }
                Err(reply) => reply,
            }
        })
    },
);

/// A confirmation, with state.
pub const STATE: Entry = entry(
    "test_input_required_result_request_state",
    "Asks for a confirmation, and wants its state back.",
    |call| Box::pin(confirm(call)),
);

/// The same, with state that somebody may tamper with.
pub const TAMPERED: Entry = entry(
    "test_input_required_result_tampered_state",
    "Asks for a confirmation, and refuses state that was tampered with.",
    |call| Box::pin(confirm(call)),
);

async fn confirm(call: Call<'_>) -> Reply {
    let question = elicitation("confirm", "Please confirm", "ok", "boolean");
    match ask(call, &[question], Some(call.exchange.request.tool())).await {
        Ok(_) => content(&[text("state-ok")]),
        Err(reply) => reply,
    }
}

/// Several questions at once.
pub const MULTIPLE: Entry = entry(
    "test_input_required_result_multiple_inputs",
    "Asks for a name, a sampled message and the roots.",
    |call| {
        Box::pin(async move {
            let questions = [
                elicitation("user_name", "What is your name?", "name", "string"),
                Question::sampling("greeting", "Generate a greeting", 50),
                Question::roots("client_roots"),
            ];
            match ask(call, &questions, Some(call.exchange.request.tool())).await {
                Ok(answers) => {
                    let greeting = said(&answers, "greeting/content/text");
                    let name = said(&answers, "user_name/content/name");
                    content(&[text(&format!("{greeting} {name}"))])
                }
                Err(reply) => reply,
            }
        })
    },
);

/// Two questions, one after the other.
pub const MULTI_ROUND: Entry = entry(
    "test_input_required_result_multi_round",
    "Asks for a name, then for a color.",
    |call| Box::pin(async move { multi_round(call).await }),
);

/// What the state says before the second question; the name follows.
const SECOND_ROUND: &str = "second:";
const FIRST_ROUND: &str = "first";

async fn multi_round(call: Call<'_>) -> Reply {
    let state = call
        .exchange
        .request
        .params
        .get("requestState")
        .and_then(Value::as_str);
    let state = state.and_then(|state| call.lab.seal.check(state));
    let second = || {
        elicitation(
            "step2",
            "Step 2: What is your favorite color?",
            "color",
            "string",
        )
    };
    if let Some(state @ name) = state.filter(|state| state.starts_with(SECOND_ROUND)) {
        let name = name.strip_prefix(SECOND_ROUND).unwrap_or_default();
        return match ask(call, &[second()], Some(state)).await {
            Ok(answers) => {
                let color = said(&answers, "step2/content/color");
                content(&[text(&format!("{name} likes {color}."))])
            }
            Err(reply) => reply,
        };
    }
    let first = elicitation("step1", "Step 1: What is your name?", "name", "string");
    match ask(call, &[first], Some(FIRST_ROUND)).await {
        Ok(answers) => {
            let name = said(&answers, "step1/content/name");
            let state = format!("{SECOND_ROUND}{name}");
            require(call, &[second()], Some(&state))
        }
        Err(reply) => reply,
    }
}

/// Only what the client can answer.
pub const CAPABILITIES: Entry = entry(
    "test_input_required_result_capabilities",
    "Asks only for what the client can do.",
    |call| {
        Box::pin(async move {
            let questions: Vec<Question> = [
                elicitation("user_name", "What is your name?", "name", "string"),
                Question::sampling("greeting", "Generate a greeting", 50),
            ]
            .into_iter()
            .filter(|question| call.exchange.client_capability(question.capability()))
            .collect();
            if questions.is_empty() {
                return Reply::error(INVALID_PARAMS, "the client can answer no question");
            }
            match ask(call, &questions, None).await {
                Ok(_) => content(&[text("Thank you.")]),
                Err(reply) => reply,
            }
        })
    },
);
