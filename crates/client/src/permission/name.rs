//! What a name says that a tool does.

use mcprove_trace::verbs::{Effect, Form, Use, Verb, find};
use mcprove_trace::words::tokens;

use super::prose::{changes, computes};

/// What a name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Saying {
    /// It begins with a verb that reads or computes.
    Reads(String),
    /// It computes if all of its arguments are numbers.
    Adds(String),
    /// It has a reading verb, behind words that may be anything: `slack_list_channels`, or no verb.
    Unclear,
    /// A word of it names a write.
    Writes(String),
    /// It starts something with unknown effects.
    Runs(String),
}

/// Words that join a second act to the first: `get_or_create`.
const JOINING: [&str; 5] = ["and", "or", "then", "plus", "n"];
/// Nouns that ask for what they name, where they are the whole name.
const READING_NOUNS: [&str; 9] = [
    "about", "help", "info", "stat", "stats", "status", "uuid", "version", "whoami",
];
/// Things that are looked up when they are resolved; anything else is settled.
const RESOLVABLE: [&str; 24] = [
    "address",
    "alias",
    "dependencies",
    "dependency",
    "did",
    "dns",
    "domain",
    "handle",
    "host",
    "hostname",
    "id",
    "ids",
    "ip",
    "library",
    "link",
    "name",
    "names",
    "package",
    "path",
    "ref",
    "reference",
    "symbol",
    "uri",
    "url",
];
/// Behind `create` and `update` these make a date of it.
const OF_TIME: [&str; 7] = ["at", "by", "date", "dates", "time", "times", "timestamp"];

pub(super) fn read(name: &str) -> Saying {
    let words = tokens(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(word) = (0..words.len()).find(|at| is_write(&words, *at)) {
        let word = words.get(word).copied().unwrap_or_default();
        return Saying::Writes(word.to_owned());
    }
    let first = words.first().copied().unwrap_or_default();
    let to_saying = |verb: Verb| match verb.effect {
        // `status` is what is asked for; in `status_page` it says nothing.
        Effect::Reads if READING_NOUNS.contains(&first) && words.len() > 1 => None,
        Effect::Reads | Effect::Computes if verb.form == Form::Base => {
            Some(Saying::Reads(first.to_owned()))
        }
        Effect::Adds => Some(Saying::Adds(first.to_owned())),
        Effect::Runs => Some(Saying::Runs(first.to_owned())),
        _ => None,
    };
    if computes(&words) {
        return Saying::Reads(first.to_owned());
    }
    find(first).and_then(to_saying).unwrap_or(Saying::Unclear)
}

/// The verb of a name that says only that something is run: `browser_evaluate`.
pub(super) fn runs(name: &str) -> Option<String> {
    let words = tokens(name);
    let mut verbs = words.iter().filter(|word| find(word).is_some());
    let first = verbs.next()?;
    let is_run = |word: &String| find(word).is_some_and(|verb| verb.effect == Effect::Runs);
    (is_run(first) && verbs.all(is_run)).then(|| first.clone())
}

/// Whether a word of a name is an act that changes something.
fn is_write(words: &[&str], at: usize) -> bool {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let before = at.checked_sub(1).map_or("", word);
    let next = word(at + 1);
    let is_joined = JOINING.contains(&before);
    let Some(verb) = find(word(at)) else {
        // `find_and_xyz`: what joins a verb is a verb, and this one is not known.
        let joins_verb = is_joined && at == 2 && find(word(0)).is_some();
        let turns = word(at) == "turn" && matches!(word(words.len() - 1), "on" | "off");
        return joins_verb || turns;
    };
    match verb.effect {
        Effect::Reads if verb.lemma == "return" => at == 0 || next == "to",
        Effect::Adds => at > 0 || words.iter().any(|word| changes(verb.lemma, word)),
        Effect::Reads | Effect::Computes => {
            let is_left = verb.lemma == "check" && matches!(next, "in" | "out" | "off");
            is_left || at == 0 && words.iter().any(|word| changes(verb.lemma, word))
        }
        Effect::Runs => at > 0 && is_joined,
        Effect::Writes => match (verb.form, verb.used) {
            (Form::Past, _) => false,
            _ if verb.lemma == "resolve" && words.iter().any(|word| RESOLVABLE.contains(word)) => {
                false
            }
            _ if OF_TIME.contains(&next) && at > 0 => false,
            (Form::Noun, _) | (_, Use::Verb) => true,
            (Form::Third, _) => is_joined && before == "then",
            (Form::Continuous, _) => at == 0,
            (Form::Base, Use::VerbOrNoun) => at == 0 || is_joined || ends_as_verb(words, at),
            (Form::Base, Use::NounOrVerb) => is_joined || ends_as_verb(words, at),
        },
    }
}

/// `list_push`: a word that ends a name is a verb where the first may be a noun.
fn ends_as_verb(words: &[&str], at: usize) -> bool {
    const NOUN_FIRST: [&str; 15] = [
        "count", "diff", "echo", "filter", "format", "hash", "info", "lint", "list", "query",
        "rank", "search", "sort", "status", "view",
    ];
    let first = words.first().copied().unwrap_or_default();
    at > 0 && at + 1 == words.len() && NOUN_FIRST.contains(&first)
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
            let saying = read(name);
            let resolves = name.starts_with("resolve") && saying == Saying::Unclear;
            assert!(
                matches!(saying, Saying::Reads(_)) || resolves,
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
                matches!(read(name), Saying::Writes(_)),
                "{name}: {:?}",
                read(name)
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
            assert_eq!(read(name), Saying::Unclear, "{name}");
        }
        assert_eq!(read("run_sql"), Saying::Runs("run".into()));
        assert_eq!(read("add"), Saying::Adds("add".into()));
    }
}
