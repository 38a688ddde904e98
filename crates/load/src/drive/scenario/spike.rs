//! A steady load with a sharp burst in it, and time to recover after it.

use mcprove_score::spike_recovery;
use mcprove_settings::kind::COUNT_MAX;
use mcprove_settings::setting::cannot_both;

use super::prelude::*;

/// The phase before the burst.
pub const BASELINE: &str = "baseline";
/// The burst itself.
pub const SPIKE: &str = "spike";
/// The phase after the burst.
pub const RECOVERY: &str = "recovery";
/// The last part of the time after it, by which the server must have recovered. Older runs, and those with less than that after
/// the burst, have none.
pub const RECOVERED: &str = "recovered";
/// The part of the time after the burst that it takes, and how long it is at least.
const RECOVERED_PART: u32 = 3;
const RECOVERED_MIN: Duration = Duration::from_secs(1);

/// How many times the calls in flight there are in the burst, unless given.
const MULTIPLIER: f64 = 10.0;

/// A steady load with a sharp burst in it.
#[in_seconds]
#[data(Settings)]
#[allow(clippy::struct_field_names, reason = "the names of the specification")]
pub struct Spike {
    /// Calls in flight outside the burst.
    #[setting(like = Sustained::CONCURRENT)]
    pub baseline_concurrent: u32,
    /// Calls in flight in the burst, instead of `spike_multiplier`.
    #[setting(otherwise = "10 × `concurrent`", elsewhere = "ignored")]
    pub spike_concurrent: u32,
    /// How many times the calls in flight there are in the burst.
    #[setting(kind = FACTOR, otherwise = "10", elsewhere = "ignored")]
    #[serde(skip)]
    spike_multiplier: Option<f64>,
    #[setting(like = Sustained::DURATION)]
    pub baseline_duration: Duration,
    /// When the burst begins.
    #[setting(kind = TIME_OR_ZERO, otherwise = "half-way", elsewhere = "ignored")]
    pub spike_at: Duration,
    /// How long the burst takes.
    #[setting(otherwise = "a sixth of the run", elsewhere = "ignored")]
    pub spike_duration: Duration,
}

impl Spike {
    /// A burst of this many calls in flight, at this time and for so long, in a load of so many.
    pub fn new(
        baseline_concurrent: u32,
        spike_concurrent: u32,
        duration: Duration,
        spike_at: Duration,
        spike_duration: Duration,
    ) -> Self {
        Self {
            baseline_concurrent,
            spike_concurrent,
            spike_multiplier: None,
            baseline_duration: duration,
            spike_at,
            spike_duration,
        }
    }

    /// The calls in flight of the burst, where they are not given.
    fn multiply(&mut self, given: &Given<'_, '_>, reader: &mut Reader<'_>) {
        let multiplier = self.spike_multiplier.take();
        let count = given.field("spike_concurrent");
        if let Some((factor, count)) = given.field("spike_multiplier").zip(count) {
            // A flag stands in for what a file says.
            let is_flag = |field: &Field| reader.is_given_besides(&field.span);
            match (is_flag(factor), is_flag(count)) {
                (true, false) => {}
                (false, true) => return,
                _ if factor.span.start > count.span.start => {
                    return cannot_both(reader, factor, &count.name);
                }
                _ => return cannot_both(reader, count, &factor.name),
            }
        } else if count.is_some() {
            return;
        }
        let factor = multiplier.unwrap_or(MULTIPLIER);
        let calls = (f64::from(self.baseline_concurrent) * factor).ceil();
        if calls <= f64::from(COUNT_MAX) {
            self.spike_concurrent = u32::try_from(number::truncated(calls)).unwrap_or(COUNT_MAX);
        } else {
            reader.problem(
                given.span(&["spike_multiplier", "concurrent"]),
                format!("the burst would have {calls} calls in flight"),
                format!("at most {COUNT_MAX} are possible"),
            );
        }
    }
}

