//! The knobs as they are written, whichever scenario has them.

use std::time::Duration;

use mcprove_settings::reader::{Least, Reader, Section};
use mcprove_settings::tree::Data;

use crate::config::keys::{CALLS_MAX, COUNT_MAX, RATE_MAX};
use crate::drive::scenario::payload_names;

/// Everything that was given, whichever scenario has it.
pub(super) struct Knobs {
    pub duration: Option<Duration>,
    pub concurrent: Option<u32>,
    pub iterations: Option<u32>,
    pub warmup: Option<Warmup>,
    pub rate: Option<f64>,
    pub max_in_flight: Option<u32>,
    pub catch_up: Option<bool>,
    pub rate_limit: Option<u32>,
    pub sessions: Option<u32>,
    pub calls: Option<u64>,
    pub seed: Option<u64>,
    pub strict: Option<bool>,
    pub allow_writes: Option<bool>,
    pub ramp_from: Option<u32>,
    pub ramp_to: Option<u32>,
    pub step_increment: Option<u32>,
    pub spike_at: Option<Duration>,
    pub spike_duration: Option<Duration>,
    pub spike_multiplier: Option<f64>,
    pub spike_concurrent: Option<u32>,
    pub sample_interval: Option<Duration>,
    pub latency_drift: Option<f64>,
    pub hang_threshold: Option<Duration>,
    pub grace_period: Option<Duration>,
    pub list_timeout: Option<Duration>,
    pub rounds: Option<u32>,
    pub payloads: Option<Vec<String>>,
    pub answer_timeout: Option<Duration>,
    pub slow_share: Option<f64>,
}

/// What `warmup` says.
#[derive(Clone, Copy)]
pub(super) enum Warmup {
    Time(Duration),
    IsDiscarded(bool),
}

impl Knobs {
    pub fn read(reader: &mut Reader<'_>, section: &Section<'_>, name: Option<&str>) -> Self {
        Self {
            duration: reader.duration(section, "duration", Least::MoreThanZero),
            concurrent: count(reader, section, "concurrent"),
            iterations: count(reader, section, "iterations"),
            warmup: read_warmup(reader, section, name),
            rate: reader.number(
                section,
                "rate",
                "a number of calls per second, more than 0 and at most 1000000",
                |value| value > 0.0 && value <= RATE_MAX,
            ),
            max_in_flight: count(reader, section, "max_in_flight"),
            catch_up: reader.boolean(section, "catch_up"),
            rate_limit: reader.count(section, "rate_limit", 0..=u32::MAX),
            sessions: count(reader, section, "sessions"),
            calls: reader.integer(section, "calls", 1..=CALLS_MAX),
            seed: read_seed(reader, section),
            strict: reader.boolean(section, "strict"),
            allow_writes: reader.boolean(section, "allow_writes"),
            ramp_from: count(reader, section, "ramp_from").or(count(
                reader,
                section,
                "from_concurrent",
            )),
            ramp_to: count(reader, section, "ramp_to").or(count(reader, section, "to_concurrent")),
            step_increment: count(reader, section, "step_increment"),
            spike_at: reader.duration(section, "spike_at", Least::Zero),
            spike_duration: reader.duration(section, "spike_duration", Least::MoreThanZero),
            spike_multiplier: reader.number(
                section,
                "spike_multiplier",
                "a number from 1 up",
                |value| (1.0..=f64::from(COUNT_MAX)).contains(&value),
            ),
            spike_concurrent: count(reader, section, "spike_concurrent"),
            sample_interval: reader
                .duration(section, "sample_interval", Least::MoreThanZero)
                .or(reader.duration(section, "leak_check_interval", Least::MoreThanZero)),
            latency_drift: reader.number(
                section,
                "latency_drift_ms_per_sec",
                "a number from 0 up",
                |value| value >= 0.0,
            ),
            hang_threshold: reader.duration(section, "hang_threshold", Least::MoreThanZero),
            grace_period: reader.duration(section, "grace_period", Least::Zero),
            list_timeout: reader.duration(section, "list_timeout", Least::MoreThanZero),
            rounds: count(reader, section, "rounds"),
            payloads: read_payloads(reader, section),
            answer_timeout: reader.duration(section, "answer_timeout", Least::MoreThanZero),
            slow_share: reader.number(
                section,
                "slow_share",
                "a share of more than 0 and less than 1",
                |value| value > 0.0 && value < 1.0,
            ),
        }
    }
}

fn count(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Option<u32> {
    reader.count(section, name, 1..=COUNT_MAX)
}

fn read_warmup(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    name: Option<&str>,
) -> Option<Warmup> {
    let field = section.get("warmup")?;
    match (&field.value.data, name) {
        (Data::Boolean(value), Some("cold_start") | None) => Some(Warmup::IsDiscarded(*value)),
        (_, Some("cold_start")) => {
            let hint = "of cold_start it says whether the first start is thrown away";
            reader.wrong(field, "true or false", hint);
            None
        }
        _ => reader.duration_of(field, Least::Zero).map(Warmup::Time),
    }
}

fn read_payloads(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Vec<String>> {
    let field = section.get("payloads")?;
    let known = payload_names();
    let nodes = reader.list(field, "write [\"one\", \"two\"]; an empty list means all");
    let mut payloads = Vec::new();
    for node in nodes {
        let name = reader.choice_of(node, "`payloads`", &known);
        payloads.extend(name.map(str::to_owned));
    }
    Some(payloads)
}

/// A seed: a number, or a text of digits where a number would be too large for other readers.
fn read_seed(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<u64> {
    let field = section.get("seed")?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let seed = match &field.value.data {
        Data::Integer(value) => u64::try_from(*value).ok(),
        Data::Text(text) if is_digits(text) => text.parse().ok(),
        _ => None,
    };
    if seed.is_none() {
        let expected = "a whole number from 0 to 18446744073709551615";
        reader.wrong(field, expected, "any such number will do");
    }
    seed
}
