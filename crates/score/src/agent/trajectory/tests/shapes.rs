use super::*;
use serde_json::Value;

fn fits(shape: &Value, args: &Value) -> bool {
    let recorded = ToolCall {
        name: "a".into(),
        args: args.into(),
        ..ToolCall::default()
    };
    let shape = ArgumentShape::from_value(shape).unwrap();
    let verdicts = [
        Mode::Strict,
        Mode::Subsequence,
        Mode::Unordered,
        Mode::Superset,
        Mode::Subset,
    ]
    .map(|mode| {
        let block = TrajectoryBlock {
            mode,
            calls: vec![ExpectedCall {
                name: "a".into(),
                server: None,
                args: shape.clone(),
            }],
        };
        let report = validate_trace(&block, std::slice::from_ref(&recorded)).unwrap();
        report.passed
    });
    assert!(
        verdicts.iter().all(|verdict| *verdict == verdicts[0]),
        "one call fits or not, whatever the mode: {verdicts:?}"
    );
    verdicts[0]
}

#[test]
fn every_shape() {
    let args = json!({ "city": "Sacramento", "days": 3, "tags": ["a", "b"] });
    let cases = [
        (json!("any"), true),
        (json!("ignore"), true),
        (json!({ "exact": args }), true),
        (
            json!({ "exact": { "tags": ["a", "b"], "days": 3.0, "city": "Sacramento" } }),
            true,
        ),
        (json!({ "exact": { "city": "Sacramento" } }), false),
        (
            json!({ "exact": { "city": "Sacramento", "days": 3, "tags": ["b", "a"] } }),
            false,
        ),
        (json!({ "subset": { "city": "Sacramento" } }), true),
        (json!({ "subset": {} }), true),
        (json!({ "subset": { "tags": ["b"] } }), true),
        (json!({ "subset": { "tags": ["b", "b"] } }), false),
        (json!({ "subset": { "city": "Paris" } }), false),
        (json!({ "subset": { "town": "Sacramento" } }), false),
        (json!({ "schema": { "required": ["city"] } }), true),
        (
            json!({ "schema": { "properties": { "days": { "maximum": 2 } } } }),
            false,
        ),
        (json!({ "schema": true }), true),
        (json!({ "schema": false }), false),
        (json!({ "one_of": [{ "city": "Paris" }, args] }), true),
        (
            json!({ "one_of": [{ "city": "Paris" }, { "city": "Rome" }] }),
            false,
        ),
        (
            json!({ "one-of": [{ "exact": 1 }, { "subset": { "days": 3 } }] }),
            true,
        ),
        (json!({ "one_of": ["any"] }), true),
        (
            json!({ "one_of": [{ "one_of": [1, { "schema": { "type": "object" } }] }] }),
            true,
        ),
    ];
    for (shape, expected) in cases {
        assert_eq!(fits(&shape, &args), expected, "{shape}");
    }
}

#[test]
fn a_call_without_arguments_has_empty_ones() {
    for (shape, expected) in [
        (json!("any"), true),
        (json!("ignore"), true),
        (json!({ "exact": {} }), true),
        (json!({ "exact": null }), false),
        (json!({ "subset": {} }), true),
        (json!({ "schema": { "type": "object" } }), true),
        (json!({ "exact": { "a": 1 } }), false),
        (json!({ "subset": { "a": 1 } }), false),
        (
            json!({ "schema": { "required": ["a"], "type": "object" } }),
            false,
        ),
        (json!({ "one_of": [{ "a": 1 }, {}] }), true),
    ] {
        assert_eq!(fits(&shape, &json!({})), expected, "{shape}");
    }
}

#[test]
fn reading() {
    for (value, shape) in [
        (json!("any"), ArgumentShape::Any),
        (json!("ignore"), ArgumentShape::Ignore),
        (
            json!({ "exact": "any" }),
            ArgumentShape::Exact(json!("any")),
        ),
        (
            json!({ "one_of": ["any", "x", 1, { "a": 1 }, { "exact": 2, "b": 3 }, { "exact": 4 }] }),
            ArgumentShape::OneOf(vec![
                ArgumentShape::Any,
                ArgumentShape::Exact(json!("x")),
                ArgumentShape::Exact(json!(1)),
                ArgumentShape::Exact(json!({ "a": 1 })),
                ArgumentShape::Exact(json!({ "exact": 2, "b": 3 })),
                ArgumentShape::Exact(json!(4)),
            ]),
        ),
    ] {
        let read = ArgumentShape::from_value(&value).unwrap();
        assert_eq!(read, shape, "{value}");
        assert_eq!(ArgumentShape::from_value(&read.to_value()), Ok(read));
    }
}

