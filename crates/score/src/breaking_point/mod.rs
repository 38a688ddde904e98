//! The number of concurrent clients at which a server stops coping, from the steps of a ramp; on a
//! schedule (open model), the calls per second.
//!
//! A step breaks when one of these holds, checked in this order:
//!
//! - **errors**: for sure more than 5 % of its calls failed (the confidence interval is above that), and at least 5 of them,
//!   in the steps before 5 % at most, and the share rose by more than 5 points for sure. Calls that fail from
//!   the first step on have another reason than too many clients;
//! - **collapse**: throughput below a third of the best earlier step, which made at least 20 calls,
//!   so that at least 20 were to be expected here;
//! - **latency**: p99 at least 5 times that of the first step, and throughput less than 10 % above
//!   the step before. Then more clients only add waiting: saturation, by Little's law
//!   (clients = throughput × latency). On a schedule: throughput below 90 % of the
//!   rate, or that few calls that could start at all, however long they took.
//!
//! A step counts if it lasted its whole time and made a call: of one that was cut short, by an
//! interruption or because there were enough calls, nothing is known. Nor does one count in which an
//! injected fault was on.
//!
//! The first step that breaks is the breaking point. Saturation is no bug, so it passes; but it
//! does not hide errors or a collapse at a later step.
//!
//! A neighbour that takes the processor away looks like a collapse. So a later step, or a repetition of the step, that
//! is at least half as good as the best one refutes it. It is inconclusive where [other work](crate::machine) can explain it
//! each time.

use crate::machine::{self, MachineReport};
use crate::prelude::*;

pub const ID: &str = "breaking_point";

/// Share of failed calls that a step may have.
pub const ERROR_SHARE_MAX: f64 = 0.05;
/// By how much the share of failed calls must be higher than in the steps before, at the low end of its interval: with less, one
/// of many steps is worse by chance.
pub const ERROR_SHARE_RISE_MIN: f64 = 0.05;
/// Failed calls below which a share says nothing.
pub const ERRORS_MIN: u64 = 5;
/// How many times the first step's p99 counts as saturated.
pub const LATENCY_FACTOR: f64 = 5.0;
/// Throughput over the previous step's from which adding clients still helps.
pub const THROUGHPUT_GAIN_MIN: f64 = 1.1;
/// Throughput of a later step over that of one that seems saturated from which it was not.
pub const LATER_GAIN_MIN: f64 = 1.5;
/// Share of the scheduled rate below which a server does not keep up with it.
pub const KEPT_UP_SHARE: f64 = 0.9;
/// Share of the best throughput below which it has collapsed.
pub const COLLAPSE_SHARE: f64 = 1.0 / 3.0;
/// Share of the best throughput from which a later step, or a repetition, shows that it has not collapsed.
pub const RECOVERED_SHARE: f64 = 0.5;
/// Steps below which a ramp that was cut short says nothing.
pub const STEPS_MIN: usize = 2;
/// Calls that must have been expected before a collapse counts.
pub const COLLAPSE_CALLS_MIN: u64 = 20;

/// One step of a ramp, in the order they were made.
#[derive(Debug, Clone, PartialEq)]
pub struct RampStep {
    /// Concurrent clients.
    pub concurrent: u32,
    /// Calls per second on a schedule, in the open model: then that is what grows.
    pub rate_per_s: Option<f64>,
    /// Calls made.
    pub calls: u64,
    /// Calls that failed, without those that a rate limit refused.
    pub errors: u64,
    /// Calls that a rate limit refused: then it decides how many succeed.
    pub refused: u64,
    /// p99 in milliseconds, or the maximum where there are too few calls for it.
    pub p99_ms: Option<f64>,
    /// Successful calls per second.
    pub throughput_per_s: f64,
    /// Calls per second that began; on a schedule the others could not start.
    pub begun_per_s: f64,
    /// Whether it lasted as long as it should.
    pub is_whole: bool,
    /// Whether an injected fault was on in it: then it says nothing of the server.
    pub met_fault: bool,
    /// How noisy the machine was meanwhile.
    pub machine: MachineReport,
    /// Whether it is a repetition, made after the ramp because of what was seen in it.
    pub is_repetition: bool,
}

