//! The keys of a config file as flags: what is wrong with flags is told in the words that were typed.

use mcprove_settings::error::ConfigErrors;

use crate::failure::Failure;

/// Problems with flags: a place in a file that nobody wrote would only confuse, and so would the
/// names that the flags have in one.
pub fn describe_flags(errors: &ConfigErrors) -> Failure {
    let messages: Vec<String> = errors
        .0
        .iter()
        .map(|error| name_flags(&error.message))
        .collect();
    let hints: Vec<String> = errors
        .0
        .iter()
        .filter_map(|error| error.hint.as_deref().map(name_flags))
        .collect();
    Failure::new(messages.join("; "), hints.join("; "))
}

/// A text about keys of a file, which stand in backticks, as a text about flags.
pub fn name_flags(text: &str) -> String {
    let is_key = |part: &str| {
        let is_in_key =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        !part.is_empty() && part.bytes().all(is_in_key)
    };
    let parts = text.split('`').enumerate().map(|(place, part)| {
        if place % 2 == 1 && is_key(part) {
            flag_of(part)
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// The flag that sets a key.
fn flag_of(key: &str) -> String {
    let name = match key {
        "type" => "scenario",
        "payloads" => "payload",
        "tool_call" => "tool",
        key => key.strip_suffix("_latency").unwrap_or(key),
    };
    format!("--{}", name.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_flags() {
        for (text, flags) in [
            (
                "`type` does not know \"x\"",
                "`--scenario` does not know \"x\"",
            ),
            ("`p99_latency` must be", "`--p99` must be"),
            (
                "`rate` and `rate_limit` cannot both be given",
                "`--rate` and `--rate-limit` cannot both be given",
            ),
            (
                "`mcprove list-scenarios --knobs` tells",
                "`mcprove list-scenarios --knobs` tells",
            ),
            ("no key at all", "no key at all"),
        ] {
            assert_eq!(name_flags(text), flags);
        }
    }
}
