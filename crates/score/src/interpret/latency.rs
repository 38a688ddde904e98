//! Rules about how long calls take, and which ones.

use super::{Facts, LoadModel, ToolFacts, usable};
use crate::prelude::*;

/// p99 over p50 from which the tail is long.
const LONG_TAIL_RATIO: f64 = 10.0;
/// p99 over p50 up to which latency is even.
const EVEN_TAIL_RATIO: f64 = 2.0;
/// Share of the slow calls that one tool must hold.
const TAIL_SHARE_MIN: f64 = 0.5;
/// How many times its share of all calls that must be.
const TAIL_EXCESS_MIN: f64 = 1.5;
/// How many times the next tool's median makes a tool stand out.
const SLOWEST_FACTOR: f64 = 5.0;

/// How p99 feels: the limits of 0.1, 1 and 10 seconds are Nielsen's (*Usability Engineering*, 1993).
pub fn how_it_feels(facts: &Facts) -> Option<Message> {
    let p99 = facts.p99()?;
    let feels = match p99 {
        ..=100.0 => "an agent or a person hardly notices the wait",
        ..=1_000.0 => "a noticeable wait, but not one that breaks a train of thought",
        ..=10_000.0 => "long enough that a person waits and an agent's turn gets slow",
        _ => "longer than most people, and many clients' timeouts, will wait",
    };
    Some(sentence!(
        "99 % of the calls are answered within {}: {feels}.",
        milliseconds(p99)
    ))
}

pub fn tail_ratio(facts: &Facts) -> Option<Message> {
    let times = ratio(facts.p99()?, usable(facts.p50_ms)?)?;

    let shown = decimal(times, 1);
    if times >= LONG_TAIL_RATIO {
        Some(sentence!(
            "One call in a hundred takes at least {shown} times as long as the median: look for locks, garbage collection, cold caches or retries."
        ))
    } else if times <= EVEN_TAIL_RATIO {
        Some(sentence!(
            "Latency is even: p99 is only {shown} times the median."
        ))
    } else {
        None
    }
}

/// Which tool holds most of the calls above the run's p99.
pub fn slow_tail_tool(facts: &Facts) -> Option<Message> {
    let p99 = facts.p99()?;
    if facts.tools.len() < 2 {
        return None;
    }
    let tools = || facts.tools.iter().map(|tool| (tool, slow_calls(tool, p99)));
    let (tool, slow) = tools().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let of_slow = ratio(slow, tools().map(|(_, slow)| slow).sum())?;
    let of_all = share(tool.count, facts.succeeded.max(tool.count))?;
    if of_slow < TAIL_SHARE_MIN || of_slow < TAIL_EXCESS_MIN * of_all {
        return None;
    }
    Some(sentence!(
        "The slow tail (the slowest 1 %, from {} on) is concentrated on {}: {} of those calls, but {} of all.",
        milliseconds(p99),
        quoted(&tool.name),
        whole_percent(of_slow),
        whole_percent(of_all)
    ))
}

fn whole_percent(share: f64) -> String {
    format!("{}%", decimal(share * 100.0, 0))
}

/// Calls of a tool above the run's p99; where they were not counted, as many as its own
/// percentiles prove.
fn slow_calls(tool: &ToolFacts, p99: f64) -> f64 {
    if let Some(counted) = tool.slow_calls {
        return float(counted);
    }
    let proven = if tool.p50_ms > Some(p99) {
        0.5
    } else if tool.p99_ms > Some(p99) {
        0.01
    } else {
        0.0
    };
    proven * float(tool.count)
}

pub fn slowest_tool(facts: &Facts) -> Option<Message> {
    let mut medians: Vec<(&str, f64)> = facts
        .tools
        .iter()
        .filter_map(|tool| Some((tool.name.as_str(), usable(tool.p50_ms)?)))
        .collect();
    medians.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let [(slowest, slow), (_, next), ..] = medians.as_slice() else {
        return None;
    };
    let times = ratio(*slow, *next).filter(|times| *times >= SLOWEST_FACTOR)?;
    Some(sentence!(
        "{} is by far the slowest tool: {} at the median, {} times the next one.",
        quoted(slowest),
        milliseconds(*slow),
        decimal(times, 1)
    ))
}

pub fn percentile_missing(facts: &Facts) -> Option<Message> {
    let needed = percentile::samples_needed(99.0)?;
    let is_missing = facts.model != LoadModel::Steps && (1..needed).contains(&facts.succeeded);
    is_missing.then(|| {
        sentence!(
            "{} {} not enough for p99, which needs {}: run longer to see the tail.",
            counted(facts.succeeded, "successful call"),
            are(facts.succeeded),
            whole(needed)
        )
    })
}