impl RampStep {
    /// How much it asks of the server, for people.
    fn load(&self) -> String {
        load(self.concurrent, self.rate_per_s)
    }

    fn counts(&self) -> bool {
        self.is_whole && self.calls > 0 && !self.met_fault
    }
}

fn load(concurrent: u32, rate_per_s: Option<f64>) -> String {
    match rate_per_s {
        Some(rate) => format!("{} calls per second", decimal(rate, 2)),
        None => counted(concurrent.into(), "concurrent call"),
    }
}

/// The steps of which something is known, and then the repetitions.
fn known_steps(steps: &[RampStep]) -> (Vec<RampStep>, Vec<RampStep>) {
    let known = steps.iter().filter(|step| step.counts()).cloned();
    known.partition(|step| !step.is_repetition)
}

/// What is known of a throughput that seems to collapse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collapse {
    /// It does.
    Real,
    /// Other work on the machine can explain it.
    Doubtful,
    /// It does not: a later step, or a repetition, was as good as it should be.
    Refuted,
}

/// Whether a step collapses; none where its throughput is not that low.
fn collapse(
    step: &RampStep,
    best: &RampStep,
    later: &[RampStep],
    repetitions: &[RampStep],
) -> Option<Collapse> {
    let least = best.throughput_per_s * COLLAPSE_SHARE;
    if step.refused > 0 || best.calls < COLLAPSE_CALLS_MIN || step.throughput_per_s >= least {
        return None;
    }
    let again = || {
        repetitions
            .iter()
            .filter(|it| it.concurrent == step.concurrent)
    };
    let recovered = best.throughput_per_s * RECOVERED_SHARE;
    let mut others = later.iter().chain(again());
    if others.any(|it| it.throughput_per_s >= recovered) {
        return Some(Collapse::Refuted);
    }
    let is_explained = |it: &RampStep| it.machine.explains(it.throughput_per_s, least);
    Some(if is_explained(step) && again().all(is_explained) {
        Collapse::Doubtful
    } else {
        Collapse::Real
    })
}

/// The first step that seems to collapse and was not refuted, with the best one before it.
fn suspicious<'a>(
    steps: &'a [RampStep],
    repetitions: &[RampStep],
) -> Option<(&'a RampStep, &'a RampStep)> {
    steps.iter().enumerate().find_map(|(index, step)| {
        let (earlier, later) = (steps.get(..index)?, steps.get(index + 1..)?);
        let best = best_of(earlier)?;
        let found = collapse(step, best, later, repetitions)?;
        (found != Collapse::Refuted).then_some((best, step))
    })
}

/// The calls in flight of the step that is to be repeated at the end of a ramp, because it seems to collapse.
pub fn to_repeat(steps: &[RampStep]) -> Option<u32> {
    let (known, repetitions) = known_steps(steps);
    let (_, step) = suspicious(&known, &repetitions)?;
    Some(step.concurrent)
}

fn best_of(steps: &[RampStep]) -> Option<&RampStep> {
    steps
        .iter()
        .filter(|step| step.throughput_per_s.is_finite())
        .max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
}

/// In which way a server stops coping.
#[choice(Copy, Eq, Hash)]
pub enum BreakingKind {
    /// Calls fail.
    Errors,
    /// More clients only wait longer.
    Latency,
    /// Throughput falls far below what it was.
    Collapse,
}

