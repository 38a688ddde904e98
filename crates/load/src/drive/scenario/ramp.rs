//! More and more calls in flight, step by step: where does the server break?

use mcprove_score::breaking_point::{self, BreakingKind};

use super::prelude::*;

/// The most steps that a ramp may have.
const STEPS_MAX: u32 = 1000;

/// How much before its time a step may end and still be whole: timers are not exact.
const EARLY_MAX: Duration = Duration::from_millis(5);
/// How often a step is repeated in which the throughput seems to collapse, and how long at most.
const REPETITIONS: u32 = 2;
const REPETITION_MAX: Duration = Duration::from_secs(10);
/// How many steps a ramp has, about.
const STEPS: u32 = 10;

/// More and more calls in flight, step by step.
#[in_seconds]
#[data(Settings)]
pub struct Ramp {
    /// Calls in flight in the first step.
    #[setting(
        name = "ramp_from",
        default = 1,
        alias = "from_concurrent",
        elsewhere = "ignored"
    )]
    pub from_concurrent: u32,
    /// Calls in flight in the last step.
    #[setting(
        name = "ramp_to",
        default = 100,
        alias = "to_concurrent",
        elsewhere = "ignored"
    )]
    pub to_concurrent: u32,
    /// Another name of `ramp_to`.
    #[setting(like = Sustained::CONCURRENT, otherwise = "`ramp_to`")]
    #[serde(skip)]
    concurrent: Option<u32>,
    /// How many more calls each step has.
    #[setting(otherwise = "a tenth of the way", elsewhere = "ignored")]
    pub step_increment: u32,
    /// How long the load lasts, all steps together.
    #[setting(like = Sustained::DURATION)]
    pub duration: Duration,
}

impl Ramp {
    /// From so many calls in flight to so many, by so many in each step, for so long.
    pub fn new(from: u32, to: u32, step_increment: u32, duration: Duration) -> Self {
        Self {
            from_concurrent: from,
            to_concurrent: to,
            concurrent: None,
            step_increment,
            duration,
        }
    }
}

impl ScenarioType for Ramp {
    fn questions(&self) -> &'static [&'static str] {
        &[breaking_point::ID]
    }

    fn plan(&self, load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        let first = self.from_concurrent;
        let steps = steps(first, self.to_concurrent, self.step_increment)?;
        let each = self.duration / u32::try_from(steps.len()).unwrap_or(STEPS_MAX);
        let mut schedule = Schedule::default().warm_up(load.warmup, first);
        for concurrent in steps {
            let name = match load.rate {
                None => format!("{concurrent} in flight"),
                Some(rate) => {
                    let rate = rate * f64::from(concurrent) / f64::from(first);
                    format!("{}/s", (rate * 100.0).round() / 100.0)
                }
            };
            schedule = schedule.then(&name, each, concurrent);
        }
        Ok(Some(LoadPlan {
            repeat: Some(repeat_suspicious),
            ..weighted_calls(schedule)
        }))
    }

    fn complete(&mut self, given: &Given<'_, '_>, reader: &mut Reader<'_>) {
        let is_given = given.has("ramp_to") || given.has("to_concurrent");
        match given.field("concurrent") {
            Some(field) if is_given => {
                self.concurrent = None;
                let message = sentence!(
                    "ramp does not use {}, because {} is given",
                    setting("concurrent"),
                    setting("ramp_to")
                );
                reader.warn(&field.span, message);
            }
            _ => self.changed("concurrent"),
        }
        let (from, to) = (self.from_concurrent, self.to_concurrent);
        if to < from {
            let names = [
                "ramp_to",
                "to_concurrent",
                "concurrent",
                "ramp_from",
                "from_concurrent",
            ];
            let hint = sentence!(
                "let {} be at least {}",
                setting("ramp_to"),
                setting("ramp_from")
            );
            let message = format!("a ramp cannot go from {from} up to {to}");
            reader.problem(given.span(&names), message, hint);
        }
        if !given.has("step_increment") {
            self.step_increment = (to.saturating_sub(from) / STEPS).max(1);
        }
    }

    fn changed(&mut self, name: &str) {
        if let ("concurrent", Some(concurrent)) = (name, self.concurrent.take()) {
            self.to_concurrent = concurrent;
        }
    }

    fn concurrent_max(&self) -> Option<u32> {
        Some(self.to_concurrent)
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let faults = facts.fault_spans();
        let steps: Vec<_> = report
            .phases
            .iter()
            .filter_map(|phase| breaking_step(facts, phase, &faults))
            .collect();
        let point = breaking_point::find(&steps);
        let verdict = breaking_point::verdict(&steps, point.as_ref());
        report.verdicts.push(verdict);
        report.breaking_point = point;
        Ok(())
    }

    fn judging(&self) -> Judging {
        Judging {
            expects_errors: true,
            ..Judging::default()
        }
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        report
            .breaking_point
            .iter()
            .map(breaking_point_section)
            .collect()
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        let (from, to) = (self.from_concurrent, self.to_concurrent);
        let by = self.step_increment;
        let rate = |count| shape.rate_of(count, from);
        let steps = match shape {
            Shape::Closed => format!("{from} to {to} concurrent by {by}"),
            Shape::Open(_) => {
                let (first, last, step) = (shape.rate_of(1, 1), rate(to), rate(by));
                format!("{first} to {last} on a schedule by {step}")
            }
        };
        vec![steps, figure::duration(self.duration)]
    }
}

