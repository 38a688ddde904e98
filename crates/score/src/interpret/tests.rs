use proptest::prelude::*;

use super::*;
use crate::testing::maybe_floats;
use crate::verdict::Severity;

fn tool(name: &str, count: u64, errors: u64, p50_ms: f64, p99_ms: f64) -> ToolFacts {
    ToolFacts {
        name: name.into(),
        count,
        errors,
        p50_ms: Some(p50_ms),
        p99_ms: Some(p99_ms),
        alone_p50_ms: None,
        in_calls_s: 75.0,
        slow_calls: None,
    }
}

/// An open run that no rule but `how_it_feels` and `none_seen` speaks about.
fn facts() -> Facts {
    Facts {
        tools: vec![
            tool("search", 5_000, 0, 12.0, 60.0),
            tool("fetch", 5_000, 0, 14.0, 60.0),
        ],
        attempted: 10_000,
        succeeded: 10_000,
        p50_ms: Some(13.0),
        p99_ms: Some(60.0),
        max_ms: Some(90.0),
        time: Some(ClientTime {
            in_calls_s: 150.0,
            overtime_s_max: 0.0,
            load_s: 10.0,
        }),
        throughput_per_s: Some(1_000.0),
        model: LoadModel::Open,
        concurrent: 50,
        ..Facts::default()
    }
}

fn closed(concurrent: u32) -> Facts {
    Facts {
        model: LoadModel::Closed,
        concurrent,
        ..facts()
    }
}

#[track_caller]
fn says(facts: &Facts, part: &str) {
    let said = sentences(facts);
    assert!(
        said.iter()
            .any(|sentence| sentence.rendered().contains(part)),
        "{part:?} in {said:#?}"
    );
}

#[track_caller]
fn is_silent(facts: &Facts, part: &str) {
    let said = sentences(facts);
    assert!(
        !said
            .iter()
            .any(|sentence| sentence.rendered().contains(part)),
        "{part:?} in {said:#?}"
    );
}

#[test]
fn a_quiet_run_gets_few_words() {
    assert_eq!(
        sentences(&facts()),
        [
            "99 % of the calls are answered within 60 ms: an agent or a person hardly notices the wait.",
            "No error in 10,000 calls: the true error rate is below 0.03% with 95 % confidence.",
        ]
    );
}

#[test]
fn nothing_succeeded() {
    says(
        &Facts {
            succeeded: 0,
            ..facts()
        },
        "No call succeeded: 10,000 calls failed",
    );
    says(&Facts::default(), "No call was made");
    let waiting = Facts {
        unanswered: 20,
        ..Facts::default()
    };
    says(&waiting, "No call was answered: 20 calls waited");
    let fuzzed = Facts {
        verdicts: vec![Verdict::pass("fuzz", "It survives.")],
        ..Facts::default()
    };
    assert!(sentences(&fuzzed).is_empty());
    is_silent(&facts(), "No call");
}

#[test]
fn problems_and_unfinished_checks() {
    let verdicts = vec![
        Verdict::finding("leak", Severity::Critical, "s", "h"),
        Verdict::finding("fuzz", Severity::Warning, "s", "h"),
        Verdict::inconclusive("race", "s", "h"),
        Verdict::pass("deadlock", "s"),
    ];
    let with = |verdicts: &[Verdict]| Facts {
        verdicts: verdicts.to_vec(),
        ..facts()
    };
    says(
        &with(&verdicts),
        "a problem to fix: `leak`. Also worth a look: `fuzz`.",
    );
    says(&with(&verdicts[..1]), "a problem to fix: `leak`.");
    says(&with(&verdicts[1..2]), "Worth a look: `fuzz`.");
    says(
        &with(&verdicts),
        "cannot say anything about `race`; that is not a pass",
    );
    for part in ["problem to fix", "Worth a look", "cannot say"] {
        is_silent(&with(&verdicts[3..]), part);
    }
}

