//! What a run amounts to: counts and latency histograms, by phase and tool; what happened second
//! by second; what the engine noted. Everything here adds up in any order, so that it does not
//! matter which thread saw what.

use std::cmp::Reverse;

use hdrhistogram::Histogram;
use mcprove_settings::quantity::milliseconds;

use super::fault_metrics::FaultMetrics;
use crate::prelude::*;

/// Three digits: a percentile is right to 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;
/// How many of the slowest calls are kept.
const SLOWEST_MAX: usize = 10;
/// How many different error codes are counted; the others count by their category.
const CODES_MAX: usize = 100;
/// How many notes of one name are kept; all are counted.
const NOTES_PER_NAME_MAX: u64 = 10_000;

/// What the calls to one tool, or one method, amounted to.
#[derive(Debug, Clone)]
pub struct CallMetrics {
    /// Requests sent.
    pub sent: u64,
    /// Latency of the successful ones from their intended start, in nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// Latency of the successful ones from their sending, all of them; `None` while that is no
    /// other moment for any.
    pub service_ns: Option<Box<Histogram<u64>>>,
    /// From the intended start to the sending, where these are different moments.
    pub wait_ns: Option<Box<Histogram<u64>>>,
    /// Time to failure of the others, in nanoseconds.
    pub failed_ns: Histogram<u64>,
    /// Failures by category.
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// The same by category and code.
    pub codes: BTreeMap<String, u64>,
    /// Of these, refusals by a rate limit or a quota.
    pub rate_limited: u64,
    /// The first failure of each category: when, and its message.
    pub first_errors: BTreeMap<ErrorCategory, (Duration, String)>,
    /// Values that no histogram could hold.
    pub out_of_range: u64,
    /// Calls that were sent and were lost with a connection that an injected fault ended.
    pub lost_to_faults: u64,
}

/// What happened in one second of one phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecondMetrics {
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that failed.
    pub failed: u64,
    /// The latency of the successful ones, all together.
    pub latency_ns: u64,
}

/// What the server's processes used at one moment.
#[sparse]
#[data(Copy)]
pub struct ProcessSample {
    /// Since the start of the run.
    #[serde(rename = "at_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub at: Duration,
    /// Resident memory.
    pub rss_mb: f64,
    /// Share of one core.
    pub cpu_pct: f64,
    /// Threads.
    pub threads: Option<u32>,
    /// Open descriptors.
    pub descriptors: Option<u32>,
    /// Processes.
    pub processes: u32,
}

/// Something that the engine noted: a scenario event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// When.
    pub at: Duration,
    pub name: String,
    /// What it has for programs, as JSON.
    pub data: String,
    /// What it has for people.
    pub message: String,
}

/// One of the slowest calls.
#[sparse]
#[data(open)]
pub struct SlowCall {
    /// The tool.
    pub tool: String,
    /// The session.
    pub session: u32,
    /// The JSON-RPC id, to be found in the trace.
    pub request_id: u64,
    /// When it ended, since the start of the run.
    #[serde(rename = "at_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub at: Duration,
    /// How long it took, from its intended start.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// Why it failed, if it did.
    pub category: Option<ErrorCategory>,
}

/// What a run amounted to so far.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Calls by phase and tool.
    pub phases: BTreeMap<u16, BTreeMap<String, CallMetrics>>,
    /// Everything that is not `tools/call`, by method.
    pub methods: BTreeMap<String, CallMetrics>,
    /// Calls by phase and second in which they ended.
    pub seconds: BTreeMap<(u16, u64), SecondMetrics>,
    /// Requests that passed the hang threshold.
    pub hangs: u64,
    /// Requests that passed the hang threshold and have no answer. A thread takes away what it
    /// added before, so that a part may be negative.
    pub hung_unanswered: i64,
    /// Requests that passed the grace period too.
    pub deadlocks: u64,
    /// Server processes that ended.
    pub crashes: u64,
    /// What the server's processes used.
    pub usage: Vec<ProcessSample>,
    /// What the engine noted.
    pub notes: Vec<Note>,
    /// How many notes there were, by name; those of which there were too many are not all kept.
    pub note_counts: BTreeMap<String, u64>,
    /// The slowest calls of each phase, slowest first.
    pub slowest: BTreeMap<u16, Vec<SlowCall>>,
    /// What injected faults did. The calls that they struck are counted here and nowhere else.
    pub faults: FaultMetrics,
}

impl Default for CallMetrics {
    /// Nothing yet.
    fn default() -> Self {
        Self {
            sent: 0,
            latency_ns: new_histogram(),
            service_ns: None,
            wait_ns: None,
            failed_ns: new_histogram(),
            errors: BTreeMap::new(),
            codes: BTreeMap::new(),
            rate_limited: 0,
            first_errors: BTreeMap::new(),
            out_of_range: 0,
            lost_to_faults: 0,
        }
    }
}

impl CallMetrics {
    /// Requests answered with a result.
    pub fn succeeded(&self) -> u64 {
        self.latency_ns.len()
    }

