//! Choosing: by name, by tag, by share, and what is said when nothing is left.

use super::*;
use crate::plan::SuitePlan;
use crate::run::listing::collect_tests;
use crate::run::sample::{plan, tool};

fn plans() -> Vec<SuitePlan> {
    let mut first = plan("first.yml");
    first.tools = vec![
        tool("search finds things", 3, &["smoke", "search"]),
        tool("search (twice)", 9, &["slow"]),
        tool("adds numbers", 6, &[]),
    ];
    let mut second = plan("tests\\second.yml");
    second.tools = vec![tool("adds numbers", 3, &["smoke"])];
    vec![first, second]
}

fn choose(selection: &Selection) -> Result<Vec<String>, Diagnostic> {
    let plans = plans();
    let chosen = selection.choose(&collect_tests(&plans))?;
    let name = |test: &TestOf<'_>| format!("{}:{}", test.suite, test.name());
    Ok(chosen.tests.iter().map(name).collect())
}

fn by_filter(filters: &[&str]) -> Selection {
    Selection {
        filters: filters.iter().map(|text| text.parse().unwrap()).collect(),
        ..Selection::default()
    }
}

fn by_tag(tags: &[&str]) -> Selection {
    Selection {
        tags: tags.iter().map(|text| text.parse().unwrap()).collect(),
        ..Selection::default()
    }
}

#[test]
fn everything_in_the_order_of_the_files() {
    assert_eq!(
        choose(&Selection::default()).unwrap(),
        [
            "0:search finds things",
            "0:adds numbers",
            "0:search (twice)",
            "1:adds numbers"
        ]
    );
}

#[test]
fn by_part_of_a_name_by_pattern_and_by_file() {
    for (filters, expected) in [
        (
            &["search"][..],
            &["0:search finds things", "0:search (twice)"][..],
        ),
        (&["(twice)"], &["0:search (twice)"]),
        (&["/^adds.*s$/"], &["0:adds numbers", "1:adds numbers"]),
        (&["second.yml::adds"], &["1:adds numbers"]),
        (&["tests/second.yml::"], &["1:adds numbers"]),
        (
            &["/^first.yml::.* /"],
            &[
                "0:search finds things",
                "0:adds numbers",
                "0:search (twice)",
            ],
        ),
        (
            &["finds", "twice"],
            &["0:search finds things", "0:search (twice)"],
        ),
    ] {
        assert_eq!(
            choose(&by_filter(filters)).unwrap(),
            expected,
            "{filters:?}"
        );
    }
    assert!("/(/".parse::<Filter>().is_err());
    assert!("".parse::<Filter>().is_err());
    // A size that would need gigabytes.
    assert!("/(a{999}){999}/".parse::<Filter>().is_err());
}

#[test]
fn by_tag_with_and_without() {
    for (tags, expected) in [
        (
            &["smoke"][..],
            &["0:search finds things", "1:adds numbers"][..],
        ),
        (
            &["smoke", "slow"],
            &[
                "0:search finds things",
                "0:search (twice)",
                "1:adds numbers",
            ],
        ),
        (&["smoke", "!search"], &["1:adds numbers"]),
        (&["!slow", "!search"], &["0:adds numbers", "1:adds numbers"]),
    ] {
        assert_eq!(choose(&by_tag(tags)).unwrap(), expected, "{tags:?}");
    }
    assert!("!".parse::<TagRule>().is_err());
}

#[test]
fn shares_are_disjoint_complete_and_even() {
    for count in 1..6 {
        let mut seen = vec![0; 17];
        for index in 1..=count {
            let shard: Shard = format!("{index}/{count}").parse().unwrap();
            let places: Vec<usize> = (0..17).filter(|place| shard.has(*place)).collect();
            assert!(places.len() >= 17 / count && places.len() <= 17 / count + 1);
            for place in places {
                seen[place] += 1;
            }
        }
        assert_eq!(seen, vec![1; 17], "{count}");
    }
    for text in ["0/3", "4/3", "1/0", "a/b", "3", "1/2/3", "-1/2", ""] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
}

#[test]
fn a_share_is_of_what_was_chosen() {
    let share = |text: &str| {
        choose(&Selection {
            shard: Some(text.parse().unwrap()),
            ..by_filter(&["search"])
        })
    };
    assert_eq!(share("1/2").unwrap(), ["0:search finds things"]);
    assert_eq!(share("2/2").unwrap(), ["0:search (twice)"]);
    let error = share("3/3").unwrap_err();
    assert_eq!(
        error.message,
        "no test is chosen: share 3/3 has none of the 2 tests"
    );
    assert!(error.hint.rendered().contains("1/2"), "{error:?}");
}

#[test]
fn nothing_chosen_says_why_and_names_what_was_meant() {
    for (selection, message, hint) in [
        (
            by_filter(&["Search Finds"]),
            "no test is chosen: \"Search Finds\" finds none of 4 tests",
            "did you mean \"search finds things\"?",
        ),
        (
            by_filter(&["serch"]),
            "no test is chosen: \"serch\" finds none of 4 tests",
            "did you mean \"search finds things\", \"search (twice)\"?",
        ),
        (
            by_filter(&["^adds"]),
            "no test is chosen: \"^adds\" finds none of 4 tests",
            "write a pattern between slashes: `filter = '/^adds/'`",
        ),
        (
            by_filter(&["zzz"]),
            "no test is chosen: \"zzz\" finds none of 4 tests",
            "`list` shows all; the first are \"search finds things\", \"adds numbers\", \"search (twice)\", \"adds numbers\"",
        ),
        (
            by_tag(&["smok"]),
            "no test is chosen: `tag = smok` leaves none of 4 tests",
            "did you mean \"smoke\"?",
        ),
        (
            by_tag(&["slow", "!slow"]),
            "no test is chosen: `tag = slow` `tag = !slow` leaves none of 4 tests",
            "the tags are \"search\", \"slow\", \"smoke\"",
        ),
    ] {
        let error = choose(&selection).unwrap_err();
        assert_eq!(error.message, message);
        assert_eq!(error.hint, hint);
    }
    let error = Selection::default().choose(&[]).unwrap_err();
    assert!(
        error.message.rendered().contains("there is none"),
        "{error:?}"
    );
}

#[test]
fn what_finds_nothing_beside_what_finds_something_is_told() {
    let plans = plans();
    let selection = Selection {
        tags: vec!["!slwo".parse().unwrap()],
        ..by_filter(&["search", "serch"])
    };
    let chosen = selection.choose(&collect_tests(&plans)).unwrap();
    assert_eq!(
        chosen.warnings,
        [
            "`filter` \"serch\" finds no test",
            "no test has the tag \"slwo\""
        ]
    );
}
