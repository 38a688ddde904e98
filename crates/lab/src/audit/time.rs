//! Points in time, as texts that sort as the times do: UTC, to the microsecond.

use std::time::{Duration, SystemTime};

use mcprove_settings::quantity::parse_duration;

/// A text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no time: write 2026-01-31T12:00:00Z, 2026-01-31 for its first moment in UTC, or 10m for ten minutes ago (ms, s, m, h or d)"
)]
pub struct TimeError(String);

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
pub fn parse_time(text: &str, now: SystemTime) -> Result<SystemTime, TimeError> {
    let error = || TimeError(text.to_owned());
    if let Some(duration) = parse_age(text) {
        return now.checked_sub(duration).ok_or_else(error);
    }
    if text.len() == "2026-01-31".len() {
        let first = format!("{text}T00:00:00Z");
        return humantime::parse_rfc3339(&first).map_err(|_| error());
    }
    let (local, offset) = split_offset(text).ok_or_else(error)?;
    let time = humantime::parse_rfc3339(&format!("{local}Z")).map_err(|_| error())?;
    let moved = match offset {
        Offset::Ahead(by) => time.checked_sub(by),
        Offset::Behind(by) => time.checked_add(by),
    };
    moved.ok_or_else(error)
}

/// A duration; here also in days, as nobody remembers last week in hours.
fn parse_age(text: &str) -> Option<Duration> {
    const HOURS: u32 = 24;
    match text.strip_suffix('d') {
        Some(days) => parse_duration(&format!("{days}h")).ok()?.checked_mul(HOURS),
        None => parse_duration(text).ok(),
    }
}

/// How far a local time is from UTC.
enum Offset {
    Ahead(Duration),
    Behind(Duration),
}

/// The local time, with a `T` in it, and its offset.
fn split_offset(text: &str) -> Option<(String, Offset)> {
    let text = text.to_ascii_uppercase();
    if let Some(utc) = text.strip_suffix('Z') {
        return Some((utc.to_owned(), Offset::Ahead(Duration::ZERO)));
    }
    let sign = text
        .rfind(['+', '-'])
        .filter(|at| *at > "2026-01-01T".len())?;
    let (local, offset) = text.split_at_checked(sign)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |text: &str, end: u64| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = is_number.then(|| text.parse().ok())??;
        (number < end).then_some(number)
    };
    let seconds = number(hours, 24)? * 3600 + number(minutes, 60)? * 60;
    let by = Duration::from_secs(seconds);
    let offset = if offset.starts_with('+') {
        Offset::Ahead(by)
    } else {
        Offset::Behind(by)
    };
    Some((local.to_owned(), offset))
}

/// The time that a row holds.
pub(super) fn read_time(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
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
            assert_eq!(read_time(text), Some(start + Duration::from_micros(micros)));
        }
        let long_ago = start - Duration::from_secs(5);
        assert_eq!(format_time(long_ago), "1970-01-01T00:00:00.000000Z");
    }
}
