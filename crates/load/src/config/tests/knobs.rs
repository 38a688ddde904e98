//! The table of keys and the registry of scenarios say the same.

use mcprove_settings::registry::DefaultValue;

use super::super::example;
use super::super::keys::{self, Key, SCENARIOS};
use super::{scenario, toml};
use crate::drive::scenario::ENTRIES;

fn knob(name: &str) -> Option<&'static Key> {
    keys::section("scenario")
        .iter()
        .find(|key| key.name == name)
}

#[test]
fn every_scenario_and_setting_of_the_registry_is_known() {
    for entry in ENTRIES {
        assert!(SCENARIOS.contains(&entry.name), "{}", entry.name);
        for setting in entry.settings {
            let name = format!("{} of {}", setting.name, entry.name);
            let key = knob(setting.name).unwrap_or_else(|| panic!("no key {name}"));
            assert!(key.is_of(entry.name), "{name}");
        }
    }
}

#[test]
fn the_defaults_of_the_registry_are_those_of_the_file() {
    for entry in ENTRIES {
        let nothing = toml(&scenario(&format!("type = {:?}", entry.name)));
        for setting in entry.settings {
            let value = match setting.default {
                DefaultValue::Integer(value) => value.to_string(),
                DefaultValue::Signed(value) => value.to_string(),
                DefaultValue::Number(value) => format!("{value:?}"),
                DefaultValue::Boolean(value) => value.to_string(),
                // A list of names: the default is all of them.
                DefaultValue::Text(_) if setting.name == "payloads" => "[]".to_owned(),
                DefaultValue::Text(value) => format!("{value:?}"),
            };
            let lines = format!("type = {:?}\n{} = {value}", entry.name, setting.name);
            assert_eq!(toml(&scenario(&lines)), nothing, "{lines}");
        }
    }
}

#[test]
fn knobs_are_named_once_and_for_scenarios_that_exist() {
    for section in keys::SECTIONS {
        for (index, key) in section.keys.iter().enumerate() {
            let before = &section.keys[..index];
            assert!(
                before.iter().all(|other| other.name != key.name),
                "{}",
                key.name
            );
            for scenario in key.scenarios {
                assert!(SCENARIOS.contains(scenario), "{}: {scenario}", key.name);
            }
            assert!(!key.explanation.is_empty(), "{}", key.name);
        }
    }
}

#[test]
fn the_example_is_valid_without_a_warning() {
    let config = toml(example());
    assert_eq!(config.warnings, [""; 0]);
    let again = toml(&config.to_toml());
    assert_eq!(again, config);
}

#[test]
fn the_example_mentions_everything() {
    let text = example();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let settings = ENTRIES.iter().flat_map(|entry| entry.settings);
    let of_registry = settings.map(|setting| setting.name);
    let nested = [
        keys::TOOL_CALL,
        keys::PATTERN,
        keys::STEP,
        keys::TOOL_THRESHOLDS,
    ];
    let sections = keys::SECTIONS.iter().map(|section| section.keys);
    let of_table = sections.chain(nested).flatten().map(|key| key.name);
    let scenarios = SCENARIOS.iter().copied();
    for name in of_registry.chain(of_table).chain(scenarios) {
        assert!(words.contains(&name), "{name} is not in the example");
    }
}

/// The lines of code that stand in comments.
fn commented(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|code| {
            let is_name = |word: &str| {
                word.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            };
            code.starts_with('[')
                || code
                    .split_once(" = ")
                    .is_some_and(|(name, _)| is_name(name))
        })
}

#[test]
fn the_commented_scenarios_of_the_example_are_valid() {
    let (scenarios, rest) = example().split_once("# What to call.").unwrap();
    let (_, scenarios) = scenarios.split_once("# ---- The scenarios").unwrap();
    let mut blocks: Vec<String> = Vec::new();
    for code in commented(scenarios) {
        if code.starts_with("type = ") {
            blocks.push(String::new());
        }
        let block = blocks.last_mut().unwrap();
        block.push_str(code);
        block.push('\n');
    }
    let (_, patterns) = rest.split_once("# Sequences, for").unwrap();
    let (patterns, _) = patterns.split_once("[thresholds]").unwrap();
    let patterns: Vec<&str> = commented(patterns).collect();
    blocks.push(format!("type = \"pattern\"\n{}\n", patterns.join("\n")));
    let mut names = Vec::new();
    for lines in &blocks {
        let config = toml(&scenario(lines));
        assert_eq!(config.warnings, [""; 0], "{lines}");
        names.push(config.scenario.kind.name());
    }
    for name in SCENARIOS {
        assert!(names.contains(name), "{name} has no block");
    }
}

#[test]
fn the_commented_settings_of_the_example_are_valid() {
    let (before, settings) = example().split_once("[thresholds]").unwrap();
    let code: Vec<&str> = commented(settings).collect();
    assert!(code.len() > 10, "{code:?}");
    let mut text = format!("{before}[thresholds]{settings}");
    for line in code {
        text = text.replacen(&format!("# {line}"), line, 1);
    }
    let config = toml(&text);
    assert_eq!(config.warnings, [""; 0]);
    assert_eq!(config.thresholds.tools.len(), 1);
    let (_, address) = example().split_once("instead of a command:").unwrap();
    let (address, _) = address.split_once("[scenario]").unwrap();
    let address: Vec<&str> = commented(address).collect();
    let text = scenario("type = \"churn\"").replace("command = \"python\"", &address.join("\n"));
    assert_eq!(toml(&text).server.transport.name(), "http");
}
