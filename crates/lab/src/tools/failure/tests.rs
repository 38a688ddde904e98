use serde_json::json;

use super::*;

/// Rolls that were computed by other programs, in other languages, from the same rules.
const GOLDEN: &str = include_str!("../../../tests/data/flaky.csv");

/// The fields of a line of a CSV file.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut().unwrap();
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            character => field.push(character),
        }
    }
    fields
}

#[test]
fn every_known_roll_is_reproduced_to_the_bit() {
    let mut count = 0;
    for line in GOLDEN.lines().skip(1) {
        let [seed, call_id, rate_in, rate, roll, bits, failed, said] =
            <[String; 8]>::try_from(fields(line)).unwrap();
        let seed: String = serde_json::from_str(&seed).unwrap();
        let (clamped, rolled, failure) =
            decide(&seed, call_id.parse().unwrap(), rate_in.parse().unwrap());
        assert_eq!(format!("{:016x}", rolled.to_bits()), bits, "{line}");
        assert_eq!(rolled.to_bits(), roll.parse::<f64>().unwrap().to_bits());
        let expected: f64 = rate.parse().unwrap();
        assert!(
            clamped.is_nan() == expected.is_nan()
                && (clamped.is_nan() || clamped.to_bits() == expected.to_bits()),
            "{line}"
        );
        assert_eq!(failure, (failed == "true").then_some(said), "{line}");
        count += 1;
    }
    assert_eq!(count, 154);
}

#[test]
fn a_whole_number_may_be_written_with_a_point() {
    assert_eq!(whole_number(&json!(3)), Some(3));
    assert_eq!(whole_number(&json!(3.0)), Some(3));
    assert_eq!(whole_number(&json!(i64::MIN)), Some(i64::MIN));
    assert_eq!(whole_number(&json!(u64::MAX)), None);
    assert_eq!(whole_number(&json!(1e30)), None);
    // One below the least, which a float rounds to the least.
    let below: Value = serde_json::from_str("-9223372036854775809").unwrap();
    assert_eq!(whole_number(&below), None);
    assert_eq!(whole_number(&json!(-0.0)), Some(0));
    assert_eq!(whole_number(&json!(2.5)), None);
}