/// Where and how a server stops coping.
#[sparse(marked)]
#[data(open)]
pub struct BreakingPoint {
    /// Concurrent clients of the step that broke.
    pub concurrent: u32,
    /// Its calls per second on a schedule, in the open model.
    #[sparse]
    pub rate_per_s: Option<f64>,
    /// In which way.
    pub kind: BreakingKind,
    /// Share of its calls that failed.
    pub error_share: f64,
    /// Its p99 in milliseconds.
    pub p99_ms: Option<f64>,
    /// p99 of the first step, in milliseconds.
    pub first_p99_ms: Option<f64>,
    /// Its successful calls per second.
    pub throughput_per_s: Option<f64>,
    /// Successful calls per second of the best earlier step.
    pub best_throughput_per_s: Option<f64>,
    /// Concurrent clients of the step before it.
    pub last_good_concurrent: Option<u32>,
    /// Its calls per second on a schedule, in the open model.
    #[sparse]
    pub last_good_rate_per_s: Option<f64>,
}

impl BreakingPoint {
    /// How much was too much, for people.
    pub fn load(&self) -> String {
        load(self.concurrent, self.rate_per_s)
    }

    /// What the step before it held, for people; none at the first step.
    pub fn last_good_load(&self) -> Option<String> {
        self.last_good_concurrent
            .map(|concurrent| load(concurrent, self.last_good_rate_per_s))
    }
}

/// Finds the first step that breaks.
pub fn find(steps: &[RampStep]) -> Option<BreakingPoint> {
    let (known, repetitions) = known_steps(steps);
    find_kind(
        &known,
        &repetitions,
        &[
            BreakingKind::Errors,
            BreakingKind::Collapse,
            BreakingKind::Latency,
        ],
    )
}

fn find_kind(
    steps: &[RampStep],
    repetitions: &[RampStep],
    kinds: &[BreakingKind],
) -> Option<BreakingPoint> {
    steps.iter().enumerate().find_map(|(index, step)| {
        let (earlier, later) = (&steps[..index], &steps[index + 1..]);
        let best = best_of(earlier);
        let kind = kinds.iter().copied().find(|kind| match kind {
            BreakingKind::Errors => has_errors(step, earlier),
            BreakingKind::Collapse => best.is_some_and(|best| {
                collapse(step, best, later, repetitions) == Some(Collapse::Real)
            }),
            BreakingKind::Latency => is_saturated(step, earlier) && !is_refuted(step, later),
        })?;
        let last = earlier.last();
        Some(BreakingPoint {
            concurrent: step.concurrent,
            rate_per_s: step.rate_per_s.and_then(finite),
            kind,
            error_share: error_share(step),
            p99_ms: step.p99_ms.and_then(finite),
            first_p99_ms: steps[0].p99_ms.and_then(finite),
            throughput_per_s: finite(step.throughput_per_s),
            best_throughput_per_s: best.map(|best| best.throughput_per_s),
            last_good_concurrent: last.map(|step| step.concurrent),
            last_good_rate_per_s: last.and_then(|step| finite(step.rate_per_s?)),
        })
    })
}

fn error_share(step: &RampStep) -> f64 {
    share(step.errors, step.calls.max(step.errors)).unwrap_or_default()
}

fn has_many_errors(step: &RampStep) -> bool {
    step.errors >= ERRORS_MIN && is_over_limit(step.errors, step.calls.max(step.errors))
}

/// Whether for sure more calls fail than may.
fn is_over_limit(errors: u64, calls: u64) -> bool {
    share_at_least(errors, calls).is_some_and(|share| share > ERROR_SHARE_MAX)
}

/// Whether calls fail at some step, so that the server cannot be said to cope with it.
fn is_failing(steps: &[RampStep]) -> bool {
    steps.iter().any(has_many_errors) || steps.iter().all(|step| step.errors >= step.calls)
}

