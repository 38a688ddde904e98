//! What the outline tells of messages.

use super::*;

/// The same in whatever pieces it comes.
fn seen(text: &str) -> Vec<Outline> {
    let mut whole = Vec::new();
    let mut scanner = Scanner::default();
    scanner.pass(text.as_bytes(), |outline| whole.push(outline));
    scanner.end(|outline| whole.push(outline));
    let mut pieces = Vec::new();
    for byte in text.as_bytes() {
        scanner.pass(&[*byte], |outline| pieces.push(outline));
    }
    scanner.end(|outline| pieces.push(outline));
    assert_eq!(whole, pieces, "{text}");
    whole
}

fn key(raw: &str) -> IdKey {
    IdKey::new(raw)
}

#[test]
fn the_top_level_is_told_whatever_the_order_and_the_length() {
    let long = r#"x\"},{"#.repeat(10_000);
    for (text, id) in [
        (r#"{"id":1,"method":"ping"}"#.to_owned(), "1"),
        (r#" { "method" : "ping" , "id" : 1e0 } "#.to_owned(), "1"),
        (format!(r#"{{"params":{{"a":[{{"id":7}},"{long}"],"id":8}},"method":"x","id":"a"}}"#), r#""a""#),
        (format!(r#"{{"id":3,"params":{{"a":"{long}"}},"method":"x"}}"#), "3"),
        (r#"{"id":4,"method":"tools/call","params":{"a":"notifications/cancelled","requestId":9}}"#.to_owned(), "4"),
        (r#"{"\u0069d":5,"m\u0065thod":"x","params":["requestId",{"result":1}]}"#.to_owned(), "5"),
        (r#"{"id":6,"method":5}"#.to_owned(), "6"),
    ] {
        assert_eq!(seen(&text), [Outline::Request(key(id))], "{text}");
        assert_eq!(seen(&format!("{text}\r\n")), [Outline::Request(key(id))]);
    }
    for (text, id) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"method":1,"id":2}}"#.to_owned(),
            "1",
        ),
        (
            format!(r#"{{"result":{{"a":"{long}","method":"x"}},"id":2}}"#),
            "2",
        ),
        (
            r#"{"error":{"code":1},"id":"a\u0062"}"#.to_owned(),
            r#""ab""#,
        ),
        (r#"{"error":{"code":1}}"#.to_owned(), "null"),
    ] {
        assert_eq!(seen(&text), [Outline::Answer(key(id))], "{text}");
    }
}

#[test]
fn a_cancellation_names_its_request() {
    for text in [
        r#"{"method":"notifications/cancelled","params":{"requestId":7,"reason":"requestId"}}"#,
        r#"{"params":{"_meta":{"requestId":1},"requestId":7},"method":"notifications\/cancelled"}"#,
    ] {
        assert_eq!(seen(text), [Outline::Cancellation(key("7"))], "{text}");
    }
    for text in [
        r#"{"method":"notifications/cancelled"}"#,
        r#"{"method":"notifications/cancelled","params":[{"requestId":7}]}"#,
        r#"{"method":"notifications/progress","params":{"requestId":7}}"#,
    ] {
        assert_eq!(seen(text), [], "{text}");
    }
}

#[test]
fn each_message_of_a_batch_is_told() {
    assert_eq!(
        seen(r#"[{"id":1,"method":"a","params":{"x":[1]}}, {"method":"b"},{"id":2,"result":{}}]"#),
        [Outline::Request(key("1")), Outline::Answer(key("2"))]
    );
}

#[test]
fn what_is_no_message_is_not_told_and_what_broke_off_is_in_doubt() {
    for text in [
        "",
        "nonsense",
        "}}]]",
        "5",
        "\"{\\\"id\\\":1}\"",
        "{}",
        r#"{"id":1}"#,
        "[[{",
    ] {
        assert_eq!(seen(text), [], "{text}");
    }
    let cut = "{\"method\":\"x\",\"id\":1,\"params\":{\"a\":\"b\n{\"id\":2,\"method\":\"x\"}\n";
    assert_eq!(
        seen(cut),
        [Outline::Request(key("null")), Outline::Request(key("2"))]
    );
    // What an answer that broke off is worth, nobody knows.
    assert_eq!(seen("{\"id\":1,\"result\":{\n"), []);
}

#[test]
fn long_ids_are_told_apart() {
    let [one, other, longer] = [("a", 500), ("b", 500), ("a", 501)].map(|(letter, length)| {
        let id = letter.repeat(length);
        seen(&format!(r#"{{"id":"{id}","method":"x"}}"#))
    });
    assert!(one.len() == 1 && one != other && one != longer);
}
