//! Variables of the suite and of the environment.

use std::fmt::Write as _;
use std::path::Path;

use mcprove_settings::tree::Document;
use serde_json::json;

use super::{errors, plan};
use crate::file::from_document;
use crate::plan::Environment;

const SUITE: &str = r#"
variables:
  city: Sacramento
  days: 3
  ratio: 0.5
  is_metric: true
  args: { city: "${city}", tags: [a, b] }
  greeting: "from ${city} and ${HOME}"
  tries: 4
servers:
  api:
    command: [python, -m, "${city}_mcp"]
    env: { LOG: "${city}-${days}", TOKEN: "${TOKEN}" }
tools:
  - name: "weather in ${city}"
    tool: weather
    args: { place: "${city}", days: "${days}", note: "${days} days, $${city}, ${HOME}", ratio: "${ratio}" }
    timeout_ms: "${days}"
    expect:
      - { target: "result.${city}", matcher: { exact: "${args}" } }
      - { target: result.price, matcher: { exact: "$${5}" } }
  - name: whole
    tool: weather
    args: ${args}
agents:
  - name: asks
    model: m
    prompt: "hello ${greeting}"
    runs: ${tries}
"#;

#[test]
fn those_of_the_suite_are_filled_in_with_their_types() {
    let plan = plan(SUITE);
    let test = &plan.tools[0];
    assert_eq!(test.head.name, "weather in Sacramento");
    assert_eq!(
        test.args,
        json!({
            "place": "Sacramento",
            "days": 3,
            "note": "3 days, $${city}, ${HOME}",
            "ratio": 0.5,
        })
    );
    assert_eq!(test.timeout.as_millis(), 3);
    assert_eq!(test.expect[0].target, "result.Sacramento");
    // Nothing fills these in later, so the escape is undone now.
    assert!(format!("{:?}", test.expect[1].matcher).contains("\"${5}\""));
    assert_eq!(
        plan.tools[1].args,
        json!({ "city": "Sacramento", "tags": ["a", "b"] })
    );
    assert_eq!(plan.agents[0].runs, 4);
    assert_eq!(
        plan.agents[0].prompts,
        ["hello from Sacramento and ${HOME}"]
    );
    // And what is left is filled in when it is used.
    let environment = Environment::new(|name| (name == "HOME").then(|| "/root".to_owned()));
    let note = environment.fill(test.args["note"].as_str().unwrap());
    assert_eq!(note.unwrap(), "3 days, ${city}, /root");
}

#[test]
fn places_are_those_where_they_are_used() {
    let text = SUITE.replace("tries: 4", "tries: many");
    let errors = errors(&text).0;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].place.unwrap().to_string(), "29:11");
    assert!(
        errors[0].texts().0.contains("not \"many\""),
        "{}",
        errors[0]
    );
}

#[test]
fn what_nobody_sets_is_a_warning() {
    let document = Document::from_yaml(SUITE, "suite.yml").unwrap();
    let environment = Environment::new(|name| (name == "HOME").then(String::new));
    let plan = from_document(&document, Path::new(""), Some(&environment)).unwrap();
    assert_eq!(
        plan.warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [
            "suite.yml:13:43: the variable \"TOKEN\" is neither under `variables` nor in the environment"
        ]
    );
    let close = SUITE.replace("${TOKEN}", "${citi}");
    let document = Document::from_yaml(&close, "suite.yml").unwrap();
    let plan = from_document(&document, Path::new(""), Some(&environment)).unwrap();
    assert!(
        plan.warnings[0]
            .to_string()
            .ends_with("did you mean \"city\"?"),
        "{:?}",
        plan.warnings
    );
    let otherwise = SUITE.replace("${TOKEN}", "${TOKEN:-none}");
    let document = Document::from_yaml(&otherwise, "suite.yml").unwrap();
    let plan = from_document(&document, Path::new(""), Some(&environment)).unwrap();
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

/// Each names the one before it many times.
#[test]
fn variables_that_grow_without_end_are_refused() {
    let mut text = format!("variables:\n  v0: {}\n", "x".repeat(1000));
    for level in 1..12 {
        let names = format!("${{v{}}}", level - 1).repeat(10);
        writeln!(text, "  v{level}: \"{names}\"").unwrap();
    }
    text.push_str(
        "servers: { a: { command: x } }\ntools: [{ name: t, tool: x, args: { a: \"${v11}\" } }]\n",
    );
    let errors = errors(&text).0;
    assert!(
        errors[0]
            .texts()
            .0
            .contains("variables add more than 16 MiB"),
        "{}",
        errors[0]
    );
    let mut text = "variables:\n  v0: [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let names = format!("\"${{v{}}}\", ", level - 1).repeat(10);
        writeln!(text, "  v{level}: [{}]", names.trim_end_matches(", ")).unwrap();
    }
    text.push_str("servers: { a: { command: x } }\ntools: [{ name: t, tool: x }]\n");
    let errors = super::errors(&text).0;
    assert!(
        errors[0]
            .texts()
            .0
            .contains("variables add more than 16 MiB"),
        "{}",
        errors[0]
    );
}

#[test]
fn the_calls_of_loads_are_filled_in_when_they_are_made() {
    let text = |calls: &str| {
        format!(
            "servers: {{ a: {{ command: x }} }}\nload:\n  - name: l\n    scenario: {{ type: sustained, {calls} }}\n"
        )
    };
    let planned = plan(&text(
        "tool_call: [{ name: t, args: { q: \"${TOKEN} $${x}\" } }]",
    ));
    let calls = &planned.load[0].config.scenario.tool_calls;
    assert_eq!(calls[0].args, json!({ "q": "${TOKEN} $${x}" }));
    let steps = |steps: &str| {
        let pattern = format!("pattern: [{{ name: p, steps: [{steps}] }}]");
        text(&pattern).replace("sustained", "pattern")
    };
    let mut planned = plan(&steps(
        "{ list: tools }, { tool: t, args: { q: \"${TOKEN} $${x}\" } }",
    ));
    let scenario = &mut planned.load[0].config.scenario;
    let calls: Vec<_> = scenario.calls_mut().map(|call| call.args.clone()).collect();
    assert_eq!(calls, [json!({ "q": "${TOKEN} $${x}" })]);
    let told = "nothing is filled in here from the environment";
    for bad in [
        text("tool_call: [{ name: \"${TOKEN}\" }]"),
        steps("{ tool: \"${TOKEN}\" }"),
    ] {
        let bad = errors(&bad);
        assert!(bad.to_string().contains(told), "{bad}");
    }
}

#[test]
fn variables_may_stand_in_any_order() {
    let plan = plan(
        "variables: { url: \"${host}/${path}\", path: \"${version}/mcp\", host: h, version: 2 }\n\
         servers: { a: { command: [x, \"${url}\"] } }\n\
         tools: [{ name: \"at ${url}\", tool: t }]\n",
    );
    assert_eq!(plan.tools[0].head.name, "at h/2/mcp");
}

#[test]
fn what_is_empty_gives_way_to_what_stands_after_it() {
    let plan = plan(
        "variables: { empty: \"\", nothing: , full: x }\n\
         servers: { a: { command: x } }\n\
         tools: [{ name: t, tool: t, args: { a: \"${empty:-d}\", b: \"${nothing:-d}!\", c: \"${full:-d}\", \"$${k}\": 1 } }]\n",
    );
    assert_eq!(
        plan.tools[0].args,
        json!({ "a": "d", "b": "d!", "c": "x", "${k}": 1 })
    );
}
