//! Made-up runs, and what is to be made of them.

mod evidence;
mod several;

use super::*;
use crate::verdict::{Outcome, Severity, Verdict};

const WIDTH: f64 = 0.25;
/// Stretches of a run of 12 s; the fault is on from 4 s to 6 s.
const STRETCHES: u64 = 48;
const FAULT: std::ops::Range<u64> = 16..24;

/// So many calls of so many milliseconds, and so many failures.
fn stretch(calls: u64, milliseconds: u64, failed: u64) -> TimeBucket {
    let mut stretch = TimeBucket {
        failed,
        ..TimeBucket::default()
    };
    for call in 0..calls {
        // A little spread, as in life.
        stretch
            .latency_ns
            .record(milliseconds * 1_000_000 + call % 7 * 10_000);
    }
    stretch
}

/// A run of two tools, each stretch as `make` says.
fn timeline(make: impl Fn(u64, &str) -> TimeBucket) -> Timeline {
    let stretches = (0..STRETCHES).map(|number| {
        let tools = ["add", "search"].map(|tool| (tool.to_owned(), make(number, tool)));
        let tools = tools
            .into_iter()
            .filter(|(_, stretch)| *stretch != TimeBucket::default());
        (number, tools.collect())
    });
    Timeline {
        width_secs: WIDTH,
        stretches: stretches.collect(),
        span: (0.0, 12.0),
        load_changes: Vec::new(),
    }
}

