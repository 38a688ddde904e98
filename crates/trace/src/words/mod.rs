//! The words in the name of a tool, whether it writes, and names with a `*` in them.
//!
//! `createIssue`, `create-issue`, `issues.create` and `create_issue` all have the words `create` and
//! `issue` (or `issues`). A tool writes when one of its words is a mutating verb, as a whole; the
//! verbs are those of mcptest, and the settings of a block decide where the name misleads.

use crate::verbs::LISTS;

/// Verbs that change something, in the order of mcptest.
pub const MUTATING_VERBS: [&str; 22] = [
    "create", "update", "delete", "remove", "send", "write", "post", "insert", "set", "put",
    "patch", "publish", "destroy", "drop", "add", "edit", "upload", "merge", "close", "cancel",
    "approve", "revoke",
];

/// The words of a name, in lower case. Words end at whatever is no letter or digit, and where the
/// case changes; a run of capitals is one word, with a plural `s` if it has one.
///
/// ```
/// use mcprove_trace::words::tokens;
///
/// assert_eq!(tokens("createIssue"), ["create", "issue"]);
/// assert_eq!(tokens("issues.close-all_PRs"), ["issues", "close", "all", "prs"]);
/// assert_eq!(tokens("parseHTTPRequest2"), ["parse", "http", "request2"]);
/// ```
pub fn tokens(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut tokens = Vec::new();
    let mut word = String::new();
    for (place, &character) in characters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|at| characters.get(at));
        let after = characters.get(place + 1..).unwrap_or_default();
        let is_end = !character.is_alphanumeric();
        if (is_end || begins_word(before, character, after)) && !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        if !is_end {
            word.extend(character.to_lowercase());
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}

/// Whether a capital begins a word: after a small letter or a digit, or as the last of a run of
/// capitals that a small letter follows (`HTTPRequest`), unless that is a plural `s` (`PRs`).
fn begins_word(before: Option<&char>, character: char, after: &[char]) -> bool {
    if !character.is_uppercase() {
        return false;
    }
    if before.is_some_and(|before| !before.is_uppercase()) {
        return true;
    }
    let is_plural = matches!(after, ['s', rest @ ..]
        if !rest.first().is_some_and(|next| next.is_lowercase()));
    after.first().is_some_and(|next| next.is_lowercase()) && !is_plural
}

/// Whether a tool writes: it is among those that always do, or its name has a mutating verb as a
/// whole word. Those that never do win.
///
/// ```
/// use mcprove_trace::words::is_mutating;
///
/// assert!(is_mutating("create_issue", &[], &[]));
/// assert!(!is_mutating("get_settings", &[], &[]), "`settings` is not `set`");
/// assert!(is_mutating("run_job", &["run_job".into()], &[]));
/// assert!(!is_mutating("post_search", &["post_search".into()], &["post_search".into()]));
/// ```
pub fn is_mutating(name: &str, always: &[String], never: &[String]) -> bool {
    let is_listed = |list: &[String]| list.iter().any(|listed| listed == name);
    let has_verb = || has_any(&tokens(name), &MUTATING_VERBS);
    !is_listed(never) && (is_listed(always) || has_verb())
}

/// Whether a tool seems to write, by its name alone: it has one of those verbs, or another verb that
/// changes something and no word of those that only look.
///
/// ```
/// use mcprove_trace::words::seems_to_write;
///
/// assert!(seems_to_write("create_issue") && seems_to_write("transferFunds"));
/// assert!(!seems_to_write("get_transfer") && !seems_to_write("run_tests"));
/// ```
pub fn seems_to_write(name: &str) -> bool {
    let tokens = tokens(name);
    let is_listed = |list: &str| tokens.iter().any(|token| LISTS.has(list, token));
    has_any(&tokens, &MUTATING_VERBS)
        || (is_listed("other_writing_verbs") && !is_listed("reading_words"))
}

fn has_any(tokens: &[String], words: &[&str]) -> bool {
    tokens.iter().any(|token| words.contains(&token.as_str()))
}

/// Whether a name fits a pattern, in which `*` stands for any characters, or none.
///
/// ```
/// use mcprove_trace::words::fits;
///
/// assert!(fits("delete_*", "delete_file") && fits("*", "") && fits("a*b*c", "a-b-b-c"));
/// assert!(!fits("delete", "delete_file"));
/// ```
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    // Taking each part where it comes first leaves the most for those after it.
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
