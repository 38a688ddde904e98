//! Rules about the load: what bounded it, and what it hides.

use super::{Facts, LoadModel, ToolFacts, usable};
use crate::prelude::*;
use crate::{head_of_line, spike_recovery};

/// Share of the time that clients must have waited for answers to have been the limit.
const BUSY_SHARE_MIN: f64 = 0.8;
/// Share of the time below which they were mostly idle.
const IDLE_SHARE_MAX: f64 = 0.5;
/// Clients from which their number can be told from chance.
const CONCURRENT_MIN: u32 = 4;
/// Share of `clients × latency alone` from which calls are served one at a time.
const SERIAL_SHARE_MIN: f64 = 0.7;
/// Cores that the server keeps busy, from which on it is the server that sets the pace.
const BUSY_CORES_MIN: f64 = 0.85;
/// p99 of a burst in medians, below which nobody was kept waiting for others.
const FAIR_MAX: f64 = 1.5;
/// Share of the time in calls that tools must hold to speak for the server.
const COMPARED_SHARE_MIN: f64 = 0.9;

/// How long a call takes that is a stall, and in medians.
const STALL_MS_MIN: f64 = 500.0;
const STALL_RATIO_MIN: f64 = 10.0;

pub fn generator_was_the_limit(facts: &Facts) -> Option<Message> {
    let change = facts.generator_limited.as_ref()?;
    Some(sentence!(
        "The load generator itself was the limit, so the server may be faster than these numbers: {change}."
    ))
}

/// Share of the clients that waited for an answer at any moment: at least, and at most. What is
/// not known is when in the load the calls that outlasted it began.
fn busy_share(facts: &Facts) -> Option<(f64, f64)> {
    let time = facts.time?;
    if facts.model != LoadModel::Closed || facts.concurrent == 0 {
        return None;
    }
    let clients = f64::from(facts.concurrent) * usable(Some(time.load_s))?;
    let share = |seconds: f64| finite(seconds / clients).map(|share| share.clamp(0.0, 1.0));
    Some((
        share(time.in_calls_s - time.overtime_s_max)?,
        share(time.in_calls_s)?,
    ))
}

/// The tool that shows that clients are served in a row: under load its calls take what one takes
/// alone, times the clients. Tools are compared with themselves only, and each that can be has to
/// show it; together they must be what the clients waited for, since others may run side by side.
fn served_in_a_row(facts: &Facts) -> Option<(&ToolFacts, f64, f64)> {
    if facts.model != LoadModel::Closed || facts.concurrent < CONCURRENT_MIN {
        return None;
    }
    let compared: Vec<(&ToolFacts, f64, f64)> = facts
        .tools
        .iter()
        .filter_map(|tool| Some((tool, usable(tool.p50_ms)?, usable(tool.alone_p50_ms)?)))
        .collect();
    let of_compared = compared.iter().map(|(tool, ..)| tool.in_calls_s).sum();
    let of_all = facts.tools.iter().map(|tool| tool.in_calls_s).sum();
    let is_all = ratio(of_compared, of_all).is_some_and(|share| share >= COMPARED_SHARE_MIN);
    let clients = f64::from(facts.concurrent);
    let mut times = compared
        .iter()
        .map(|(_, p50_ms, alone_ms)| (p50_ms, alone_ms));
    if !is_all || !times.all(|(p50_ms, alone_ms)| *p50_ms >= SERIAL_SHARE_MIN * alone_ms * clients)
    {
        return None;
    }
    compared.into_iter().max_by_key(|(tool, ..)| tool.count)
}

/// What a burst did to those who called in it: how long they waited, how fairly, how many failed.
pub fn in_the_burst(facts: &Facts) -> Option<Message> {
    let numbers = &facts
        .verdicts
        .iter()
        .find(|verdict| verdict.detector == spike_recovery::ID)?
        .numbers;
    let number = |name: &str| usable(numbers.get(name)?.as_f64());
    let fairness = number("burst_p99_to_p50").map_or(String::new(), |times| {
        if times < FAIR_MAX {
            ", and all waited about as long".to_owned()
        } else {
            format!(
                ", and the slowest 1% waited {} times as long as the median",
                decimal(times, 1)
            )
        }
    });
    Some(sentence!(
        "In the burst a call took {} at the median, {} before it; {} of the calls failed{fairness}.",
        milliseconds(number("burst_p50_ms")?),
        milliseconds(number("baseline_p50_ms")?),
        percent(number("burst_error_share").unwrap_or_default())
    ))
}

