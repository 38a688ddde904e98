//! Watching the machine while a run lasts: what other programs take, and how long threads of ours wait for a processor.
//! What it means is judged by `mcprove_score::machine`.

use mcprove_client::process::{MachineTimes, process_cpu_time};
use mcprove_score::machine::MachineSample;

use crate::prelude::*;

/// How often it is looked at in a short run; in a long one less often, so that the looks stay few thousand.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const LOOKS: u32 = 400;
/// How much too late a sleep ends on any machine that our own load keeps busy.
const LATE_USUAL: Duration = Duration::from_millis(20);

/// The share of the time that counts as lost at most: however busy a machine is, a server gets something.
const LOST_SHARE_MAX: f64 = 0.75;

/// What the machine did since the look before.
#[stored(Copy)]
#[serde(transparent)]
pub struct MachineFact(pub MachineSample);

impl Fact for MachineFact {
    const NAME: &'static str = "machine";
}

/// What had been used at one look.
struct Look {
    at: Instant,
    times: Option<MachineTimes>,
    /// By this program.
    own: Option<Duration>,
    waited: Option<Duration>,
}

/// Looks at the machine from the thread that it is on.
pub struct MachineWatch {
    server: ServerMeter,
    began: Instant,
    before: Option<Look>,
    late: Duration,
    cores: u32,
}

impl MachineWatch {
    pub fn of(context: &RunContext) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            server: ServerMeter::of(context),
            began: Instant::now(),
            before: None,
            late: Duration::ZERO,
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
        }
    }

    /// Sleeps, and notes how much too late that ends.
    pub fn sleep(&mut self, time: Duration) {
        let began = Instant::now();
        std::thread::sleep(time);
        let late = began.elapsed().saturating_sub(time);
        if late > LATE_USUAL {
            self.late += late;
        }
    }

    /// Notes what the machine did, if it is time to, or the run is over.
    pub fn look(&mut self, context: &RunContext, is_last: bool) {
        let now = Instant::now();
        let every = LOOK_EVERY.max(self.began.elapsed() / LOOKS);
        let is_due = |before: &Look| is_last || now >= before.at + every;
        if !self.before.as_ref().is_none_or(is_due) {
            return;
        }
        self.server.find_processes(context);
        let server = self.server.sample();
        // The processors count on while processes are looked at, so the time is read beside them.
        let times = MachineTimes::read();
        let look = Look {
            at: Instant::now(),
            times,
            own: process_cpu_time(),
            waited: self.server.waited(),
        };
        let late = std::mem::take(&mut self.late);
        let Some(before) = self.before.replace(look) else {
            return;
        };
        let Some(now) = self.before.as_ref() else {
            return;
        };
        let length = now.at.saturating_duration_since(before.at);
        if length.is_zero() {
            return;
        }
        let share = |time: Duration| time.as_secs_f64() / length.as_secs_f64();
        let times = now.times.zip(before.times);
        let used = |time: fn(&MachineTimes) -> Duration| {
            times.map(|(now, before)| share(time(&now).saturating_sub(time(&before))))
        };
        let grown = |pair: Option<(Duration, Duration)>| {
            pair.map(|(now, before)| share(now.saturating_sub(before)))
        };
        // A server that is not on this machine takes nothing of it.
        let server = server.map_or(0.0, |usage| usage.cpu_pct / 100.0);
        let sample = MachineSample {
            until: context.recorder.time(now.at),
            length,
            cores: self.cores,
            busy: used(|times| times.busy),
            steal: used(|times| times.steal),
            ours: grown(now.own.zip(before.own)).map(|own| own + server),
            waited: grown(now.waited.zip(before.waited)),
            pressure: grown(times.and_then(|(now, before)| now.pressure.zip(before.pressure))),
            late: share(late),
        };
        let lost = sample.noise().min(LOST_SHARE_MAX);
        context.options.lost_time.add(length.mul_f64(lost));
        context.fact("", &MachineFact(sample));
        context.recorder.merge();
    }
}
