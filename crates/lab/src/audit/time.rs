//! Points in time, as texts that sort as the times do: UTC, to the microsecond.

use chrono::DateTime;
use mcprove_settings::message::{Diagnostic, DiagnosticResult};
use mcprove_settings::quantity::parse_duration;

use crate::prelude::*;

/// Later than any time that can be written with a year of four digits.
const END_SECONDS: u64 = 253_402_300_800;

/// `2026-01-31T12:00:00.000000Z`. What cannot be written so becomes the nearest time that can.
pub fn format_time(time: SystemTime) -> String {
    let first = SystemTime::UNIX_EPOCH;
    let last = first + Duration::from_secs(END_SECONDS - 1);
    humantime::format_rfc3339_micros(time.clamp(first, last)).to_string()
}

/// Reads a time in RFC 3339 with any offset, a date for its first moment in UTC, or a duration, in
/// days too: so long before `now`.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use mcprove_lab::audit::{format_time, parse_time};
///
/// let noon = parse_time("2026-01-31T13:00:00+01:00", SystemTime::now()).unwrap();
/// assert_eq!(format_time(noon), "2026-01-31T12:00:00.000000Z");
/// let earlier = parse_time("10m", noon).unwrap();
/// assert_eq!(noon.duration_since(earlier).unwrap(), Duration::from_secs(600));
/// ```
pub fn parse_time(text: &str, now: SystemTime) -> DiagnosticResult<SystemTime> {
    let error = || {
        let message = format!("{text:?} is not a time");
        let hint = "write 2026-01-31T12:00:00Z, 2026-01-31 for its first moment in UTC, or 10m for ten minutes ago (ms, s, m, h or d)";
        Diagnostic::new(message, hint)
    };
    if let Some(age) = parse_age(text) {
        return now.checked_sub(age).ok_or_else(error);
    }
    let is_date = text.len() == "2026-01-31".len();
    let time = if is_date { "T00:00:00Z" } else { "" };
    let time = DateTime::parse_from_rfc3339(&format!("{text}{time}")).map_err(|_| error())?;
    let seconds = u64::try_from(time.timestamp()).map_err(|_| error())?;
    Ok(SystemTime::UNIX_EPOCH + Duration::new(seconds, time.timestamp_subsec_nanos()))
}

/// A duration; here also in days, as nobody remembers last week in hours.
fn parse_age(text: &str) -> Option<Duration> {
    const HOURS: u32 = 24;
    match text.strip_suffix('d') {
        Some(days) => parse_duration(&format!("{days}h")).ok()?.checked_mul(HOURS),
        None => parse_duration(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
        for (text, expected) in [
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z"),
            ("2026-01-31t12:00:00.25z", "2026-01-31T12:00:00.250000Z"),
            ("2026-01-31T12:00:00-05:30", "2026-01-31T17:30:00.000000Z"),
            ("2026-01-31T00:30:00+01:00", "2026-01-30T23:30:00.000000Z"),
            ("2026-01-31", "2026-01-31T00:00:00.000000Z"),
            ("1h", "2027-01-15T07:00:00.000000Z"),
            ("10d", "2027-01-05T08:00:00.000000Z"),
            ("0.5d", "2027-01-14T20:00:00.000000Z"),
            ("0", "2027-01-15T08:00:00.000000Z"),
        ] {
            let time = parse_time(text, now).map(format_time);
            assert_eq!(time.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        for text in [
            "",
            "yesterday",
            "12:00",
            "2026-02-31",
            "2026/01/31",
            "2026-01-3",
            "9026-99-99",
            "ü026-01-0",
            "2026-01-31T12:00:00",
            "2026-13-31T12:00:00Z",
            "2026-01-31T12:00:00+1:00",
            "2026-01-31T12:00:00+25:00",
            "2026-01-31T12:00:00+-1:00",
            "-10m",
            "d",
            "10w",
            "999999999999999999d",
            "99999999999999999h",
            "ü",
        ] {
            assert!(parse_time(text, SystemTime::now()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn written_times_sort_as_the_times_do_and_are_read_back() {
        let start = SystemTime::UNIX_EPOCH;
        let times = [0, 1, 999_999, 1_000_000, 1_767_225_600_123_456];
        let texts: Vec<String> = times
            .iter()
            .map(|micros| format_time(start + Duration::from_micros(*micros)))
            .collect();
        assert!(texts.is_sorted());
        for (text, micros) in texts.iter().zip(times) {
            let time = humantime::parse_rfc3339(text).unwrap();
            assert_eq!(time, start + Duration::from_micros(micros));
        }
        let long_ago = start - Duration::from_secs(5);
        assert_eq!(format_time(long_ago), "1970-01-01T00:00:00.000000Z");
    }
}
