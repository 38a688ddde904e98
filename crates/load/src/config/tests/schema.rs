//! The schema takes what the reader takes, and refuses what no file may hold.

use mcprove_settings::tree::Document;
use serde_json::Value;

use super::super::schema::schema;
use super::super::sections::SECTIONS;
use super::super::{LoadConfig, example};
use super::{SERVER, SPECIFIED, scenario, toml};
use crate::drive::scenario::ENTRIES;

fn json(text: &str) -> Value {
    Document::from_toml(text, "x")
        .unwrap()
        .root
        .to_json()
        .unwrap()
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

#[test]
fn the_examples_are_of_the_schema() {
    let validator = validator();
    for text in [example(), SPECIFIED, &toml(example()).to_toml()] {
        let errors: Vec<String> = validator
            .iter_errors(&json(text))
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let yaml = "server: {command: [a, b], env: }\nscenario: {type: deadlock-probe}\nthresholds:\n";
    let document = Document::from_yaml(yaml, "x").unwrap();
    assert!(validator.is_valid(&document.root.to_json().unwrap()));
}

#[test]
fn what_is_written_is_of_the_schema() {
    let validator = validator();
    for name in crate::drive::scenario::names() {
        let text = toml(&scenario(&format!("type = {name:?}"))).to_toml();
        assert!(validator.is_valid(&json(&text)), "{text}");
    }
}

#[test]
fn unknown_keys_fail_everywhere() {
    let validator = validator();
    let good = format!(
        "{SERVER}[scenario]\ntype = \"pattern\"\n[[scenario.tool_call]]\nname = \"a\"\n\
         [[scenario.pattern]]\nname = \"p\"\nsteps = [{{ tool = \"a\" }}]\n\
         [thresholds.tools.a]\nerror_rate = 0\n[session]\n[output]\n"
    );
    assert!(validator.is_valid(&json(&good)));
    for path in [
        "",
        "/server",
        "/scenario",
        "/scenario/tool_call/0",
        "/scenario/pattern/0",
        "/scenario/pattern/0/steps/0",
        "/thresholds",
        "/thresholds/tools/a",
        "/session",
        "/output",
    ] {
        let mut value = json(&good);
        let table = value
            .pointer_mut(path)
            .and_then(Value::as_object_mut)
            .unwrap();
        table.insert("concurent".into(), 1.into());
        assert!(!validator.is_valid(&value), "{path}");
    }
}

/// Values of every kind, each in some key's place.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "7",
    "100000",
    "100001",
    "4294967295",
    "4294967296",
    "1000000000001",
    "0.0",
    "0.5",
    "1.0",
    "1.5",
    "-0.5",
    "1e9",
    "true",
    "\"\"",
    "\"x\"",
    "\"0\"",
    "\"5\"",
    "\"5s\"",
    "\"1.5 ms\"",
    "\".5s\"",
    "\"0s\"",
    "\"-5s\"",
    "\"64KiB\"",
    "\"1 mb\"",
    "\"abort\"",
    "\"multi-step\"",
    "\"multi_step\"",
    "\"sse\"",
    "\"auto\"",
    "\"2025-06-18\"",
    "[]",
    "[\"x\"]",
    "[1]",
    "[\"json\"]",
    "[{ name = \"x\" }]",
    "[{}]",
    "{}",
    "{ a = \"x\" }",
    "{ a = 1 }",
    "{ a = [] }",
    "{ a = {} }",
    "\"{}\"",
];

/// Whatever the reader takes, the schema takes.
#[test]
fn the_schema_is_not_stricter_than_the_reader() {
    let validator = validator();
    let (mut taken, mut refused) = (0, 0);
    let mut check = |text: &str| match LoadConfig::parse_toml(text, "x") {
        Ok(_) => {
            taken += 1;
            assert!(validator.is_valid(&json(text)), "{text}");
        }
        Err(_) => refused += usize::from(!validator.is_valid(&json(text))),
    };
    for value in VALUES {
        for entry in ENTRIES {
            // All that any scenario has: what this one has not may be ignored, and must then be taken.
            for key in section("scenario").filter(|key| key.name != "type") {
                let lines = format!("type = {:?}\n{} = {value}", entry.name, key.name);
                check(&scenario(&lines));
            }
        }
        for name in ["thresholds", "session", "output"] {
            for key in section(name) {
                let lines = format!("type = \"churn\"\n[{name}]\n{} = {value}", key.name);
                check(&scenario(&lines));
            }
        }
        for key in section("server") {
            for server in ["command = \"x\"", "url = \"http://h\""] {
                if !server.starts_with(key.name) {
                    let lines = format!("[server]\n{server}\n{} = {value}", key.name);
                    check(&format!("{lines}\n[scenario]\ntype = \"churn\"\n"));
                }
            }
        }
    }
    assert!(taken > 500 && refused > 500, "{taken} {refused}");
}

fn section(name: &str) -> impl Iterator<Item = &'static mcprove_settings::setting::Setting> {
    let found = SECTIONS.iter().find(|section| section.name == name);
    (found.unwrap().settings)().into_iter()
}

/// What the reader refuses of another scenario, the schema refuses.
#[test]
fn a_setting_of_another_scenario_is_refused_by_both() {
    let validator = validator();
    for lines in [
        "type = \"deadlock_probe\"\nrate = 5",
        "type = \"churn\"\nslow_share = 0.5",
        "type = \"cold_start\"\nwarmup = \"5s\"",
        "type = \"sustained\"\nwarmup = true",
    ] {
        let text = scenario(lines);
        assert!(LoadConfig::parse_toml(&text, "x").is_err(), "{lines}");
        assert!(!validator.is_valid(&json(&text)), "{lines}");
    }
    let text = scenario("type = \"churn\"\nramp_to = 5");
    assert!(LoadConfig::parse_toml(&text, "x").is_ok());
    assert!(validator.is_valid(&json(&text)));
}
