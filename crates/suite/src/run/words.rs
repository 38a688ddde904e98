//! What to try, in the words of a suite: the engine names flags of the command line, most of which a suite
//! has as keys.

/// What the engine says, and what a suite has instead. The longer come first.
const WORDS: &[(&str, &str)] = &[
    (" (--tee-stderr shows that of a command live)", ""),
    (
        "raise --startup-timeout",
        "raise `startup_timeout_ms` of the server",
    ),
    ("--startup-timeout", "`startup_timeout_ms` of the server"),
    ("--transport sse", "`transport: sse`"),
    ("--transport", "`transport`"),
    ("--protocol auto", "`protocol: auto`"),
    ("--protocol", "`protocol`"),
    (
        "--header \"Authorization: Bearer …\"",
        "`headers: { Authorization: \"Bearer ${TOKEN}\" }`",
    ),
    ("--header", "`headers`"),
    ("--url", "`url`"),
    ("--max-frame", "`max_frame`"),
    ("--call-timeout", "`call_timeout_ms`"),
    ("--hang-timeout", "`hang_timeout` of the scenario"),
    (
        "--tool FAST --tool SLOW",
        "`tool_call: [{ name: FAST }, { name: SLOW }]`",
    ),
    ("(--tool, --args)", "(`tool_call` of the scenario)"),
    ("with --args", "under `tool_call` of the scenario"),
    ("with --tool", "under `tool_call` of the scenario"),
    ("give --args", "give `args` there"),
    ("--tool", "`tool_call` of the scenario"),
    ("leave out --strict", "leave out `strict`"),
];

/// A hint, or a sentence of our own, with the keys of a suite for flags that it would refuse.
pub(super) fn in_words_of_suites(text: &str) -> String {
    let replace = |text: String, (flag, key): &(&str, &str)| text.replace(flag, key);
    WORDS.iter().fold(text.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_for_flags() {
        for (flags, keys) in [
            (
                "raise --startup-timeout if the server needs longer to start, or read its stderr \
                 (--tee-stderr shows that of a command live)",
                "raise `startup_timeout_ms` of the server if the server needs longer to start, or \
                 read its stderr",
            ),
            ("use --protocol auto, or", "use `protocol: auto`, or"),
            ("try another --protocol", "try another `protocol`"),
            ("give it as --url", "give it as `url`"),
            (
                "record it again with --record",
                "record it again with --record",
            ),
        ] {
            assert_eq!(in_words_of_suites(flags), keys);
        }
    }
}
