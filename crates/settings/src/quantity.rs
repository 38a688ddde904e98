//! Durations and sizes as people write them: `30s`, `250ms`, `64MiB`.

use crate::number::truncated_len;
use crate::prelude::*;

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
    parse(text, DURATION, |number, unit| {
        let seconds = match unit {
            "ms" => number / 1000.0,
            "s" | "sec" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            "" if number == 0.0 => number,
            _ => return None,
        };
        Duration::try_from_secs_f64(seconds).ok()
    })
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

/// Durations in files as a number, exact to the nanosecond.
macro_rules! in_files {
    ($(#[$about:meta])* $module:ident, $to:expr, $from:expr) => {
        $(#[$about])*
        pub mod $module {
            use serde::de::Error;

            use crate::prelude::*;

            pub fn serialize<S: Serializer>(
                duration: &Duration,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64($to(duration))
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Duration, D::Error> {
                $from(f64::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

in_files! {
    /// In seconds.
    seconds, Duration::as_secs_f64, Duration::try_from_secs_f64
}
in_files! {
    /// In milliseconds.
    milliseconds, |it: &Duration| super::as_milliseconds(*it), super::from_milliseconds
}

/// Durations that may be missing, as a number of seconds.
pub mod optional_seconds {
    use crate::prelude::*;

    #[derive(Serialize, Deserialize)]
    struct Seconds(#[serde(with = "super::seconds")] Duration);

    #[allow(clippy::ref_option, reason = "the signature that serde asks for")]
    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(Seconds).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<Seconds>::deserialize(deserializer)?;
        Ok(seconds.map(|Seconds(duration)| duration))
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
    parse(text, SIZE, |number, unit| {
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "kib" | "k" => 1024.0,
            "mib" | "m" => 1_048_576.0,
            "gib" | "g" => 1_073_741_824.0,
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            _ => return None,
        };
        let bytes = number * factor;
        let is_size = (1.0..=1e15).contains(&bytes) && bytes.fract() == 0.0;
        is_size.then(|| truncated_len(bytes))
    })
}

/// A number and its unit, as what they mean.
fn parse<Quantity>(
    text: &str,
    expected: &'static str,
    read: impl FnOnce(f64, &str) -> Option<Quantity>,
) -> Result<Quantity, QuantityError> {
    let trimmed = text.trim();
    let unit = trimmed.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.');
    trimmed
        .strip_suffix(unit)
        .and_then(|it| it.parse().ok())
        .and_then(|number| read(number, unit.trim()))
        .ok_or_else(|| QuantityError {
            text: text.to_owned(),
            expected,
        })
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
