//! What a fault did, in a sentence or two.

use super::prelude::*;

const SPREAD: &str = "fault_spread";

const IMPACT: &str = "fault_impact";

const RECOVERY: &str = "fault_recovery";

/// The tools that are named; the rest is counted.
const NAMED_MAX: usize = 3;

/// What to conclude from it: whether all was back and whether others suffered are two questions, and one
/// verdict answers both only where nothing is wrong with either.
pub fn verdicts(impact: &FaultImpact) -> Vec<Verdict> {
    let spread = spread(impact);
    // Without a limit there is nothing to be open about where the spread is known.
    let is_gated = impact.max_recovery_secs.is_some();
    let found = recovery(impact)
        .filter(|verdict| verdict.outcome != Outcome::Inconclusive || is_gated || spread.is_none());
    let mut verdicts: Vec<Verdict> = found.into_iter().chain(spread).collect();
    if verdicts.is_empty() {
        verdicts.push(passed(impact));
    }
    verdicts
        .into_iter()
        .map(|verdict| with_numbers(verdict, impact))
        .collect()
}

/// What is wrong with how all came back, or why it is not known.
fn recovery(impact: &FaultImpact) -> Option<Verdict> {
    if let Some(verdict) = not_judged(impact) {
        return Some(verdict);
    }
    if impact.recovery == Recovery::NotBack {
        let which = match impact.not_back.as_slice() {
            [] => "Calls that it did not strike were".into(),
            tools => sentence!("Calls of {} that it did not strike were", names(tools)),
        };
        let sentence = sentence!(
            "{} {which} not back to normal within the {} left of the run.",
            summary(impact),
            seconds(impact.after.duration_secs)
        );
        let hint = "look at what the fault left behind: queues, locks, connections, a pool that is empty; \
                    a longer run shows whether it recovers";
        return Some(Verdict::critical(RECOVERY, sentence, hint));
    }
    let (took, limit) = impact.recovery_secs.zip(impact.max_recovery_secs)?;
    if took <= limit {
        return None;
    }
    let sentence = sentence!(
        "{} It took {} until p99 and errors were back, longer than the {} allowed.",
        summary(impact),
        seconds(took),
        seconds(limit)
    );
    let hint = "look at what the fault left behind; raise max_recovery if that is expected";
    Some(Verdict::critical(RECOVERY, sentence, hint))
}

/// That no call was struck, if so, and what to try.
fn unstruck(impact: &FaultImpact) -> Option<(Message, &'static str)> {
    let is_unstruck = impact.struck.calls == 0 && impact.struck.connections_ended == 0;
    let hint = "check the target, calls, rate, start and duration of the fault; calls are struck only while the load lasts";
    let sentence = || sentence!("The fault {} struck no call.", quoted(&impact.fault));
    is_unstruck.then(|| (sentence(), hint))
}

/// Why nothing can be concluded, if nothing can.
fn not_judged(impact: &FaultImpact) -> Option<Verdict> {
    let (sentence, hint) = match unstruck(impact) {
        Some(unclear) => unclear,
        None if impact.recovery != Recovery::Unknown => return None,
        None => {
            let (reason, hint) = because(impact);
            (sentence!("{} {reason}", summary(impact)), hint)
        }
    };
    Some(match impact.max_recovery_secs {
        Some(_) => Verdict::inconclusive(RECOVERY, sentence, hint).about_limit(),
        None => Verdict::inconclusive(IMPACT, sentence, hint),
    })
}

fn passed(impact: &FaultImpact) -> Verdict {
    let others = if impact.tool.is_none() {
        "It was aimed at every tool, so there are no other tools to compare"
    } else if impact.tools.iter().all(|tool| tool.is_aimed_at) {
        "No other tool was called"
    } else {
        "No other tool suffered"
    };
    let back = match impact.recovery_secs {
        Some(secs) if secs > 0.0 => format!("p99 and errors were back after {}", seconds(secs)),
        _ => "p99 and errors were back at once".to_owned(),
    };
    let limit = impact.max_recovery_secs;
    let limit = limit.map_or(String::new(), |limit| {
        format!(" (allowed: {})", seconds(limit))
    });
    Verdict::pass(
        IMPACT,
        sentence!("{} {others}, and {back}{limit}.", summary(impact)),
    )
}