#[test]
fn how_it_feels() {
    for (p99, part) in [
        (100.0, "hardly notices"),
        (101.0, "train of thought"),
        (5_000.0, "turn gets slow"),
        (20_000.0, "timeouts"),
    ] {
        says(
            &Facts {
                p99_ms: Some(p99),
                ..facts()
            },
            part,
        );
    }
    is_silent(
        &Facts {
            p99_ms: None,
            ..facts()
        },
        "99 % of the calls",
    );
}

#[test]
fn tail_ratio() {
    says(
        &Facts {
            p99_ms: Some(130.0),
            ..facts()
        },
        "at least 10 times as long as the median",
    );
    says(
        &Facts {
            p99_ms: Some(26.0),
            ..facts()
        },
        "Latency is even: p99 is only 2 times",
    );
    is_silent(&facts(), "the median");
    is_silent(
        &Facts {
            p50_ms: Some(0.0),
            ..facts()
        },
        "the median",
    );
}

#[test]
fn slow_tail_tool() {
    let mut counted = facts();
    counted.tools[0].slow_calls = Some(92);
    counted.tools[1].slow_calls = Some(8);
    says(
        &counted,
        "concentrated on `search`: 92% of those calls, but 50% of all",
    );
    counted.tools[0].slow_calls = Some(50);
    counted.tools[1].slow_calls = Some(50);
    is_silent(&counted, "slow tail");
    let mut inferred = facts();
    inferred.tools[1].p99_ms = Some(80.0);
    says(&inferred, "concentrated on `fetch`: 100% of those calls");
    let single = Facts {
        tools: vec![tool("only", 10_000, 0, 12.0, 80.0)],
        ..facts()
    };
    is_silent(&single, "slow tail");
}

#[test]
fn slowest_tool() {
    let mut slow = facts();
    slow.tools[1].p50_ms = Some(60.0);
    says(
        &slow,
        "`fetch` is by far the slowest tool: 60 ms at the median, 5 times the next one.",
    );
    is_silent(&facts(), "slowest tool");
}

#[test]
fn percentile_missing() {
    says(
        &Facts {
            succeeded: 999,
            p99_ms: None,
            ..facts()
        },
        "999 successful calls are not enough for p99, which needs 1,000",
    );
    says(
        &Facts {
            succeeded: 1,
            p99_ms: None,
            ..facts()
        },
        "1 successful call is not enough for p99, which needs 1,000",
    );
    is_silent(&facts(), "too few");
}

#[test]
fn errors_on_one_tool() {
    let mut failing = Facts {
        succeeded: 9_990,
        ..facts()
    };
    failing.tools[1].errors = 9;
    failing.tools[0].errors = 1;
    says(&failing, "concentrated on `fetch`: 9 of 10;");
    failing.tools[0].errors = 5;
    is_silent(&failing, "Errors are concentrated");
    failing.tools[0].errors = 0;
    failing.tools[1].errors = 4;
    is_silent(&failing, "Errors are concentrated");
}

#[test]
fn errors_in_one_category() {
    let of = |errors: &[(ErrorCategory, u64)]| Facts {
        succeeded: 9_990,
        errors: errors.iter().copied().collect(),
        ..facts()
    };
    says(
        &of(&[(ErrorCategory::Timeout, 8), (ErrorCategory::Crash, 2)]),
        "8 of 10 errors are Timeout: raise `call_timeout`",
    );
    let spread = [
        (ErrorCategory::Timeout, 3),
        (ErrorCategory::Crash, 3),
        (ErrorCategory::Malformed, 3),
    ];
    is_silent(&of(&spread), "errors are");
    is_silent(&of(&[]), "errors are");
}

