//! Reads transcripts of the Anthropic Messages API: what was sent (`model`, `system`, `messages`)
//! and what came back (an object with `"type": "message"`, which can stand among the messages,
//! under `response`, or after them; or an `error`, which ends the run).
//!
//! A block whose type ends in `tool_use` is a call, one that ends in `tool_result` its result: so
//! are the tools of the client, of an MCP server and of Anthropic itself told alike. A result
//! without `is_error` is no error, as the API defines it. Thinking is no evidence and is left out.

use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};

use super::dialogue::{Provider, open_turn};
use crate::prelude::*;

/// Reads the messages of a transcript.
pub struct Anthropic;

/// What stands beside the messages.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Beside {
    model: Text,
    system: Content,
    stop_reason: Text,
    usage: Value,
}

/// A message that was sent or came back.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Message {
    role: Text,
    pub id: Text,
    pub model: Text,
    pub content: Content,
    stop_reason: Text,
    usage: Value,
    error: Value,
}

/// What a message says.
#[derive(Default)]
pub enum Content {
    #[default]
    Nothing,
    Text(String),
    Blocks(Vec<Block>),
}

/// Reads a content: `untagged` would read each message twice, and lose the path.
struct AnyContent;

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyContent)
    }
}

impl<'de> Visitor<'de> for AnyContent {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(r#"a text or a list of blocks such as {"type": "text", "text": "…"}"#)
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<Content, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(blocks)).map(Content::Blocks)
    }
}

/// A part of a message. The keys are those of all its types.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Block {
    #[serde(rename = "type")]
    kind: Text,
    pub text: Text,
    citations: Maybe<Value>,
    pub id: Text,
    name: Text,
    server_name: Text,
    input: Value,
    pub caller: Value,
    pub tool_use_id: Text,
    is_error: Value,
    content: Value,
}

impl Provider for Anthropic {
    const LISTS: &'static [&'static str] = &["messages"];

    type Beside<'a> = Beside;

    fn begin(builder: &mut RunBuilder, beside: &mut Beside) -> Result {
        builder.model(beside.model.as_deref());
        let system = std::mem::take(&mut beside.system);
        if !matches!(system, Content::Nothing) && builder.turns.is_empty() {
            builder.open("system");
            add_content(builder, system).within("system")?;
        }
        Ok(())
    }

    fn message<'a>(builder: &mut RunBuilder, document: &Document<'a>, json: &'a str) -> Result {
        let message: Message = document.parse(json)?;
        if open_turn(builder, &message.role, &message.error)?.is_none() {
            return Ok(());
        }
        builder.model(message.model.as_deref());
        add_body(builder, message)
    }

    fn end(builder: &mut RunBuilder, beside: Beside) -> Result {
        builder.stop(beside.stop_reason.as_deref());
        builder.whole.tokens = tokens::usage(&beside.usage);
        Ok(())
    }
}

/// Adds what a message has to the turn that is open.
pub fn add_body(builder: &mut RunBuilder, message: Message) -> Result {
    add_content(builder, message.content).within("content")?;
    builder.stop(message.stop_reason.as_deref());
    builder.usage(&message.usage);
    Ok(())
}

fn add_content(builder: &mut RunBuilder, content: Content) -> Result {
    match content {
        Content::Nothing => {}
        Content::Text(text) => builder.say(&text, false),
        Content::Blocks(blocks) => {
            let mut was_cited = false;
            for (index, block) in blocks.into_iter().enumerate() {
                // A sentence with sources comes in pieces.
                let is_cited = block.citations.is_some();
                add_block(builder, block, is_cited || was_cited).at(index)?;
                was_cited = is_cited;
            }
        }
    }
    Ok(())
}

fn add_block(builder: &mut RunBuilder, block: Block, is_joined: bool) -> Result {
    let Some(kind) = block.kind.as_deref() else {
        return refuse(
            sentence!("the block has no `type`"),
            "a block is an object such as {\"type\": \"text\", \"text\": \"…\"}",
        );
    };
    if kind == "text" {
        builder.say(block.text.or_empty(), is_joined);
    } else if block.is_call() {
        let Some(name) = block.name.as_deref() else {
            return refuse(
                sentence!("the `{kind}` block has no `name`"),
                "a call names its tool",
            );
        };
        let mut call = tool_call(name, block.server_name.as_deref(), arguments(block.input));
        call.caller = caller(block.caller);
        builder.call(block.id.or_empty(), call);
    } else if block.is_result() {
        let is_error = match (kind, &block.is_error) {
            (_, &Value::Bool(is_error)) => Some(is_error),
            ("tool_result" | "mcp_tool_result", Value::Null) => Some(false),
            // Anthropic's own tools have an object of another type where they failed.
            (_, Value::Null) => {
                let kind = block.content.get("type").and_then(Value::as_str);
                Some(kind.is_some_and(|kind| kind.ends_with("_error")))
            }
            _ => None,
        };
        builder.result(block.tool_use_id.or_empty(), is_error, block.content);
    }
    Ok(())
}

impl Block {
    /// Whether it calls a tool.
    pub fn is_call(&self) -> bool {
        self.kind.or_empty().ends_with("tool_use")
    }

    /// Whether it answers a call.
    pub fn is_result(&self) -> bool {
        self.kind.or_empty().ends_with("tool_result")
    }
}
