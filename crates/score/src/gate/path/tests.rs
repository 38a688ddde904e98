use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use harness::values::json_values;

fn find(document: &Value, path: &str) -> Result<Value, String> {
    let path = Path::parse(path).unwrap();
    path.resolve(document).map_err(|error| error.to_string())
}

fn run() -> Value {
    json!({
        "model": "m",
        "final_response": "naïve",
        "tool_calls": [
            {"name": "get_invoice", "args": {"id": 42, "a key": [1, 2], "it's": true}},
            {"name": "refund", "server": "billing", "args": {"tags": ["a", "b"]}},
        ],
        "tool_results": [
            {"call_index": 0, "is_error": false, "result": {"content": [{"text": "x"}, {"text": "y"}]}},
            {"call_index": 1, "is_error": true, "result": {"content": []}},
        ],
        "faults": [],
        "box": {"length": 7, "dash-ed": {"under_score": null}},
        "deep": {"length": {"unit": "mm"}},
    })
}

#[test]
fn paths_lead_to_values() {
    let cases = [
        ("model", json!("m")),
        ("tool_calls[0].name", json!("get_invoice")),
        ("tool_calls[0].args.id", json!(42)),
        (r#"tool_calls[0].args["a key"][1]"#, json!(2)),
        (r"tool_calls[0].args['a key'][0]", json!(1)),
        (r#"tool_calls[0].args["it's"]"#, json!(true)),
        (r"tool_calls[0]['args']['it\'s']", json!(true)),
        (r#"["model"]"#, json!("m")),
        ("tool_results[0].is_error", json!(false)),
        ("box.dash-ed.under_score", Value::Null),
        ("tool_calls[*].name", json!(["get_invoice", "refund"])),
        ("tool_calls[*].server", json!(["billing"])),
        ("tool_calls[*].args.tags[*]", json!(["a", "b"])),
        ("tool_calls[*].args.tags[0]", json!(["a"])),
        ("tool_results[*].result.content[*].text", json!(["x", "y"])),
        ("tool_results[1].result.content[*]", json!([])),
        ("tool_results[1].result.content[*].text", json!([])),
        ("faults[*]", json!([])),
        ("faults[*].kind", json!([])),
        ("faults[*].kind.length", json!([])),
        ("tool_calls.length", json!(2)),
        ("faults.length", json!(0)),
        ("final_response.length", json!(5)),
        ("tool_calls[0].length", json!(2)),
        ("tool_calls[*].name.length", json!([11, 6])),
        ("tool_calls[*].args.tags.length", json!([2])),
        ("box.length", json!(7)),
        (r#"box["length"]"#, json!(7)),
        ("deep.length.unit", json!("mm")),
        ("deep.length", json!({"unit": "mm"})),
    ];
    for (path, expected) in cases {
        assert_eq!(find(&run(), path), Ok(expected), "{path}");
    }
}

#[test]
fn a_run_without_calls_is_told_how_to_say_so() {
    let path = Path::parse("tool_calls[0].name").unwrap();
    let error = path.resolve(&json!({ "tool_calls": [] })).unwrap_err();
    assert!(
        error
            .hint
            .rendered()
            .contains("tool_calls[*].name with contains"),
        "{:?}",
        error.hint
    );
}

#[test]
fn a_path_that_leads_nowhere_says_where() {
    let cases = [
        (
            "tool_cals",
            "there is no key `tool_cals`; did you mean `tool_calls`?",
            "the keys there are",
        ),
        (
            "tool_calls[0].nmae",
            "there is no key `nmae` in `tool_calls[0]`; did you mean `name`?",
            "the keys there are `args` and `name`",
        ),
        (
            "tool_calls[*].nmae",
            "there is no key `nmae` in any of `tool_calls[*]`; did you mean `name`?",
            "the keys there are `args`, `name` and `server`",
        ),
        (
            "tool_calls[2].name",
            "there is no element 2: `tool_calls` is a list of 2 elements",
            "indices count from 0, so the last one is 1",
        ),
        (
            "faults[0]",
            "there is no element 0: `faults` is a list of 0 elements",
            "the list is empty",
        ),
        (
            "tool_calls.name",
            "there is no key `name`: `tool_calls` is a list of 2 elements, not a map",
            "write tool_calls[0].name for the first element, tool_calls[*].name for all of them",
        ),
        (
            "model.name",
            "there is no key `name`: `model` is a text, not a map",
            "only a map has keys; end the path at `model`",
        ),
        (
            "box[0]",
            "there is no element 0: `box` is a map of 2 keys, not a list",
            "an index needs a list; write a key as .key or [\"key\"]",
        ),
        (
            "model[*]",
            "`model` is a text, not a list",
            "`[*]` goes over the elements of a list; leave it out here",
        ),
        (
            "tool_calls[0].args.id.length",
            "`tool_calls[0].args.id` is a number, which has no length",
            "only texts, lists and maps have a length",
        ),
        (
            "box.dash-ed.under_score.length",
            "`box.dash-ed.under_score` is null, which has no length",
            "only texts, lists and maps have a length",
        ),
        (
            "box.length.x",
            "there is no key `x`: `box.length` is a number, not a map",
            "only a map has keys; end the path at `box.length`",
        ),
    ];
    for (path, message, hint) in cases {
        let error = Path::parse(path).unwrap().resolve(&run()).unwrap_err();
        assert_eq!(error.to_string(), message, "{path}");
        assert!(
            error.hint.rendered().starts_with(hint),
            "{path:?}: {:?}",
            error.hint
        );
    }
    assert_eq!(
        find(&json!([1]), "[3]").unwrap_err(),
        "there is no element 3: the value is a list of 1 element"
    );
    assert_eq!(
        find(&json!({}), "length").unwrap_err(),
        "there is no key `length`",
        "a first name is always a key"
    );
}

#[test]
fn what_is_no_path_says_where_it_is_wrong() {
    let cases = [
        ("", "the path is empty", "write it as in"),
        (".a", "does not begin with a dot", "leave it out"),
        ("$.a", "does not begin with `$`", "leave it out"),
        ("$", "does not begin with `$`", "leave it out"),
        ("a.", "expected a name at the end", "write it as in"),
        ("a..b", "at character 3, not '.'", "put a name"),
        ("a.[0]", "expected a name at character 3", "put a name"),
        (
            "a b",
            "expected a `.` or a `[` at character 2, not ' '",
            "write it as in",
        ),
        (" a", "expected a name at character 1", "write it as in"),
        (
            "a]",
            "expected a `.` or a `[` at character 2, not ']'",
            "put a name",
        ),
        (
            "a[0]b",
            "expected a `.` or a `[` at character 5, not 'b'",
            "put a name",
        ),
        ("a.*", "`*` stands in brackets, at character 3", "write [*]"),
        (
            "a[",
            "the bracket at character 2 is never closed",
            "add a ]",
        ),
        (
            "a[0",
            "the bracket at character 2 is never closed",
            "add a ]",
        ),
        ("a[]", "but not what is at character 3", "write [0], [*]"),
        ("a[b]", "but not what is at character 3", "write [0], [*]"),
        (
            "a[-1]",
            "an index is never negative, but one is at character 3",
            "indices count from 0",
        ),
        (
            "a[0:2]",
            "there are no ranges, but one is at character 4",
            "write [0]",
        ),
        (
            "a[0x]",
            "expected a `]` at character 4, not 'x'",
            "put a name",
        ),
        (
            "a[\"k]",
            "the quote at character 3 is never closed",
            "add a \" and a ]",
        ),
        (
            "a['k\\",
            "the quote at character 3 is never closed",
            "add a ' and a ]",
        ),
        (
            "a[99999999999999999999999]",
            "the index at character 3 is too large",
            "indices",
        ),
    ];
    for (path, message, hint) in cases {
        let error = Path::parse(path).unwrap_err();
        assert!(error.to_string().contains(message), "{path}: {error}");
        let advice = error.hint.rendered();
        assert!(advice.starts_with(hint), "{path:?}: {advice}");
    }
}

#[test]
fn paths_are_written_as_they_are_read() {
    for text in [
        "a",
        "a.b[0][*].c-d.length",
        r#"a["b c"]["d\"e"]"#,
        "[0]",
        "a.length.b",
    ] {
        let path: Path = Path::parse(text).unwrap();
        assert_eq!(path.to_string(), text);
    }
    assert_eq!(Path::parse("a['b'].c").unwrap().to_string(), "a.b.c");
    assert_eq!(
        Path::parse(r#"a["length"]"#).unwrap().to_string(),
        r#"a["length"]"#
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), likely in r#"[ab.\[\]0-9*"'-]{0,12}"#, document in json_values()) {
        for text in [text, likely] {
            if let Ok(path) = Path::parse(&text) {
                let again = Path::parse(&path.to_string()).unwrap();
                prop_assert_eq!(&again, &path);
                drop(path.resolve(&document));
            }
        }
    }

    #[test]
    fn every_key_can_be_written(key in any::<String>(), value in json_values()) {
        let path = Path::parse(&format!("a{}", key_step(&key))).unwrap();
        let document = json!({"a": {key: value.clone()}});
        prop_assert_eq!(path.resolve(&document).unwrap(), value);
    }
}
