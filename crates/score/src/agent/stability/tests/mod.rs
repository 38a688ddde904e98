use crate::gate::Expectation;
use crate::gate::Gates;
use crate::testing;
use mcprove_trace::{AgentTrace, Conversation, Tokens, ToolCall, Turn};
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use super::consistency::Limits;
use super::*;
use crate::gate::Matcher;

mod gates;

fn call(name: &str, args: Value) -> ToolCall {
    ToolCall {
        name: name.into(),
        args: args.into(),
        ..ToolCall::default()
    }
}

/// A run of these calls: `search` without arguments, `search:1` with an argument, `search:?` with
/// unknown ones.
fn run(calls: &str) -> AgentRun {
    let calls = calls
        .split_whitespace()
        .map(|word| match word.split_once(':') {
            Some((name, "?")) => call(name, Value::Null),
            Some((name, argument)) => call(name, json!({ "q": argument })),
            None => call(word, json!({})),
        });
    AgentRun {
        tool_calls: calls.collect(),
        ..AgentRun::default()
    }
}

/// The same with turns of the assistant of these lengths (0: it only calls tools), and tokens.
fn session(calls: &str, lengths: &[usize], tokens: u64) -> AgentRun {
    let turn = |length: &usize| Turn {
        role: "assistant".into(),
        text: (*length > 0).then(|| "é".repeat(*length)),
    };
    AgentRun {
        conversation: Some(Conversation {
            tokens: Some(Tokens {
                total: Some(tokens),
                ..Tokens::default()
            }),
            turns: Some(lengths.iter().map(turn).collect()),
            ..Conversation::default()
        }),
        ..run(calls)
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-12
}

fn scored(runs: Vec<AgentRun>, gates: &Gates) -> Result<Scorecard, ScoreError> {
    let trace = AgentTrace::new(runs);
    testing::gated(&Stability, &trace, gates)
}

fn with_block() -> Gates {
    Gates::default().with(&Stability, ())
}

#[test]
fn the_four_formulas() {
    // Calls, lengths, tokens; tool usage, responses, redundancy, cost.
    let cases: [(&str, &[usize], u64, [f64; 4]); 12] = [
        ("a a a", &[1, 1], 0, [1.0, 1.0, 1.0 / 3.0, 1.0]),
        ("a:1 a:2 a:3", &[1, 1], 0, [1.0, 1.0, 1.0, 1.0]),
        ("a b c d", &[1, 1], 0, [0.0, 1.0, 1.0, 1.0]),
        ("a b a b a", &[1, 1], 0, [0.75, 1.0, 0.4, 1.0]),
        ("a b", &[1, 1], 0, [0.0, 1.0, 1.0, 1.0]),
        ("a", &[1, 1], 2_000, [1.0, 1.0, 1.0, 1.0]),
        ("a", &[1, 1], 8_000, [1.0, 1.0, 1.0, 0.25]),
        ("a a", &[1, 1], 8_000, [1.0, 1.0, 0.5, 0.25]),
        ("a:1 a:2", &[1, 1], 8_000, [1.0, 1.0, 1.0, 0.5]),
        // Without calls nothing is spent on calls.
        ("", &[1, 1], 1_000_000, [1.0, 1.0, 1.0, 1.0]),
        // 10 and 30: mean 20, deviation 10.
        ("a", &[10, 30], 0, [1.0, 0.5, 1.0, 1.0]),
        // Turns that only call tools have no length; 1, 1, 1, 97 vary by more than their mean.
        ("a", &[0, 1, 0, 1, 1, 97], 0, [1.0, 0.0, 1.0, 1.0]),
    ];
    for (calls, lengths, tokens, expected) in cases {
        let scored = score_session(&session(calls, lengths, tokens));
        let actual = [
            scored.tool_usage_stability,
            scored.response_consistency.unwrap(),
            scored.redundancy.unwrap(),
            scored.cost_per_progress.unwrap(),
        ];
        for (actual, expected) in actual.into_iter().zip(expected) {
            assert!(
                close(actual, expected),
                "{calls} {lengths:?} {tokens}: {scored:?}"
            );
        }
        let weakest = expected.into_iter().fold(1.0, f64::min);
        assert!(close(scored.weakest_score, weakest), "{scored:?}");
    }
}

#[test]
fn shuffled_keys_are_a_repeat_and_another_server_is_not() {
    let mut repeated = session("", &[1, 1], 0);
    repeated.tool_calls = vec![
        call("a", serde_json::from_str(r#"{"x":1,"y":2}"#).unwrap()),
        call("a", serde_json::from_str(r#"{"y":2,"x":1.0}"#).unwrap()),
    ];
    assert_eq!(score_session(&repeated).redundancy, Some(0.5));
    repeated.tool_calls[1].server = Some("other".into());
    assert_eq!(score_session(&repeated).redundancy, Some(1.0));
}

#[test]
fn one_turn_or_nothing_scores_one_everywhere() {
    let all = SessionStability {
        tool_usage_stability: 1.0,
        response_consistency: Some(1.0),
        redundancy: Some(1.0),
        cost_per_progress: Some(1.0),
        weakest_score: 1.0,
    };
    let mut one_turn = session("a b c a a", &[5], 900_000);
    let turns = one_turn
        .conversation
        .as_mut()
        .unwrap()
        .turns
        .as_mut()
        .unwrap();
    for role in ["user", "tool", "system"] {
        turns.push(Turn {
            role: role.into(),
            text: Some("x".into()),
        });
    }
    for recorded in [
        AgentRun::default(),
        one_turn,
        session("a a", &[], 900_000),
        session("a a", &[0], 900_000),
        session("", &[], 0),
    ] {
        assert_eq!(score_session(&recorded), all, "{recorded:?}");
    }
    // Two turns that only call tools are two turns.
    assert!(score_session(&session("a a", &[0, 0], 0)).weakest_score < 1.0);
}

#[test]
fn what_is_unknown_is_left_out() {
    let scored = score_session(&run("a a"));
    assert_eq!(scored.response_consistency, None);
    assert_eq!(scored.cost_per_progress, None);
    assert!(close(scored.weakest_score, 0.5));
    let mut half = session("a a", &[10, 30], 0);
    half.conversation.as_mut().unwrap().tokens = Some(Tokens {
        prompt: Some(9),
        ..Tokens::default()
    });
    let scored = score_session(&half);
    assert_eq!(scored.cost_per_progress, None, "the completion is missing");
    assert!(scored.response_consistency.is_some());
}

#[test]
fn unknown_arguments_are_not_guessed() {
    // Calls, tokens; redundancy, cost.
    let cases = [
        ("a:? b:1", 0, (Some(1.0), Some(1.0))),
        ("a:? a:?", 1_000, (None, Some(1.0))),
        ("a:? a:1", 8_000, (None, None)),
        ("a:? b:1 b:1", 8_000, (Some(2.0 / 3.0), Some(0.5))),
    ];
    for (calls, tokens, expected) in cases {
        let scored = score_session(&session(calls, &[1, 1], tokens));
        let actual = (scored.redundancy, scored.cost_per_progress);
        assert_eq!(actual, expected, "{calls}");
    }
    let consistent = |runs: &[&str]| {
        let runs: Vec<AgentRun> = runs.iter().map(|calls| run(calls)).collect();
        score_consistency(&runs).unwrap()
    };
    let unknown = consistent(&["a:1 b:?", "a:1 b:1", "a:1 c"]);
    assert_eq!(unknown.argument_consistency, None);
    assert!(unknown.has_unknown_arguments);
    assert_eq!(unknown.early_divergence, Some(true), "names tell it");
    assert!(unknown.tool_sequence_similarity.is_some());
    // What is not compared need not be known.
    assert_eq!(
        consistent(&["b:? a:1", "c a:1"]).argument_consistency,
        Some(1.0)
    );

    let runs = vec![
        session("a:? a:?", &[1, 1], 1),
        session("a:? a:?", &[1, 1], 1),
    ];
    let card = scored(runs, &with_block()).unwrap();
    assert_eq!(card.run_value(0, REDUNDANCY), Some(&Value::Null));
    assert_eq!(card.value(ARGUMENTS), Some(&Value::Null));
    assert_eq!(
        card.found.notes,
        [
            "stability.redundancy is unknown for runs 0 and 1, and left out of the weakest score: the trace does not have all arguments.",
            "stability.argument_consistency is unknown: the trace does not have the arguments of all calls that runs have in common.",
        ]
    );
}

#[test]
fn one_turn_with_many_calls_is_said() {
    let many = session(&"a ".repeat(1_000), &[5], 0);
    let few = session("a a a", &[5], 0);
    let card = scored(vec![many, few], &Gates::default()).unwrap();
    assert_eq!(card.run_value(0, WEAKEST), Some(&json!(1.0)));
    assert_eq!(
        card.found.notes,
        [
            "Every sub-score of stability is 1 for run 0 by definition: there are fewer than two turns of the assistant, whatever the calls are. Look at loops for calls that are repeated."
        ]
    );
}

/// A gate at the very score of every run holds.
#[test]
fn equal_runs_pass_a_gate_at_their_score() {
    for times in 2..=12 {
        // Seven of ten calls are different.
        let calls = "a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:7 a:7 a:7";
        let runs = vec![session(calls, &[1, 1], 0); times];
        let gates = Gates::default().expecting(
            &Stability,
            (),
            vec![
                Expectation {
                    target: SCORE.into(),
                    matcher: Matcher::from_value(&json!({ "schema": { "minimum": 0.7 } })).unwrap(),
                },
                Expectation {
                    target: VARIANCE.into(),
                    matcher: Matcher::from_value(&json!({ "exact": 0 })).unwrap(),
                },
            ],
        );
        let report = crate::gate::score(&AgentTrace::new(runs), &gates);
        assert!(report.passed, "{times}: {:?}", report.failures);
        assert_eq!(report.targets[SCORE], json!(0.7));
    }
}

#[test]
fn ways_of_pairs() {
    // Runs; similarity, argument consistency, early divergence.
    let cases: [(&[&str], f64, f64, bool); 14] = [
        (&["a b c", "a b c"], 1.0, 1.0, false),
        (&["", ""], 1.0, 1.0, false),
        (&["a", ""], 0.0, 1.0, true),
        (&["a b", "c d"], 0.0, 1.0, true),
        (&["a b c", "c b a"], 1.0 / 3.0, 1.0, true),
        (&["a b c d", "a c d"], 6.0 / 7.0, 1.0, true),
        // A beginning diverges where it ends.
        (&["a b", "a b c"], 0.8, 1.0, false),
        (&["a", "a b"], 2.0 / 3.0, 1.0, true),
        // Same names, other arguments: no divergence.
        (&["a:1 b:1", "a:1 b:2"], 1.0, 0.5, false),
        // Only the same tool at the same place is compared.
        (&["a:1 b:1", "a:2 c:1"], 0.5, 0.0, true),
        (&["b a:1", "c a:2 a:1"], 0.4, 0.0, true),
        // One run of three goes on a little longer.
        (&["a b c", "a b c d", "a b c"], 19.0 / 21.0, 1.0, false),
        (&["a b c x", "a b c y", "z b c y"], 2.0 / 3.0, 1.0, true),
        (&["a b c x", "a b c y", "a z c x"], 2.0 / 3.0, 1.0, true),
    ];
    for (runs, similarity, arguments, is_early) in cases {
        let runs: Vec<AgentRun> = runs.iter().map(|calls| run(calls)).collect();
        let scored = score_consistency(&runs).unwrap();
        let actual = scored.tool_sequence_similarity.unwrap();
        assert!(close(actual, similarity), "{runs:?}: {scored:?}");
        assert!(
            close(scored.argument_consistency.unwrap(), arguments),
            "{runs:?}: {scored:?}"
        );
        assert_eq!(scored.early_divergence, Some(is_early), "{runs:?}");
    }
    assert_eq!(score_consistency(&[]), None);
    assert_eq!(score_consistency(&[run("a")]), None);
}

#[test]
fn half_of_the_diverging_pairs_is_no_majority() {
    // Pairs: 0-1 at 2, 0-2 at 0, 0-3 at 2, 1-2 at 0, 1-3 at 2, 2-3 at 0.
    let runs = ["a b c", "a b d", "x b c", "a b e"].map(run);
    assert_eq!(
        score_consistency(&runs).unwrap().early_divergence,
        Some(false)
    );
}

#[test]
fn too_much_is_unknown() {
    let runs = ["a b c", "b c a", "c a b"].map(run);
    let mut numbering = Numbering::default();
    let paths: Vec<Path> = runs.iter().map(|run| numbering.path(run)).collect();
    let within = |sequence_steps: u64, places: u64| {
        let limits = Limits {
            sequence_steps,
            places,
        };
        score_paths(&paths, numbering.tools(), limits).unwrap()
    };
    // Three pairs of 3 places and of 64 for themselves; three steps each.
    let all = within(9, 201);
    assert!(all.tool_sequence_similarity.is_some() && all.argument_consistency.is_some());
    let some = within(8, 201);
    assert_eq!(some.tool_sequence_similarity, None);
    assert_eq!(some.argument_consistency, all.argument_consistency);
    assert_eq!(some.early_divergence, all.early_divergence);
    let none = within(9, 200);
    assert_eq!(
        none,
        Consistency {
            pairs: 3,
            ..Consistency::default()
        }
    );

    let mut card = Scorecard::new(3);
    note_too_much(&some, &mut card);
    note_too_much(&none, &mut card);
    note_too_much(&all, &mut card);
    assert_eq!(
        card.found.notes,
        [
            "stability.tool_sequence_similarity is unknown: the runs are so long and so different that aligning their calls takes more than 1,000,000,000 steps. Score fewer runs at once.",
            "stability.tool_sequence_similarity, stability.argument_consistency and stability.early_divergence are unknown: comparing 3 pairs of runs takes more than 1,000,000,000 steps. Score fewer runs at once.",
        ]
    );
}

/// Paths of 100,000 calls: alike they are compared, unrelated they are beyond the limit.
#[test]
fn long_runs() {
    let long = |seed: u64| Path {
        tools: (0..100_000_u64)
            .map(|place| u32::try_from(place * place * seed % 7 % 3).unwrap())
            .collect(),
        arguments: vec![0; 100_000],
    };
    let mut alike: Vec<Path> = (0..4).map(|_| long(1)).collect();
    alike[3].tools[50_000] = 3;
    let scored = score_paths(&alike, 4, LIMITS).unwrap();
    let expected = (3.0 + 3.0 * 0.999_99) / 6.0;
    let actual = scored.tool_sequence_similarity.unwrap();
    assert!(close(actual, expected), "{scored:?}");
    let unrelated: Vec<Path> = (1..=6).map(long).collect();
    let scored = score_paths(&unrelated, 3, LIMITS).unwrap();
    assert_eq!(scored.tool_sequence_similarity, None);
    assert!(scored.argument_consistency.is_some());
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-d](:[12?])?", 0..12).prop_map(|words| words.join(" "))
}

fn known_words() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-d](:[12])?", 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn sub_scores_are_in_range(
        calls in words(),
        lengths in prop::collection::vec(0_usize..50, 0..6),
        tokens in any::<u64>(),
        is_known in any::<bool>(),
    ) {
        let recorded = if is_known { session(&calls, &lengths, tokens) } else { run(&calls) };
        let scored = score_session(&recorded);
        let known = [
            Some(scored.tool_usage_stability),
            scored.response_consistency,
            scored.redundancy,
            scored.cost_per_progress,
        ];
        for score in known.into_iter().flatten() {
            prop_assert!((0.0..=1.0).contains(&score), "{scored:?}");
            prop_assert!(scored.weakest_score <= score, "{scored:?}");
        }
        prop_assert!(known.contains(&Some(scored.weakest_score)), "{scored:?}");
    }

    #[test]
    fn more_tokens_and_more_repeats_never_help(calls in known_words(), one in 0_u64..100_000, other in 0_u64..100_000) {
        let cost = |tokens: u64| score_session(&session(&calls, &[1, 1], tokens)).cost_per_progress;
        prop_assert!(cost(one.min(other)) >= cost(one.max(other)));
        let redundancy = |calls: &str| score_session(&session(calls, &[1, 1], 0)).redundancy;
        let repeated = format!("{calls} {}", calls.split(' ').next().unwrap_or_default());
        prop_assert!(redundancy(&repeated) <= redundancy(&calls));
    }

    #[test]
    fn the_order_of_calls_does_not_matter_within_a_run(calls in words()) {
        let forward = session(&calls, &[1, 1], 9_000);
        let mut backward = forward.clone();
        backward.tool_calls.reverse();
        prop_assert_eq!(score_session(&forward), score_session(&backward));
    }

    #[test]
    fn pairs_are_in_range_whatever_the_order_of_the_runs(runs in prop::collection::vec(known_words(), 2..6)) {
        let mut runs: Vec<AgentRun> = runs.iter().map(|calls| run(calls)).collect();
        let one = score_consistency(&runs).unwrap();
        runs.reverse();
        let other = score_consistency(&runs).unwrap();
        let pairs = [
            (one.tool_sequence_similarity, other.tool_sequence_similarity),
            (one.argument_consistency, other.argument_consistency),
        ];
        for (one, other) in pairs {
            prop_assert!((0.0..=1.0).contains(&one.unwrap()));
            prop_assert!(close(one.unwrap(), other.unwrap()));
        }
        prop_assert_eq!(one.early_divergence, other.early_divergence);
    }

    #[test]
    fn the_same_run_again_and_again_is_consistent(calls in known_words(), times in 2_usize..6) {
        let scored = score_consistency(&vec![run(&calls); times]).unwrap();
        prop_assert_eq!(scored.tool_sequence_similarity, Some(1.0));
        prop_assert_eq!(scored.argument_consistency, Some(1.0));
        prop_assert_eq!(scored.early_divergence, Some(false));
    }

    #[test]
    fn spreads_are_in_range(scores in prop::collection::vec(0.0..=1.0_f64, 1..20)) {
        let spread = spread(&scores).unwrap();
        prop_assert!(spread.lowest <= spread.mean);
        prop_assert!((0.0..=0.25 + 1e-12).contains(&spread.variance));
    }

    #[test]
    fn equal_runs_have_exactly_their_score(score in 0.0..=1.0_f64, times in 2_usize..=12) {
        let spread = spread(&vec![score; times]).unwrap();
        prop_assert_eq!((spread.mean, spread.lowest, spread.variance), (score, score, 0.0));
    }
}
