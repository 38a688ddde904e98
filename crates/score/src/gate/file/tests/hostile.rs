//! Nothing that a gates file can hold makes us panic, hang or eat memory.

use std::fmt::Write as _;

use mcprove_settings::error::KEPT_MAX;
use proptest::prelude::*;

use super::super::{EXPECT, parse_yaml};
use crate::agent::METRICS;

/// It is read or refused, and what is said can be printed.
fn try_it(text: &str) {
    if let Err(errors) = parse_yaml(text, "x") {
        assert!(!errors.0.is_empty() && errors.0.len() <= KEPT_MAX + 1);
        let printed = errors.to_string();
        assert!(!printed.contains(['\u{1b}', '\0', '\r']), "{printed:?}");
        assert!(printed.len() < 100_000, "{}", printed.len());
    }
}

#[test]
fn deep_nesting() {
    for depth in [10, 60, 70, 1000, 100_000] {
        for part in ["{ not: ", "{ all_of: [", "[", "{ a: "] {
            let open = part.repeat(depth);
            try_it(&format!("expect: [{{ target: passed, matcher: {open}"));
            let close: String = part
                .chars()
                .rev()
                .filter_map(|character| match character {
                    '{' => Some('}'),
                    '[' => Some(']'),
                    _ => None,
                })
                .collect::<String>()
                .repeat(depth);
            try_it(&format!(
                "expect: [{{ target: passed, matcher: {open}{{ exact: 1 }}{close} }}]"
            ));
            try_it(&format!(
                "trajectory: {{ calls: [{{ name: a, args: {open}1{close} }}] }}"
            ));
        }
    }
}

#[test]
fn many_of_everything() {
    let mut text = String::from("expect:\n");
    for index in 0..2000 {
        writeln!(
            text,
            "- {{ target: \"a[{index}\", matcher: {{ exact: 1 }} }}"
        )
        .unwrap();
    }
    try_it(&text);
    let name = "x".repeat(1_000_000);
    try_it(&format!("{name}: {{}}\n"));
    try_it(&format!("stability: {{ {name}: 1 }}\n"));
    try_it(&format!(
        "expect: [{{ target: {name}, matcher: {{ exact: 1 }} }}]\n"
    ));
    try_it(&format!(
        "expect: [{{ target: stability.{name}, matcher: {{ {name}: 1 }} }}]\n"
    ));
}

proptest! {
    #[test]
    fn random_text(text in "[\\[\\]{}:,\"'#&*!|>%@\\-+ \\n\\ta-e0-9é\\x00\\x1b]{0,200}") {
        try_it(&text);
    }

    /// Any value where another is expected.
    #[test]
    fn any_value_of_any_key(block in 0usize..13, key in 0usize..6, value in "-?[0-9]{1,25}|\"[a-z0-9-]{0,8}\"|true|\\.nan|-\\.inf|\\[\\]|\\{\\}|\\[1, \"a\"\\]|\\{a: 1\\}|\\[\\{name: a\\}\\]|1e400|~|2026-06-19") {
        let metric = METRICS.get(block);
        let name = metric.map_or(EXPECT, |metric| metric.about().name);
        let keys = metric.map_or(&[][..], |metric| metric.settings());
        match keys.get(key) {
            Some(key) => try_it(&format!("{name}: {{ {}: {value} }}\n", key.name)),
            None => try_it(&format!("{name}: {{ expect: {value} }}\n{name}: {value}\n")),
        }
    }
}
