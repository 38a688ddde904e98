//! Nothing that a file can hold makes us panic, hang or eat memory.

use std::fmt::Write as _;

use mcprove_settings::error::KEPT_MAX;
use mcprove_settings::tree::FILE_BYTES_MAX;
use proptest::prelude::*;

use super::super::LoadConfig;
use super::SPECIFIED;

/// Both parsers see it, and what they say can be printed.
fn try_all(text: &str) {
    for parse in [LoadConfig::parse_toml, LoadConfig::parse_yaml] {
        match parse(text, "x") {
            Ok(config) => drop(config.to_toml()),
            Err(errors) => {
                assert!(!errors.0.is_empty());
                assert!(errors.0.len() <= KEPT_MAX + 1);
                let printed = errors.to_string();
                assert!(!printed.contains(['\u{1b}', '\0', '\r']), "{printed:?}");
                assert!(printed.len() < 100_000, "{}", printed.len());
            }
        }
    }
}

#[test]
fn deep_nesting() {
    for depth in [10, 70, 100, 1000, 100_000] {
        for (open, close) in [
            ("[", "]"),
            ("{a=", "}"),
            ("{a: ", "}"),
            ("- ", ""),
            ("a.", ""),
        ] {
            try_all(&format!(
                "a = {}1{}",
                open.repeat(depth),
                close.repeat(depth)
            ));
            try_all(&format!("{}1{}", open.repeat(depth), close.repeat(depth)));
        }
        let brackets = "[".repeat(depth);
        try_all(&brackets);
        try_all(&format!("{brackets}a{}", "]".repeat(depth)));
    }
}

#[test]
fn large_files() {
    let room = FILE_BYTES_MAX / 16;
    for part in [
        "a = 1\n",
        "=",
        "\"",
        "[a]\n",
        "a: 1\n",
        "- x\n",
        "\u{1b}[2J",
        "é",
        "\0",
        "\n",
        "&a [*a]\n",
    ] {
        try_all(&part.repeat(room / part.len()));
    }
    let mut keys = String::new();
    for index in 0..50_000 {
        writeln!(keys, "k{index} = {index}").unwrap();
    }
    try_all(&keys);
    try_all(&keys.replace(" = ", ": "));
    let long = "x".repeat(room);
    try_all(&format!("{long} = 1\n"));
    try_all(&format!(
        "server = {{ {long} = \"{long}\" }}\nscenario = {{ type = \"{long}\" }}\n"
    ));
    try_all(&"x".repeat(FILE_BYTES_MAX + 1));
}

#[test]
fn aliases_that_multiply() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        let aliases = vec![format!("*a{before}"); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    try_all(&text);
}

#[test]
fn control_characters_are_not_printed() {
    let text = "[server]\ncommand = \"x\"\n\u{202e}\u{1b}]0;title\u{7} = 1\n[scenario]\ntype = \"\u{1b}[2J\"\n";
    try_all(text);
    try_all("server:\n  \"\\e[2J\": 1\n");
}

proptest! {
    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.toml", "x.yml"] {
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            if let Err(errors) = LoadConfig::read(&path) {
                prop_assert!(!errors.to_string().is_empty());
            }
        }
        try_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_text(text in "[\\[\\]{}=:.,\"'#&*!|>%@\\-+ \\n\\ta-e0-9é\\x00\\x1b]{0,200}") {
        try_all(&text);
    }

    /// A valid file with one piece of it replaced by another.
    #[test]
    fn damaged_files(from in 0..SPECIFIED.len(), length in 0usize..40, piece in "[\\[\\]{}=\"'#a-z0-9\\n.-]{0,20}") {
        let text: String = SPECIFIED
            .char_indices()
            .filter(|(index, _)| *index < from || *index >= from + length)
            .map(|(_, character)| character)
            .collect();
        try_all(&text);
        let place = text.char_indices().map(|(index, _)| index).find(|index| *index >= from);
        let mut text = text;
        text.insert_str(place.unwrap_or_default(), &piece);
        try_all(&text);
    }

    /// Any value where another is expected.
    #[test]
    fn any_value_of_any_key(key in 0usize..60, value in "-?[0-9]{1,25}|\"[a-z0-9-]{0,8}\"|true|nan|-inf|\\[\\]|\\{\\}|\\[1, \"a\"\\]|\\{a = 1\\}|1e400|0x7f|2026-06-19", kind in 0usize..14) {
        let keys = super::super::sections::scenario_settings();
        let name = keys[key % keys.len()].name;
        let scenario = crate::drive::scenario::names()[kind];
        let line = if name == "type" { format!("type = {value}") } else { format!("type = \"{scenario}\"\n{name} = {value}") };
        try_all(&super::scenario(&line));
    }
}
