//! What is no matcher, and why.

use serde_json::json;

use super::{Matcher, error};

#[test]
fn a_schema_that_cannot_be_used_is_an_error() {
    let cases = [
        (
            json!({"type": "strng"}),
            "schema: the JSON Schema is malformed at .type: ",
        ),
        (
            json!({"minimum": "1"}),
            "schema: the JSON Schema is malformed at .minimum: ",
        ),
        (
            json!({"properties": {"a b": 1}}),
            "schema: the JSON Schema is malformed at .properties[\"a b\"]: ",
        ),
        (
            json!({"pattern": "("}),
            "schema: the JSON Schema is malformed",
        ),
        (json!("x"), "schema: a schema is a map, not a text"),
        (json!(null), "schema: a schema is a map, not null"),
        (
            json!({"$ref": "https://example.com/s.json"}),
            "schema: the schema refers to what is not in it, and nothing is fetched: ",
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "schema: the schema refers to what is not in it",
        ),
        (
            json!({"properties": {"a": {"$ref": "other.json"}}}),
            "schema: the schema refers to what is not in it",
        ),
        (
            json!({"$ref": "#/$defs/none"}),
            "schema: the schema refers to what is not in it",
        ),
        (
            json!({"minimun": 1}),
            "schema: JSON Schema has no keyword \"minimun\"; did you mean \"minimum\"?",
        ),
        (
            json!({"city": "Oslo", "unit": "C"}),
            "schema: JSON Schema knows none of `city` and `unit`",
        ),
    ];
    for (schema, message) in cases {
        let error = error(&json!({ "schema": schema }));
        assert!(error.to_string().starts_with(message), "{schema}: {error}");
        assert_eq!(error.place, "schema");
        assert!(!error.hint.rendered().is_empty());
    }
}

#[test]
fn what_is_no_matcher_says_why() {
    let cases = [
        (
            json!("x"),
            "",
            "a matcher is a map with one name, not a text",
        ),
        (
            json!([]),
            "",
            "a matcher is a map with one name, not a list of 0 elements",
        ),
        (json!({}), "", "the matcher is empty"),
        (
            json!({"contains": 1, "exact": 1}),
            "",
            "a matcher has one name, but there are \"contains\" and \"exact\"",
        ),
        (
            json!({"exact": 1, "length_": 1}),
            "",
            "no matcher is called \"length_\"",
        ),
        (
            json!({"contians": 1}),
            "",
            "no matcher is called \"contians\"",
        ),
        (json!({"zzz": 1}), "", "no matcher is called \"zzz\""),
        (
            json!({"starts_with": 1}),
            "starts_with",
            "starts_with: it needs a text, not 1",
        ),
        (
            json!({"one_of": []}),
            "one_of",
            "one_of: it needs a list of values, not []",
        ),
        (
            json!({"one_of": 1}),
            "one_of",
            "one_of: it needs a list of values, not 1",
        ),
        (
            json!({"length": -1}),
            "length",
            "length: it needs a whole number from 0 up, not -1",
        ),
        (
            json!({"length": 1.5}),
            "length",
            "length: it needs a whole number from 0 up, not 1.5",
        ),
        (
            json!({"length": "1"}),
            "length",
            "length: it needs a whole number from 0 up, not \"1\"",
        ),
        (
            json!({"length": {}}),
            "length",
            "length: it has neither `min` nor `max`",
        ),
        (
            json!({"length": {"mim": 1}}),
            "length",
            "length: a length has `min` and `max`, not \"mim\"",
        ),
        (
            json!({"length": {"min": 2, "max": 1}}),
            "length",
            "length: `min` 2 is more than `max` 1",
        ),
        (
            json!({"not": 1}),
            "not",
            "not: a matcher is a map with one name, not a number",
        ),
        (
            json!({"not": {"regex": "("}}),
            "not.regex",
            "not.regex: the pattern is wrong at character 1: unclosed group",
        ),
        (
            json!({"all_of": []}),
            "all_of",
            "all_of: it needs a list of matchers, not []",
        ),
        (
            json!({"any_of": [{"exact": 1}, {"nto": {}}]}),
            "any_of[1]",
            "any_of[1]: no matcher is called \"nto\"",
        ),
    ];
    for (given, place, message) in cases {
        let error = error(&given);
        assert_eq!(error.to_string(), message, "{given}");
        assert_eq!(error.place, place, "{given}");
        assert!(!error.hint.rendered().is_empty(), "{given}");
    }
}

#[test]
fn gates_never_call_a_model() {
    for name in [
        "llm_judge",
        "llm-judge",
        "judge",
        "jury",
        "rubric",
        "semantic",
        "similarity",
        "llm",
        "LLM",
        "llm_rubric",
    ] {
        let error = error(&json!({ name: "is it good?" }));
        assert_eq!(
            error.to_string(),
            format!("{name:?} asks a model, and gates never call a model")
        );
        let inside = Matcher::from_value(&json!({"not": {name: ""}})).unwrap_err();
        assert!(
            inside.to_string().contains("never call a model"),
            "{inside}"
        );
    }
}
