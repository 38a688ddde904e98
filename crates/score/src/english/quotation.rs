//! What a line quotes: code, quotation marks, links, and what was struck out.

use super::prelude::*;
use super::token::Scanner;

/// Characters of the longest tag.
const TAG_CHARS_MAX: usize = 64;

impl Scanner {
    /// `code`, in one to three backticks.
    pub fn code(&mut self) {
        let start = self.at;
        let mut from = start;
        while self.character(from) == Some('`') {
            from += 1;
        }
        let closing = match from - start {
            1 => "`",
            2 => "``",
            _ => "```",
        };
        match self.find(from, closing, |_, _| true) {
            Some(to) => self.quoted(from, to, to + closing.len()),
            None => self.at = from,
        }
    }

    pub fn quotation(&mut self, opening: char) {
        let from = self.at + 1;
        let is_inside_word = self.before(self.at).is_some_and(char::is_alphanumeric);
        let begins = self.peek(1).is_some_and(|c| !c.is_whitespace());
        let is_end = |scanner: &Self, place: usize| {
            !scanner
                .character(place + 1)
                .is_some_and(char::is_alphanumeric)
                && !scanner.before(place).is_some_and(char::is_whitespace)
        };
        let found = match opening {
            _ if is_inside_word || !begins => None,
            '"' => self.find(from, "\"", |_, _| true),
            '“' | '„' => self.find_any(from, ["”", "“"]),
            '«' => self.find(from, "»", |_, _| true),
            '‘' => self.find(from, "’", is_end),
            _ => self.find(from, "'", is_end),
        };
        match found {
            Some(to) => self.quoted(from, to, to + 1),
            None => self.at = from,
        }
    }

    pub fn find_any(&mut self, from: usize, closings: [&'static str; 2]) -> Option<usize> {
        let [one, other] = closings;
        self.find(from, one, |_, _| true)
            .or_else(|| self.find(from, other, |_, _| true))
    }

    /// Where a closing mark begins.
    pub fn find(
        &mut self,
        from: usize,
        closing: &'static str,
        is_end: impl Fn(&Self, usize) -> bool,
    ) -> Option<usize> {
        if self.unclosed.contains(&closing) {
            return None;
        }
        let found = (from..self.characters.len()).find(|place| {
            let mut rest = self.characters.get(*place..).unwrap_or_default().iter();
            closing
                .chars()
                .all(|c| rest.next().is_some_and(|(_, other)| *other == c))
                && is_end(self, *place)
        });
        if found.is_none() {
            self.unclosed.push(closing);
        }
        found
    }

    pub fn quoted(&mut self, from: usize, to: usize, end: usize) {
        let text = self.text(from, to).trim().to_owned();
        let lower = text.to_lowercase();
        self.push_text(Kind::Quoted, from, to, text, lower);
        self.at = end;
    }

    /// ~~What was struck out~~ is not said.
    pub fn struck(&mut self) {
        let from = self.at + 2;
        self.at = match self.find(from, "~~", |_, _| true) {
            Some(to) => to + 2,
            None => from,
        };
    }

    /// `<br>` ends what was said, `<b>` does not.
    pub fn tag(&mut self) {
        let from = self.at + 1;
        let to = (from..from + TAG_CHARS_MAX).find(|place| self.character(*place) == Some('>'));
        let name = self.text(from, to.unwrap_or(from));
        let name = name
            .trim_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap_or_default();
        let is_tag = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
        match to.filter(|_| is_tag) {
            None => self.at = from,
            Some(to) if keeps_no_mark(name) => {
                self.at = to + 1;
            }
            Some(to) => self.push(Kind::Mark('•'), self.at, to + 1, ""),
        }
    }

    pub fn link_target(&mut self) {
        let from = self.at + 2;
        self.at = match self.find(from, ")", |_, _| true) {
            Some(to) => to + 1,
            None => from,
        };
    }
}

// Values as people write them: `$1,000.00` is 1000, `50%` is 0.5 or 50, `Yes` is true. Two values are
// the same or they are not: 500 is not 50.

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
