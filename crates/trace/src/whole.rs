//! Whole numbers in a trace, which may be written with a point: many languages write 3200 as `3200.0`.

use std::str::FromStr;

use serde::de::{Error, Unexpected};
use serde_json::Number;

use crate::prelude::*;

/// A whole number, if there is one.
pub fn signed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    whole(deserializer, "i64")
}

/// A whole number from 0 up, if there is one.
pub fn unsigned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    whole(deserializer, "u64")
}

/// The place of something in a list.
pub(crate) fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let wanted = "usize";
    whole(deserializer, wanted)?.ok_or_else(|| D::Error::invalid_type(Unexpected::Unit, &wanted))
}

fn whole<'de, D: Deserializer<'de>, Whole: FromStr>(
    deserializer: D,
    wanted: &str,
) -> Result<Option<Whole>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    // A whole float is written without a point, a number of another kind does not parse.
    let text = if number.is_f64() {
        number.as_f64().unwrap_or(f64::NAN).to_string()
    } else {
        number.to_string()
    };
    let refuse = |_| {
        let found = match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Unexpected::Signed(number),
            (_, Some(number), _) => Unexpected::Unsigned(number),
            (.., number) => Unexpected::Float(number.unwrap_or(f64::NAN)),
        };
        D::Error::invalid_value(found, &wanted)
    };
    text.parse().map(Some).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Sample {
        #[serde(default, deserialize_with = "signed")]
        mark: Option<i64>,
        #[serde(default, deserialize_with = "unsigned")]
        count: Option<u64>,
    }

    #[test]
    fn whole_numbers_are_read_however_they_are_written() {
        for (text, mark, count) in [
            ("{}", None, None),
            (r#"{"mark": null, "count": null}"#, None, None),
            (
                r#"{"mark": 3200.0, "count": 3200.0}"#,
                Some(3200),
                Some(3200),
            ),
            (r#"{"mark": 3.2e3, "count": 1e3}"#, Some(3200), Some(1000)),
            (
                r#"{"mark": -5, "count": 18446744073709551615}"#,
                Some(-5),
                Some(u64::MAX),
            ),
            (r#"{"mark": -5.0}"#, Some(-5), None),
        ] {
            let read: Sample = serde_json::from_str(text).unwrap();
            assert_eq!((read.mark, read.count), (mark, count), "{text}");
        }
        for text in [
            r#"{"mark": 1.5}"#,
            r#"{"mark": "5"}"#,
            r#"{"mark": 1e300}"#,
            r#"{"count": -1}"#,
            r#"{"count": -1.0}"#,
            r#"{"count": 1e999}"#,
        ] {
            assert!(serde_json::from_str::<Sample>(text).is_err(), "{text}");
        }
    }
}
