//! Messages that are too large, too deep, unreadable or cut short, over stdio.

use crate::run::{Outcome, SMALL_MEMORY_MIB_MAX, assert_seen, at_once, probe};

/// A server that answers calls by `body`, which may use `request`.
fn call(arguments: &[&str], body: &str) -> Outcome {
    probe(
        arguments,
        &format!("def call(request):\n    {body}\nserve({{'tools/call': call}})"),
    )
}

const GIBIBYTE_LINE: &str = "write(b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"text\":\"' % request['id'])\n    \
     [write(MEBIBYTE) for _ in range(1024)]\n    \
     write(b'\"}}\\n')";

#[test]
fn a_line_of_a_gibibyte() {
    call(&[], GIBIBYTE_LINE)
        .ended(1)
        .says(&["Malformed", "67108864", "Next", "--max-frame"]);
}

#[test]
fn a_line_of_a_gibibyte_with_a_small_limit() {
    call(&["--max-frame", "1MiB"], GIBIBYTE_LINE)
        .ended(1)
        .used_at_most(SMALL_MEMORY_MIB_MAX)
        .says(&["Malformed", "1048576", "Next", "--max-frame"]);
}

#[test]
fn a_line_that_never_ends() {
    call(
        &["--max-frame", "1MiB", "--shutdown-timeout", "100ms"],
        "while True: write(MEBIBYTE)",
    )
    .ended(1)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["Malformed", "1048576", "Next"]);
}

#[test]
fn a_greeting_that_never_ends() {
    probe(
        &["--max-frame", "1MiB", "--startup-timeout", "3s"],
        "while True: write(MEBIBYTE)",
    )
    .ended(2)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["error:", "1048576", "hint:", "--max-frame"]);
}

#[test]
fn json_that_is_a_hundred_thousand_deep() {
    at_once(
        &[
            r#"b'{"jsonrpc":"2.0","id":%d,"result":' % request['id'] + deep + b'}\n'"#,
            r#"b'{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"content":' % request['id'] + deep + b'}}\n'"#,
            r#"b'{"jsonrpc":"2.0","id":%d,"error":' % request['id'] + deep + b'}\n'"#,
            r#"b'{"jsonrpc":"2.0","id":' + deep + b',"result":{}}\n'"#,
            r#"b'{"jsonrpc":"2.0","id":7,"method":"roots/list","params":' + deep + b'}\n'"#,
            r#"b'{"jsonrpc":"2.0","method":"notifications/progress","params":' + deep + b'}\n'"#,
            "deep + b'\\n'",
            "deep[:100000] + b'\\n'",
            "b'{\"a\":' * 100000 + b'\\n'",
        ],
        |&place| {
            let outcome = call(
                &["--call-timeout", "1s"],
                &format!("deep = b'[' * 100000 + b']' * 100000; write({place})"),
            );
            // What the tool itself calls a failure is its own affair, however deep, and shows nothing.
            outcome.ended(if place.contains("isError") { 2 } else { 1 });
        },
    );
}

#[test]
fn lists_and_greetings_that_are_a_hundred_thousand_deep() {
    let outcomes = ["initialize", "tools/list"].map(|method| {
        probe(
            &["--call-timeout", "5s"],
            &format!(
                "deep = b'[' * 100000 + b']' * 100000\n\
                 def hostile(request):\n    \
                     write(b'{{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":' % request['id'] + deep + b'}}\\n')\n\
                 serve({{'{method}': hostile}})"
            ),
        )
    });
    assert_seen!("deep", outcomes.iter().map(|outcome| outcome.ended(1)));
}

#[test]
fn bytes_that_are_no_text() {
    let in_answer = call(
        &[],
        r#"write(b'{"jsonrpc":"2.0","id":%d,"result":{"text":"\xff\xfe\xc0"}}\n' % request['id'])"#,
    );
    let before = call(
        &[],
        "write(bytes(range(11, 256)) + b'\\n'); write(answer(request, []))",
    );
    assert_seen!("no_text", [in_answer.ended(1), before.ended(0)]);
}

#[test]
fn an_answer_without_an_id() {
    let outcome = call(&[], r#"write(b'{"jsonrpc":"2.0","result":{}}\n')"#);
    assert_seen!("without_id", [outcome.ended(1)]);
}

#[test]
fn an_end_in_the_middle_of_a_message() {
    let outcome = call(
        &[],
        r#"write(b'{"jsonrpc":"2.0","id":%d,"resu' % request['id']); sys.exit(0)"#,
    );
    assert_seen!("cut_short", [outcome.ended(1)]);
    call(&[], "write(b'{'); os.kill(os.getpid(), 9)")
        .ended(1)
        .says(&["Crash", "Next"]);
    probe(&[], "write(b'{\"jsonrpc\":'); sys.exit(3)")
        .ended(2)
        .says(&["error:", "hint:"]);
}

/// Small values take far more room in memory than on the wire.
#[test]
fn messages_that_grow_when_they_are_read() {
    for values in ["b'0,' * 4000000 + b'0'", "b'{\"a\":0},' * 1000000 + b'0'"] {
        for place in [
            r#"b'{"tools":[', b']}'"#,
            r#"b'{"tools":[{"name":"a","inputSchema":{"enum":[', b']}}]}'"#,
        ] {
            let script = format!(
                "def hostile(request):\n    \
                     start, end = {place}\n    \
                     write(b'{{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":' % request['id'] + start)\n    \
                     write({values}); write(end + b'}}\\n')\n\
                 serve({{'tools/list': hostile}})"
            );
            assert_seen!("many_values", [probe(&[], &script).ended(1)]);
        }
        let bombs = [
            r#"'{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"no","data":[', ']}}'"#,
            r#"'{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"content":[', ']}}'"#,
            r#"'{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"a":[', ']}}'"#,
            r#"'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":%d,"a":[', ']}}'"#,
        ];
        for bomb in bombs {
            let script = format!(
                "start, end = {bomb}\n    \
                 write((start % request['id']).encode()); write({values}); write(end.encode() + b'\\n')\n    \
                 write(answer(request, []))"
            );
            let outcome = call(&["--shutdown-timeout", "100ms"], &script);
            outcome.ended(outcome.status.code().unwrap_or(-1));
        }
    }
}
