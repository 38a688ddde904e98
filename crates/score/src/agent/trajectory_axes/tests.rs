use crate::gate::Gates;
use crate::gate::Scorecard;
use mcprove_trace::{AgentRun, AgentTrace};
use proptest::prelude::*;

use super::*;
use crate::testing;

fn calls(names: &str) -> Vec<ToolCall> {
    let names = names.split_whitespace();
    names
        .map(|name| ToolCall {
            name: name.into(),
            ..ToolCall::default()
        })
        .collect()
}

fn dependency(producer: &str, consumer: &str) -> Dependency {
    Dependency {
        producer: producer.into(),
        consumer: consumer.into(),
    }
}

fn order(first: &str, second: &str) -> Order {
    Order {
        first: first.into(),
        second: second.into(),
    }
}

/// The block of the documentation.
fn seed() -> TrajectoryAxesBlock {
    TrajectoryAxesBlock {
        dependencies: vec![dependency("search", "fetch_page")],
        order: vec![order("authenticate", "search")],
    }
}

#[test]
fn the_example_of_the_documentation() {
    for (recorded, dependency, order) in [
        ("authenticate search fetch_page", 100, 100),
        // Retries, extra and reordered calls are fine.
        ("authenticate search search log fetch_page log", 100, 100),
        ("search authenticate search fetch_page", 100, 100),
        ("fetch_page authenticate search fetch_page", 100, 100),
        // The page is older than the last search.
        ("authenticate search fetch_page search", 0, 100),
        ("search authenticate fetch_page", 100, 0),
        // A name that is absent.
        ("search fetch_page", 100, 0),
        ("authenticate fetch_page", 0, 0),
        ("authenticate search", 0, 100),
        ("", 0, 0),
    ] {
        let report = score_trajectory_axes(&calls(recorded), &seed());
        assert_eq!(report.dependency.satisfaction, dependency, "{recorded}");
        assert_eq!(report.order.satisfaction, order, "{recorded}");
    }
}

#[test]
fn an_empty_axis_is_satisfied() {
    for recorded in ["", "a b"] {
        let report = score_trajectory_axes(&calls(recorded), &TrajectoryAxesBlock::default());
        assert_eq!(report.dependency.satisfaction, 100);
        assert_eq!(report.order.satisfaction, 100);
    }
}

#[test]
fn percents_are_rounded_down() {
    let edges = vec![
        dependency("a", "b"),
        dependency("a", "c"),
        dependency("b", "a"),
    ];
    let block = TrajectoryAxesBlock {
        dependencies: edges,
        ..TrajectoryAxesBlock::default()
    };
    let report = score_trajectory_axes(&calls("a b c"), &block);
    assert_eq!(report.dependency.satisfaction, 66);
    assert_eq!(percent(1, 3), 33);
    assert_eq!(percent(0, 0), 100);
    assert_eq!(percent(usize::MAX, usize::MAX), 100);
}

#[test]
fn a_tool_and_itself() {
    let block = TrajectoryAxesBlock {
        dependencies: vec![dependency("a", "a")],
        order: vec![order("a", "a")],
    };
    for (recorded, order) in [("", 0), ("a", 0), ("a b a", 100)] {
        let report = score_trajectory_axes(&calls(recorded), &block);
        assert_eq!(report.dependency.satisfaction, 0, "{recorded}");
        assert_eq!(report.order.satisfaction, order, "{recorded}");
    }
}

#[test]
fn reasons_name_tools_and_calls() {
    let report = score_trajectory_axes(&calls("fetch_page search"), &seed());
    assert_eq!(
        report.dependency.unsatisfied,
        [
            "`fetch_page` was last called at call 0, not after `search`, whose output it reads and which was last called at call 1"
        ]
    );
    assert_eq!(
        report.order.unsatisfied,
        ["`authenticate` was never called, but must come before `search`"]
    );
    let many = TrajectoryAxesBlock {
        order: vec![order("a", "b"); UNSATISFIED_KEPT + 5],
        ..TrajectoryAxesBlock::default()
    };
    let report = score_trajectory_axes(&[], &many);
    assert_eq!(report.order.unsatisfied.len(), UNSATISFIED_KEPT);
    assert_eq!(report.order.edges, UNSATISFIED_KEPT + 5);
}

fn scored(runs: &[&str], gates: &Gates) -> Scorecard {
    let runs = runs.iter().map(|names| AgentRun {
        tool_calls: calls(names),
        ..AgentRun::default()
    });
    let trace = AgentTrace::new(runs.collect());
    testing::gated(&TrajectoryAxes, &trace, gates).unwrap()
}

