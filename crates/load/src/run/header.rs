//! What a run was asked to do, as its first event tells it: with it and the events that follow, a
//! report can be computed again.

use crate::prelude::*;
use serde::de::Error;

/// What a run was asked to do.
#[sparse]
#[stored]
pub struct Header {
    /// A ULID.
    pub run_id: String,
    /// When it started, in milliseconds since 1970.
    #[serde(deserialize_with = "before_the_year_10000")]
    pub started_at_ms: u64,
    /// What decides every random choice.
    pub seed: u64,
    /// The command or address.
    pub target: String,
    /// What is done.
    pub scenario: Scenario,
    /// What must hold.
    pub thresholds: Thresholds,
    /// What is injected.
    #[sparse]
    pub faults: Vec<LoadFault>,
    /// Whether a trace is written beside the report.
    pub has_trace: bool,
}

impl Fact for Header {
    const NAME: &'static str = "run_started";
}

/// How a run ended.
#[in_seconds]
#[stored(Copy, Default)]
pub struct Ending {
    /// How long it took.
    pub duration: Duration,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

impl Fact for Ending {
    const NAME: &'static str = "run_ended";
}

/// The last moment that dates of four digits can show.
const LAST_MS: u64 = 253_402_300_799_999;

fn before_the_year_10000<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        at if at > LAST_MS => Err(D::Error::custom(format!(
            "started_at_ms is {at}, which is not a date"
        ))),
        at => Ok(at),
    }
}

impl Header {
    /// When the run started.
    pub fn started_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.started_at_ms)
    }
}
