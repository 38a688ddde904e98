//! Values as people write them: `$1,000.00` is 1000, `50%` is 0.5 or 50, `Yes` is true. Two values are
//! the same or they are not: 500 is not 50.

use super::prelude::*;

/// A number written the one way, without currency, separators and needless zeros.
pub fn number(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['#', '$', '€', '£', '¥']);
    let text = text.trim_end_matches(['%', '$', '€', '£', '¥']);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let ungrouped: String = whole.chars().filter(|c| !matches!(c, ',' | '_')).collect();
    if ungrouped.is_empty() || !is_digits(&ungrouped) || !is_digits(fraction) {
        return None;
    }
    let whole = ungrouped.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    Some(match fraction {
        "" if whole == "0" => "0".to_owned(),
        "" => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    })
}

/// A number of JSON, the same way.
pub fn json_number(number: &serde_json::Number) -> String {
    let text = number.to_string();
    self::number(&text)
        .or_else(|| self::number(&format!("{}", number.as_f64()?)))
        .unwrap_or(text)
}

/// A text in lower case, with single spaces, and without marks around it.
pub fn normal(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if matches!(c, '_' | '-') { ' ' } else { c })
        .flat_map(char::to_lowercase)
        .collect();
    let spaced = spaced.trim_start_matches(['@', '#']);
    let is_version = spaced
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let spaced = spaced.get(usize::from(is_version)..).unwrap_or_default();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let is_mark = |c: char| {
        matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '"' | '\'' | '`' | '*' | '“' | '”'
        )
    };
    words.join(" ").trim_matches(is_mark).trim().to_owned()
}

/// Yes or no, as people write it.
pub fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "enabled" => Some(true),
        "false" | "no" | "off" | "disabled" => Some(false),
        _ => None,
    }
}

/// `30s` is 30 and `s`.
pub fn with_unit(text: &str) -> Option<(String, String)> {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
    let unit = text.get(digits.len()..)?;
    let amount = number(digits)?;
    (!unit.is_empty()).then(|| (amount, unit.to_lowercase()))
}

/// What an amount in a unit may be in other units: `5 minutes` is 5, 300 or 300000.
pub fn scaled(amount: &str, unit: &str) -> Vec<String> {
    let factors = rows("units").find_map(|[known, factors]| (known == unit).then_some(factors));
    let (Some(factors), Ok(amount)) = (factors, amount.parse::<f64>()) else {
        return Vec::new();
    };
    // Twelve digits: what a factor like 0.01 leaves behind them is noise.
    factors
        .split('/')
        .filter_map(|it| it.parse::<f64>().ok())
        .filter_map(|factor| number(&format!("{:.12}", amount * factor)))
        .collect()
}

/// The digits of `T-1042` or `#12`: letters, then digits, nothing else.
pub fn serial(text: &str) -> Option<String> {
    let digits =
        text.trim_start_matches(|c: char| c.is_alphabetic() || matches!(c, '-' | '_' | '#'));
    let is_serial = digits.len() < text.len() && !digits.is_empty();
    (is_serial && digits.chars().all(|c| c.is_ascii_digit()))
        .then(|| number(digits))
        .flatten()
}

/// `2024-03-01`, with or without a time.
pub fn is_date(text: &str) -> bool {
    let mut head = text.chars();
    "dddd-dd-dd".chars().all(|expected| {
        head.next().is_some_and(|c| {
            if expected == 'd' {
                c.is_ascii_digit()
            } else {
                c == expected
            }
        })
    })
}

/// The digits of a number that is spelt out.
pub fn spelt_number(word: &str) -> Option<&'static str> {
    rows("numbers").find_map(|[spelt, digits]| (spelt == word).then_some(digits))
}
