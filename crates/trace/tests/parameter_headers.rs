//! Every rule and every table row of the specification about `x-mcp-header`.

#![allow(clippy::unwrap_used)]

use mcprove_trace::protocol::{ParameterHeaders, encode_header_value};
use proptest::prelude::*;
use serde_json::{Value, json};

fn reason(schema: &Value) -> String {
    let error = ParameterHeaders::from_schema(schema).unwrap_err();
    error.to_string()
}

fn annotated(kind: &Value, name: &Value) -> Value {
    json!({"type": "object", "properties": {"value": {"type": kind, "x-mcp-header": name}}})
}

fn extract(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    ParameterHeaders::from_schema(schema)
        .unwrap()
        .extract(arguments)
}

#[test]
fn encodes_as_the_table_says() {
    let rows = [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        // Beyond the table.
        ("", ""),
        ("two words", "two words"),
        (" led", "=?base64?IGxlZA==?="),
        ("trailed ", "=?base64?dHJhaWxlZCA=?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("=?base64?open", "=?base64?open"),
        ("closed?=", "closed?="),
        ("=?BASE64?eA==?=", "=?BASE64?eA==?="),
    ];
    for (value, expected) in rows {
        assert_eq!(encode_header_value(value), expected, "{value:?}");
    }
}

#[test]
fn the_example_of_the_specification() {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "description": "The region", "x-mcp-header": "Region"},
            "query": {"type": "string", "description": "The SQL query to execute"}
        },
        "required": ["region", "query"]
    });
    let arguments = json!({"region": "us-west1", "query": "SELECT * FROM users"});
    assert_eq!(
        extract(&schema, &arguments),
        [("Mcp-Param-Region".to_owned(), "us-west1".to_owned())]
    );
}

#[test]
fn converts_strings_integers_and_booleans() {
    let rows = [
        ("string", json!("as is"), Some("as is")),
        ("string", json!("世"), Some("=?base64?5LiW?=")),
        ("integer", json!(42), Some("42")),
        ("integer", json!(-7), Some("-7")),
        ("integer", json!(42.0), Some("42")),
        (
            "integer",
            json!(9_007_199_254_740_991_i64),
            Some("9007199254740991"),
        ),
        (
            "integer",
            json!(-9_007_199_254_740_991_i64),
            Some("-9007199254740991"),
        ),
        ("integer", json!(9_007_199_254_740_992_i64), None),
        ("integer", json!(-9_007_199_254_740_992_i64), None),
        ("integer", json!(u64::MAX), None),
        ("integer", json!(1e300), None),
        ("integer", json!(1.5), None),
        ("boolean", json!(true), Some("true")),
        ("boolean", json!(false), Some("false")),
        ("string", json!(null), None),
        ("string", json!(["a"]), None),
        ("string", json!({"a": 1}), None),
    ];
    for (kind, value, expected) in rows {
        let found = extract(
            &annotated(&json!(kind), &json!("V")),
            &json!({"value": value}),
        );
        let expected: Vec<_> = expected
            .map(|text| ("Mcp-Param-V".to_owned(), text.to_owned()))
            .into_iter()
            .collect();
        assert_eq!(found, expected, "{kind} {value}");
    }
}

#[test]
fn omits_what_is_absent() {
    let schema = annotated(&json!("string"), &json!("V"));
    for arguments in [
        json!({}),
        json!({"other": "x"}),
        json!(null),
        json!([]),
        json!("x"),
    ] {
        assert!(extract(&schema, &arguments).is_empty(), "{arguments}");
    }
}

#[test]
fn reads_nested_properties_at_their_exact_path() {
    let schema = json!({"properties": {
        "outer": {"type": "object", "properties": {
            "inner": {"type": "integer", "x-mcp-header": "Inner"}
        }},
        // Properties named like keywords stay properties.
        "items": {"type": "string", "x-mcp-header": "Items"},
        "properties": {"type": "object", "properties": {
            "x-mcp-header": {"type": "boolean", "x-mcp-header": "Flag"}
        }}
    }});
    let arguments = json!({
        "outer": {"inner": 3}, "inner": 4, "items": "i", "properties": {"x-mcp-header": true}
    });
    let expected = [
        ("Mcp-Param-Items", "i"),
        ("Mcp-Param-Inner", "3"),
        ("Mcp-Param-Flag", "true"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(extract(&schema, &arguments), expected);
    assert!(extract(&schema, &json!({"outer": "text"})).is_empty());
}

#[test]
fn refuses_names_that_are_no_token() {
    assert_eq!(
        reason(&annotated(&json!("string"), &json!(""))),
        "/properties/value: x-mcp-header is empty; name the header with at least one character"
    );
    for name in [json!(1), json!(null), json!(true), json!(["A"]), json!({})] {
        let found = reason(&annotated(&json!("string"), &name));
        assert!(found.contains("x-mcp-header is not a string; "), "{name}");
    }
    for name in [
        "My Region",
        "Region:Primary",
        "Région",
        "Region\t1",
        "a\rb",
        "a\nb",
        "a\r\nX: y",
        "a\0",
        "a/b",
        "(a)",
        "a,b",
        "\"a\"",
        "a=b",
        "a@b",
        "[a]",
        "{a}",
        "a;b",
        "a?",
        "<a>",
        "a\\b",
        "\u{7f}",
    ] {
        let found = reason(&annotated(&json!("string"), &json!(name)));
        assert!(found.contains("is not an HTTP token; "), "{name:?}");
    }
    let every_token_character = "!#$%&'*+-.^_`|~09AZaz";
    let schema = annotated(&json!("string"), &json!(every_token_character));
    assert!(ParameterHeaders::from_schema(&schema).is_ok());
}

#[test]
fn refuses_equal_names_whatever_their_case() {
    for second in ["MyField", "myfield", "MYFIELD"] {
        let schema = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "MyField"},
            "b": {"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": second}}}
        }});
        let found = reason(&schema);
        assert!(found.contains("is used twice; "), "{second}: {found}");
    }
}

