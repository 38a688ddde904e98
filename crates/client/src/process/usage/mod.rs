//! What a server uses: the memory, CPU time, threads and descriptors of its whole process tree.
//!
//! Whoever runs load names the processes that a server started as ([`Child::pid`](super::Child),
//! or [`process_listening_on`] for a server at an address), and asks a [`UsageMeter`] now and
//! then. The meter finds all that descends from them in one look at the system's processes, and
//! remembers enough to tell what was used in between.

use std::net::SocketAddr;

use self::family::Family;
use self::platform::Source;
use crate::prelude::*;

mod family;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod listener;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(test)]
#[cfg(unix)]
mod tests;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

const BYTES_PER_MB: f64 = 1e6;

/// What a tree of processes uses, and how busy it was since the last sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsageSample {
    /// Resident memory, in millions of bytes.
    pub rss_mb: f64,
    /// Share of one core since the last sample, in percent: 250 is two and a half cores. 0 at the
    /// first sample.
    pub cpu_pct: f64,
    /// Threads; `None` where the system does not tell.
    pub threads: Option<u32>,
    /// Open files, sockets and the like; `None` where the system does not tell.
    pub descriptors: Option<u32>,
    /// The open files of the process that is nearest to its own limit of them, as a share of that; `None` where the system does
    /// not tell.
    pub descriptor_share: Option<f64>,
    /// Living processes, and children of theirs that ended and were not waited for.
    pub processes: u32,
}

/// Measures the processes of a server, and all that descends from them.
///
/// A process that was seen in the tree stays in it when its parent ends. This program is never
/// part of a tree, unless it is one of the roots.
///
/// ```
/// use mcprove_client::process::UsageMeter;
///
/// let mut meter = UsageMeter::of_processes(&[std::process::id()]);
/// let sample = meter.sample().expect("this process is alive");
/// assert!(sample.processes >= 1 && sample.rss_mb > 0.0);
/// ```
#[derive(Debug)]
pub struct UsageMeter {
    source: Source,
    family: Family,
    /// When the last sample was taken, and the CPU time that was counted until then.
    last: Option<(Instant, Duration)>,
}

impl UsageMeter {
    /// Measures the processes that have these ids now, and their descendants.
    pub fn of_processes(pids: &[u32]) -> Self {
        let mut meter = Self {
            source: Source::new(),
            family: Family::default(),
            last: None,
        };
        meter.set_roots(pids);
        meter
    }

    /// Measures the processes that have these ids now, and their descendants, from now on: after
    /// a server was started again, for instance. Processes that are named again stay as they are.
    pub fn set_roots(&mut self, pids: &[u32]) {
        // An id may come to mean another process later; then that is not measured.
        let roots = self.source.identify(pids);
        if self.family.set_roots(roots) {
            self.source.forget_strangers();
        }
    }

    /// What the tree uses now, and how busy it was since the last sample; `None` if none of its
    /// processes is alive.
    ///
    /// Looks at the processes of the system, which takes some 10 µs for each process of the tree
    /// and 1 µs for each other one. What a process did before it came under measurement does not
    /// count as done since the last sample.
    pub fn sample(&mut self) -> Option<UsageSample> {
        let now = Instant::now();
        let family = &mut self.family;
        let moment = self.source.look(|pid| family.has_member(pid));
        let living = family.update(moment);
        let counted = family.cpu_time_observed;
        let cpu_share = self.last.map_or(0.0, |(then, before)| {
            let used = counted.saturating_sub(before).as_secs_f64();
            let elapsed = now.saturating_duration_since(then).as_secs_f64();
            if elapsed > 0.0 { used / elapsed } else { 0.0 }
        });
        self.last = Some((now, counted));
        if living.is_empty() {
            return None;
        }
        let threads = living.iter().filter_map(|reading| reading.threads);
        let memory = living.iter().map(|reading| reading.rss_bytes);
        #[expect(
            clippy::cast_precision_loss,
            reason = "exact for any memory that exists"
        )]
        let rss_bytes = memory.fold(0, u64::saturating_add) as f64;
        Some(UsageSample {
            rss_mb: rss_bytes / BYTES_PER_MB,
            cpu_pct: cpu_share * 100.0,
            threads: threads.reduce(u32::saturating_add),
            descriptors: self.source.count_descriptors(&living),
            descriptor_share: self.source.descriptor_share(&living),
            processes: u32::try_from(living.len())
                .unwrap_or(u32::MAX)
                .saturating_add(self.family.unreaped),
        })
    }

    /// How long threads of this program, without the calling one, and of the tree as it was at the last sample, have waited
    /// for a processor, all together, those too that ended since; `None` where the system does not tell. Of very many only
    /// some are asked.
    pub fn waited(&mut self) -> Option<Duration> {
        let pids = self.family.members().chain([std::process::id()]);
        self.source.waited(pids)
    }
}

/// The process that accepts connections at `address`, if that is a loopback address, on Linux.
/// Where several share the socket it is the one that started first, which is the parent of the
/// others.
///
/// `None` elsewhere, when nobody listens, and when the process belongs to somebody else. A port
/// that is passed on from a container or another machine gives the process that passes it on.
pub fn process_listening_on(address: SocketAddr) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        listener::find(address)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = address;
        None
    }
}

/// The CPU time of the current thread, user and system; `None` where the system does not tell.
///
/// ```
/// use mcprove_client::process::{process_cpu_time, thread_cpu_time};
///
/// if let Some(before) = thread_cpu_time() {
///     assert!(thread_cpu_time() >= Some(before));
///     assert!(process_cpu_time().is_some());
/// }
/// ```
pub fn thread_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        cpu_time(rustix::time::ClockId::ThreadCPUTime)
    }
    #[cfg(not(unix))]
    None
}

/// The CPU time of this program, user and system, all threads that there ever were; `None` where
/// the system does not tell.
pub fn process_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        cpu_time(rustix::time::ClockId::ProcessCPUTime)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(unix)]
fn cpu_time(clock: rustix::time::ClockId) -> Option<Duration> {
    Duration::try_from(rustix::time::clock_gettime(clock)).ok()
}
