mod errors;
mod words;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use harness::values::json_values;

fn matcher(given: &Value) -> Matcher {
    Matcher::from_value(given).unwrap_or_else(|error| panic!("{given}: {error}"))
}

fn difference(given: &Value, actual: &Value) -> Difference {
    matcher(given).matches(actual).unwrap_err()
}

fn error(given: &Value) -> Diagnostic {
    Matcher::from_value(given).expect_err(&given.to_string())
}

/// Each matcher with a value that matches and one that does not.
fn check(cases: &[(Value, Value, bool)]) {
    for (given, actual, expected) in cases {
        let matcher = matcher(given);
        assert_eq!(matcher.is_match(actual), *expected, "{given} on {actual}");
        assert_eq!(
            matcher.matches(actual).is_ok(),
            *expected,
            "{given} on {actual}"
        );
        let opposite = Matcher::from_value(&json!({"not": given})).unwrap();
        let expected = match matcher.answer(actual) {
            Answer::Yes => Answer::No,
            Answer::No => Answer::Yes,
            Answer::NoByKind | Answer::Nothing => Answer::Nothing,
        };
        assert_eq!(opposite.answer(actual), expected, "not {given} on {actual}");
    }
}

#[test]
fn exact_is_deep_equality() {
    check(&[
        (json!({"exact": "get_invoice"}), json!("get_invoice"), true),
        (
            json!({"exact": "get_invoice"}),
            json!("get_invoices"),
            false,
        ),
        (json!({"exact": false}), json!(false), true),
        (json!({"exact": 1}), json!(1.0), true),
        (json!({"exact": 1}), json!("1"), false),
        (json!({"exact": null}), json!(null), true),
        (json!({"exact": null}), json!({}), false),
        (
            json!({"exact": {"a": 1, "b": [2]}}),
            json!({"b": [2.0], "a": 1}),
            true,
        ),
        (json!({"exact": [1, 2]}), json!([2, 1]), false),
        (json!({"exact": {"a": 1}}), json!({"a": 1, "b": 2}), false),
    ]);
}

#[test]
fn contains_is_substring_subset_or_multiset() {
    check(&[
        (json!({"contains": "rain"}), json!("heavy rain today"), true),
        (json!({"contains": "rain"}), json!("sun"), false),
        (json!({"contains": ""}), json!("sun"), true),
        // Texts in a list.
        (
            json!({"contains": "refund"}),
            json!(["get_invoice", "issue_refund"]),
            true,
        ),
        (json!({"contains": "refund"}), json!(["get_invoice"]), false),
        (json!({"contains": "refund"}), json!([]), false),
        (json!({"contains": 3}), json!([1, 3.0]), true),
        (
            json!({"contains": {"name": "a"}}),
            json!([{"name": "b"}, {"name": "a", "x": 1}]),
            true,
        ),
        // Maps, as deep as they go.
        (
            json!({"contains": {"a": {"b": 1}}}),
            json!({"a": {"b": 1, "c": 2}, "d": 3}),
            true,
        ),
        (
            json!({"contains": {"a": {"b": 1}}}),
            json!({"a": {"b": 2}}),
            false,
        ),
        (json!({"contains": {"a": null}}), json!({}), false),
        (json!({"contains": {}}), json!({"a": 1}), true),
        (json!({"contains": {"a": "x"}}), json!({"a": "text"}), true),
        (json!({"contains": {"a": "x"}}), json!({"a": ["x"]}), false),
        // Lists as multisets: each has one of its own.
        (json!({"contains": [2, 1]}), json!([1, 2, 3]), true),
        (json!({"contains": [1, 1]}), json!([1, 2]), false),
        (json!({"contains": [1, 1]}), json!([1, 2, 1.0]), true),
        (json!({"contains": []}), json!([]), true),
        (json!({"contains": []}), json!("x"), false),
        (json!({"contains": ["a", "ab"]}), json!(["ab", "ca"]), true),
        (json!({"contains": ["a", "ab"]}), json!(["ab", "c"]), false),
        (
            json!({"contains": [{}, {"k": 1}]}),
            json!([{"k": 1}, {"k": 2}]),
            true,
        ),
        (json!({"contains": "x"}), json!(5), false),
        (json!({"contains": "x"}), json!({"x": 1}), false),
        (json!({"contains": 5}), json!(5.0), true),
    ]);
}

