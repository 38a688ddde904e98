use super::*;
use crate::gate::Gates;

const MODES: [Mode; 5] = [
    Mode::Strict,
    Mode::Subsequence,
    Mode::Unordered,
    Mode::Superset,
    Mode::Subset,
];

#[test]
fn names() {
    for (name, mode) in [
        ("strict", Mode::Strict),
        ("exact-sequence", Mode::Strict),
        ("exact_sequence", Mode::Strict),
        ("subsequence", Mode::Subsequence),
        ("unordered", Mode::Unordered),
        ("superset", Mode::Superset),
        ("subset", Mode::Subset),
    ] {
        assert_eq!(Mode::parse(name), Some(mode));
    }
    assert_eq!(Mode::parse("Strict"), None);
    for mode in MODES {
        assert_eq!(Mode::parse(json!(mode).as_str().unwrap()), Some(mode));
    }
}

/// The number of mismatches in the modes strict, subsequence, unordered and subset.
#[test]
fn mismatches_in_each_mode() {
    let cases = [
        ("", "", [0, 0, 0, 0]),
        ("", "a b", [0, 0, 0, 2]),
        ("a", "", [1, 1, 1, 0]),
        ("a b", "a b", [0, 0, 0, 0]),
        ("a b", "b a", [2, 1, 0, 0]),
        ("a b", "a x b", [2, 0, 0, 1]),
        ("a b", "a", [1, 1, 1, 0]),
        ("a b", "a b c c", [2, 0, 0, 2]),
        ("a a", "a", [1, 1, 1, 0]),
        ("a", "a a", [1, 0, 0, 1]),
        ("a1 a2", "a2 a1", [2, 1, 0, 0]),
        // What fits anything leaves the only call alone that a stricter one needs.
        ("a a1", "a1 a2", [1, 1, 0, 0]),
        ("a a1", "a1", [1, 1, 1, 0]),
        ("a<5 a1", "a1 a2", [1, 1, 0, 0]),
        ("a a<5 a<3 a1", "a1 a2 a4 a9", [2, 2, 0, 0]),
        ("a a<5 a<3 a1", "a9 a4 a2 a1", [0, 0, 0, 0]),
        ("a<5 a<3 a1", "a4 a9 a9", [2, 2, 2, 2]),
        // What is not found does not end the search for the others.
        ("x a b", "a b", [3, 1, 1, 0]),
        ("c a b", "a b c", [3, 1, 0, 0]),
        ("c d a b", "a b c d", [4, 2, 0, 0]),
        ("a b c", "a c b", [2, 1, 0, 0]),
        ("x/a", "x/a", [0, 0, 0, 0]),
        ("x/a", "a", [1, 1, 1, 1]),
        ("x/a", "y/a", [1, 1, 1, 1]),
        ("a", "x/a", [0, 0, 0, 0]),
        ("a x/a", "x/a y/a", [1, 1, 0, 0]),
    ];
    for (reference, recorded, [strict, subsequence, unordered, subset]) in cases {
        for (mode, count) in [
            (Mode::Strict, strict),
            (Mode::Subsequence, subsequence),
            (Mode::Unordered, unordered),
            (Mode::Superset, unordered),
            (Mode::Subset, subset),
        ] {
            let report = report(mode, reference, recorded);
            let case = format!("{mode:?} {reference:?} {recorded:?} {report:?}");
            assert_eq!(report.mismatch_count, count, "{case}");
            assert_eq!(report.passed, count == 0, "{case}");
            assert_eq!(report.mismatches.len(), count, "{case}");
        }
    }
}

/// The mode, the reference, the calls, and of the only mismatch the expected call, the recorded one
/// and the reason.
type Reason = (
    Mode,
    &'static str,
    &'static str,
    Option<usize>,
    Option<usize>,
    &'static str,
);