#[test]
fn every_run_is_gated() {
    let gates = Gates::default().with(&TrajectoryAxes, seed());
    let card = scored(
        &["authenticate search fetch_page", "authenticate search", ""],
        &gates,
    );
    assert_eq!(card.run_value(0, DEPENDENCY), Some(&json!(100)));
    assert_eq!(card.run_value(1, DEPENDENCY), Some(&json!(0)));
    assert_eq!(card.run_value(1, ORDER), Some(&json!(100)));
    let failed: Vec<(Option<usize>, &str)> = card
        .found
        .failures
        .iter()
        .map(|failure| (failure.run, failure.target.as_str()))
        .collect();
    assert_eq!(
        failed,
        [
            (Some(1), DEPENDENCY),
            (Some(2), DEPENDENCY),
            (Some(2), ORDER)
        ]
    );
    assert_eq!(
        card.found.failures[0].message,
        "0 of 1 edges hold (0%): `fetch_page` was never called, but must come after `search`"
    );
}

#[test]
fn what_is_broken_is_told_once() {
    let gates = Gates::default().with(&TrajectoryAxes, seed());
    let card = scored(&["", "authenticate search fetch_page"], &gates);
    assert_eq!(
        card.runs[0].found,
        [
            "`search` and `fetch_page` were never called.",
            "`authenticate` and `search` were never called.",
        ]
    );
    let details = &card.runs[0].details;
    assert_eq!(details.keys().collect::<Vec<_>>(), ["trajectory_axes"]);
    assert_eq!(details["trajectory_axes"]["order"]["satisfaction"], 0);
    assert!(card.runs[1].found.is_empty() && card.runs[1].details.is_empty());
}

#[test]
fn a_tool_may_have_its_server() {
    let mut made = calls("search search fetch_page");
    for (call, server) in made.iter_mut().zip(["web", "wiki", "web"]) {
        call.server = Some(server.into());
    }
    for (producer, consumer, holds) in [
        ("search", "fetch_page", true),
        ("web__search", "web__fetch_page", true),
        ("web__search", "wiki__search", true),
        ("wiki__search", "mcp__web__search", false),
        ("web__search", "wiki__fetch_page", false),
    ] {
        let block = TrajectoryAxesBlock {
            dependencies: vec![dependency(producer, consumer)],
            ..TrajectoryAxesBlock::default()
        };
        let report = score_trajectory_axes(&made, &block);
        assert_eq!(
            report.dependency.satisfied == 1,
            holds,
            "{producer} {consumer}"
        );
    }
    let gates = Gates::default().with(
        &TrajectoryAxes,
        TrajectoryAxesBlock {
            order: vec![order("web__search", "fetch_page")],
            ..TrajectoryAxesBlock::default()
        },
    );
    let card = scored(&["search fetch_page"], &gates);
    assert_eq!((card.found.failures.len(), card.found.errors.len()), (0, 1));
}

#[test]
fn without_the_block_nothing_is_told() {
    let card = scored(&["a"], &Gates::default());
    assert_eq!(card.run_value(0, DEPENDENCY), None);
    assert!(card.found.failures.is_empty());
    assert!(Gates::default().get("trajectory_axes").is_none());
}

proptest! {
    #[test]
    fn a_percent_whatever_is_called(
        recorded in prop::collection::vec("[a-d]", 0..12),
        edges in prop::collection::vec(("[a-e]", "[a-e]"), 0..8),
    ) {
        let recorded = calls(&recorded.join(" "));
        let block = TrajectoryAxesBlock {
            dependencies: edges.iter().map(|(a, b)| dependency(a, b)).collect(),
            order: edges.iter().map(|(a, b)| order(a, b)).collect(),
            };
        let report = score_trajectory_axes(&recorded, &block);
        prop_assert!(report.dependency.satisfaction <= 100);
        prop_assert!(report.order.satisfaction <= 100);
        // A dependency that holds has its producer before the last consumer, so that the order holds.
        prop_assert!(report.dependency.satisfied <= report.order.satisfied);

        // An unrelated call anywhere changes nothing.
        for place in 0..=recorded.len() {
            let mut more = recorded.clone();
            more.insert(place, calls("unrelated").remove(0));
            let again = score_trajectory_axes(&more, &block);
            prop_assert_eq!(again.dependency.satisfaction, report.dependency.satisfaction);
            prop_assert_eq!(again.order.satisfaction, report.order.satisfaction);
        }
    }
}