/// That other tools suffered, or, where they may not, that it is not known.
fn spread(impact: &FaultImpact) -> Option<Verdict> {
    if !impact.suffered.is_empty() {
        return Some(suffering(impact));
    }
    if impact.others_may_suffer != Some(false) {
        return None;
    }
    let (sentence, hint) = unstruck(impact).or_else(|| {
        let (reason, hint) = unseen_spread(impact)?;
        Some((sentence!("{} {reason}", summary(impact)), hint))
    })?;
    Some(Verdict::inconclusive(SPREAD, sentence, hint).about_limit())
}

fn suffering(impact: &FaultImpact) -> Verdict {
    let severity = match impact.others_may_suffer {
        Some(false) => Severity::Critical,
        Some(true) => Severity::Info,
        None => Severity::Warning,
    };
    let named: Vec<Message> = impact
        .tools
        .iter()
        .filter(|tool| impact.suffered.contains(&tool.tool))
        .take(NAMED_MAX)
        .map(harm)
        .collect();
    let more = match impact.suffered.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let back = match impact.recovery_secs {
        Some(secs) if secs > 0.0 => format!(" All was back after {}.", seconds(secs)),
        Some(_) => " All was back at once.".to_owned(),
        None => String::new(),
    };
    let sentence = sentence!(
        "{} Tools that it was not aimed at suffered: {}{more}.{back}",
        summary(impact),
        Message::join(named, "; ")
    );
    let hint = if impact.struck.calls_lost > 0 {
        "calls share a connection or a process with those that the fault strikes: more sessions, or one \
         process for each tool, limit what is lost with it"
    } else {
        "calls wait for those that the fault strikes: look for one thread, one lock or one queue that all \
         of them share"
    };
    Verdict::finding(SPREAD, severity, sentence, hint)
}

/// What a tool suffered, with numbers.
fn harm(tool: &ToolImpact) -> Message {
    let mut harms = Vec::new();
    let (before, hurt) = (&tool.before, &tool.until_back);
    if tool.fails_more {
        harms.push(format!(
            "errors {} before, {} until all was back",
            percent(before.error_rate.unwrap_or_default()),
            percent(hurt.error_rate.unwrap_or_default())
        ));
    }
    if tool.is_slower {
        let pairs = [
            ("p99", before.p99_ms, hurt.p99_ms),
            ("p95", before.p95_ms, hurt.p95_ms),
            ("p50", before.p50_ms, hurt.p50_ms),
        ];
        let known = pairs
            .into_iter()
            .find_map(|(name, before, hurt)| Some((name, before?, hurt?)));
        harms.push(match known {
            Some((name, before, hurt)) => format!(
                "{name} {} before, {} until all was back",
                milliseconds(before),
                milliseconds(hurt)
            ),
            None => "clearly slower until all was back".to_owned(),
        });
    }
    sentence!("{} ({})", quoted(&tool.tool), harms.join("; "))
}

/// What the fault was and did.
fn summary(impact: &FaultImpact) -> Message {
    let tool = impact.tool.as_ref();
    let aimed = tool.map_or_else(Message::default, |tool| sentence!(" at {}", quoted(tool)));
    let when = impact
        .from_secs
        .zip(impact.until_secs)
        .map_or(String::new(), |(from, until)| {
            format!(
                " from {} to {} of the run",
                decimal(from, 1),
                seconds(until)
            )
        });

    let lost = match impact.struck.calls_lost {
        0 => String::new(),
        lost => format!(" and took {} with it", counted(lost, "other call")),
    };
    sentence!(
        "The fault {}{aimed} struck {}{when}{lost}.",
        quoted(&impact.fault),
        counted(impact.struck.calls, "call")
    )
}

