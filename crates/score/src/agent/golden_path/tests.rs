use crate::gate::Gates;
use crate::gate::Scorecard;
use mcprove_trace::{AgentRun, AgentTrace};
use proptest::prelude::*;

use super::*;
use crate::testing;

const PENALTY: &str = "golden_path.penalty";
const EXTRA_STEPS: &str = "golden_path.extra_steps";
const BACKTRACKS: &str = "golden_path.backtracks";
const REPEATED_TOOLS: &str = "golden_path.repeated_tools";

fn calls(names: &str) -> Vec<ToolCall> {
    let names = names.split_whitespace();
    names
        .map(|name| ToolCall {
            name: name.into(),
            ..ToolCall::default()
        })
        .collect()
}

fn golden(names: &str) -> GoldenPathBlock {
    GoldenPathBlock {
        calls: names.split_whitespace().map(str::to_owned).collect(),
        ..GoldenPathBlock::default()
    }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-12
}

#[test]
fn counts_and_penalty() {
    // golden, recorded, extra steps, backtracks, repeats, penalty, passed
    let cases: &[(&str, &str, u64, u64, u64, f64, bool)] = &[
        ("get_weather", "get_weather", 0, 0, 0, 1.0, true),
        ("a b c", "a b c", 0, 0, 0, 1.0, true),
        ("", "", 0, 0, 0, 1.0, true),
        // Waste.
        ("a b", "a x b", 1, 0, 0, 1.0 / 1.5, false),
        ("a b", "a a b", 1, 0, 1, 0.5, false),
        ("a b c", "a b a c a", 2, 2, 0, 1.0 / 3.0, false),
        ("a", "a a a", 2, 0, 2, 1.0 / 3.0, false),
        ("", "a b", 2, 0, 0, 0.5, false),
        ("", "a b a a", 4, 1, 1, 0.25, false),
        // Wrong, but of the right length: no waste, and not passed.
        ("a b", "c d", 0, 0, 0, 1.0, false),
        ("a b", "b a", 0, 0, 0, 1.0, false),
        // Stopped early.
        ("a b c", "a b", 0, 0, 0, 1.0, false),
        ("a b c", "", 0, 0, 0, 1.0, false),
        // What the golden path does itself is not waste.
        ("a b a", "a b a", 0, 0, 0, 1.0, true),
        ("a a b", "a a b", 0, 0, 0, 1.0, true),
        ("a b a c a", "a b a c a", 0, 0, 0, 1.0, true),
        ("a b a", "a b a b", 1, 1, 0, 0.5, false),
        ("a b a b", "a b a b a", 1, 1, 0, 0.5, false),
        ("a a", "a a a", 1, 0, 1, 0.5, false),
        // The golden path returns to a, which does not excuse a return to b.
        ("a b a", "a b c b", 1, 1, 0, 0.5, false),
    ];
    for &(path, recorded, extra, backtracks, repeats, penalty, passed) in cases {
        let report = score_golden_path(&calls(recorded), &golden(path));
        let counts = (report.extra_steps, report.backtracks, report.repeated_tools);
        assert_eq!(counts, (extra, backtracks, repeats), "{path} / {recorded}");
        assert!(close(report.penalty, penalty), "{path} / {recorded}");
        assert_eq!(report.passed, passed, "{path} / {recorded}");
    }
}

#[test]
fn switches_leave_the_counts() {
    let recorded = calls("a b b a c");
    for (extra, backtracking, repeated, waste) in [
        (false, true, true, 4),
        (true, true, true, 2),
        (false, false, true, 3),
        (false, true, false, 3),
        (true, false, true, 1),
        (true, true, false, 1),
        (true, false, false, 0),
    ] {
        let block = GoldenPathBlock {
            allow_extra_steps: extra,
            penalize_backtracking: backtracking,
            penalize_repeated_tools: repeated,
            ..golden("a b c")
        };
        let report = score_golden_path(&recorded, &block);
        let counts = (report.extra_steps, report.backtracks, report.repeated_tools);
        assert_eq!(counts, (2, 1, 1));
        assert_eq!(report.waste, waste);
        assert!(close(report.penalty, penalty(waste)));
        assert_eq!(report.passed, waste == 0);
    }
}

#[test]
fn places_are_told() {
    let report = score_golden_path(&calls("a b b a x"), &golden("a b c"));
    let at = |step: &Option<GoldenStep>| step.as_ref().map(|step| step.call_index);
    assert_eq!(at(&report.first_extra), Some(2));
    assert_eq!(at(&report.first_repeat), Some(2));
    assert_eq!(at(&report.first_backtrack), Some(3));
    let missing = report.missing.unwrap();
    assert_eq!(
        (
            missing.golden_index,
            missing.name.as_str(),
            missing.searched_from
        ),
        (2, "c", 2)
    );
}

