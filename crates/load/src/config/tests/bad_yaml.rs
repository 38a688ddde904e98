//! The same problems in YAML, each with its place.

use super::yaml_errors;

const GOOD: &str = "server:\n  command: python\nscenario:\n  type: churn\n";

fn assert_problem(text: &str, place: &str, message: &str, hint: &str) {
    let errors = yaml_errors(text).0;
    assert_eq!(errors.len(), 1, "{text}\n{errors:#?}");
    let error = &errors[0];
    let found = error.place.map(|place| place.to_string());
    assert_eq!(found.as_deref(), Some(place), "{text}\n{error}");
    assert!(error.texts().0.contains(message), "{text}\n{error}");
    let found = error.texts().1.unwrap_or_default();
    assert!(found.contains(hint), "{text}\n{error}");
}

#[test]
fn places_in_blocks_and_in_flows() {
    let with = |line: &str| format!("{GOOD}{line}\n");
    for (text, place, message, hint) in [
        (
            with("  concurent: 5"),
            "5:3",
            "\"concurent\" in `scenario`",
            "\"concurrent\"?",
        ),
        (with("  concurrent: 0"), "5:15", "not 0", "use 1 or more"),
        (with("  concurrent: many"), "5:15", "not \"many\"", "use 1"),
        (with("  seed: -1"), "5:9", "`seed`", "choose any"),
        (
            with("  strict: yes"),
            "5:11",
            "not \"yes\"",
            "true or false",
        ),
        (
            with("  tool_call: [{name: x, wait: 1}]"),
            "5:25",
            "\"wait\"",
            "known: name",
        ),
        (
            with("  tool_call: {name: x}"),
            "5:14",
            "a list",
            "tool_call",
        ),
        (
            with("thresholds: {error_rate: 2}"),
            "5:26",
            "0 to 1",
            "in this range",
        ),
        (
            with("thresholds: {error_rate: .nan}"),
            "5:26",
            "not NaN",
            "in this range",
        ),
        (
            with("thresholds:\n  tools:\n    \"größe\": {p99: 1s}"),
            "7:15",
            "\"p99\"",
            "\"p99_latency\"?",
        ),
        (
            with("output: {formats: [json, pdf]}"),
            "5:26",
            "\"pdf\"",
            "known: markdown",
        ),
        (
            with("servers: {}"),
            "5:1",
            "\"servers\" in the file",
            "\"server\"?",
        ),
        (
            with("session: 5"),
            "5:10",
            "`session` must be a table",
            "per line",
        ),
        (
            GOOD.replace("churn", "chur"),
            "4:9",
            "\"chur\"",
            "\"churn\"?",
        ),
        (
            GOOD.replace("  command: python", "  command:"),
            "2:10",
            "not nothing",
            "after the key",
        ),
    ] {
        assert_problem(&text, place, message, hint);
    }
}

#[test]
fn text_that_is_no_yaml() {
    for (text, place) in [
        ("server: [", "1:"),
        ("server:\n  command: x\n command: y\n", "3:2"),
        ("a: 1\na: 2\n", "2:1"),
        ("server: *nowhere\n", "1:9"),
        ("a: \"\\q\"\n", "1:"),
        ("--- 1\n--- 2\n", "2:"),
    ] {
        let errors = yaml_errors(text).0;
        assert!(
            errors[0].texts().0.starts_with("not valid YAML: "),
            "{}",
            errors[0]
        );
        let found = errors[0].place.unwrap().to_string();
        assert!(found.starts_with(place), "{text}: {}", errors[0]);
        assert!(
            !errors[0].texts().0.contains('\n'),
            "{}",
            errors[0].texts().0
        );
    }
}

#[test]
fn nothing_is_no_configuration() {
    for text in ["", "# nothing\n", "---\n", "null\n"] {
        let errors = yaml_errors(text).0;
        assert_eq!(errors.len(), 2, "{text:?}: {errors:?}");
        assert_eq!(errors[0].texts().0, "there is no `server`");
    }
}

#[test]
fn an_alias_is_where_it_is_used() {
    let text = "server: {command: x}\nscenario:\n  type: sustained\n  duration: &time 7\n  warmup: *time\n";
    let errors = yaml_errors(text).0;
    let places: Vec<String> = errors
        .iter()
        .map(|error| error.place.unwrap().to_string())
        .collect();
    assert_eq!(places, ["4:19", "5:11"], "{errors:#?}");
}
