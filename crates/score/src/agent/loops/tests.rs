use crate::gate::Gates;
use crate::gate::Scorecard;
use mcprove_trace::{AgentRun, AgentTrace, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing;

fn called(name: &str) -> ToolCall {
    ToolCall {
        name: name.into(),
        ..ToolCall::default()
    }
}

/// A run that calls a tool for each character.
fn run(names: &str) -> AgentRun {
    AgentRun {
        tool_calls: names
            .chars()
            .map(|name| called(&name.to_string()))
            .collect(),
        ..AgentRun::default()
    }
}

/// A run with a result each: `!` is an error, `?` is unknown, anything else the result itself.
fn run_with(names: &str, results: &str) -> AgentRun {
    let results = results
        .chars()
        .enumerate()
        .filter(|(_, result)| *result != '?');
    AgentRun {
        tool_results: results
            .map(|(call_index, result)| ToolResult {
                call_index,
                is_error: Some(result == '!'),
                result: json!(result.to_string()).into(),
            })
            .collect(),
        ..run(names)
    }
}

fn found(run: &AgentRun) -> LoopsReport {
    find_loops(run, &LoopsBlock::default())
}

#[test]
fn repeats_are_the_longest_streak() {
    for (names, repeats, first) in [
        ("", 0, None),
        ("a", 1, None),
        ("abc", 1, None),
        ("aab", 2, Some(0)),
        ("abbba", 3, Some(1)),
        ("aabbb", 3, Some(2)),
        ("aabb", 2, Some(0)),
    ] {
        let report = found(&run(names));
        assert_eq!(report.max_repeats, Some(repeats), "{names}");
        assert_eq!(
            report.repeats.map(|stretch| stretch.first),
            first,
            "{names}"
        );
    }
}

#[test]
fn cycles_are_sequences_made_again() {
    for (names, repeats, length, place) in [
        ("", 0, 0, None),
        ("abcdefgh", 0, 0, None),
        ("aaaaaaaa", 0, 0, None),
        ("aba", 0, 0, None),
        ("abab", 2, 2, Some((0, 3))),
        ("xababax", 2, 2, Some((1, 4))),
        ("abcabcabc", 3, 3, Some((0, 8))),
        ("aabaab", 2, 3, Some((0, 5))),
        ("xabcdefghabcdefgh", 2, 8, Some((1, 16))),
        ("abcdefghiabcdefghi", 0, 0, None),
        ("abcabcxyxyxy", 3, 2, Some((6, 11))),
        ("abababab", 4, 2, Some((0, 7))),
        ("aaaabababab", 4, 2, Some((3, 10))),
    ] {
        let report = found(&run(names));
        assert_eq!(
            (report.max_cycle_repeats, report.cycle_length),
            (Some(repeats), Some(length)),
            "{names}"
        );
        let stretch = report.cycle.map(|stretch| (stretch.first, stretch.last));
        assert_eq!(stretch, place, "{names}");
    }
}

#[test]
fn stagnation_is_what_brings_nothing_new() {
    for (names, results, stagnation, first) in [
        ("", "", 0, None),
        ("abc", "123", 0, None),
        // The same call, the same result.
        ("aaa", "111", 2, Some(1)),
        // Results that differ are progress: polling.
        ("aaa", "123", 0, None),
        ("aaa", "112", 1, Some(1)),
        // Errors bring nothing, but the first success after them does.
        ("aaa", "!!!", 2, Some(1)),
        ("aaa", "!!1", 1, Some(1)),
        ("aaaa", "1!1!", 3, Some(1)),
        // The unknown counts as the same.
        ("aaa", "???", 2, Some(1)),
        ("aaa", "?11", 2, Some(1)),
        ("aaa", "1?1", 2, Some(1)),
        // An error of a call that was not made before is something new.
        ("abab", "!!!!", 2, Some(2)),
        ("ababc", "12123", 2, Some(2)),
        ("aabaa", "11111", 2, Some(3)),
    ] {
        let report = found(&run_with(names, results));
        assert_eq!(report.stagnation, Some(stagnation), "{names} {results}");
        let place = report.stagnant.map(|stretch| stretch.first);
        assert_eq!(place, first, "{names} {results}");
    }
}

#[test]
fn calls_are_the_same_by_name_server_and_arguments() {
    let with = |server: Option<&str>, args: Value| ToolCall {
        server: server.map(Into::into),
        args: args.into(),
        ..called("a")
    };
    let mut same = run("");
    same.tool_calls = vec![
        with(None, json!({"x": 1, "y": [1]})),
        with(None, json!({"y": [1.0], "x": 1})),
    ];
    assert_eq!(found(&same).max_repeats, Some(2));
    for other in [
        with(Some("s"), json!({"x": 1, "y": [1]})),
        with(None, json!({"x": 1})),
    ] {
        let mut run = same.clone();
        run.tool_calls[1] = other;
        assert_eq!(found(&run).max_repeats, Some(1));
    }
}

fn scored(runs: Vec<AgentRun>, block: LoopsBlock) -> Scorecard {
    let trace = AgentTrace::new(runs);
    let gates = Gates::default().with(&Loops, block);
    testing::gated(&Loops, &trace, &gates).unwrap()
}

#[test]
fn more_than_the_limit_is_a_loop() {
    // Results that differ, so that nothing stagnates.
    for (names, results, is_detected) in [
        ("aaa", "123", false),
        ("aaaa", "1234", true),
        ("ababab", "123456", false),
        ("abababab", "12345678", true),
        ("abcdeabcde", "1234512345", false),
        ("abcdefabcdef", "123456123456", true),
    ] {
        let card = scored(vec![run_with(names, results)], LoopsBlock::default());
        let value = card.run_value(0, DETECTED);
        assert_eq!(value, Some(&json!(u64::from(is_detected))), "{names}");
        assert_eq!(
            card.found.failures.len(),
            usize::from(is_detected),
            "{names}"
        );
    }
    let block = LoopsBlock {
        max_repeats: 4,
        ..LoopsBlock::default()
    };
    assert!(
        scored(vec![run_with("aaaa", "1234")], block)
            .found
            .failures
            .is_empty()
    );
}

#[test]
fn a_failure_names_the_calls() {
    let runs = vec![run("abc"), run("xaaaa"), run_with("xabababab", "123456789")];
    let card = scored(runs, LoopsBlock::default());
    let failures: Vec<_> = card
        .found
        .failures
        .iter()
        .map(|failure| (failure.run, failure.target.as_str(), failure.with_hint()))
        .collect();
    assert_eq!(
        failures,
        [
            (
                Some(1),
                "loops.detected",
                "call 1, `a`, was made 4 times in a row with the same arguments (calls 1 to 4), \
                 and at most 3 are allowed; look at what these calls returned, and why the agent did not use it".into()
            ),
            (
                Some(2),
                "loops.detected",
                "calls 1 to 8 go through the same 2 calls (`a` and `b`) 4 times, and at most 3 are allowed; \
                 look at what these calls returned, and why the agent did not use it".into()
            ),
        ]
    );
    assert_eq!(card.run_value(0, DETECTED), Some(&json!(0)));
    assert_eq!(card.runs[1].details["loops"]["max_repeats"], 4);
    assert_eq!(
        card.runs[1].found,
        [
            "Call 1, `a`, was made 4 times in a row with the same arguments (calls 1 to 4), and at most 3 are allowed."
        ]
    );
    let card = scored(vec![run("abcdefabcdef")], LoopsBlock::default());
    let message = &card.found.failures[0].message;
    assert!(
        message
            .rendered()
            .starts_with("calls 6 to 11 (`a`, `b`, `c`, `d`, `e` and 1 more) brought nothing new"),
        "{message:?}"
    );
}

#[test]
fn unknown_arguments_are_not_guessed() {
    // A capital calls the tool with unknown arguments. Repeats, cycles, stagnation, detected.
    let cases = [
        ("ABCD", [Some(1), Some(0), Some(0)], Some(false)),
        ("AA", [None, Some(0), None], Some(false)),
        ("AAAA", [None, None, None], None),
        ("aaaaA", [None, None, None], Some(true)),
        ("bbbbA", [Some(4), Some(0), Some(3)], Some(true)),
        ("aAaA", [None, None, None], None),
        ("AxAy", [Some(1), Some(0), None], Some(false)),
    ];
    for (names, signs, detected) in cases {
        let mut recorded = run(&names.to_lowercase());
        for (call, name) in recorded.tool_calls.iter_mut().zip(names.chars()) {
            if name.is_uppercase() {
                call.args = Value::Null.into();
            }
        }
        let report = found(&recorded);
        let actual = [
            report.max_repeats,
            report.max_cycle_repeats,
            report.stagnation,
        ];
        assert_eq!(actual, signs, "{names}");
        assert_eq!(report.detected, detected, "{names}");
        let card = scored(vec![recorded], LoopsBlock::default());
        assert_eq!(
            card.found.errors.len(),
            usize::from(detected.is_none()),
            "{names}"
        );
        assert_eq!(
            card.found.failures.len(),
            usize::from(detected == Some(true)),
            "{names}"
        );
        let is_noted = signs.contains(&None);
        assert_eq!(card.found.notes.len(), usize::from(is_noted), "{names}");
        if names == "AAAA" {
            assert_eq!(
                card.found.errors[0].message,
                "whether the agent goes in circles cannot be judged: the trace does not have the arguments of call 0, `a`, which may be the same as others"
            );
        }
    }
}

#[test]
fn it_is_told_without_a_block_too() {
    let trace = AgentTrace::new(vec![run("aaaa")]);
    let gates = Gates::default();
    let card = testing::gated(&Loops, &trace, &gates).unwrap();
    assert_eq!(card.run_value(0, DETECTED), Some(&json!(1)));
    assert!(card.found.failures.is_empty());
}

#[test]
fn a_long_run_is_looked_through_at_once() {
    let names = "abcdefgh".repeat(12_500);
    let report = found(&run(&names));
    assert_eq!(
        (report.max_cycle_repeats, report.cycle_length),
        (Some(12_500), Some(8))
    );
    assert_eq!(report.stagnation, Some(100_000 - 8));
}

/// The most repetitions of any cycle, by trying every place.
fn most_cycle_repeats(names: &[char]) -> u64 {
    let mut most = 0;
    for length in 2..=CYCLE_CALLS_MAX {
        for first in 0..names.len() {
            let Some(cycle) = names.get(first..first + length) else {
                break;
            };
            if cycle.iter().all(|name| *name == cycle[0]) {
                continue;
            }
            let again = names[first..]
                .chunks(length)
                .take_while(|chunk| *chunk == cycle);
            most = most.max(again.count());
        }
    }
    if most > 1 { most as u64 } else { 0 }
}

/// a, a with unknown arguments, b, a, a: what the hidden call got may be what the last ones are new against.
#[test]
fn a_hidden_call_may_make_a_later_one_new() {
    let mut run = run_with("aabaa", "?211?");
    run.tool_calls[1].args = Value::Null.into();
    assert_eq!(found(&run).stagnation, None);
    // The same with what the hidden call got too: nothing new, whatever its arguments are.
    let mut run = run_with("aabaa", "?1111");
    run.tool_calls[1].args = Value::Null.into();
    assert_eq!(found(&run).stagnation, Some(2));
}

proptest! {
    #[test]
    fn no_run_panics(names in "[a-c]{0,30}", results in "[!?12]{0,30}", stray in any::<usize>()) {
        let mut run = run_with(&names, &results);
        run.tool_results.push(ToolResult { call_index: stray, ..ToolResult::default() });
        let report = found(&run);
        let calls = run.tool_calls.len() as u64;
        let all = Some(calls);
        prop_assert!(report.max_repeats <= all && report.stagnation <= all);
        let (repeats, length) = (report.max_cycle_repeats.unwrap(), report.cycle_length.unwrap());
        prop_assert!(repeats * length <= calls);
        prop_assert_eq!(repeats == 0, report.cycle.is_none());
        for stretch in [report.repeats, report.cycle, report.stagnant].into_iter().flatten() {
            prop_assert!(stretch.first <= stretch.last && stretch.last < run.tool_calls.len());
            prop_assert!(!stretch.names.is_empty());
        }
    }

    #[test]
    fn every_cycle_is_found(names in "[ab]{0,24}|[a-d]{0,40}") {
        let characters: Vec<char> = names.chars().collect();
        prop_assert_eq!(found(&run(&names)).max_cycle_repeats, Some(most_cycle_repeats(&characters)));
    }

    #[test]
    fn one_more_call_never_shortens_a_loop(names in "[a-c]{0,20}", more in "[a-c]") {
        let (before, after) = (found(&run(&names)), found(&run(&format!("{names}{more}"))));
        prop_assert!(before.max_repeats <= after.max_repeats);
        prop_assert!(before.max_cycle_repeats <= after.max_cycle_repeats);
        prop_assert!(before.stagnation <= after.stagnation);
        prop_assert!(before.detected <= after.detected);
    }

    /// Whatever the unknown arguments are, a known sign is what it would be.
    #[test]
    fn what_is_known_holds_for_any_arguments(
        calls in prop::collection::vec(("[ab]", 0_u8..3, any::<bool>(), "[!?12]"), 0..12),
    ) {
        let names: String = calls.iter().map(|(name, ..)| name.as_str()).collect();
        let results: String = calls.iter().map(|(.., result)| result.as_str()).collect();
        let mut real = run_with(&names, &results);
        for (call, (_, argument, ..)) in real.tool_calls.iter_mut().zip(&calls) {
            call.args = json!({ "n": argument }).into();
        }
        let mut told = real.clone();
        for (call, (_, _, is_known, _)) in told.tool_calls.iter_mut().zip(&calls) {
            if !is_known {
                call.args = Value::Null.into();
            }
        }
        let block = LoopsBlock { max_repeats: 2, max_cycle_repeats: 1, max_stagnation: 2 };
        let (real, told) = (find_loops(&real, &block), find_loops(&told, &block));
        for (real, told) in [
            (real.max_repeats, told.max_repeats),
            (real.max_cycle_repeats, told.max_cycle_repeats),
            (real.stagnation, told.stagnation),
            (real.detected.map(u64::from), told.detected.map(u64::from)),
        ] {
            prop_assert!(told.is_none() || told == real, "{:?} {:?}", told, real);
        }
    }
}
