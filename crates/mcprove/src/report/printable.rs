//! Texts of a server made fit for a terminal.
//!
//! A server may write anything into a name or a message: codes that erase the screen, rename the
//! window or turn the direction of writing around. Nothing of that may reach a terminal.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// What stands for a character that must not be shown.
const HIDDEN: char = '\u{fffd}';

/// The first `max` characters of `text` that can be shown, on one line: without escape codes,
/// other control characters, and marks that change the direction of writing.
///
/// ```
/// use mcprove::report::printable;
///
/// assert_eq!(printable("\u{1b}[31mred\u{1b}[0m\tand\nnext", 80), "red and next");
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
            _ if is_hidden(character) => HIDDEN,
            _ => character,
        };
        if count == max {
            shown.push('…');
            break;
        }
        shown.push(visible);
        count += 1;
    }
    shown
}

/// JSON in which what a terminal would act on is escaped. Only its texts can hold such
/// characters, so it stays the same JSON.
pub fn printable_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if is_hidden(character) && character != '\n' {
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
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

/// Control characters, and what reorders the characters around it.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
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
            ("a\u{9b}2Jb\u{7f}\u{8}", "a\u{fffd}2Jb\u{fffd}\u{fffd}"),
            ("a\u{202e}b\u{2066}c", "a\u{fffd}b\u{fffd}c"),
            ("one\r\ntwo", "one two"),
        ] {
            assert_eq!(printable(text, 100), shown, "{text:?}");
        }
    }

    #[test]
    fn json_stays_what_it_was() {
        let value = serde_json::json!({ "a": "\u{9b}\u{7f}\u{202e}\u{1b}", "b": ["\n"] });
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
