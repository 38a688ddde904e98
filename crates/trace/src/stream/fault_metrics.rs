//! What injected faults did: the calls that they struck, apart from all others, and what the others were
//! like stretch by stretch. Kept only in runs with faults, and adds up in any order.

use crate::prelude::*;
use crate::sparse::SparseHistogram;
use crate::sparse::TimeBucket;

use super::metrics::{add_counts, failures};

/// How long a stretch is, as long as there are few.
const STRETCH: Duration = Duration::from_millis(250);
/// The most stretches; beyond that each is twice as long.
const STRETCHES_MAX: u64 = 4_096;

/// What injected faults did.
#[derive(Debug, Clone, Default)]
pub struct FaultMetrics {
    /// Calls that met no fault, by phase and stretch, and by tool.
    pub stretches: BTreeMap<(u16, u64), BTreeMap<String, TimeBucket>>,
    /// Calls that met one, by its name.
    pub struck: BTreeMap<String, FaultedMetrics>,
    /// Connections that a fault ended and that are not remembered: calls that were lost with them count
    /// against the server.
    pub sessions_forgotten: u64,
    /// How often the length of a stretch was doubled.
    doublings: u32,
}

/// The calls that one fault struck.
#[derive(Debug, Clone, Default)]
pub struct FaultedMetrics {
    /// When the first and the last was struck.
    pub struck_at: Option<(Duration, Duration)>,
    /// When the last of them ended, and no longer kept a client busy.
    pub released_at: Option<Duration>,
    /// How long the successful ones took, in nanoseconds.
    pub latency_ns: SparseHistogram,
    /// Those that failed as the fault cannot make them: they count against the server, as others do.
    pub servers_own: u64,
    /// Why others failed, and how many.
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// Those that passed the hang threshold.
    pub hung: u64,
    /// How many calls of each tool were struck.
    pub tools: BTreeMap<String, u64>,
    pub connections_ended: u64,
    /// Of these, with the process of the server.
    pub crashes: u64,
    /// Other calls that were lost with them.
    pub calls_lost: u64,
}

/// A run has faults; noted before any call.
#[stored]
pub struct PlannedFaultsFact {
    pub names: Vec<String>,
}

impl Fact for PlannedFaultsFact {
    const NAME: &'static str = "faults";
}

/// A fault strikes a call; noted before anything else of that call.
#[sparse(marked)]
#[stored]
pub struct StrikeFact {
    /// The session of the call.
    pub session: u32,
    /// Its id.
    pub request_id: u64,
    /// The name of the fault.
    pub fault: String,
    /// The name of its kind.
    #[serde(default)]
    pub kind: String,
    /// The server that it was aimed at.
    pub server: Option<String>,
    /// The tool that is called.
    pub tool: Option<String>,
    /// How long it delays the answer.
    #[sparse]
    pub delay_ms: Option<f64>,
    /// How long it holds the call up otherwise.
    #[sparse]
    pub held_ms: Option<f64>,
    /// How many calls it lets fail.
    #[sparse]
    pub failures: Option<u64>,
}

impl Fact for StrikeFact {
    const NAME: &'static str = "fault";
}

/// A fault ends the connection of a session; noted before the calls on it fail.
#[stored]
pub struct SessionEndedByFaultFact {
    pub session: u32,
    /// The name of the fault.
    pub fault: String,
    /// Whether it ends the server's process.
    #[serde(default)]
    pub crash: bool,
}

impl Fact for SessionEndedByFaultFact {
    const NAME: &'static str = "fault_ended_session";
}

impl FaultMetrics {
    /// How long a stretch is.
    pub fn width(&self) -> Duration {
        STRETCH.saturating_mul(1_u32.checked_shl(self.doublings).unwrap_or(u32::MAX))
    }

    /// The stretch of a tool at this time.
    pub(super) fn stretch(&mut self, phase: u16, at: Duration, tool: &str) -> &mut TimeBucket {
        let number = u64::try_from(at.as_millis() / STRETCH.as_millis()).unwrap_or(u64::MAX);
        while number >> self.doublings >= STRETCHES_MAX {
            self.double(self.doublings + 1);
        }
        self.stretches
            .entry((phase, number >> self.doublings))
            .or_default()
            .entry(tool.to_owned())
            .or_default()
    }

