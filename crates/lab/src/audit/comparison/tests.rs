use serde_json::json;

use super::*;

fn row(response: &str) -> AuditRow {
    AuditRow {
        response: Some(response.to_owned()),
        ..AuditRow::default()
    }
}

fn found(left: AuditRow, right: AuditRow, ignored: &[&str]) -> Vec<String> {
    let ignored: Vec<String> = ignored.iter().map(|place| (*place).to_owned()).collect();
    let comparison = RowComparison::of_requests(left, right, &ignored);
    comparison
        .differences
        .iter()
        .map(Difference::place)
        .collect()
}

#[test]
fn what_was_asked_and_answered_counts_and_who_asked_does_not() {
    let left = AuditRow {
        id: 1,
        user: Some("ada".into()),
        parameters: Some("{\"a\":[1]}".into()),
        ..row("{\"x\":1}")
    };
    let right = AuditRow {
        id: 2,
        parameters: Some("{\"a\":[2]}".into()),
        error_category: Some("auth".into()),
        ..row("{\"x\": 1}")
    };
    let comparison = RowComparison::of_requests(left, right, &[]);
    let places: Vec<String> = comparison
        .differences
        .iter()
        .map(Difference::place)
        .collect();
    assert_eq!(places, ["parameters.a[0]", "error_category"]);
    assert_eq!(comparison.noted.len(), 1);
    assert_eq!(comparison.noted[0].place(), "user");
    assert!(!comparison.same);
}

#[test]
fn why_no_answer_came_counts() {
    let without = |category: &str| AuditRow {
        error_category: Some(category.into()),
        cancelled: category == "cancelled",
        ..AuditRow::default()
    };
    let compare = |left, right| RowComparison::of_answers(left, right, &[]);
    assert!(compare(without("cancelled"), without("cancelled")).same);
    assert!(compare(without("timeout"), without("timeout")).same);
    for now in ["protocol", "timeout"] {
        let compared = compare(without("cancelled"), without(now));
        let places: Vec<String> = compared.differences.iter().map(Difference::place).collect();
        assert_eq!(places, ["error_category", "cancelled"], "{now}");
    }
    let answered = AuditRow {
        success: true,
        ..row("{}")
    };
    let compared = compare(without("cancelled"), answered);
    let places: Vec<String> = compared.differences.iter().map(Difference::place).collect();
    assert_eq!(places, ["success", "response"]);
}

#[test]
fn places_are_ignored_with_what_is_within_them() {
    let (left, right) = (r#"{"a":{"b":1},"ab":1}"#, r#"{"a":{"b":2},"ab":2}"#);
    let all = ["response.a.b", "response.ab"];
    assert_eq!(found(row(left), row(right), &[]), all);
    assert_eq!(
        found(row(left), row(right), &["response.a"]),
        ["response.ab"]
    );
    assert_eq!(found(row(left), row(right), &["resp"]), all);
    assert!(found(row(left), row(right), &["response"]).is_empty());
}

#[test]
fn what_was_cut_is_compared_as_far_as_it_goes() {
    let cut = |text: &str| AuditRow {
        response_cut: true,
        ..row(text)
    };
    assert!(found(cut("{\"a\":1"), row("{\"a\":12}"), &[]).is_empty());
    assert!(found(cut("{\"a\":1"), cut("{\"a\""), &[]).is_empty());
    assert_eq!(found(cut("{\"a\":2"), row("{\"a\":12}"), &[]), ["response"]);
    assert_eq!(found(cut("{"), AuditRow::default(), &[]), ["response"]);
}

#[test]
fn text_that_is_no_json_is_compared_as_a_text() {
    assert_eq!(found(row("{broken"), row("{}"), &[]), ["response"]);
    assert!(found(row("{broken"), row("{broken"), &[]).is_empty());
}

fn differences(left: Option<&Value>, right: Option<&Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    collect(("column", String::new()), left, right, &mut found);
    found
}

#[test]
fn places_are_named_and_what_is_alike_is_not() {
    let left = json!({ "a": 1, "same": [1, { "x": null }], "list": [1, 2, 3], "gone": {} });
    let right = json!({ "a": "1", "same": [1, { "x": null }], "list": [1, { "b": 2 }], "new": 0 });
    let found: Vec<(String, Option<Value>, Option<Value>)> = differences(Some(&left), Some(&right))
        .into_iter()
        .map(|place| (place.path, place.left, place.right))
        .collect();
    let expected = [
        ("a", Some(json!(1)), Some(json!("1"))),
        ("gone", Some(json!({})), None),
        ("list[1]", Some(json!(2)), Some(json!({ "b": 2 }))),
        ("list[2]", Some(json!(3)), None),
        ("new", None, Some(json!(0))),
    ];
    let expected = expected.map(|(path, left, right)| (path.to_owned(), left, right));
    assert_eq!(found, expected);
    assert!(differences(Some(&left), Some(&left)).is_empty());
}

#[test]
fn values_of_different_kinds_differ_as_a_whole() {
    let found = differences(Some(&json!([1])), Some(&json!({ "a": 1 })));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "");
}
