//! Every block, as the specification writes it, and with every key.

use mcprove_settings::reader::Reader;
use mcprove_settings::tree::{Data, Document};
use serde_json::json;

use super::super::{from_document, is_block, names, parse_yaml, read_blocks};
use super::gates;
use crate::agent::call_limits::CallLimits;
use crate::agent::duplicate_writes::DuplicateWrites;
use crate::agent::golden_path::{GoldenPath, GoldenPathBlock};
use crate::agent::loops::{Loops, LoopsBlock};
use crate::agent::metrics;
use crate::agent::narrative::Narrative;
use crate::agent::permissions::Permissions;
use crate::agent::recovery::{Recovery, RecoveryBlock};
use crate::agent::trajectory::{ArgumentShape, Mode, Trajectory};
use crate::agent::trajectory_axes::TrajectoryAxes;

#[test]
fn the_blocks_are_those_of_the_metrics() {
    let names: Vec<&str> = names().collect();
    let mut expected: Vec<&str> = metrics().map(|metric| metric.name).collect();
    expected.push("expect");
    assert_eq!(names, expected);
    assert!(is_block("golden-path") && is_block("expect") && !is_block("model"));
}

#[test]
fn every_block_may_be_empty_that_needs_nothing() {
    for block in metrics() {
        for rest in [": {}", ":", ": null"] {
            for name in [block.name.to_owned(), block.name.replace('_', "-")] {
                let text = format!("{name}{rest}\n");
                let is_read = parse_yaml(&text, "gates.yml").is_ok();
                assert_eq!(is_read, block.needs.is_empty(), "{text}");
            }
        }
    }
    let read = gates("golden_path: { calls: [] }");
    let golden = read.settings(&GoldenPath).unwrap();
    assert!(!golden.allow_extra_steps);
    assert!(golden.penalize_backtracking && golden.penalize_repeated_tools);
    let read = gates("recovery: {}");
    let recovery = read.settings(&Recovery).unwrap();
    assert_eq!(recovery.max_detection_ms, 30_000);
    assert_eq!(recovery.max_recovery_ms, None);
    assert!(!recovery.require_clean_timeout && read.get("recovery").unwrap().expect.is_none());
    let read = gates("loops: {}");
    let loops = read.settings(&Loops).unwrap();
    let limits = (
        loops.max_repeats,
        loops.max_cycle_repeats,
        loops.max_stagnation,
    );
    assert_eq!(limits, (3, 3, 5));
    let read = gates("permissions: { deny: [a] }");
    let permissions = read.settings(&Permissions).unwrap();
    assert!(permissions.allow.is_none());
    let read = gates("trajectory: { calls: [] }");
    let trajectory = read.settings(&Trajectory).unwrap();
    assert!(trajectory.calls.is_empty(), "an empty reference is one");
    let expect = "expect: [{ target: call_limits.total_calls, matcher: { exact: 1 } }]";
    let limits = gates(&format!("call_limits: {{ {expect} }}"));
    assert!(
        limits
            .get("call_limits")
            .is_some_and(|block| block.expect.is_some())
    );
}

/// A number is whole whatever it looks like.
#[test]
fn whole_numbers_with_a_fraction() {
    let read = gates(
        "loops: { max_repeats: 3.0 }\ncall_limits: { total: 2.0, tools: { a: { min: 1e0 } } }",
    );
    assert_eq!(read.settings(&Loops).unwrap().max_repeats, 3);
    let limits = read.settings(&CallLimits).unwrap();
    assert_eq!(limits.total.unwrap().max, Some(2));
    assert_eq!(limits.tools.0["a"].min, Some(1));
}

/// Both spellings of a target, and ways into its value.
#[test]
fn targets_as_they_are_known() {
    for (written, known) in [
        ("stability.weakest-score", "stability.weakest_score"),
        ("golden-path.penalty", "golden_path.penalty"),
        ("reliability.decay-curve[1]", "reliability.decay_curve[1]"),
        (
            "reliability.decay_curve.length",
            "reliability.decay_curve.length",
        ),
        (
            "tool-calls[0].args[\\\"a-b\\\"]",
            "tool_calls[0].args[\"a-b\"]",
        ),
        ("tool_calls.length", "tool_calls.length"),
        ("final-response", "final_response"),
        ("[\\\"passed\\\"]", "[\"passed\"]"),
    ] {
        let text = format!("expect: [{{ target: \"{written}\", matcher: {{ exact: 1 }} }}]");
        assert_eq!(gates(&text).expect[0].target, known);
    }
}

