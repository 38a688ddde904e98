//! Sentences that claim.

use super::*;

/// What a list of endings alone misses, and what it takes for a claim.
#[test]
fn the_cases_of_the_old_tool() {
    assert_claims(
        r"
I finished creating the issue. => create_issue
I am now creating the issue. => create_issue
I sent the email. => send_email
I wrote the file. => write_file
I cancelled the order. => cancel_order
I canceled the order. => cancel_order
I did not create the issue. =>
I will create the issue. =>
The post describes the outage. =>
I created a new issue. => create_issue
I've created three new high-priority GitHub issues. => create_issue
",
    );
}

#[test]
fn every_verb_in_every_form() {
    let forms = [
        ("create", "created", "created", "creating"),
        ("update", "updated", "updated", "updating"),
        ("delete", "deleted", "deleted", "deleting"),
        ("remove", "removed", "removed", "removing"),
        ("send", "sent", "sent", "sending"),
        ("write", "wrote", "written", "writing"),
        ("post", "posted", "posted", "posting"),
        ("insert", "inserted", "inserted", "inserting"),
        ("set", "set", "set", "setting"),
        ("put", "put", "put", "putting"),
        ("patch", "patched", "patched", "patching"),
        ("publish", "published", "published", "publishing"),
        ("destroy", "destroyed", "destroyed", "destroying"),
        ("drop", "dropped", "dropped", "dropping"),
        ("add", "added", "added", "adding"),
        ("edit", "edited", "edited", "editing"),
        ("upload", "uploaded", "uploaded", "uploading"),
        ("merge", "merged", "merged", "merging"),
        ("close", "closed", "closed", "closing"),
        ("cancel", "cancelled", "canceled", "cancelling"),
        ("approve", "approved", "approved", "approving"),
        ("revoke", "revoked", "revoked", "revoking"),
    ];
    assert!(
        forms
            .map(|(base, ..)| base)
            .iter()
            .eq(&mcprove_trace::words::MUTATING_VERBS)
    );
    for (base, past, participle, ing) in forms {
        let stem = format!("{base}_widget");
        let claims = [
            format!("I {past} the widget."),
            format!("We have {participle} the widget."),
            format!("The widget was {participle}."),
            format!("The widgets have been {participle} successfully."),
            format!("The widget is now {participle}."),
            format!("I did {base} the widget."),
            format!("I was able to {base} the widget."),
            format!("I fixed it by {ing} the widget."),
            format!("I have finished {ing} the widget."),
            format!("I checked the page and {past} the widget."),
            format!("- Checked the page\n- {past} the widget"),
        ];
        for text in claims {
            assert_eq!(claimed(&text), [stem.as_str()], "{text}");
        }
        let others = [
            format!("I did not {base} the widget."),
            format!("I have not {participle} the widget."),
            format!("The widget was not {participle}."),
            format!("The widget will be {participle}."),
            format!("I could not {base} the widget."),
            format!("I'll {base} the widget."),
            format!("I was unable to {base} the widget."),
            format!("I stopped without {ing} the widget."),
            format!("Should I {base} the widget?"),
            format!("Please {base} the widget."),
            format!("The {participle} widget is blue."),
            format!("Bob {past} the widget."),
            format!("The widget was {participle} by Bob."),
        ];
        for text in others {
            assert_eq!(claimed(&text), [""; 0], "{text}");
        }
    }
}

#[test]
fn active_claims() {
    assert_claims(
        r"
I also updated the docs. => update_doc
I have quietly and carefully edited the page. => edit_page
I have, as requested, deleted the file. => delete_file
I'd already sent the invoice. => send_invoice
We've added a section on caching. => add_section
Today I updated the dashboard. => update_dashboard
Good news: I've approved the expense. => approve_expense
Ive removed the banner. => remove_banner
I not only created the issue but also sent an email. => create_issue send_email
The assistant created the issue. => create_issue
This run adds a label and updates the board. => add_label update_board
I bulk-deleted the stale sessions. => delete_session
I had to delete the branch. => delete_branch
I used the API to create the ticket. => create_ticket
I proceeded to close the ticket and send a survey. => close_ticket send_survey
After I created the event, I sent the invitation. => create_event send_invitation
Once the tests passed I merged the branch. => merge_branch
The page looks better now that I updated the title. => update_title
Here is the issue I created. => create_issue
The email that I sent has all the details. => send_email
I took the liberty of removing the banner. => remove_banner
I ended up deleting the old cache. => delete_cache
I succeeded in uploading the archive. => upload_archive
",
    );
}

