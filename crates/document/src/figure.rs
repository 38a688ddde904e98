//! Numbers as people read them, the same in every report.

use std::time::{Duration, SystemTime};

use mcprove_settings::number;
use mcprove_settings::quantity::as_milliseconds;

pub use mcprove_settings::phrase::{count as counted, trimmed as decimal, whole as count};

/// What stands for a number that is not known, or that the samples do not bear.
pub const UNKNOWN: &str = "–";

/// From here on milliseconds are written as seconds.
const SECONDS_FROM_MS: f64 = 10_000.0;
/// From here on a rate is written without decimals.
const WHOLE_RATE_FROM: f64 = 1_000.0;

/// A number that may be missing.
pub fn known<Number>(value: Option<Number>, text: impl FnOnce(Number) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), text)
}

/// `123.4ms`, `1.23ms`, `0.412ms`, `15.0s`.
pub fn milliseconds(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value >= SECONDS_FROM_MS {
        return format!("{:.1}s", value / 1000.0);
    }
    let digits = match value.abs() {
        // Anything below would round up to 10.00.
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}ms")
}

/// The same of a number that may be missing.
pub fn maybe_milliseconds(value: Option<f64>) -> String {
    known(value, milliseconds)
}

pub fn latency(value: Duration) -> String {
    milliseconds(as_milliseconds(value))
}

/// A share as a percentage: `0.36%`; what is too small to show is `<0.01%`.
pub fn percent(share: f64) -> String {
    percent_with(share, 2)
}

/// A share as a percentage with one decimal: `9.8%`.
pub fn rough_percent(share: f64) -> String {
    percent_with(share, 1)
}

fn percent_with(share: f64, digits: usize) -> String {
    let least = 0.1_f64.powf(number::float_len(digits));
    if share > 0.0 && share * 100.0 < least / 2.0 {
        return format!("<{least:.digits$}%");
    }
    format!("{:.digits$}%", share * 100.0)
}

/// The share of `part` in `whole`; zero of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    number::share(part, whole).unwrap_or_default()
}

/// A number per second: `205.75`, `12,346`.
pub fn rate(per_second: f64) -> String {
    if per_second >= WHOLE_RATE_FROM {
        return count(number::truncated(per_second.round()));
    }
    format!("{per_second:.2}")
}

/// The same of a number that may be missing.
pub fn maybe_decimal(value: Option<f64>, digits: usize) -> String {
    known(value, |value| decimal(value, digits))
}

/// A number with so many decimals that may be missing.
pub fn maybe_fixed(value: Option<f64>, digits: usize) -> String {
    known(value, |value| format!("{value:.digits$}"))
}

/// `156.3 MB`.
pub fn megabytes(value: f64) -> String {
    format!("{value:.1} MB")
}

/// `812 B`, `8.2 MB`.
pub fn bytes(bytes: u64) -> String {
    match number::float(bytes) {
        size if size >= 999_950_000.0 => format!("{:.1} GB", size / 1e9),
        size if size >= 999_950.0 => format!("{:.1} MB", size / 1e6),
        size if size >= 1000.0 => format!("{:.1} kB", size / 1e3),
        _ => format!("{bytes} B"),
    }
}

/// A duration as settings have it: `250ms`, `60s`, `5m`, `1h`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() > 0 {
        if seconds == 0 {
            return format!("{}ms", decimal(as_milliseconds(duration), 3));
        }
        return format!("{}s", decimal(duration.as_secs_f64(), 2));
    }
    match seconds {
        3600.. if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        120.. if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// A duration on a clock: `0:07`, `1:02:03`.
pub fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A point in time: `2026-05-10 07:30:00 UTC`.
pub fn time(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    format!("{} UTC", text.trim_end_matches('Z').replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(12_345), "12,345");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(counted(1, "call"), "1 call");
        assert_eq!(counted(1000, "call"), "1,000 calls");
    }

    #[test]
    fn latencies_have_three_digits_or_more() {
        for (value, text) in [
            (0.0, "0.000ms"),
            (0.4123, "0.412ms"),
            (0.9996, "1.00ms"),
            (1.234, "1.23ms"),
            (9.996, "10.0ms"),
            (123.44, "123.4ms"),
            (9_999.9, "9999.9ms"),
            (15_000.0, "15.0s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(milliseconds(value), text, "{value}");
        }
    }

    #[test]
    fn shares_rates_and_sizes() {
        assert_eq!(percent(0.003_645), "0.36%");
        assert_eq!(percent(0.000_001), "<0.01%");
        assert_eq!(percent(0.0), "0.00%");
        assert_eq!(rough_percent(0.5), "50.0%");
        assert_eq!(rough_percent(0.000_1), "<0.1%");
        assert_eq!(rate(205.751), "205.75");
        assert_eq!(rate(12_345.6), "12,346");
        assert_eq!(bytes(812), "812 B");
        assert_eq!(bytes(8_210_000), "8.2 MB");
        assert_eq!(bytes(999_960), "1.0 MB");
        assert_eq!(decimal(-0.001, 1), "0");
        assert!(share(1, 0) < f64::EPSILON);
    }

    #[test]
    fn times() {
        for (milliseconds, text) in [
            (0, "0s"),
            (250, "250ms"),
            (1500, "1.5s"),
            (60_000, "60s"),
            (90_000, "90s"),
            (300_000, "5m"),
            (3_600_000, "1h"),
            (5_400_000, "90m"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        }
        assert_eq!(clock(Duration::from_secs(7)), "0:07");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
        let started = SystemTime::UNIX_EPOCH + Duration::from_mins(29_639_970);
        assert_eq!(time(started), "2026-05-10 07:30:00 UTC");
    }
}
