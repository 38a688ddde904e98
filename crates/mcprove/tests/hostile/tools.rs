//! Lists of tools that never end, or hold what no list should.

use crate::run::{Running, SMALL_MEMORY_MIB_MAX, assert_seen, at_once, mcprove, probe, python};

#[test]
fn a_server_that_does_not_know_ping_is_alive() {
    probe(
        &[],
        "def unknown(request): write({'jsonrpc': '2.0', 'id': request['id'], 'error': {'code': -32601, 'message': 'no'}})\n\
         serve({'ping': unknown}, [{'name': 'fine', 'inputSchema': {'type': 'object'}}])",
    )
    .ended(0);
}

#[test]
fn a_list_with_endless_pages() {
    let outcome = probe(
        &[],
        "def more(request):\n    \
             cursor = request.get('params', {}).get('cursor', '')\n    \
             write(result(request, {'tools': TOOLS, 'nextCursor': str(len(cursor)) + cursor[:20] + str(time.time())}))\n\
         serve({'tools/list': more})",
    );
    outcome.ended(1).used_at_most(SMALL_MEMORY_MIB_MAX);
    assert_seen!("endless_pages", [&outcome]);
}

#[test]
fn a_list_with_endless_large_pages() {
    probe(
        &[],
        "def more(request):\n    \
             tool = {'name': 'a', 'description': 'x' * 8000000, 'inputSchema': {}}\n    \
             write(result(request, {'tools': [tool], 'nextCursor': str(time.time())}))\n\
         serve({'tools/list': more})",
    )
    .ended(1)
    .says(&["tools/list", "hint:"]);
}

#[test]
fn a_list_whose_pages_come_slowly() {
    // Each page is in time, and the list would take for ever.
    probe(
        &["--call-timeout", "400ms", "--shutdown-timeout", "1s"],
        "def more(request):\n    \
             time.sleep(0.1)\n    \
             write(result(request, {'tools': TOOLS, 'nextCursor': str(time.time())}))\n\
         serve({'tools/list': more})",
    )
    .ended(1)
    .says(&["tools/list", "hint:"]);
}

#[test]
fn a_list_of_two_hundred_thousand_tools() {
    let outcome = probe(
        &[],
        "serve(tools=[{'name': 'tool%d' % n, 'inputSchema': {'type': 'object'}} for n in range(200000)])",
    );
    assert_seen!("many_tools", [outcome.ended(1)]);
}

#[test]
fn a_name_of_ten_megabytes() {
    let script =
        "serve(tools=[{'name': 'n' * 10000000, 'inputSchema': {'type': 'object'}}] + TOOLS)";
    let outcome = probe(&[], script);
    outcome.ended(0);
    assert!(outcome.stdout.len() < 10_000, "{}", outcome.stdout.len());
    // The same in a message.
    probe(
        &[],
        "serve({'tools/call': lambda request: write(error(request, 1, 'n' * 10000000))})",
    )
    .ended(2);
    probe(
        &[],
        "serve({'tools/call': lambda request: write(error(request, 1, 'n ' * 5000000))})",
    )
    .ended(2);
}

#[test]
fn a_name_given_twice() {
    let outcome = probe(&[], "serve(tools=TOOLS + TOOLS)");
    assert_seen!("name_given_twice", [outcome.ended(0)]);
}

#[test]
fn schemas_that_mean_no_good() {
    at_once(
        &[
            "{'$ref': '#'}",
            "{'$ref': '#/$defs/a', '$defs': {'a': {'$ref': '#/$defs/b'}, 'b': {'$ref': '#/$defs/a'}}}",
            "{'type': 'object', 'required': ['a'], 'properties': {'a': {'$ref': '#'}}}",
            "{'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'string', 'pattern': '^(a+)+$', 'minLength': 40}}}",
            "{'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'string', 'pattern': '(?=(x+x+)+y)(a|a)*b{1000}{1000}'}}}",
            "{'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'string', 'pattern': '(' * 5000}}}",
            "{'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'string', 'minLength': 10 ** 15}}}",
            "{'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'array', 'minItems': 10 ** 12}}}",
            "{'type': 'object', 'minProperties': 10 ** 12}",
            "{'type': 'object', 'required': ['r%d' % n for n in range(50000)]}",
            "{'allOf': [{'anyOf': [{'const': n}, {'type': 'object'}]} for n in range(2000)]}",
            "{'$ref': 'http://127.0.0.1:1/schema'}",
            "{'$ref': 'file:///etc/passwd'}",
            "'text'",
            "7",
            "None",
            "[]",
        ],
        |&schema| {
            let script = format!("serve(tools=[{{'name': 'a', 'inputSchema': {schema}}}])");
            let outcome = probe(&["--call-timeout", "5s"], &script);
            assert!(
                matches!(outcome.status.code(), Some(0..=2)),
                "{schema}: {}",
                outcome.excerpt()
            );
            outcome.ended(outcome.status.code().unwrap_or(-1));
        },
    );
}

#[test]
fn a_schema_of_ten_megabytes() {
    for schema in [
        "{'type': 'object', 'description': 'x' * 10000000}",
        "{'type': 'object', 'properties': {'p%d' % n: {'type': 'string', 'description': 'x' * 80} for n in range(60000)}}",
        "{'type': 'object', 'required': ['a'], 'properties': {'a': {'enum': ['x' * 100 for n in range(90000)]}}}",
    ] {
        let script = format!("serve(tools=[{{'name': 'a', 'inputSchema': {schema}}}])");
        let outcome = probe(&[], &script);
        outcome.ended(outcome.status.code().unwrap_or(-1));
    }
}

#[test]
fn a_reply_that_changes_with_time_is_no_race() {
    // As a clock that goes on just after the calls made alone.
    let program = python(
        "count = 0\n\
         def call(request):\n    \
             global count\n    \
             count += 1\n    \
             text = 'early' if count <= 5 else 'later'\n    \
             write(result(request, {'content': [{'type': 'text', 'text': text}]}))\n\
         serve({'tools/call': call})",
    );
    let folder = tempfile::tempdir().unwrap();
    let server: &[&str] = &["--", "python3", "-c", &program];
    let options: &[&str] = &[
        "run",
        "--scenario",
        "race_check",
        "-c",
        "3",
        "--rounds",
        "1",
    ];
    let mut command = mcprove(&[options, server].concat());
    command.current_dir(folder.path());
    Running::start(command)
        .end()
        .ended(2)
        .says(&["The tool's reply already differs"]);
}

#[test]
fn a_load_is_not_content_with_what_is_no_result() {
    // What is told always, and what only strict mode looks for.
    let cases = [
        ("5", true),
        ("None", true),
        ("'x'", true),
        ("[]", true),
        ("{'content': [], 'isError': 'yes'}", true),
        ("{}", false),
        ("{'content': 'x'}", false),
        ("{'content': [{'type': 'text'}]}", false),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (value, is_told_always) in cases {
        let program = python(&format!(
            "serve({{'tools/call': lambda request: write(result(request, {value}))}})"
        ));
        for strict in [&["--strict"][..], &[]] {
            let options: &[&str] = &["run", "--calls", "20", "-c", "2"];
            let server: &[&str] = &["--", "python3", "-c", &program];
            let mut command = mcprove(&[options, strict, server].concat());
            command.current_dir(folder.path());
            let outcome = Running::start(command).end();
            if is_told_always || !strict.is_empty() {
                outcome
                    .ended(1)
                    .says(&["Malformed 20", "20 calls were answered"]);
            } else {
                outcome.ended(0);
            }
        }
    }
}
