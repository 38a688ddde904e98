//! The server that a trace shows: what it listed, and what it answered.

use std::collections::HashMap;

use mcprove_trace::ErrorCategory;
use mcprove_trace::canonical::canonical;
use serde_json::{Map, Value, from_value, json};

use super::End;
use crate::hosting::message::META_SERVER;
use crate::hosting::tools::text_result;
use crate::mock::{
    Answer, Contents, MockSpec, Otherwise, PromptSpec, ResourceSpec, ResourceTemplateSpec, Rule,
    Template, ToolSpec, When,
};
use crate::tools_file::response::recorded;

/// A server as it was seen.
#[derive(Default)]
pub struct Recorded {
    spec: MockSpec,
    /// Where the rule of a call is, by tool and arguments.
    rules: HashMap<(String, String), (usize, usize)>,
    listed: HashMap<String, usize>,
    resources: Vec<Map<String, Value>>,
    prompts: Vec<Map<String, Value>>,
}

impl Recorded {
    /// Takes in how a request was answered.
    pub fn add(&mut self, method: &str, params: Map<String, Value>, end: End) {
        match (method, end) {
            ("tools/call", end) => self.call(params, end),
            ("tools/list", End::Result(mut result)) => {
                for tool in maps(result.remove("tools")) {
                    self.tool(tool);
                }
            }
            ("initialize" | "server/discover", End::Result(result)) => self.greeting(&result),
            ("resources/list", End::Result(mut result)) => {
                self.resources.extend(maps(result.remove("resources")));
            }
            ("resources/read", End::Result(mut result)) => {
                for contents in maps(result.remove("contents")) {
                    self.resource(contents);
                }
            }
            ("resources/templates/list", End::Result(mut result)) => {
                for listed in maps(result.remove("resourceTemplates")) {
                    self.resource_template(listed);
                }
            }
            ("prompts/list", End::Result(mut result)) => {
                self.prompts.extend(maps(result.remove("prompts")));
            }
            ("prompts/get", End::Result(mut result)) => {
                let name = text(&params, "name");
                self.prompt(name, result.remove("messages").unwrap_or_default());
            }
            _ => {}
        }
    }

    fn greeting(&mut self, result: &Map<String, Value>) {
        let info = result.get("serverInfo").or_else(|| {
            let meta = result.get("_meta")?;
            meta.get(META_SERVER)
        });
        let Some(Value::Object(info)) = info else {
            return;
        };
        text(info, "name").clone_into(&mut self.spec.name);
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.spec.title = some(text(info, "title"));
        self.spec.version = some(text(info, "version"));
        self.spec.instructions = some(text(result, "instructions"));
    }

    /// A tool as it was listed; the last word counts.
    fn tool(&mut self, listed: Map<String, Value>) {
        let name = text(&listed, "name").to_owned();
        if name.is_empty() {
            return;
        }
        let index = self.tool_index(&name);
        if let Some(tool) = self.spec.tools.get_mut(index) {
            tool.listed = listed;
            let schema = tool.listed.entry("inputSchema");
            schema.or_insert_with(|| json!({ "type": "object" }));
        }
    }

    fn tool_index(&mut self, name: &str) -> usize {
        if let Some(index) = self.listed.get(name) {
            return *index;
        }
        let index = self.spec.tools.len();
        self.listed.insert(name.to_owned(), index);
        let mut tool = ToolSpec::new(name);
        tool.otherwise = Otherwise::Unrecorded;
        self.spec.tools.push(tool);
        index
    }

    fn call(&mut self, mut params: Map<String, Value>, end: End) {
        let Some(answer) = answer(end) else {
            return;
        };
        let name = text(&params, "name").to_owned();
        if name.is_empty() {
            return;
        }
        let arguments = params.remove("arguments").unwrap_or_default();
        let arguments: Map<String, Value> = from_value(arguments).unwrap_or_default();
        let json = Value::Object(arguments.clone()).to_string();
        let key = (name, canonical(&json).unwrap_or(json));
        if let Some((tool, rule)) = self.rules.get(&key) {
            let tool = self.spec.tools.get_mut(*tool);
            if let Some(rule) = tool.and_then(|tool| tool.rules.get_mut(*rule)) {
                rule.answers.push(answer);
            }
            return;
        }
        let index = self.tool_index(&key.0);
        if let Some(tool) = self.spec.tools.get_mut(index) {
            self.rules.insert(key, (index, tool.rules.len()));
            tool.rules.push(Rule {
                when: When::Is(arguments),
                answers: vec![answer],
            });
        }
    }