    /// Requests that ended in a failure.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Requests that failed, without those that we gave up ourselves.
    pub fn failures(&self) -> u64 {
        failures(&self.errors)
    }

    pub(super) fn send(&mut self, wait: Duration) {
        self.sent += 1;
        if !wait.is_zero() {
            record(grown(&mut self.wait_ns), &mut self.out_of_range, wait);
        }
    }

    pub(super) fn succeed(&mut self, service: Duration, wait: Duration) {
        if !wait.is_zero() {
            // Those before it did not wait.
            let before = &self.latency_ns;
            self.service_ns
                .get_or_insert_with(|| Box::new(before.clone()));
        }
        record(&mut self.latency_ns, &mut self.out_of_range, service + wait);
        if let Some(histogram) = &mut self.service_ns {
            record(histogram, &mut self.out_of_range, service);
        }
    }

    pub(super) fn fail(&mut self, at: Duration, duration: Duration, failure: &CallFailure<'_>) {
        *self.errors.entry(failure.category).or_default() += 1;
        let mut name = failure.name();
        if self.codes.len() >= CODES_MAX && !self.codes.contains_key(&name) {
            name = failure.category.to_string();
        }
        *self.codes.entry(name).or_default() += 1;
        self.rate_limited += u64::from(failure.is_rate_limited());
        record(&mut self.failed_ns, &mut self.out_of_range, duration);
        let is_first = self
            .first_errors
            .get(&failure.category)
            .is_none_or(|(first, message)| (at, failure.message) < (*first, message.as_str()));
        if is_first {
            self.first_errors
                .insert(failure.category, (at, failure.message.to_owned()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == 0
            && self.latency_ns.is_empty()
            && self.errors.is_empty()
            && self.lost_to_faults == 0
    }

    /// Starts again from nothing, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.sent = 0;
        self.out_of_range = 0;
        self.lost_to_faults = 0;
        self.latency_ns.reset();
        for histogram in [&mut self.service_ns, &mut self.wait_ns]
            .into_iter()
            .flatten()
        {
            histogram.reset();
        }
        self.failed_ns.reset();
        self.errors.clear();
        self.codes.clear();
        self.rate_limited = 0;
        self.first_errors.clear();
    }

    /// Adds what `other` counted.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.out_of_range += other.out_of_range;
        self.lost_to_faults += other.lost_to_faults;
        let lost = &mut self.out_of_range;
        if self.service_ns.is_some() || other.service_ns.is_some() {
            let before = &self.latency_ns;
            let into = self
                .service_ns
                .get_or_insert_with(|| Box::new(before.clone()));
            let from = other.service_ns.as_deref().unwrap_or(&other.latency_ns);
            add_histogram(into, from, lost);
        }
        add_histogram(&mut self.latency_ns, &other.latency_ns, lost);
        add_histogram(&mut self.failed_ns, &other.failed_ns, lost);
        if let Some(from) = &other.wait_ns {
            add_histogram(grown(&mut self.wait_ns), from, lost);
        }
        add_counts(&mut self.errors, &other.errors);
        add_counts(&mut self.codes, &other.codes);
        self.rate_limited += other.rate_limited;
        for (category, first) in &other.first_errors {
            let known = self.first_errors.get(category);
            if known.is_none_or(|known| first < known) {
                self.first_errors.insert(*category, first.clone());
            }
        }
    }
}

impl SecondMetrics {
    pub fn add(&mut self, other: &Self) {
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.latency_ns = self.latency_ns.saturating_add(other.latency_ns);
    }
}

impl Metrics {
    /// All tool calls together.
    pub fn total(&self) -> CallMetrics {
        self.total_of(|_| true)
    }

    /// The tool calls of some phases together.
    pub fn total_of(&self, is_wanted: impl Fn(u16) -> bool) -> CallMetrics {
        let mut total = CallMetrics::default();
        // Phase by phase: the range that a histogram writes down depends on the order in which it grew.
        let phases = self.phases.iter().filter(|(phase, _)| is_wanted(**phase));
        for calls in phases.flat_map(|(_, tools)| tools.values()) {
            total.add(calls);
        }
        total
    }

    /// The calls of some phases, by tool.
    pub fn tools_of(&self, is_wanted: impl Fn(u16) -> bool) -> BTreeMap<String, CallMetrics> {
        let mut sums = BTreeMap::<String, CallMetrics>::new();
        for (_, tools) in self.phases.iter().filter(|(phase, _)| is_wanted(**phase)) {
            for (tool, calls) in tools {
                sums.entry(tool.clone()).or_default().add(calls);
            }
        }
        sums
    }

    /// The notes of one name, in order of time.
    pub fn notes_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Note> {
        self.notes.iter().filter(move |note| note.name == name)
    }

