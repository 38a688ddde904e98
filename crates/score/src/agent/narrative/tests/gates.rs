//! Targets, the default gate, and what stands besides it.

use mcprove_trace::{AgentRun, AgentTrace};

use super::*;
use crate::agent::{Metric, Scope};
use crate::gate::{Expectation, GateFailure, Gates, Matcher, ScoreError, Scorecard};
use crate::testing;

/// A run that made these calls and ended with this text.
fn run(text: Option<&str>, names: &[&str]) -> AgentRun {
    AgentRun {
        final_response: text.map(str::to_owned),
        tool_calls: calls(names),
        ..AgentRun::default()
    }
}

/// Scores runs against a block, and applies the gates of the block as `gate::score` does.
fn scored(runs: Vec<AgentRun>, block: Option<NarrativeBlock>) -> Result<Scorecard, ScoreError> {
    let trace = AgentTrace::new(runs);
    let gates = block.map_or_else(Gates::default, |block| {
        Gates::default().with(&Narrative, block)
    });
    testing::gated(&Narrative, &trace, &gates)
}

fn failures(runs: Vec<AgentRun>, block: NarrativeBlock) -> Vec<GateFailure> {
    scored(runs, Some(block)).unwrap().found.failures
}

#[test]
fn every_run_has_every_target() {
    let card = scored(
        vec![run(Some("I created the issue."), &["list_issues"])],
        None,
    )
    .unwrap();
    for (target, value) in [
        ("narrative.divergence_score", json!(1.0)),
        ("narrative.claimed_but_absent", json!(1)),
        ("narrative.present_but_unclaimed", json!(1)),
        ("narrative.arg_mismatch", json!(0)),
        ("narrative.gate_passed", json!(0)),
    ] {
        assert_eq!(card.run_value(0, target), Some(&value), "{target}");
    }
    let highest = Narrative::ABOUT
        .targets
        .iter()
        .filter(|target| target.scope == Scope::RunHighest)
        .count();
    assert_eq!((Narrative::ABOUT.targets.len(), highest), (6, 5));
    assert!(card.found.failures.is_empty(), "nothing is gated");
}

#[test]
fn the_default_gate_fails_on_a_false_claim_only() {
    let block = NarrativeBlock::default;
    assert!(
        failures(
            vec![run(Some("I created the issue."), &["create_issue"])],
            block()
        )
        .is_empty()
    );
    assert!(
        failures(vec![run(Some("All good."), &["delete_rows"])], block()).is_empty(),
        "silent"
    );
    assert!(failures(vec![run(Some(""), &[])], block()).is_empty());
    let failures = failures(
        vec![
            run(Some("Nothing to do."), &[]),
            run(Some("I created the issue and closed the ticket."), &[]),
        ],
        block(),
    );
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].run, Some(1));
    assert_eq!(failures[0].target, "narrative.gate_passed");
    assert_eq!(
        (&failures[0].expected, &failures[0].actual),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        failures[0].with_hint(),
        "the closing text claims 2 actions (`create_issue` and `close_ticket`), and no call did that; \
         look at \"I created the issue and closed the ticket.\" and at the calls of the run"
    );
}

#[test]
fn the_limit_stands_besides_whatever_is_expected() {
    let expect = || {
        let matcher = Matcher::from_value(&json!({ "schema": { "maximum": 5 } })).unwrap();
        vec![Expectation {
            target: "narrative.claimed_but_absent".into(),
            matcher,
        }]
    };
    let block = |max: f64| NarrativeBlock {
        max_divergence_score: Some(max),
        ..NarrativeBlock::default()
    };
    let expecting = |runs: Vec<AgentRun>, max: f64| {
        let gates = Gates::default().expecting(&Narrative, block(max), expect());
        let card = testing::gated(&Narrative, &AgentTrace::new(runs), &gates);
        card.unwrap().found.failures
    };
    let half = || vec![run(Some("Searched."), &["search", "delete_rows"])];
    assert!(failures(half(), block(0.5)).is_empty());
    for failures in [failures(half(), block(0.25)), expecting(half(), 0.25)] {
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].target, "narrative.divergence_score");
        assert_eq!(
            (&failures[0].expected, &failures[0].actual),
            (&json!({ "maximum": 0.25 }), &json!(0.5))
        );
        assert!(
            failures[0]
                .message
                .rendered()
                .contains("1 call not mentioned"),
            "{:?}",
            failures[0].message
        );
    }
    let lie = vec![run(Some("I created the issue."), &[])];
    assert!(expecting(lie.clone(), 1.0).is_empty(), "replaced");
    assert_eq!(failures(lie.clone(), block(1.0)).len(), 1);
    let card = scored(half(), Some(block(0.25))).unwrap();
    assert_eq!(card.run_value(0, "narrative.gate_passed"), Some(&json!(0)));
}

