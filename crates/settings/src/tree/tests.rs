//! Trees of positioned values, and lines with a mark below them.

use serde_json::json;

use super::*;

/// Every value with the text at its place.
fn places<'t>(node: &Node, text: &'t str, found: &mut Vec<&'t str>) {
    match &node.data {
        Data::List(nodes) => nodes.iter().for_each(|node| places(node, text, found)),
        Data::Table(fields) => {
            for field in fields {
                found.push(&text[field.span.clone()]);
                places(&field.value, text, found);
            }
        }
        _ => found.push(&text[node.span.clone()]),
    }
}

#[test]
fn both_formats_give_the_same_values() {
    let toml = "a = 1\nb = [true, 2.5, \"ü\"]\n[c]\nd.e = 'x'\nf = { g = -7, h = 0x10 }\n";
    let yaml = "a: 1\nb: [true, 2.5, ü]\nc:\n  d: {e: x}\n  f:\n    g: -7\n    h: 0x10\n";
    let expected = json!({
        "a": 1,
        "b": [true, 2.5, "ü"],
        "c": { "d": { "e": "x" }, "f": { "g": -7, "h": 16 } },
    });
    for document in [
        Document::from_toml(toml, "x"),
        Document::from_yaml(yaml, "x"),
    ] {
        assert_eq!(document.unwrap().root.to_json(), Ok(expected.clone()));
    }
}

#[test]
fn every_value_is_where_it_stands() {
    let toml = "\"ä\" = 1\nb = [true, \"ü\"]\n[c]\nd.e = 'x'\n";
    let mut found = Vec::new();
    places(
        &Document::from_toml(toml, "x").unwrap().root,
        toml,
        &mut found,
    );
    assert_eq!(
        found,
        ["\"ä\"", "1", "b", "true", "\"ü\"", "c", "d", "e", "'x'"]
    );
}

#[test]
fn every_value_of_yaml_is_where_it_stands() {
    let yaml = "ä: 1\nb: [true, \"ü\"]\nc:\n  - d: 'x'\n    e: yes\n";
    let mut found = Vec::new();
    places(
        &Document::from_yaml(yaml, "x").unwrap().root,
        yaml,
        &mut found,
    );
    let expected = ["ä", "1", "b", "true", "\"ü\"", "c", "d", "'x'", "e", "yes"];
    assert_eq!(found, expected);
}

#[test]
fn numbers_beyond_json_are_not_lost_silently() {
    let text = "a = 170141183460469231731687303715884105727\n";
    let document = Document::from_toml(text, "x").unwrap();
    assert!(document.root.to_json().is_err());
    let beyond = "a = 170141183460469231731687303715884105728\n";
    let errors = Document::from_toml(beyond, "x").unwrap_err();
    assert!(errors.to_string().contains("x:1:5: "), "{errors}");
    let infinite = Document::from_yaml("a: .inf\n", "x").unwrap();
    assert!(infinite.root.to_json().is_err());
}

/// What is printed about the text between the marks `«` and `»`.
fn printed(marked: &str) -> Vec<String> {
    let start = marked.find('«').unwrap();
    let text = marked.replacen('«', "", 1);
    let end = text.find('»').unwrap();
    let text = text.replacen('»', "", 1);
    let source = Source::new(&text);
    let error = source.error("f", &(start..end), "m", "h");
    error.to_string().lines().map(str::to_owned).collect()
}

#[test]
fn the_mark_stands_below_what_is_meant() {
    assert_eq!(
        printed("one\n\tkey = «5x» # c\nthree"),
        [
            "error: f:2:8: m",
            "   |",
            " 2 |  key = 5x # c",
            "   |        ^^",
            "hint: h"
        ]
    );
    // What goes on to the next line is marked to the end of this one.
    assert_eq!(printed("a = «[\n1]»\n")[2..4], [" 1 | a = [", "   |     ^"]);
    // The end of the file has a mark too, and wide characters take two columns.
    assert_eq!(printed("a «»")[2..4], [" 1 | a", "   |   ^"]);
    assert_eq!(printed("日本 «語»")[2..4], [" 1 | 日本 語", "   |      ^^"]);
}

#[test]
fn long_lines_are_cut_around_what_is_meant() {
    let lines = printed(&format!("{}«here»{}", "a".repeat(500), "b".repeat(500)));
    assert_eq!(lines[0], "error: f:1:501: m");
    let expected = format!(" 1 | …{}here{}…", "a".repeat(60), "b".repeat(56));
    assert_eq!(lines[2], expected);
    assert_eq!(lines[3], format!("   | {}^^^^", " ".repeat(61)));
}

