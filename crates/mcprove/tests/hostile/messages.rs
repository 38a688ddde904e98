//! Messages that are JSON, and otherwise not what the protocol says.

use crate::run::{Outcome, assert_seen, at_once, probe};

fn on(method: &str, body: &str) -> Outcome {
    let script = format!("def hostile(request):\n    {body}\nserve({{'{method}': hostile}})");
    probe(&["--call-timeout", "1s"], &script)
}

#[test]
fn a_server_without_a_proper_name() {
    let outcomes = [
        "None",
        "7",
        "'text'",
        "[]",
        "{}",
        "{'name': None, 'version': 7}",
        "{'name': ['a'], 'version': {}}",
    ]
    .map(|info| {
        let body = format!(
            "value = greeting(); value['serverInfo'] = {info}; write(result(request, value))"
        );
        on("initialize", &body)
    });
    assert_seen!(
        "unnamed_server",
        outcomes.iter().map(|outcome| outcome.ended(0))
    );
    on(
        "initialize",
        "value = greeting(); del value['serverInfo']; write(result(request, value))",
    )
    .ended(0);
}

#[test]
fn a_revision_that_is_no_text() {
    let outcomes = ["7", "None", "[]", "{}", "True", "''"].map(|version| {
        let body = format!("write(result(request, greeting({version})))");
        on("initialize", &body)
    });
    assert_seen!("revision_no_text", &outcomes);
}

#[test]
fn greetings_that_are_none() {
    let outcomes = ["None", "7", "[]", "'hello'", "{}", "True"]
        .map(|greeting| on("initialize", &format!("write(result(request, {greeting}))")));
    assert_seen!(
        "no_greeting",
        outcomes.iter().map(|outcome| outcome.ended(1))
    );
}

#[test]
fn lists_that_are_none() {
    let outcomes = [
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
    ]
    .map(|list| on("tools/list", &format!("write(result(request, {list}))")));
    assert_seen!("no_list", outcomes.iter().map(|outcome| outcome.ended(1)));
}

#[test]
fn ids_that_are_none() {
    let mut outcomes = at_once(
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
        },
    );
    outcomes.push(on(
        "tools/call",
        "write(b'{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\\n')",
    ));
    assert_seen!("no_id", outcomes.iter().map(|outcome| outcome.ended(1)));
}

#[test]
fn an_id_given_twice() {
    on(
        "tools/call",
        "write(b'{\"jsonrpc\":\"2.0\",\"id\":77,\"id\":%d,\"result\":{\"content\":[]}}\\n' % request['id'])",
    )
    .ended(0);
    let outcome = on(
        "tools/call",
        "[write(answer(request, [])) for _ in range(3)]",
    );
    outcome.ended(1).says(&["Next"]);
}

#[test]
fn results_that_are_null() {
    // Nothing to say is no failure of a call: what a result holds is the tool's own business.
    let outcome = on("tools/call", "write(result(request, None))");
    outcome.ended(outcome.status.code().unwrap_or(-1));
}

#[test]
fn arrays_of_messages_in_arrays() {
    let outcomes = [
        "write([[answer(request, [])]])",
        "write([]); write(answer(request, []))",
        "write(b'[' * 1000 + b']' * 1000 + b'\\n')",
        "write([None, 7, 'a', {}, answer(request, [])])",
    ]
    .map(|body| on("tools/call", body));
    assert_seen!("batches", outcomes.iter().map(|outcome| outcome.ended(1)));
}
