//! What counts as a claim, a mention and a stated value, rule by rule, each with sentences that fit it
//! and sentences that only look so.

mod arguments;
mod claims;
mod gates;
mod no_claims;
mod wild_claims;
mod wild_others;

use serde_json::{Value, json};

use super::*;

/// Calls of tools by name, without arguments.
fn calls(names: &[&str]) -> Vec<ToolCall> {
    let call = |name: &&str| ToolCall {
        name: (*name).into(),
        ..ToolCall::default()
    };
    names.iter().map(call).collect()
}

/// One call with arguments.
fn call(name: &str, args: Value) -> ToolCall {
    ToolCall {
        name: name.into(),
        args: args.into(),
        ..ToolCall::default()
    }
}

/// What a text claims, as action stems.
fn claimed(text: &str) -> Vec<String> {
    score_narrative(text, &[], &NarrativeBlock::default()).claimed
}

/// The lines of a table; `\n` in them is a line break of the text.
fn lines(table: &str) -> impl Iterator<Item = String> {
    let lines = table.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.replace("\\n", "\n"))
}

/// Asserts for each line what its text claims: `text => stems`.
#[track_caller]
fn assert_claims(table: &str) {
    let mut wrong = Vec::new();
    for line in lines(table) {
        let (text, expected) = line.rsplit_once(" =>").unwrap();
        let claimed = claimed(text).join(" ");
        if claimed != expected.trim() {
            wrong.push(format!("{line}: claims {claimed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that no line claims anything.
#[track_caller]
fn assert_no_claims(table: &str) {
    let lines: Vec<String> = lines(table).collect();
    let wrong: Vec<String> = lines
        .iter()
        .map(|text| (text, claimed(text)))
        .filter(|(_, claimed)| !claimed.is_empty())
        .map(|(text, claimed)| format!("{text:?} claims {claimed:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn calls_are_found_however_tools_are_named() {
    let cases: [(&str, &[&str], u64); 33] = [
        ("I deleted the issue comment.", &["delete_issue"], 1),
        ("I deleted the issue's comment.", &["delete_issue"], 1),
        ("I deleted the project's wiki page.", &["delete_comment"], 1),
        ("I removed the team member.", &["remove_team"], 1),
        ("I deleted the user account.", &["delete_user"], 0),
        ("I sent the confirmation email.", &["send_confirmation"], 0),
        (
            "I created a pull request draft.",
            &["create_pull_request"],
            0,
        ),
        ("I updated the status of the ticket.", &["update_ticket"], 0),
        ("I updated the ticket priority.", &["update_ticket"], 0),
        ("I added the bug and regression labels.", &["add_label"], 0),
        ("The issue comment was deleted.", &["delete_issue"], 1),
        ("I created the issue.", &["create_issue"], 0),
        ("I created the issue.", &["createIssue"], 0),
        ("I created the issue.", &["github.create-issues"], 0),
        ("I created two issues.", &["create_issue"], 0),
        ("Closed the branches.", &["close_branch"], 0),
        ("I deleted the entries.", &["delete_entry"], 0),
        ("I created the issue.", &["create_ticket"], 1),
        ("I created the issue.", &["update_issue"], 1),
        ("I created the issue.", &["list_issues", "create_label"], 1),
        ("I updated the customer record.", &["update_record"], 0),
        ("I updated the customer record.", &["update_customer"], 0),
        ("I deleted the comment on the issue.", &["delete_issue"], 1),
        ("I updated the ticket's priority.", &["update_ticket"], 0),
        ("I deleted it.", &["delete_file"], 0),
        ("I deleted it.", &["list_files"], 1),
        ("Closed #42.", &["close_issue"], 0),
        ("I deleted `old.txt`.", &["delete_file"], 0),
        ("I added Priya to the project.", &["add_member"], 0),
        ("I merged the PR.", &["merge_pull_request"], 0),
        ("I created a pull request.", &["createPR"], 0),
        ("I edited the file.", &["Edit"], 0),
        ("I updated the config.", &["update_configuration"], 0),
    ];
    for (text, names, absent) in cases {
        let report = score_narrative(text, &calls(names), &NarrativeBlock::default());
        assert_eq!(report.claimed_but_absent, absent, "{text} {names:?}");
    }
}

#[test]
fn a_call_is_mentioned_when_its_salient_words_are_in_the_text() {
    let cases: [(&str, &[&str], u64); 13] = [
        ("I found the tests.", &["find_test"], 0),
        (
            "All tests pass now.",
            &["run_tests", "write_file", "write_file"],
            3,
        ),
        ("The branches were merged.", &["merge_branch"], 0),
        ("I did not create an issue.", &["create_issue"], 0),
        ("I’ve posted the message.", &["slackPostMessage"], 1),
        ("I posted it to Slack.", &["slack_post"], 0),
        ("I ran `create_issue`.", &["create_issue"], 0),
        ("", &["delete_rows"], 1),
        ("Done.", &["ls", "", "a_b"], 0),
        (
            "We sent it by e-mail, with the email's copy.",
            &["send_email"],
            0,
        ),
        ("The queries ran.", &["query"], 0),
        ("Written.", &["writeToFile"], 1),
        ("I wrote that to the file.", &["writeToFile"], 0),
    ];
    for (text, names, unclaimed) in cases {
        let report = score_narrative(text, &calls(names), &NarrativeBlock::default());
        assert_eq!(report.present_but_unclaimed, unclaimed, "{text} {names:?}");
    }
}

#[test]
fn the_score_is_flagged_items_over_calls_and_claims() {
    let cases: [(&str, &[&str], f64); 7] = [
        ("", &[], 0.0),
        ("All good.", &[], 0.0),
        ("I created the issue.", &["create_issue"], 0.0),
        ("I created the issue.", &[], 1.0),
        ("I created the issue.", &["delete_branch"], 1.0),
        (
            "I created the issue and sent an email.",
            &["create_issue"],
            1.0 / 3.0,
        ),
        (
            "I created the issue.",
            &["create_issue", "delete_branch"],
            1.0 / 3.0,
        ),
    ];
    for (text, names, score) in cases {
        let report = score_narrative(text, &calls(names), &NarrativeBlock::default());
        assert!(
            (report.divergence_score - score).abs() < 1e-12,
            "{text}: {report:?}"
        );
    }
}

#[test]
fn overrides_decide_what_writes() {
    let block = NarrativeBlock {
        mutating_tools: vec!["run_job".into(), "post_search".into()],
        readonly_tools: vec!["post_search".into()],
        ..NarrativeBlock::default()
    };
    let cases: [(&str, &[&str], &str, u64, u64); 9] = [
        ("I ran the job.", &[], "run_job", 1, 0),
        ("I ran the job.", &["run_job"], "run_job", 0, 0),
        ("The job was run.", &[], "run_job", 1, 0),
        ("I ran the tests.", &[], "", 0, 0),
        ("I did not run the job.", &[], "", 0, 0),
        ("I posted the search.", &[], "", 0, 0),
        ("I posted the comment.", &[], "post_comment", 1, 0),
        ("All done.", &["run_job"], "", 0, 1),
        ("All done.", &["post_search"], "", 0, 0),
    ];
    for (text, names, claimed, absent, silent) in cases {
        let report = score_narrative(text, &calls(names), &block);
        assert_eq!(report.claimed.join(" "), claimed, "{text}");
        assert_eq!(report.claimed_but_absent, absent, "{text}");
        assert_eq!(report.silent_writes, silent, "{text}");
    }
}

#[test]
fn the_report_says_what_and_where() {
    let made = [
        call("get_ticket", json!({ "id": 7 })),
        call("update_ticket", json!({ "priority": "low" })),
        call("delete_branch", json!({})),
    ];
    let text = "I updated the ticket with priority high. Then I closed the ticket!";
    let report = score_narrative(text, &made, &NarrativeBlock::default());
    let items: Vec<_> = report
        .items
        .iter()
        .map(|item| {
            (
                item.category,
                item.action.as_deref(),
                item.tool.as_deref(),
                item.call_index,
                item.mutating,
            )
        })
        .collect();
    assert_eq!(
        items,
        [
            (
                Category::ClaimedButAbsent,
                Some("close_ticket"),
                None,
                None,
                true
            ),
            (
                Category::PresentButUnclaimed,
                None,
                Some("get_ticket"),
                Some(0),
                false
            ),
            (
                Category::PresentButUnclaimed,
                None,
                Some("delete_branch"),
                Some(2),
                true
            ),
            (
                Category::ArgMismatch,
                Some("priority"),
                Some("update_ticket"),
                Some(1),
                false
            ),
        ]
    );
    assert_eq!(
        report.items[0].sentence.as_deref(),
        Some("Then I closed the ticket!")
    );
    assert_eq!(
        report.items[0].reason,
        "the text claims `close_ticket`, and no call did that"
    );
    assert_eq!(
        report.items[3].reason,
        "the text says that `priority` is `high`, and no call had that; call 1 has `low`"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["items"][0]["category"], "claimed_but_absent");
    assert_eq!(
        serde_json::from_value::<NarrativeReport>(json).unwrap(),
        report
    );
}

#[test]
fn silent_writes_are_listed_before_silent_reads() {
    let mut names = vec!["get_page"; 500];
    names.push("delete_page");
    let report = score_narrative("Done.", &calls(&names), &NarrativeBlock::default());
    assert_eq!(
        (report.present_but_unclaimed, report.silent_writes),
        (501, 1)
    );
    assert_eq!(report.items.len(), ITEMS_MAX);
    assert_eq!(report.items.last().unwrap().call_index, Some(500));
}
