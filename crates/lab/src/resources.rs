//! The resources of the lab: a text, a picture, and a row of numbers to page through.

use serde_json::{Value, json};

use super::{conformance, media};

/// How many numbers are listed.
const NUMBERS: u64 = 20;
/// Where they are.
const NUMBERS_AT: &str = "lab://numbers/";
/// The template that they fit.
const NUMBERS_TEMPLATE: &str = "lab://numbers/{number}";

const README: &str = "This server fails on purpose. Its tools say how.\n";

/// The resources that are listed.
pub fn listed(with_fixtures: bool) -> Vec<Value> {
    let mut listed = vec![
        resource(
            "lab://readme",
            "readme",
            "What this server is.",
            "text/plain",
        ),
        resource("lab://pixel", "pixel", "A red pixel.", "image/png"),
    ];
    listed.extend((1..=NUMBERS).map(|number| {
        resource(
            &format!("{NUMBERS_AT}{number}"),
            &format!("number {number}"),
            "A number and its square.",
            "application/json",
        )
    }));
    if with_fixtures {
        listed.extend(conformance::resources::listed());
    }
    listed
}

/// A resource as it is listed.
pub fn resource(uri: &str, name: &str, description: &str, kind: &str) -> Value {
    json!({ "uri": uri, "name": name, "description": description, "mimeType": kind })
}

/// The templates that are listed.
pub fn templates(with_fixtures: bool) -> Vec<Value> {
    let mut templates = vec![json!({
        "uriTemplate": NUMBERS_TEMPLATE,
        "name": "number",
        "description": "Any whole number and its square.",
        "mimeType": "application/json",
    })];
    if with_fixtures {
        templates.extend(conformance::resources::templates());
    }
    templates
}

/// What is at a URI.
pub fn read(uri: &str, with_fixtures: bool) -> Option<Value> {
    match uri {
        "lab://readme" => Some(contents(uri, "text/plain", README)),
        "lab://pixel" => {
            Some(json!({ "uri": uri, "mimeType": "image/png", "blob": media::pixel() }))
        }
        _ => {
            let number = uri.strip_prefix(NUMBERS_AT);
            match number.and_then(digits) {
                Some(number) => {
                    let square = u64::from(number) * u64::from(number);
                    let text = json!({ "number": number, "square": square }).to_string();
                    Some(contents(uri, "application/json", &text))
                }
                None if with_fixtures => conformance::resources::read(uri),
                None => None,
            }
        }
    }
}

/// A number that is written in digits alone.
fn digits(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok())?
}

/// A text at a URI.
pub fn contents(uri: &str, kind: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": kind, "text": text })
}

/// What a variable of a template can be.
pub fn values(template: &str, variable: &str, with_fixtures: bool) -> Option<Vec<String>> {
    match (template, variable) {
        (NUMBERS_TEMPLATE, "number") => Some((1..=NUMBERS).map(|n| n.to_string()).collect()),
        _ if with_fixtures => conformance::resources::values(template, variable),
        _ => None,
    }
}
