//! What is made of schemas and arguments.

use super::*;

#[test]
fn a_schema_is_completed() {
    let empty = json!({ "type": "object", "properties": {} });
    assert_eq!(of_object(&json!({})), empty);
    assert_eq!(of_object(&Value::Null), empty);
    let whole = json!({ "type": "object", "properties": { "q": {} }, "required": ["q"] });
    assert_eq!(of_object(&whole), whole);
    assert_eq!(of_object(&json!("x")), json!("x"));
}

#[test]
fn arguments_are_an_object_or_bad() {
    for (text, expected) in [
        (r#"{"b":1,"a":2}"#, Some(r#"{"b":1,"a":2}"#)),
        ("", Some("{}")),
        (" ", Some("{}")),
        ("null", Some("{}")),
        ("[1]", None),
        ("\"x\"", None),
        (r#"{"a":"#, None),
    ] {
        match (Arguments::of_text(text), expected) {
            (Arguments::Given(json), Some(expected)) => assert_eq!(json.text(), expected),
            (Arguments::Bad { raw, .. }, None) => assert_eq!(raw, text),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }
}