#[test]
fn in_the_burst() {
    let verdict = Verdict::pass("spike_recovery", "s")
        .number("baseline_p50_ms", 2.0)
        .number("burst_p50_ms", 20.5)
        .number("burst_error_share", 0.25)
        .number("burst_p99_to_p50", 4.0);
    let spiked = Facts {
        verdicts: vec![verdict.clone()],
        ..facts()
    };
    says(
        &spiked,
        "In the burst a call took 20.5 ms at the median, 2 ms before it; 25% of the calls failed, and the slowest 1% waited 4 times as long as the median.",
    );
    let fair = Facts {
        verdicts: vec![verdict.clone().number("burst_p99_to_p50", 1.1)],
        ..facts()
    };
    says(
        &fair,
        "25% of the calls failed, and all waited about as long.",
    );
    let unknown = Facts {
        verdicts: vec![verdict.number("burst_p50_ms", None::<f64>)],
        ..facts()
    };
    is_silent(&unknown, "In the burst");
}

#[test]
fn none_seen() {
    says(
        &Facts {
            attempted: 300,
            succeeded: 300,
            ..facts()
        },
        "below 1% with 95 % confidence",
    );
    says(
        &Facts {
            attempted: 100_000_000,
            succeeded: 100_000_000,
            ..facts()
        },
        "below 0.000003%",
    );
    is_silent(
        &Facts {
            attempted: 99,
            succeeded: 99,
            ..facts()
        },
        "No error in",
    );
    is_silent(
        &Facts {
            succeeded: 9_999,
            ..facts()
        },
        "No error in",
    );
}

/// A tool whose calls alone take `alone_ms`.
fn beside_alone(name: &str, p50_ms: f64, alone_ms: Option<f64>) -> ToolFacts {
    ToolFacts {
        alone_p50_ms: alone_ms,
        ..tool(name, 5_000, 0, p50_ms, 60.0)
    }
}

#[test]
fn one_at_a_time() {
    let of = |concurrent, tools: &[ToolFacts]| Facts {
        tools: tools.to_vec(),
        ..closed(concurrent)
    };
    let echo = beside_alone("echo", 10.0, Some(1.0));
    let serial = of(10, std::slice::from_ref(&echo));
    says(
        &serial,
        "one call at a time: 10 clients each wait 10 ms for `echo`, and alone it takes 1 ms.",
    );
    is_silent(&serial, "Throughput was limited");
    says(
        &of(10, &[echo.clone(), beside_alone("sum", 30.0, Some(3.0))]),
        "one call at a time",
    );
    for (tools, why) in [
        (
            vec![beside_alone("echo", 6.9, Some(1.0))],
            "it is not slow enough",
        ),
        (
            vec![echo.clone(), beside_alone("sum", 3.0, Some(3.0))],
            "another tool does not show it",
        ),
        (
            vec![echo.clone(), beside_alone("sleep", 10_000.0, None)],
            "half of the time was spent in a tool that was not compared",
        ),
        (vec![], "there is no tool"),
    ] {
        let said = sentences(&of(10, &tools));
        assert!(
            !said
                .iter()
                .any(|sentence| sentence.rendered().contains("at a time")),
            "{why}: {said:#?}"
        );
    }
    is_silent(&of(2, &[echo]), "one call at a time");
}

#[test]
fn limited_by_calls_in_flight_or_idle() {
    says(
        &closed(15),
        "limited by the 15 calls in flight, each waiting 15 ms on average: 1,000 per second",
    );
    is_silent(&closed(20), "limited by the");
    is_silent(&facts(), "limited by the");
    says(&closed(50), "waited for the server only 30% of the time");
    is_silent(&closed(20), "of the time");
}

#[test]
fn calls_that_wait_for_a_slow_tool_are_not_limited_by_their_number() {
    let blocked = Verdict::warning(
        "head_of_line",
        "`ping` waits for slow calls.",
        "do not block",
    );
    let facts = Facts {
        verdicts: vec![blocked],
        ..closed(15)
    };
    is_silent(&facts, "limited by the");
}

