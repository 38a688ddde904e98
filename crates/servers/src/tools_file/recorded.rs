//! A mock from the trace of a session: the tools that were listed, and calls answered as they were.
//!
//! A call is answered by its arguments. Equal calls that were answered one after the other are a
//! sequence. What was not recorded is an error that says so, for anything else would be made up.

use std::collections::hash_map::Entry;

use mcprove_settings::error::{ConfigError, SourcePlace};
use mcprove_trace::{TraceError, TraceRecord};
use serde_json::from_value;

use super::{MockFile, RECORDING_BYTES_MAX, WANTED};
use crate::prelude::*;

/// Whether a text is a trace: lines of JSON that have a time and a kind.
pub fn is_trace(text: &str) -> bool {
    let record = lines(text)
        .next()
        .and_then(|(_, line)| serde_json::from_str::<Fields>(line).ok());
    record.is_some_and(|record| record.contains_key("ts") && record.contains_key("kind"))
}

/// The lines that are not empty, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Reads a trace.
pub fn read(text: &str, file: &str) -> Result<MockFile, ConfigErrors> {
    if text.len() > RECORDING_BYTES_MAX {
        let error = too_large(file, RECORDING_BYTES_MAX, WANTED);
        return Err(ConfigErrors::of(error));
    }
    let mut session = Session::default();
    for (line, text) in lines(text) {
        let record = TraceRecord::parse(text).map_err(|error| {
            let hint = "a recording is as a proxy and a run write it";
            ConfigErrors::of(ConfigError {
                place: Some(SourcePlace { line, column: 1 }),
                ..ConfigError::of_file(file, error.to_string(), hint)
            })
        })?;
        session.add(record);
    }
    session.finish(file)
}

/// What was seen so far.
#[derive(Default)]
struct Session {
    /// What was asked, in order: the method and the parameters, and the end once it came.
    asked: Vec<(String, Fields, Option<End>)>,
    /// Which of these wait for their end, by session and id.
    open: HashMap<(Option<u32>, Option<u64>), usize>,
    /// Requests and answers of which only a part was kept.
    cut_requests: u64,
    cut_answers: u64,
}

/// A result, or an error with what else was answered: the result of a tool error, the `data` of a JSON-RPC error.
type End = Result<Fields, (TraceError, Option<Value>)>;

impl Session {
    fn add(&mut self, record: TraceRecord) {
        let key = (record.session, record.request_id);
        match record.kind.as_str() {
            "request" if record.cut.is_some() => self.cut_requests += 1,
            "request" => {
                let params = fields(record.params);
                self.open.insert(key, self.asked.len());
                let method = record.method.unwrap_or_default();
                self.asked.push((method, params, None));
            }
            "response" | "error" => {
                let asked = self.open.remove(&key);
                let Some((.., end)) = asked.and_then(|index| self.asked.get_mut(index)) else {
                    return;
                };
                self.cut_answers += u64::from(record.cut.is_some());
                *end = match (record.error, record.result) {
                    (Some(error), result) => Some(Err((error, result.or(record.data)))),
                    (None, Some(Value::Object(result))) => Some(Ok(result)),
                    _ => None,
                };
            }
            _ => {}
        }
    }

    fn finish(self, file: &str) -> Result<MockFile, ConfigErrors> {
        let mut mock = Recorded::default();
        for (method, params, end) in self.asked {
            if let Some(end) = end {
                mock.add(&method, params, end);
            }
        }
        let spec = mock.finish();
        if spec.tools.is_empty() && spec.resources.is_empty() && spec.prompts.is_empty() {
            let message = "nothing was recorded that a mock could answer";
            let hint = "record a session in which tools/list or tools/call was answered";
            return Err(ConfigErrors::of(ConfigError::of_file(file, message, hint)));
        }
        let cut = [
            (self.cut_requests, "requests"),
            (self.cut_answers, "answers"),
        ];
        let warnings = cut.into_iter().filter(|(count, _)| *count > 0);
        let warnings = warnings.map(|(count, what)| Warning {
            place: file.to_owned(),
            message: format!(
                "{count} {what} were recorded in part only, so those calls are not answered as they were; a recording of a proxy keeps up to 1 MiB of each"
            )
            .into(),
            is_besides: false,
        });
        Ok(MockFile {
            spec,
            warnings: warnings.collect(),
        })
    }
}

/// A server as it was seen: what it listed, and what it answered.
#[derive(Default)]
struct Recorded {
    spec: MockSpec,
    /// Which rule of its tool a call has, by the tool and the arguments.
    rules: HashMap<(usize, String), usize>,
    resources: Vec<Fields>,
    prompts: Vec<Fields>,
}

