//! Nothing that a suite can hold makes us panic, hang or eat memory.

use std::fmt::Write as _;
use std::path::Path;

use mcprove_settings::error::{ERRORS_MAX, KEPT_MAX};
use proptest::prelude::*;

use crate::file::{SECTIONS, parse_yaml};

/// It is read or refused, and what is said can be printed.
fn try_it(text: &str) {
    if let Err(errors) = parse_yaml(text, "x", Path::new("")) {
        assert!(!errors.0.is_empty() && errors.0.len() <= KEPT_MAX + 1);
        let printed = errors.to_string();
        assert!(!printed.contains(['\u{1b}', '\0', '\r']), "{printed:?}");
        assert!(printed.len() < 100_000, "{}", printed.len());
    }
}

#[test]
fn deep_nesting_and_anchors() {
    for depth in [10, 60, 70, 1000, 100_000] {
        for part in ["{ a: ", "[", "{ not: "] {
            let open = part.repeat(depth);
            try_it(&format!("variables: {{ a: {open}"));
            try_it(&format!("tools: [{{ name: t, args: {open}"));
        }
    }
    let mut bomb = "variables:\n  a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        let _ = writeln!(
            bomb,
            "  b{level}: &a{level} [{}]",
            alias.trim_end_matches(", ")
        );
    }
    let errors = parse_yaml(&bomb, "x", Path::new(""))
        .unwrap_err()
        .to_string();
    assert!(errors.contains("more values than are taken"), "{errors}");
}

#[test]
fn many_of_everything() {
    let mut text = String::from("servers: { a: { command: x } }\nagents:\n");
    for index in 0..2000 {
        writeln!(text, "- {{ name: n{}, modle: m }}", index / 2).unwrap();
    }
    try_it(&text);
    let name = "x".repeat(1_000_000);
    for text in [
        format!("{name}: {{}}\n"),
        format!("servers: {{ {name}: {{}} }}\n"),
        format!("variables: {{ {name}: 1 }}\ntools: [{{ name: \"${{{name}}}\" }}]\n"),
        format!("tools: [{{ name: {name}, server: {name}, tool: {name}, {name}: 1 }}]\n"),
        format!("agents: [{{ name: t, inject: [{name}], servers: [{name}] }}]\n"),
        format!(
            "tools: [{{ name: t, expect: [{{ target: {name}, matcher: {{ {name}: 1 }} }}] }}]\n"
        ),
        format!(
            "servers: {{ a: {{ command: \"{}\" }} }}\n",
            "${".repeat(100_000)
        ),
        format!(
            "servers: {{ a: {{ url: \"http://{}\" }} }}\n",
            "${".repeat(100_000)
        ),
        format!("tools: [{{ name: \"{}\" }}]\n", "$${a}${".repeat(100_000)),
    ] {
        try_it(&text);
    }
}

/// Aliases within the limits of YAML are values like others.
#[test]
fn aliases() {
    let text = "servers: { a: { command: x } }\ntools:\n  - &t { name: one, tool: x }\n  - { name: two, tool: x, args: &b { q: 1 } }\n  - { name: three, tool: x, args: *b }\n";
    assert_eq!(parse_yaml(text, "x", Path::new("")).unwrap().tools.len(), 3);
}

const VALUE: &str = "-?[0-9]{1,25}|\"[a-z0-9-]{0,8}\"|true|\\.nan|-\\.inf|\\[\\]|\\{\\}|\\[1, \"a\"\\]|\\{a: 1\\}|\\[\\{name: a\\}\\]|1e400|~|\"\\$\\{A\\}\"|\"\\$\\{\"";

proptest! {
    #[test]
    fn random_text(text in "[\\[\\]{}:,\"'#&*!|>%@\\-+ \\n\\ta-e0-9é\\x00\\x1b$]{0,200}") {
        try_it(&text);
    }

    /// Any value where another is expected.
    #[test]
    fn any_value_of_any_key(section in 0usize..9, key in 0usize..24, value in VALUE) {
        let section = SECTIONS[section];
        let Some(key) = (section.settings)().get(key) else { return Ok(()) };
        let name = key.name;
        let text = match section.name {
            "suite" => format!("{name}: {value}\n"),
            "server" => format!("servers: {{ a: {{ {name}: {value} }} }}\n"),
            "tool_test" => format!("tools: [{{ {name}: {value} }}]\n"),
            "negative_path" => format!("tools: [{{ negative_path: {{ {name}: {value} }} }}]\n"),
            "agent_test" => format!("agents: [{{ {name}: {value} }}]\n"),
            "load_test" => format!("load: [{{ {name}: {value} }}]\n"),
            "defaults" => format!("defaults: {{ {name}: {value} }}\n"),
            other => format!("agents: [{{ {other}: {{ {name}: {value} }} }}]\n"),
        };
        try_it(&text);
    }
}

#[test]
fn a_key_that_is_there_twice_hides_nothing() {
    let text = "servers: { a: { command: x, comand: y } }\n\
                tools:\n  - name: t\n    name: u\n    tol: x\n";
    let errors = parse_yaml(text, "suite.yml", Path::new("")).unwrap_err();
    let told = errors.to_string();
    for part in [
        "unknown key \"comand\"",
        "the key `name` is there twice",
        "suite.yml:4:5",
        "unknown key \"tol\"",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn of_very_many_problems_the_first_are_shown_and_all_are_kept() {
    let mut text = "servers: { a: { command: x } }\ntools:\n".to_owned();
    for number in 0..80 {
        let _ = writeln!(
            text,
            "  - {{ name: t{number}, tol: x, tool: y, server: b }}"
        );
    }
    let errors = parse_yaml(&text, "suite.yml", Path::new("")).unwrap_err();
    assert_eq!(errors.0.len(), 160);
    assert!(errors.0.is_sorted_by_key(|error| error.place));
    let told = errors.to_string();
    assert_eq!(told.matches("error: ").count(), ERRORS_MAX + 1);
    assert!(told.contains("110 more problems are not shown"), "{told}");
}
