//! A tool ready to be called: its schema compiled, its rules in order, how far each sequence is.

use std::cell::LazyCell;
use std::sync::atomic::AtomicUsize;

use mcprove_arguments::{self as arguments, SchemaCheck};
use mcprove_trace::panic_guard::contain_call;

use mcprove_settings::message::Message;

use crate::prelude::*;

/// How many problems of arguments one answer names.
const PROBLEMS_MAX: usize = 5;

/// Why a mock cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MockError {
    /// A JSON Schema of a tool does not compile.
    #[error("{0}")]
    Schema(String),
    /// Two tools have the same name.
    #[error("two tools are called {0:?}")]
    SameTool(String),
}

impl UserError for MockError {
    fn hint(&self) -> Message {
        match self {
            Self::Schema(_) => "correct the schema, or leave it out".into(),
            Self::SameTool(_) => "rename one of them, or give one tool several rules".into(),
        }
    }
}

pub struct Tool {
    pub name: String,
    pub listed: Value,
    input: SchemaCheck,
    rules: Vec<ReadyRule>,
    otherwise: Otherwise,
    /// What the output schema asks for, made once.
    structured: Option<Value>,
}

/// A rule, with what it compares made comparable.
struct ReadyRule {
    /// Arguments that a call must have, in the order of their names, and in canonical JSON.
    wanted: Vec<(String, String)>,
    /// Whether it may have no others.
    is_exact: bool,
    answers: Vec<Answer>,
    next: AtomicUsize,
}

impl Tool {
    pub fn new(spec: &ToolSpec) -> Result<Self, MockError> {
        let name = spec.name().to_owned();
        let compiled = |key: &str, schema: &Value| {
            SchemaCheck::strict(schema)
                .map_err(|error| MockError::Schema(format!("`{key}` of tool {name:?}: {error}")))
        };
        let all = json!({ "type": "object" });
        let input = spec.listed.get("inputSchema").unwrap_or(&all);
        let input = compiled("inputSchema", input)?;
        let output = spec.listed.get("outputSchema");
        if let Some(output) = output {
            compiled("outputSchema", output)?;
        }
        Ok(Self {
            listed: Value::Object(spec.listed.clone()),
            input,
            rules: spec.rules.iter().map(ReadyRule::new).collect(),
            otherwise: spec.otherwise,
            structured: output.and_then(|schema| arguments::minimal(schema).ok()),
            name,
        })
    }

    /// What the call with these arguments is answered: a result, or a JSON-RPC error.
    pub fn call(&self, arguments: Option<&Value>) -> Outcome {
        let (none, empty) = (json!({}), Map::new());
        let arguments = arguments.unwrap_or(&none);
        if let Some(problem) = self.problem(arguments) {
            return Ok(text_result(&problem, true));
        }
        let fields = arguments.as_object().unwrap_or(&empty);
        let given = LazyCell::new(|| comparable(fields));
        let rule = self.rules.iter().find(|rule| {
            if rule.is_exact {
                rule.wanted == *given
            } else {
                rule.wanted.iter().all(|wanted| given.contains(wanted))
            }
        });
        match rule.and_then(ReadyRule::next) {
            Some(answer) => self.made(answer, fields),
            None => Ok(self.otherwise(arguments)),
        }
    }

    /// What is wrong with the arguments, for the model that made them to correct.
    fn problem(&self, arguments: &Value) -> Option<String> {
        let failures = self.input.failures(arguments).take(PROBLEMS_MAX);
        let problems: Vec<String> = failures.map(describe).collect();
        (!problems.is_empty()).then(|| {
            format!(
                "Invalid arguments for {}: {}",
                self.name,
                problems.join("; ")
            )
        })
    }

    fn made(&self, answer: &Answer, arguments: &Fields) -> Outcome {
        let too_large = || Refusal::new(INTERNAL_ERROR, "the answer would be too large");
        match answer {
            Answer::Result(template) => {
                let result = template.render(arguments).ok_or_else(too_large)?;
                Ok(self.completed(result))
            }
            Answer::Error(template) => {
                let mut error = template.render(arguments).ok_or_else(too_large)?;
                Err(Refusal {
                    code: error["code"].as_i64().unwrap_or_default(),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                    data: error.as_object_mut().and_then(|error| error.remove("data")),
                })
            }
            Answer::Computed(function) => {
                let arguments = Value::Object(arguments.clone());
                let answer = contain_call(|| (function.0)(&arguments));
                let answer = answer.map_err(|panic| {
                    Refusal::new(
                        INTERNAL_ERROR,
                        format!("the function of this tool panicked: {panic}"),
                    )
                })?;
                let is_error = answer.is_err();
                let text = answer.unwrap_or_else(|failure| failure);
                Ok(self.completed(text_result(&text, is_error)))
            }
        }
    }

    /// A result that has only an object says it as a text too; and the result of a tool with an output
    /// schema has an object, where its text is one.
    fn completed(&self, mut result: Value) -> Value {
        let structured = result.get("structuredContent").map(Value::to_string);
        if result.get("content").is_none() {
            let text = structured.map(|text| json!({ "type": "text", "text": text }));
            result["content"] = text.into_iter().collect();
        }
        let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
        let has_schema = self.listed.get("outputSchema").is_some();
        if !has_schema || is_error || result.get("structuredContent").is_some() {
            return result;
        }
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let object = text.and_then(|text| serde_json::from_str::<Fields>(text).ok());
        if let Some(object) = object {
            result["structuredContent"] = Value::Object(object);
        }
        result
    }

    fn otherwise(&self, arguments: &Value) -> Value {
        match (self.otherwise, &self.structured) {
            (Otherwise::Unrecorded, _) => {
                let problem = format!(
                    "nothing was recorded for {} with these arguments",
                    self.name
                );
                text_result(&problem, true)
            }
            (Otherwise::MadeUp, Some(structured)) => structured_result(structured),
            (Otherwise::MadeUp, None) => text_result(&arguments.to_string(), false),
        }
    }
}

/// What is wrong with an argument, by its name.
fn describe((place, problem): (String, String)) -> String {
    match place.strip_prefix('/') {
        Some(path) => format!("argument {:?}: {problem}", path.replace('/', ".")),
        None => problem,
    }
}

impl ReadyRule {
    fn new(rule: &Rule) -> Self {
        Self {
            wanted: match &rule.when {
                When::Always => Vec::new(),
                When::Has(wanted) | When::Is(wanted) => comparable(wanted),
            },
            is_exact: matches!(rule.when, When::Is(_)),
            answers: rule.answers.clone(),
            next: AtomicUsize::new(0),
        }
    }

    /// The answer whose turn it is.
    fn next(&self) -> Option<&Answer> {
        let last = self.answers.len().saturating_sub(1);
        let turn = self
            .next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |turn| {
                Some(turn.saturating_add(1).min(last))
            });
        self.answers.get(turn.unwrap_or(last))
    }
}

/// One way to write each argument: equal values are equal texts.
fn comparable(arguments: &Fields) -> Vec<(String, String)> {
    let comparable = arguments.iter().map(|(name, value)| {
        let text = value.to_string();
        (name.clone(), canonical(&text).unwrap_or(text))
    });
    comparable.collect()
}
