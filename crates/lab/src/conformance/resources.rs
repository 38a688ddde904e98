//! The resources that the suite names.

use serde_json::{Value, json};

use crate::media;
use crate::resources::{contents, resource};

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
/// The resource that clients subscribe to.
const WATCHED: &str = "test://watched-resource";
const TEMPLATE: &str = "test://template/{id}/data";

/// As they are listed.
pub fn listed() -> Vec<Value> {
    vec![
        resource(TEXT, "static text", "A text.", "text/plain"),
        resource(BINARY, "static binary", "A picture.", "image/png"),
        resource(
            WATCHED,
            "watched",
            "Something to subscribe to.",
            "text/plain",
        ),
    ]
}

/// The template.
pub fn templates() -> Vec<Value> {
    vec![json!({
        "uriTemplate": TEMPLATE,
        "name": "template",
        "description": "Data with an id.",
        "mimeType": "application/json",
    })]
}

/// What is at a URI.
pub fn read(uri: &str) -> Option<Value> {
    match uri {
        TEXT => {
            let text = "This is the content of the static text resource.";
            Some(contents(uri, "text/plain", text))
        }
        BINARY => Some(json!({ "uri": uri, "mimeType": "image/png", "blob": media::pixel() })),
        WATCHED => Some(contents(uri, "text/plain", "Nothing happens here.")),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let text = json!({
                "id": id,
                "templateTest": true,
                "data": format!("Data for ID: {id}"),
            });
            let is_one = !id.is_empty() && !id.contains('/');
            is_one.then(|| contents(uri, "application/json", &text.to_string()))
        }
    }
}

/// What a variable of the template can be.
pub fn values(template: &str, variable: &str) -> Option<Vec<String>> {
    let ids = || ["1", "12", "123"].map(str::to_owned).to_vec();
    ((template, variable) == (TEMPLATE, "id")).then(ids)
}
