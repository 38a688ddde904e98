use mcprove_trace::canonical::canonical;
use proptest::prelude::*;

use super::*;
use crate::verdict::Outcome;

fn texts(replies: &[&str]) -> Vec<String> {
    replies.iter().map(|&reply| reply.to_owned()).collect()
}

#[test]
fn equal_json_has_one_text() {
    let cases = [
        ("1.0", "1"),
        ("1e2", "100"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("1e18", "1000000000000000000"),
        ("1.50", "1.5"),
        ("1e-7", "0.0000001"),
        ("1e300", "1e300"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        (
            r#"{"b":[true,null],"a":{"d":"é\n","c":1}}"#,
            r#"{"a":{"c":1,"d":"é\n"},"b":[true,null]}"#,
        ),
        (r#" [ "\u0041" ] "#, r#"["A"]"#),
    ];
    for (json, expected) in cases {
        let text = canonical(json).unwrap();
        assert_eq!(canonical(expected).unwrap(), text, "{json}");
        if !expected.contains('e') && !expected.contains("0000001") {
            assert_eq!(text, expected, "{json}");
        }
    }
    assert_ne!(canonical("[1,2]").unwrap(), canonical("[2,1]").unwrap());
    assert_ne!(canonical("1").unwrap(), canonical("\"1\"").unwrap());
}

#[test]
fn what_is_no_json_is_refused() {
    for json in ["", "{", "nul", &"[".repeat(100_000), "{\"a\":1}}"] {
        let error = canonical(json).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the reply cannot be compared: ")
        );
    }
}

#[test]
fn replies_decide() {
    use RaceOutcome::{Consistent, Divergent, Inconclusive};
    let cases: [(&[&str], &[&str], RaceOutcome, Outcome); 6] = [
        (&["a", "a"], &["a", "a", "a"], Consistent, Outcome::Pass),
        (&["a", "a"], &["a", "b", "a"], Divergent, Outcome::Finding),
        (&["a", "a"], &["b", "b"], Divergent, Outcome::Finding),
        (
            &["1", "2"],
            &["1", "2"],
            Inconclusive,
            Outcome::Inconclusive,
        ),
        (&[], &["1"], Inconclusive, Outcome::Inconclusive),
        (&["1"], &[], Inconclusive, Outcome::Inconclusive),
    ];
    for (baseline, concurrent, outcome, concluded) in cases {
        let report = compare(&texts(baseline), &texts(concurrent), &texts(baseline), 0);
        assert_eq!(report.outcome, outcome, "{report:?}");
        assert_eq!(
            (report.baseline_calls, report.failures),
            (2 * baseline.len(), 0)
        );
        let verdict = verdict(&report);
        assert_eq!(verdict.outcome, concluded, "{verdict:?}");
        assert_eq!(verdict.is_failure(), concluded == Outcome::Finding);
    }
}

#[test]
fn a_reply_that_changes_with_time_is_no_race() {
    let cases = [
        // A clock went on, during the concurrent calls or before them.
        (
            &["1", "2"][..],
            &["2"][..],
            2,
            "already differs when it is called alone",
        ),
        (
            &["2", "2"],
            &["2"],
            2,
            "already differs when it is called alone",
        ),
        (
            &["2", "2"],
            &["3"],
            2,
            "already differs when it is called alone",
        ),
        // It stopped answering.
        (
            &["2", "2"],
            &[],
            1,
            "2 concurrent calls got a different reply than calls made alone before",
        ),
    ];
    for (concurrent, after, distinct, words) in cases {
        let report = compare(&texts(&["1", "1"]), &texts(concurrent), &texts(after), 0);
        assert_eq!(report.outcome, RaceOutcome::Inconclusive, "{report:?}");
        assert_eq!(report.baseline_distinct, distinct, "{report:?}");
        let sentence = verdict(&report).sentence;
        assert!(sentence.rendered().contains(words), "{sentence:?}");
    }
    let race = compare(&texts(&["a"]), &texts(&["b", "b"]), &texts(&["a"]), 0);
    let sentence = verdict(&race).sentence;
    assert!(
        sentence
            .rendered()
            .contains("2 concurrent calls got 1 kind of reply"),
        "{sentence:?}"
    );
}

fn caller(before: &str, at_once: &[&str], after: Option<&str>) -> CallerReplies {
    CallerReplies {
        before: before.to_owned(),
        at_once: texts(at_once),
        after: after.map(str::to_owned),
    }
}

#[test]
fn callers_that_get_what_another_gets_alone_are_crossed() {
    use RaceOutcome::{Consistent, Divergent};
    let same = &texts(&["A", "A"]);
    let cases = [
        // All is right.
        ([("A", "A", None), ("B", "B", None)], Consistent, (2, 0, 0)),
        // Each gets the other's.
        (
            [("A", "B", Some("A")), ("B", "A", Some("B"))],
            Divergent,
            (2, 2, 0),
        ),
        // One gets what nobody gets alone.
        (
            [("A", "A", Some("A")), ("B", "AB", Some("B"))],
            Divergent,
            (2, 0, 1),
        ),
        // The tool changes by itself: it returns the text before, for instance.
        (
            [("A", "B", Some("A")), ("B", "A", Some("C"))],
            Consistent,
            (0, 0, 0),
        ),
        // Nothing was called afterwards.
        ([("A", "B", None), ("B", "A", None)], Consistent, (0, 0, 0)),
    ];
    for (callers, outcome, counts) in cases {
        let callers = callers.map(|(before, at_once, after)| caller(before, &[at_once], after));
        let mut report = compare(same, same, &[], 0);
        report.add_callers(&callers, 0);
        let found = (report.own_arguments, report.crossed, report.altered);
        assert_eq!((report.outcome, found), (outcome, counts), "{callers:?}");
        let verdict = verdict(&report);
        assert_eq!(verdict.is_failure(), outcome == Divergent, "{verdict:?}");
    }
}

#[test]
fn calls_that_fail_only_when_made_concurrently_are_a_warning_with_both_figures() {
    let same = &texts(&["A", "A"]);
    let mut report = compare(same, same, &[], 3);
    let found = verdict(&report);
    assert_eq!(
        (found.outcome, found.severity),
        (Outcome::Finding, Severity::Warning)
    );
    assert_eq!(
        found.sentence,
        "Calls fail when made concurrently: 3 of 5, and none of 2 made alone; those that succeeded got the same reply as alone."
    );
    // It fails alone, too.
    report.failures_alone = 1;
    assert_eq!(verdict(&report).outcome, Outcome::Pass);
}

#[test]
fn callers_that_get_the_same_alone_are_not_compared() {
    let same = &texts(&["A", "A"]);
    let mut report = compare(same, same, &[], 0);
    report.add_callers(&[caller("A", &["A"], None), caller("A", &["A"], None)], 0);
    assert_eq!(report.own_arguments, 0);
    let found = verdict(&report);
    assert_eq!(found.outcome, Outcome::Pass);
    let sentence = found.sentence.rendered();
    assert!(
        sentence.contains("only identical calls were compared"),
        "{sentence}"
    );
    // What nobody gets alone is found all the same.
    report.add_callers(
        &[
            caller("A", &["B"], Some("A")),
            caller("A", &["A"], Some("A")),
        ],
        0,
    );
    assert_eq!(report.outcome, RaceOutcome::Divergent);
}

#[test]
fn figures_that_depend_on_the_load_are_a_warning_with_both_texts() {
    use RaceOutcome::{Divergent, Figures};
    let cases = [
        ("took 0.2 s", "took 1.25 s", Figures),
        (
            r#"{"active_requests":1}"#,
            r#"{"active_requests":7}"#,
            Figures,
        ),
        ("by worker-1", "by worker-12", Figures),
        ("took 0.2 s", "took 0.2 m", Divergent),
        ("took 0.2 s", "took 0.2 s, retried", Divergent),
        ("[1,2]", "[1,2,3]", Divergent),
        ("done", "done 1", Divergent),
    ];
    for (alone, at_once, outcome) in cases {
        let alone = &texts(&[alone, alone]);
        let report = compare(alone, &texts(&[at_once, &alone[0]]), alone, 0);
        assert_eq!(report.outcome, outcome, "{report:?}");
        let found = verdict(&report);
        assert_eq!(found.is_failure(), outcome == Divergent, "{found:?}");
        let sentence = found.sentence.rendered();
        let has_both = sentence.contains(&alone[0]) && sentence.contains(at_once);
        assert_eq!(has_both, outcome == Figures, "{sentence}");
    }
    // One reply that differs in more is enough.
    let report = compare(
        &texts(&["a 1"]),
        &texts(&["a 2", "b 1"]),
        &texts(&["a 1"]),
        0,
    );
    assert_eq!(report.outcome, Divergent);
    assert_eq!(report.example.unwrap().1, "b 1");
}

#[test]
fn a_number_of_another_caller_is_no_figure() {
    use RaceOutcome::{Divergent, Figures};
    let cases = [
        ("t-01 in 0.5 s", Figures, (0, 0)),
        ("t-02 in 0.2 s", Divergent, (1, 0)),
        // What depends on the caller.
        ("t-02 in 0.5 s", Divergent, (0, 1)),
        ("t-09 in 0.2 s", Divergent, (0, 1)),
        ("T-01 in 0.5 s", Divergent, (0, 1)),
    ];
    let same = &texts(&["A", "A"]);
    for (at_once, outcome, counts) in cases {
        let mut report = compare(same, same, &[], 0);
        let one = "t-01 in 0.2 s";
        let callers = [
            caller(one, &[at_once], Some(one)),
            caller("t-02 in 0.2 s", &[], None),
        ];
        report.add_callers(&callers, 0);
        let found = (report.crossed, report.altered);
        assert_eq!((report.outcome, found), (outcome, counts), "{at_once}");
        assert_eq!(verdict(&report).is_failure(), outcome == Divergent);
    }
}

#[test]
fn a_crossed_reply_is_the_example() {
    let same = &texts(&["A", "A"]);
    let mut report = compare(same, same, &[], 0);
    let callers = [
        caller("A1", &["A1B1", "B1"], Some("A1")),
        caller("B1", &["B1"], Some("B1")),
    ];
    report.add_callers(&callers, 0);
    assert_eq!(report.example, Some(("A1".to_owned(), "B1".to_owned())));
    let sentence = verdict(&report).sentence;
    let sentence = sentence.rendered();
    assert!(
        sentence.starts_with("Callers get each other's replies: of 3 concurrent calls"),
        "{sentence}"
    );
}

#[test]
fn examples_show_the_difference() {
    let same = "x".repeat(1000);
    let (one, other) = (format!("{same}1{same}"), format!("{same}2"));
    let report = compare(std::slice::from_ref(&one), &[one.clone(), other], &[], 0);
    let (expected, reply) = report.example.unwrap();
    assert_eq!(expected.chars().count(), EXAMPLE_CHARS_MAX);
    assert_eq!(reply, format!("…{}2", "x".repeat(40)));
    assert!(expected.starts_with(&format!("…{}1x", "x".repeat(40))) && expected.ends_with('…'));
    let short = compare(&texts(&["é1"]), &texts(&["é2"]), &[], 0)
        .example
        .unwrap();
    assert_eq!(short, ("é1".to_owned(), "é2".to_owned()));
    assert_eq!(shorten(&"x".repeat(200), 0), "x".repeat(200));
    assert_eq!(
        shorten(&"x".repeat(201), 0),
        format!("{}…", "x".repeat(199))
    );
}

proptest! {
    #[test]
    fn canonical_text_is_stable(number in any::<f64>(), integer in any::<i64>(), text in any::<String>()) {
        let value = serde_json::json!({"z": number, "a": [integer, text], "m": null});
        let once = canonical(&value.to_string()).unwrap();
        prop_assert_eq!(&canonical(&once).unwrap(), &once);
    }

    #[test]
    fn no_text_panics(text in any::<String>(), replies in prop::collection::vec(any::<String>(), 0..4)) {
        drop(canonical(&text));
        let report = compare(&[text], &replies, &replies, 0);
        if let Some((one, other)) = &report.example {
            prop_assert!(one.chars().count() <= EXAMPLE_CHARS_MAX && other.chars().count() <= EXAMPLE_CHARS_MAX);
        }
        verdict(&report);
    }
}
