//! What is declared, what a file says and what the example shows are the same.

use mcprove_settings::kind::Kind;
use mcprove_settings::setting::{Fallback, Setting};

use super::super::example;
use super::super::sections::SECTIONS;
use super::{scenario, toml};
use crate::config::LoadConfig;
use crate::drive::scenario::{ENTRIES, names};

/// With the limits of hung calls that hold: those of all loads, where the scenario has none of its own.
fn in_force(mut config: LoadConfig) -> LoadConfig {
    let common = config.thresholds.hang_limits();
    config.scenario.kind.as_type_mut().hang_limits(common);
    config
}

#[test]
fn a_default_that_is_written_out_is_the_default() {
    let mut tried = 0;
    for entry in ENTRIES {
        let nothing = toml(&scenario(&format!("type = {:?}", entry.name)));
        for setting in entry.all_settings() {
            let Fallback::Value(text) = setting.fallback else {
                continue;
            };
            let is_text = matches!(
                setting.kind,
                Kind::Time(_) | Kind::OneOf(_) | Kind::Text | Kind::Path
            );
            let value = if is_text {
                format!("{text:?}")
            } else {
                text.to_owned()
            };
            // Without a rate these two are warned of.
            let rate = ["max_in_flight", "catch_up"].contains(&setting.name);
            let (rate, nothing) = if rate {
                let lines = format!("type = {:?}\nrate = 5", entry.name);
                ("rate = 5\n", toml(&scenario(&lines)))
            } else {
                ("", nothing.clone())
            };
            let lines = format!("type = {:?}\n{rate}{} = {value}", entry.name, setting.name);
            assert_eq!(
                in_force(toml(&scenario(&lines))),
                in_force(nothing),
                "{lines}"
            );
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn every_setting_is_explained_and_named_once() {
    for section in SECTIONS {
        let settings = (section.settings)();
        let mut names: Vec<&str> = settings.iter().map(|it| it.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{}", section.name);
        for setting in settings {
            assert!(!setting.about.is_empty(), "{}", setting.name);
        }
    }
}

#[test]
fn the_example_is_valid_without_a_warning() {
    let config = toml(example());
    assert!(config.warnings.is_empty());
    let again = toml(&config.to_toml());
    assert_eq!(again, config);
}

#[test]
fn the_example_mentions_everything() {
    let text = example();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let nested = |setting: &&'static Setting| match setting.kind {
        Kind::Tables(table) | Kind::TablesByName(table) => table().iter().collect(),
        _ => Vec::new(),
    };
    let sections = SECTIONS.iter().flat_map(|section| (section.settings)());
    let sections: Vec<&'static Setting> = sections.collect();
    let all = sections
        .iter()
        .copied()
        .chain(sections.iter().flat_map(nested));
    for name in all.map(|it| it.name).chain(names()) {
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
        assert!(config.warnings.is_empty(), "{lines}");
        names.push(config.scenario.kind.name().to_owned());
    }
    for name in super::super::super::drive::scenario::names() {
        assert!(names.iter().any(|it| it == name), "{name} has no block");
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
    assert!(config.warnings.is_empty());
    assert_eq!(config.thresholds.tools.len(), 1);
    let (_, address) = example().split_once("instead of a command:").unwrap();
    let (address, _) = address.split_once("[scenario]").unwrap();
    let address: Vec<&str> = commented(address).collect();
    // A variable that is set, wherever this runs.
    let address = address.join("\n").replace("MY_TOKEN", "PATH");
    let text = scenario("type = \"churn\"").replace("command = \"python\"", &address);
    assert_eq!(toml(&text).server.transport.name(), "http");
}