impl Recorded {
    /// Takes in how a request was answered.
    fn add(&mut self, method: &str, mut params: Fields, end: End) {
        if method == "tools/call" {
            let arguments = fields(params.remove("arguments"));
            self.call(text_of(&params, "name"), arguments, end);
            return;
        }
        let Ok(mut result) = end else {
            return;
        };
        let mut listed = |name| -> Vec<Fields> {
            let items: Vec<Value> =
                from_value(result.remove(name).unwrap_or_default()).unwrap_or_default();
            items
                .into_iter()
                .filter_map(|item| from_value(item).ok())
                .collect()
        };
        match method {
            "tools/list" => {
                for tool in listed("tools") {
                    self.tool(tool);
                }
            }
            "initialize" | "server/discover" => self.greeting(&result),
            "resources/list" => self.resources.extend(listed("resources")),
            "resources/read" => {
                for contents in listed("contents") {
                    self.resource(contents);
                }
            }
            "resources/templates/list" => {
                let content = Template::literal(json!({ "text": "" }));
                for listed in listed("resourceTemplates") {
                    let content = content.clone();
                    let item = Item { listed, content };
                    keep(&mut self.spec.resource_templates, "uriTemplate", item);
                }
            }
            "prompts/list" => self.prompts.extend(listed("prompts")),
            "prompts/get" => {
                let messages = result.remove("messages").unwrap_or_default();
                let item = Item {
                    listed: params.remove_entry("name").into_iter().collect(),
                    content: Template::literal(messages),
                };
                keep(&mut self.spec.prompts, "name", item);
            }
            _ => {}
        }
    }

    fn greeting(&mut self, result: &Fields) {
        let meta = || result.get("_meta")?.get(META_SERVER);
        let Some(Value::Object(info)) = result.get("serverInfo").or_else(meta) else {
            return;
        };
        text_of(info, "name").clone_into(&mut self.spec.name);
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.spec.title = some(text_of(info, "title"));
        self.spec.version = some(text_of(info, "version"));
        self.spec.instructions = some(text_of(result, "instructions"));
    }

    /// A tool as it was listed; the last word counts.
    fn tool(&mut self, mut listed: Fields) {
        if let Some((_, tool)) = named(&mut self.spec.tools, text_of(&listed, "name")) {
            listed
                .entry("inputSchema")
                .or_insert_with(|| json!({ "type": "object" }));
            tool.listed = listed;
        }
    }

    fn call(&mut self, name: &str, arguments: Fields, end: End) -> Option<()> {
        let answer = answer(end)?;
        let (index, tool) = named(&mut self.spec.tools, name)?;
        let json = Value::Object(arguments.clone()).to_string();
        match self.rules.entry((index, canonical(&json).unwrap_or(json))) {
            Entry::Occupied(rule) => tool.rules.get_mut(*rule.get())?.answers.push(answer),
            Entry::Vacant(rule) => {
                rule.insert(tool.rules.len());
                tool.rules.push(Rule {
                    when: When::Is(arguments),
                    answers: vec![answer],
                });
            }
        }
        Some(())
    }

    fn resource(&mut self, mut contents: Fields) {
        let Some(Value::String(uri)) = contents.remove("uri") else {
            return;
        };
        let content = match contents.remove("blob") {
            Some(blob @ Value::String(_)) => json!({ "blob": blob }),
            _ => json!({ "text": contents.remove("text") }),
        };
        let name = Value::String(uri);
        let mut listed = Map::from_iter([("uri".into(), name.clone()), ("name".into(), name)]);
        listed.extend(contents.remove_entry("mimeType"));
        let content = Template::literal(content);
        keep(&mut self.spec.resources, "uri", Item { listed, content });
    }

    /// The server. What was listed tells more than what was read; what was never read is not served.
    fn finish(mut self) -> MockSpec {
        let resources = self.spec.resources.iter_mut();
        let resources = resources.map(|item| (item, &self.resources, "uri"));
        let prompts = self.spec.prompts.iter_mut();
        let prompts = prompts.map(|item| (item, &self.prompts, "name"));
        for (item, all, key) in resources.chain(prompts) {
            let name = text_of(&item.listed, key);
            if let Some(listed) = all.iter().find(|listed| text_of(listed, key) == name) {
                item.listed = listed.clone();
            }
        }
        self.spec
    }
}

/// The tool of this name, which may be new, and its place.
fn named<'t>(tools: &'t mut Vec<ToolSpec>, name: &str) -> Option<(usize, &'t mut ToolSpec)> {
    let known = tools.iter().position(|tool| tool.name() == name);
    let index = known.unwrap_or(tools.len());
    if known.is_none() && !name.is_empty() {
        let mut tool = ToolSpec::new(name);
        tool.otherwise = Otherwise::Unrecorded;
        tools.push(tool);
    }
    tools.get_mut(index).map(|tool| (index, tool))
}

/// Keeps an item that has a name, unless there is one of its name: as it first was.
fn keep(items: &mut Vec<Item>, key: &str, item: Item) {
    let name = text_of(&item.listed, key);
    if !name.is_empty()
        && items
            .iter()
            .all(|known| text_of(&known.listed, key) != name)
    {
        items.push(item);
    }
}

/// What a server answered; an end without an answer (a timeout, a crash) is none.
fn answer(end: End) -> Option<Answer> {
    let (error, answer) = match end {
        Ok(result) => return Some(Answer::Result(Template::literal(result.into()))),
        Err(error) => error,
    };
    match (error.category, error.code) {
        (_, Some(code)) => {
            let message = error.server_message.unwrap_or(error.message);
            let mut told = json!({ "code": code, "message": message });
            if let Some(data) = answer {
                told["data"] = data;
            }
            Some(Answer::Error(Template::literal(told)))
        }
        (ErrorCategory::ToolError, None) => {
            // Older recordings have only the words.
            let whole = answer.unwrap_or_else(|| text_result(&error.message, true));
            let whole = Some(whole).filter(Value::is_object)?;
            Some(Answer::Result(Template::literal(whole)))
        }
        _ => None,
    }
}

/// The fields of an object; none of anything else.
fn fields(value: Option<Value>) -> Fields {
    from_value(value.unwrap_or_default()).unwrap_or_default()
}
