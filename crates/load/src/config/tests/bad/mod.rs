//! What is wrong, where, and what is suggested.

use super::{LoadConfig, SERVER, scenario, toml_errors};
use harness::problem_table;

/// Every case of a table, put in a whole file by `wrap`, has just that problem.
fn assert_problems(table: &str, wrap: fn(&str) -> String) {
    let parse = |text: &str| LoadConfig::parse_toml(text, "bench.toml").map(|_| ());
    let cases = problem_table::assert_problems(table, "bench.toml", &wrap, &parse);
    assert!(cases > 0);
}

fn assert_problem(text: &str, place: &str, message: &str, hint: &str) {
    let errors = toml_errors(text).0;
    assert_eq!(errors.len(), 1, "{text}\n{errors:#?}");
    let error = &errors[0];
    let found = error.place.map(|place| place.to_string());
    assert_eq!(found.as_deref(), Some(place), "{text}\n{error}");
    assert!(error.texts().0.contains(message), "{text}\n{error}");
    let found = error.texts().1.unwrap_or_default();
    assert!(!found.is_empty() && found.contains(hint), "{text}\n{error}");
    assert_eq!(error.file, "bench.toml");
}

#[test]
fn unknown_keys_get_a_suggestion() {
    assert_problems(include_str!("unknown_keys.txt"), scenario);
}

#[test]
fn wrong_values_of_a_scenario() {
    assert_problems(include_str!("scenarios.txt"), scenario);
}

#[test]
fn wrong_limits_and_settings() {
    let wrap = |lines: &str| scenario(&format!("type = \"churn\"\n{lines}"));
    assert_problems(include_str!("settings.txt"), wrap);
}

#[test]
fn wrong_servers() {
    let wrap = |lines: &str| format!("[server]\n{lines}\n[scenario]\ntype = \"churn\"\n");
    assert_problems(include_str!("servers.txt"), wrap);
}

#[test]
fn knobs_that_a_scenario_does_not_have() {
    assert_problems(include_str!("knobs.txt"), scenario);
}

#[test]
fn both_names_of_a_knob() {
    for (name, one, other) in [
        ("ramp", "ramp_from = 1", "from_concurrent = 1"),
        ("ramp", "ramp_to = 1", "to_concurrent = 1"),
        ("spike", "spike_multiplier = 2", "spike_concurrent = 20"),
        (
            "soak",
            "leak_check_interval = \"1s\"",
            "sample_interval = \"1s\"",
        ),
        ("sustained", "rate = 2", "rate_limit = 20"),
    ] {
        for (first, second) in [(one, other), (other, one)] {
            let lines = format!("type = {name:?}\n{first}\n{second}");
            assert_problem(
                &scenario(&lines),
                "6:1",
                "cannot both be given",
                "one of them",
            );
        }
    }
    let lines =
        "type = \"pattern\"\npreset = \"multi_step\"\n[[scenario.pattern]]\nname = \"multi_step\"";
    assert_problem(&scenario(lines), "5:1", "both given", "leave out `preset`");
    let lines = "type = \"churn\"\n[session]\nprotocol = \"auto\"";
    let text = format!("protocol = \"auto\"\n{}", scenario(lines));
    assert_problem(&text, "1:1", "`protocol` is given twice", "[session]");
}

#[test]
fn a_limit_of_a_tool_that_is_not_called() {
    let calls = "type = \"churn\"\n[[scenario.tool_call]]\nname = \"search\"\n[thresholds.tools.serch]\nerror_rate = 0";
    assert_problem(
        &scenario(calls),
        "7:19",
        "does not call \"serch\"",
        "did you mean \"search\"?",
    );
    let steps = "type = \"pattern\"\n[[scenario.pattern]]\nname = \"p\"\nsteps = [{ tool = \"a\" }]\n[thresholds.tools.other]\nerror_rate = 0";
    assert_problem(
        &scenario(steps),
        "8:19",
        "does not call \"other\"",
        "it calls a",
    );
}

#[test]
fn text_that_is_no_toml() {
    for (text, place, message, hint) in [
        (
            "server:\n  command: x\n",
            "1:7",
            "not valid TOML",
            "looks like YAML",
        ),
        (
            "[server\ncommand = 1\n",
            "1:8",
            "not valid TOML",
            "name = value",
        ),
        (
            "[server]\ncommand = python\n",
            "2:11",
            "not valid TOML",
            "quotes",
        ),
        (
            "[server]\ncommand = \"a\"\ncommand = \"b\"\n",
            "3:1",
            "duplicate key",
            "",
        ),
        ("a = 1\u{0}\n", "1:5", "not valid TOML", ""),
    ] {
        let errors = toml_errors(text).0;
        let error = &errors[0];
        assert_eq!(error.place.unwrap().to_string(), place, "{error}");
        assert!(error.texts().0.contains(message), "{error}");
        assert!(
            error
                .texts()
                .1
                .as_deref()
                .unwrap_or_default()
                .contains(hint),
            "{error}"
        );
    }
}

#[test]
fn what_is_missing() {
    let errors = toml_errors("").0;
    let messages: Vec<String> = errors.iter().map(|error| error.texts().0).collect();
    assert_eq!(messages, ["there is no [server]", "there is no [scenario]"]);
    assert_problem(SERVER, "1:1", "there is no [scenario]", "add [scenario]");
    assert_problem(
        "[scenario]\ntype = \"churn\"\n",
        "1:1",
        "no [server]",
        "add [server]",
    );
    let text = "server = 5\n[scenario]\ntype = \"churn\"\n";
    let errors = toml_errors(text).0;
    assert_eq!(
        errors[0].texts().0,
        "[server] must be a table, not a number"
    );
}

#[test]
fn all_at_once_as_a_compiler_prints_them() {
    let text = "[server]\ncomand = \"x\"\n\n[scenario]\ntype = \"sustaned\"\nconcurrent = 0\n\n[thresholds]\n\terror_rate = 7\n";
    let printed = toml_errors(text).to_string();
    let expected = r#"error: bench.toml:1:1: [server] has neither a command nor a url
   |
 1 | [server]
   | ^^^^^^^^
hint: add command = "python" and args = ["-m", "my_mcp"], or url = "http://127.0.0.1:8080/mcp"

error: bench.toml:2:1: unknown key "comand" in [server]
   |
 2 | comand = "x"
   | ^^^^^^
hint: did you mean "command"?

error: bench.toml:5:8: unknown `type` "sustaned"
   |
 5 | type = "sustaned"
   |        ^^^^^^^^^^
hint: did you mean "sustained"? known: cold_start, sustained, spike, ramp, soak, pattern, deadlock_probe, race_check, fuzzer, slow_mix, reconnect, churn, early_call, interrupted_call

error: bench.toml:6:14: `concurrent` must be a whole number from 1 to 100000, not 0
   |
 6 | concurrent = 0
   |              ^
hint: use 1 or more, without a fraction

error: bench.toml:9:15: `error_rate` must be a share from 0 to 1 (0.01 is 1 %), not 7
   |
 9 |  error_rate = 7
   |               ^
hint: give a number in this range"#;
    assert_eq!(printed, expected);
}