#[test]
fn subset_is_contains_for_maps_and_lists() {
    check(&[
        (
            json!({"subset": {"city": "Sacramento"}}),
            json!({"city": "Sacramento", "unit": "C"}),
            true,
        ),
        (
            json!({"subset": {"city": "Sacramento"}}),
            json!({"unit": "C"}),
            false,
        ),
        (
            json!({"subset": {"tags": ["a", "a"]}}),
            json!({"tags": ["a", "b"]}),
            false,
        ),
        (
            json!({"subset": {"tags": ["a", "b"]}}),
            json!({"tags": ["b", "c", "a"]}),
            true,
        ),
        (json!({"subset": "a"}), json!(["a"]), false),
        (json!({"subset": {}}), json!(null), false),
    ]);
}

#[test]
fn schema_is_json_schema() {
    check(&[
        (json!({"schema": {"minimum": 0.7}}), json!(0.7), true),
        (json!({"schema": {"minimum": 0.7}}), json!(0.69), false),
        (json!({"schema": {"maximum": 0}}), json!(0), true),
        (json!({"schema": {"maximum": 0}}), json!(1), false),
        (json!({"schema": {"type": "integer"}}), json!(1.0), true),
        (
            json!({"schema": {"prefixItems": [{"type": "string"}]}}),
            json!([1]),
            false,
        ),
        (
            json!({"schema": {"format": "ipv4"}}),
            json!("300.1.1.1"),
            false,
        ),
        (
            json!({"schema": {"$defs": {"n": {"minimum": 1}}, "$ref": "#/$defs/n"}}),
            json!(0),
            false,
        ),
        (
            json!({"schema": {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}}),
            json!([1]),
            false,
        ),
        (json!({"schema": true}), json!(1), true),
        (json!({"schema": false}), json!(1), false),
        (json!({"schema": {}}), json!(1), true),
        (json!({"schema": {"pattern": "^(?=a)"}}), json!("ab"), true),
    ]);
}

#[test]
fn regex_looks_into_texts() {
    check(&[
        (json!({"regex": "^a+$"}), json!("aaa"), true),
        (json!({"regex": "b"}), json!("abc"), true),
        (json!({"regex": "^b"}), json!("abc"), false),
        (json!({"regex": "1"}), json!(1), false),
        (json!({"regex": "a"}), json!(["a"]), true),
        (json!({"regex": "a"}), json!([1]), false),
        (
            json!({"regex": "^(a+)+$"}),
            json!(format!("{}b", "a".repeat(10_000))),
            false,
        ),
    ]);
    for (pattern, position, reason) in [
        ("a(b", 2, "unclosed group"),
        ("é)", 2, "unopened group"),
        ("(?=a)", 1, "look-around"),
        (r"(a)\1", 4, "backreferences"),
        (r"\p{Nonesuch}", 1, "Unicode property not found"),
    ] {
        let error = error(&json!({ "regex": pattern }));
        let message = format!("regex: the pattern is wrong at character {position}: {reason}");
        assert!(
            error.to_string().starts_with(&message),
            "{pattern}: {error}"
        );
    }
    let huge = error(&json!({"regex": r"\w{1000}{1000}"}));
    assert!(huge.to_string().contains("cannot be used"), "{huge}");
    assert!(
        error(&json!({"regex": 1}))
            .to_string()
            .contains("needs a pattern")
    );
}