    /// Makes stretches longer, until they are doubled so often.
    fn double(&mut self, doublings: u32) {
        let more = doublings.saturating_sub(self.doublings);
        if more == 0 {
            return;
        }
        self.doublings = doublings;
        let old = std::mem::take(&mut self.stretches);
        self.add_stretches(old, more);
    }

    fn add_stretches(
        &mut self,
        stretches: BTreeMap<(u16, u64), BTreeMap<String, TimeBucket>>,
        doublings: u32,
    ) {
        for ((phase, number), tools) in stretches {
            let sums = self
                .stretches
                .entry((phase, number >> doublings))
                .or_default();
            for (tool, stretch) in tools {
                sums.entry(tool).or_default().add(&stretch);
            }
        }
    }

    pub(super) fn of(&mut self, fault: &str) -> &mut FaultedMetrics {
        self.struck.entry(fault.to_owned()).or_default()
    }

    /// Adds what `other` counted.
    pub(super) fn add(&mut self, mut other: Self) {
        let doublings = self.doublings.max(other.doublings);
        self.double(doublings);
        other.double(doublings);
        self.add_stretches(other.stretches, 0);
        self.sessions_forgotten += other.sessions_forgotten;
        for (fault, struck) in other.struck {
            self.of(&fault).add(&struck);
        }
    }

    /// The sum of a count over all faults.
    pub fn sum(&self, count: impl Fn(&FaultedMetrics) -> u64) -> u64 {
        self.struck.values().map(count).sum()
    }
}

impl FaultedMetrics {
    /// Calls that failed, without those that we gave up ourselves.
    pub fn failed(&self) -> u64 {
        failures(&self.errors)
    }

    /// Calls that it struck, whatever became of them.
    pub fn calls(&self) -> u64 {
        self.tools.values().sum()
    }

    /// Calls that ended, without those that count against the server.
    pub fn ended(&self) -> u64 {
        self.latency_ns.count() + self.failed()
    }

    /// Whether some had no end.
    pub fn has_open(&self) -> bool {
        let errors: u64 = self.errors.values().sum();
        self.latency_ns.count() + errors + self.servers_own < self.calls()
    }

    pub(super) fn release(&mut self, at: Duration) {
        self.released_at = self.released_at.max(Some(at));
    }

    pub(super) fn strike(&mut self, at: Duration, tool: &str) {
        self.extend(at, at);
        *self.tools.entry(tool.to_owned()).or_default() += 1;
    }

    fn extend(&mut self, first: Duration, last: Duration) {
        let (from, until) = self.struck_at.unwrap_or((first, last));
        self.struck_at = Some((from.min(first), until.max(last)));
    }

    fn add(&mut self, other: &Self) {
        if let Some((first, last)) = other.struck_at {
            self.extend(first, last);
        }
        self.released_at = self.released_at.max(other.released_at);
        self.servers_own += other.servers_own;
        self.latency_ns.add(&other.latency_ns);
        add_counts(&mut self.errors, &other.errors);
        add_counts(&mut self.tools, &other.tools);
        self.hung += other.hung;
        self.connections_ended += other.connections_ended;
        self.crashes += other.crashes;
        self.calls_lost += other.calls_lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_longer_stretches_whatever_the_order() {
        let times: Vec<u64> = (0..5_000_u64).map(|number| number * 3).collect();
        let of = |times: &mut dyn Iterator<Item = &u64>| {
            let mut metrics = FaultMetrics::default();
            for secs in times {
                let stretch = metrics.stretch(1, Duration::from_secs(*secs), "a");
                stretch.latency_ns.record(1_000);
            }
            metrics
        };
        let forward = of(&mut times.iter());
        let mut parts = of(&mut times.iter().skip(2_500));
        parts.add(of(&mut times.iter().take(2_500)));
        assert_eq!(forward.stretches, parts.stretches);
        assert_eq!(forward.width(), parts.width());
        assert_eq!(forward.width(), Duration::from_secs(4));
        assert!(forward.stretches.len() <= 4_096);
        let calls: u64 = forward
            .stretches
            .values()
            .flat_map(BTreeMap::values)
            .map(|stretch| stretch.latency_ns.count())
            .sum();
        assert_eq!(calls, 5_000);
    }
}
