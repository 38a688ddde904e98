//! What a mock is to be: its tools and what they answer, its resources, its prompts.
//!
//! `crate::tools_file` reads it from a file; in Rust it is put together by hand.

use crate::prelude::*;

/// A whole server.
#[derive(Clone, PartialEq, Default)]
pub struct MockSpec {
    /// Its name, by which faults are aimed at it too.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version; that of mcprove unless given.
    pub version: Option<String>,
    /// What it tells clients about itself.
    pub instructions: Option<String>,
    /// How many items a page of its lists has; all unless given.
    pub page_size: Option<usize>,
    /// Its tools.
    pub tools: Vec<ToolSpec>,
    /// Its resources.
    pub resources: Vec<Item>,
    /// Its resources by a pattern of their address.
    pub resource_templates: Vec<Item>,
    /// Its prompts.
    pub prompts: Vec<Item>,
}

/// A tool and what it answers.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
pub struct ToolSpec {
    /// The tool as it is listed: `name`, `inputSchema` and so on.
    pub listed: Fields,
    /// What it answers: the first rule that fits the arguments decides.
    pub rules: Vec<Rule>,
    /// What it answers when no rule fits.
    pub otherwise: Otherwise,
}

/// What calls of a tool are answered when no rule fits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Otherwise {
    /// Something sensible: what the output schema asks for, or else the arguments, as a text.
    #[default]
    MadeUp,
    /// An error that says that nothing was recorded for these arguments.
    Unrecorded,
}

/// What calls with certain arguments are answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Which calls.
    pub when: When,
    /// What they are answered: each next call the next one, and the last from then on. Never empty.
    pub answers: Vec<Answer>,
}

/// Which calls a rule is for.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// All.
    Always,
    /// Those that have these arguments, whatever else they have.
    Has(Fields),
    /// Those that have exactly these arguments.
    Is(Fields),
}

/// What a call is answered.
#[derive(Clone, PartialEq)]
pub enum Answer {
    /// A whole `CallToolResult`.
    Result(Template),
    /// A JSON-RPC error: its `code`, `message` and perhaps `data`.
    Error(Template),
    /// What a function of the arguments returns.
    Computed(Function),
}

/// A mock and its answers, as they were shown when the first cassettes were written: they have a digest of this text.
impl fmt::Debug for MockSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |kind, items: &[Item]| -> Vec<ShownItem> {
            items
                .iter()
                .cloned()
                .map(|item| ShownItem(kind, item))
                .collect()
        };
        let templates = shown("ResourceTemplateSpec", &self.resource_templates);
        formatter
            .debug_struct("MockSpec")
            .field("name", &self.name)
            .field("title", &self.title)
            .field("version", &self.version)
            .field("instructions", &self.instructions)
            .field("page_size", &self.page_size)
            .field("tools", &self.tools)
            .field("resources", &shown("ResourceSpec", &self.resources))
            .field("resource_templates", &templates)
            .field("prompts", &shown("PromptSpec", &self.prompts))
            .finish()
    }
}

struct ShownItem(&'static str, Item);

impl fmt::Debug for ShownItem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[derive(Debug)]
        #[expect(dead_code, reason = "only shown")]
        enum Contents {
            Text(Template),
            Blob(String),
        }
        let Self(kind, Item { listed, content }) = self;
        let mut shown = formatter.debug_struct(kind);
        shown.field("listed", listed);
        let text = content.field("text").map(Contents::Text);
        let blob = || {
            let blob = content.field("blob")?.render(&Map::new())?;
            Some(Contents::Blob(blob.as_str()?.to_owned()))
        };
        match text.or_else(blob) {
            Some(contents) => shown.field("contents", &contents).finish(),
            None => shown.field("messages", content).finish(),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(result) => formatter.debug_tuple("Result").field(result).finish(),
            Self::Computed(function) => formatter.debug_tuple("Computed").field(function).finish(),
            Self::Error(error) => {
                let code = || error.field("code")?.render(&Map::new())?.as_i64();
                let message = error.field("message");
                let message = message.unwrap_or(Template::literal("".into()));
                formatter
                    .debug_struct("Error")
                    .field("code", &code().unwrap_or_default())
                    .field("message", &message)
                    .field("data", &error.field("data"))
                    .finish()
            }
        }
    }
}

type AnswerFunction = dyn Fn(&Value) -> Result<String, String> + Send + Sync;

/// A function from the arguments of a call to a text, or to the text of a failure (`isError`).
#[derive(Opaque, Clone)]
pub struct Function(pub(super) Arc<AnswerFunction>);

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A resource, a pattern of resources or a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// As it is listed: `uri`, `uriTemplate` or `name` and so on.
    pub listed: Fields,
    /// What is in it: the `text` or `blob` of a resource, where `${args.x}` is what stands for `{x}` in its address; the
    /// messages of a prompt.
    pub content: Template,
}

impl MockSpec {
    /// Whether there is anything that a client could ask for.
    pub const fn has_anything(&self) -> bool {
        !self.tools.is_empty() || self.has_resources() || !self.prompts.is_empty()
    }

    pub const fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.resource_templates.is_empty()
    }

    /// A server of this name that has nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// The same with one more tool.
    #[must_use]
    pub fn with_tool(mut self, tool: ToolSpec) -> Self {
        self.tools.push(tool);
        self
    }
}

impl ToolSpec {
    /// A tool of this name that takes any arguments and answers with them.
    pub fn new(name: impl Into<String>) -> Self {
        Self::default()
            .with("name", Value::String(name.into()))
            .with("inputSchema", json!({ "type": "object" }))
    }

    /// The same with this field in lists, such as `inputSchema` or `description`.
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.listed.insert(field.to_owned(), value);
        self
    }

    /// The same, answering calls that no rule before fits with this text, which may have places for
    /// arguments: `found ${args.query}`.
    pub fn answering(self, text: &str) -> Result<Self, TemplateError> {
        Ok(self.with_rule(When::Always, vec![Answer::text(text)?]))
    }

    /// The same, answering calls that no rule before fits with what a function of their arguments returns: a text, or
    /// the text of a failure (`isError`). A call in which it panics is answered with an internal error.
    ///
    /// ```
    /// use mcprove_servers::mock::ToolSpec;
    ///
    /// ToolSpec::new("double").answering_with(|arguments| {
    ///     let number = arguments["number"].as_i64().ok_or("number is missing")?;
    ///     Ok((number * 2).to_string())
    /// });
    /// ```
    pub fn answering_with(
        self,
        answer: impl Fn(&Value) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        let answer = Answer::Computed(Function(Arc::new(answer)));
        self.with_rule(When::Always, vec![answer])
    }

    /// The same with one more rule, after those before. Without answers the rule is none.
    pub fn with_rule(mut self, when: When, answers: Vec<Answer>) -> Self {
        if !answers.is_empty() {
            self.rules.push(Rule { when, answers });
        }
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        text_of(&self.listed, "name")
    }
}

impl Answer {
    /// A result with one text, which may have places for arguments.
    pub fn text(text: &str) -> Result<Self, TemplateError> {
        Template::answer(text_result(text, false)).map(Self::Result)
    }
}

/// The text of this name, or an empty one.
pub fn text_of<'m>(fields: &'m Fields, name: &str) -> &'m str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}