/// The defaults that the reader fills in are those that the metrics have.
#[test]
fn the_defaults_are_those_of_the_metrics() {
    let read = gates("loops: {}\nrecovery: {}\ngolden_path: { calls: [] }\n");
    let (loops, recovery) = (LoopsBlock::default(), RecoveryBlock::default());
    assert_eq!(
        format!("{:?}", read.settings(&Loops).unwrap()),
        format!("{loops:?}")
    );
    assert_eq!(
        format!("{:?}", read.settings(&Recovery).unwrap()),
        format!("{recovery:?}")
    );
    let golden_path = GoldenPathBlock::default();
    assert_eq!(
        format!("{:?}", read.settings(&GoldenPath).unwrap()),
        format!("{golden_path:?}")
    );
}

#[test]
fn the_blocks_of_the_specification() {
    let read = gates(
        "trajectory:
  mode: subsequence
  calls:
    - name: get_weather
      args:
        subset: { city: Sacramento }
golden_path:
  calls: [get_weather]
trajectory_axes:
  # fetch_page must run after the search that produced its URL.
  dependencies:
    - producer: search
      consumer: fetch_page
  order:
    - first: authenticate
      second: search
stability:
  expect:
    - target: stability.score
      matcher: { schema: { minimum: 0.7 } }
    - target: stability.weakest_score
      matcher: { schema: { minimum: 0.5 } }
    - target: stability.variance
      matcher: { schema: { maximum: 0.05 } }
recovery:
  max_detection_ms: 3000 # per-call timeout budget
  max_recovery_ms: 5000 # total recovery budget (omit for unbounded)
  require_clean_timeout: true
narrative:
  mutating_tools: [run_job] # always treat run_job as a write
  readonly_tools: [post_search] # never treat post_search as a write
  max_divergence_score: 0.25
  expect:
    - target: narrative.claimed_but_absent
      matcher: { schema: { maximum: 0 } }
expect:
  - target: tool_calls[0].name
    matcher:
      exact: get_invoice
  - target: tool_results[0].is_error
    matcher:
      exact: false
",
    );
    let trajectory = read.settings(&Trajectory).unwrap();
    assert_eq!(trajectory.mode, Mode::Subsequence);
    let [call] = &trajectory.calls[..] else {
        panic!("{trajectory:?}");
    };
    assert_eq!((call.name.as_str(), &call.server), ("get_weather", &None));
    assert_eq!(
        call.args,
        ArgumentShape::Subset(json!({ "city": "Sacramento" }))
    );
    assert_eq!(read.settings(&GoldenPath).unwrap().calls, ["get_weather"]);
    let axes = read.settings(&TrajectoryAxes).unwrap();
    assert_eq!(axes.dependencies[0].producer, "search");
    assert_eq!(axes.dependencies[0].consumer, "fetch_page");
    assert_eq!(axes.order[0].first, "authenticate");
    assert_eq!(axes.order[0].second, "search");
    let stability = read.get("stability").unwrap().expect.as_ref().unwrap();
    let targets: Vec<&str> = stability.iter().map(|each| each.target.as_str()).collect();
    assert_eq!(
        targets,
        [
            "stability.score",
            "stability.weakest_score",
            "stability.variance"
        ]
    );
    assert!(stability[0].matcher.matches(&json!(0.7)).is_ok());
    assert!(stability[0].matcher.matches(&json!(0.69)).is_err());
    let recovery = read.settings(&Recovery).unwrap();
    assert_eq!(recovery.max_detection_ms, 3000);
    assert_eq!(recovery.max_recovery_ms, Some(5000));
    assert!(recovery.require_clean_timeout);
    let narrative = read.settings(&Narrative).unwrap();
    assert_eq!(narrative.mutating_tools, ["run_job"]);
    assert_eq!(narrative.readonly_tools, ["post_search"]);
    assert_eq!(narrative.max_divergence_score, Some(0.25));
    assert!(!narrative.llm_assisted);
    let expect = read.get("narrative").unwrap().expect.as_ref();
    assert_eq!(expect.unwrap().len(), 1);
    assert_eq!(read.expect.len(), 2);
    assert!(
        read.expect[1].matcher.matches(&json!(false)).is_ok(),
        "false is a boolean, not a text"
    );
}

