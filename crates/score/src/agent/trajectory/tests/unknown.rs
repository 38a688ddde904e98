//! Calls whose arguments or server the trace does not tell, and names with a server in them.

use super::*;
use crate::gate::Gates;
use serde_json::Value;

const MODES: [Mode; 5] = [
    Mode::Strict,
    Mode::Subsequence,
    Mode::Unordered,
    Mode::Superset,
    Mode::Subset,
];

/// `a?` has unknown arguments, `?/a` an unknown server.
fn recorded(text: &str) -> Vec<ToolCall> {
    let made = text.split_whitespace().map(|word| {
        let bare = word.trim_start_matches("?/").trim_end_matches('?');
        let mut made = call(bare);
        if word.starts_with("?/") {
            made.server = None;
        }
        if word.ends_with('?') {
            made.args = Value::Null.into();
        }
        made
    });
    made.collect()
}

#[test]
fn what_decides_and_is_not_told_is_an_error() {
    // The reference, the calls, and the call and the expected one that cannot be compared.
    let cases = [
        ("a1", "a?", Some((0, 0, "arguments"))),
        ("x/a", "?/a", Some((0, 0, "server"))),
        ("b x/a1", "b ?/a?", Some((1, 1, "server"))),
        ("b a<3", "b a?", Some((1, 1, "arguments"))),
        // Nothing is asked of them, or they are of other tools.
        ("a", "a?", None),
        ("a", "?/a", None),
        ("a1", "a1", None),
        ("b1", "b1", None),
    ];
    for (reference, calls, expected) in cases {
        for mode in MODES {
            let report = validate_trace(&block(mode, reference), &recorded(calls));
            let case = format!("{mode:?} {reference} {calls}");
            let Some((call_index, expected_index, untold)) = expected else {
                assert!(report.unwrap().passed, "{case}");
                continue;
            };
            let error = report.unwrap_err();
            let TrajectoryError::Unknown {
                call_index: call,
                expected_index: index,
                untold: what,
                ..
            } = &error
            else {
                panic!("{case} {error:?}");
            };
            assert_eq!(
                (*call, *index, *what),
                (call_index, expected_index, untold),
                "{case}"
            );
        }
    }
    let error = validate_trace(&block(Mode::Strict, "a1"), &recorded("a?")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "call 0, `a`, cannot be compared with expected call 0: the trace does not have its arguments"
    );
    assert!(error.hint().rendered().contains("any"));
}

#[test]
fn what_does_not_decide_is_no_matter() {
    // Another call fits, or the name or the server is another one anyway.
    for (mode, reference, calls, count) in [
        (Mode::Subsequence, "a1", "a? a1", 0),
        (Mode::Unordered, "a1", "a? a1", 0),
        (Mode::Superset, "x/a", "?/a x/a", 0),
        (Mode::Strict, "a1", "b?", 1),
        (Mode::Strict, "x/a1", "y/a?", 1),
        (Mode::Subset, "a1", "b? ", 1),
        (Mode::Strict, "a1 b1", "a? b2 ", 2),
        (Mode::Unordered, "a1 b1", "a? b2", 2),
    ] {
        let report = validate_trace(&block(mode, reference), &recorded(calls)).unwrap();
        let case = format!("{mode:?} {reference} {calls}");
        assert_eq!(report.mismatch_count, count, "{case}");
        // It failed for certain; how often is not.
        let is_unknown = count == 2;
        assert_eq!(report.certainty == Certainty::Unknown, is_unknown, "{case}");
    }
    let trace = AgentTrace::new(vec![AgentRun {
        tool_calls: recorded("a? b2"),
        ..AgentRun::default()
    }]);
    let gates = Gates::default().with(&Trajectory, block(Mode::Strict, "a1 b1"));
    let report = crate::gate::score(&trace, &gates);
    assert_eq!(report.targets[PASSED], json!(0));
    assert_eq!(report.targets[MISMATCH_COUNT], Value::Null);
    assert_eq!((report.failures.len(), report.errors.len()), (1, 0));
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.rendered().contains("is unknown"))
    );
}

/// One run that cannot be judged leaves the others judged.
#[test]
fn each_run_is_judged_for_itself() {
    let run = |text| AgentRun {
        tool_calls: recorded(text),
        ..AgentRun::default()
    };
    let trace = AgentTrace::new(vec![run("a?"), run("a2"), run("a1")]);
    let gates = Gates::default().with(&Trajectory, block(Mode::Strict, "a1"));
    let report = crate::gate::score(&trace, &gates);
    let errors: Vec<Option<usize>> = report.errors.iter().map(|error| error.run).collect();
    let failures: Vec<Option<usize>> = report.failures.iter().map(|failure| failure.run).collect();
    assert_eq!((errors, failures), (vec![Some(0)], vec![Some(1)]));
    assert!(!report.passed);
}

#[test]
fn a_name_may_have_its_server() {
    for mode in MODES {
        for (reference, calls, passed) in [
            ("x__a", "x/a", true),
            ("mcp__x__a", "x/a", true),
            ("x__a1", "x/a1", true),
            ("x__a", "y/a", false),
            ("x__a b", "x/a b", true),
            ("x__a", "x/b", false),
        ] {
            let report = validate_trace(&block(mode, reference), &recorded(calls)).unwrap();
            assert_eq!(report.passed, passed, "{mode:?} {reference} {calls}");
        }
        let error = validate_trace(&block(mode, "x__a"), &recorded("?/a")).unwrap_err();
        assert!(matches!(
            error,
            TrajectoryError::Unknown {
                untold: "server",
                ..
            }
        ));
        // A tool may be called so.
        let whole = ToolCall {
            name: "x__a".into(),
            ..ToolCall::default()
        };
        assert!(
            validate_trace(&block(mode, "x__a"), &[whole])
                .unwrap()
                .passed
        );
        // The server that is given besides must be the same.
        let mut both = block(mode, "x__a");
        both.calls[0].server = Some("y".into());
        assert!(!validate_trace(&both, &recorded("x/a")).unwrap().passed);
    }
}
