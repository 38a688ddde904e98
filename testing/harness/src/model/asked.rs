//! What a model is asked, whatever the shape of the request.

use serde_json::Value;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` chat completions.
    OpenAi,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How it is asked, by the path.
    pub shape: Shape,
    /// The path.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub raw: Vec<u8>,
    /// The body.
    pub body: Value,
    /// How often this very body came before.
    pub repetition: usize,
}

/// A call that the model made before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    /// The tool, as the model called it.
    pub name: String,
    /// What it came to, as text.
    pub result: String,
    /// Whether that was an error.
    pub is_error: bool,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }

    /// The names of the tools.
    pub fn tools(&self) -> Vec<String> {
        let names = list(&self.body, "tools").filter_map(|tool| match self.shape {
            Shape::Anthropic => text(tool, "name"),
            Shape::OpenAi => text(tool.get("function")?, "name"),
        });
        names.collect()
    }

    /// The name of the first tool that is called so on any server.
    pub fn tool(&self, bare: &str) -> String {
        let suffix = format!("__{bare}");
        let mut tools = self.tools().into_iter();
        let found = tools.find(|name| name.ends_with(&suffix));
        found.unwrap_or_else(|| bare.to_owned())
    }

    /// What the user said, one after the other.
    pub fn prompts(&self) -> Vec<String> {
        let users = self.messages().filter(|message| is_of(message, "user"));
        let texts = users.filter_map(|message| match message.get("content")? {
            Value::String(text) => Some(text.clone()),
            // The results of tools.
            _ => None,
        });
        texts.collect()
    }

    /// How many answers the model gave before.
    pub fn answers(&self) -> usize {
        let answers = self.messages();
        answers
            .filter(|message| is_of(message, "assistant"))
            .count()
    }

    /// The calls that the model made before and that have a result, in order.
    pub fn calls(&self) -> Vec<PastCall> {
        let mut names: Vec<(String, String)> = Vec::new();
        let mut calls = Vec::new();
        let name_of = |names: &[(String, String)], id: &str| {
            let mut names = names.iter().rev();
            let found = names.find(|(known, _)| known == id);
            found.map(|(_, name)| name.clone()).unwrap_or_default()
        };
        for message in self.messages() {
            for call in list(message, "tool_calls") {
                let name = call.get("function").and_then(|of| text(of, "name"));
                names.extend(text(call, "id").zip(name));
            }
            for block in list(message, "content") {
                names.extend(text(block, "id").zip(text(block, "name")));
                if let Some(id) = text(block, "tool_use_id") {
                    calls.push(PastCall {
                        name: name_of(&names, &id),
                        result: shown(block.get("content")),
                        is_error: block.get("is_error") == Some(&Value::Bool(true)),
                    });
                }
            }
            if let Some(id) = text(message, "tool_call_id") {
                let result = shown(message.get("content"));
                calls.push(PastCall {
                    name: name_of(&names, &id),
                    is_error: result.starts_with("Error: "),
                    result,
                });
            }
        }
        calls
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        list(&self.body, "messages")
    }
}

fn is_of(message: &Value, role: &str) -> bool {
    message.get("role") == Some(&Value::from(role))
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn shown(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts: Vec<String> = blocks
                .iter()
                .filter_map(|block| text(block, "text"))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
