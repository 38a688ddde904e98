//! What processes use, as Linux tells it in `/proc`.
//!
//! Listing the processes is cheap, reading what is told of each is not, and most have nothing to
//! do with the server. Those are read once and then only now and then: no process comes to descend
//! from another later.

use std::ffi::OsString;
use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::time::{ClockId, clock_gettime};

use super::family::{FamilySample, Reading};
use crate::prelude::*;
use crate::process::Identity;
use crate::process::stat::{Stat, processes};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
/// In how many looks every stranger is read once, in case its parent was missed before.
const STRANGERS_EVERY: u32 = 10;

/// How many threads are asked how long they waited.
const THREADS_MAX: usize = 256;

/// Reads `/proc`.
#[derive(Debug)]
pub struct Source {
    ticks_per_second: u64,
    page_bytes: u64,
    /// The processes that were there at the last look, with the inode that tells them from later
    /// ones with the same id.
    seen: FxHashMap<u32, u64>,
    looks: u32,
    /// How long each thread had waited at the last look, and all of them in all looks: those that ended, too.
    waits: FxHashMap<OsString, Duration>,
    waited: Duration,
}

impl Source {
    pub fn new() -> Self {
        Self {
            ticks_per_second: clock_ticks_per_second().max(1),
            page_bytes: u64::try_from(page_size()).unwrap_or_default(),
            seen: FxHashMap::default(),
            looks: 0,
            waits: FxHashMap::default(),
            waited: Duration::ZERO,
        }
    }

    /// Who was a stranger may be none now.
    pub fn forget_strangers(&mut self) {
        self.seen.clear();
    }

    /// The processes that have these ids now.
    #[expect(clippy::unused_self, reason = "the other systems are asked alike")]
    pub fn identify(&self, pids: &[u32]) -> Vec<Identity> {
        pids.iter()
            .filter_map(|pid| Stat::read(*pid))
            .map(|stat| stat.identity)
            .collect()
    }

    /// All processes that may descend from a member, and the members, which `is_member` tells.
    pub fn look(&mut self, is_member: impl Fn(u32) -> bool) -> FamilySample {
        let time = self.now();
        let before = std::mem::take(&mut self.seen);
        self.looks = self.looks.wrapping_add(1);
        let mut readings = Vec::new();
        for (pid, inode) in processes() {
            let is_stranger = before.get(&pid) == Some(&inode) && !is_member(pid);
            let is_due = pid.wrapping_add(self.looks).is_multiple_of(STRANGERS_EVERY);
            if !is_stranger || is_due {
                let Some(reading) = self.read(pid) else {
                    continue;
                };
                readings.push(reading);
            }
            self.seen.insert(pid, inode);
        }
        FamilySample { time, readings }
    }

    /// How many descriptors these processes have open; `None` if one does not let us know.
    #[expect(clippy::unused_self, reason = "the other systems are asked alike")]
    pub fn count_descriptors(&self, readings: &[Reading]) -> Option<u32> {
        let mut pids = readings.iter().map(|reading| reading.identity.pid);
        pids.try_fold(0, |sum: u32, pid| {
            let count = count_descriptors(pid)?;
            Some(sum.saturating_add(count))
        })
    }

    /// The open descriptors of the process that is nearest to its limit of them, as a share of that.
    #[expect(clippy::unused_self, reason = "the other systems are asked alike")]
    pub fn descriptor_share(&self, readings: &[Reading]) -> Option<f64> {
        let shares = readings.iter().filter_map(|reading| {
            let pid = reading.identity.pid;
            let limit = descriptor_limit(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)?;
            Some(f64::from(count_descriptors(pid)?) / f64::from(limit.max(1)))
        });
        shares.max_by(f64::total_cmp)
    }

    /// How long the threads of these processes have waited for a processor, as far as they were seen to, without the one
    /// that looks.
    pub fn waited(&mut self, pids: impl Iterator<Item = u32>) -> Option<Duration> {
        let looking = rustix::thread::gettid().to_string();
        let tasks = pids.filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
        let threads = tasks.flatten().flatten().take(THREADS_MAX);
        let threads = threads.filter(|thread| thread.file_name() != *looking);
        let waits = threads.filter_map(|it| Some((it.file_name(), waited_of(&it.path())?)));
        let waits: FxHashMap<OsString, Duration> = waits.collect();
        for (thread, waited) in &waits {
            let before = self.waits.get(thread).copied().unwrap_or_default();
            self.waited += waited.saturating_sub(before);
        }
        let is_known = !waits.is_empty();
        self.waits = waits;
        is_known.then_some(self.waited)
    }

    /// What is told of one process.
    fn read(&self, pid: u32) -> Option<Reading> {
        self.reading(&Stat::read(pid)?)
    }

