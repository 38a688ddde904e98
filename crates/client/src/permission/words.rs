//! The lists of `words.txt`.
//!
//! What a name says that a tool does.

use std::sync::LazyLock;

use mcprove_trace::verbs::{Effect, Form, Use, find};
use mcprove_trace::word_lists::WordLists;

use crate::prelude::*;

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("words.txt")));

/// Whether a word is in a list: words with spaces between them, or the name of a list of the file.
pub fn is_in(list: &str, word: &str) -> bool {
    LISTS.has(list, word) || has_word(list, word)
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

/// What the first verb of a name says, or the first word that names a write; nothing where a reading verb stands
/// behind words that may be anything: `slack_list_channels`.
pub fn read_name(name: &str) -> Option<(Effect, String)> {
    let words = tokens(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let first = *words.first()?;
    if let Some(at) = (0..words.len()).find(|at| is_write(&words, *at)) {
        return Some((Effect::Writes, words[at].to_owned()));
    }
    if computes(&words) {
        return Some((Effect::Computes, first.to_owned()));
    }
    let verb = find(first)?;
    let says = match verb.effect {
        Effect::Adds | Effect::Runs => true,
        Effect::Writes => false,
        // `status` is what is asked for; in `status_page` it says nothing.
        Effect::Reads if is_in("READING_NOUNS", first) && words.len() > 1 => false,
        Effect::Reads | Effect::Computes => verb.form == Form::Base,
    };
    says.then(|| (verb.effect, first.to_owned()))
}

/// The verb of a name that says only that something is run: `browser_evaluate`.
pub fn runs(name: &str) -> Option<String> {
    let mut verbs = tokens(name)
        .into_iter()
        .filter_map(|word| Some((find(&word)?.effect, word)));
    let (effect, first) = verbs.next()?;
    (effect == Effect::Runs && verbs.all(|(effect, _)| effect == Effect::Runs)).then_some(first)
}

/// Whether a word of a name is an act that changes something.
fn is_write(words: &[&str], at: usize) -> bool {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let before = at.checked_sub(1).map_or("", word);
    let next = word(at + 1);
    let is_last = at + 1 == words.len();
    let is_joined = is_in("JOINING", before);
    let Some(verb) = find(word(at)) else {
        // `find_and_xyz`: what joins a verb is a verb, and this one is not known.
        let joins_verb = is_joined && at == 2 && find(word(0)).is_some();
        return joins_verb || word(at) == "turn" && is_in("on off", word(words.len() - 1));
    };
    let changes_thing = || words.iter().any(|word| changes(verb.lemma, word));
    // `list_push`: a word that ends a name is a verb where the first may be a noun.
    let ends_as_verb = at > 0 && is_last && is_in("NOUN_FIRST", word(0));
    match (verb.effect, verb.form, verb.used) {
        (Effect::Reads, ..) if verb.lemma == "return" => at == 0 || next == "to",
        (Effect::Adds, ..) => at > 0 || changes_thing(),
        (Effect::Reads | Effect::Computes, ..) => {
            verb.lemma == "check" && is_in("in out off", next) || at == 0 && changes_thing()
        }
        (Effect::Runs, ..) => at > 0 && is_joined,
        (_, Form::Past, _) => false,
        _ if verb.lemma == "resolve" && words.iter().any(|word| is_in("RESOLVABLE", word)) => false,
        _ if is_in("OF_TIME", next) && at > 0 => false,
        (_, Form::Noun, _) | (_, _, Use::Verb) => true,
        (_, Form::Third, _) => before == "then",
        (_, Form::Continuous, _) => at == 0,
        (_, Form::Base, Use::VerbOrNoun) => at == 0 || is_joined || ends_as_verb,
        (_, Form::Base, Use::NounOrVerb) => is_joined || ends_as_verb,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_their_first_verb_and_every_write() {
        for name in [
            "get_user",
            "listFiles",
            "echo",
            "search-docs",
            "fetch.url",
            "read_file",
            "count",
            "get_transfer",
            "list_commits",
            "get_pull_request_comments",
            "list_merge_requests",
            "getCreatedAt",
            "get_update_time",
            "list_deleted_items",
            "convert_time",
            "get/post",
            "resolve_dns",
            "GET_USER",
            "list_branches_and_tags",
            "check_status",
        ] {
            let saying = read_name(name);
            let resolves = name.starts_with("resolve") && saying.is_none();
            assert!(
                matches!(saying, Some((Effect::Reads | Effect::Computes, _))) || resolves,
                "{name}: {saying:?}"
            );
        }
        for name in [
            "wipe",
            "purge",
            "reset",
            "format_disk",
            "find_and_replace",
            "get_or_create_customer",
            "fetchThenRun",
            "show_and_tell",
            "read_delete",
            "copyFile",
            "lock",
            "tweet",
            "pay",
            "search_and_replace",
            "kill_process",
            "merge_pull_request",
            "post_message",
            "list_push",
            "deleteFile",
            "resolve_issue",
            "convert_lead",
            "check_in_guest",
            "status-update",
            "deletefile",
            "turn_light_on",
            "get_deletion",
            "slack_send_message",
        ] {
            assert!(
                matches!(read_name(name), Some((Effect::Writes, _))),
                "{name}: {:?}",
                read_name(name)
            );
        }
        for name in [
            "",
            "1",
            "🦀",
            "weather",
            "do_it",
            "order_pizza",
            "getaway",
            "listen",
            "reader",
        ] {
            assert_eq!(read_name(name), None, "{name}");
        }
        assert_eq!(read_name("run_sql"), Some((Effect::Runs, "run".into())));
        assert_eq!(read_name("add"), Some((Effect::Adds, "add".into())));
    }
}