/// The calls in flight of each step; the last is always `to`.
fn steps(from: u32, to: u32, increment: u32) -> RunResult<Vec<u32>> {
    let refuse = |message: String| Err(RunError::Config(message.into()));
    if from == 0 || to < from || increment == 0 {
        return refuse(format!(
            "a ramp goes up from 1 or more in steps of 1 or more, not from {from} to {to} by {increment}"
        ));
    }
    if (to - from) / increment >= STEPS_MAX {
        return refuse(format!(
            "a ramp from {from} to {to} by {increment} has more than {STEPS_MAX} steps"
        ));
    }
    let step = usize::try_from(increment).unwrap_or(usize::MAX);
    let mut steps: Vec<u32> = (from..=to).step_by(step).collect();
    if steps.last() != Some(&to) {
        steps.push(to);
    }
    Ok(steps)
}

fn breaking_step(
    facts: &RunFacts<'_>,
    phase: &PhaseReport,
    faults: &[(f64, f64)],
) -> Option<breaking_point::RampStep> {
    let from = phase.from.as_secs_f64();
    let until = from + phase.duration.as_secs_f64();
    let mut records = facts.phases.iter();
    let record = records.find(|record| record.name == phase.name && record.from == phase.from);
    let is_repetition = record.is_some_and(|record| record.repetition);
    if !is_repetition && (!phase.measured || phase.name == ALONE) {
        return None;
    }
    let planned = record
        .and_then(|record| Some(record.until?.saturating_sub(record.from)))
        .unwrap_or_default();
    let (errors, refused) =
        record.map_or((phase.failed, 0), |record| facts.failed_and_refused(record));
    let answered = share(phase.count.saturating_sub(errors + refused), phase.count);
    Some(breaking_point::RampStep {
        concurrent: phase.concurrent,
        rate_per_s: phase.rate,
        calls: phase.count,
        errors,
        refused,
        p99_ms: tail_ms(phase),
        throughput_per_s: phase.requests_per_sec * answered.unwrap_or_default(),
        begun_per_s: per_second(phase.count, phase.duration),
        is_whole: phase.duration + EARLY_MAX >= planned,
        met_fault: faults.iter().any(|(on, off)| *on < until && *off >= from),
        machine: facts.machine_in(phase.from..phase.from + phase.duration),
        is_repetition,
    })
}

/// Repeats a step in which the throughput seems to collapse: it may be an accident.
fn repeat_suspicious(schedule: &Schedule, ended: &[u64]) -> Schedule {
    let steps: Vec<_> = schedule
        .phases()
        .iter()
        .zip(ended)
        .filter(|(phase, _)| phase.measured)
        .map(|(phase, ended)| {
            let per_s = per_second(*ended, phase.until.saturating_sub(phase.from));
            breaking_point::RampStep {
                concurrent: phase.concurrent,
                rate_per_s: None,
                calls: *ended,
                errors: 0,
                refused: 0,
                p99_ms: None,
                throughput_per_s: per_s,
                begun_per_s: per_s,
                is_whole: true,
                met_fault: false,
                machine: MachineReport::default(),
                is_repetition: false,
            }
        })
        .collect();
    let Some(concurrent) = breaking_point::to_repeat(&steps) else {
        return schedule.clone();
    };
    let measured = schedule.phases().iter().filter(|phase| phase.measured);
    let lengths = measured.map(|phase| phase.until.saturating_sub(phase.from));
    let length = lengths.max().unwrap_or_default().min(REPETITION_MAX);
    (0..REPETITIONS).fold(schedule.clone(), |schedule, _| {
        let name = format!("{concurrent} in flight again");
        schedule.add(&name, length, concurrent, false, 0)
    })
}

fn breaking_point_section(point: &BreakingPoint) -> Section {
    let way = match point.kind {
        BreakingKind::Errors => "calls fail",
        BreakingKind::Latency => "more calls only wait longer",
        BreakingKind::Collapse => "throughput collapses",
    };
    let mut lines = vec![
        format!("At {}: {way}", point.load()),
        format!("Failed there: {}", percent(point.error_share)),
        format!(
            "p99 there: {} · in the first step: {}",
            maybe_milliseconds(point.p99_ms),
            maybe_milliseconds(point.first_p99_ms)
        ),
        format!(
            "Calls per second there: {} · best before: {}",
            maybe_decimal(point.throughput_per_s, 1),
            maybe_decimal(point.best_throughput_per_s, 1)
        ),
    ];
    if let Some(good) = point.last_good_load() {
        lines.push(format!("Last step that held: {good}"));
    }
    Section::new("Breaking point").list(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_seems_to_collapse_is_repeated() {
        let second = Duration::from_secs(1);
        let schedule = Schedule::default()
            .warm_up(second, 1)
            .then("1 in flight", second, 1)
            .then("10 in flight", second, 10)
            .then("19 in flight", second, 19);
        let repeated = |ended: [u64; 4]| {
            let longer = repeat_suspicious(&schedule, &ended);
            let further = longer.phases()[4..].iter();
            assert!(further.clone().all(|phase| !phase.measured));
            further.map(|phase| phase.concurrent).collect::<Vec<_>>()
        };
        assert_eq!(repeated([9, 1000, 3000, 500]), [19, 19]);
        assert_eq!(repeated([9, 3000, 500, 2900]), [0; 0]);
        assert_eq!(repeated([9, 1000, 3000, 2900]), [0; 0]);
    }

    #[test]
    fn the_last_step_is_reached() {
        assert_eq!(steps(1, 10, 4).unwrap(), [1, 5, 9, 10]);
        assert_eq!(steps(5, 5, 1).unwrap(), [5]);
        assert_eq!(steps(1, 100, 9).unwrap().last(), Some(&100));
        assert!(steps(0, 5, 1).is_err() && steps(5, 1, 1).is_err() && steps(1, 5, 0).is_err());
        assert!(steps(1, u32::MAX, 1).is_err());
    }
}
