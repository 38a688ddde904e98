//! What matchers say of themselves and of what does not match.

use serde_json::json;

use super::{Matcher, difference, matcher};

#[test]
fn differences_say_where() {
    let found = difference(
        &json!({"exact": {"a": {"b": [1, 2]}, "c": 1, "d": 1, "e": 1}}),
        &json!({"a": {"b": [1, 3, 4]}, "x y": 5}),
    );
    assert_eq!(found.path, ".a.b[1]");
    assert_eq!((found.expected, found.actual), (json!(2), json!(3)));
    assert_eq!(
        found.message,
        "at .a.b[1]: expected 2, got 3; at .a.b[2]: expected nothing, got 4; \
         at .c: expected 1, but it is missing; and more"
    );

    let found = difference(&json!({"exact": "a"}), &json!("b"));
    assert_eq!(
        (found.path.as_str(), found.message.rendered().as_str()),
        ("", "expected \"a\", got \"b\"")
    );

    let found = difference(
        &json!({"subset": {"city": "Oslo", "n": [1, 1], "unit": "C"}}),
        &json!({"city": "Paris", "n": [1]}),
    );
    assert_eq!(found.path, ".city");
    assert_eq!(
        found.message,
        "at .city: expected a text that contains \"Oslo\", got \"Paris\"; \
         at .n: expected another element that is 1, got [1]; \
         at .unit: expected \"C\", but it is missing"
    );
    let found = difference(&json!({"contains": "x"}), &json!(["a", "b"]));
    assert_eq!(
        found.message,
        "expected an element that contains \"x\", got [\"a\",\"b\"]"
    );

    let found = difference(
        &json!({"schema": {"properties": {"n": {"minimum": 1}, "s": {"type": "string"}}, "required": ["q"]}}),
        &json!({"n": 0, "s": 5}),
    );
    let message = &found.message;
    assert!(
        message
            .rendered()
            .contains("at .n: expected at least 1, got 0"),
        "{message:?}"
    );
    assert!(
        message.rendered().contains("at .s: expected a text, got 5"),
        "{message:?}"
    );
    assert!(
        message
            .rendered()
            .contains("expected a map with `q`, got {"),
        "{message:?}"
    );

    let found = difference(&json!({"schema": {"minimum": 0.7}}), &json!(0.4));
    assert_eq!(found.expected, json!({"minimum": 0.7}));
    let found = difference(&json!({"length": {"min": 1}}), &json!([]));
    assert_eq!(
        (found.path.as_str(), found.message.rendered().as_str()),
        (".length", "expected a length of at least 1, got 0 elements")
    );
    let found = difference(&json!({"not": {"contains": "x"}}), &json!(["x"]));
    assert_eq!(found.message, "expected not (contains \"x\"), got [\"x\"]");
    assert_eq!(found.expected, json!({"not": {"contains": "x"}}));
    let found = difference(
        &json!({"any_of": [{"exact": 1}, {"regex": "a"}]}),
        &json!("b"),
    );
    assert_eq!(
        found.message,
        "expected exactly 1 or matches the pattern \"a\", got \"b\""
    );
    let found = difference(&json!({"all_of": [{"exact": 1}, {"exact": 2}]}), &json!(1));
    assert_eq!(found.message, "expected 2, got 1");
}

#[test]
fn long_values_are_shortened() {
    let long = "x".repeat(1_000_000);
    let found = difference(&json!({"exact": "y"}), &json!(long));
    assert!(
        found.message.rendered().chars().count() < 200,
        "{:?}",
        found.message
    );
    assert_eq!(found.actual, json!(long), "only the message is");
    let other = format!("{}z", "x".repeat(500));
    let found = difference(&json!({"exact": long}), &json!(other));
    assert!(
        found.message.rendered().ends_with(&format!(
            "got …\"{}z\", which differs from character 501 on",
            "x".repeat(20)
        )),
        "{:?}",
        found.message
    );
    let many: Vec<u32> = (0..100_000).collect();
    let found = difference(&json!({"contains": "x"}), &json!(many));
    assert!(
        found.message.rendered().chars().count() < 250 && found.message.rendered().ends_with('…')
    );
}

#[test]
fn matchers_speak_plainly() {
    let cases = [
        (json!({"exact": "x"}), "exactly \"x\""),
        (json!({"contains": "x"}), "contains \"x\""),
        (json!({"subset": {"a": 1}}), "has all of {\"a\":1}"),
        (json!({"schema": {"minimum": 0.7}}), "at least 0.7"),
        (json!({"schema": {"maximum": 0}}), "at most 0"),
        (
            json!({"schema": {"minimum": 0, "maximum": 1.0, "type": "number"}}),
            "a number, at least 0, at most 1",
        ),
        (
            json!({"schema": {"exclusiveMinimum": 0, "exclusiveMaximum": 5}}),
            "more than 0, less than 5",
        ),
        (json!({"schema": {"const": "a"}}), "exactly \"a\""),
        (json!({"schema": {"enum": ["a", 1]}}), "one of \"a\", 1"),
        (
            json!({"schema": {"type": ["string", "null"], "minLength": 1}}),
            "a text or null, at least 1 character",
        ),
        (
            json!({"schema": {"type": "object", "required": ["a", "b"], "title": "t"}}),
            "a map, a map with `a` and `b`",
        ),
        (json!({"schema": {"maxItems": 3}}), "at most 3 elements"),
        (
            json!({"schema": {"pattern": "^a"}}),
            "a text that matches the pattern \"^a\"",
        ),
        (json!({"schema": {}}), "anything"),
        (
            json!({"schema": {"items": {"type": "string"}}}),
            "valid under the schema {\"items\":{\"type\":\"string\"}}",
        ),
        (json!({"regex": "^a"}), "matches the pattern \"^a\""),
        (json!({"starts_with": "a"}), "starts with \"a\""),
        (json!({"one_of": [1, 2]}), "one of 1, 2"),
        (json!({"length": 3}), "has a length of 3"),
        (
            json!({"length": {"min": 1, "max": 3}}),
            "has a length of 1 to 3",
        ),
        (json!({"length": {"max": 3}}), "has a length of at most 3"),
        (json!({"not": {"contains": "x"}}), "not (contains \"x\")"),
        (
            json!({"all_of": [{"exact": 1}, {"exact": 2}]}),
            "exactly 1 and exactly 2",
        ),
        (
            json!({"any_of": [{"exact": 1}, {"exact": 2}]}),
            "exactly 1 or exactly 2",
        ),
    ];
    for (given, words) in cases {
        let matcher = matcher(&given);
        assert_eq!(matcher.describe(), words);
        assert_eq!(matcher.to_value(), given);
        assert_eq!(
            format!("{:?}", matcher.clone()),
            format!("Matcher({given})")
        );
    }
}

#[test]
fn every_matcher_is_listed() {
    let names: Vec<&str> = Matcher::entries().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "exact",
            "contains",
            "subset",
            "schema",
            "regex",
            "starts_with",
            "one_of",
            "length",
            "not",
            "all_of",
            "any_of"
        ]
    );
    assert!(Matcher::entries().all(|(_, explanation)| !explanation.is_empty()));
}
