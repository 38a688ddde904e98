//! The schema takes what the reader takes, and refuses what no file may hold.

use std::path::Path;

use mcprove_settings::setting::Setting;
use mcprove_settings::tree::Document;
use serde_json::Value;

use crate::file::load::parts;
use crate::file::{SECTIONS, SectionKeys, from_document, parse_yaml, schema};
use crate::gates::names;

fn json(text: &str) -> Option<Value> {
    let document = Document::from_yaml(text, "x").ok()?;
    document.root.to_json().ok()
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

const BASE: &str = "servers: { a: { command: x }, b: { command: y } }\n";

/// A file with this key of this section.
fn file(section: &SectionKeys, name: &str, value: &str) -> String {
    let pair = format!("{name}: {value}");
    let test = "tools: [{ name: t, server: a, tool: x }]\n";
    let agent = "name: t, servers: [a]";
    let (model, prompt) = match name {
        "model" => ("", ", prompt: p"),
        "prompt" | "turns" => (", model: m", ""),
        "command" | "args" | "env" | "cwd" | "working_dir" => (", command: [y]", ", prompt: p"),
        _ => (", model: m", ", prompt: p"),
    };
    match section.name {
        "suite" if name == "servers" => {
            format!("{pair}\nagents: [{{ name: t, model: m, servers: [], prompt: p }}]\n")
        }
        "suite" if matches!(name, "tools" | "agents" | "load") => format!("{BASE}{pair}\n"),
        "suite" => format!("{BASE}{test}{pair}\n"),
        "server" => {
            let way = match name {
                "command" | "url" | "mock" => "",
                "headers" => ", url: \"http://h/\"",
                _ => ", command: x",
            };
            let agents = "agents: [{ name: t, model: m, servers: [], prompt: p }]\n";
            format!("servers: {{ a: {{ {pair}{way} }} }}\n{agents}")
        }
        "tool_test" => {
            let others: Vec<&str> = [
                ("name", "name: t"),
                ("server", "server: a"),
                ("tool", "tool: x"),
            ]
            .into_iter()
            .filter_map(|(key, text)| (key != name).then_some(text))
            .collect();
            format!("{BASE}tools: [{{ {pair}, {} }}]\n", others.join(", "))
        }
        "negative_path" => {
            format!(
                "{BASE}tools: [{{ name: t, server: a, tool: x, negative_path: {{ {pair} }} }}]\n"
            )
        }
        "agent_test" if name == "name" => {
            format!("{BASE}agents: [{{ {pair}, servers: [a], model: m, prompt: p }}]\n")
        }
        "agent_test" if name == "servers" => {
            format!("{BASE}agents: [{{ name: t, {pair}, model: m, prompt: p }}]\n")
        }
        "agent_test" => format!("{BASE}agents: [{{ {agent}{model}{prompt}, {pair} }}]\n"),
        "provider" | "budget" => format!(
            "{BASE}agents: [{{ {agent}, model: m, prompt: p, {}: {{ {pair} }} }}]\n",
            section.name
        ),
        "load_test" => {
            let others: Vec<&str> = [
                ("name", "name: t"),
                ("server", "server: a"),
                ("scenario", "scenario: { type: sustained }"),
            ]
            .into_iter()
            .filter_map(|(key, text)| (key != name).then_some(text))
            .collect();
            format!("{BASE}load: [{{ {pair}, {} }}]\n", others.join(", "))
        }
        _ => format!("{BASE}{test}defaults: {{ {pair} }}\n"),
    }
}

/// Values of every kind, each in some key's place.
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "8",
    "1000",
    "1001",
    "31622400000",
    "31622400001",
    "0.5",
    "true",
    "false",
    "~",
    "\"\"",
    "x",
    "a",
    "5s",
    "0s",
    "64KiB",
    "auto",
    "http",
    "anthropic",
    "hang",
    "\"${v}\"",
    "\"http://127.0.0.1/mcp\"",
    "[]",
    "[x]",
    "[a]",
    "[1]",
    "[a, b]",
    "{}",
    "{ a: 1 }",
    "{ A: x }",
    "[hang]",
    "[{ kind: slow }]",
    "{ kind: hang }",
    "{ command: x }",
    "{ a: { command: [x] } }",
    "[unknown-tool]",
    "{ checks: [oversized] }",
    "{ type: openai }",
    "{ tokens: 5 }",
    "{ type: sustained }",
    "{ type: sustained, concurrent: 5 }",
    "{ type: sustained, rate-limit: 5, tool-call: [{ name: x }] }",
    "{ p99-latency: 5s, tools: { x: { error-rate: 0.5 } } }",
    "{ call-timeout: 5s, accept-requests: true }",
    "{ p99_latency: 5s }",
    "{ call_timeout: 5s }",
    "{ trace: false }",
    "[{ target: is_error, matcher: { exact: true } }]",
    "[{ target: negative_path.failures, matcher: { exact: 0 } }]",
    "[{ name: t, server: a, tool: x }]",
    "[{ name: t, model: m, servers: [a], prompt: p }]",
    "[{ name: t, server: a, scenario: { type: sustained } }]",
];