const REASONS: &[Reason] = &[
    (
        Mode::Strict,
        "a b",
        "a c",
        Some(1),
        Some(1),
        "call 1 is not the expected `b`: it is `c`",
    ),
    (
        Mode::Strict,
        "x/a",
        "y/a",
        Some(0),
        Some(0),
        "call 0 is not the expected `a`: it went to the server `y`, not to `x`",
    ),
    (
        Mode::Strict,
        "a b",
        "a",
        Some(1),
        None,
        "expected call 1, `b`, was not made: the run has 1 call",
    ),
    (
        Mode::Strict,
        "a",
        "a b",
        None,
        Some(1),
        "call 1, `b`, comes after the last expected call",
    ),
    (
        Mode::Subsequence,
        "a b",
        "b a c",
        Some(1),
        Some(0),
        "expected call 1, `b`, is out of order: call 0 fits, but comes before call 1, which another expected call needs",
    ),
    (
        Mode::Subsequence,
        "c a b",
        "a b c",
        Some(0),
        Some(2),
        "expected call 0, `c`, is out of order: call 2 fits, but comes after call 0, which another expected call needs",
    ),
    (
        Mode::Subsequence,
        "a b",
        "a c",
        Some(1),
        None,
        "expected call 1, `b`, was not found from call 1 on",
    ),
    (
        Mode::Subsequence,
        "a b",
        "a",
        Some(1),
        None,
        "expected call 1, `b`, was not found: the run ends before it, with 1 call",
    ),
    (
        Mode::Subsequence,
        "a b1 c",
        "a b2 x c",
        Some(1),
        Some(1),
        "no call from call 1 on, before call 3 fits expected call 1, `b`: call 1 is one, but its arguments differ: at .n: expected 1, got 2",
    ),
    (
        Mode::Subsequence,
        "a b c",
        "a x c",
        Some(1),
        None,
        "expected call 1, `b`, was not found from call 1 on, before call 2",
    ),
    (
        Mode::Subsequence,
        "a b1",
        "a c b2",
        Some(1),
        Some(2),
        "no call from call 1 on fits expected call 1, `b`: call 2 is one, but its arguments differ: at .n: expected 1, got 2",
    ),
    (
        Mode::Unordered,
        "a b",
        "a",
        Some(1),
        None,
        "expected call 1, `b`, was never made",
    ),
    (
        Mode::Superset,
        "a a",
        "a",
        Some(1),
        None,
        "no call is left for expected call 1, `a`: the only call of the tool is taken by another expected call",
    ),
    (
        Mode::Unordered,
        "a1 a1",
        "a1 a2",
        Some(1),
        Some(1),
        "no call is left that fits expected call 1, `a`: call 1 is one, but its arguments differ: at .n: expected 1, got 2",
    ),
    (
        Mode::Subset,
        "a",
        "b",
        None,
        Some(0),
        "call 0, `b`, is not among the expected calls",
    ),
    (
        Mode::Subset,
        "a a",
        "a a a",
        None,
        Some(2),
        "call 2, `a`, is one too many: all 2 expected calls of the tool are taken by other calls",
    ),
    (
        Mode::Subset,
        "a1",
        "a2",
        None,
        Some(0),
        "call 0, `a`, fits no expected call that is left: compared with expected call 0, its arguments differ: at .n: expected 1, got 2",
    ),
];

#[test]
fn reasons() {
    for (mode, reference, recorded, expected, place, reason) in REASONS {
        let report = report(*mode, reference, recorded);
        assert_eq!(report.mismatches.len(), 1);
        let mismatch = &report.mismatches[0];
        assert_eq!(mismatch.reason, *reason);
        assert_eq!(mismatch.expected_index, *expected, "{reason}");
        assert_eq!(mismatch.recorded_index, *place, "{reason}");
    }
}

#[test]
fn details_are_bounded_and_all_are_counted() {
    for mode in MODES {
        let (reference, recorded) = match mode {
            Mode::Subset => (String::new(), "a ".repeat(1_000)),
            _ => ("a ".repeat(1_000), String::new()),
        };
        let report = report(mode, &reference, &recorded);
        assert_eq!(report.mismatch_count, 1_000, "{mode:?}");
        assert_eq!(report.mismatches.len(), MISMATCHES_KEPT, "{mode:?}");
    }
}

fn numbered(count: usize, distinct: usize) -> Vec<ToolCall> {
    (0..count)
        .map(|index| ToolCall {
            name: "a".into(),
            args: json!({ "n": index % distinct }).into(),
            ..ToolCall::default()
        })
        .collect()
}

