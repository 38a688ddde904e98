//! Texts for one place: by format (one plain text for each, in `formats.txt`), by pattern, or plain.

use std::sync::LazyLock;

use mcprove_trace::word_lists::WordLists;

use crate::meaning::{ADDRESS, is_word};
use crate::prelude::*;

/// What a text says when nothing else is asked for.
const PLAIN: &str = "text";
/// Satisfies most rules about passwords, which are written as lookaround.
const MIXED: &str = "Aa1!";
/// Characters added to the shortest text that matches a pattern.
const LONGER: [usize; 3] = [1, 4, 8];
/// What it costs to parse or compile a pattern, in steps.
const PATTERN_STEPS: usize = 20;
/// From this length on few variants are made.
const LONG: usize = 256;
const LONG_VARIANTS: usize = 2;

/// Keywords that ask for a certain shape of texts.
pub const SHAPES: &[&str] = &["pattern", "format", "contentEncoding", "contentMediaType"];

/// The texts that satisfy lengths and patterns, the best first.
///
/// What an argument of its name should say comes first, then the token, where they are given and fit.
pub fn texts<'schema>(
    document: &Document<'schema>,
    requirements: &Requirements<'schema>,
    token: Option<&str>,
    first: Vec<String>,
    variants: usize,
) -> Result<Vec<String>> {
    let place = &requirements.place;
    let length_min = requirements.most("minLength");
    let length_min = requirements.within("characters", length_min, TEXT_CHARACTERS_MAX)?;
    let length_max = requirements.least("maxLength");
    let length_max = length_max.and_then(|length| usize::try_from(length).ok());
    let lengths = length_min..=length_max.unwrap_or(usize::MAX);
    let variants = if length_min > LONG {
        variants.min(LONG_VARIANTS)
    } else {
        variants
    };
    let formats = || requirements.texts(SHAPES.get(1..).unwrap_or_default());
    let patterns: Vec<&'schema str> = requirements.texts(&["pattern"]).collect();
    let fill = |text: &str| fit(text, length_min, usize::MAX);

    let mut found = first;
    if let Some(token) = token {
        found.extend(formats().filter_map(|name| of_format_around(name, token)));
        found.push(fill(token));
    }
    for name in formats() {
        found.extend((0..variants).filter_map(|variant| of_format(name, variant)));
    }
    document.step(place, patterns.len() * PATTERN_STEPS)?;
    for pattern in patterns.iter().filter_map(|it| Pattern::parse(it)) {
        for text in (0..variants).filter_map(|variant| pattern.write(variant, length_min)) {
            // An open end may be filled with anything.
            found.push(fill(&text));
            found.push(text);
        }
        // Lookaround may refuse the shortest text and accept a longer one.
        let longer = LONGER.map(|longer| pattern.write(0, length_min + longer));
        found.extend(longer.into_iter().flatten());
    }
    if !patterns.is_empty() {
        found.push(fill(&MIXED.repeat(2)));
    }
    found.extend((0..variants).map(|variant| plain(variant, length_min, *lengths.end())));
    found.retain(|text| lengths.contains(&text.chars().count()));
    // Compiling and matching cost far more than reading a schema.
    let length: usize = found.iter().map(String::len).sum();
    let work = patterns.len() * (PATTERN_STEPS + length / 16);
    document.step(place, work + length / 64)?;
    for pattern in patterns {
        found.retain(|text| document.matches(pattern, text));
    }
    found.dedup();
    Ok(found)
}

/// A short text; every variant is another one, as far as the length allows.
fn plain(variant: usize, length_min: usize, length_max: usize) -> String {
    let number = to_letters(variant);
    let room = length_max.saturating_sub(number.len()).min(PLAIN.len());
    let word = PLAIN.get(..room).unwrap_or(PLAIN);
    fit(&format!("{word}{number}"), length_min, length_max)
}

/// A number in base 26, so that short texts differ for long.
fn to_letters(mut number: usize) -> String {
    let mut letters = String::new();
    while number > 0 {
        let digit = u8::try_from(number % 26).unwrap_or(0);
        letters.push(char::from(b'a' + digit));
        number /= 26;
    }
    letters
}

fn fit(text: &str, length_min: usize, length_max: usize) -> String {
    let padding = length_min.saturating_sub(text.chars().count());
    text.chars()
        .chain(std::iter::repeat_n('x', padding))
        .take(length_max)
        .collect()
}

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("formats.txt")));

/// The text of a format in one of the lists: a row has the names of the format, and the text at last.
fn template(list: &str, format: &str) -> Option<String> {
    let rows = LISTS.lines(list).iter();
    let mut rows = rows.filter_map(|row| row.rsplit_once(' '));
    let (_, text) = rows.find(|(names, _)| has_word(names, format))?;
    Some(text.replace("{address}", ADDRESS))
}

/// A text of the format, if the format is known; variants differ where the format leaves room.
fn of_format(format: &str, variant: usize) -> Option<String> {
    if format == "ipv6" && variant == 0 {
        return Some("::1".to_owned());
    }
    let number = variant % 250 + 1;
    let suffix = Some(variant).filter(|variant| *variant > 0);
    let mut text = template("formats", format)?
        .replace(
            "{suffix}",
            &suffix.map_or_else(String::new, |it| it.to_string()),
        )
        .replace("{number}", &number.to_string())
        .replace("{hex}", &format!("{number:02x}"))
        .replace("{hex12}", &format!("{variant:012x}"))
        .replace("{day}", &format!("{:02}", variant % 28 + 1))
        .replace("{second}", &format!("{:02}", variant % 60));
    for width in [1, 4, 21, 23, 24, 26] {
        text = text.replace(&format!("{{{width}}}"), &format!("{variant:0width$}"));
    }
    Some(text)
}

/// A text of the format that has the token in it, where the format has room for any word.
fn of_format_around(format: &str, token: &str) -> Option<String> {
    let text = template("around", format).filter(|_| is_word(token))?;
    Some(text.replace("{token}", token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_format_is_valid() {
        for name in [
            "email",
            "idn-email",
            "uri",
            "iri",
            "uri-reference",
            "iri-reference",
            "uri-template",
            "hostname",
            "idn-hostname",
            "ipv4",
            "ipv6",
            "date",
            "time",
            "date-time",
            "duration",
            "uuid",
            "json-pointer",
            "relative-json-pointer",
            "regex",
        ] {
            let schema = json!({"format": name});
            let validator = crate::validation::compile(&schema).unwrap();
            for variant in 0..100 {
                let text = of_format(name, variant).unwrap();
                assert!(validator.is_valid(&text.clone().into()), "{name} {text}");
            }
            if let Some(text) = of_format_around(name, "tok-1") {
                assert!(validator.is_valid(&text.clone().into()), "{name} {text}");
            }
        }
    }

    #[test]
    fn plain_texts_differ_and_fit() {
        let texts: std::collections::BTreeSet<_> = (0..500).map(|n| plain(n, 0, 2)).collect();
        assert!(texts.len() > 400);
        assert_eq!(plain(0, 0, 100), "text");
        assert_eq!(plain(0, 6, 100), "textxx");
        assert_eq!(plain(0, 0, 0), "");
    }
}
