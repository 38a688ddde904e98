//! Messages that are JSON, and otherwise not what the protocol says.

use crate::run::{Outcome, at_once, probe};

fn on(method: &str, body: &str) -> Outcome {
    let script = format!("def hostile(request):\n    {body}\nserve({{'{method}': hostile}})");
    probe(&["--call-timeout", "1s"], &script)
}

#[test]
fn a_server_without_a_proper_name() {
    for info in [
        "None",
        "7",
        "'text'",
        "[]",
        "{}",
        "{'name': None, 'version': 7}",
        "{'name': ['a'], 'version': {}}",
    ] {
        let body = format!(
            "value = greeting(); value['serverInfo'] = {info}; write(result(request, value))"
        );
        on("initialize", &body)
            .ended(0)
            .says(&["unnamed server", "PASSED"]);
    }
    on(
        "initialize",
        "value = greeting(); del value['serverInfo']; write(result(request, value))",
    )
    .ended(0);
}

#[test]
fn a_revision_that_is_no_text() {
    for version in ["7", "None", "[]", "{}", "True"] {
        let body = format!("write(result(request, greeting({version})))");
        on("initialize", &body)
            .ended(1)
            .says(&["error:", "protocolVersion", "hint:"]);
    }
    on("initialize", "write(result(request, greeting('')))")
        .ended(0)
        .says(&["the server chose"]);
}

#[test]
fn greetings_that_are_none() {
    for greeting in ["None", "7", "[]", "'hello'", "{}", "True"] {
        on("initialize", &format!("write(result(request, {greeting}))"))
            .ended(1)
            .says(&["error: initialize", "hint:"]);
    }
}

#[test]
fn lists_that_are_none() {
    for list in [
        "None",
        "[]",
        "{}",
        "{'tools': None}",
        "{'tools': {}}",
        "{'tools': 7}",
        "{'tools': [7]}",
        "{'tools': [None]}",
        "{'tools': [{}]}",
        "{'tools': [{'name': 7}]}",
    ] {
        on("tools/list", &format!("write(result(request, {list}))"))
            .ended(1)
            .says(&["error: tools/list failed", "hint:"]);
    }
}

#[test]
fn ids_that_are_none() {
    at_once(
        &[
            "-1",
            "1.5",
            "1e400",
            "99999999999999999999999999",
            "[]",
            "{}",
            "true",
            "\"%d\"",
            "%d.0",
        ],
        |&id| {
            let body = format!(
                "write(b'{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\\n'.replace(b'%d', str(request['id']).encode()))"
            );
            on("tools/call", &body)
                .ended(1)
                .says(&["never sent", "hang", "hint:"]);
        },
    );
    on(
        "tools/call",
        "write(b'{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\\n')",
    )
    .ended(1)
    .says(&["without an id", "Malformed"]);
}

#[test]
fn an_id_given_twice() {
    on(
        "tools/call",
        "write(b'{\"jsonrpc\":\"2.0\",\"id\":77,\"id\":%d,\"result\":{\"content\":[]}}\\n' % request['id'])",
    )
    .ended(0);
    on(
        "tools/call",
        "[write(answer(request, [])) for _ in range(3)]",
    )
    .ended(1)
    .says(&["more than once", "hint:"]);
}

#[test]
fn results_that_are_null() {
    // Nothing to say is no failure of a call: what a result holds is the tool's own business.
    let outcome = on("tools/call", "write(result(request, None))");
    outcome.ended(outcome.status.code().unwrap_or(-1));
}

#[test]
fn arrays_of_messages_in_arrays() {
    on("tools/call", "write([[answer(request, [])]])")
        .ended(1)
        .says(&["batch", "hint:"]);
    on("tools/call", "write([]); write(answer(request, []))").ended(1);
    on("tools/call", "write(b'[' * 1000 + b']' * 1000 + b'\\n')").ended(1);
    on(
        "tools/call",
        "write([None, 7, 'a', {}, answer(request, [])])",
    )
    .ended(1)
    .says(&["batch"]);
}
