//! Texts for people, made from what a server sent.

/// Whether a word is one of a list, which has spaces between.
pub fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|own| own == word)
}

/// The first `max` characters, with an ellipsis where something was left out.
pub fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The first `max` characters of bytes that should be a text, with an ellipsis where something was left out.
/// Whoever looks for secrets looks there for a part of one.
pub fn shorten_bytes(bytes: &[u8], max: usize) -> String {
    // A character takes four bytes at most, and what is none may count for each of them.
    let start = bytes.get(..max.saturating_mul(4)).unwrap_or(bytes);
    let text = match std::str::from_utf8(start) {
        // A character in the middle of which it ends is left out.
        Err(error) if error.error_len().is_none() && start.len() < bytes.len() => {
            String::from_utf8_lossy(start.get(..error.valid_up_to()).unwrap_or(start))
        }
        _ => String::from_utf8_lossy(start),
    };
    let mut short = shorten(text.trim(), max);
    if start.len() < bytes.len() && !short.ends_with('…') {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_marked() {
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("äbcd", 3), "äbc…");
        assert_eq!(shorten_bytes(b"  abc ", 3), "abc");
        assert_eq!(shorten_bytes(b"abcd", 3), "abc…");
        // Cut by bytes, before it is long enough to be cut by characters.
        let spaces = format!("{}abc", " ".repeat(20));
        assert_eq!(shorten_bytes(spaces.as_bytes(), 4), "…");
        assert_eq!(shorten_bytes("a😀😀😀😀".as_bytes(), 4), "a😀😀😀…");
        assert_eq!(
            shorten_bytes(b"\xff\xffabcdefghijkl", 12),
            "\u{fffd}\u{fffd}abcdefghij…"
        );
    }
}