fn has_errors(step: &RampStep, earlier: &[RampStep]) -> bool {
    let sum = |count: fn(&RampStep) -> u64| earlier.iter().map(count).fold(0, u64::saturating_add);
    let before = (sum(|step| step.errors), sum(|step| step.calls));
    let rise = rise_at_least(before, (step.errors, step.calls));
    let was_good = share(before.0, before.1).is_some_and(|share| share <= ERROR_SHARE_MAX);
    let has_risen = was_good && rise.is_some_and(|rise| rise > ERROR_SHARE_RISE_MIN);
    has_many_errors(step) && has_risen
}

fn is_saturated(step: &RampStep, earlier: &[RampStep]) -> bool {
    let (Some(first), Some(previous), Some(p99_ms)) =
        (earlier.first(), earlier.last(), step.p99_ms)
    else {
        return false;
    };
    let is_slower = first
        .p99_ms
        .is_some_and(|first_ms| first_ms > 0.0 && p99_ms >= LATENCY_FACTOR * first_ms);
    if let Some(enough) = step.rate_per_s.map(|rate| KEPT_UP_SHARE * rate) {
        step.begun_per_s < enough || (is_slower && step.throughput_per_s < enough)
    } else {
        let enough = THROUGHPUT_GAIN_MIN * previous.throughput_per_s.max(0.0);
        is_slower && step.throughput_per_s < enough
    }
}

/// Whether more clients helped after all, in a later step.
fn is_refuted(step: &RampStep, later: &[RampStep]) -> bool {
    let enough = LATER_GAIN_MIN * step.throughput_per_s.max(0.0);
    step.rate_per_s.is_none() && later.iter().any(|it| it.throughput_per_s >= enough)
}

/// The verdict `breaking_point` of the steps and what [`find`] says about them. Errors are
/// critical, a collapse is a warning, saturation passes.
pub fn verdict(steps: &[RampStep], point: Option<&BreakingPoint>) -> Verdict {
    let (known, repetitions) = known_steps(steps);
    let planned = steps.iter().rfind(|step| !step.is_repetition);
    let (Some(first), Some(last), Some(planned)) = (known.first(), known.last(), planned) else {
        if steps.iter().any(|step| step.met_fault) {
            let sentence = "An injected fault was on in every step of the ramp, so where the server breaks is inconclusive.";
            return Verdict::inconclusive(ID, sentence, FAULTS_HINT);
        }
        return unknown("No step of the ramp was completed, so there is nothing to judge.");
    };
    match point {
        Some(point) if point.kind == BreakingKind::Latency => {
            return saturating(&known, &repetitions, point);
        }
        Some(point) => return broken(point),
        None => {}
    }
    if let Some(verdict) = doubtful(&known, &repetitions) {
        return verdict;
    }
    if planned.met_fault {
        let left_out = steps.iter().filter(|step| step.met_fault).count();
        let sentence = format!(
            "The server handles up to {}; an injected fault was on in the steps after that, so where it breaks is inconclusive.",
            last.load()
        );
        return Verdict::inconclusive(ID, sentence, FAULTS_HINT)
            .number("last_good_concurrent", last.concurrent)
            .number("steps_left_out", left_out);
    }
    let is_cut_short = last.concurrent < planned.concurrent;
    if is_cut_short && known.len() < STEPS_MIN {
        return unknown(format!(
            "The ramp ended in its first steps, before {}: too early to compare them.",
            planned.load()
        ));
    }
    if is_failing(&known) {
        return failing_from_the_start(first, last);
    }
    let end = if is_cut_short {
        format!(
            "the ramp ended there, before its last step of {}",
            planned.load()
        )
    } else {
        "the ramp found no breaking point".to_owned()
    };
    let sentence = format!("The server handles up to {}; {end}.", last.load());
    let verdict = Verdict::pass(ID, sentence)
        .number("concurrent", None::<u32>)
        .number("last_good_concurrent", last.concurrent)
        .number("p99_ms", last.p99_ms);
    match last.rate_per_s {
        Some(rate) => verdict.number("last_good_rate_per_s", rate),
        None => verdict,
    }
}