/// The only verdict.
fn verdict(impact: &FaultImpact) -> Verdict {
    let mut all = verdicts(impact);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn facts() -> FaultFacts {
    FaultFacts {
        name: "late".to_owned(),
        kind: "slow".to_owned(),
        tool: Some("search".to_owned()),
        window: Some((4.0, 6.0)),
        struck: FaultedCalls {
            calls: 80,
            ..FaultedCalls::default()
        },
        ..FaultFacts::default()
    }
}

#[test]
fn a_fault_that_nobody_else_feels_passes() {
    let timeline = timeline(|_, _| stretch(100, 5, 0));
    let impact = judge(&facts(), &[], &timeline);
    assert_eq!(
        (impact.recovery, impact.recovery_secs),
        (Recovery::Back, Some(0.0))
    );
    assert_eq!(
        (impact.before.calls, impact.during.calls, impact.after.calls),
        (3_200, 1_600, 4_800)
    );
    assert!((impact.before.p99_ms.unwrap() - 5.0).abs() < 0.2);
    assert!(impact.suffered.is_empty());
    let verdict = verdict(&impact);
    assert_eq!(verdict.outcome, Outcome::Pass);
    assert_eq!(
        verdict.sentence,
        "The fault `late` at `search` struck 80 calls from 4 to 6 s of the run. No other tool suffered, \
         and p99 and errors were back at once."
    );
}

#[test]
fn other_tools_that_are_slower_or_fail_suffer() {
    let slower = timeline(|number, tool| match (FAULT.contains(&number), tool) {
        (true, "add") => stretch(100, 60, 0),
        _ => stretch(100, 5, 0),
    });
    let impact = judge(&facts(), &[], &slower);
    assert_eq!(impact.suffered, ["add"]);
    let finding = verdict(&impact);
    assert_eq!(
        (finding.detector.as_str(), finding.severity),
        ("fault_spread", Severity::Warning)
    );
    assert!(
        finding.sentence.rendered().contains("`add` (p95 5"),
        "{:?}",
        finding.sentence
    );
    let strict = FaultFacts {
        others_may_suffer: Some(false),
        ..facts()
    };
    assert!(verdict(&judge(&strict, &[], &slower)).is_failure());

    let failing = timeline(|number, tool| match (FAULT.contains(&number), tool) {
        (true, "add") => stretch(90, 5, 10),
        _ => stretch(100, 5, 0),
    });
    let impact = judge(&facts(), &[], &failing);
    let add = &impact.tools[0];
    assert!(add.fails_more && !add.is_slower && !add.is_aimed_at);
    assert_eq!((add.before.failed, add.during.failed), (0, 80));
    let sentence = verdict(&impact).sentence;
    assert!(
        sentence.rendered().contains("`add` (errors 0"),
        "{sentence:?}"
    );
    // What the tool that it is aimed at suffers is no spread.
    let aimed = timeline(|number, tool| match (FAULT.contains(&number), tool) {
        (true, "search") => stretch(50, 90, 50),
        _ => stretch(100, 5, 0),
    });
    let impact = judge(&facts(), &[], &aimed);
    assert!(impact.suffered.is_empty() && impact.tools[1].fails_more);
}

#[test]
fn the_time_until_all_is_back_is_told() {
    // Slow for another 2 s, with one good stretch in between, which is not yet back.
    let timeline = timeline(|number, tool| {
        let is_slow = (16..32).contains(&number) && number != 26;
        match (is_slow, tool) {
            (true, "search") => stretch(40, 80, 0),
            _ => stretch(40, 5, 0),
        }
    });
    let impact = judge(&facts(), &[], &timeline);
    assert_eq!(
        (impact.recovery, impact.recovery_secs),
        (Recovery::Back, Some(2.0))
    );
    let limited = |secs| {
        let facts = FaultFacts {
            max_recovery_secs: Some(secs),
            ..facts()
        };
        verdict(&judge(&facts, &[], &timeline))
    };
    assert_eq!(limited(2.5).outcome, Outcome::Pass);
    let late = limited(1.0);
    assert!(
        late.is_failure() && late.detector == "fault_recovery",
        "{late:?}"
    );
    assert!(
        late.sentence.rendered().contains("It took 2 s until"),
        "{:?}",
        late.sentence
    );
}

#[test]
fn what_is_never_back_is_critical() {
    for after in [
        stretch(100, 50, 0),
        stretch(60, 5, 40),
        TimeBucket::default(),
    ] {
        let timeline = timeline(|number, _| {
            if number < FAULT.start {
                stretch(100, 5, 0)
            } else {
                after.clone()
            }
        });
        let impact = judge(&facts(), &[], &timeline);
        assert_eq!(
            (impact.recovery, impact.recovery_secs),
            (Recovery::NotBack, None)
        );
        assert!(verdicts(&impact)[0].is_failure());
    }
}

#[test]
fn without_a_before_or_an_after_nothing_is_concluded() {
    let even = timeline(|_, _| stretch(100, 5, 0));
    for (window, hint) in [((0.0, 12.0), "start later"), ((4.0, 11.5), "end earlier")] {
        let facts = FaultFacts {
            window: Some(window),
            ..facts()
        };
        let impact = judge(&facts, &[], &even);
        assert_eq!(impact.recovery, Recovery::Unknown);
        let open = verdict(&impact);
        assert_eq!(
            (open.detector.as_str(), open.outcome),
            ("fault_impact", Outcome::Inconclusive)
        );
        assert!(
            open.hint.clone().unwrap().rendered().contains(hint),
            "{open:?}"
        );
        let gated = FaultFacts {
            max_recovery_secs: Some(1.0),
            ..facts
        };
        assert_eq!(
            verdict(&judge(&gated, &[], &even)).detector,
            "threshold:fault_recovery"
        );
    }
    let unstruck = FaultFacts {
        struck: FaultedCalls::default(),
        window: None,
        ..facts()
    };
    let open = verdict(&judge(&unstruck, &[], &even));
    assert_eq!(open.outcome, Outcome::Inconclusive);
    assert!(
        open.sentence.rendered().contains("struck no call"),
        "{open:?}"
    );
}

#[test]
fn few_calls_have_no_percentile_and_a_lone_slow_call_is_no_disturbance() {
    let timeline = timeline(|number, tool| match (number, tool) {
        (30, "add") => {
            let mut stretch = stretch(40, 5, 0);
            stretch.latency_ns.record(900_000_000);
            stretch
        }
        _ => stretch(4, 5, 0),
    });
    let impact = judge(&facts(), &[], &timeline);
    assert_eq!(impact.recovery_secs, Some(0.0));
    assert_eq!(impact.before.calls, 128);
    assert!(impact.before.p99_ms.is_none() && impact.before.p50_ms.is_some());
}

#[test]
fn calls_lost_with_a_connection_count_as_failed_and_are_told() {
    let timeline = timeline(|number, tool| {
        let mut calls = stretch(100, 5, 0);
        if FAULT.contains(&number) && tool == "add" {
            calls.lost = 12;
        }
        calls
    });
    let mut facts = facts();
    facts.struck.connections_ended = 8;
    facts.struck.calls_lost = 96;
    let found = verdict(&judge(&facts, &[], &timeline));
    assert_eq!(found.detector, "fault_spread");
    assert!(
        found
            .sentence
            .rendered()
            .contains("and took 96 other calls with it"),
        "{:?}",
        found.sentence
    );
    assert!(found.hint.unwrap().rendered().contains("more sessions"));
}
