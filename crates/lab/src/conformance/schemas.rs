//! Tools that are there for their schemas.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply, content, text};
use crate::registry::{Entry, object};

/// Much of the vocabulary of JSON Schema 2020-12.
pub const VOCABULARY: Entry = Entry {
    name: "json_schema_2020_12_tool",
    group: "conformance",
    explanation: "Tool with JSON Schema 2020-12 features",
    input: || {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                },
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        })
    },
    output: None,
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { given(call) }),
};

/// An argument that a header repeats.
pub const HEADER: Entry = Entry {
    name: "test_header_parameter",
    group: "conformance",
    explanation: "Has an argument that travels as a header too.",
    input: || {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        object(&json!({ "region": region }), &["region"])
    },
    output: None,
    since: Revision::V2026_07_28,
    answer: |call| Box::pin(async move { given(call) }),
};

fn given(call: Call<'_>) -> Reply {
    content(&[text(&Value::Object(call.arguments()).to_string())])
}
