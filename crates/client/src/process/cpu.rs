//! The CPU time that we ourselves use, to tell our part from that of a server.

use std::time::Duration;

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
        read(rustix::time::ClockId::ThreadCPUTime)
    }
    #[cfg(not(unix))]
    None
}

/// The CPU time of this program, user and system, all threads that there ever were; `None` where
/// the system does not tell.
pub fn process_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        read(rustix::time::ClockId::ProcessCPUTime)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(unix)]
fn read(clock: rustix::time::ClockId) -> Option<Duration> {
    Duration::try_from(rustix::time::clock_gettime(clock)).ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    /// More than the clocks of any system need to move on.
    const WORK: Duration = Duration::from_millis(20);

    #[test]
    fn work_costs_time_of_the_thread_and_of_the_program() {
        let worker = std::thread::spawn(|| {
            let program_before = process_cpu_time().unwrap();
            let start = thread_cpu_time().unwrap();
            while thread_cpu_time().unwrap() < start + WORK {
                std::hint::spin_loop();
            }
            assert!(process_cpu_time().unwrap() >= program_before + WORK / 2);
        });
        worker.join().unwrap();
    }
}