fn expecting(mode: Mode, shapes: impl Iterator<Item = ArgumentShape>) -> TrajectoryBlock {
    let calls = shapes.map(|args| ExpectedCall {
        name: "a".into(),
        server: None,
        args,
    });
    TrajectoryBlock {
        mode,
        calls: calls.collect(),
    }
}

/// Each call against each reference would be four hundred million comparisons.
#[test]
fn many_calls_of_few_kinds() {
    let calls = numbered(20_000, 10);
    for mode in MODES {
        let shapes = (0..20_000).map(|index| ArgumentShape::Subset(json!({ "n": index % 10 })));
        let report = validate_trace(&expecting(mode, shapes), &calls).unwrap();
        assert!(report.passed, "{mode:?} {:?}", report.mismatches);
    }
}

#[test]
fn many_calls_that_must_equal_a_value() {
    let calls = numbered(5_000, usize::MAX);
    for mode in MODES {
        let shapes = (0..5_000).map(|index| ArgumentShape::Exact(json!({ "n": index })));
        let report = validate_trace(&expecting(mode, shapes), &calls).unwrap();
        assert!(report.passed, "{mode:?} {:?}", report.mismatches);
    }
}

/// Each alternative of a `one_of` is a comparison, unless it is looked up.
#[test]
fn alternatives_are_counted() {
    let calls = numbered(20_000, usize::MAX);
    let one_of = |make: fn(i64) -> ArgumentShape| {
        let alternatives = (0..2_000).map(|index| make(-1 - index));
        ArgumentShape::OneOf(alternatives.collect())
    };
    for mode in [Mode::Subsequence, Mode::Unordered, Mode::Subset] {
        let expecting_one = |shape: ArgumentShape| expecting(mode, std::iter::once(shape));
        let subset = one_of(|n| ArgumentShape::Subset(json!({ "n": n })));
        let error = validate_trace(&expecting_one(subset), &calls);
        assert!(
            matches!(error, Err(TrajectoryError::TooLarge { .. })),
            "{mode:?}"
        );
        let exact = one_of(|n| ArgumentShape::Exact(json!({ "n": n })));
        let report = validate_trace(&expecting_one(exact), &calls).unwrap();
        assert!(!report.passed, "{mode:?}");
    }
}

/// Beyond the limit the first way is gone, and that is said.
#[test]
fn the_best_way_is_not_sought_for_ever() {
    let any = || (0..3_000).map(|_| ArgumentShape::Any);
    let mut block = expecting(Mode::Subsequence, any());
    block.calls.insert(
        0,
        ExpectedCall {
            name: "b".into(),
            ..ExpectedCall::default()
        },
    );
    let report = validate_trace(&block, &numbered(3_000, usize::MAX)).unwrap();
    assert_eq!(
        (report.mismatch_count, report.certainty),
        (1, Certainty::AtMost)
    );
    let trace = AgentTrace::new(vec![AgentRun {
        tool_calls: numbered(3_000, usize::MAX),
        ..AgentRun::default()
    }]);
    let gates = Gates::default().with(&Trajectory, block);
    let card = crate::testing::gated(&Trajectory, &trace, &gates).unwrap();
    assert_eq!(
        card.found.notes,
        [
            "trajectory.mismatch_count of run 0 is 1 at most: finding the best way to line up 3,000 calls with 3,001 expected ones takes more than 5,000,000 steps."
        ]
    );
}

#[test]
fn beyond_the_limit_nothing_is_claimed() {
    let calls = numbered(20_000, usize::MAX);
    for mode in [Mode::Subsequence, Mode::Unordered] {
        let mut block = expecting(mode, (0..600).map(|_| ArgumentShape::Any));
        for (index, call) in block.calls.iter_mut().enumerate() {
            call.server = Some(format!("server{index}"));
        }
        let error = validate_trace(&block, &calls).unwrap_err();
        assert_eq!(
            error.to_string(),
            "comparing 20000 recorded calls with 600 expected ones takes more than 10000000 comparisons"
        );
        assert!(error.hint().rendered().contains("strict"));
    }
}