/// Whatever the reader takes, the schema takes.
#[test]
fn the_schema_is_not_stricter_than_the_reader() {
    let validator = validator();
    let (mut taken, mut refused) = (0, 0);
    let mut check = |text: &str| {
        let Ok(document) = Document::from_yaml(text, "x") else {
            return;
        };
        let Ok(value) = document.root.to_json() else {
            return;
        };
        match from_document(&document, Path::new(""), None) {
            Ok(_) => {
                taken += 1;
                assert!(validator.is_valid(&value), "{text}");
            }
            Err(_) => refused += usize::from(!validator.is_valid(&value)),
        }
    };
    for value in VALUES {
        for section in SECTIONS {
            for name in (section.settings)().iter().flat_map(Setting::names) {
                check(&file(section, name, value));
                if name.contains('_') {
                    check(&file(section, &name.replace('_', "-"), value));
                }
            }
            if section.name == "load_test" {
                for name in parts() {
                    check(&file(section, name, value));
                }
            }
        }
    }
    assert!(taken > 600 && refused > 1500, "{taken} {refused}");
}

/// A slip in any key is one for both.
#[test]
fn misspelt_keys_are_refused_by_both() {
    let validator = validator();
    for section in SECTIONS {
        for key in (section.settings)() {
            let text = file(section, &format!("{}x", key.name), "5");
            assert!(!validator.is_valid(&json(&text).unwrap()), "{text}");
            let errors = parse_yaml(&text, "x", Path::new(""))
                .unwrap_err()
                .to_string();
            assert!(errors.contains("unknown key"), "{errors}");
        }
    }
    for block in names() {
        let text =
            format!("agents: [{{ name: t, model: m, servers: [], prompt: p, {block}x: {{}} }}]\n");
        assert!(!validator.is_valid(&json(&text).unwrap()), "{text}");
        assert!(parse_yaml(&text, "x", Path::new("")).is_err(), "{text}");
    }
}

#[test]
fn the_examples_are_valid_by_the_schema() {
    let validator = validator();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in [
        "fault-injection-recovery.yml",
        "offline-trace-validation.yml",
        "agent-stability.yml",
        "narrative.yml",
        "oracle.yml",
        "negative-path.yml",
        "suites/suite.yml",
        "hello.yml",
        "replay/agents.yml",
    ] {
        let text = std::fs::read_to_string(examples.join(name)).unwrap();
        let value = json(&text).unwrap();
        let problems: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
}

/// So that editors can tell what each key is.
#[test]
fn everything_is_described() {
    let root = &schema();
    for section in SECTIONS {
        let table = match section.name {
            "suite" => root,
            name => &root["$defs"][name],
        };
        for key in (section.settings)() {
            let property = &table["properties"][key.name];
            let description = property["description"].as_str();
            assert!(
                description.is_some_and(|text| text.starts_with(key.about)),
                "{}.{}: {property}",
                section.name,
                key.name
            );
        }
    }
}

#[test]
fn what_the_reader_refuses_and_can_be_said_is_refused_by_the_schema() {
    let validator = validator();
    let servers = |server: &str| format!("servers: {{ a: {{ {server} }} }}\n");
    let test = "tools: [{ name: t, server: a, tool: x }]\n";
    let expects = |expectation: &str| {
        format!("{BASE}tools: [{{ name: t, server: a, tool: x, expect: [{expectation}] }}]\n")
    };
    for text in [
        servers("url: \"127.0.0.1/mcp\"") + test,
        servers("url: \"http://${HOST}/mcp\"") + test,
        servers("url: \"${URL}\"") + test,
        servers("url: \"http://me:secret@h/mcp\"") + test,
        servers("command: x, headers: { A: b }") + test,
        servers("command: x, fault: hang") + test,
        servers("mock: tools.yml, transport: http") + test,
        format!("variables: {{ \"a b\": 1 }}\n{BASE}{test}"),
        format!("{BASE}tools: [{{ name: t, server: a, tool: x, tags: [a, a] }}]\n"),
        expects("{ target: result, matcher: { one_of: [] } }"),
        expects("{ target: result, matcher: { all_of: [] } }"),
        expects("{ target: result, matcher: { any_of: [] } }"),
        expects("{ target: result, matcher: { length: long } }"),
        expects("{ target: result, matcher: { length: -1 } }"),
        expects("{ target: reslt.content, matcher: { exact: 1 } }"),
        expects("{ target: negative_path, matcher: { exact: 1 } }"),
    ] {
        assert!(!validator.is_valid(&json(&text).unwrap()), "{text}");
        assert!(parse_yaml(&text, "x", Path::new("")).is_err(), "{text}");
    }
    for text in [
        servers("url: \"HTTP://h:8080/${PATH_OF_IT}?q=${Q}\"") + test,
        expects("{ target: \"result.content[0].text\", matcher: { length: { min: 1 } } }"),
        expects("{ target: is-error, matcher: { one_of: [true] } }"),
    ] {
        assert!(validator.is_valid(&json(&text).unwrap()), "{text}");
        assert!(parse_yaml(&text, "x", Path::new("")).is_ok(), "{text}");
    }
}

#[test]
fn the_schema_is_the_published_one() {
    let published = include_str!("../../../../../schema/suite.v1.json");
    let published: Value = serde_json::from_str(published).unwrap();
    let made = serde_json::to_value(schema()).unwrap();
    for (name, value) in published["$defs"].as_object().unwrap() {
        assert_eq!(made["$defs"][name], *value, "{name}");
    }
    assert_eq!(made, published);
}
