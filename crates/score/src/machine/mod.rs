//! How much of the machine other work took from a load and its server, and whether that can explain what was seen.
//!
//! Other work slows a server, or the load generator, only while one of their threads waits for a processor and while
//! other programs run. So the share of the time that other work can have taken, the *noise*, is the smaller of both, and what
//! a hypervisor took. A sleep of ours that ended far too late was a wait, too. In the rest of the time the server is as fast as
//! ever: noise of a third of the time costs it about a third of its speed, and does not explain why it lost nine tenths.

use mcprove_settings::setting::in_seconds;

use crate::prelude::*;

/// Noise below which a machine is quiet enough to believe every change.
pub const QUIET_SHARE_MAX: f64 = 0.1;
/// Noise from which a machine is busy with other work.
pub const BUSY_SHARE_MIN: f64 = 0.2;
/// The part of a loss of speed that noise must reach to explain it.
const EXPLAINING_PART: f64 = 0.7;

/// What is known of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Machine {
    /// It did nothing else.
    Quiet,
    /// Something else was busy, or the load generator was the limit.
    Noisy,
    /// Nobody watched it, or it was neither.
    #[default]
    Unknown,
}

/// What a machine did between two looks at it. CPU times are in processors: 1.5 is one and a half of them all the time.
#[sparse]
#[in_seconds]
#[data(Copy, Default)]
pub struct MachineSample {
    /// The second look, since the start of the run.
    pub until: Duration,
    /// The time between the looks.
    pub length: Duration,
    /// The processors that this program may use.
    pub cores: u32,
    /// What all programs used.
    pub busy: Option<f64>,
    /// What a hypervisor gave to other machines while programs here wanted to run.
    pub steal: Option<f64>,
    /// What the load generator and the server's processes used.
    pub ours: Option<f64>,
    /// How long threads of ours waited for a processor, all together, as a share of the time.
    pub waited: Option<f64>,
    /// The share of the time in which any program waited for a processor.
    pub pressure: Option<f64>,
    /// How much too late sleeps of ours ended, beyond what is usual, as a share of the time.
    pub late: f64,
}

impl MachineSample {
    /// What programs of others used; not known where the system does not tell.
    fn others(&self) -> Option<f64> {
        Some(finite(self.busy? - self.ours?)?.max(0.0))
    }

    /// The share of the time that other work can have taken, 0 to 1.
    pub fn noise(&self) -> f64 {
        let waited = self.waited.or(self.pressure).unwrap_or_default();
        // Where it is not known what others do, only what is far too late counts.
        let kept_waiting = self
            .others()
            .map_or(self.late, |others| others.min(waited.max(self.late)));
        let noise = kept_waiting + self.steal.unwrap_or_default();
        finite(noise).map_or(0.0, |noise| noise.clamp(0.0, 1.0))
    }
}

/// How noisy the machine was. CPU times are in processors.
#[sparse]
#[data(Copy, Default)]
pub struct MachineReport {
    /// Whether other work took so much of the machine that figures of time mean little.
    pub busy: bool,
    /// The share of the time that other work can have taken from the load and its server; none where nobody watched.
    pub noise_share: Option<f64>,
    /// The processors that this program may use.
    pub cores: u32,
    /// What other programs used.
    pub others_cores: Option<f64>,
    /// What a hypervisor gave to other machines.
    pub steal_cores: Option<f64>,
    /// What the load generator and the server's processes used.
    pub own_cores: Option<f64>,
    /// How long threads of the load generator and the server waited for a processor, all together, as a share of the time.
    pub waited_share: Option<f64>,
    /// The share of the time in which any program waited for a processor.
    pub pressure_share: Option<f64>,
}

