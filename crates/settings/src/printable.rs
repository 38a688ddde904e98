//! Texts of a server made fit for a terminal.
//!
//! A server may write anything into a name or a message: codes that erase the screen, rename the
//! window, turn the direction of writing around, or take no room at all. Nothing of that may reach a reader:
//! [`printable`] makes one line of a text from elsewhere, and [`escape_hidden`] is the last step of every
//! writer, so that a name which nobody made printable does no harm either.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use crate::prelude::*;

/// The first `max` characters of `text` that can be shown, on one line: without escape codes, and with other
/// control characters, marks that change the direction of writing, and characters without width escaped.
///
/// ```
/// use mcprove_settings::printable::printable;
///
/// assert_eq!(printable("\u{1b}[31mred\u{1b}[0m\tand\nnext", 80), "red and next");
/// assert_eq!(printable("de\u{202e}let\u{200b}e", 80), "de\\u{202e}let\\u{200b}e");
/// assert_eq!(printable("abcdef", 3), "abc…");
/// ```
pub fn printable(text: &str, max: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(max.saturating_mul(4)));
    let mut count = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let visible = match character {
            '\u{1b}' => {
                skip_escape(&mut characters);
                continue;
            }
            '\r' => continue,
            '\n' | '\t' => ' ',
            _ => character,
        };
        let escape = is_hidden(visible).then(|| visible.escape_unicode());
        count += escape.as_ref().map_or(1, ExactSizeIterator::len);
        if count > max {
            shown.push('…');
            break;
        }
        match escape {
            Some(escape) => shown.extend(escape),
            None => shown.push(visible),
        }
    }
    shown
}

/// JSON in which what a terminal would act on is escaped. Only its texts can hold such
/// characters, so it stays the same JSON.
pub fn printable_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if is_hidden(character) && character != '\n' {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A whole text, of any format but JSON, in which hidden characters are escaped. Breaks of lines, tabs, and the
/// codes of our own colours stay.
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    let is_bad = |character: char| is_hidden(character) && !"\n\r\t\u{1b}".contains(character);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_bad(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Passes over `[ … letter` or `] … end`, the two forms that carry text of their own.
fn skip_escape(characters: &mut Peekable<Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            while characters
                .next_if(|character| matches!(character, ' '..='?'))
                .is_some()
            {}
            characters.next_if(|character| matches!(character, '@'..='~'));
        }
        Some(']') => {
            // One that has no end takes nothing along.
            let mut ahead = characters.clone();
            while let Some(character) = ahead.next() {
                let is_end = match character {
                    '\u{7}' | '\u{9c}' => true,
                    '\u{1b}' => ahead.next_if_eq(&'\\').is_some(),
                    _ => false,
                };
                if is_end {
                    *characters = ahead;
                    return;
                }
            }
        }
        _ => {}
    }
}

/// Control characters, what reorders the characters around it, what has no width, and what is no character.
/// (The variation selectors that emoji have stay.)
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180e}' | '\u{3164}' | '\u{ffa0}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_taken_out_whole() {
        for (text, shown) in [
            ("plain ünïcode 漢字", "plain ünïcode 漢字"),
            ("a\u{1b}[1;31mb\u{1b}[mc", "abc"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\link", "alink"),
            ("a\u{1b}]never ends", "a]never ends"),
            ("a\u{1b}[", "a"),
            ("a\u{1b}", "a"),
            ("\u{1b}\u{1b}[2Ja", "a"),
            ("a\u{9b}2Jb\u{7f}\u{8}", "a\\u{9b}2Jb\\u{7f}\\u{8}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("a\u{115f}b\u{1160}c", "a\\u{115f}b\\u{1160}c"),
            ("a\u{3164}b\u{ffa0}c", "a\\u{3164}b\\u{ffa0}c"),
            ("a\u{17b4}b\u{17b5}c", "a\\u{17b4}b\\u{17b5}c"),
            ("a\u{200b}b\u{e0041}c", "a\\u{200b}b\\u{e0041}c"),
            ("\u{263a}\u{fe0f} \u{fffd}", "\u{263a}\u{fe0f} \u{fffd}"),
            ("one\r\ntwo", "one two"),
        ] {
            assert_eq!(printable(text, 100), shown, "{text:?}");
        }
    }

    #[test]
    fn a_whole_text_keeps_its_lines_and_colours() {
        let fine = "a\n\tb \u{1b}[31mred\u{1b}[0m 漢字\r\n";
        assert_eq!(escape_hidden(fine), fine);
        assert_eq!(escape_hidden("a\u{202e}\u{7}\n"), "a\\u{202e}\\u{7}\n");
        // Never cut in the middle of an escape.
        assert_eq!(printable("ab\u{202e}c", 9), "ab…");
        assert_eq!(printable("ab\u{202e}c", 10), "ab\\u{202e}…");
    }

    #[test]
    fn json_stays_what_it_was() {
        let value =
            serde_json::json!({ "a": "\u{9b}\u{7f}\u{202e}\u{1b}\u{200b}\u{e0041}", "b": ["\n"] });
        let json = serde_json::to_string_pretty(&value).unwrap();
        let shown = printable_json(&json);
        assert!(
            shown
                .chars()
                .all(|character| character == '\n' || !is_hidden(character))
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
