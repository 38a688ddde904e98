//! Points in time, as transcripts write them (RFC 3339). Only differences of them are used, so
//! there is no clock here.

use chrono::DateTime;

/// Milliseconds from the beginning of 1970 to a time such as `2026-02-19T14:30:00.125Z`.
#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds are exact for 285 years, and only differences count"
)]
pub fn milliseconds(text: &str) -> Option<f64> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(time.timestamp_micros() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("1970-01-01T00:00:00.250Z", 250.0),
            ("1969-12-31T23:59:59Z", -1000.0),
            ("2000-02-29T12:00:00Z", 951_825_600_000.0),
            ("2000-03-01T00:00:00Z", 951_868_800_000.0),
            ("2026-11-15T23:40:01.5+01:00", 1_794_782_401_500.0),
            ("2026-11-15t22:40:01.5z", 1_794_782_401_500.0),
            ("2026-11-15 17:10:01.5-05:30", 1_794_782_401_500.0),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000.0),
        ] {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "",
            "2026-11-15",
            "2026-11-15T22:40:01",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T22:60:00Z",
            "2026-11-15T22:40:61Z",
            "2026-11-15T22:40:01.x5Z",
            "2026-11-15T22:40:01+1:00",
            "2026-11-15T22:40:01+25:00",
            "2026-11-15T22:40:01Zulu",
            "+026-11-15T22:40:01Z",
            "26-11-15T22:40:01Z",
            "2026-11-15T22:40Z",
            "1763246401500",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_not(text in "\\PC*") {
            if let Some(time) = milliseconds(&text) {
                prop_assert!(time.is_finite());
            }
        }

        #[test]
        fn a_day_later_is_a_day_more(year in 1..9999_i32, month in 1..=12_i32, day in 1..=27_i32) {
            let at = |day| milliseconds(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
            prop_assert_eq!(at(day + 1), at(day).map(|time| time + 86_400_000.0));
        }
    }
}