const FAULTS_HINT: &str =
    "let the faults start late enough and end early enough that steps are left, or leave them out";

fn unknown(sentence: impl Into<Message>) -> Verdict {
    let hint = sentence!(
        "let the ramp go to its end: with more time, and without {} or with more",
        setting("calls")
    );
    Verdict::inconclusive(ID, sentence, hint)
}

/// Calls fail whatever the number of clients: that is told elsewhere, and hides where more of them
/// would make calls fail.
fn failing_from_the_start(first: &RampStep, last: &RampStep) -> Verdict {
    let sentence = format!(
        "{} of the calls already fail at {}, and {} at {}: where the server breaks under load cannot be determined.",
        percent(error_share(first)),
        first.load(),
        percent(error_share(last)),
        last.load()
    );
    let hint = sentence!(
        "leave out the tools that fail, or correct their arguments; or start lower with {}",
        setting("ramp_from")
    );
    Verdict::inconclusive(ID, sentence, hint)
        .number("first_error_share", error_share(first))
        .number("error_share", error_share(last))
}

/// A breaking point, as a verdict.
fn broken(point: &BreakingPoint) -> Verdict {
    let load = point.load();
    let verdict = match point.kind {
        BreakingKind::Errors => Verdict::critical(
            ID,
            format!(
                "The server starts to fail at {load}: {} of them end in an error.",
                percent(point.error_share)
            ),
            "look at the categories of the errors, and for limits that are reached: connections, threads, files, timeouts",
        ),
        BreakingKind::Collapse => Verdict::warning(
            ID,
            format!(
                "Throughput collapses at {load}: from {} to {} calls per second.",
                decimal(point.best_throughput_per_s.unwrap_or_default(), 1),
                decimal(point.throughput_per_s.unwrap_or_default(), 1)
            ),
            "limit how many calls the server works on at once; beyond that let them wait or refuse them",
        ),
        BreakingKind::Latency => {
            let who_waits = match point.rate_per_s {
                Some(_) => "calls that come faster",
                None => "more clients",
            };
            let sentence = format!(
                "The server saturates at {load}: {who_waits} only wait longer (p99 {}, {} at the first step), which is queueing, not a bug.",
                milliseconds(point.p99_ms.unwrap_or_default()),
                milliseconds(point.first_p99_ms.unwrap_or_default())
            );
            Verdict::pass(ID, sentence)
        }
    };
    verdict.numbers_in(point)
}

/// A throughput that fell, which other work on the machine can explain.
fn doubtful(steps: &[RampStep], repetitions: &[RampStep]) -> Option<Verdict> {
    let (best, step) = suspicious(steps, repetitions)?;
    let sentence = format!(
        "Throughput fell from {} to {} calls per second at {}, but other work on this machine can explain that.",
        decimal(best.throughput_per_s, 1),
        decimal(step.throughput_per_s, 1),
        step.load()
    );
    let verdict = Verdict::inconclusive(ID, sentence, machine::quiet_hint());
    Some(
        verdict
            .number("suspicious_concurrent", step.concurrent)
            .number("noise_share", step.machine.noise_share),
    )
}

/// A saturated server passes, but that does not hide errors or a collapse at a later step.
fn saturating(steps: &[RampStep], repetitions: &[RampStep], point: &BreakingPoint) -> Verdict {
    let worse = [BreakingKind::Errors, BreakingKind::Collapse];
    let later = worse
        .into_iter()
        .find_map(|kind| find_kind(steps, repetitions, &[kind]));
    let doubtful = doubtful(steps, repetitions);
    let verdict = match (later, steps.first(), steps.last()) {
        (Some(later), ..) => broken(&later),
        (None, Some(first), Some(last)) if is_failing(steps) => failing_from_the_start(first, last),
        _ => doubtful.unwrap_or_else(|| broken(point)),
    };
    verdict.number("saturated_concurrent", point.concurrent)
}

#[cfg(test)]
mod tests;