    fn reading(&self, stat: &Stat) -> Option<Reading> {
        // The time in user mode, and in the kernel behind it.
        let time = |field: usize| {
            let user: u64 = stat.field(field)?;
            Some(self.duration(user.saturating_add(stat.field(field + 1)?)))
        };
        let threads = stat.field(20)?;
        let pages: u64 = stat.field(24)?;
        Some(Reading {
            identity: stat.identity,
            parent: stat.parent,
            // The main thread may end before the others.
            ended: stat.zombie && threads <= 1,
            own: time(14)?,
            reaped: time(16)?,
            rss_bytes: pages.saturating_mul(self.page_bytes),
            threads: Some(threads),
        })
    }

    fn duration(&self, ticks: u64) -> Duration {
        let seconds = ticks / self.ticks_per_second;
        let rest = ticks % self.ticks_per_second;
        let nanoseconds = rest.saturating_mul(NANOSECONDS_PER_SECOND) / self.ticks_per_second;
        Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanoseconds))
    }

    /// The time since boot in ticks, as the start of a process is told.
    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or_default();
        let ticks = nanoseconds.saturating_mul(self.ticks_per_second) / NANOSECONDS_PER_SECOND;
        (seconds.saturating_mul(self.ticks_per_second)).saturating_add(ticks)
    }
}

/// How long the thread with this folder has waited.
fn waited_of(thread: &Path) -> Option<Duration> {
    let times = fs::read_to_string(thread.join("schedstat")).ok()?;
    // What it ran, what it waited, and how often it ran.
    let waited = times.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(waited))
}

/// How many descriptors a process may have open, of what `/proc/PID/limits` says; none without a limit.
fn descriptor_limit(limits: &str) -> Option<u32> {
    let mut lines = limits.lines();
    let soft = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    soft.split_ascii_whitespace().next()?.parse().ok()
}

/// How many descriptors a process has open: none if it ended meanwhile, `None` if it does not let
/// us know.
fn count_descriptors(pid: u32) -> Option<u32> {
    let directory = format!("/proc/{pid}/fd");
    // Since Linux 6.2 the size of the directory is their number; before, it is 0.
    let size = fs::metadata(&directory).map_or(0, |directory| directory.len());
    if size > 0 {
        return u32::try_from(size).ok();
    }
    match fs::read_dir(directory) {
        Ok(entries) => u32::try_from(entries.count()).ok(),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(_) => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        let source = Source {
            ticks_per_second: 100,
            page_bytes: 4096,
            ..Source::new()
        };
        let line = b"7 (a) R 1 (\xff)) S 3 4 5 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 8 0 12345 \
                     99999 25 18446744073709551615 1 1\n";
        let parse = |line| source.reading(&Stat::parse(7, line)?);
        let reading = parse(line).unwrap();
        let expected = Reading {
            identity: Identity {
                pid: 7,
                start: 12345,
            },
            parent: 3,
            ended: false,
            own: Duration::from_secs(2),
            reaped: Duration::from_millis(500),
            rss_bytes: 25 * 4096,
            threads: Some(8),
        };
        assert_eq!(reading, expected);
        assert_eq!(parse(b"7 (a"), None);
        assert_eq!(parse(b"7 (a) S 3 4 5"), None);
    }

    #[test]
    fn time_and_start_are_told_alike() {
        let source = Source::new();
        let own = source.read(std::process::id()).unwrap();
        let now = source.now();
        assert!(own.identity.start > 0 && own.identity.start <= now);
        let age = source.duration(now - own.identity.start);
        assert!(age < Duration::from_hours(24), "{age:?}");
    }

    #[test]
    fn strangers_are_read_once_and_then_now_and_then() {
        let mut source = Source::new();
        let own = std::process::id();
        let mut reads = |is_member: bool| {
            let moment = source.look(|_| is_member);
            let mut found = moment.readings.iter();
            found.any(|reading| reading.identity.pid == own)
        };
        assert!(reads(false));
        let times = (0..2 * STRANGERS_EVERY).filter(|_| reads(false)).count();
        assert_eq!(times, 2);
        assert!((0..STRANGERS_EVERY).all(|_| reads(true)));
        source.forget_strangers();
        let moment = source.look(|_| false);
        assert!(
            moment
                .readings
                .iter()
                .any(|reading| reading.identity.pid == own)
        );
    }

    #[test]
    fn the_limit_of_descriptors_is_the_soft_one() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max processes             unlimited            unlimited            processes\n\
                      Max open files            256                  1048576              files\n";
        assert_eq!(descriptor_limit(limits), Some(256));
        assert_eq!(
            descriptor_limit("Max open files unlimited unlimited files"),
            None
        );
        assert_eq!(descriptor_limit(""), None);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_descriptors() {
        assert_eq!(count_descriptors(u32::MAX), Some(0));
    }
}
