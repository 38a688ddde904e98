//! What a model is shown of the result of a tool.
//!
//! Texts go to it as they are, pictures where its provider takes them; of everything else it is told that
//! it is there. One result has a limit, and what is cut off is told too.

use crate::prelude::*;

/// The longest text of one result that a model is shown.
pub const TEXT_CHARACTERS_MAX: usize = 200_000;
/// The largest picture that a model is shown, in Base64: what providers take.
const PICTURE_BYTES_MAX: usize = 5 * 1024 * 1024;
/// The pictures that providers take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A part of what a model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelContent {
    Text(String),
    Picture {
        /// Its type: `image/png`.
        media_type: String,
        /// Its content, in Base64.
        data: String,
    },
}

/// The parts of a result, or of a JSON-RPC error (`{"error": …}`).
pub fn shown(result: &Value) -> Vec<ModelContent> {
    let mut room = TEXT_CHARACTERS_MAX;
    let mut parts = Vec::new();
    for part in parts_of(result) {
        match part {
            ModelContent::Text(text) if text.is_empty() => {}
            ModelContent::Text(text) => {
                let count = text.chars().count();
                if count > room {
                    let kept = shorten(&text, room);
                    let cut = format!("{kept}\n[cut: {room} of {count} characters]");
                    parts.push(ModelContent::Text(cut));
                    return parts;
                }
                room -= count;
                parts.push(ModelContent::Text(text));
            }
            picture @ ModelContent::Picture { .. } => parts.push(picture),
        }
    }
    parts
}

fn parts_of(result: &Value) -> Vec<ModelContent> {
    if let Some(error) = result.get("error") {
        return vec![ModelContent::Text(error_text(error))];
    }
    let content = result.get("content").and_then(Value::as_array);
    let parts: Vec<ModelContent> = content.into_iter().flatten().map(part).collect();
    // A tool may say all it has to say in data.
    match result.get("structuredContent") {
        Some(structured) if parts.is_empty() => vec![ModelContent::Text(structured.to_string())],
        _ => parts,
    }
}

fn error_text(error: &Value) -> String {
    let message = error.get("message").and_then(Value::as_str);
    let text = match (error.get("code"), message) {
        (Some(code), Some(message)) => format!("MCP error {code}: {message}"),
        (None, Some(message)) => message.to_owned(),
        _ => error.to_string(),
    };
    match error.get("data") {
        Some(data) => format!("{text} ({data})"),
        None => text,
    }
}

fn part(block: &Value) -> ModelContent {
    let text = |key: &str| block[key].as_str();
    let media_type = text("mimeType");
    let shown = match (text("type"), text("data")) {
        (Some("image"), data) => match (media_type, data) {
            (Some(media_type), Some(data))
                if PICTURES.contains(&media_type) && data.len() <= PICTURE_BYTES_MAX =>
            {
                return ModelContent::Picture {
                    media_type: media_type.to_owned(),
                    data: data.to_owned(),
                };
            }
            _ => left_out("image", media_type, data),
        },
        (Some("audio"), data) => left_out("audio", media_type, data),
        (Some("text"), _) => text("text").unwrap_or_default().to_owned(),
        (Some("resource"), _) => {
            let text = |key: &str| block["resource"][key].as_str();
            let name = text("uri").unwrap_or("resource");
            let left_out = || left_out(name, text("mimeType"), text("blob"));
            text("text").map_or_else(left_out, str::to_owned)
        }
        (Some("resource_link"), _) => {
            let (name, uri) = (text("name").unwrap_or("resource"), text("uri"));
            format!("[{name}: {}]", uri.unwrap_or_default())
        }
        _ => block.to_string(),
    };
    ModelContent::Text(shown)
}

/// That something is there.
fn left_out(what: &str, media_type: Option<&str>, data: Option<&str>) -> String {
    let media_type = media_type.unwrap_or("unknown type");
    let bytes = data.unwrap_or_default().len();
    format!("[{what}, {media_type}, {bytes} bytes of Base64, not shown]")
}

/// The texts alone, for providers whose results are texts; of a picture it is told that it is there.
pub fn as_text(parts: &[ModelContent]) -> String {
    let texts = parts.iter().map(|part| match part {
        ModelContent::Text(text) => text.clone(),
        ModelContent::Picture { media_type, data } => {
            left_out("image", Some(media_type), Some(data))
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(result: &Value) -> String {
        as_text(&shown(result))
    }

    #[test]
    fn every_kind_of_content_is_shown_or_told_of() {
        let result = json!({ "content": [
            { "type": "text", "text": "found" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "image", "mimeType": "image/tiff", "data": "AAAA" },
            { "type": "audio", "mimeType": "audio/wav", "data": "AA" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": "AAAA" } },
            { "type": "resource_link", "name": "log", "uri": "file:///log" },
        ] });
        assert!(matches!(&shown(&result)[1], ModelContent::Picture { .. }));
        let text = text(&result);
        for expected in [
            "found\n",
            "[image, image/png, 4 bytes of Base64, not shown]",
            "[image, image/tiff,",
            "[audio, audio/wav, 2",
            "inside",
            "[file:///b, unknown type, 4",
            "[log: file:///log]",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn errors_and_data_are_shown() {
        let error = json!({ "error": { "code": -32602, "message": "no", "data": { "a": 1 } } });
        assert_eq!(text(&error), r#"MCP error -32602: no ({"a":1})"#);
        let data = json!({ "content": [], "structuredContent": { "n": 1 } });
        assert_eq!(text(&data), r#"{"n":1}"#);
        assert_eq!(shown(&json!({ "content": [] })), []);
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let long = "é".repeat(TEXT_CHARACTERS_MAX + 5);
        let text = text(&json!({ "content": [{ "type": "text", "text": long }] }));
        assert!(text.ends_with("[cut: 200000 of 200005 characters]"));
    }
}
