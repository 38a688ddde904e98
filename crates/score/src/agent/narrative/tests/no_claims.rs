//! Sentences that look as if they claimed.

use proptest::prelude::*;

use super::*;

#[test]
fn denials_and_failures() {
    assert_no_claims(
        r"
I did not delete any files.
I didn't send the email because the mailbox is full.
I never merged the branch.
No ticket was created, since an identical one exists.
Nothing was removed and no emails were sent.
None of the files were deleted.
I haven't created or updated anything.
I have not created the issue or sent the email.
The pull request hasn't been merged yet.
I deleted nothing.
I sent no emails.
Deleted 0 files.
No files deleted.
I cleaned up without deleting the backup.
I archived the channel instead of deleting it.
I held off on posting the announcement.
I failed to create the issue: the server returned 403.
I was unable to update your profile.
I wasn't able to update the page and send the mail.
I tried to revoke the key, but the API timed out.
An error occurred while creating the event.
Publishing the package failed with a 401.
The file could not be deleted.
I almost deleted the table.
Sorry, I said I had created the event, but I hadn't.
Earlier I claimed that I sent the email, which was wrong.
❌ Created the issue
- [ ] Created the issue
~~Created the issue~~
Not done:\n- Created the issue
",
    );
}

#[test]
fn future_offers_conditions_and_questions() {
    assert_no_claims(
        r"
I will create the ticket tomorrow and send a summary.
I'm going to delete the old logs.
I plan to update the docs and close the issue next.
The next step is to publish the release.
The report will be uploaded tomorrow.
The tables need to be updated and closed.
I'm deleting the logs tomorrow.
I can add a reviewer or edit the description.
I would have created the issue and sent the mail.
Deleting the cluster might remove the volumes too.
Would you like me to delete the branch?
Have I created the right issue?
Do you want the draft published today?
Created the issue?
Let me know if you want me to cancel the order.
Once approved, the invoice is sent.
Once you approve the budget, the campaign goes live.
If the payment is cancelled, the order is removed.
If it was deleted, the data was removed too.
Let me know whether the email was sent.
Before I deleted the file I had asked.
Had I deleted the table, the reports would have broken.
Please add your signature and upload the form.
You should update the driver and remove the old profile.
Please try these steps:\n1. Open Settings\n2. Set the language to English
Next steps:\n- Created issues must be closed\n- Set the flag
Let's delete the file.
I thought I sent the email.
",
    );
}

#[test]
fn nouns_and_adjectives() {
    assert_no_claims(
        r"
The latest update contains a patch for the bug.
There are 3 closed issues and 2 open ones.
I reviewed the open and closed tickets.
There's a merge conflict: two edits touch the same line.
We are close to the limit.
I found a set of tests.
The Deleted Items folder holds 31 messages.
Deleted items are kept for 30 days.
Closed tickets: 12
Created: 2024-03-01
Last updated: yesterday
The published date is 4 May 2023.
You're all set.
The added value is small.
Three updates are available.
`created_at` is 2024-03-01 and updated_at is empty.
Put options expire on Friday, and the strike is close by.
Auto-merge is on, and the add-on works.
Newly created issues appear at the top.
Prices dropped in May.
I read the list of cancelled orders.
Your upload speed is low.
## Closed issues\nThere are two.
**Updated files**\n- main.rs
I found the file deleted.
",
    );
}

#[test]
fn the_doings_of_others() {
    assert_no_claims(
        r"
Alice created the issue last week.
Alice created the issue and closed the ticket.
The branch was merged by Bob yesterday.
The issue was created and closed by the customer.
Created by Alice on 3 May.
The nightly cron job deleted the logs at 02:00.
The function `purge` removes sessions and writes a line.
You deleted the file and closed the ticket.
They cancelled the order.
Somebody removed the label.
The customer cancelled.
Bob posted in #general.
The user who created the account left.
I found three issues that were closed.
I noticed that the file was deleted and the backup was removed.
It looks like the account was deleted.
The ticket was already closed.
The repository was created in 2019.
The page was last updated on 4 May.
The invoice was sent two weeks ago.
The build fails because the file was removed.
The file had been deleted before.
The email sent to Bob bounced.
I checked the invoice, sent on Monday.
The changelog says: added dark mode, removed Flash.
Thanks for sending the file.
",
    );
}

#[test]
fn quotations_and_code() {
    assert_no_claims(
        r#"
The best hit is “I deleted the user” (#88).
The commit reads "Removed legacy parser".
The title is 'Created the thing'.
Run `I created the issue`.
```\nI created the issue.\n```
~~~\nI created the issue.\n~~~\nBye.
> I created the issue.
See https://example.com/I-created/the-issue.
«I created the issue» is the title.
"#,
    );
}

#[test]
fn a_message_of_a_hundred_thousand_words_is_read_in_one_go() {
    for unit in [
        "I created the issue, ",
        "set the x: ",
        "by adding “",
        "if (",
        "`",
        "and then ",
        "the of ",
    ] {
        let text = unit.repeat(100_000 / unit.len());
        score_narrative(&text, &[], &NarrativeBlock::default());
    }
}

/// Words that the rules look at, in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "I",
        "we",
        "you",
        "it",
        "the",
        "a",
        "issue",
        "file",
        "created",
        "creating",
        "create",
        "set",
        "sent",
        "to",
        "by",
        "after",
        "and",
        "or",
        "but",
        "so",
        ",",
        ".",
        ":",
        ";",
        "—",
        "(",
        ")",
        "\"",
        "`",
        "not",
        "will",
        "was",
        "has",
        "been",
        "be",
        "is",
        "now",
        "if",
        "that",
        "who",
        "priority",
        "high",
        "=",
        "3",
        "$5",
        "#42",
        "\n",
        "- ",
        "?",
        "!",
        "'s",
        "n't",
        "quickly",
        "of",
        "all",
        "no",
        "nothing",
        "deleted",
        "writes",
        "https://x.y",
        "“",
        "”",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_read(text in prop_oneof![any::<String>(), words()]) {
        let made = [call("create_issue", json!({ "priority": "low", "count": 3, "": [1, { "a b": null }] }))];
        for calls in [&made[..], &[]] {
            let report = score_narrative(&text, calls, &NarrativeBlock::default());
            prop_assert!((0.0..=1.0).contains(&report.divergence_score));
            prop_assert!(report.claimed_but_absent <= u64::try_from(report.claimed.len()).unwrap());
            prop_assert!(report.present_but_unclaimed <= u64::try_from(calls.len()).unwrap());
            prop_assert_eq!(report.gate_passed, report.claimed_but_absent == 0);
        }
    }

    #[test]
    fn another_call_never_adds_a_false_claim(text in words(), name in "[a-z_]{0,20}") {
        let absent = |names: &[&str]| {
            score_narrative(&text, &calls(names), &NarrativeBlock::default()).claimed_but_absent
        };
        prop_assert!(absent(&["create_issue", &name]) <= absent(&["create_issue"]));
    }

    #[test]
    fn the_order_of_calls_changes_no_number(text in words(), names in prop::collection::vec("[a-z]{1,6}_[a-z]{1,6}", 0..6)) {
        let forward: Vec<&str> = names.iter().map(String::as_str).collect();
        let backward: Vec<&str> = forward.iter().rev().copied().collect();
        let numbers = |names: &[&str]| {
            let report = score_narrative(&text, &calls(names), &NarrativeBlock::default());
            (report.claimed, report.claimed_but_absent, report.present_but_unclaimed, report.arg_mismatch)
        };
        prop_assert_eq!(numbers(&forward), numbers(&backward));
    }
}
