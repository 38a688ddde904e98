use super::*;

#[test]
fn ids_are_the_same_however_they_are_written() {
    for (one, other) in [
        ("1", "1.0"),
        ("100", "1e2"),
        ("-0", "0"),
        (r#""caf\u00e9""#, "\"café\""),
    ] {
        assert_eq!(IdKey::new(one), IdKey::new(other), "{one} {other}");
    }
    for (one, other) in [
        ("1", "\"1\""),
        ("18446744073709551616", "18446744073709551617"),
        ("1.5", "1"),
        ("1e999", "2e999"),
    ] {
        assert_ne!(IdKey::new(one), IdKey::new(other), "{one} {other}");
    }
}

#[test]
fn a_call_is_seen_however_it_is_written() {
    for call in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
        r#"{"id":1,"method":"tools\/call","params":{"name":"echo"}}"#,
        r#"{"id":1,"method":"tools/\u0063all","params":{"name":"echo"}}"#,
    ] {
        assert!(may_matter(call.as_bytes()), "{call}");
        let Seen::Request(Request { id, method, params }) = Seen::of(call.as_bytes()) else {
            panic!("{call}");
        };
        assert_eq!((id, &*method), ("1", "tools/call"));
        assert_eq!(ToolCall::parse(id, params).unwrap().tool, "echo");
    }
    assert!(!may_matter(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
}

#[test]
fn what_is_no_message_passes() {
    for text in [
        "",
        "hello",
        "{",
        "{}",
        "\u{feff}{}",
        "5",
        r#"{"id":null,"result":{}}"#,
        r#"{"method":5,"id":1}"#,
    ] {
        assert!(matches!(Seen::of(text.as_bytes()), Seen::Other), "{text}");
    }
    assert!(matches!(Seen::of(b" [1"), Seen::Batch));
    assert!(matches!(Seen::of(b"\xff\xfe"), Seen::Other));
}

#[test]
fn the_id_of_a_long_answer_is_found_in_its_head() {
    assert_eq!(
        id_in_head(br#"{"jsonrpc":"2.0","id": "a b","result":{"content":["#),
        Some(IdKey::Text("a b".to_owned()))
    );
    assert_eq!(
        id_in_head(br#"{"id":7,"result":"xxxx"#),
        Some(IdKey::Number(7))
    );
    assert_eq!(id_in_head(br#"{"result":"xxxx"#), None);
}
