//! Texts without quotes between `{ }` or `[ ]`: there they end at brackets and commas, which is not what whoever
//! wrote `{ target: tool_calls[0].name }` or `{ query: ${NAME} }` had in mind.

use crate::prelude::*;

/// How much of a text is repeated in a hint.
const SHOWN_MAX: usize = 60;

/// What to try where it is not known which text is meant.
pub const QUOTES: &str =
    "put a text that holds `[`, `]`, `{`, `}` or `,` in quotes when it stands between brackets";

/// A text that a bracket cuts off, where the parser stopped at this byte: its place, what is wrong with it, and
/// what to try.
pub fn cut_text(text: &str, stopped: usize) -> Option<(Range<usize>, String, String)> {
    let (before, rest) = text.split_at_checked(stopped)?;
    let bracket = rest.chars().next()?;
    let before_line = before.rsplit('\n').next().unwrap_or_default();
    if !matches!(bracket, '[' | '{') {
        // What closes a bracket was meant to be part of the text, too.
        let is_behind = before.ends_with(['}', ']']) && !bracket.is_whitespace();
        let message = "a text goes on behind a bracket".to_owned();
        return is_behind.then(|| {
            (
                stopped..stopped + bracket.len_utf8(),
                message,
                QUOTES.into(),
            )
        });
    }
    let begun = text_before(before_line)?;
    let start = stopped.saturating_sub(begun.len());
    let whole = text
        .get(start..start + begun.len() + length_from_bracket(rest))?
        .trim_end();
    let message = format!("a text without quotes cannot hold `{bracket}` between brackets");
    let hint = if whole.len() <= SHOWN_MAX && !whole.contains(['"', '\\']) {
        format!("put it in quotes: \"{whole}\"")
    } else {
        "put it in quotes".to_owned()
    };
    Some((start..start + whole.len(), message, hint))
}

/// The text without quotes that the line ends in.
fn text_before(line: &str) -> Option<&str> {
    let is_end = |index: usize, character: char| match character {
        ',' | '[' | '{' | '}' | ']' | '"' | '\'' => true,
        ':' => line
            .get(index + 1..)
            .is_none_or(|rest| rest.starts_with(' ') || rest.is_empty()),
        _ => false,
    };
    let mut ends = line.char_indices().rev();
    let (end, character) = ends.find(|(index, character)| is_end(*index, *character))?;
    let is_quoted = matches!(character, '"' | '\'');
    let begun = line.get(end + character.len_utf8()..)?.trim_start();
    (!is_quoted && !begun.is_empty()).then_some(begun)
}

/// How far a text goes that was meant to hold the bracket that this begins with.
fn length_from_bracket(text: &str) -> usize {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let mut depth = 0_usize;
    for (index, character) in line.char_indices() {
        match character {
            '[' | '{' => depth += 1,
            ']' | '}' | ',' | ':' if depth == 0 => return index,
            ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    line.len()
}
