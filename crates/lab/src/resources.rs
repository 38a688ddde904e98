//! The resources of the lab: those that its catalogue declares, and a row of numbers to page through.

use serde_json::{Value, json};

use super::behaviour::Lab;
use super::catalogue::{Resource, render, text};

/// Where the numbers are.
const NUMBERS_AT: &str = "lab://numbers/";

/// The resources that are listed.
pub fn listed(lab: &Lab) -> Vec<Value> {
    let numbers: Vec<Value> = (1..=20)
        .map(|number| {
            resource(
                &format!("{NUMBERS_AT}{number}"),
                &format!("number {number}"),
                "A number and its square.",
            )
        })
        .collect();
    // The numbers come after what the lab always has.
    let mut numbers = Some(numbers);
    let catalogues = lab.catalogues.iter();
    catalogues
        .flat_map(|catalogue| {
            let declared = catalogue.resources.iter();
            let declared = declared.map(|known| known.listed.clone());
            declared.chain(numbers.take().unwrap_or_default())
        })
        .collect()
}

/// A resource of JSON as it is listed.
pub fn resource(uri: &str, name: &str, description: &str) -> Value {
    json!({ "uri": uri, "name": name, "description": description, "mimeType": "application/json" })
}

fn templates_of(lab: &Lab) -> impl Iterator<Item = &'static Resource> {
    let catalogues = lab.catalogues.iter();
    catalogues.flat_map(|catalogue| &catalogue.templates)
}

/// The templates that are listed.
pub fn templates(lab: &Lab) -> Vec<Value> {
    let templates = templates_of(lab);
    templates.map(|known| known.listed.clone()).collect()
}

/// What is at a URI.
pub fn read(uri: &str, lab: &Lab) -> Option<Value> {
    let mut declared = lab
        .catalogues
        .iter()
        .flat_map(|catalogue| &catalogue.resources);
    if let Some(known) = declared.find(|known| text(&known.listed, "uri") == uri) {
        let mut contents = json!({ "uri": uri, "mimeType": known.listed["mimeType"] });
        for (name, value) in &known.contents {
            contents[name] = render(value, &serde_json::Map::new());
        }
        return Some(contents);
    }
    if let Some(number) = uri.strip_prefix(NUMBERS_AT) {
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u32 = is_plain.then(|| number.parse().ok())??;
        let square = u64::from(number) * u64::from(number);
        let text = json!({ "number": number, "square": square });
        return Some(contents(uri, &text.to_string()));
    }
    let id = uri
        .strip_prefix("test://template/")?
        .strip_suffix("/data")?;
    let is_one = lab.catalogues.len() > 1 && !id.is_empty() && !id.contains('/');
    let text =
        json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string();
    is_one.then(|| contents(uri, &text))
}

/// JSON at a URI.
pub fn contents(uri: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": "application/json", "text": text })
}

/// What a variable of a template can be.
pub fn values(template: &str, variable: &str, lab: &Lab) -> Option<Vec<String>> {
    let known = templates_of(lab).find(|known| text(&known.listed, "uriTemplate") == template)?;
    serde_json::from_value(known.values.get(variable)?.clone()).ok()
}