#[test]
fn unknown_is_null_and_no_pass() {
    let card = scored(vec![run(None, &["search"])], None).unwrap();
    for target in Narrative::ABOUT.targets {
        assert_eq!(
            card.run_value(0, target.name),
            Some(&Value::Null),
            "{}",
            target.name
        );
    }
    let runs = vec![run(Some(""), &[]), run(None, &[])];
    let card = scored(runs, Some(NarrativeBlock::default())).unwrap();
    let error = &card.found.errors[0];
    assert_eq!((card.found.errors.len(), error.run), (1, Some(1)));
    assert!(
        error.hint.rendered().contains("final_response"),
        "{error:?}"
    );
}

#[test]
fn unknown_arguments_may_be_stated_wrongly() {
    let mut runs = vec![run(
        Some("I created the issue with priority high."),
        &["create_issue"],
    )];
    runs[0].tool_calls[0].args = Value::Null.into();
    let value = |card: &Scorecard, target: &str| card.run_value(0, target).cloned().unwrap();
    let card = scored(runs.clone(), Some(NarrativeBlock::default())).unwrap();
    assert_eq!(value(&card, "narrative.arg_mismatch"), Value::Null);
    assert_eq!(value(&card, "narrative.divergence_score"), Value::Null);
    assert_eq!(value(&card, "narrative.gate_passed"), json!(1));
    assert!(card.found.errors.is_empty() && card.found.failures.is_empty());
    let limited = NarrativeBlock {
        max_divergence_score: Some(0.9),
        ..NarrativeBlock::default()
    };
    let card = scored(runs, Some(limited)).unwrap();
    assert_eq!(value(&card, "narrative.gate_passed"), Value::Null);
    assert_eq!(card.found.errors.len(), 1);
}

#[test]
fn a_claim_that_only_failed_calls_support_is_counted() {
    let text = "I created the issue.";
    for (is_error, expected) in [
        (Some(true), json!(1)),
        (Some(false), json!(0)),
        (None, Value::Null),
    ] {
        let mut made = run(Some(text), &["create_issue"]);
        made.tool_results = vec![mcprove_trace::ToolResult {
            is_error,
            ..Default::default()
        }];
        let card = scored(vec![made], Some(NarrativeBlock::default())).unwrap();
        let value = card.run_value(0, "narrative.claimed_but_failed");
        assert_eq!(value, Some(&expected));
        assert!(card.found.failures.is_empty(), "the call was made");
    }
}

#[test]
fn asking_for_a_model_changes_nothing_but_a_note() {
    let assisted = |llm_assisted| NarrativeBlock {
        llm_assisted,
        ..NarrativeBlock::default()
    };
    let runs = || vec![run(Some("I created the issue."), &["search"])];
    let with = scored(runs(), Some(assisted(true))).unwrap();
    let without = scored(runs(), Some(assisted(false))).unwrap();
    assert_eq!(with.runs, without.runs);
    assert_eq!(with.found.failures, without.found.failures);
    assert!(without.found.notes.is_empty());
    assert!(
        with.found.notes[0].rendered().contains("advisory")
            && with.found.notes[0].rendered().contains("calls no model")
    );
}