#[test]
fn claims_without_a_subject() {
    assert_claims(
        r"
Updated the customer record. => update_record
Done! Sent the email. => send_email
Successfully created the issue. => create_issue
Issues triaged: closed #42. => close
As requested, canceled the meeting. => cancel_meeting
**Created** the issue. => create_issue
- Created issue #12\n- Added the `bug` label => create_issue add_label
1. Created the branch\n2. Merged it => create_branch merge
✅ Uploaded the logs\n✅ Closed the incident => upload_log close_incident
### Done\n* Set the alarm => set_alarm
Have created the issue. => create_issue
Created: issue #12 => create_issue
Creating the issue now. => create_issue
Set a reminder for Friday. => set_reminder
| Created the ticket | ok | => create_ticket
What I did:\n- Create the issue\n- Send the email => create_issue send_email
Posted in #general. => post
Wrote the tests, added a fixture and updated the docs. => write_test add_fixture update_doc
",
    );
}

#[test]
fn passive_claims() {
    assert_claims(
        r"
The issue was created. => create_issue
The config file was successfully written. => write_file
All of the temporary files were deleted. => delete_file
A number of emails were sent. => send_email
The ticket's been closed. => close_ticket
Your order has now been cancelled. => cancel_order
The branch got merged. => merge_branch
The ticket is now closed. => close_ticket
It was deleted. => delete
The issue (#12) was created. => create_issue
The invoice was created and sent to the customer. => create_invoice send_invoice
No problems came up: the webhook was created and the secret was removed. => create_webhook remove_secret
I'm pleased to report that the ticket has been closed. => close_ticket
I can confirm that your order was cancelled. => cancel_order
All checks were green, so the pull request has been merged. => merge_request
The bug was fixed by updating the lockfile. => update_lockfile
The email was sent by mail merge and by 5 pm. => send_email
Ticket created with priority high. => create_ticket
Issue #12 closed. => close_issue
Issue created and email sent. => create_issue send_email
3 files deleted. => delete_file
The `tmp_import` table was dropped. => drop_table
",
    );
}

#[test]
fn joined_claims() {
    assert_claims(
        r"
I created the issue and sent an email. => create_issue send_email
I updated the sheet, added a chart and sent the link. => update_sheet add_chart send_link
I went ahead and deleted the branch. => delete_branch
I created, tested and merged the branch. => create_branch merge_branch
I created the issue, then posted a comment. => create_issue post_comment
I couldn't find one and created a new ticket. => create_ticket
I couldn't close the ticket, so I added a note instead. => add_note
I didn't touch production, but I deleted the staging database. => delete_database
I haven't sent the email but updated the draft. => update_draft
I fixed the build by updating the lockfile and adding a pin. => update_lockfile add_pin
I cleaned up the board, removing stale cards. => remove_card
After creating the event I sent an invitation. => create_event send_invitation
Bob reviewed it, and I merged the branch. => merge_branch
I created the issue — and closed the old ticket. => create_issue close_ticket
I created the issue, does that look right? => create_issue
",
    );
}

#[test]
fn the_thing_is_the_head_of_its_phrase() {
    assert_claims(
        r"
I sent Priya the link. => send_link
I sent the customer an email. => send_email
I sent you a short summary. => send_summary
I closed the ticket this morning. => close_ticket
I set up the webhook. => set_webhook
I sent out the invitations. => send_invitation
I added the `bug` and `p1` labels. => add_label
I updated all of your calendar events. => update_event
I removed a couple of duplicate rows from the table. => remove_row
I deleted both files after you confirmed. => delete_file
I merged the two closed branches. => merge_branch
I added a comment linking the failing run. => add_comment
I added a note explaining why it failed. => add_note
I created a job running the tests. => create_job
I sent Priya an email asking for the logs. => send_email
I created a product listing for the shop. => create_listing
I cancelled the team meeting this afternoon. => cancel_meeting
I uploaded the draft meeting notes. => upload_note
As I said, I deleted the file. => delete_file
",
    );
}

#[test]
fn an_action_is_claimed_once() {
    assert_claims(
        r"
I created the issue. The issue was created with all details. => create_issue
I deleted the file. It was deleted. => delete_file
I created the issue and created the branch. => create_issue create_branch
",
    );
}