#[test]
fn a_busy_server_sets_the_pace() {
    for (server_cores, is_busy) in [(None, false), (Some(0.5), false), (Some(0.97), true)] {
        let facts = Facts {
            server_cores,
            ..closed(15)
        };
        if is_busy {
            says(&facts, "97% of a core busy: 1,000 calls per second are");
            is_silent(&facts, "limited by the");
        } else {
            says(&facts, "limited by the 15 calls in flight");
            is_silent(&facts, "of a core busy");
        }
    }
}

#[test]
fn time_after_the_load_makes_nobody_idle_and_nobody_busy() {
    // Five clients sat in calls of ten seconds, in a load of five: busy from the start, or idle
    // until just before the end.
    for (overtime_s_max, is_busy) in [(25.0, true), (49.0, false)] {
        let facts = Facts {
            time: Some(ClientTime {
                in_calls_s: 50.0,
                overtime_s_max,
                load_s: 5.0,
            }),
            ..closed(5)
        };
        is_silent(&facts, "of the time");
        if is_busy {
            says(&facts, "limited by the 5 calls in flight");
        } else {
            is_silent(&facts, "limited by the");
        }
    }
}

#[test]
fn calls_dropped() {
    says(
        &Facts {
            dropped: 7,
            ..facts()
        },
        "7 calls could not start",
    );
    is_silent(&facts(), "could not start");
}

#[test]
fn closed_model_hides_stalls() {
    let stalled = |max_ms| Facts {
        max_ms: Some(max_ms),
        ..closed(20)
    };
    says(
        &stalled(900.0),
        "stalls are under-counted (the longest call took 900 ms)",
    );
    // No stall: it took no longer than others.
    is_silent(&stalled(90.0), "under-counted");
    is_silent(&facts(), "under-counted");
    is_silent(
        &Facts {
            p50_ms: None,
            ..stalled(900.0)
        },
        "under-counted",
    );
}

#[test]
fn generator_was_the_limit() {
    says(
        &Facts {
            generator_limited: Some("use more drivers".into()),
            ..facts()
        },
        "The load generator itself was the limit, so the server may be faster than these numbers: use more drivers.",
    );
    is_silent(&facts(), "load generator");
}

proptest! {
    #[test]
    fn no_number_breaks_a_sentence(
        counts in prop::array::uniform4(any::<u64>()),
        numbers in prop::array::uniform6(maybe_floats()),
        tools in prop::collection::vec((any::<u64>(), any::<u64>(), maybe_floats(), maybe_floats(), any::<Option<u64>>()), 0..4),
        errors in prop::collection::vec(any::<u64>(), 0..10),
        concurrent in any::<u32>(),
        is_open in any::<bool>(),
    ) {
        let [attempted, succeeded, dropped, unanswered] = counts;
        let [p50_ms, p99_ms, max_ms, in_calls_s, alone_p50_ms, throughput_per_s] = numbers;
        let in_calls_s = in_calls_s.unwrap_or_default();
        let tools = tools.into_iter().map(|(count, errors, p50_ms, p99_ms, slow_calls)| {
            ToolFacts { name: "t".into(), count, errors, p50_ms, p99_ms, alone_p50_ms, in_calls_s, slow_calls }
        }).collect();
        let facts = Facts {
            tools, attempted, succeeded, unanswered, p50_ms, p99_ms, max_ms,
            time: Some(ClientTime { in_calls_s, overtime_s_max: 1.0, load_s: in_calls_s }),
            errors: ErrorCategory::ALL.into_iter().zip(errors).collect(),
            throughput_per_s,
            server_cores: throughput_per_s,
            model: if is_open { LoadModel::Open } else { LoadModel::Closed },
            concurrent, dropped, generator_limited: None, verdicts: vec![],
        };
        for sentence in sentences(&facts) {
            prop_assert!(!sentence.rendered().contains("NaN") && !sentence.rendered().contains("inf "), "{sentence:?}");
            prop_assert!(sentence.rendered().ends_with('.'), "{sentence:?}");
        }
    }
}
