use super::*;

fn row(method: &str, parameters: &str) -> AuditRow {
    AuditRow {
        id: 3,
        method: method.into(),
        request_id: Some("1".into()),
        parameters: Some(parameters.into()),
        ..AuditRow::default()
    }
}

#[test]
fn what_cannot_be_sent_again_says_why() {
    let nameless = AuditRow {
        request_id: None,
        ..row("notifications/cancelled", "{}")
    };
    for (row, part) in [
        (nameless, "no id"),
        (row("initialize", "{}"), "every session"),
        (row("subscriptions/listen", "{}"), "no end"),
        (row("", "{}"), "no method"),
        (row("tools/call", "{}"), "no tool"),
        (row("resources/read", "[1]"), "not a JSON object"),
        (row("resources/read", "{"), "not a JSON object"),
    ] {
        let error = Replay::new(row).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_session_adds_its_own_meta() {
    let replay = Replay::new(row("resources/read", r#"{"uri":"a:b","_meta":{"x":1}}"#));
    assert_eq!(replay.unwrap().params, Some(json!({ "uri": "a:b" })));
}