#[test]
fn places_off_the_text_are_at_its_end() {
    let source = Source::new("ab\ncé");
    let error = source.error("f", &(900..950), "m", "h");
    assert_eq!(error.place.unwrap().to_string(), "2:3");
    let error = source.error("f", &(5..6), "m", "h");
    assert_eq!(error.place.unwrap().to_string(), "2:2");
    assert_eq!(source.offset(2, 2), 4);
    assert_eq!(source.offset(9, 1), 6);
}

#[test]
fn a_text_that_a_bracket_cuts_off_is_to_be_put_in_quotes() {
    for (line, place, hint) in [
        (
            "- { target: tool_calls[0].name, matcher: x }",
            "1:13",
            "put it in quotes: \"tool_calls[0].name\"",
        ),
        ("- { q: ${NAME} }", "1:8", "quotes: \"${NAME}\""),
        ("- [ a, ${NAME}, b ]", "1:8", "quotes: \"${NAME}\""),
        ("- [a{2}]", "1:4", "quotes: \"a{2}\""),
        (
            "- { q: what is [1], r: x }",
            "1:8",
            "quotes: \"what is [1]\"",
        ),
        ("- { content[0]: x }", "1:5", "quotes: \"content[0]\""),
        ("- { q: http://x/[a] }", "1:8", "quotes: \"http://x/[a]\""),
        ("- { ü: ö[\n0] }", "1:8", "put it in quotes"),
        ("- { q: a\"b[0] }", "1:11", "in quotes"),
        ("- { q: x]b }", "1:3", "is put in quotes"),
        (
            "- { q: x}b }",
            "1:10",
            "in quotes when it stands between brackets",
        ),
        (
            "a: { q: x}b }",
            "1:11",
            "in quotes when it stands between brackets",
        ),
        (
            "- { q: [0].x }",
            "1:11",
            "in quotes when it stands between brackets",
        ),
    ] {
        let errors = Document::from_yaml(line, "x").unwrap_err().0;
        let [error] = &errors[..] else {
            panic!("{line}: {errors:?}");
        };
        let found = error.place.map(|place| place.to_string());
        assert_eq!(found.as_deref(), Some(place), "{error}");
        let suggested = error.texts().1.unwrap_or_default();
        assert!(suggested.contains(hint), "{error}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    let errors = Document::from_yaml("a\0b: 1\n", "x").unwrap_err();
    assert!(
        errors.to_string().contains("is it a text file at all?"),
        "{errors}"
    );
}

#[test]
fn numbers_of_yaml_are_those_of_its_core_schema() {
    let written = [
        ("010", json!(10)),
        ("08", json!(8)),
        ("-0", json!(0)),
        ("+5", json!(5)),
        ("-7", json!(-7)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("1_000", json!("1_000")),
        ("0b11", json!("0b11")),
        ("0o8", json!("0o8")),
        ("0X1F", json!("0X1F")),
        ("0x10_0", json!("0x10_0")),
        ("1_0.5", json!("1_0.5")),
        ("1:30", json!("1:30")),
        ("2026-05-10", json!("2026-05-10")),
        ("1.2.3", json!("1.2.3")),
        ("1e3", json!(1e3)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("5.", json!(5.0)),
        ("9007199254740993", json!(9_007_199_254_740_993_u64)),
        ("\"010\"", json!("010")),
        ("'0x1F'", json!("0x1F")),
        ("!!str 010", json!("010")),
        ("!!str 0x1F", json!("0x1F")),
        ("!!str &b 0o17", json!("0o17")),
        ("|-\n  010", json!("010")),
        (">-\n  0x1F", json!("0x1F")),
        ("&b 010", json!(10)),
        ("yes", json!("yes")),
        ("off", json!("off")),
        ("true", json!(true)),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in written {
        let document = Document::from_yaml(&format!("a: {text}\n"), "x").unwrap();
        let found = document.root.to_json().unwrap()["a"].clone();
        if found != expected {
            wrong.push(format!("{text}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let aliased = Document::from_yaml("a: &x 010\nb: *x\nc: [1_0, 010]\n", "x").unwrap();
    let expected = json!({ "a": 10, "b": 10, "c": ["1_0", 10] });
    assert_eq!(aliased.root.to_json(), Ok(expected));
}

#[test]
fn the_ends_of_lines_are_not_shown() {
    let document = Document::from_yaml("a: 1\r\nb: 2\r\n", "x").unwrap();
    let Data::Table(fields) = &document.root.data else {
        panic!("no table");
    };
    let error = document.error(&fields[1].value.span, "wrong", "");
    assert_eq!(error.excerpt.unwrap().text, "b: 2");
}
