//! Whether the answer to `tools/call` is the result that the protocol asks for. An answer in any
//! other form is no answer: a client that trusts the protocol breaks on it.

use super::Revision;
use crate::prelude::*;

/// The kinds of content: the name, its members that are texts, and the first revision that has it.
const CONTENT_KINDS: [(&str, &[&str], Revision); 5] = [
    ("text", &["text"], Revision::V2024_11_05),
    ("image", &["data", "mimeType"], Revision::V2024_11_05),
    ("resource", &[], Revision::V2024_11_05),
    ("audio", &["data", "mimeType"], Revision::V2025_03_26),
    ("resource_link", &["uri", "name"], Revision::V2025_06_18),
];

/// Whether it is a type of content that the protocol has.
pub fn is_content_kind(name: &str) -> bool {
    CONTENT_KINDS.iter().any(|(known, ..)| *known == name)
}

/// What is wrong with a tool's result in any revision, if anything. What a later revision may add
/// is no fault.
pub fn find_fault(result: &Value, has_output_schema: bool) -> Option<Message> {
    let Some(members) = result.as_object() else {
        return Some(sentence!("the result is {}, not an object", kind(result)));
    };
    let fault = match members.get("content") {
        None => Some(sentence!("the result has no `content`")),
        Some(Value::Array(blocks)) => blocks.iter().find_map(find_block_fault),
        Some(other) => Some(sentence!("`content` is {}, not a list", kind(other))),
    };
    if fault.is_some() {
        return fault;
    }
    let is_error = match members.get("isError") {
        None => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(other) => return Some(sentence!("`isError` is {}, not true or false", kind(other))),
    };
    let must_be_structured = has_output_schema && !is_error;
    match members.get("structuredContent") {
        None | Some(Value::Null) if must_be_structured => Some(sentence!(
            "the tool has an output schema, but its result has no `structuredContent`"
        )),
        _ => None,
    }
}

/// What is wrong with a tool's result by the letter of `revision`, if anything. Whether structured
/// content is there and fits is for the tool's own schema to say.
pub fn find_strict_fault(result: &Value, revision: Revision) -> Option<Message> {
    find_fault(result, false).or_else(|| {
        let members = result.as_object()?;
        let mut blocks = members.get("content")?.as_array()?.iter();
        let is_known = |name: &str| {
            CONTENT_KINDS
                .iter()
                .any(|(known, _, since)| *known == name && *since <= revision)
        };
        let foreign = blocks.find_map(|block| {
            let name = block.get("type")?.as_str()?;
            (!is_known(name)).then_some(name)
        });
        if let Some(foreign) = foreign {
            return Some(sentence!(
                "`content` has an item of the type {foreign:?}, which {revision} does not have"
            ));
        }
        // Structured content was an object before it could be anything.
        let must_be_object = (Revision::V2025_06_18..Revision::V2026_07_28).contains(&revision);
        match members.get("structuredContent") {
            Some(content) if must_be_object && !content.is_object() => {
                let kind = kind(content);
                return Some(sentence!("`structuredContent` is {kind}, not an object"));
            }
            _ => {}
        }
        let has_type = members.get("resultType").is_some_and(Value::is_string);
        (revision >= Revision::V2026_07_28 && !has_type)
            .then(|| sentence!("the result has no `resultType`"))
    })
}

fn find_block_fault(block: &Value) -> Option<Message> {
    let Some(name) = block.get("type").and_then(Value::as_str) else {
        return Some(sentence!("`content` has an item without a `type`"));
    };
    let (_, texts, _) = CONTENT_KINDS.iter().find(|(known, ..)| *known == name)?;
    let missing = texts
        .iter()
        .find(|text| !block.get(**text).is_some_and(Value::is_string));
    if let Some(text) = missing {
        return Some(sentence!(
            "`content` has an item of the type {name} without a `{text}`"
        ));
    }
    let has_resource = || {
        let resource = block.get("resource")?;
        let text = |name: &str| resource.get(name)?.as_str();
        text("uri").and(text("text").or_else(|| text("blob")))
    };
    (name == "resource" && has_resource().is_none()).then(|| {
        sentence!("`content` has a resource without a `uri`, or without `text` and `blob`")
    })
}

/// What a value is, in words that fit "is …".
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_of_the_wrong_form_are_found() {
        let cases = [
            (json!([]), "the result is a list, not an object"),
            (json!(5), "the result is a number, not an object"),
            (json!({}), "the result has no `content`"),
            (json!({ "content": "x" }), "`content` is a text, not a list"),
            (
                json!({ "content": [5] }),
                "`content` has an item without a `type`",
            ),
            (
                json!({ "content": [{ "type": "text" }] }),
                "`content` has an item of the type text without a `text`",
            ),
            (
                json!({ "content": [{ "type": "image", "data": "" }] }),
                "`content` has an item of the type image without a `mimeType`",
            ),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "a:b" } }] }),
                "`content` has a resource without a `uri`, or without `text` and `blob`",
            ),
            (
                json!({ "content": [], "isError": "yes" }),
                "`isError` is a text, not true or false",
            ),
        ];
        for (result, fault) in cases {
            let found = find_fault(&result, false).unwrap();
            assert_eq!(found.rendered(), fault);
        }
    }

    #[test]
    fn results_of_the_right_form_pass() {
        for result in [
            json!({ "content": [] }),
            json!({ "content": [{ "type": "text", "text": "" }], "isError": false }),
            json!({ "content": [{ "type": "something new" }], "_meta": {} }),
        ] {
            assert_eq!(find_fault(&result, false), None, "{result}");
        }
    }

    #[test]
    fn an_output_schema_asks_for_structured_content() {
        assert!(find_fault(&json!({ "content": [] }), true).is_some());
        let failed = json!({ "content": [], "isError": true });
        assert_eq!(find_fault(&failed, true), None);
        let structured = json!({ "content": [], "structuredContent": {} });
        assert_eq!(find_fault(&structured, true), None);
    }

    #[test]
    fn strict_is_by_the_letter_of_the_revision() {
        use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
        let of = |block: Value| json!({ "content": [block] });
        let audio = of(json!({ "type": "audio", "data": "", "mimeType": "audio/wav" }));
        let link = of(json!({ "type": "resource_link", "uri": "a:b", "name": "n" }));
        let new = of(json!({ "type": "something new" }));
        let list = json!({ "content": [], "structuredContent": [] });
        let plain = json!({ "content": [] });
        let typed = json!({ "content": [], "structuredContent": [], "resultType": "complete" });
        let foreign = "which 2024-11-05 does not have";
        let cases = [
            (&audio, V2024_11_05, Some(foreign)),
            (&audio, V2025_03_26, None),
            (&link, V2025_03_26, Some("\"resource_link\"")),
            (&link, V2025_06_18, None),
            (&new, V2025_11_25, Some("\"something new\"")),
            (&list, V2025_03_26, None),
            (&list, V2025_06_18, Some("`structuredContent` is a list")),
            (&plain, V2025_11_25, None),
            (&plain, V2026_07_28, Some("no `resultType`")),
            (&typed, V2026_07_28, None),
            (&json!(null), V2025_11_25, Some("the result is null")),
        ];
        for (result, revision, expected) in cases {
            let fault = find_strict_fault(result, revision);
            let fits = match (&fault, expected) {
                (Some(fault), Some(expected)) => fault.rendered().contains(expected),
                (fault, expected) => fault.is_none() && expected.is_none(),
            };
            assert!(fits, "{result} in {revision}: {fault:?}");
        }
    }
}
