//! What is wrong, where, and what is suggested.

use super::errors;
use crate::gate::file::parse_yaml;
use harness::problem_table::assert_problems;

#[test]
fn every_problem_has_its_place_and_a_hint() {
    let parse = |text: &str| parse_yaml(text, "gates.yml").map(|_| ());
    let table = include_str!("bad.txt");
    let cases = assert_problems(table, "gates.yml", &str::to_owned, &parse);
    assert!(cases > 60, "{cases}");
}

#[test]
fn all_at_once_as_a_compiler_prints_them() {
    let text = "narative: {}\nloops:\n  max_repeets: 2\n  max_stagnation: -1\nexpect:\n  - target: stability.scor\n    matcher: { exact: 1 }\n";
    let printed = errors(text).to_string();
    let expected = r#"error: gates.yml:1:1: unknown block "narative"
   |
 1 | narative: {}
   | ^^^^^^^^
hint: did you mean "narrative"?

error: gates.yml:3:3: unknown key "max_repeets" in `loops`
   |
 3 |   max_repeets: 2
   |   ^^^^^^^^^^^
hint: did you mean "max_repeats"?

error: gates.yml:4:19: `max_stagnation` must be a whole number from 0 to 1000000000, not -1
   |
 4 |   max_stagnation: -1
   |                   ^^
hint: use 0 or more, without a fraction

error: gates.yml:6:13: no metric has the target "stability.scor"
   |
 6 |   - target: stability.scor
   |             ^^^^^^^^^^^^^^
hint: did you mean "stability.score"?"#;
    assert_eq!(printed, expected);
}

#[test]
fn nothing_is_no_gates() {
    for text in ["", "# nothing\n", "---\n", "null\n", "{}"] {
        let errors = errors(text).0;
        assert_eq!(errors.len(), 1, "{text:?}: {errors:?}");
        assert_eq!(errors[0].texts().0, "there are no gates in it");
    }
}

/// In our own words, and without a second place.
#[test]
fn text_that_is_no_yaml() {
    let nested = |open: &str, close: &str| {
        let (open, close) = (open.repeat(100), close.repeat(100));
        format!("expect: {open}{close}")
    };
    let mut bomb = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..8 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        let line = format!("b{level}: &a{level} [{}]\n", alias.trim_end_matches(", "));
        bomb.push_str(&line);
    }
    let many = format!("expect: [{}]", "1,".repeat(300_000));
    for (text, place, message) in [
        ("narrative: [", "1:", "unclosed bracket"),
        ("a: 1\na: 2\n", "2:1", "the key `a` is there twice"),
        ("narrative: *nowhere\n", "1:12", "no anchor"),
        (&nested("[", "]"), "1:", "more than 64 deep"),
        (&nested("{ not: ", "}"), "1:", "more than 64 deep"),
        (&bomb, "6:", "more values than are taken"),
        (&many, "", "more values than are taken"),
    ] {
        let errors = errors(text).0;
        let error = &errors[0];
        let start = format!("not valid YAML: {message}");
        let shown =
            error.texts().0.starts_with("not valid YAML: ") && error.texts().0.contains(message);
        assert!(shown, "{start}: {error}");
        assert!(
            error.place.unwrap().to_string().starts_with(place),
            "{error}"
        );
        for leak in ["line ", "Options", "from_str", "budget", "Nodes", "  "] {
            assert!(!error.texts().0.contains(leak), "{leak}: {error}");
        }
    }
}
