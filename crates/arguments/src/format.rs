//! One plain text for every `format`: `formats.txt`.

use std::sync::LazyLock;

use mcprove_trace::word_lists::WordLists;

use super::meaning::ADDRESS;

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("formats.txt")));

/// The text of a format in one of the lists: a row has the names of the format, and the text at last.
fn template(list: &str, format: &str) -> Option<String> {
    let rows = LISTS.lines(list).iter();
    let mut rows = rows.filter_map(|row| row.rsplit_once(' '));
    let (_, text) = rows.find(|(names, _)| names.split(' ').any(|name| name == format))?;
    Some(text.replace("{address}", ADDRESS))
}

/// A text of the format, if the format is known; variants differ where the format leaves room.
pub(super) fn write(format: &str, variant: usize) -> Option<String> {
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
pub(super) fn write_around(format: &str, token: &str) -> Option<String> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let text = template("around", format).filter(|_| token.chars().all(is_word))?;
    Some(text.replace("{token}", token))
}
