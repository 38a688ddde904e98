use super::*;

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read","annotations":{"readOnlyHint":true}},{"name":"write","annotations":{}},{"name":5},{"name":"plain"}],"nextCursor":"x"}}"#;

#[test]
fn tools_that_only_read_are_told() {
    assert_eq!(repeatable(LIST), ["read"]);
    assert!(repeatable(b"nonsense").is_empty());
}

#[test]
fn hidden_tools_are_left_out_and_nothing_else_changes() {
    let changed = without(LIST, |tool| tool == "write").unwrap();
    let changed: Value = serde_json::from_slice(&changed).unwrap();
    assert_eq!(changed["result"]["nextCursor"], "x");
    assert_eq!(changed["result"]["tools"].as_array().unwrap().len(), 3);
    assert!(without(LIST, |_| false).is_none());
    for odd in [&b"{"[..], b"{}", b"\xff", br#"{"result":{"tools":5}}"#] {
        assert!(without(odd, |_| true).is_none());
    }
}