impl ScenarioType for Spike {
    fn questions(&self) -> &'static [&'static str] {
        &[spike_recovery::ID]
    }

    fn judging(&self) -> Judging {
        Judging {
            judges_errors_in: &[SPIKE, RECOVERY, RECOVERED],
            ..Judging::default()
        }
    }

    fn plan(&self, load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        let spike_end = self.spike_at.saturating_add(self.spike_duration);
        if spike_end > self.baseline_duration || self.spike_duration.is_zero() {
            return Err(RunError::Config(self.does_not_fit().into()));
        }
        let after = self.baseline_duration.saturating_sub(spike_end);
        let recovered = (after / RECOVERED_PART).max(RECOVERED_MIN);
        let recovered = if recovered < after {
            recovered
        } else {
            Duration::ZERO
        };
        let recovery = after.saturating_sub(recovered);
        let schedule = Schedule::steady(load, BASELINE, self.spike_at, self.baseline_concurrent)
            .then(SPIKE, self.spike_duration, self.spike_concurrent)
            .then(RECOVERY, recovery, self.baseline_concurrent)
            .then(RECOVERED, recovered, self.baseline_concurrent);
        Ok(Some(weighted_calls(schedule)))
    }

    fn complete(&mut self, given: &Given<'_, '_>, reader: &mut Reader<'_>) {
        self.multiply(given, reader);
        if !given.has("spike_at") {
            self.spike_at = self.baseline_duration / 2;
        }
        let rest = self.baseline_duration.saturating_sub(self.spike_at);
        if !given.has("spike_duration") {
            // Unless said otherwise there is time to recover after the burst.
            self.spike_duration = (self.baseline_duration / 6).min(rest / 2);
        }
        if self.spike_duration > rest || self.spike_duration.is_zero() {
            let span = given.span(&["spike_duration", "spike_at", "duration"]);
            let hint = sentence!(
                "start the burst earlier, or give a longer {}",
                setting("duration")
            );
            reader.problem(span, self.does_not_fit(), hint);
        }
    }

    fn changed(&mut self, name: &str) {
        if name == "duration" {
            self.spike_at = self.baseline_duration / 2;
            self.spike_duration = self.baseline_duration / 6;
        }
    }

    fn concurrent_max(&self) -> Option<u32> {
        Some(self.spike_concurrent)
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.baseline_duration)
    }

    /// Whether the server is after the burst what it was before it.
    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let phase = |name: &str| {
            let mut phases = report.phases.iter();
            phases
                .find(|phase| phase.name == name)
                .map(|phase| phase_calls(facts, phase))
        };
        let settled = phase(RECOVERED).filter(|part| part.duration_secs > 0.0);
        let last = if settled.is_some() {
            RECOVERED
        } else {
            RECOVERY
        };
        let judged = spike_recovery::judge(&spike_recovery::SpikeInput {
            baseline: phase(BASELINE).unwrap_or_default(),
            burst: phase(SPIKE).unwrap_or_default(),
            recovery: phase(last).unwrap_or_default(),
            tools: compare_tools(facts, last),
            settling: phase(RECOVERY).filter(|_| last == RECOVERED).map(|calls| {
                spike_recovery::Settling {
                    calls,
                    tools: compare_tools(facts, RECOVERY),
                }
            }),
            longest_pause_secs: longest_pause(facts, BASELINE).as_secs_f64(),
            machine: facts.machine_while(last),
        });
        let verdict = spike_recovery::verdict(&judged);
        let verdict = facts.unless_faults_differ(verdict, &[BASELINE, RECOVERY, RECOVERED]);
        report.verdicts.push(verdict);
        report.spike_recovery = Some(judged);
        Ok(())
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        let spike = match shape {
            Shape::Closed => self.spike_concurrent.to_string(),
            Shape::Open(_) => shape.rate_of(self.spike_concurrent, self.baseline_concurrent),
        };
        let at = figure::duration(self.spike_at);
        let length = figure::duration(self.spike_duration);
        vec![
            shape.clients(self.baseline_concurrent),
            format!("{spike} from {at} for {length}"),
            figure::duration(self.baseline_duration),
        ]
    }
}

