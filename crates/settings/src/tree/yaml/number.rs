//! Numbers as YAML 1.2 has them (core schema): `10`, `010`, `0o17`, `0x1F`, `1.5`, `1e3`, `.inf`, `.nan`. What only
//! looks like one, as `1_000` or `0b11`, is a text.

use crate::prelude::*;

/// What a plain scalar at this place is by the core schema: a whole number, or a text that other versions take for
/// a number. None where the parser knows it as well as we do, or where it is no plain scalar.
pub fn written(source: &str, span: &Range<usize>) -> Option<Data> {
    let text = source.get(span.clone())?.trim_end();
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        || !is_plain(source.get(..span.start)?)
    {
        return None;
    }
    if let Some(whole) = whole(text) {
        return Some(Data::Integer(whole));
    }
    (!is_fraction(text)).then(|| Data::Text(text.to_owned()))
}

/// Whether what follows has neither a tag nor stands in a block (`|`, `>`).
fn is_plain(before: &str) -> bool {
    let word = before
        .rsplit(char::is_whitespace)
        .find(|word| !word.is_empty() && !word.starts_with('&'));
    !word.is_some_and(|word| word.starts_with(['!', '|', '>']))
}

/// One that is too large for 128 bits is as good as any other that is too large.
fn whole(text: &str) -> Option<i128> {
    let in_base = |digits: &str, base: u32| {
        let is_whole = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
        is_whole.then(|| i128::from_str_radix(digits, base).unwrap_or(i128::MAX))
    };
    if let Some(digits) = text.strip_prefix("0o") {
        return in_base(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return in_base(digits, 16);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let value = in_base(digits, 10)?;
    Some(if text.starts_with('-') { -value } else { value })
}

fn is_fraction(text: &str) -> bool {
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(number, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    // Rust's own numbers are those of the core schema, but for words and `_`, which neither has.
    number.contains(|digit: char| digit.is_ascii_digit())
        && number
            .chars()
            .all(|part| part.is_ascii_digit() || ".eE+-".contains(part))
        && number.parse::<f64>().is_ok()
}
