//! Durations and sizes as people write them: `30s`, `250ms`, `64MiB`.

use std::time::Duration;

/// A text that is no duration or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct QuantityError {
    text: String,
    expected: &'static str,
}

const DURATION: &str = "a duration such as 250ms, 5s, 2m or 1h";
const SIZE: &str = "a size such as 65536, 64KiB or 16MiB";

/// Reads a duration: a number and a unit (`ms`, `s`, `m`, `h`). `0` needs no unit.
///
/// ```
/// use std::time::Duration;
/// use mcprove_settings::quantity::parse_duration;
///
/// assert_eq!(parse_duration("250ms").unwrap(), Duration::from_millis(250));
/// assert_eq!(parse_duration("1.5s").unwrap(), Duration::from_millis(1500));
/// assert!(parse_duration("5").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let error = || QuantityError {
        text: text.to_owned(),
        expected: DURATION,
    };
    let (number, unit) = split(text);
    let seconds = match unit {
        "ms" => number.map(|number| number / 1000.0),
        "s" | "sec" => number,
        "m" | "min" => number.map(|number| number * 60.0),
        "h" => number.map(|number| number * 3600.0),
        "" => number.filter(|number| *number == 0.0),
        _ => None,
    };
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(error)
}

/// A duration as [`parse_duration`] reads it back.
pub fn write_duration(time: Duration) -> String {
    let nanoseconds = time.subsec_nanos();
    if nanoseconds == 0 {
        format!("{}s", time.as_secs())
    } else if nanoseconds.is_multiple_of(1_000_000) {
        format!("{}ms", time.as_millis())
    } else {
        let text = format!("{}.{nanoseconds:09}", time.as_secs());
        format!("{}s", text.trim_end_matches('0'))
    }
}

/// A duration for people: `30 s`, `250 ms`.
pub fn describe_duration(duration: Duration) -> String {
    if duration >= Duration::from_secs(1) {
        let seconds = duration.as_secs_f64();
        if (seconds - seconds.round()).abs() < 0.005 {
            format!("{seconds:.0} s")
        } else {
            format!("{seconds:.2} s")
        }
    } else {
        format!("{} ms", duration.as_millis())
    }
}

/// Durations in files as a number of seconds, exact to the nanosecond.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}

/// Durations in files as a number of milliseconds, exact to the nanosecond.
pub mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(super::as_milliseconds(*duration))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(deserializer)?;
        super::from_milliseconds(milliseconds).map_err(D::Error::custom)
    }
}

/// Durations that may be missing, as a number of seconds.
pub mod optional_seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::ref_option, reason = "the signature that serde asks for")]
    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration
            .map(|duration| duration.as_secs_f64())
            .serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(deserializer)?
            .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(D::Error::custom))
            .transpose()
    }
}

/// A duration in milliseconds.
pub fn as_milliseconds(duration: Duration) -> f64 {
    // A double holds every count of nanoseconds up to 104 days.
    #[allow(clippy::cast_precision_loss)]
    let nanoseconds = duration.as_nanos() as f64;
    nanoseconds / 1e6
}

/// The duration of so many milliseconds, to the nearest nanosecond.
pub fn from_milliseconds(milliseconds: f64) -> Result<Duration, std::time::TryFromFloatSecsError> {
    Duration::try_from_secs_f64(milliseconds / 1e3)
}

/// Reads a size: a whole number of bytes, or with `KiB`, `MiB`, `GiB` (or `KB`, `MB`, `GB`).
pub fn parse_size(text: &str) -> Result<usize, QuantityError> {
    let error = || QuantityError {
        text: text.to_owned(),
        expected: SIZE,
    };
    let (number, unit) = split(text);
    let factor: f64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024.0 * 1024.0,
        "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return Err(error()),
    };
    let bytes = number.map(|number| number * factor).ok_or_else(error)?;
    if !(1.0..=1e15).contains(&bytes) || bytes.fract() != 0.0 {
        return Err(error());
    }
    // In range and whole, as checked above.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(bytes as usize)
}

fn split(text: &str) -> (Option<f64>, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().ok(), unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("10ms", 10),
            ("2m", 120_000),
            ("1h", 3_600_000),
            (" 5 s ", 5000),
        ] {
            assert_eq!(
                parse_duration(text).unwrap(),
                Duration::from_millis(milliseconds),
                "{text}"
            );
        }
        for text in [
            "",
            "5",
            "-1s",
            "s",
            "1.2.3s",
            "5 parsecs",
            "99999999999999999999h",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1", 1),
            ("64KiB", 65536),
            ("1.5MiB", 1_572_864),
            ("2mb", 2_000_000),
        ] {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "0", "-5", "5 stones", "1.5", "99999999999GiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
