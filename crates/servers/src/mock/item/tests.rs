use super::*;

#[test]
fn addresses_fit_patterns() {
    for (pattern, uri, expected) in [
        (
            "file:///{name}.txt",
            "file:///a.txt",
            Some(json!({ "name": "a" })),
        ),
        ("file:///{name}.txt", "file:///a/b.txt", None),
        (
            "file:///{+name}.txt",
            "file:///a/b.txt",
            Some(json!({ "name": "a/b" })),
        ),
        (
            "db://{table}/{row}",
            "db://users/7",
            Some(json!({ "table": "users", "row": "7" })),
        ),
        ("db://{table}/{row}", "db://users/", None),
        ("db://{table}", "db://users/7", None),
        ("x://{a", "x://y", None),
        ("x://é{a}é", "x://éüé", Some(json!({ "a": "ü" }))),
        ("plain://", "plain://", Some(json!({}))),
        (
            "q://{a}",
            "q://a%20b%2Fc%C3%BC",
            Some(json!({ "a": "a b/cü" })),
        ),
        ("q://{a}", "q://100%", Some(json!({ "a": "100%" }))),
        ("q://{a}", "q://%ff%zz", Some(json!({ "a": "%ff%zz" }))),
    ] {
        let fitted = fit(pattern, uri).map(Value::Object);
        assert_eq!(fitted, expected, "{pattern} {uri}");
    }
}
