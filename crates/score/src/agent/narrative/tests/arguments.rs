//! Values that a text states.

use super::*;

/// Values that the text states and the calls do not have.
fn mismatches(text: &str, args: Value) -> u64 {
    score_narrative(
        text,
        &[call("update_ticket", args)],
        &NarrativeBlock::default(),
    )
    .arg_mismatch
}

/// Asserts for each line how many of the arguments the text states wrongly.
#[track_caller]
fn assert_mismatches(table: &str) {
    let mut wrong = Vec::new();
    for line in lines(table) {
        let (call, text) = line.split_once(" <= ").unwrap();
        let (expected, args) = call.split_once(' ').unwrap();
        let found = mismatches(text, serde_json::from_str(args).unwrap());
        if found.to_string() != expected {
            wrong.push(format!("{line}: found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers_are_compared_whole() {
    assert_mismatches(
        r#"
1 {"amount": 50} <= Sent with an amount of $500.
0 {"amount": 50} <= Sent with an amount of $50.
0 {"amount": 50} <= Sent with amount 50.00.
0 {"amount": 1000} <= Sent with amount 1,000.
0 {"amount": "1000.0"} <= Sent with amount 1,000.
1 {"amount": 100} <= Sent with amount 1000.
1 {"price": 19.59} <= The price is 19.95.
1 {"quantity": 2, "limit": 20} <= quantity=3, limit: 20
1 {"limit": 200} <= I set the limit to 20.
0 {"limit": 20} <= The limit was raised from 10 to 20.
1 {"quantity": 2} <= I ordered it with quantity three.
0 {"rate": 0.05} <= The rate is 5%.
0 {"timeout": 300} <= With a timeout of 5 minutes.
0 {"timeout": 30} <= With a timeout of 30s.
1 {"timeout": 60} <= With a timeout of 30s.
1 {"ticket_id": "T-1024"} <= Closed the ticket with ticket_id T-1042.
0 {"ticketId": "T-1042"} <= Closed ticket id 1042.
0 {"message": "Hi", "people": 7} <= Sent the message to 5 people.
"#,
    );
}

#[test]
fn texts_are_compared_without_case() {
    assert_mismatches(
        r#"
1 {"priority": "low"} <= Created it with priority high.
0 {"priority": "high"} <= Created it with priority High.
0 {"priority": "high", "status": "open"} <= Created with priority: high and status: open.
1 {"title": "Payment page is slow"} <= The issue (title: “Login broken”).
0 {"title": "Login broken."} <= The issue (title: “Login broken”).
1 {"title": "Login broken", "priority": "low"} <= - Title: Login broken\n- Priority: High
1 {"title": "Payment page"} <= **Title:** Login broken
1 {"priority": "low"} <= `priority`: `high`
1 {"priority": "low"} <= | priority | high |
1 {"priority": "low"} <= I set the priority to high.
0 {"status": "done"} <= I changed the status from open to done.
1 {"status": "open"} <= The status is now closed.
0 {"status": "in_progress"} <= Status: in progress
1 {"recipient": "bob@example.org"} <= Sent it with recipient bob@example.com.
1 {"to": "ann@example.com"} <= Sent the email to bob@example.com.
0 {"to": ["ann@example.com", "bob@example.com"]} <= Sent the email to bob@example.com.
0 {"label": ["bug", "p1"]} <= With label bug.
1 {"version": "2.1.1"} <= Published as version 2.1.0.
0 {"due_date": "2024-05-01T10:00:00Z"} <= due date 2024-05-01
1 {"fields": {"priority": "low"}} <= In the nested record, priority: high.
"#,
    );
}

#[test]
fn values_as_agents_state_them() {
    assert_mismatches(
        r##"
0 {"total": 1250} <= The invoice was created for a total of $1,250.00.
1 {"total": 1200} <= The invoice was created for a total of $1,250.00.
0 {"guests": 4} <= Booked for 3 guests.
0 {"duration": 45} <= Created the event with a duration of 45 minutes.
1 {"duration": 30} <= Created the event with a duration of 45 minutes.
1 {"temperature": 22} <= Set the temperature to 21.
0 {"assignee": "maria"} <= Assignee: @maria
0 {"channel": "general"} <= Posted to channel #general.
1 {"channel": "#random"} <= Posted to channel #general.
0 {"due_date": "2024-03-05"} <= With a due date of March 5.
0 {"deadline": "2024-05-03"} <= Deadline: Friday
0 {"due_date": "2024-05-05"} <= Due date: 5 May 2024
0 {"time": "09:00"} <= Time: 9:00
1 {"amount": 500, "currency": "USD"} <= Amount: 500 USD, with currency EUR.
0 {"amount": 50} <= The amount was 20% higher.
0 {"query": "login bug"} <= Found it with query `login bug`.
1 {"subject": "Hi"} <= The email has the subject “Hello”.
1 {"title": "Bar"} <= Title set to “Foo”.
1 {"title": "Bar baz"} <= I changed the title to Foo.
1 {"maxRetries": 3} <= It has max retries of 5.
1 {"region": "us-west-2"} <= Deployed in region us-east-1.
1 {"status": "open"} <= Saved 'status' = 'done'.
0 {"page": 2} <= Read page 2 of 10.
0 {"priority": "high"} <= Priority: low → high
0 {"timeout": 60} <= timeout: 30s -> 60s
0 {"limit": 30} <= The limit is not 20.
1 {"channel": "random"} <= Posted the message to channel general.
0 {"channel": "general"} <= Posted the message to channel general.
1 {"branch": "develop"} <= Pushed it on branch main.
1 {"title": "Monthly Report"} <= Created it with the title Weekly Report.
0 {"title": "Weekly Report for May"} <= Created it with the title Weekly Report for May.
1 {"customer": "Bob"} <= The customer is Alice.
0 {"country": "DE"} <= The country is Germany.
1 {"country": "DE"} <= With country FR.
1 {"model": "opus"} <= I ran it using model haiku.
0 {"file": "a.txt"} <= It is in file format.
1 {"notifications": false} <= Created it with notifications enabled.
1 {"priority": "low"} <= - Priority – High
1 {"priority": "low"} <= The priority field is now high.
1 {"start_date": "2024-05-01"} <= Its start date 2024-05-02 is fine.
0 {"version": "2.1.0"} <= Released as version v2.1.0.
1 {"amount": 50} <= With an amount of EUR 500.
0 {"amount": 1500} <= With an amount of $1.5k.
1 {"labels": ["bug", "p1"]} <= With the label `regression`.
0 {"labels": ["bug", "p1"]} <= Labels: bug, p1
0 {"address": "x", "statuses": ["a"]} <= The address is fine, status ok.
0 {"file": "/tmp/report.pdf"} <= The file “report.pdf” is there.
0 {"title": "A very long title"} <= Title: “A very long…”
"##,
    );
}

#[test]
fn flags() {
    assert_mismatches(
        r#"
1 {"draft": false} <= Published with draft=true.
0 {"draft": false} <= Published with draft=false.
0 {"draft": true} <= Published with draft: yes.
1 {"draft": true} <= Published with draft off.
"#,
    );
}

#[test]
fn prose_states_no_value() {
    assert_mismatches(
        r#"
0 {"title": "Home"} <= The title looks good.
0 {"title": "Home"} <= The title is fine.
0 {"status": "open"} <= The status of the ticket changed.
0 {"status": "open"} <= The status was updated.
0 {"message": "Hi"} <= I sent the message to Bob.
0 {"summary": "CI flake"} <= Summary: everything works.
0 {"email": "a@example.com"} <= Email: sent
0 {"customer": "Alice"} <= For customer support, call us.
0 {"user": "alice"} <= The user is happy.
0 {"priority": "low"} <= A high priority ticket.
0 {"name": "x"} <= The name says it all.
0 {"to": "Paris"} <= I went to London.
"#,
    );
}

#[test]
fn only_facts_are_compared() {
    assert_mismatches(
        r#"
0 {"priority": "low"} <= I did not set the priority to high.
0 {"priority": "low"} <= I can change the priority to high.
0 {"priority": "low"} <= Should I set the priority to high?
0 {"priority": "low"} <= If approved, the priority is high.
0 {"price": 20} <= The old price 30 is gone.
1 {"priority": "low"} <= I couldn't find it, so I made one with priority high.
"#,
    );
}

#[test]
fn a_value_of_any_call_will_do() {
    let made = [
        call("create_ticket", json!({ "priority": "low" })),
        call("create_ticket", json!({ "priority": "high" })),
    ];
    let count = |text: &str| score_narrative(text, &made, &NarrativeBlock::default()).arg_mismatch;
    assert_eq!(count("One with priority high, one with priority low."), 0);
    assert_eq!(
        count("With priority urgent. Again, with priority urgent."),
        1,
        "said twice, told once"
    );
}
