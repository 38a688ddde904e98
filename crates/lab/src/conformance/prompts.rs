//! The prompts that the suite names.

use mcprove_servers::hosting::message::INVALID_PARAMS;
use mcprove_trace::protocol::Era;
use serde_json::{Value, json};

use crate::ask::{Question, ask};
use crate::call::{Call, Reply, text};
use crate::media;
use crate::prompts::{messages, prompt};

const SIMPLE: &str = "test_simple_prompt";
const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";
const WITH_RESOURCE: &str = "test_prompt_with_embedded_resource";
const WITH_IMAGE: &str = "test_prompt_with_image";
const WITH_INPUT: &str = "test_input_required_result_prompt";

/// As they are listed.
pub fn listed() -> Vec<Value> {
    vec![
        prompt(SIMPLE, "A prompt without arguments.", &[]),
        prompt(
            WITH_ARGUMENTS,
            "A prompt with two arguments.",
            &[
                ("arg1", "First test argument", true),
                ("arg2", "Second test argument", true),
            ],
        ),
        prompt(
            WITH_RESOURCE,
            "A prompt with a resource.",
            &[("resourceUri", "URI of the resource to embed", true)],
        ),
        prompt(WITH_IMAGE, "A prompt with a picture.", &[]),
        prompt(WITH_INPUT, "A prompt that asks before it is made.", &[]),
    ]
}

/// The prompt with this name.
pub async fn get(call: Call<'_>, name: &str) -> Reply {
    match name {
        SIMPLE => messages(&[text("This is a simple prompt for testing.")]),
        WITH_ARGUMENTS => {
            let (first, second) = (call.text_or("arg1", ""), call.text_or("arg2", ""));
            let said = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            messages(&[text(&said)])
        }
        WITH_RESOURCE => {
            let resource = json!({
                "uri": call.text_or("resourceUri", ""),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            messages(&[
                json!({ "type": "resource", "resource": resource }),
                text("Please process the embedded resource above."),
            ])
        }
        WITH_IMAGE => messages(&[media::image(), text("Please analyze the image above.")]),
        WITH_INPUT => with_input(call).await,
        _ => Reply::error(INVALID_PARAMS, format!("Unknown prompt: {name}")),
    }
}

async fn with_input(call: Call<'_>) -> Reply {
    // Only in this era may a prompt ask for anything.
    if call.exchange.revision.era() == Era::Handshake {
        return messages(&[text("Context: none")]);
    }
    let schema = json!({
        "type": "object",
        "properties": { "context": { "type": "string" } },
        "required": ["context"],
    });
    let message = "What context should the prompt use?";
    let question = Question::elicitation("user_context", message, &schema);
    match ask(call, &[question], None).await {
        Ok(answers) => {
            let context = answers.get("user_context");
            let context = context.and_then(|answer| answer.pointer("/content/context")?.as_str());
            let said = format!("Context: {}", context.unwrap_or_default());
            messages(&[text(&said)])
        }
        Err(reply) => reply,
    }
}

/// What an argument can be.
pub fn values(prompt: &str, argument: &str) -> Option<Vec<String>> {
    match (prompt, argument) {
        (WITH_ARGUMENTS, "arg1" | "arg2") => Some(
            ["test", "testing", "paris", "park", "party"]
                .map(str::to_owned)
                .to_vec(),
        ),
        (WITH_RESOURCE, "resourceUri") => Some(vec!["test://static-text".to_owned()]),
        _ => None,
    }
}
