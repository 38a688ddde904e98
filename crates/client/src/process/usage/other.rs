//! What processes use, on systems other than Linux. Threads, descriptors and the time of children
//! that ended are not told in a way that is the same everywhere.

use std::time::UNIX_EPOCH;

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System};

use super::family::{FamilySample, Reading};
use crate::prelude::*;
use crate::process::Identity;

/// Asks the system.
#[derive(Debug)]
pub struct Source {
    system: System,
}

impl Source {
    pub fn new() -> Self {
        Self {
            system: System::new(),
        }
    }

    /// The processes that have these ids now.
    pub fn identify(&mut self, pids: &[u32]) -> Vec<Identity> {
        let wanted: Vec<Pid> = pids.iter().copied().map(Pid::from_u32).collect();
        self.refresh(ProcessesToUpdate::Some(&wanted));
        wanted
            .iter()
            .filter_map(|pid| self.system.process(*pid))
            .map(identity)
            .collect()
    }

    #[expect(clippy::unused_self, reason = "Linux has to")]
    pub fn forget_strangers(&mut self) {}

    /// All processes of the system that we may see.
    pub fn look(&mut self, _: impl Fn(u32) -> bool) -> FamilySample {
        // Starts are told in seconds since 1970.
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs());
        self.refresh(ProcessesToUpdate::All);
        let readings = self.system.processes().values().map(read).collect();
        FamilySample { time, readings }
    }

    #[expect(clippy::unused_self, reason = "Linux reports it")]
    pub fn count_descriptors(&self, _: &[Reading]) -> Option<u32> {
        None
    }

    #[expect(clippy::unused_self, reason = "Linux reports it")]
    pub fn descriptor_share(&self, _: &[Reading]) -> Option<f64> {
        None
    }

    #[expect(clippy::unused_self, reason = "Linux reports it")]
    pub fn waited(&mut self, _: impl Iterator<Item = u32>) -> Option<Duration> {
        None
    }

    fn refresh(&mut self, processes: ProcessesToUpdate<'_>) {
        let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory();
        let remove_ended = true;
        self.system
            .refresh_processes_specifics(processes, remove_ended, wanted);
    }
}

fn identity(process: &Process) -> Identity {
    Identity {
        pid: process.pid().as_u32(),
        start: process.start_time(),
    }
}

fn read(process: &Process) -> Reading {
    Reading {
        identity: identity(process),
        parent: process.parent().map_or(0, Pid::as_u32),
        ended: matches!(
            process.status(),
            ProcessStatus::Zombie | ProcessStatus::Dead
        ),
        own: Duration::from_millis(process.accumulated_cpu_time()),
        reaped: Duration::ZERO,
        rss_bytes: process.memory(),
        threads: None,
    }
}
