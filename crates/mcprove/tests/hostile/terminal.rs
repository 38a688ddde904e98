//! Nothing that a server wrote reaches the terminal raw: no escape codes, no control characters.

use crate::run::{Listening, Outcome, Running, mcprove, probe, probe_address, python};

/// Erases the screen, sets the title, starts a link, and the same with a one-byte introducer;
/// then turns the direction of writing around and rings the bell.
const EVIL: &str =
    r"'\x1b[2J\x1b]0;title\x07\x1b]8;;http://x\x1b\\evil\x9b31m\u202e\u2066\x7f\x08\r\x00'";

#[track_caller]
fn assert_clean(outcome: &Outcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        let bad = text.chars().find(|character| {
            (character.is_control() && !matches!(character, '\n' | '\t'))
                || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(bad, None, "{:?}", outcome.excerpt());
    }
    outcome.ended(outcome.status.code().unwrap_or(-1));
}

/// A server that says it everywhere it can.
fn everywhere() -> String {
    format!(
        "evil = {EVIL}\n\
         sys.stderr.write(evil + '\\n'); sys.stderr.flush()\n\
         def hello(request):\n    \
             value = greeting('2025-' + evil)\n    \
             value['serverInfo'] = {{'name': evil, 'version': evil}}\n    \
             write(result(request, value))\n\
         def call(request):\n    \
             name = request['params']['name']\n    \
             write(evil.encode() + b'\\n')\n    \
             write({{'jsonrpc': '2.0', 'id': evil, 'result': {{}}}})\n    \
             write({{'jsonrpc': '2.0', 'method': evil, 'id': 3}})\n    \
             if name == 'fails': write(error(request, 5, evil))\n    \
             elif name == 'breaks': write(b'{{' + evil.encode() + b'\\n')\n    \
             elif name == 'dies': sys.exit(3)\n    \
             else: write(result(request, {{'isError': True, 'content': [{{'type': 'text', 'text': evil}}]}}))\n\
         names = ['fails', 'breaks', evil + 'a', 'dies', evil + 'b']\n\
         serve({{'initialize': hello, 'tools/call': call}}, [{{'name': name, 'inputSchema': {{'type': 'object'}}}} for name in names])"
    )
}

#[test]
fn a_report_is_clean() {
    let outcome = probe(&[], &everywhere());
    assert_clean(&outcome);
    outcome.ended(1).says(&["evil"]);
    assert_clean(&probe(&["--tee-stderr"], &everywhere()));
}

#[test]
fn json_is_clean_and_whole() {
    let outcome = probe(&["--json"], &everywhere());
    assert_clean(&outcome);
    let report = outcome.report();
    assert!(
        report["server"]["name"]
            .as_str()
            .unwrap()
            .contains("\u{1b}[2J")
    );
}

#[test]
fn errors_are_clean() {
    let scripts = [
        format!("sys.stderr.write({EVIL} + '\\n'); sys.exit(3)"),
        format!("sys.stderr.write({EVIL} * 3000); sys.exit(3)"),
        format!("serve({{'initialize': lambda request: write(error(request, 5, {EVIL}))}})"),
        format!("serve({{'tools/list': lambda request: write(error(request, 5, {EVIL}))}})"),
        format!(
            "serve({{'tools/list': lambda request: write(result(request, {{'tools': [{{'name': {{{EVIL}: 1}}}}]}}))}})"
        ),
        format!(
            "serve({{'initialize': lambda request: write(result(request, {{{EVIL}: 1, 'protocolVersion': {{}}}}))}})"
        ),
    ];
    // The first three were never reached; the others broke the protocol.
    for (index, script) in scripts.iter().enumerate() {
        let outcome = probe(&[], script);
        assert_clean(&outcome);
        outcome.ended(if index < 3 { 2 } else { 1 });
    }
    let strict = format!(
        "serve({{'initialize': lambda request: write(result(request, greeting({EVIL})))}})"
    );
    let outcome = probe(&["--strict-protocol"], &strict);
    assert_clean(&outcome);
    outcome.ended(2);
}

#[test]
fn what_the_doctor_says_is_clean() {
    for json in [&[][..], &["--json"]] {
        for script in [
            everywhere(),
            format!("sys.stderr.write({EVIL} + '\\n'); sys.exit(3)"),
            format!("write({EVIL}.encode() + b'\\n'); serve()"),
        ] {
            let program = python(&script);
            let mut arguments = vec!["doctor"];
            arguments.extend_from_slice(json);
            arguments.extend_from_slice(&["--", "python3", "-c", &program]);
            assert_clean(&Running::start(mcprove(&arguments)).end());
        }
    }
}

#[test]
fn what_a_web_server_says_is_clean() {
    for body in [
        "head(length=len(evil.encode()), status='500 Bad') + evil.encode()".to_owned(),
        "b'HTTP/1.1 400 ' + b'\\x1b[2J' + b'\\r\\n\\r\\n'".to_owned(),
        "head(kind='text/html', length=1000) + evil.encode() * 100".to_owned(),
        "evil.encode()".to_owned(),
    ] {
        let script = format!(
            "evil = {EVIL}\n\
             def handle(connection):\n    \
                 read_http(connection.makefile('rb'))\n    \
                 connection.sendall({body})\n\
             listen(handle)"
        );
        let outcome = probe_address(&["--url", "http://127.0.0.1:{}/mcp"], &script);
        assert_clean(&outcome);
        outcome.ended(2);
    }
    let server = Listening::start(
        "def handle(connection):\n    \
             read_http(connection.makefile('rb'))\n    \
             connection.sendall(head('text/event-stream') + b'event: endpoint\\ndata: http://\\x1b[2J\\xc2\\x9b/\\n\\n')\n\
         listen(handle)",
    );
    let url = format!("http://127.0.0.1:{}/sse", server.port);
    let outcome = Running::start(mcprove(&["probe", "--transport", "sse", "--url", &url])).end();
    assert_clean(&outcome);
    outcome.ended(2);
}
