//! Points in time, as transcripts write them (RFC 3339). Only differences of them are used, so
//! there is no clock here.

/// Milliseconds from the beginning of 1970 to a time such as `2026-02-19T14:30:00.125Z`.
pub(super) fn milliseconds(text: &str) -> Option<f64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-');
    let mut part = |digits: usize| number(parts.next()?, digits);
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.splitn(3, ':');
    let mut part = || number(parts.next()?, 2);
    let (hour, minute, second) = (part()?, part()?, part()?);
    // 60 is a leap second.
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    if !(1..=days_in(year, month)).contains(&day) || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let days = f64::from(days_since_1970(year, month, day));
    let clock = f64::from(hour * 3600 + minute * 60 + second);
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    let seconds = days * 86_400.0 + clock - f64::from(offset_minutes(zone)?) * 60.0;
    Some(seconds * 1000.0 + fraction * 1000.0)
}

/// Exactly so many digits.
fn number(text: &str, digits: usize) -> Option<i32> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// `Z`, `+02:00` or `-05:30`, in minutes ahead of UTC.
fn offset_minutes(zone: &str) -> Option<i32> {
    let sign = match zone.chars().next()? {
        'Z' | 'z' => return (zone.len() == 1).then_some(0),
        '+' => 1,
        _ => -1,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn days_in(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1 January 1970 in the Gregorian calendar, with years that begin in March, so that
/// the leap day is the last one (Hinnant, "chrono-compatible low-level date algorithms").
fn days_since_1970(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
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
