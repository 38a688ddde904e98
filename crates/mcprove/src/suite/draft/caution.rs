//! Which tools are not called, because that might do harm.
//!
//! A tool of which the server says nothing may destroy something: that is what the protocol takes for
//! granted. So such a tool is called only if its name says clearly that it only looks.

use mcprove_score::agent::words::{fits, seems_to_write, tokens};

use crate::protocol::Tool;

/// First words of the names of tools that only look. What may be something else too (`check`, `query`,
/// `run`, `open`) is not among them.
const READING_VERBS: &[&str] = &[
    "calculate",
    "compare",
    "count",
    "describe",
    "echo",
    "explain",
    "fetch",
    "find",
    "get",
    "help",
    "info",
    "inspect",
    "list",
    "look",
    "lookup",
    "peek",
    "ping",
    "preview",
    "read",
    "retrieve",
    "search",
    "show",
    "status",
    "summarize",
    "version",
    "view",
    "whoami",
];
/// Words behind which a name says something more than its first word: `find_and_replace`.
const JOINING_WORDS: &[&str] = &["and", "or", "then", "with"];

/// Why a tool is not called; none if it may be. What the user says goes first, then the server, then the name.
/// `allowed` are names, in which `*` stands for anything.
pub(super) fn reason(tool: &Tool, allowed: &[String]) -> Option<&'static str> {
    if allowed.iter().any(|pattern| fits(pattern, &tool.name)) {
        return None;
    }
    let hints = tool.annotations.clone().unwrap_or_default();
    match (hints.read_only_hint, hints.destructive_hint) {
        // What only reads destroys nothing, whatever else is said.
        (Some(true), _) => None,
        (_, Some(true)) => Some("may destroy something (destructiveHint)"),
        (Some(false), _) => Some("may change something (readOnlyHint is false)"),
        (None, _) if only_looks(&tool.name) => None,
        (None, _) => {
            Some("may change something (no readOnlyHint, and its name does not rule it out)")
        }
    }
}

/// Whether a name says clearly that the tool changes nothing.
fn only_looks(name: &str) -> bool {
    let words = tokens(name);
    let is_one_of = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let begins_well = words
        .first()
        .is_some_and(|word| is_one_of(word, READING_VERBS));
    let says_more = words.iter().any(|word| is_one_of(word, JOINING_WORDS));
    begins_well && !says_more && !seems_to_write(name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn is_called(name: &str, annotations: &Value, allowed: &[&str]) -> bool {
        let tool = json!({ "name": name, "annotations": annotations });
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        reason(&serde_json::from_value(tool).unwrap(), &allowed).is_none()
    }

    #[test]
    fn annotations_go_before_names() {
        let called = |name: &str, annotations: Value| is_called(name, &annotations, &[]);
        assert!(called("search", json!(null)));
        assert!(called("search", json!({ "openWorldHint": true })));
        assert!(called("create_issue", json!({ "readOnlyHint": true })));
        assert!(!called("create_issue", json!(null)));
        assert!(!called("deleteFile", json!({})));
        assert!(!called("order_pizza", json!({ "destructiveHint": false })));
        assert!(!called("search", json!({ "readOnlyHint": false })));
        assert!(!called("search", json!({ "destructiveHint": true })));
        let both = json!({ "readOnlyHint": true, "destructiveHint": true });
        assert!(called("search", both));
    }

    #[test]
    fn only_names_that_clearly_read_are_called() {
        for name in [
            "get_user",
            "listFiles",
            "echo",
            "search-docs",
            "fetch.url",
            "read_file",
            "count",
            "get_transfer",
        ] {
            assert!(only_looks(name), "{name}");
        }
        for name in [
            "shutdown",
            "wipe",
            "purge",
            "exec",
            "run_sql",
            "order_pizza",
            "pay",
            "eval",
            "reset",
            "format_disk",
            "query",
            "getaway",
            "listen",
            "reader",
            "find_and_replace",
            "get_or_create",
            "fetchThenRun",
            "show_and_tell",
            "read_delete",
            "do_it",
            "process",
            "",
            "1",
            "🦀",
            "x_get_y",
            "lock",
            "tweet",
            "copyFile",
            "print_document",
        ] {
            assert!(!only_looks(name), "{name}");
        }
    }

    #[test]
    fn whoever_knows_better_may_say_so() {
        let destructive = json!({ "destructiveHint": true });
        assert!(is_called("wipe", &destructive, &["wipe"]));
        assert!(is_called("wipe", &destructive, &["*"]));
        assert!(is_called("run_sql", &json!(null), &["pay", "run_*"]));
        assert!(!is_called("run_sql", &json!(null), &["run", "sql"]));
    }
}
