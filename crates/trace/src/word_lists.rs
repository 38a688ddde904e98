//! Lists of words in a text file beside the code that uses them: a line `[name]` begins a list, `#` a comment.

use crate::prelude::*;

/// The lists of a file.
///
/// ```
/// use mcprove_trace::word_lists::WordLists;
///
/// let lists = WordLists::parse("# Colours.\n[colours]\nred green\nblue\n[errors]\nnot found\n");
/// assert!(lists.has("colours", "green") && !lists.has("errors", "green"));
/// assert!(lists.words("colours").eq(["red", "green", "blue"]));
/// assert_eq!(lists.lines("errors"), ["not found"]);
/// ```
pub struct WordLists {
    lines: BTreeMap<&'static str, Vec<&'static str>>,
    words: BTreeSet<(&'static str, &'static str)>,
}

impl WordLists {
    /// Takes a file apart.
    pub fn parse(text: &'static str) -> Self {
        let mut lines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut words = BTreeSet::new();
        let mut name = "";
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let begun = line.strip_prefix('[');
            if let Some(begun) = begun.and_then(|begun| begun.strip_suffix(']')) {
                name = begun;
            } else {
                lines.entry(name).or_default().push(line);
                words.extend(line.split_whitespace().map(|word| (name, word)));
            }
        }
        Self { lines, words }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.lines.keys().copied()
    }

    /// The lines of a list, for those that have phrases.
    pub fn lines(&self, list: &str) -> &[&'static str] {
        self.lines.get(list).map_or(&[], Vec::as_slice)
    }

    /// The words of a list, in order.
    pub fn words(&self, list: &str) -> impl Iterator<Item = &'static str> {
        self.lines(list)
            .iter()
            .flat_map(|line| line.split_whitespace())
    }

    pub fn has(&self, list: &str, word: &str) -> bool {
        self.words.contains(&(list, word))
    }
}