#[test]
fn both_spellings() {
    let read = gates(
        "golden-path: { calls: [a], allow-extra-steps: true, penalize-backtracking: false }
trajectory: { mode: exact-sequence, calls: [a] }
call-limits: { total: 3 }
duplicate-writes: { idempotent-tools: [put] }
narrative: { max-divergence-score: 1, llm-assisted: true }
expect:
  - { target: final_response, matcher: { starts-with: Done } }
",
    );
    let golden = read.settings(&GoldenPath).unwrap();
    assert!(golden.allow_extra_steps && !golden.penalize_backtracking);
    assert!(golden.penalize_repeated_tools);
    assert_eq!(read.settings(&Trajectory).unwrap().mode, Mode::Strict);
    assert_eq!(
        read.settings(&DuplicateWrites).unwrap().idempotent_tools,
        ["put"]
    );
    let narrative = read.settings(&Narrative).unwrap();
    assert!(narrative.llm_assisted);
    assert_eq!(narrative.max_divergence_score, Some(1.0));
    assert!(read.expect[0].matcher.matches(&json!("Done.")).is_ok());
}

#[test]
fn calls_in_every_form() {
    let read = gates(
        "trajectory:
  calls:
    - search
    - { name: a, args: any }
    - { name: b, server: api, args: ignore }
    - { name: c, args: { exact: { q: x } } }
    - { name: d, args: { schema: { type: object } } }
    - { name: e, args: { one-of: [any, { exact: 1 }, { q: y }] } }
",
    );
    let trajectory = read.settings(&Trajectory).unwrap();
    assert_eq!(trajectory.mode, Mode::Strict);
    let calls = &trajectory.calls;
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["search", "a", "b", "c", "d", "e"]);
    assert_eq!(calls[0].args, ArgumentShape::Any);
    assert_eq!(calls[1].args, ArgumentShape::Any);
    assert_eq!(calls[2].args, ArgumentShape::Ignore);
    assert_eq!(calls[2].server.as_deref(), Some("api"));
    assert_eq!(calls[3].args, ArgumentShape::Exact(json!({ "q": "x" })));
    assert!(matches!(calls[4].args, ArgumentShape::Schema(_)));
    assert!(matches!(&calls[5].args, ArgumentShape::OneOf(shapes) if shapes.len() == 3));
}

#[test]
fn permissions_and_limits_in_every_form() {
    let read = gates(
        "permissions:
  allow:
    - read_*
    - tool: write_file
      server: files
      args:
        path: { starts_with: /tmp/ }
        options.mode: { one_of: [a, b] }
  deny: [delete_*]
call_limits:
  total: { max: 20 }
  tools: { search: 3, write: { min: 1, max: 1 }, \"odd-name\": { min: 2 } }
",
    );
    let permissions = read.settings(&Permissions).unwrap();
    let allow = permissions.allow.as_ref().unwrap();
    assert_eq!(
        (allow[0].tool.as_str(), allow[0].args.0.len()),
        ("read_*", 0)
    );
    assert_eq!(allow[1].server.as_deref(), Some("files"));
    let paths: Vec<&String> = allow[1].args.0.keys().collect();
    assert_eq!(paths, ["options.mode", "path"]);
    assert!(allow[1].args.0["path"].matches(&json!("/tmp/x")).is_ok());
    assert_eq!(permissions.deny[0].tool, "delete_*");
    let limits = read.settings(&CallLimits).unwrap();
    let total = limits.total.unwrap();
    assert_eq!((total.min, total.max), (None, Some(20)));
    let pairs: Vec<(&str, Option<u64>, Option<u64>)> = limits
        .tools
        .0
        .iter()
        .map(|(name, limit)| (name.as_str(), limit.min, limit.max))
        .collect();
    assert_eq!(
        pairs,
        [
            ("odd-name", Some(2), None),
            ("search", None, Some(3)),
            ("write", Some(1), Some(1))
        ]
    );
    let read = gates("permissions: { allow: [] }");
    let none = read.settings(&Permissions).unwrap();
    assert!(none.allow.as_ref().is_some_and(Vec::is_empty));
}

/// An agent of a suite has blocks beside keys of its own.
#[test]
fn blocks_among_other_entries() {
    let text = "name: x\nmodel: m\nnarrative: {}\ngolden-path: { calls: [1] }\n";
    let document = Document::from_yaml(text, "suite.yml").unwrap();
    let Data::Table(fields) = &document.root.data else {
        panic!("a map");
    };
    let mut reader = Reader::new(&document);
    let read = read_blocks(&mut reader, fields);
    assert!(read.get("narrative").is_some() && read.get("golden_path").is_some());
    let errors = reader.finish().unwrap_err().0;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].place.unwrap().to_string(), "4:24");
    // Alone they are unknown.
    let errors = from_document(&document).unwrap_err().0;
    assert_eq!(errors.len(), 3, "{errors:?}");
}