/// How noisy the machine was in a range of time.
pub fn judge(samples: &[MachineSample], range: Range<Duration>) -> MachineReport {
    let overlap = |sample: &MachineSample| {
        let from = sample.until.saturating_sub(sample.length).max(range.start);
        let until = sample.until.min(range.end);
        until.saturating_sub(from).as_secs_f64()
    };
    let mean_of = |samples: &[MachineSample], value: &dyn Fn(&MachineSample) -> Option<f64>| {
        let known = samples
            .iter()
            .filter_map(|sample| Some((overlap(sample), finite(value(sample)?)?)));
        let (time, sum) = known.fold((0.0, 0.0), |(time, sum), (length, value)| {
            (time + length, sum + length * value)
        });
        ratio(sum, time)
    };
    let mean = |value: &dyn Fn(&MachineSample) -> Option<f64>| mean_of(samples, value);
    // A wait is counted when it ends, so one that is seen in a sample may have been in the one before it.
    let next = samples.iter().skip(1).map(|sample| sample.waited);
    let waiting: Vec<MachineSample> = samples
        .iter()
        .zip(next.chain([None]))
        .map(|(sample, next)| MachineSample {
            waited: sample
                .waited
                .map(|waited| waited.max(next.unwrap_or_default())),
            ..*sample
        })
        .collect();
    let noise_share = mean_of(&waiting, &|sample| Some(sample.noise()));
    MachineReport {
        busy: noise_share.is_some_and(|noise| noise >= BUSY_SHARE_MIN),
        noise_share,
        cores: samples.iter().map(|sample| sample.cores).max().unwrap_or(0),
        others_cores: mean(&MachineSample::others),
        steal_cores: mean(&|sample| sample.steal),
        own_cores: mean(&|sample| sample.ours),
        waited_share: mean(&|sample| sample.waited),
        pressure_share: mean(&|sample| sample.pressure),
    }
}

/// What is known of the machine in a range of time, where its end is compared with its start: nothing at the end excuses
/// it there, and nothing in all of it makes it quiet.
pub fn over_time(samples: &[MachineSample], range: Range<Duration>) -> Machine {
    let middle = (range.start + range.end) / 2;
    let (early, late) = (range.start..middle, middle..range.end);
    // A short job at the very end is as bad as a long one.
    let last = (middle + range.end) / 2..range.end;
    let [early, late, last] = [early, late, last].map(|range| judge(samples, range).state());
    match (early, late, last) {
        (_, Machine::Noisy, _) | (_, _, Machine::Noisy) => Machine::Noisy,
        (Machine::Quiet, Machine::Quiet, Machine::Quiet) => Machine::Quiet,
        _ => Machine::Unknown,
    }
}

/// How noisy the machine was at the end of a range of time: in its last half, or in its last quarter if that was noisier.
pub fn at_end(samples: &[MachineSample], range: Range<Duration>) -> MachineReport {
    let middle = (range.start + range.end) / 2;
    let last = (middle + range.end) / 2;
    let [half, quarter] = [middle, last].map(|from| judge(samples, from..range.end));
    if quarter.noise_share > half.noise_share {
        quarter
    } else {
        half
    }
}

impl MachineReport {
    /// Whether other work can explain that a server is only so fast, where it should be at least that fast.
    pub fn explains(&self, speed: f64, least: f64) -> bool {
        let loss = 1.0 - ratio(speed, least).unwrap_or_default();
        self.noise_share
            .is_some_and(|noise| noise >= QUIET_SHARE_MAX && noise >= EXPLAINING_PART * loss)
    }

    /// What is known of it.
    pub fn state(&self) -> Machine {
        match self.noise_share {
            Some(noise) if noise >= BUSY_SHARE_MIN => Machine::Noisy,
            // Without the times of other programs, their work does not show.
            Some(noise) if noise < QUIET_SHARE_MAX && self.others_cores.is_some() => Machine::Quiet,
            _ => Machine::Unknown,
        }
    }

    /// How busy it was, as the rest of a sentence without its end; none where nobody watched.
    pub fn describe(&self) -> Option<String> {
        let noise = decimal(self.noise_share? * 100.0, 0);
        let word = match self.state() {
            Machine::Noisy => "busy",
            Machine::Quiet => "quiet",
            Machine::Unknown => "somewhat busy",
        };
        let others = self.others_cores.map_or(String::new(), |others| {
            let others = decimal(others + self.steal_cores.unwrap_or_default(), 1);
            let cores = counted(self.cores.into(), "processor");
            format!(", {others} of {cores}")
        });
        Some(format!(
            "{word}; other work may have taken {noise}% of the time{others}"
        ))
    }
}

/// What decides where other work can explain what was seen.
pub fn quiet_hint() -> Message {
    "run it again while the machine does nothing else".into()
}

#[cfg(test)]
mod tests;
