//! A scenario from its knobs and its defaults.

use mcprove_settings::quantity::describe_duration;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::tree::Field;

use super::knobs::{Knobs, Warmup};
use crate::config::keys::COUNT_MAX;
use crate::config::thresholds::ThresholdsPlan;
use crate::drive::{Pattern, Scenario, ScenarioKind, defaults};

/// The scenario with its defaults.
fn default_of(name: &str, patterns: Vec<Pattern>) -> Option<Scenario> {
    Some(match name {
        "cold_start" => Scenario::cold_start(),
        "sustained" => Scenario::sustained(),
        "spike" => Scenario::spike(),
        "ramp" => Scenario::ramp(),
        "soak" => Scenario::soak(),
        "pattern" => Scenario::pattern(patterns),
        "deadlock_probe" => Scenario::deadlock_probe(),
        "race_check" => Scenario::race_check(),
        "fuzzer" => Scenario::fuzzer(),
        "slow_mix" => Scenario::slow_mix(),
        "reconnect" => Scenario::reconnect(),
        "churn" => Scenario::churn(),
        "early_call" => Scenario::early_call(),
        "interrupted_call" => Scenario::interrupted_call(),
        _ => return None,
    })
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Puts it together; what does not fit together is a problem.
pub(super) fn build(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    name: &str,
    knobs: Knobs,
    patterns: Vec<Pattern>,
    thresholds: &ThresholdsPlan,
) -> Option<Scenario> {
    let mut scenario = default_of(name, patterns)?;
    // Some defaults depend on the duration.
    if let Some(duration) = knobs.duration
        && scenario.kind.duration().is_some()
    {
        scenario = scenario.duration(duration);
    }
    set_load(&mut scenario, &knobs);
    let limits = &thresholds.thresholds;
    match &mut scenario.kind {
        ScenarioKind::ColdStart { iterations, warmup } => {
            set(iterations, knobs.iterations);
            if let Some(Warmup::IsDiscarded(is_discarded)) = knobs.warmup {
                *warmup = is_discarded;
            }
        }
        ScenarioKind::Sustained {
            concurrent,
            rate_limit,
            ..
        } => {
            set(concurrent, knobs.concurrent);
            *rate_limit = knobs.rate_limit.filter(|limit| *limit > 0);
        }
        ScenarioKind::Spike { .. } => set_spike(reader, section, &mut scenario.kind, &knobs),
        ScenarioKind::Ramp { .. } => set_ramp(reader, section, &mut scenario.kind, &knobs),
        ScenarioKind::Soak {
            concurrent,
            sample_interval,
            latency_drift_ms_per_sec,
            ..
        } => {
            set(concurrent, knobs.concurrent);
            set(sample_interval, knobs.sample_interval);
            set(latency_drift_ms_per_sec, knobs.latency_drift);
        }
        ScenarioKind::Pattern { concurrent, .. } => set(concurrent, knobs.concurrent),
        ScenarioKind::DeadlockProbe {
            concurrent,
            hang_threshold,
            grace_period,
            list_timeout,
        } => {
            set(concurrent, knobs.concurrent);
            // What is given for all scenarios holds for this one too, unless it has its own.
            let general = thresholds.has_hang_timeout.then_some(limits.hang_timeout);
            set(hang_threshold, knobs.hang_threshold.or(general));
            let general = thresholds.has_grace_period.then_some(limits.grace_period);
            set(grace_period, knobs.grace_period.or(general));
            set(list_timeout, knobs.list_timeout);
        }
        ScenarioKind::RaceCheck { concurrent, rounds } => {
            set(concurrent, knobs.concurrent);
            set(rounds, knobs.rounds);
        }
        ScenarioKind::Fuzzer {
            iterations,
            payloads,
            answer_timeout,
        } => {
            set(iterations, knobs.iterations);
            set(payloads, knobs.payloads);
            set(answer_timeout, knobs.answer_timeout);
        }
        ScenarioKind::SlowMix {
            concurrent,
            slow_share,
            ..
        } => {
            set(concurrent, knobs.concurrent);
            set(slow_share, knobs.slow_share);
        }
        ScenarioKind::Reconnect {
            iterations,
            concurrent,
        } => {
            set(iterations, knobs.iterations);
            set(concurrent, knobs.concurrent);
        }
        ScenarioKind::Churn {
            sessions,
            concurrent,
        } => {
            set(sessions, knobs.sessions);
            set(concurrent, knobs.concurrent);
        }
        ScenarioKind::EarlyCall { iterations } | ScenarioKind::InterruptedCall { iterations } => {
            set(iterations, knobs.iterations);
        }
    }
    Some(scenario)
}

fn set_load(scenario: &mut Scenario, knobs: &Knobs) {
    let load = &mut scenario.load;
    if !matches!(scenario.kind, ScenarioKind::Churn { .. }) {
        set(&mut load.sessions, knobs.sessions);
    }
    load.rate = knobs.rate;
    set(&mut load.max_in_flight, knobs.max_in_flight);
    set(&mut load.catch_up, knobs.catch_up);
    if let Some(Warmup::Time(warmup)) = knobs.warmup {
        load.warmup = warmup;
    }
    load.calls = knobs.calls;
    load.seed = knobs.seed;
    set(&mut load.strict, knobs.strict);
    set(&mut load.allow_writes, knobs.allow_writes);
}

fn set_spike(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    kind: &mut ScenarioKind,
    knobs: &Knobs,
) {
    let ScenarioKind::Spike {
        baseline_concurrent,
        spike_concurrent,
        baseline_duration,
        spike_at,
        spike_duration,
    } = kind
    else {
        return;
    };
    set(baseline_concurrent, knobs.concurrent);
    let factor = knobs
        .spike_multiplier
        .unwrap_or(f64::from(defaults::SPIKE_MULTIPLIER));
    let multiplied = (f64::from(*baseline_concurrent) * factor).ceil();
    if let Some(count) = knobs.spike_concurrent {
        *spike_concurrent = count;
    } else if multiplied <= f64::from(COUNT_MAX) {
        // Whole and in range.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let count = multiplied as u32;
        *spike_concurrent = count;
    } else {
        let message = format!("the burst would have {multiplied} calls in flight");
        let span = span_of(section, &["spike_multiplier", "concurrent"]);
        reader.problem(span, message, format!("at most {COUNT_MAX} are possible"));
    }
    set(spike_at, knobs.spike_at);
    let rest = baseline_duration.saturating_sub(*spike_at);
    // Unless told otherwise there is time to recover after the burst.
    let default = defaults::spike_duration(*baseline_duration).min(rest / 2);
    *spike_duration = knobs.spike_duration.unwrap_or(default);
    if *spike_duration > rest || spike_duration.is_zero() {
        let burst = match knobs.spike_duration {
            Some(duration) => format!("a burst of {}", describe_duration(duration)),
            None => "a burst".to_owned(),
        };
        let message = format!(
            "{burst} at {} does not fit into a run of {}",
            describe_duration(*spike_at),
            describe_duration(*baseline_duration)
        );
        let span = span_of(section, &["spike_duration", "spike_at", "duration"]);
        reader.problem(
            span,
            message,
            "start the burst earlier, or give a longer `duration`",
        );
    }
}

fn set_ramp(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    kind: &mut ScenarioKind,
    knobs: &Knobs,
) {
    let ScenarioKind::Ramp {
        from_concurrent,
        to_concurrent,
        step_increment,
        ..
    } = kind
    else {
        return;
    };
    set(from_concurrent, knobs.ramp_from);
    set(to_concurrent, knobs.ramp_to.or(knobs.concurrent));
    if to_concurrent < from_concurrent {
        let message = format!("a ramp cannot go from {from_concurrent} up to {to_concurrent}");
        let names = [
            "ramp_to",
            "to_concurrent",
            "concurrent",
            "ramp_from",
            "from_concurrent",
        ];
        let hint = "let `ramp_to` be at least `ramp_from`";
        reader.problem(span_of(section, &names), message, hint);
    }
    let default = defaults::step_increment(*from_concurrent, *to_concurrent);
    *step_increment = knobs.step_increment.unwrap_or(default);
    if let (Some(_), Some(field)) = (knobs.ramp_to, section.get("concurrent")) {
        reader.warn(
            &field.span,
            "ramp does not use `concurrent`, for ramp_to is given",
        );
    }
}

/// Where the first of these keys that is given stands.
fn span_of<'d>(section: &Section<'d>, names: &[&str]) -> &'d std::ops::Range<usize> {
    let found: Option<&'d Field> = names.iter().find_map(|name| section.get(name));
    found.map_or(section.span(), |field| &field.value.span)
}
