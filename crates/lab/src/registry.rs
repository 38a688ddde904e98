//! The table of tools: one file under `tools/` or `conformance/`, one line here.

use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use super::call::{Call, Reply};
use super::tools;

/// One tool of the lab.
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// What kind of tool it is: the `tool_group` of the audit.
    pub group: &'static str,
    /// What it does, in one line.
    pub explanation: &'static str,
    /// The JSON Schema of its arguments.
    pub input: fn() -> Value,
    /// The JSON Schema of its `structuredContent`, if there is one.
    pub output: Option<fn() -> Value>,
    /// The first revision that knows what it answers with.
    pub since: Revision,
    /// Answers a call.
    pub(crate) answer: for<'a> fn(Call<'a>) -> BoxFuture<'a, Reply>,
}

/// Every tool, except what only the conformance suite wants. The first one answers without arguments: who
/// tries any tool tries that.
pub const ENTRIES: &[Entry] = &[
    tools::whoami::ENTRY,
    tools::echo::ENTRY,
    tools::headers::ENTRY,
    tools::error::ENTRY,
    tools::slow::ENTRY,
    tools::flaky::ENTRY,
    tools::fail_then_succeed::ENTRY,
    tools::fixed_response::ENTRY,
    tools::sized_response::ENTRY,
    tools::lorem::ENTRY,
    tools::progress::ENTRY,
    tools::long_output::ENTRY,
    tools::chatty::ENTRY,
    tools::announce::ENTRY,
    tools::write::ENTRY,
    tools::count::ENTRY,
    tools::sample::ENTRY,
    tools::elicit::ENTRY,
    tools::roots::ENTRY,
    tools::image::ENTRY,
    tools::audio::ENTRY,
    tools::resource::ENTRY,
];

impl Entry {
    /// The tool as it is listed.
    pub fn listed(&self) -> Value {
        let mut tool = json!({
            "name": self.name,
            "description": self.explanation,
            "inputSchema": (self.input)(),
        });
        if let (Some(output), Some(fields)) = (self.output, tool.as_object_mut()) {
            fields.insert("outputSchema".to_owned(), output());
        }
        tool
    }
}

/// A schema of an object with these properties and no others.
pub(super) fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A schema of an object that always has these properties.
pub(super) fn whole(properties: &Value) -> Value {
    let names: Vec<&str> = properties
        .as_object()
        .into_iter()
        .flat_map(|properties| properties.keys().map(String::as_str))
        .collect();
    object(properties, &names)
}

/// The schema of a tool that takes no arguments.
pub(super) fn nothing() -> Value {
    object(&json!({}), &[])
}