pub fn one_at_a_time(facts: &Facts) -> Option<Message> {
    let (tool, p50_ms, alone_ms) = served_in_a_row(facts)?;
    Some(sentence!(
        "The server works on one call at a time: {} clients each wait {} for {}, and alone it takes {}.",
        facts.concurrent,
        milliseconds(p50_ms),
        quoted(&tool.name),
        milliseconds(alone_ms)
    ))
}

/// A core of the server with nothing left to give.
fn is_server_busy(facts: &Facts) -> bool {
    usable(facts.server_cores).is_some_and(|cores| cores >= BUSY_CORES_MIN)
}

pub fn server_was_busy(facts: &Facts) -> Option<Message> {
    if facts.model != LoadModel::Closed || !is_server_busy(facts) {
        return None;
    }
    Some(sentence!(
        "The server kept {} of a core busy: {} calls per second are about what it can do with that, whatever the number of clients.",
        percent(usable(facts.server_cores)?),
        decimal(usable(facts.throughput_per_s)?, 1)
    ))
}

/// Calls wait for those of a slow tool: more clients would only wait too.
fn is_held_up_by_a_tool(facts: &Facts) -> bool {
    let mut verdicts = facts.verdicts.iter();
    verdicts.any(|it| it.detector == head_of_line::ID && it.outcome == Outcome::Finding)
}

/// More clients would show more, unless it is known that they only wait in a row or for a core.
pub fn limited_by_calls_in_flight(facts: &Facts) -> Option<Message> {
    busy_share(facts)
        .filter(|(at_least, _)| *at_least >= BUSY_SHARE_MIN)
        .filter(|_| served_in_a_row(facts).is_none() && !is_server_busy(facts))
        .filter(|_| !is_held_up_by_a_tool(facts))?;
    Some(sentence!(
        "Throughput was limited by the {} in flight, each waiting {} on average: {} per second. Concurrency limited the rate; the server may handle more. Run a ramp to find out.",
        counted(facts.concurrent.into(), "call"),
        // However it ended.
        milliseconds(usable(Some(
            facts.time?.in_calls_s * 1000.0 / float(facts.attempted)
        ))?),
        decimal(usable(facts.throughput_per_s)?, 1)
    ))
}

pub fn clients_were_idle(facts: &Facts) -> Option<Message> {
    let (_, share) = busy_share(facts).filter(|(_, at_most)| *at_most < IDLE_SHARE_MAX)?;
    Some(sentence!(
        "The clients waited for the server only {} of the time: a rate limit, think time, lost sessions or the generator held them back, not the server.",
        percent(share)
    ))
}

pub fn calls_dropped(facts: &Facts) -> Option<Message> {
    if facts.model != LoadModel::Open || facts.dropped == 0 {
        return None;
    }
    let they_are = match facts.dropped {
        1 => "it is",
        _ => "they are",
    };
    let who = if facts.generator_limited.is_some() {
        "the generator or the server"
    } else {
        "the server"
    };
    Some(sentence!(
        "{} could not start because too many were still in flight: {who} does not keep up with this rate, and {they_are} missing from the latencies.",
        counted(facts.dropped, "call")
    ))
}

/// Only where a call took much longer than the others.
pub fn closed_model_hides_stalls(facts: &Facts) -> Option<Message> {
    let (longest, median) = (usable(facts.max_ms)?, usable(facts.p50_ms)?);
    let is_stall = longest >= STALL_MS_MIN && longest >= median * STALL_RATIO_MIN;
    if facts.model != LoadModel::Closed || !is_stall {
        return None;
    }
    let what = format!(
        "In a closed run clients stop calling while the server stalls, so stalls are under-counted (the longest call took {}); give a rate (",
        milliseconds(longest)
    );
    let rest = ") to see what users on a schedule would see.";
    Some(sentence!("{what}{}{rest}", setting("rate")))
}
