use super::*;

#[test]
fn brackets_in_texts_are_no_nesting() {
    assert_eq!(depth(br#"{"a":[1,{"b":"[[[\"{{"}],"c":[]}"#), 3);
    assert_eq!(depth(b"]]7"), 0);
}

#[test]
fn values_are_counted_outside_of_texts() {
    for (json, count) in [
        ("7", 1),
        ("[0]", 2),
        ("[0,0]", 3),
        (r#"{"a":0}"#, 2),
        (r#"[{"a":0},{"b":[1,2]}]"#, 7),
        (r#"["a,b,[,{", "\",\\", "\\"]"#, 4),
        (r#"["never ends,,,"#, 2),
    ] {
        assert_eq!(count_values(json), count, "{json}");
    }
}