#[test]
fn a_step_may_have_its_server() {
    let made = |text: &str| -> Vec<ToolCall> {
        let words = text.split_whitespace();
        let apart = words.map(|word| word.split_once('/').unwrap_or(("", word)));
        apart
            .map(|(server, name)| ToolCall {
                name: name.into(),
                server: (!server.is_empty()).then(|| server.into()),
                ..ToolCall::default()
            })
            .collect()
    };
    for (path, recorded, passed) in [
        ("web__search fetch", "web/search x/fetch", true),
        ("mcp__web__search", "web/search", true),
        ("web__search", "wiki/search", false),
        ("web__search wiki__search", "web/search wiki/search", true),
        ("web__search wiki__search", "wiki/search web/search", false),
        (
            "web__search a web__search",
            "web/search x/a web/search",
            true,
        ),
        ("a__b", "a__b", true),
    ] {
        let report = score_golden_path(&made(recorded), &golden(path));
        assert_eq!(report.passed, passed, "{path} / {recorded}: {report:?}");
        assert_eq!(report.waste, 0, "{path} / {recorded}: {report:?}");
    }
    let gates = Gates::default().with(&GoldenPath, golden("web__search"));
    let card = scored(&["search"], &gates);
    assert_eq!((card.found.failures.len(), card.found.errors.len()), (0, 1));
    assert_eq!(card.run_value(0, PASSED), None);
}

fn scored(runs: &[&str], gates: &Gates) -> Scorecard {
    let runs = runs.iter().map(|names| AgentRun {
        tool_calls: calls(names),
        ..AgentRun::default()
    });
    let trace = AgentTrace::new(runs.collect());
    testing::gated(&GoldenPath, &trace, gates).unwrap()
}

#[test]
fn every_run_is_gated() {
    let gates = Gates::default().with(&GoldenPath, golden("a b c"));
    let card = scored(&["a b c", "a b a b c c", "a b"], &gates);
    assert_eq!(card.run_value(0, PASSED), Some(&json!(1)));
    assert_eq!(card.run_value(0, PENALTY), Some(&json!(1.0)));
    assert_eq!(card.run_value(1, EXTRA_STEPS), Some(&json!(3)));
    assert_eq!(card.run_value(1, BACKTRACKS), Some(&json!(2)));
    assert_eq!(card.run_value(1, REPEATED_TOOLS), Some(&json!(1)));
    assert_eq!(card.run_value(2, PASSED), Some(&json!(0)));
    assert_eq!(
        card.runs[2].found,
        ["Step 2 of the golden path, `c`, does not occur from call 2 on (of 2 calls)."]
    );
    assert_eq!(card.runs[1].found.len(), 3);
    let messages: Vec<(Option<usize>, String)> = card
        .found
        .failures
        .iter()
        .map(|failure| (failure.run, failure.message.rendered()))
        .collect();
    assert_eq!(
        messages,
        [
            (
                Some(1),
                "3 calls beyond the 3 steps of the golden path (first at call 2, `a`); 2 returns to an earlier tool (first at call 2, `a`); 1 repeat of the tool just called (first at call 5, `c`)".to_owned()
            ),
            (
                Some(2),
                "step 2 of the golden path, `c`, does not occur from call 2 on (of 2 calls)".to_owned()
            ),
        ]
    );
}

#[test]
fn without_the_block_nothing_is_told() {
    let card = scored(&["a"], &Gates::default());
    assert_eq!(card.run_value(0, PENALTY), None);
    assert!(card.found.failures.is_empty());
    assert!(Gates::default().get("golden_path").is_none());
}

#[test]
fn a_hundred_thousand_calls_are_no_matter() {
    let recorded: Vec<ToolCall> = (0..100_000)
        .map(|index| ToolCall {
            name: format!("tool{}", index % 997),
            ..ToolCall::default()
        })
        .collect();
    let report = score_golden_path(&recorded, &golden("tool0 tool1"));
    assert_eq!(report.extra_steps, 99_998);
    assert_eq!(report.backtracks, 100_000 - 997);
}

fn sequences() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-d]", 0..10)
}

proptest! {
    #[test]
    fn the_penalty_is_one_exactly_without_waste(waste in any::<u64>(), more in 1..1_000_u64) {
        prop_assert_eq!(penalty(waste) >= 1.0, waste == 0);
        prop_assert!((0.0..=1.0).contains(&penalty(waste)));
        prop_assert!(penalty(waste.saturating_add(more)) <= penalty(waste));
        prop_assert!(penalty(waste % 1_000_000 + more) < penalty(waste % 1_000_000));
    }

    #[test]
    fn the_golden_path_itself_passes(path in sequences()) {
        let path = path.join(" ");
        let report = score_golden_path(&calls(&path), &golden(&path));
        prop_assert!(report.passed, "{:?}", report);
        prop_assert_eq!(report.waste, 0);
    }

    #[test]
    fn a_passed_path_is_the_golden_path(path in sequences(), recorded in sequences()) {
        let report = score_golden_path(&calls(&recorded.join(" ")), &golden(&path.join(" ")));
        // Without extra steps and with every step in order, nothing else is left.
        prop_assert_eq!(report.passed, path == recorded);
        prop_assert_eq!(report.penalty >= 1.0, report.waste == 0);
    }

    #[test]
    fn one_more_call_never_lessens_waste(path in sequences(), recorded in sequences(), next in "[a-d]") {
        let block = golden(&path.join(" "));
        let before = score_golden_path(&calls(&recorded.join(" ")), &block);
        let mut longer = recorded;
        longer.push(next);
        let after = score_golden_path(&calls(&longer.join(" ")), &block);
        prop_assert!(after.waste >= before.waste);
        prop_assert!(after.penalty <= before.penalty);
    }
}
