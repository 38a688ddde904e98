use serde_json::json;

use super::super::names::{caller, mcp_result, no_such_role, role, split, without_prefix};
use super::*;

#[test]
fn names_are_split_once() {
    for (name, server, tool) in [
        ("search", None, "search"),
        ("api__search", Some("api"), "search"),
        ("mcp__api__search", Some("api"), "search"),
        ("mcp__my_api__get__item", Some("my_api"), "get__item"),
        ("mcp__search", Some("mcp"), "search"),
        ("__init__", None, "__init__"),
        ("api__", None, "api__"),
        ("mcp__api__", Some("mcp"), "api__"),
        ("__", None, "__"),
        ("", None, ""),
        ("snake_case_only", None, "snake_case_only"),
        ("größe__größe", Some("größe"), "größe"),
    ] {
        assert_eq!(split(name), (server, tool), "{name}");
    }
}

#[test]
fn a_role_has_one_name() {
    for (word, expected) in [
        ("user", Some("user")),
        ("Human", Some("user")),
        ("MODEL", Some("assistant")),
        ("developer", Some("system")),
        ("function", Some("tool")),
        ("critic", None),
        ("", None),
    ] {
        assert_eq!(role(word), expected, "{word}");
    }
    let message = |word: &str| no_such_role(word).message;
    assert_eq!(
        message("Assistant"),
        "no role is called `Assistant`; did you mean `assistant`?"
    );
    assert_eq!(
        message("assistent"),
        "no role is called `assistent`; did you mean `assistant`?"
    );
    assert_eq!(message("critic"), "no role is called `critic`");
}

#[test]
fn only_the_own_prefix_is_taken_off() {
    for (name, server, tool) in [
        ("api__search", "api", "search"),
        ("mcp__api__search", "api", "search"),
        ("mcp__search", "mcp", "search"),
        ("other__search", "api", "other__search"),
        ("api__", "api", "api__"),
        ("__search", "", "__search"),
        ("apisearch", "api", "apisearch"),
    ] {
        assert_eq!(without_prefix(name, server), tool, "{name} of {server}");
    }
}

#[test]
fn a_direct_caller_is_left_off() {
    let code = json!({"type": "code_execution_20250825", "tool_id": "srvtoolu_1"});
    assert_eq!(caller(code.clone()), Some(Box::new(code)));
    for direct in [json!({"type": "direct"}), json!("direct"), Value::Null] {
        assert_eq!(caller(direct), None);
    }
}

#[test]
fn only_an_mcp_result_says_whether_it_is_an_error() {
    let whole = json!({"content": [], "isError": true});
    assert_eq!(mcp_result(whole.clone()), (Some(true), whole.clone()));
    let text = Value::String(whole.to_string());
    assert_eq!(mcp_result(text), (Some(true), whole));
    for other in [
        json!("Error: no such index"),
        json!({"isError": "yes"}),
        json!("{\"isError\": tru"),
        json!([{"isError": true}]),
        Value::Null,
    ] {
        assert_eq!(mcp_result(other.clone()), (None, other));
    }
}
