//! The memory of a process.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use crate::Outcome;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// Waits for a process to end: the most resident memory that it had, in KiB, and how it ended.
pub fn peak_rss_kib(mut child: Child) -> Outcome<(f64, ExitStatus)> {
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Ok(status) = std::fs::read_to_string(&path)
            && let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))
        {
            peak = peak.max(line.trim().trim_end_matches(" kB").parse()?);
        }
        std::thread::sleep(INTERVAL);
    };
    if peak == 0.0 {
        return Err("the memory of the process could not be read".into());
    }
    Ok((peak, status))
}
