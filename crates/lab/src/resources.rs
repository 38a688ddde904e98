//! The resources of the lab: those that its catalogue declares, a row of numbers to page through, and the audit where
//! there is no file to look into: `lab://audit`.

use super::catalogue::text;
use crate::prelude::*;

/// Where the numbers are.
const NUMBERS_AT: &str = "lab://numbers/";

/// The resources that are listed.
pub fn listed(lab: &Lab) -> Vec<Value> {
    let number = |number: u32| {
        let (uri, name) = (format!("{NUMBERS_AT}{number}"), format!("number {number}"));
        resource(&uri, &name, "A number and its square.")
    };
    let mut listed = Vec::new();
    for (place, catalogue) in lab.catalogues.iter().enumerate() {
        listed.extend(catalogue.resources.iter().map(|known| known.listed.clone()));
        if place == 0 {
            // The numbers come after what the lab always has.
            listed.extend((1..=20).map(number));
        }
    }
    if lab.own_audit().is_some() {
        let text = "The latest requests and their outcomes, the newest first.";
        listed.push(resource(AUDIT_URI, "audit", text));
    }
    listed
}

/// A resource of JSON as it is listed.
fn resource(uri: &str, name: &str, description: &str) -> Value {
    json!({ "uri": uri, "name": name, "description": description, "mimeType": "application/json" })
}

/// The templates that are listed.
pub fn templates(lab: &Lab) -> Vec<Value> {
    lab.declared(|catalogue| &catalogue.templates)
        .map(|known| known.listed.clone())
        .collect()
}

/// What is at a URI, except the audit.
fn read(uri: &str, lab: &Lab) -> Option<Value> {
    let mut declared = lab.declared(|catalogue| &catalogue.resources);
    if let Some(known) = declared.find(|known| text(&known.listed, "uri") == uri) {
        let mut contents = json!({ "uri": uri, "mimeType": known.listed["mimeType"] });
        for (name, value) in &known.contents {
            contents[name] = render(value, &Map::new());
        }
        return Some(contents);
    }
    if let Some(number) = uri.strip_prefix(NUMBERS_AT) {
        let number: u32 = number
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| number.parse().ok())??;
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
fn contents(uri: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": "application/json", "text": text })
}

/// What a variable of a template can be.
pub fn values(template: &str, variable: &str, lab: &Lab) -> Option<Vec<String>> {
    let mut templates = lab.declared(|catalogue| &catalogue.templates);
    templates
        .find(|known| text(&known.listed, "uriTemplate") == template)?
        .values
        .get(variable)
        .cloned()
}

/// Where the audit is.
pub const AUDIT_URI: &str = "lab://audit";
/// The most rows that are shown.
const ROWS_MAX: usize = 100;
/// About how long the rows may be in all.
const BYTES_MAX: usize = 1 << 20;

/// Whether there is a resource at a URI.
pub fn exists(uri: &str, lab: &Lab) -> bool {
    uri == AUDIT_URI && lab.own_audit().is_some() || read(uri, lab).is_some()
}

/// What is at a URI, for whoever asks. Of the audit, what was asked so far as far as this caller is concerned: with API
/// keys everybody sees their own.
pub async fn read_for(exchange: &Exchange, uri: &str, lab: &Lab) -> Option<Value> {
    let Some(store) = lab.own_audit().filter(|_| uri == AUDIT_URI).cloned() else {
        return read(uri, lab);
    };
    let user = exchange.caller().user().map(str::to_owned);
    // SQLite waits where it has to.
    let read = tokio::task::spawn_blocking(move || latest(&store, user.as_deref()));
    let list = AuditList {
        schema: AUDIT_FORMAT,
        rows: read.await.ok()?.ok()?,
    };
    let text = serde_json::to_string(&list).ok()?;
    Some(contents(AUDIT_URI, &text))
}

fn latest(store: &AuditStore, user: Option<&str>) -> AuditResult<Vec<AuditRow>> {
    store.flush();
    let reader = store.reader()?;
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for row in reader.rows(Filter::default()) {
        let mut row = row?;
        if user.is_some() && row.user.as_deref() != user {
            continue;
        }
        if shows_audit(&row) {
            // The audit within the audit would soon be all of it.
            row.response = None;
            row.response_cut = true;
        }
        bytes += row.bytes();
        if shown.len() == ROWS_MAX || bytes > BYTES_MAX && !shown.is_empty() {
            break;
        }
        shown.push(row);
    }
    Ok(shown)
}

/// Whether the answer of a row holds rows itself.
fn shows_audit(row: &AuditRow) -> bool {
    let has =
        |text: &Option<String>, part: &str| text.as_ref().is_some_and(|text| text.contains(part));
    has(&row.parameters, AUDIT_URI) && has(&row.response, AUDIT_FORMAT)
}