#[test]
fn refuses_all_but_primitive_types() {
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!("text"),
        json!(["string", "null"]),
        json!(["string"]),
        json!(1),
    ] {
        let found = reason(&annotated(&kind, &json!("V")));
        assert!(found.contains("x-mcp-header on type "), "{kind}");
    }
    let untyped = json!({"properties": {"value": {"x-mcp-header": "V"}}});
    assert_eq!(
        reason(&untyped),
        "/properties/value: x-mcp-header on type none; only string, integer and boolean may have it"
    );
}

#[test]
fn refuses_annotations_off_the_chain_of_properties() {
    let mark = json!({"type": "string", "x-mcp-header": "V"});
    let with_property = json!({"properties": {"p": mark}});
    let rows = [
        json!({"type": "object", "x-mcp-header": "V"}),
        json!({"properties": {"list": {"type": "array", "items": mark}}}),
        json!({"properties": {"list": {"type": "array", "items": [mark]}}}),
        json!({"properties": {"list": {"type": "array", "items": with_property}}}),
        json!({"properties": {"list": {"type": "array", "prefixItems": [mark]}}}),
        json!({"properties": {"list": {"type": "array", "contains": mark}}}),
        json!({"properties": {"list": {"type": "array", "additionalItems": mark}}}),
        json!({"properties": {"list": {"type": "array", "unevaluatedItems": mark}}}),
        json!({"oneOf": [with_property]}),
        json!({"anyOf": [with_property]}),
        json!({"allOf": [with_property]}),
        json!({"not": with_property}),
        json!({"if": with_property}),
        json!({"then": with_property}),
        json!({"else": with_property}),
        json!({"properties": {"p": {"anyOf": [mark]}}}),
        json!({"$defs": {"p": mark}, "properties": {"p": {"$ref": "#/$defs/p"}}}),
        json!({"definitions": {"p": mark}}),
        json!({"$defs": {"deep": with_property}}),
        json!({"additionalProperties": mark}),
        json!({"unevaluatedProperties": mark}),
        json!({"patternProperties": {"^p": mark}}),
        json!({"propertyNames": mark}),
        json!({"dependentSchemas": {"p": with_property}}),
        json!({"dependencies": {"p": with_property}}),
        json!({"components": {"p": mark}}),
    ];
    for schema in rows {
        let found = reason(&schema);
        assert!(found.contains("by `properties` alone"), "{schema}: {found}");
    }
}

#[test]
fn data_that_looks_like_an_annotation_is_none() {
    let mark = json!({"x-mcp-header": "V"});
    for schema in [
        json!({}),
        json!(true),
        json!(null),
        json!({"properties": {"x-mcp-header": {"type": "number"}}}),
        json!({"properties": {"p": {"default": mark, "examples": [mark], "enum": [mark]}}}),
        json!({"properties": {"p": {"const": mark}}}),
    ] {
        let headers = ParameterHeaders::from_schema(&schema).unwrap();
        assert!(headers.is_empty(), "{schema}");
    }
}

#[test]
fn a_deep_schema_does_not_exhaust_the_stack() {
    let mut schema = json!({"type": "string", "x-mcp-header": "Deep"});
    for _ in 0..200 {
        schema = json!({"properties": {"p": schema}});
    }
    assert!(ParameterHeaders::from_schema(&schema).is_ok());
}

proptest! {
    #[test]
    fn an_encoded_value_is_printable_and_decodes_to_itself(value in any::<String>()) {
        use base64::Engine as _;
        let encoded = encode_header_value(&value);
        prop_assert!(encoded.bytes().all(|byte| matches!(byte, 0x20..=0x7e)));
        let inner = encoded.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
        let decoded = match inner {
            Some(inner) => base64::engine::general_purpose::STANDARD.decode(inner).unwrap(),
            None => encoded.clone().into_bytes(),
        };
        prop_assert_eq!(decoded, value.into_bytes());
    }
}