impl Spike {
    fn does_not_fit(&self) -> String {
        let burst = if self.spike_duration.is_zero() {
            "a burst".to_owned()
        } else {
            format!("a burst of {}", describe_duration(self.spike_duration))
        };
        let (at, all) = (self.spike_at, self.baseline_duration);
        let (at, all) = (describe_duration(at), describe_duration(all));
        format!("{burst} at {at} does not fit into a run of {all}")
    }
}

/// Each tool before the burst and in a phase after it.
fn compare_tools(facts: &RunFacts<'_>, after: &str) -> Vec<spike_recovery::ToolRecovery> {
    let before = facts.tools_in(BASELINE);
    let after = facts.tools_in(after);
    let compared = before.into_iter().flatten().map(|(tool, calls)| {
        let later = after.and_then(|tools| tools.get(tool));
        spike_recovery::ToolRecovery {
            tool: tool.clone(),
            before: quartiles(calls),
            after: later.map(quartiles).unwrap_or_default(),
        }
    });
    compared.collect()
}

/// The longest time in a phase in which no call ended: in whole seconds, and at most one more.
fn longest_pause(facts: &RunFacts<'_>, phase: &str) -> Duration {
    let Some(phase) = facts.phase(phase) else {
        return Duration::ZERO;
    };
    let until = phase.until.unwrap_or(facts.ending.duration);
    let ended: BTreeSet<u64> = facts.metrics.seconds.keys().map(|(_, it)| *it).collect();
    let (mut longest, mut pause) = (0, 0);
    for second in phase.from.as_secs() + 1..until.as_secs() {
        pause = if ended.contains(&second) {
            0
        } else {
            pause + 1
        };
        longest = longest.max(pause);
    }
    let partial = u64::from(longest > 0);
    Duration::from_secs(longest + partial)
}

fn phase_calls(facts: &RunFacts<'_>, phase: &PhaseReport) -> spike_recovery::PhaseCalls {
    let record = facts.phase(&phase.name);
    spike_recovery::PhaseCalls {
        duration_secs: phase.duration.as_secs_f64(),
        calls: phase.count,
        errors: record.map_or(phase.failed, |record| facts.failed_and_refused(record).0),
        ended_per_s: phase.requests_per_sec,
        p50_ms: (phase.latency_ms.count > 0).then(|| as_milliseconds(phase.latency_ms.p50)),
        p99_ms: tail_ms(phase),
    }
}

fn quartiles(calls: &CallMetrics) -> spike_recovery::Quartiles {
    let mut histogram = calls.latency_ns.clone();
    // A late answer is an answer, and takes its time.
    if calls.errors.keys().all(|it| *it == ErrorCategory::Hang) {
        // Both have three digits and grow as needed.
        let _ = histogram.add(&calls.failed_ns);
    }
    let at =
        |quantile| as_milliseconds(Duration::from_nanos(histogram.value_at_quantile(quantile)));
    spike_recovery::Quartiles {
        count: histogram.len(),
        p25_ms: at(0.25),
        p50_ms: at(0.5),
        p75_ms: at(0.75),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Scenario;

    #[test]
    fn the_burst_has_its_place() {
        let scenario = Scenario::spike()
            .duration(Duration::from_secs(6))
            .concurrent(2);
        let plan = scenario.kind.as_type().plan(&scenario.load);
        let plan = plan.unwrap().unwrap();
        let phases: Vec<_> = plan
            .schedule
            .phases()
            .iter()
            .map(|phase| (phase.name.as_str(), phase.from.as_secs(), phase.concurrent))
            .collect();
        assert_eq!(
            phases,
            [
                ("baseline", 0, 2),
                ("spike", 3, 100),
                ("recovery", 4, 2),
                ("recovered", 5, 2)
            ]
        );
    }

    #[test]
    fn a_burst_beyond_the_end_is_refused() {
        let seconds = Duration::from_secs;
        let spike = Spike::new(1, 10, seconds(5), seconds(4), seconds(2));
        assert!(spike.plan(&LoadSettings::default()).is_err());
    }
}
