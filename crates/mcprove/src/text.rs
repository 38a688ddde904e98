//! Texts for people, made from what a server sent.

/// The first `max` characters, with an ellipsis where something was left out.
pub fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
