//! A number for a JSON text, the same for texts with the same canonical JSON: read off the text as it
//! is parsed, without a tree. Different values may share one by chance, so that whoever finds two
//! equal ones must look.

use std::fmt::{Formatter, Result as Written};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Whole numbers in floating point are hashed as whole ones up to here: beyond all that have 64 bits.
pub(super) const WHOLE_FLOAT_MAX: f64 = 1e21;

/// The fingerprint of a JSON text.
pub fn fingerprint(text: &str) -> u64 {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // What is no JSON, or too deep for the parser, is only the same as itself.
    Fingerprint
        .deserialize(&mut deserializer)
        .unwrap_or_else(|_| hash(&(Kind::NoJson, text)))
}

/// What a value is, so that different kinds have different fingerprints.
#[derive(Hash)]
enum Kind {
    Null,
    Boolean,
    Whole,
    Float,
    String,
    Array,
    Object,
    NoJson,
}

/// The hash of anything, the same in every process.
pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Makes a fingerprint out of whatever comes.
#[derive(Clone, Copy)]
struct Fingerprint;

impl<'de> DeserializeSeed<'de> for Fingerprint {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fingerprint {
    type Value = u64;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> Written {
        formatter.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<u64, E> {
        Ok(hash(&Kind::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<u64, E> {
        Ok(hash(&(Kind::Boolean, value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        Ok(hash(&(Kind::Whole, i128::from(value))))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        Ok(hash(&(Kind::Whole, i128::from(value))))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole float below 10^21 is exact in 128 bits"
    )]
    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        let is_whole = value.fract() == 0.0 && value.abs() < WHOLE_FLOAT_MAX;
        Ok(if is_whole {
            hash(&(Kind::Whole, value as i128))
        } else {
            hash(&(Kind::Float, value.to_bits()))
        })
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<u64, E> {
        Ok(hash(&(Kind::String, value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut fingerprints: Vec<u64> = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            fingerprints.push(item);
        }
        Ok(hash(&(Kind::Array, fingerprints)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<u64, A::Error> {
        let mut fingerprints: Vec<(u64, u64)> = Vec::new();
        while let Some(member) = members.next_entry_seed(self, self)? {
            fingerprints.push(member);
        }
        // The order of keys does not matter. Of a key that comes twice the last one counts: sorting
        // backwards, stably, puts it first.
        fingerprints.reverse();
        fingerprints.sort_by_key(|(key, _)| *key);
        fingerprints.dedup_by_key(|(key, _)| *key);
        Ok(hash(&(Kind::Object, fingerprints)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::canonical;
    use harness::values::json_values;

    #[test]
    fn texts_of_the_same_value_share_a_fingerprint() {
        let cases = [
            (r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, true),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, true),
            ("[1e2,-0.0]", "[100,0]", true),
            (r#"{"a":2,"a":1}"#, r#"{"a":1}"#, true),
            (r#"{"\u0061":1}"#, r#"{"a":1}"#, true),
            ("1e21", "1000000000000000000000", true),
            ("0.1", "0.10", true),
            ("18446744073709551615", "18446744073709551616", false),
            ("[1,2]", "[2,1]", false),
            ("[1,[2]]", "[[1],2]", false),
            ("[]", "{}", false),
            ("null", "{}", false),
            (r#""1""#, "1", false),
            (r#""null""#, "null", false),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false),
            ("no JSON", "no JSON", true),
            ("no JSON", "no  JSON", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(
                fingerprint(one) == fingerprint(other),
                expected,
                "{one} {other}"
            );
        }
        let deep = "[".repeat(100_000);
        assert_eq!(fingerprint(&deep), fingerprint(&deep));
    }

    proptest! {
        #[test]
        fn fingerprints_agree_with_canonical_json(one in json_values(), other in json_values()) {
            let of = |value: &Value| fingerprint(&value.to_string());
            prop_assert_eq!(of(&one) == of(&other), canonical::equal(&one, &other));
            prop_assert_eq!(of(&one), fingerprint(&canonical::text(&one)));
        }
    }
}
