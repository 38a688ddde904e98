//! The lists of `words.txt`.

use std::sync::LazyLock;

use mcprove_trace::word_lists::WordLists;

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("words.txt")));

/// Whether a word is in a list: words with spaces between them, or the name of a list of the file.
pub fn is_in(list: &str, word: &str) -> bool {
    LISTS.has(list, word) || list.split(' ').any(|listed| listed == word)
}

/// Whether a word is in the list that belongs to another word: `changes:format`.
pub fn is_in_list_of(kind: &str, owner: &str, word: &str) -> bool {
    LISTS.has(&format!("{kind}:{owner}"), word)
}

/// Whether words begin with one that computes only with what follows: `generate_uuid`, "Roll two dice".
pub fn computes(words: &[&str]) -> bool {
    let is_thing = |word: &&str| is_in_list_of("computes", words[0], word);
    words.iter().any(is_thing)
}

/// Whether a verb that reads or computes changes such a thing: to format a disk, to list a product for sale.
pub fn changes(lemma: &str, thing: &str) -> bool {
    is_in_list_of("changes", lemma, thing)
}