/// The first few of these tools, and how many more there are.
fn names(tools: &[String]) -> Message {
    let named = tools.iter().take(NAMED_MAX);
    let named = Message::join(named.map(|tool| quoted(tool).into()), ", ");
    match tools.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => sentence!("{named} and {more} more"),
    }
}

fn seconds(secs: f64) -> String {
    format!("{} s", decimal(secs, 1))
}

fn with_numbers(verdict: Verdict, impact: &FaultImpact) -> Verdict {
    let phases = [
        ("before", &impact.before),
        ("during", &impact.during),
        ("after", &impact.after),
    ];
    let verdict = phases.into_iter().fold(verdict, |verdict, (when, phase)| {
        verdict
            .number(format!("p99_{when}_ms"), phase.p99_ms)
            .number(format!("error_rate_{when}"), phase.error_rate)
    });
    verdict
        .numbers_of(impact, &["fault", "recovery_secs"])
        .numbers_of(&impact.struck, &["calls_lost"])
        .number("struck", impact.struck.calls)
        .number("struck_failed", impact.struck.failed)
        .number("struck_servers_own", impact.struck.servers_own)
        .number("tools_suffered", impact.suffered.len())
}

/// Why it is not known whether all was back, and what to try.
fn because(impact: &FaultImpact) -> (Message, &'static str) {
    let (reason, hint) = match impact.open.unwrap_or(OpenReason::ShortAfter) {
        OpenReason::FewBefore => (
            "There were too few calls before it to compare with.",
            "let the fault start later: start = \"10s\"",
        ),
        OpenReason::ShortAfter => (
            "There was too little time after it to see whether all is back.",
            "let the fault end earlier, or the run later: at least 3 s before the end",
        ),
        OpenReason::HeldTooLong => (
            "The calls that it struck were held for so long that too little time was left to see whether all is back.",
            "let the run last longer, the fault start earlier, or hung calls be given up sooner (hang_timeout)",
        ),
        OpenReason::OtherFault => (
            "Another fault was on before all could be seen to be back.",
            "leave a few seconds between the faults",
        ),
        OpenReason::LoadChanged => (
            "The load changed while it was on, so that the calls before and after are not alike.",
            "let the fault start and end while the load is steady, a few seconds after it began and before it changes; or use the scenario sustained",
        ),
        OpenReason::RareTools => {
            let tools = names(&impact.not_back);
            return (
                sentence!("Too few calls of {tools} ended after it to see whether all is back."),
                "let the run last longer, or call these tools more often",
            );
        }
        OpenReason::CoarseStretches => (
            "The run is so long that the time until all was back is known too roughly for the limit.",
            "make the run shorter, or max_recovery longer",
        ),
    };
    (reason.into(), hint)
}

/// Why it is not known that no other tool suffered, if it is not, and what to try.
fn unseen_spread(impact: &FaultImpact) -> Option<(Message, &'static str)> {
    let others = || impact.tools.iter().filter(|tool| !tool.is_aimed_at);
    if impact.tool.is_none() {
        let reason = "It was aimed at every tool, so no other tool could suffer.";
        return Some((reason.into(), "aim the fault at one tool"));
    }
    if others().next().is_none() {
        let reason = "No other tool was called, so the effect on others is unknown.";
        return Some((reason.into(), "call other tools as well"));
    }
    if impact.open == Some(OpenReason::LoadChanged) {
        return Some(because(impact));
    }
    let unseen: Vec<String> = others()
        .filter(|tool| !tool.is_judged)
        .map(|tool| tool.tool.clone())
        .collect();
    if unseen.is_empty() {
        return None;
    }
    let hint = if impact.before.calls < CALLS_BEFORE_MIN {
        "let the fault start later: start = \"10s\""
    } else {
        "let the run and the fault last longer, or call these tools more often"
    };
    let reason = sentence!(
        "Too few calls of {} ended before it or until all was back to see whether they suffered.",
        names(&unseen)
    );
    Some((reason, hint))
}
