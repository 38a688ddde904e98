use super::call_id;

#[test]
fn the_id_of_a_call_is_found_wherever_it_stands() {
    let cases: [(&str, Option<&str>); 8] = [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
            Some("7"),
        ),
        (
            r#"{"method":"tools/call","params":{"id":1,"a":[{}]},"id":"x\"y"}"#,
            Some(r#""x\"y""#),
        ),
        (r#" { "id" : 3 , "method" : "tools/call" } "#, Some("3")),
        (r#"{"id":1,"method":"ping"}"#, None),
        (r#"{"method":"tools/call"}"#, None),
        (r#"{"params":{"method":"tools/call"},"id":1}"#, None),
        (r#"{"id":1,"method":"tools/"#, None),
        ("", None),
    ];
    for (message, id) in cases {
        assert_eq!(
            call_id(message.as_bytes()),
            id.map(str::as_bytes),
            "{message}"
        );
    }
}
