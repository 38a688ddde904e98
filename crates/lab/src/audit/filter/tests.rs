use super::*;

#[test]
fn arguments_are_found_and_compared() {
    let parameters =
        r#"{"seed":"7","n":1,"deep":{"list":[{"x":true},null]},"a.b":"dot","big":1.0}"#;
    for (filter, expected) in [
        ("seed=7", true),
        ("seed=\"7\"", true),
        ("n=1", true),
        ("n=1.0", true),
        ("n=2", false),
        ("big=1", true),
        ("deep.list[0].x=true", true),
        ("$.deep.list[0].x=true", true),
        ("deep.list[1]=null", true),
        ("deep.list[2]=null", false),
        ("deep={\"list\":[{\"x\":true},null]}", true),
        ("a.b=dot", true),
        ("missing=", false),
        ("seed=", false),
    ] {
        let parsed: ArgumentFilter = filter.parse().unwrap();
        assert_eq!(parsed.accepts(parameters), expected, "{filter}");
    }
}

#[test]
fn what_is_no_pair_is_an_error() {
    for text in [
        "", "name", "=value", "a..b=1", "a[x]=1", "a[1=1", "a]b[=1", "a[1]b=1", "$.=1",
    ] {
        assert!(text.parse::<ArgumentFilter>().is_err(), "{text:?}");
    }
}

#[test]
fn broken_parameters_match_nothing() {
    let filter: ArgumentFilter = "a=1".parse().unwrap();
    for parameters in ["", "{", "[1]", "null", "{\"a\":"] {
        assert!(!filter.accepts(parameters), "{parameters:?}");
    }
}
