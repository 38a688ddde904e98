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
