//! Where two JSON values differ.

use serde_json::Value;

use super::comparison::Difference;

/// Every place where two values of a column differ, in the order of the values.
pub(super) fn differences(
    column: &'static str,
    left: Option<&Value>,
    right: Option<&Value>,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut collect_at = |path, left: Option<&Value>, right: Option<&Value>| {
        found.push(Difference {
            column,
            path,
            left: left.cloned(),
            right: right.cloned(),
        });
    };
    collect(String::new(), left, right, &mut collect_at);
    found
}

/// Calls `found` with every place where two values differ.
// As deep as the values are, and a value that was parsed is not deep.
fn collect(
    path: String,
    left: Option<&Value>,
    right: Option<&Value>,
    found: &mut impl FnMut(String, Option<&Value>, Option<&Value>),
) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for (name, value) in left {
                collect(member(&path, name), Some(value), right.get(name), found);
            }
            for (name, value) in right.iter().filter(|(name, _)| !left.contains_key(*name)) {
                collect(member(&path, name), None, Some(value), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                let place = format!("{path}[{index}]");
                collect(place, left.get(index), right.get(index), found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => found(path, left, right),
    }
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_named_and_what_is_alike_is_not() {
        let left = json!({ "a": 1, "same": [1, { "x": null }], "list": [1, 2, 3], "gone": {} });
        let right =
            json!({ "a": "1", "same": [1, { "x": null }], "list": [1, { "b": 2 }], "new": 0 });
        let found: Vec<(String, Option<Value>, Option<Value>)> =
            differences("column", Some(&left), Some(&right))
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
        assert!(differences("column", Some(&left), Some(&left)).is_empty());
    }

    #[test]
    fn values_of_different_kinds_differ_as_a_whole() {
        let found = differences("column", Some(&json!([1])), Some(&json!({ "a": 1 })));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "");
    }
}
