//! CPU time: steady where elapsed time is not.

use rustix::time::{ClockId, clock_gettime};

/// The CPU time that this process has used, in microseconds.
pub fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[allow(clippy::cast_precision_loss)]
    {
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    }
}
