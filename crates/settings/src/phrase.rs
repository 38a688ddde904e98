//! How numbers and names look inside a sentence, the same in every verdict.

use crate::message;
use crate::prelude::*;

/// Names and places listed before the rest is only counted.
const LISTED_MAX: usize = 5;

/// Characters of a server's own text before it is cut.
const TEXT_CHARS_MAX: usize = 200;

/// Characters of a name before it is cut.
pub(crate) const NAME_CHARS_MAX: usize = 80;

/// From here on a number is written with an exponent, so that a sentence stays a sentence.
const PLAIN_MAX: f64 = 1e15;

/// `1 call`, `20 calls`, `12,345 calls`.
pub fn count(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", whole(count))
    }
}

/// A number as tables have it: `12,345`.
pub fn whole(value: u64) -> String {
    grouped(&value.to_string())
}

/// The digits of a number in groups of three, those after the point left alone.
fn grouped(number: &str) -> String {
    let mut end = number.find('.').unwrap_or(number.len());
    let begin = usize::from(number.starts_with('-'));
    let mut text = number.to_owned();
    while end > begin + 3 {
        end -= 3;
        text.insert(end, ',');
    }
    text
}

/// `a, b and c`; the first five, then how many more.
pub(crate) fn listed<T>(all: &[T], show: impl FnMut(&T) -> Message) -> Message {
    let mut shown: Vec<Message> = all.iter().take(LISTED_MAX).map(show).collect();
    if all.len() > LISTED_MAX {
        shown.push(format!("{} more", all.len() - LISTED_MAX).into());
    }
    match shown.pop() {
        Some(last) if !shown.is_empty() => Message::join(shown, ", ").then(" and ").with(&last),
        last => last.unwrap_or_default(),
    }
}

/// `call 3`, `calls 0, 1 and 4`; the first five, then how many more.
pub fn places(noun: &str, places: &[usize]) -> String {
    match places.len() {
        0 => format!("no {noun}"),
        1 => format!("{noun} {}", places[0]),
        _ => format!(
            "{noun}s {}",
            listed(places, |place| place.to_string().into()).rendered()
        ),
    }
}

/// The verb for so many: `is` or `are`.
pub fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The same of the past: `was` or `were`.
pub fn were(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// A number with at most `digits` decimals and no zeros at its end.
pub fn decimal(value: f64, digits: usize) -> String {
    if value.abs() >= PLAIN_MAX {
        return format!("{value:.3e}");
    }
    let text = trimmed(value, digits);
    if value.is_finite() {
        grouped(&text)
    } else {
        text
    }
}

/// The same without groups.
pub fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let trimmed = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    match trimmed {
        "-0" => "0".to_owned(),
        other => other.to_owned(),
    }
}

/// Milliseconds: one decimal from 10 ms on, three below.
pub fn milliseconds(value: f64) -> String {
    format!(
        "{} ms",
        decimal(value, if value.abs() >= 10.0 { 1 } else { 3 })
    )
}

/// A share as a percentage: `0.36%`.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0001 {
        return "under 0.01%".to_owned();
    }
    format!("{}%", decimal(share * 100.0, 2))
}

/// A text that a server chose, fit for a sentence: on one line, and not longer than it is worth.
pub fn text(text: &str) -> String {
    one_line(text, TEXT_CHARS_MAX)
}

/// A name that a server chose, marked as Markdown marks code.
pub fn name(name: &str) -> String {
    Message::from(message::name(name)).rendered()
}

/// More backticks than stand together in a text, and no fewer than `least`.
pub fn fence(text: &str, least: usize) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    "`".repeat(runs.max().map_or(1, |longest| longest + 1).max(least))
}

pub(crate) fn one_line(text: &str, max: usize) -> String {
    shorten(text.trim(), max).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(count(1, "call"), "1 call");
        assert_eq!(count(20, "call"), "20 calls");
        assert_eq!([are(0), are(1), are(2)], ["are", "is", "are"]);
        assert_eq!(count(114_594, "call"), "114,594 calls");
        for (value, text) in [
            (999.0, "999"),
            (1000.0, "1,000"),
            (-1_234_567.25, "-1,234,567.2"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(decimal(value, 1), text);
        }
        assert_eq!(decimal(500.0, 1), "500");
        assert_eq!(decimal(-0.001, 1), "0");
        assert_eq!(decimal(812.34, 1), "812.3");
        assert_eq!(decimal(f64::MAX, 1), "1.798e308");
        assert_eq!(milliseconds(812.34), "812.3 ms");
        assert_eq!(milliseconds(0.1234), "0.123 ms");
        assert_eq!(percent(0.0036), "0.36%");
        assert_eq!(percent(0.000_001), "under 0.01%");
        assert_eq!(percent(0.0), "0%");
    }

    #[test]
    fn what_a_server_chose_stays_on_one_short_line() {
        assert_eq!(text(" no\nsuch\u{1b}[31m index "), "no such [31m index");
        assert_eq!(text(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(text(&"é".repeat(201)), format!("{}…", "é".repeat(200)));
        assert_eq!(name("search"), "`search`");
        assert_eq!(name(&"x".repeat(1000)).chars().count(), 83);
    }

    #[test]
    fn lists_are_bounded() {
        let names = |names: &[&str]| message::names(names).rendered();
        assert_eq!(names(&[]), "");
        assert_eq!(names(&["a"]), "`a`");
        assert_eq!(names(&["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(
            names(&["a", "b", "c", "d", "e", "f", "g"]),
            "`a`, `b`, `c`, `d`, `e` and 2 more"
        );
    }

    #[test]
    fn sentences_begin_and_end() {
        for (words, text) in [
            ("", ""),
            ("call 1 failed", "Call 1 failed."),
            ("`a` failed; why?", "`a` failed; why?"),
            ("ärger ", "Ärger."),
        ] {
            assert_eq!(Message::from(words).whole().rendered(), text);
        }
    }

    #[test]
    fn places_are_listed_and_bounded() {
        let cases: [(&[usize], &str); 5] = [
            (&[], "no run"),
            (&[3], "run 3"),
            (&[0, 2], "runs 0 and 2"),
            (&[0, 1, 4], "runs 0, 1 and 4"),
            (&[0, 1, 2, 3, 4, 5, 6], "runs 0, 1, 2, 3, 4 and 2 more"),
        ];
        for (listed, text) in cases {
            assert_eq!(places("run", listed), text);
        }
    }
}