#[test]
fn the_other_matchers() {
    check(&[
        (json!({"starts_with": "/tmp/"}), json!("/tmp/x"), true),
        (json!({"starts-with": "/tmp/"}), json!("/var/tmp/"), false),
        (json!({"starts_with": "1"}), json!(1), false),
        (json!({"one_of": [1, "a"]}), json!(1.0), true),
        (json!({"one-of": [1, "a"]}), json!("b"), false),
        (json!({"length": 2}), json!("éé"), true),
        (json!({"length": 2.0}), json!([1, 2]), true),
        (json!({"length": {"min": 1}}), json!({}), false),
        (json!({"length": {"max": 1}}), json!({"a": 1}), true),
        (
            json!({"length": {"min": 1, "max": 2}}),
            json!([1, 2, 3]),
            false,
        ),
        (json!({"length": 0}), json!(null), false),
        (json!({"length": {"min": 0}}), json!(0), false),
        (
            json!({"not": {"contains": "refund"}}),
            json!(["get_invoice"]),
            true,
        ),
        (json!({"not": {"contains": "refund"}}), json!([]), true),
        (json!({"not": {"not": {"exact": 1}}}), json!(1), true),
        (
            json!({"all_of": [{"contains": "a"}, {"length": 2}]}),
            json!("ab"),
            true,
        ),
        (
            json!({"all_of": [{"contains": "a"}, {"length": 2}]}),
            json!("abc"),
            false,
        ),
        (
            json!({"any-of": [{"exact": 1}, {"exact": 2}]}),
            json!(2),
            true,
        ),
        (
            json!({"any_of": [{"exact": 1}, {"exact": 2}]}),
            json!(3),
            false,
        ),
    ]);
}

#[test]
fn large_lists_are_searched_in_one_go() {
    let names: Vec<String> = (0..100_000).map(|index| format!("tool_{index}")).collect();
    let actual = json!(names);
    assert!(matcher(&json!({"contains": ["tool_99999", "tool_1", "tool_1"]})).is_match(&actual));
    assert!(!matcher(&json!({"contains": ["tool_99999", "tool_99999"]})).is_match(&actual));
    assert!(matcher(&json!({"not": {"contains": "refund"}})).is_match(&actual));
}

proptest! {
    #[test]
    fn everything_contains_itself(value in json_values()) {
        for name in ["exact", "contains", "subset"] {
            prop_assert!(matcher(&json!({ name: value })).is_match(&value), "{} {}", name, value);
        }
        let one_of = matcher(&json!({"one_of": [0, value]}));
        prop_assert!(one_of.is_match(&value));
    }

    #[test]
    fn whatever_does_not_match_has_a_difference(given in json_values(), actual in json_values()) {
        for name in ["exact", "contains", "subset", "schema", "regex", "starts_with", "one_of", "length", "not", "all_of", "any_of"] {
            let Ok(matcher) = Matcher::new(name, &given) else { continue };
            match matcher.matches(&actual) {
                Ok(()) => prop_assert!(matcher.is_match(&actual)),
                Err(difference) => {
                    prop_assert!(!matcher.is_match(&actual));
                    prop_assert!(difference.message.rendered().starts_with("expected ") || difference.message.rendered().starts_with("at "), "{:?}", difference.message);
                    prop_assert!(difference.message.rendered().chars().count() < 2_000);
                }
            }
            prop_assert!(!matcher.describe().is_empty());
        }
    }

    #[test]
    fn more_in_a_list_never_hurts(expected in prop::collection::vec("[ab]{0,2}", 0..4), actual in prop::collection::vec("[ab]{0,2}", 0..4), more in "[ab]{0,2}") {
        let matcher = matcher(&json!({ "contains": expected }));
        let before = matcher.is_match(&json!(actual));
        let mut actual = actual;
        actual.insert(0, more);
        prop_assert!(!before || matcher.is_match(&json!(actual)));
    }

    #[test]
    fn no_value_panics(value in json_values(), name in "[a-z_-]{1,12}") {
        drop(Matcher::from_value(&value));
        drop(Matcher::from_value(&json!({ name: value })));
    }
}