    /// Adds what `other` counted.
    pub fn add(&mut self, mut other: Self) {
        for (phase, tools) in other.phases {
            let sums = self.phases.entry(phase).or_default();
            for (tool, calls) in tools {
                sums.entry(tool).or_default().add(&calls);
            }
        }
        for (name, calls) in other.methods {
            self.methods.entry(name).or_default().add(&calls);
        }
        for (second, counts) in other.seconds {
            self.seconds.entry(second).or_default().add(&counts);
        }
        self.hangs += other.hangs;
        self.hung_unanswered += other.hung_unanswered;
        self.deadlocks += other.deadlocks;
        self.crashes += other.crashes;
        self.faults.add(other.faults);
        self.usage.append(&mut other.usage);
        for note in other.notes {
            self.keep(note);
        }
        add_counts(&mut self.note_counts, &other.note_counts);
        for (phase, slowest) in other.slowest {
            for slow in slowest {
                self.consider(phase, slow);
            }
        }
    }

    /// How many notes of that name there were.
    pub fn count_notes(&self, name: &str) -> u64 {
        self.note_counts.get(name).copied().unwrap_or_default()
    }

    pub(super) fn note(&mut self, note: Note) {
        let name = note.name.clone();
        self.keep(note);
        *self.note_counts.entry(name).or_default() += 1;
    }

    /// Keeps a note, unless there are many of its name. Counting comes after.
    fn keep(&mut self, note: Note) {
        if self.count_notes(&note.name) < NOTES_PER_NAME_MAX {
            self.notes.push(note);
        }
    }

    /// How long a call of a phase must have taken to be among its slowest.
    pub(super) fn slow_from(&self, phase: u16) -> Duration {
        self.slowest
            .get(&phase)
            .and_then(|slowest| slowest.get(SLOWEST_MAX - 1))
            .map_or(Duration::ZERO, |fastest| fastest.duration)
    }

    pub(super) fn consider(&mut self, phase: u16, slow: SlowCall) {
        keep_slow(self.slowest.entry(phase).or_default(), slow);
    }

    /// The slowest calls of some phases together, slowest first.
    pub fn slowest_of(&self, is_wanted: impl Fn(u16) -> bool) -> Vec<SlowCall> {
        let mut slowest = Vec::new();
        for (_, calls) in self.slowest.iter().filter(|(phase, _)| is_wanted(**phase)) {
            for slow in calls {
                keep_slow(&mut slowest, slow.clone());
            }
        }
        slowest
    }

    /// Puts what came from several threads into the order of time.
    pub(super) fn sort(&mut self) {
        self.usage.sort_by_key(|usage| usage.at);
        self.notes.sort();
    }
}

/// Keeps a call if it is among the slowest.
fn keep_slow(slowest: &mut Vec<SlowCall>, slow: SlowCall) {
    let key = |slow: &SlowCall| {
        (
            Reverse(slow.duration),
            slow.at,
            slow.session,
            slow.request_id,
        )
    };
    let place = slowest.partition_point(|known| key(known) <= key(&slow));
    if place < SLOWEST_MAX {
        slowest.insert(place, slow);
        slowest.truncate(SLOWEST_MAX);
    }
}

pub(super) fn add_counts<K: Ord + Clone>(sums: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (key, count) in counts {
        *sums.entry(key.clone()).or_default() += count;
    }
}

pub(super) fn failures(errors: &BTreeMap<ErrorCategory, u64>) -> u64 {
    let given_up = errors.get(&ErrorCategory::Cancelled).copied();
    errors.values().sum::<u64>() - given_up.unwrap_or_default()
}

/// A histogram of nanoseconds with three digits that grows as needed.
pub fn new_histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 2, SIGNIFICANT_DIGITS)
        .unwrap_or_else(|_| unreachable!("constant bounds are valid"));
    histogram.auto(true);
    histogram
}

/// The histogram, made now if there was none.
fn grown(histogram: &mut Option<Box<Histogram<u64>>>) -> &mut Histogram<u64> {
    histogram.get_or_insert_with(|| Box::new(new_histogram()))
}

fn record(histogram: &mut Histogram<u64>, out_of_range: &mut u64, duration: Duration) {
    if histogram.record(nanoseconds(duration)).is_err() {
        *out_of_range += 1;
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn add_histogram(into: &mut Histogram<u64>, from: &Histogram<u64>, out_of_range: &mut u64) {
    if into.add(from).is_err() {
        *out_of_range += from.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_a_time_from_its_sending_once_one_waited() {
        let millisecond = Duration::from_millis(1);
        let mut waited = CallMetrics::default();
        waited.succeed(millisecond, Duration::ZERO);
        assert!(waited.service_ns.is_none());
        waited.succeed(millisecond, millisecond);
        waited.succeed(millisecond, Duration::ZERO);
        let mut prompt = CallMetrics::default();
        prompt.succeed(millisecond, Duration::ZERO);
        let mut sum = prompt.clone();
        sum.add(&waited);
        sum.add(&prompt);
        for (calls, count) in [(&waited, 3), (&sum, 5)] {
            let service = calls.service_ns.as_deref().unwrap();
            assert_eq!((calls.succeeded(), service.len()), (count, count));
            assert!(service.max() < calls.latency_ns.max());
        }
        prompt.add(&CallMetrics::default());
        assert!(prompt.service_ns.is_none());
    }
}
