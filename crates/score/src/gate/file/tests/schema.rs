//! The schema takes what the reader takes, and refuses what no file may hold.

use mcprove_settings::tree::Document;
use serde_json::Value;

use super::super::{EXPECT, parse_yaml, schema};
use crate::agent::METRICS;

fn json(text: &str) -> Option<Value> {
    let document = Document::from_yaml(text, "x").ok()?;
    document.root.to_json().ok()
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

#[test]
fn the_bad_ones_are_refused_where_a_schema_can_tell() {
    let validator = validator();
    for text in [
        "something: {}",
        "stability: 5",
        "loops: { max_repeets: 1 }",
        "loops: { max_repeats: 0 }",
        "narrative: { max_divergence_score: 1.5 }",
        "trajectory: { mode: strickt }",
        "trajectory: { calls: [{ args: any }] }",
        "trajectory: { calls: [{ name: a, args: { exact: 1, subset: 2 } }] }",
        "trajectory_axes: { order: [{ first: a }] }",
        "call_limits: { total: {} }",
        "call_limits: { tools: { a: -1 } }",
        "permissions: { deny: [{ name: a }] }",
        "{}",
        "expect: []",
        "stability: { expect: [] }",
        "permissions: {}",
        "call_limits:",
        "trajectory: { mode: strict }",
        "golden_path: {}",
        "trajectory_axes: {}",
        "expect: [{ target: a }]",
        "expect: [{ target: a, matcher: { llm_judge: x } }]",
        "expect: [{ target: a, matcher: { not: { contain: x } } }]",
    ] {
        assert!(!validator.is_valid(&json(text).unwrap()), "{text}");
        assert!(parse_yaml(text, "x").is_err(), "{text}");
    }
}

/// Values of every kind, each in some key's place.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "7",
    "1000000000",
    "1000000001",
    "31622400000",
    "31622400001",
    "0.5",
    "1.5",
    "true",
    "~",
    "\"\"",
    "x",
    "any",
    "ignore",
    "strict",
    "exact-sequence",
    "subset",
    "[]",
    "[x]",
    "[1]",
    "[{ name: x }]",
    "[{ name: x, server: y, args: ignore }]",
    "[{ tool: x }]",
    "[{ tool: x, args: { p: { exact: 1 } } }]",
    "[{ producer: a, consumer: b }]",
    "[{ first: a, second: b }]",
    "[{}]",
    "{}",
    "{ a: 1 }",
    "{ a: { min: 1 } }",
    "{ min: 1, max: 2 }",
    "{ exact: 1 }",
    "[{ target: passed, matcher: { exact: true } }]",
    "[{ target: passed, matcher: { any-of: [{ exact: 1 }, { not: { one_of: [1] } }] } }]",
];

/// Whatever the reader takes, the schema takes.
#[test]
fn the_schema_is_not_stricter_than_the_reader() {
    let validator = validator();
    let (mut taken, mut refused) = (0, 0);
    let mut check = |text: &str| {
        let Some(value) = json(text) else { return };
        match parse_yaml(text, "x") {
            Ok(_) => {
                taken += 1;
                assert!(validator.is_valid(&value), "{text}");
            }
            Err(_) => refused += usize::from(!validator.is_valid(&value)),
        }
    };
    for value in VALUES {
        check(&format!("expect: {value}\n"));
        for metric in METRICS {
            let block = metric.about().name;
            check(&format!("{block}: {value}\n"));
            let keys = metric.settings();
            for key in keys.iter().map(|key| key.name).chain([EXPECT]) {
                check(&format!("{block}: {{ {key}: {value} }}\n"));
                let (block, key) = (block.replace('_', "-"), key.replace('_', "-"));
                check(&format!("{block}: {{ {key}: {value} }}\n"));
            }
        }
    }
    assert!(taken > 80 && refused > 500, "{taken} {refused}");
}

/// Every description is a sentence without a stop, and every block and key has one.
#[test]
fn everything_is_described() {
    let schema = schema();
    let properties = schema["properties"].as_object().unwrap();
    for (name, block) in properties {
        if block.get("$ref").is_some() {
            continue;
        }
        assert!(
            block["description"]
                .as_str()
                .is_some_and(|text| text.len() > 10),
            "{name}"
        );
        for (key, property) in block["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}.{key}");
        }
    }
}
