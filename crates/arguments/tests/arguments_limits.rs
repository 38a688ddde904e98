//! Schemas that cannot be satisfied, and schemas made to exhaust whoever reads them.

#![allow(clippy::unwrap_used)]

use mcprove_arguments::{ArgumentsError, Choice, from_schema};
use serde_json::{Value, json};

#[test]
fn what_cannot_be_made_says_where_and_why() {
    let one = |schema: Value| json!({"properties": {"v": schema}, "required": ["v"]});
    let rows = [
        (json!(false), "the root could not be satisfied"),
        (json!({"type": "string"}), "the root could not be satisfied"),
        (json!(5), "the schema is invalid at the root"),
        (
            one(json!({"type": "strin"})),
            "the schema is invalid at /properties/v/type",
        ),
        (
            one(json!({"$ref": "https://example.com/s.json"})),
            "/v needs the remote schema",
        ),
        (
            one(json!({"$ref": "other.json"})),
            "/v needs the remote schema",
        ),
        (
            one(json!({"not": {"$ref": "https://example.com/s.json"}})),
            "/v needs the remote schema",
        ),
        (
            one(json!({"$ref": "#/$defs/none"})),
            "the schema is invalid",
        ),
        (
            one(json!({"type": "string", "minLength": 1_000_000_000})),
            "/v needs 1000000000 characters, more than the limit of 16384",
        ),
        (
            one(json!({"type": "array", "minItems": 1_000_000_000})),
            "/v needs 1000000000 items, more than the limit",
        ),
        (
            one(json!({"type": "object", "minProperties": 1_000_000_000})),
            "/v needs 1000000000 properties",
        ),
        (
            one(json!({"type": "array", "contains": {}, "minContains": 1e18})),
            "/v needs 1000000000000000000 items",
        ),
        (
            one(json!({"type": "integer", "minimum": 3, "maximum": 2})),
            "/v could not be satisfied",
        ),
        (
            one(json!({"allOf": [{"type": "string"}, {"type": "integer"}]})),
            "/v could not be satisfied",
        ),
        (
            one(json!({"type": "string", "pattern": "^a$", "minLength": 2})),
            "/v could not be satisfied",
        ),
        (one(json!({"not": {}})), "/v could not be satisfied"),
        (
            one(
                json!({"type": "array", "items": {"const": 1}, "uniqueItems": true, "minItems": 2}),
            ),
            "/v/1 could not be satisfied",
        ),
        (
            json!({"required": ["a"], "additionalProperties": false}),
            "/a could not be satisfied: the property is needed, yet the schema forbids it",
        ),
        (
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}),
            "more than the limit of 32",
        ),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}),
            "",
        ),
    ];
    for (schema, expected) in rows {
        let error = from_schema(&schema, &Choice::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{schema}: {error}");
    }
}

/// Definitions that each apply the next one twice.
fn doubling(levels: usize, extra: &Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let mut definition = json!({"allOf": [next, next]});
        for (keyword, value) in extra.as_object().unwrap() {
            definition[keyword] = value.clone();
        }
        definitions.insert(format!("d{level}"), definition);
    }
    definitions.insert(format!("d{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn hostile_schemas_end() {
    let nested_arrays = (0..10).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "array", "minItems": 900, "items": inner}),
    );
    let nested_unevaluated = (0..30).fold(
        json!({}),
        |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}),
    );
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"not": deep});
    }
    let mut chain = doubling(0, &json!({}));
    for level in 0..5_000 {
        chain["$defs"][format!("d{level}")] = json!({"$ref": format!("#/$defs/d{}", level + 1)});
    }
    let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    for schema in [
        doubling(60, &json!({})),
        doubling(60, &json!({"unevaluatedProperties": false})),
        nested_unevaluated,
        deep,
        chain,
        json!({"properties": {"v": nested_arrays}, "required": ["v"]}),
        json!({"required": many(20_000)}),
        json!({"properties": {"v": {"type": "string", "pattern": "^(a|aa)+$(?=b)", "minLength": 9_000}}, "required": ["v"]}),
        json!({"properties": {"v": {"type": "string", "pattern": "^((a{1000}){1000}){1000}$"}}, "required": ["v"]}),
        json!({"properties": {"v": {"type": "array", "uniqueItems": true, "minItems": 1_000,
               "items": {"type": "string", "minLength": 9_000}}}, "required": ["v"]}),
        json!({"anyOf": many(3_000).iter().map(|name| json!({"required": [name], "properties": {name: false}})).collect::<Vec<_>>()}),
        json!({"oneOf": (0..12).map(|_| json!({"oneOf": vec![json!({"not": {}}); 12]})).collect::<Vec<_>>()}),
    ] {
        let result = from_schema(&schema, &Choice::default());
        assert!(result.is_err(), "{result:?}");
    }
    let lists = json!({"properties": {"v": {"enum": (0..30_000).collect::<Vec<_>>(),
        "allOf": [{"enum": (40_000..50_000).collect::<Vec<_>>()}]}}, "required": ["v"]});
    assert!(from_schema(&lists, &Choice::default()).is_err());
    let pattern = |number: usize| json!({"pattern": format!("^{number}[a-z]{{9,{number}00}}$")});
    for count in [400, 2_000] {
        let all: Vec<Value> = (10..count + 10).map(pattern).collect();
        let schema =
            json!({"properties": {"v": {"type": "string", "allOf": all}}, "required": ["v"]});
        assert!(from_schema(&schema, &Choice::default()).is_err());
    }
    let patterns = json!({"required": many(900),
        "patternProperties": {"^a*a*a*a*b$": false, "^(a|a)*$": true}});
    assert!(from_schema(&patterns, &Choice::default()).is_ok());
    let unique = json!({"properties": {"v": {"type": "array", "uniqueItems": true, "minItems": 500,
        "items": {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}}},
        "required": ["v"]});
    assert!(matches!(
        from_schema(&unique, &Choice::default()),
        Ok(_) | Err(ArgumentsError::TooMuchWork { .. })
    ));
}
