use proptest::prelude::*;

use super::*;

fn classify(text: &str) -> String {
    match Envelope::parse(text.as_bytes()) {
        Ok(envelope) => format!("{:?}", envelope.classify()),
        Err(_) => "not JSON".into(),
    }
}

#[test]
fn messages_are_told_apart() {
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "Request"),
        (
            r#"{"jsonrpc":"2.0","method":"n/x","params":{}}"#,
            "Notification",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"n"}"#,
            "Notification",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "Response"),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "Response"),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
            "Error { id: None",
        ),
        (r#"{"jsonrpc":"2.0","id":"a","result":{}}"#, "Other"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "Invalid { id: Number(1)"),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            "Invalid",
        ),
        (r#"{"id":1,"result":{}}"#, "Invalid"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}"#, "not JSON"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "not JSON"),
        ("hello", "not JSON"),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{}} trailing"#,
            "not JSON",
        ),
        (r#"{"jsonrpc":"2.0","\u0069d":4,"result":{}}"#, "Number(4)"),
    ];
    for (text, expected) in cases {
        let actual = classify(text);
        assert!(actual.contains(expected), "{text}: {actual}");
    }
}

#[test]
fn deep_nesting_is_skipped_without_recursion() {
    let depth = 100_000;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#,
        "[".repeat(depth),
        "]".repeat(depth)
    );
    let envelope = Envelope::parse(text.as_bytes()).unwrap();
    assert_eq!(envelope.result.unwrap().len(), 2 * depth);
}

#[test]
fn a_structured_log_line_is_no_message() {
    let is_message = |text: &str| Envelope::parse(text.as_bytes()).unwrap().is_message();
    for text in [
        r#"{"level":"info","id":3,"msg":"handled"}"#,
        r#"{"level":"error","id":3,"method":"tools/call","error":"boom"}"#,
        r#"{"id":3}"#,
    ] {
        assert!(!is_message(text), "{text}");
    }
    for text in [
        r#"{"jsonrpc":"1.0","id":3}"#,
        r#"{"id":3,"result":null}"#,
        r#"{"error":{}}"#,
        r#"{"method":"m"}"#,
    ] {
        assert!(is_message(text), "{text}");
    }
}

#[test]
fn batches_are_split() {
    assert_eq!(
        split_batch(br#" [{"a":1}, {"b":[2]}] "#).unwrap(),
        [r#"{"a":1}"#, r#"{"b":[2]}"#]
    );
    assert!(split_batch(b"[1,").is_none());
    let many = format!("[{}0]", "0,".repeat(BATCH_MEMBERS_MAX));
    assert!(split_batch(many.as_bytes()).is_none());
}

#[test]
fn spans_point_into_the_frame() {
    let frame = br#"{"jsonrpc":"2.0","id":1,"result":{"x":1}}"#;
    let envelope = Envelope::parse(frame).unwrap();
    let span = span_of(frame, envelope.result.unwrap());
    assert_eq!(&frame[span], br#"{"x":1}"#);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(envelope) = Envelope::parse(&bytes) {
            let _ = envelope.classify();
        }
        let _ = split_batch(&bytes);
    }

    #[test]
    fn almost_messages_are_survived(
        id in "(-?[0-9]{1,25}|null|\"[a-z]*\"|[\\[{]{0,3}|1e5|0\\.5)",
        tail in "[\\[\\]{}\",:a-z0-9\\\\ ]{0,40}",
    ) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{tail}}}"#);
        if let Ok(envelope) = Envelope::parse(text.as_bytes()) {
            let _ = envelope.classify();
        }
    }
}