#[test]
fn what_is_no_shape_is_refused() {
    for (value, message) in [
        (
            json!("anything"),
            "no shape of arguments is called \"anything\"",
        ),
        (json!("ani"), "did you mean \"any\"?"),
        (json!({ "exat": 1 }), "did you mean \"exact\"?"),
        (
            json!({ "city": "x" }),
            "no shape of arguments is called \"city\"",
        ),
        (json!({ "exact": 1, "subset": 2 }), "exactly one key"),
        (json!({}), "exactly one key"),
        (json!({ "any": 1 }), "as a text"),
        (json!({ "one_of": 1 }), "needs a list"),
        (json!({ "one_of": [] }), "no alternatives"),
        (json!({ "one_of": [{ "one_of": [] }] }), "no alternatives"),
        (json!(null), "write any"),
        (json!(5), "write any"),
        (json!([1]), "write any"),
    ] {
        let error = ArgumentShape::from_value(&value).unwrap_err();
        assert!(error.contains(message), "{value}: {error}");
    }
}

#[test]
fn what_cannot_be_compared_with_is_an_error_for_any_trace() {
    let malformed = json!({ "type": 5 });
    for shape in [
        ArgumentShape::Schema(malformed.clone()),
        ArgumentShape::Schema(json!("object")),
        ArgumentShape::Schema(json!({ "$ref": "https://example.com/other.json" })),
        ArgumentShape::OneOf(vec![ArgumentShape::Any, ArgumentShape::Schema(malformed)]),
        ArgumentShape::OneOf(Vec::new()),
    ] {
        let mut block = block(Mode::Strict, "a b");
        block.calls[1].args = shape.clone();
        for mode in [
            Mode::Strict,
            Mode::Subsequence,
            Mode::Unordered,
            Mode::Subset,
        ] {
            block.mode = mode;
            for recorded in ["", "a", "a b"] {
                let error = validate_trace(&block, &calls(recorded)).unwrap_err();
                let is_second = matches!(&error, TrajectoryError::Malformed { expected_index: 1, name, .. } if name == "b");
                assert!(is_second, "{shape:?} {error}");
                assert!(!error.hint().is_empty());
            }
        }
    }
}

#[test]
fn differences_have_places() {
    let block = TrajectoryBlock {
        calls: vec![ExpectedCall {
            name: "a".into(),
            server: None,
            args: ArgumentShape::OneOf(vec![
                ArgumentShape::Exact(json!({ "n": 1 })),
                ArgumentShape::Subset(json!({ "m": 2 })),
            ]),
        }],
        ..TrajectoryBlock::default()
    };
    let report = validate_trace(&block, &calls("a3")).unwrap();
    let mismatch = &report.mismatches[0];
    let places: Vec<(&str, &Value, &Value)> = mismatch
        .diffs
        .iter()
        .map(|diff| (diff.path.as_str(), &diff.expected, &diff.actual))
        .collect();
    assert_eq!(
        places,
        [
            ("args.n", &json!(1), &json!(3)),
            ("args.m", &json!(2), &json!(null))
        ]
    );
    assert_eq!(
        mismatch.reason,
        "call 0 is not the expected `a`: its arguments fit none of 2 alternatives: at .n: expected 1, got 3"
    );
    let report = validate_trace(&block, &calls("b")).unwrap();
    let diff = &report.mismatches[0].diffs[0];
    assert_eq!((diff.path.as_str(), &diff.actual), ("name", &json!("b")));
    let written = serde_json::to_string(&report).unwrap();
    assert_eq!(
        serde_json::from_str::<TrajectoryReport>(&written).unwrap(),
        report
    );
}