    fn resource(&mut self, mut contents: Map<String, Value>) {
        let uri = text(&contents, "uri").to_owned();
        let known = self.spec.resources.iter();
        if uri.is_empty() || known.clone().any(|known| text(&known.listed, "uri") == uri) {
            return;
        }
        let inside = match contents.remove("blob") {
            Some(Value::String(blob)) => Contents::Blob(blob),
            _ => Contents::Text(Template::literal(
                contents.remove("text").unwrap_or_default(),
            )),
        };
        let mut listed = named("uri", &uri);
        listed.insert("name".to_owned(), uri.into());
        listed.extend(contents.remove_entry("mimeType"));
        self.spec.resources.push(ResourceSpec {
            listed,
            contents: inside,
        });
    }

    fn resource_template(&mut self, listed: Map<String, Value>) {
        let pattern = text(&listed, "uriTemplate");
        let mut known = self.spec.resource_templates.iter();
        if !known.any(|known| text(&known.listed, "uriTemplate") == pattern) {
            let contents = Contents::Text(Template::literal("".into()));
            self.spec
                .resource_templates
                .push(ResourceTemplateSpec { listed, contents });
        }
    }

    /// The messages of a prompt as they were first given.
    fn prompt(&mut self, name: &str, messages: Value) {
        let mut known = self.spec.prompts.iter();
        if name.is_empty() || known.any(|known| text(&known.listed, "name") == name) {
            return;
        }
        self.spec.prompts.push(PromptSpec {
            listed: named("name", name),
            messages: Template::literal(messages),
        });
    }

    /// The server. What was listed tells more than what was read; what was never read is not served.
    pub fn finish(mut self) -> MockSpec {
        let as_listed = |read: &mut Map<String, Value>, all: &[Map<String, Value>], key: &str| {
            let listed = all
                .iter()
                .find(|listed| text(listed, key) == text(read, key));
            if let Some(listed) = listed {
                *read = listed.clone();
            }
        };
        for resource in &mut self.spec.resources {
            as_listed(&mut resource.listed, &self.resources, "uri");
        }
        for prompt in &mut self.spec.prompts {
            as_listed(&mut prompt.listed, &self.prompts, "name");
        }
        self.spec
    }
}

/// What a server answered; an end without an answer (a timeout, a crash) is none.
fn answer(end: End) -> Option<Answer> {
    let (error, answer) = match end {
        End::Result(result) => return Some(recorded(result)),
        End::Error(error, answer) => (error, answer),
    };
    let message = error.code.and_then(|code| {
        // A trace tells the code in its words too.
        error.message.strip_suffix(&format!(" (code {code})"))
    });
    let message = message.unwrap_or(&error.message);
    let message = Template::literal(message.into());
    match (error.category, error.code) {
        (_, Some(code)) => Some(Answer::Error {
            code,
            message,
            data: answer.map(Template::literal),
        }),
        (ErrorCategory::ToolError, None) => {
            // Older recordings have only the words.
            let whole = answer.unwrap_or_else(|| text_result(&error.message, true));
            from_value(whole).ok().map(recorded)
        }
        _ => None,
    }
}

/// The objects of a list.
fn maps(list: Option<Value>) -> Vec<Map<String, Value>> {
    let items: Vec<Value> = list
        .and_then(|list| from_value(list).ok())
        .unwrap_or_default();
    items
        .into_iter()
        .filter_map(|item| from_value(item).ok())
        .collect()
}

/// What is listed of something of which only this is known.
fn named(key: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value.into())])
}

fn text<'m>(fields: &'m Map<String, Value>, name: &str) -> &'m str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}
