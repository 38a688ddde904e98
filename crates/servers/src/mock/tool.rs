//! A tool ready to be called: its schema compiled, its rules in order, how far each sequence is.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use mcprove_arguments as arguments;
use mcprove_settings::json_schema::{Remote, compile};
use mcprove_settings::text::shorten;
use mcprove_trace::canonical::canonical;
use mcprove_trace::contained::contain_call;
use serde_json::{Map, Value, json};

use super::error::MockError;
use super::spec::{Answer, Otherwise, ToolSpec, When};
use crate::hosting::message::{INTERNAL_ERROR, Refusal};
use crate::hosting::tools::{structured_result, text_result};

/// How many problems of arguments one answer names.
const PROBLEMS_MAX: usize = 5;
/// How much of a problem is told.
const PROBLEM_CHARACTERS_MAX: usize = 300;

pub struct Tool {
    pub name: String,
    pub listed: Value,
    input: Validator,
    rules: Vec<Ready>,
    otherwise: Otherwise,
    /// What the output schema asks for, made once.
    structured: Option<Value>,
    has_output_schema: bool,
}

/// A rule, with what it compares made comparable.
struct Ready {
    when: Comparable,
    answers: Vec<Answer>,
    next: AtomicUsize,
}

enum Comparable {
    Always,
    /// Argument by argument, in canonical JSON.
    Has(Vec<(String, String)>),
    /// All of them at once.
    Is(String),
}

impl Tool {
    pub fn new(spec: &ToolSpec) -> Result<Self, MockError> {
        let name = spec.name().to_owned();
        let wrong = |schema: &'static str, error: &ValidationError<'_>| MockError::Schema {
            tool: name.clone(),
            schema,
            place: error.instance_path().to_string(),
            problem: shorten(&error.to_string(), PROBLEM_CHARACTERS_MAX),
        };
        let all = json!({ "type": "object" });
        let input = spec.listed.get("inputSchema").unwrap_or(&all);
        let input = compile(input, None, Remote::Refused);
        let input = input.map_err(|error| wrong("inputSchema", &error))?;
        let output = spec.listed.get("outputSchema");
        if let Some(output) = output {
            let output = compile(output, None, Remote::Refused);
            output.map_err(|error| wrong("outputSchema", &error))?;
        }
        Ok(Self {
            listed: Value::Object(spec.listed.clone()),
            input,
            rules: spec.rules.iter().map(Ready::new).collect(),
            otherwise: spec.otherwise,
            structured: output.and_then(|schema| arguments::minimal(schema).ok()),
            has_output_schema: output.is_some(),
            name,
        })
    }

    /// What the call with these arguments is answered: a result, or a JSON-RPC error.
    pub fn call(&self, arguments: Option<&Value>) -> Result<Value, Refusal> {
        let (none, empty) = (json!({}), Map::new());
        let arguments = arguments.unwrap_or(&none);
        if let Some(problem) = self.problem(arguments) {
            return Ok(text_result(&problem, true));
        }
        let fields = arguments.as_object().unwrap_or(&empty);
        let whole = OnceCell::new();
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.fits(fields, || whole.get_or_init(|| comparable(arguments))));
        match rule.and_then(Ready::next) {
            Some(answer) => self.made(answer, fields),
            None => Ok(self.otherwise(arguments)),
        }
    }

    /// What is wrong with the arguments, for the model that made them to correct.
    fn problem(&self, arguments: &Value) -> Option<String> {
        let problems: Vec<String> = self
            .input
            .iter_errors(arguments)
            .take(PROBLEMS_MAX)
            .map(|error| describe(&error))
            .collect();
        (!problems.is_empty()).then(|| {
            format!(
                "Invalid arguments for {}: {}",
                self.name,
                problems.join("; ")
            )
        })
    }

    fn made(&self, answer: &Answer, arguments: &Map<String, Value>) -> Result<Value, Refusal> {
        let too_large = || Refusal::new(INTERNAL_ERROR, "the answer would be too large");
        match answer {
            Answer::Result(template) => {
                let result = template.render(arguments).ok_or_else(too_large)?;
                Ok(self.completed(result))
            }
            Answer::Error {
                code,
                message,
                data,
            } => {
                let message = message.render(arguments).ok_or_else(too_large)?;
                let data = data.as_ref().map(|data| data.render(arguments));
                Err(Refusal {
                    code: *code,
                    message: message.as_str().unwrap_or_default().to_owned(),
                    data: data.map(|data| data.ok_or_else(too_large)).transpose()?,
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
        if !self.has_output_schema || is_error || result.get("structuredContent").is_some() {
            return result;
        }
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let object = text.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
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
fn describe(error: &ValidationError<'_>) -> String {
    let problem = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("missing required argument {name:?}")
        }
        _ => shorten(&error.to_string(), PROBLEM_CHARACTERS_MAX),
    };
    match error.instance_path().to_string().strip_prefix('/') {
        Some(path) => format!("argument {:?}: {problem}", path.replace('/', ".")),
        None => problem,
    }
}

impl Ready {
    fn new(rule: &super::spec::Rule) -> Self {
        let when = match &rule.when {
            When::Always => Comparable::Always,
            When::Has(wanted) => Comparable::Has(
                wanted
                    .iter()
                    .map(|(name, value)| (name.clone(), comparable(value)))
                    .collect(),
            ),
            When::Is(wanted) => Comparable::Is(comparable(&Value::Object(wanted.clone()))),
        };
        Self {
            when,
            answers: rule.answers.clone(),
            next: AtomicUsize::new(0),
        }
    }

    fn fits<'w>(&self, fields: &Map<String, Value>, whole: impl FnOnce() -> &'w String) -> bool {
        match &self.when {
            Comparable::Always => true,
            Comparable::Has(wanted) => wanted.iter().all(|(name, wanted)| {
                let given = fields.get(name);
                given.is_some_and(|given| comparable(given) == *wanted)
            }),
            Comparable::Is(wanted) => whole() == wanted,
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

/// One way to write a value: equal values are equal texts.
fn comparable(value: &Value) -> String {
    let text = value.to_string();
    canonical(&text).unwrap_or(text)
}
