use super::*;

fn call(name: &str, server: Option<&str>) -> ToolCall {
    ToolCall {
        name: name.into(),
        server: server.map(Into::into),
        ..ToolCall::default()
    }
}

#[test]
fn a_tool_has_several_spellings() {
    let search = call("search", Some("web"));
    let cases = [
        ("search", Fit::Yes),
        ("web__search", Fit::Yes),
        ("mcp__web__search", Fit::Yes),
        ("*", Fit::Yes),
        ("sea*", Fit::Yes),
        ("web__*", Fit::Yes),
        ("mcp__web__*", Fit::Yes),
        ("*__search", Fit::Yes),
        ("w*__s*", Fit::Yes),
        ("wiki__search", Fit::No),
        ("web__find", Fit::No),
        ("web_search", Fit::No),
        ("__search", Fit::No),
        ("web__", Fit::No),
        // A star without a server never reaches into one.
        ("web*", Fit::No),
        ("w*h", Fit::No),
    ];
    for (written, fit) in cases {
        assert_eq!(ToolName::pattern(written).fit(&search), fit, "{written}");
    }
    assert_eq!(ToolName::exact("sea*").fit(&search), Fit::No);
    assert_eq!(ToolName::exact("web__search").fit(&search), Fit::Yes);
    // Servers and tools with the separator in their names.
    let odd = call("get__all", Some("my__server"));
    for written in [
        "get__all",
        "my__server__get__all",
        "mcp__my__server__get__all",
    ] {
        assert_eq!(ToolName::exact(written).fit(&odd), Fit::Yes, "{written}");
    }
}

#[test]
fn an_unknown_server_is_not_guessed() {
    let unknown = call("search", None);
    assert_eq!(ToolName::pattern("web__search").fit(&unknown), Fit::Unknown);
    assert_eq!(ToolName::pattern("web__find").fit(&unknown), Fit::No);
    assert_eq!(ToolName::pattern("search").fit(&unknown), Fit::Yes);
    assert_eq!(ToolName::pattern("*__search").fit(&unknown), Fit::Yes);
    let names = [ToolName::exact("web__search")];
    let error = check_servers("t", &names, &[call("a", None), unknown]).unwrap_err();
    assert_eq!(
        error.message,
        "call 1, `search`, cannot be judged: the trace does not have its server, and `web__search` asks for it"
    );
    let whole = [call("web__search", None), call("search", None)];
    assert_eq!(check_servers("t", &names, &whole), Ok(()));
    assert_eq!(
        check_servers("t", &names, &[call("search", Some("x"))]),
        Ok(())
    );
}

#[test]
fn names_that_mean_nothing_are_found() {
    let run = AgentRun {
        tool_calls: vec![call("search", Some("web")), call("fetch", None)],
        ..AgentRun::default()
    };
    let list = ["web__*", "fetch", "wiki__fetch", "fetsh", "wiki__search"].map(str::to_owned);
    assert_eq!(without_call(&list, &[run]), ["fetsh", "wiki__search"]);
}

#[test]
fn names_come_apart_where_the_calls_say() {
    let calls = [call("b", Some("a")), call("c__d", None), call("f", None)];
    let tools = tools_of(&calls);
    let split = |written| ToolName::exact(written).split_by(&tools);
    assert_eq!(split("a__b"), Some(("a", "b")));
    assert_eq!(split("mcp__a__b"), Some(("a", "b")));
    assert_eq!(split("c__d"), None);
    assert_eq!(split("e__f"), Some(("e", "f")));
    assert_eq!(split("b"), None);
    assert_eq!(split("x__y"), None);
}
