//! What is concluded only where enough was seen: of each tool, of the time after, of the others.

use super::*;

/// Calls of a tool that is called twice a second, in a stretch of a quarter of a second.
fn rare(number: u64, failed: bool) -> TimeBucket {
    match (number % 2, failed) {
        (0, false) => stretch(1, 5, 0),
        (0, true) => stretch(0, 5, 1),
        _ => TimeBucket::default(),
    }
}

/// A run of 60 s of a busy and a rare tool; the fault is on from 20 s to 22 s.
fn long(make: impl Fn(u64, &str) -> TimeBucket) -> (FaultFacts, Timeline) {
    let facts = FaultFacts {
        window: Some((20.0, 22.0)),
        ..facts()
    };
    let of = |number: u64| {
        let tools = ["busy", "rare"].map(|tool| (tool.to_owned(), make(number, tool)));
        let tools = tools.into_iter();
        let tools = tools.filter(|(_, stretch)| *stretch != TimeBucket::default());
        (number, tools.collect())
    };
    let timeline = Timeline {
        width_secs: WIDTH,
        stretches: (0..240).map(of).collect(),
        span: (0.0, 60.0),
        load_changes: Vec::new(),
    };
    (facts, timeline)
}

#[test]
fn a_rare_tool_that_is_broken_for_good_is_not_back() {
    let (facts, timeline) = long(|number, tool| match tool {
        "busy" => stretch(100, 5, 0),
        _ => rare(number, number >= 80),
    });
    let impact = judge(&facts, &[], &timeline);
    assert_eq!(impact.recovery, Recovery::NotBack);
    assert_eq!(impact.not_back, ["rare"]);
    let found = verdicts(&impact);
    assert!(found[0].is_failure(), "{found:?}");
    assert!(
        found[0].sentence.rendered().contains("Calls of `rare`"),
        "{found:?}"
    );
    // Back after a while it is told when, to a stretch or two.
    let (facts, timeline) = long(|number, tool| match tool {
        "busy" => stretch(100, 5, 0),
        _ => rare(number, (80..120).contains(&number)),
    });
    let impact = judge(&facts, &[], &timeline);
    assert_eq!(impact.recovery, Recovery::Back);
    let secs = impact.recovery_secs.unwrap();
    assert!((6.0..=8.0).contains(&secs), "{secs}");
}

#[test]
fn a_server_that_always_failed_at_a_tool_is_back_when_it_does_so_again() {
    let (facts, timeline) = long(|number, tool| match tool {
        "busy" => stretch(100, 5, 0),
        _ => rare(number, true),
    });
    assert_eq!(judge(&facts, &[], &timeline).recovery, Recovery::Back);
}

#[test]
fn silence_at_a_low_rate_is_seen_over_a_longer_time() {
    let silent = |number: u64, tool: &str| match tool {
        "rare" if number < 80 => rare(number, false),
        _ => TimeBucket::default(),
    };
    let (facts, timeline) = long(silent);
    let impact = judge(&facts, &[], &timeline);
    assert_eq!(
        (impact.recovery, impact.recovery_secs),
        (Recovery::NotBack, None)
    );
    // Two seconds of it say nothing at two calls a second.
    let short = Timeline {
        span: (0.0, 24.0),
        ..timeline
    };
    let impact = judge(&facts, &[], &short);
    assert_eq!(impact.recovery, Recovery::Unknown);
}

#[test]
fn what_struck_calls_hold_up_is_not_held_against_the_server() {
    // All clients sit in calls that the fault holds until 9 s.
    let held = timeline(|number, _| match number {
        16..36 => TimeBucket::default(),
        _ => stretch(100, 5, 0),
    });
    let blamed = judge(&facts(), &[], &held);
    assert_eq!(blamed.recovery_secs, Some(3.0));
    let released = |secs| FaultFacts {
        released_secs: Some(secs),
        max_recovery_secs: Some(1.0),
        ..facts()
    };
    let impact = judge(&released(9.0), &[], &held);
    assert_eq!(
        (impact.recovery, impact.recovery_secs),
        (Recovery::Back, Some(0.0))
    );
    assert_eq!(impact.released_secs, Some(9.0));
    assert_eq!(verdict(&impact).outcome, Outcome::Pass);
    // To the end of the run, nothing is known.
    let impact = judge(&released(12.0), &[], &held);
    assert_eq!(
        (impact.recovery, impact.open),
        (Recovery::Unknown, Some(OpenReason::HeldTooLong))
    );
    assert_eq!(verdict(&impact).detector, "threshold:fault_recovery");
}

#[test]
fn no_evidence_is_no_proof_that_others_do_not_suffer() {
    let even = timeline(|_, _| stretch(100, 5, 0));
    let strict = FaultFacts {
        others_may_suffer: Some(false),
        ..facts()
    };
    assert_eq!(verdict(&judge(&strict, &[], &even)).outcome, Outcome::Pass);
    let gate = |facts: &FaultFacts, timeline: &Timeline| {
        let all = verdicts(&judge(facts, &[], timeline));
        let gate = all
            .iter()
            .find(|verdict| verdict.detector == "threshold:fault_spread");
        let gate = gate.unwrap_or_else(|| panic!("{all:?}"));
        assert_eq!(gate.outcome, Outcome::Inconclusive);
    };
    let unstruck = FaultFacts {
        struck: FaultedCalls::default(),
        ..strict.clone()
    };
    gate(&unstruck, &even);
    let from_the_start = FaultFacts {
        window: Some((0.0, 2.0)),
        ..strict.clone()
    };
    gate(&from_the_start, &even);
    let everywhere = FaultFacts {
        tool: None,
        ..strict.clone()
    };
    gate(&everywhere, &even);
    let alone = timeline(|_, tool| match tool {
        "search" => stretch(100, 5, 0),
        _ => TimeBucket::default(),
    });
    gate(&strict, &alone);
}

#[test]
fn recovery_and_spread_are_two_questions() {
    let both = timeline(|number, tool| match tool {
        "add" if number >= FAULT.start => stretch(50, 5, 50),
        _ => stretch(100, 5, 0),
    });
    let strict = FaultFacts {
        others_may_suffer: Some(false),
        max_recovery_secs: Some(1.0),
        ..facts()
    };
    let detectors = |facts: &FaultFacts| -> Vec<String> {
        let all = verdicts(&judge(facts, &[], &both));
        all.into_iter().map(|verdict| verdict.detector).collect()
    };
    assert_eq!(detectors(&strict), ["fault_recovery", "fault_spread"]);
    // Too little time after it leaves the one open, and the other proven.
    let late = FaultFacts {
        window: Some((4.0, 11.5)),
        ..strict
    };
    assert_eq!(
        detectors(&late),
        ["threshold:fault_recovery", "fault_spread"]
    );
}

#[test]
fn long_stretches_do_not_measure_a_short_limit() {
    let (facts, mut timeline) = long(|_, tool| match tool {
        "busy" => stretch(100, 5, 0),
        _ => TimeBucket::default(),
    });
    // The same stretches, eight seconds each.
    timeline.width_secs = 8.0;
    timeline.span = (0.0, 1_920.0);
    let limited = |secs| FaultFacts {
        window: Some((800.0, 820.0)),
        max_recovery_secs: Some(secs),
        ..facts.clone()
    };
    let short = verdict(&judge(&limited(5.0), &[], &timeline));
    assert_eq!(short.detector, "threshold:fault_recovery");
    assert!(short.sentence.rendered().contains("so long"), "{short:?}");
    let long = verdict(&judge(&limited(60.0), &[], &timeline));
    assert_eq!(long.outcome, Outcome::Pass);
}
