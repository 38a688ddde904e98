use proptest::prelude::*;

use super::*;

#[test]
fn names_come_apart_however_they_are_written() {
    let cases: [(&str, &[&str]); 20] = [
        ("", &[]),
        ("___", &[]),
        ("create", &["create"]),
        ("create_issue", &["create", "issue"]),
        ("create-issue", &["create", "issue"]),
        ("issues.create", &["issues", "create"]),
        ("issues/create", &["issues", "create"]),
        ("github__create_issue", &["github", "create", "issue"]),
        ("createIssue", &["create", "issue"]),
        ("CreateIssue", &["create", "issue"]),
        ("CREATE_ISSUE", &["create", "issue"]),
        ("HTTPRequest", &["http", "request"]),
        ("closePRs", &["close", "prs"]),
        ("listURLsNow", &["list", "urls", "now"]),
        ("getURLsummary", &["get", "ur", "lsummary"]),
        ("parseJSON", &["parse", "json"]),
        ("upload2S3", &["upload2", "s3"]),
        ("v2Create", &["v2", "create"]),
        ("ÄndereÜber", &["ändere", "über"]),
        (" set  status ", &["set", "status"]),
    ];
    for (name, expected) in cases {
        assert_eq!(tokens(name), expected, "{name}");
    }
}

#[test]
fn verbs_count_as_whole_words() {
    for verb in MUTATING_VERBS {
        assert!(is_mutating(verb, &[], &[]), "{verb}");
        assert!(is_mutating(&format!("{verb}_thing"), &[], &[]), "{verb}");
        assert!(!is_mutating(&format!("{verb}er"), &[], &[]), "{verb}");
    }
    for name in [
        "get_issue",
        "search",
        "dataset",
        "address",
        "editor_list",
        "output",
    ] {
        assert!(!is_mutating(name, &[], &[]), "{name}");
    }
    let lists = ["run_job".to_owned(), "post_search".to_owned()];
    assert!(is_mutating("run_job", &lists, &[]));
    assert!(!is_mutating("post_search", &[], &lists));
    assert!(!is_mutating("run_job", &lists, &lists), "never wins");
}

#[test]
fn other_verbs_count_where_nothing_only_looks() {
    for verb in MUTATING_VERBS {
        assert!(seems_to_write(verb), "{verb}");
    }
    for name in [
        "transfer_funds",
        "charge-card",
        "pay",
        "stripe.refund",
        "deployService",
        "book_flight",
        "execute_trade",
        "submit_order",
        "get_or_create",
    ] {
        assert!(seems_to_write(name), "{name}");
    }
    for name in [
        "get_transfer",
        "list_charges",
        "search_book",
        "execute_query",
        "payment_status",
        "run_tests",
        "payload",
        "describe_deploy",
    ] {
        assert!(!seems_to_write(name), "{name}");
    }
    assert!(
        !is_mutating("transfer_funds", &[], &[]),
        "the fixed list is fixed"
    );
}

#[test]
fn stars_stand_for_anything() {
    let cases = [
        ("", "", true),
        ("", "a", false),
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("*", "anything", true),
        ("**", "x", true),
        ("delete_*", "delete_file", true),
        ("delete_*", "delete_", true),
        ("delete_*", "undelete_x", false),
        ("*_file", "delete_file", true),
        ("*_file", "delete_files", false),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("a*b*c", "a_c_b_c", true),
        ("a*b*c", "a_c", false),
        ("*é*", "café!", true),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
    let (many, long) = ("a*".repeat(1000), "a".repeat(10_000));
    assert!(fits(&many, &long) && !fits(&format!("{many}b"), &long));
}

proptest! {
    #[test]
    fn a_name_fits_itself_and_any_part_starred(name in "[^*]{0,8}", at in 0_usize..9, end in 0_usize..9) {
        prop_assert!(fits(&name, &name));
        let characters: Vec<char> = name.chars().collect();
        let (at, end) = (at.min(end).min(characters.len()), at.max(end).min(characters.len()));
        let starred: String = characters[..at].iter().chain(&['*']).chain(&characters[end..]).collect();
        prop_assert!(fits(&starred, &name));
    }

    #[test]
    fn words_are_letters_and_digits(name in any::<String>()) {
        for token in tokens(&name) {
            prop_assert!(!token.is_empty());
        }
        is_mutating(&name, &[], &[]);
    }
}
