//! Arguments for schemas that nobody wrote: grown from a grammar, or from any JSON at all.

#![allow(clippy::unwrap_used)]

use mcprove_arguments::{ArgumentsError, Choice, from_schema};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap()
}

/// Schemas for one value that can all be satisfied.
fn satisfiable() -> impl Strategy<Value = Value> {
    let text = (0_u32..20, 0_u32..20).prop_map(
        |(least, more)| json!({"type": "string", "minLength": least, "maxLength": least + more}),
    );
    let integer = (any::<i32>(), 0_i64..100, any::<bool>()).prop_map(|(low, more, exclusive)| {
        let low = i64::from(low);
        if exclusive {
            json!({"type": "integer", "exclusiveMinimum": low, "exclusiveMaximum": low + more + 2})
        } else {
            json!({"type": "integer", "minimum": low, "maximum": low + more})
        }
    });
    let multiple = (1_i64..50, any::<i16>())
        .prop_map(|(of, low)| json!({"type": "integer", "multipleOf": of, "minimum": low}));
    let number = (-1e6..1e6, 0.001..10.0_f64)
        .prop_map(|(low, more)| json!({"type": "number", "minimum": low, "maximum": low + more}));
    let listed = vec(any::<i8>(), 1..5).prop_map(|values| json!({"enum": values}));
    let constant = any::<bool>().prop_map(|value| json!({"const": value}));
    let format = select(vec![
        "email",
        "uri",
        "date",
        "time",
        "date-time",
        "duration",
        "uuid",
        "ipv4",
        "ipv6",
        "hostname",
    ])
    .prop_map(|format| json!({"type": "string", "format": format}));
    let pattern = select(vec![
        r"^\d+$",
        "^[a-f0-9]{4,8}$",
        r"^\w+\s\w+$",
        "^(yes|no)$",
        "a.c",
        r"^[^\d]{2}$",
        "^x?y*z+$",
    ])
    .prop_map(|pattern| json!({"type": "string", "pattern": pattern}));
    let reference =
        select(vec!["#/$defs/name", "#/$defs/tree"]).prop_map(|target| json!({"$ref": target}));
    let simple = select(vec![
        json!({}),
        json!(true),
        json!({"type": "null"}),
        json!({"type": "boolean"}),
        json!({"type": ["string", "null"]}),
        json!({"type": "string", "not": {"const": "text"}}),
        json!({"type": "integer", "default": "wrong"}),
    ]);
    let leaf = prop_oneof![
        text, integer, multiple, number, listed, constant, format, pattern, reference, simple
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            (inner.clone(), 0_u32..4)
                .prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least})),
            vec(inner.clone(), 1..4).prop_map(|first| {
                json!({"type": "array", "prefixItems": first, "minItems": first.len()})
            }),
            inner.clone().prop_map(|schema| json!({"type": "array", "contains": schema})),
            (0_u32..6).prop_map(|least| {
                json!({"type": "array", "uniqueItems": true, "minItems": least,
                       "items": {"type": "object", "required": ["id"],
                                 "properties": {"id": {"type": "integer"}}}})
            }),
            object(inner.clone()),
            vec(inner.clone(), 1..4).prop_map(|branches| json!({"anyOf": branches})),
            inner.clone().prop_map(|schema| json!({"anyOf": [schema, {"type": "null"}]})),
            inner.clone().prop_map(|schema| json!({"oneOf": [false, schema]})),
            inner.clone().prop_map(|schema| json!({"allOf": [schema, true]})),
            (inner.clone(), inner).prop_map(|(yes, no)| {
                json!({"properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"], "type": "object",
                       "if": {"properties": {"kind": {"const": "a"}}},
                       "then": {"properties": {"yes": yes}, "required": ["yes"]},
                       "else": {"properties": {"no": no}, "required": ["no"]}})
            }),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (vec((inner, any::<bool>()), 0..5), any::<bool>(), 0_usize..3).prop_map(
        |(schemas, closed, more)| {
            let mut properties = Map::new();
            let mut required = Vec::new();
            for (index, (schema, needed)) in schemas.into_iter().enumerate() {
                let name = format!("p{index}/~{index}");
                if needed {
                    required.push(name.clone());
                }
                properties.insert(name, schema);
            }
            let least = if closed {
                properties.len().min(more)
            } else {
                more
            };
            json!({"type": "object", "properties": properties, "required": required,
                   "additionalProperties": !closed, "minProperties": least})
        },
    )
}

/// Any JSON, with keys and texts that schemas are made of.
fn any_json() -> impl Strategy<Value = Value> {
    let words = select(vec![
        "type",
        "properties",
        "required",
        "items",
        "prefixItems",
        "additionalProperties",
        "enum",
        "const",
        "$ref",
        "$defs",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "uniqueItems",
        "contains",
        "minContains",
        "minProperties",
        "propertyNames",
        "patternProperties",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
        "default",
        "examples",
        "$id",
        "$anchor",
        "$schema",
        "a",
        "b",
        "dependencies",
        "$dynamicRef",
        "additionalItems",
    ]);
    let texts = prop_oneof![
        select(vec![
            "object",
            "string",
            "array",
            "integer",
            "number",
            "null",
            "boolean",
            "#",
            "#/$defs/a",
            "#/properties/a",
            "#a",
            "https://example.com/x",
            "(a|b)*c{2,}",
            "[",
            "email",
            "a",
            "b",
            "http://json-schema.org/draft-04/schema#",
            "http://json-schema.org/draft-07/schema#",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u8..5).prop_map(Value::from),
        texts.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 80, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((words.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(
                    members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

fn any_choice() -> impl Strategy<Value = Choice> {
    (any::<bool>(), 0_u64..4).prop_map(|(with_token, seed)| Choice {
        token: with_token.then(|| "tok-7".to_owned()),
        seed,
        ..Choice::default()
    })
}

proptest! {
    // A fixed seed: the search is bounded, so a rare schema may be beyond it.
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(2026),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_can_be_satisfied_is(mut schema in object(satisfiable()), choice in any_choice()) {
        schema["$defs"] = json!({
            "name": {"type": "string", "minLength": 2},
            "tree": {"type": "object", "required": ["left", "rest"], "properties": {
                "left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
                "rest": {"type": "array", "items": {"$ref": "#/$defs/tree"}}
            }}
        });
        let value = from_schema(&schema, &choice)
            .map_err(|error| TestCaseError::fail(format!("{schema}: {error}")))?;
        prop_assert!(value.is_object());
        prop_assert!(validator(&schema).is_valid(&value), "{schema}: {value}");
        prop_assert_eq!(Ok(value), from_schema(&schema, &choice));
    }

    #[test]
    fn no_json_makes_it_panic(schema in any_json(), choice in any_choice()) {
        match from_schema(&schema, &choice) {
            Ok(value) => prop_assert!(value.is_object()),
            Err(ArgumentsError::TooMuchWork { .. }) => {}
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn no_property_makes_it_panic(schema in any_json(), choice in any_choice()) {
        let schema = json!({"type": "object", "properties": {"a": schema}, "required": ["a"]});
        if let Ok(value) = from_schema(&schema, &choice) {
            prop_assert!(value.get("a").is_some());
        }
    }
}
