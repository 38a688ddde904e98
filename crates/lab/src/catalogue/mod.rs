//! What the lab has to offer: its tools, prompts and resources, as `catalogue/lab.json` declares them, and what only the
//! official conformance suite names, in `catalogue/conformance.json`.
//!
//! Texts in these files may have places for arguments and answers, as the files of the mock do: `${args.name}`.

use std::sync::LazyLock;

use mcprove_servers::mock::Template;

use crate::prelude::*;

/// What the lab always has. The first tool answers without arguments: who tries any tool tries that.
pub static LAB: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::parse(include_str!("lab.json")));

/// What only the conformance suite wants.
pub static CONFORMANCE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::parse(include_str!("conformance.json")));

/// What one file declares.
#[derive(Deserialize)]
pub struct Catalogue {
    /// A picture and a sound in Base64, the smallest there are, for any place that names them.
    #[serde(default)]
    media: Fields,
    pub tools: Vec<LabTool>,
    pub prompts: Vec<Prompt>,
    pub resources: Vec<Resource>,
    pub templates: Vec<Resource>,
}

#[derive(Debug, Deserialize)]
pub struct LabTool {
    /// What kind of tool it is: the `tool_group` of the audit.
    pub group: String,
    /// The tool as it is listed.
    pub tool: Value,
    /// The first revision that knows what it answers with.
    #[serde(default = "first_revision")]
    pub since: Revision,
    /// What it always answers with.
    pub result: Option<Value>,
    /// What it asks the client.
    #[serde(default)]
    pub asks: Vec<Question>,
    /// What it says when it has the answers.
    #[serde(default)]
    pub says: String,
    /// Whether it gives out state with its questions.
    #[serde(default)]
    pub state: bool,
}

/// A prompt, or what is in its messages.
#[derive(Deserialize)]
pub struct Prompt {
    pub listed: Value,
    /// What the user says in each message.
    pub messages: Vec<Value>,
    /// What arguments are that are not given.
    #[serde(default)]
    pub defaults: Fields,
    /// What it asks the client, in the stateless era.
    #[serde(default)]
    pub asks: Vec<Question>,
    /// What each argument can be.
    #[serde(default)]
    pub values: HashMap<String, Vec<String>>,
}

/// A resource, or a template of such.
#[derive(Deserialize)]
pub struct Resource {
    pub listed: Value,
    /// A `text` or a `blob`.
    #[serde(default)]
    pub contents: Fields,
    /// What each variable of a template can be.
    #[serde(default)]
    pub values: HashMap<String, Vec<String>>,
}

const fn first_revision() -> Revision {
    Revision::V2024_11_05
}

impl Catalogue {
    fn parse(text: &str) -> Self {
        serde_json::from_str(text).expect("our own file")
    }
}

impl LabTool {
    pub fn name(&self) -> &str {
        text(&self.tool, "name")
    }

    /// What it does, in one line.
    pub fn explanation(&self) -> &str {
        text(&self.tool, "description")
    }

    /// The JSON Schema of its arguments.
    pub fn input(&self) -> &Value {
        &self.tool["inputSchema"]
    }
}

pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A value with these arguments and the media in their places.
pub fn render(value: &Value, arguments: &Fields) -> Value {
    let mut all = LAB.media.clone();
    all.extend(arguments.clone());
    let template = Template::parse(value.clone()).ok();
    template
        .and_then(|template| template.render(&all))
        .unwrap_or_default()
}
