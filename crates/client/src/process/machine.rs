//! What all programs of this machine use, as far as the system tells: to know whether others take what a server needs.

use crate::prelude::*;

/// Times since the machine started, of all processors together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineTimes {
    /// What programs used, without interrupts, which our own traffic causes.
    pub busy: Duration,
    /// What a hypervisor gave to other machines while programs here wanted to run.
    pub steal: Duration,
    /// How long any program waited for a processor; none where the kernel does not tell.
    pub pressure: Option<Duration>,
}

impl MachineTimes {
    /// Those of now; none where the system does not tell.
    pub fn read() -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            linux::read()
        }
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::param::clock_ticks_per_second;

    use super::*;

    /// More than the first line of `/proc/stat`, or all of `/proc/pressure/cpu`, ever has.
    const BYTES_MAX: usize = 1024;

    pub fn read() -> Option<MachineTimes> {
        let times = parse_stat(&head("/proc/stat")?, clock_ticks_per_second().max(1))?;
        let pressure = head("/proc/pressure/cpu").and_then(|text| parse_pressure(&text));
        Some(MachineTimes { pressure, ..times })
    }

    fn head(path: &str) -> Option<String> {
        let mut buffer = [0; BYTES_MAX];
        let size = File::open(path).ok()?.read(&mut buffer).ok()?;
        let text = String::from_utf8_lossy(buffer.get(..size)?);
        Some(text.into_owned())
    }

    /// Reads `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL …`, in ticks.
    pub fn parse_stat(text: &str, ticks_per_second: u64) -> Option<MachineTimes> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line
            .split_ascii_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        let [user, nice, system, _, _, _, _, steal, ..] = *ticks.as_slice() else {
            return None;
        };
        let time = |ticks: u64| {
            let millis = u128::from(ticks) * 1000 / u128::from(ticks_per_second);
            Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
        };
        Some(MachineTimes {
            busy: time(user.saturating_add(nice).saturating_add(system)),
            steal: time(steal),
            pressure: None,
        })
    }

    /// Reads `some avg10=… avg60=… avg300=… total=MICROSECONDS`.
    pub fn parse_pressure(text: &str) -> Option<Duration> {
        let line = text.lines().find(|line| line.starts_with("some "))?;
        let (_, total) = line.split_once("total=")?;
        Some(Duration::from_micros(total.trim().parse().ok()?))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn files_of_the_kernel_are_read() {
            let stat = "cpu  41825 5 8748 26803 476 7 90 443 0 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
            let times = parse_stat(stat, 100).unwrap();
            assert_eq!(times.busy, Duration::from_millis(505_780));
            assert_eq!(times.steal, Duration::from_millis(4430));
            assert_eq!(parse_stat("cpu  1 2 3\n", 100), None);
            assert_eq!(parse_stat("", 100), None);
            let pressure = "some avg10=9.13 avg60=12.17 avg300=7.16 total=35100429\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
            assert_eq!(
                parse_pressure(pressure),
                Some(Duration::from_micros(35_100_429))
            );
            assert_eq!(parse_pressure("some avg10=0.00"), None);
        }

        #[test]
        fn times_only_grow() {
            let first = MachineTimes::read().unwrap();
            let second = MachineTimes::read().unwrap();
            assert!(second.busy >= first.busy && second.pressure >= first.pressure);
        }
    }
}
