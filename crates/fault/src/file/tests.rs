//! Faults files: what is read, and what is wrong with those that are not.

use mcprove_settings::tree::Document;
use mcprove_trace::FaultKind;
use serde_json::Value;

use super::{parse_toml, parse_yaml, read_file, schema};
use crate::FaultSpec;

const YAML: &str = "
faults:
  - name: late search
    kind: slow
    target: { tool: search, server: api }
    calls: 1-3,7
    rate: 0.5
    seed: 9
    delay-ms: 250
  - kind: recover-after
    failures: 2
    tool: add
  - { kind: jitter, min_ms: 5, max_ms: 10 }
  - { kind: http_status, status: 429, retry-after-s: 3, calls: [2, 4] }
  - { kind: error, code: -32050, calls: 5 }
  - { kind: oversized, bytes: 1000, seed: '18446744073709551615' }
  - truncated,tool=search,calls=2-
";

const TOML: &str = "
[[faults]]
name = 'late search'
kind = 'slow'
target = { tool = 'search', server = 'api' }
calls = '1-3,7'
rate = 0.5
seed = 9
delay_ms = 250

[[faults]]
kind = 'recover_after'
failures = 2
[faults.target]
tool = 'add'
";

fn texts(faults: &[FaultSpec]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_list_is_read_in_yaml_and_in_toml() {
    let read = parse_yaml(YAML, "faults.yml").unwrap();
    let expected = [
        "slow:250,name=late search,tool=search,server=api,rate=0.5,seed=9,calls=1-3,7",
        "recover-after:2,tool=add",
        "jitter:5-10",
        "http-status:429-3,calls=2,4",
        "error:-32050,calls=5",
        "oversized:1000,seed=18446744073709551615",
        "truncated,tool=search,calls=2-",
    ];
    assert_eq!(texts(&read), expected);
    let toml = parse_toml(TOML, "faults.toml").unwrap();
    assert_eq!(toml, read[..2]);
    let bare = parse_yaml("- hang\n- { kind: crash, tool: a }\n", "f.yml").unwrap();
    assert_eq!(texts(&bare), ["hang", "crash,tool=a"]);
    assert!(parse_yaml("faults:\n", "f.yml").unwrap().is_empty());
    assert!(parse_toml("faults = ['slow:5']", "f.toml").unwrap().len() == 1);
}

#[test]
fn files_are_read_by_their_ending_and_say_what_is_wrong_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let yaml = write("a.yml", YAML.as_bytes());
    let toml = write("a.toml", TOML.as_bytes());
    let json = write("a.json", br#"{"faults": ["hang", {"kind": "slow"}]}"#);
    assert_eq!(read_file(&yaml).unwrap().len(), 7);
    assert_eq!(read_file(&toml).unwrap().len(), 2);
    assert_eq!(read_file(&json).unwrap().len(), 2);
    for (path, expected) in [
        (
            write("a.txt", b"- hang"),
            "is neither TOML nor YAML by its name",
        ),
        (write("b.yml", b"- hang\n- \xff"), "2:3: is not UTF-8"),
        (folder.path().join("none.yml"), "cannot be read: "),
    ] {
        let errors = read_file(&path).unwrap_err().to_string();
        assert!(errors.contains(expected), "{errors}");
        assert!(errors.contains("hint: "), "{errors}");
    }
}

/// A file, and where, what and how to fix it.
const BAD: &[[&str; 4]] = &[
    [
        "- hnag",
        "1:3",
        r#"no fault is called "hnag""#,
        "did you mean \"hang\"?",
    ],
    [
        "- slow:x",
        "1:3",
        "`delay_ms` must be a whole number from 0 to 86400000, not \"x\"",
        "use 0 or more, without a fraction",
    ],
    [
        "- 5",
        "1:3",
        "a fault must be a map or a text, not a number",
        "kind: slow",
    ],
    [
        "- []",
        "1:3",
        "a fault must be a map or a text, not a list",
        "slow:500",
    ],
    [
        "- { tool: a }",
        "1:3",
        "a fault has no `kind`",
        "add `kind: slow`",
    ],
    [
        "- { kind: 5 }",
        "1:11",
        "`kind` must be the name of a kind of fault, not 5",
        "the kinds are none, hang",
    ],
    [
        "- { kind: slwo }",
        "1:11",
        r#"no fault is called "slwo""#,
        r#"did you mean "slow"?"#,
    ],
    [
        "- { kind: xyzzy }",
        "1:11",
        r#"no fault is called "xyzzy""#,
        "the kinds are",
    ],
    [
        "- { kind: 'slow:5' }",
        "1:11",
        "no fault is called",
        "write `kind: slow` and its settings",
    ],
    [
        "- { kind: slow, delay: 5 }",
        "1:17",
        r#"unknown key "delay" in a fault of kind slow"#,
        "did you mean \"delay_ms\"?",
    ],
    [
        "- { kind: slow, delaay_ms: 5 }",
        "1:17",
        "unknown key",
        r#"did you mean "delay_ms"?"#,
    ],
    [
        "- { kind: hang, delay_ms: 5 }",
        "1:17",
        r#"unknown key "delay_ms" in a fault of kind hang"#,
        "known: kind",
    ],
    [
        "- { kind: slow, delay_ms: soon }",
        "1:27",
        "`delay_ms` must be a whole number from 0 to 86400000, not \"soon\"",
        "use 0 or more, without a fraction",
    ],
    [
        "- { kind: slow, delay-ms: -1 }",
        "1:27",
        "`delay_ms` must be a whole number from 0 to 86400000, not -1",
        "use 0 or more, without a fraction",
    ],
    [
        "- { kind: slow, delay_ms: .inf }",
        "1:27",
        "`delay_ms` must be a whole number from 0 to 86400000, not inf",
        "use 0 or more, without a fraction",
    ],
    [
        "- { kind: slow, delay_ms: 1, delay-ms: 1 }",
        "1:30",
        "`delay_ms` is given twice",
        "leave one",
    ],
    [
        "- { kind: hang, tool: a, target: { tool: b } }",
        "1:36",
        "`tool` is given twice",
        "leave one",
    ],
    [
        "- { kind: hang, target: search }",
        "1:25",
        "`target` must be a table, not a text",
        "write one `name: value` per line",
    ],
    [
        "- { kind: hang, target: { tol: a } }",
        "1:27",
        r#"unknown key "tol" in `target`"#,
        r#"did you mean "tool"?"#,
    ],
    [
        "- { kind: hang, tool: 5 }",
        "1:23",
        "`tool` must be a text that is not empty, not 5",
        "put it in quotes",
    ],
    [
        "- { kind: hang, tool: }",
        "1:21",
        "`tool` must be a text that is not empty, not nothing",
        "write the text after the key",
    ],
    [
        "- { kind: hang, calls: 0 }",
        "1:24",
        "`calls` must be ordinals from 1 and ranges of them, not 0",
        "1-3,7",
    ],
    [
        "- { kind: hang, calls: { a: 1 } }",
        "1:24",
        "`calls` must be ordinals from 1 and ranges of them, not a table",
        "the first three",
    ],
    [
        "- { kind: hang, rate: 2 }",
        "1:23",
        "`rate` must be a share from 0 to 1 (0.01 is 1 %), not 2",
        "give a number in this range",
    ],
    [
        "- { kind: hang, seed: -1 }",
        "1:23",
        "`seed` must be a whole number from 0 to 18446744073709551615, not -1",
        "choose any number in this range",
    ],
    [
        "- { kind: http_status, status: 200 }",
        "1:32",
        "`status` must be a whole number from 400 to 599, not 200",
        "use 400 or more, without a fraction",
    ],
    [
        "- { kind: jitter, min_ms: 9, max_ms: 2 }",
        "1:3",
        "min_ms must not be above max_ms",
        "swap them",
    ],
    [
        "- { kind: hang, name: late }\n- { kind: slow, name: late }",
        "2:23",
        r#"two faults are called "late""#,
        "another `name`",
    ],
    [
        "- hang\n- { kind: slow, name: hang }",
        "2:23",
        r#"two faults are called "hang""#,
        "another `name`",
    ],
    [
        "faults: 5",
        "1:9",
        "`faults` must be a list of faults, not 5",
        "[[faults]]",
    ],
    [
        "fault: []",
        "1:1",
        r#"unknown key "fault" in a faults file"#,
        r#"did you mean "faults"?"#,
    ],
    [
        "kind: slow",
        "1:1",
        r#"unknown key "kind" in a faults file"#,
        "it belongs to a fault",
    ],
    ["{}", "1:1", "there are no `faults` in it", "kind: slow"],
    [
        "5",
        "1:1",
        "faults must be a list, or a map with `faults`, not a number",
        "kind: slow",
    ],
];

#[test]
fn every_problem_has_its_place_and_a_hint() {
    for [text, place, message, hint] in BAD {
        let Err(errors) = parse_yaml(text, "f.yml") else {
            panic!("it was taken: {text}");
        };
        let [error] = &errors.0[..] else {
            panic!("not one problem: {text}\n{errors}");
        };
        let found = error.place.map(|place| place.to_string());
        assert_eq!(found.as_deref(), Some(*place), "{text}\n{error}");
        assert!(error.texts().0.contains(message), "{text}\n{error}");
        assert!(
            error.texts().1.as_deref().unwrap().contains(hint),
            "{text}\n{error}"
        );
        assert!(error.excerpt.is_some(), "{text}");
    }
    let errors = parse_toml("[[faults]]\nkind = 'slow'\ntol = 'x'\n", "f.toml").unwrap_err();
    let expected = "error: f.toml:3:1: unknown key \"tol\" in a fault of kind slow\n   |\n 3 | tol = 'x'\n   | ^^^\nhint: did you mean \"tool\"?";
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn too_many_faults_are_refused() {
    let lines: Vec<String> = (0..1_001)
        .map(|index| format!("- hang,name=n{index}"))
        .collect();
    let many = lines.join("\n");
    let errors = parse_yaml(&many, "f.yml").unwrap_err().to_string();
    assert!(
        errors.contains("f.yml:1001:3: there are more than 1000 faults"),
        "{errors}"
    );
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let json = |text: &str| -> Value {
        let document = Document::from_yaml(text, "x").unwrap();
        document.root.to_json().unwrap()
    };
    for text in [YAML, "faults:\n", "- hang", "[]"] {
        assert!(validator.is_valid(&json(text)), "{text}");
    }
    for (name, _) in FaultKind::ALL {
        for name in [name.to_owned(), name.replace('_', "-")] {
            let text = format!("- kind: {name}");
            assert!(validator.is_valid(&json(&text)), "{text}");
            assert!(parse_yaml(&text, "f.yml").is_ok(), "{text}");
        }
    }
    for text in [
        "5",
        "{}",
        "fault: []",
        "- 5",
        "- { tool: a }",
        "- { kind: slwo }",
        "- { kind: slow, delaay_ms: 5 }",
        "- { kind: slow, delay_ms: -1 }",
        "- { kind: hang, rate: 2 }",
        "- { kind: hang, delay_ms: 5 }",
        "- { kind: http_status, status: 200 }",
        "- { kind: http-status, status: 600 }",
        "- { kind: slow, delay_ms: 999999999 }",
        "- { kind: oversized, bytes: 99999999999 }",
        "- { kind: hang, target: search }",
    ] {
        assert!(!validator.is_valid(&json(text)), "{text}");
        assert!(parse_yaml(text, "f.yml").is_err(), "{text}");
    }
}
