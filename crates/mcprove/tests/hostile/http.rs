//! Hostile answers over HTTP and HTTP+SSE.

use crate::run::{Outcome, SMALL_MEMORY_MIB_MAX, assert_seen, at_once, probe_address};

const URL: &str = "http://127.0.0.1:{}/mcp";

/// A server that answers calls by `body`, which may use `connection` and `request`.
fn call(arguments: &[&str], body: &str) -> Outcome {
    on("tools/call", arguments, body)
}

fn on(method: &str, arguments: &[&str], body: &str) -> Outcome {
    let script = format!(
        "def hostile(connection, request):\n    {body}\nserve_http({{'{method}': hostile}})"
    );
    probe_address(&[&["--url", URL], arguments].concat(), &script)
}

/// With a message limit of 1 MiB and a call timeout of 2 s.
const SMALL: &[&str] = &["--max-frame", "1MiB", "--call-timeout", "2s"];

#[test]
fn a_body_of_a_gibibyte() {
    let with_length = "connection.sendall(head(length=1 << 30)); [connection.sendall(MEBIBYTE) for _ in range(1024)]";
    let chunked = "connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n')\n    \
                   [connection.sendall(chunk(MEBIBYTE)) for _ in range(1024)]\n    \
                   connection.sendall(b'0\\r\\n\\r\\n')";
    let one_chunk = "connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n40000000\\r\\n')\n    \
                     [connection.sendall(MEBIBYTE) for _ in range(1024)]";
    for body in [with_length, chunked, one_chunk] {
        call(&[], body)
            .ended(1)
            .says(&["Malformed", "67108864", "Next", "--max-frame"]);
        call(SMALL, body)
            .ended(1)
            .used_at_most(SMALL_MEMORY_MIB_MAX)
            .says(&["Malformed", "1048576", "Next"]);
    }
}

#[test]
fn a_refusal_of_a_gibibyte() {
    on(
        "initialize",
        &["--max-frame", "1MiB"],
        "connection.sendall(head('text/html', 1 << 30, '500 No')); [connection.sendall(MEBIBYTE) for _ in range(1024)]",
    )
    .ended(2)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["error:", "hint:"]);
}

#[test]
fn an_event_that_never_ends() {
    let endless_line =
        "connection.sendall(head('text/event-stream') + b'data: '); forever(connection, MEBIBYTE)";
    let endless_lines =
        "connection.sendall(head('text/event-stream')); forever(connection, b'data: x\\n' * 10000)";
    let endless_id =
        "connection.sendall(head('text/event-stream') + b'id: '); forever(connection, MEBIBYTE)";
    call(&[], endless_line)
        .ended(1)
        .says(&["Malformed", "67108864", "Next"]);
    for body in [endless_line, endless_lines, endless_id] {
        call(SMALL, body)
            .ended(1)
            .used_at_most(SMALL_MEMORY_MIB_MAX)
            .says(&["Malformed", "1048576", "Next"]);
    }
}

#[test]
fn a_stream_that_brings_nothing_for_ever() {
    at_once(
        &[
            "b': keep-alive\\n\\n'",
            "b': x\\n' * 10000",
            "b'event: ping\\ndata: x\\n\\n' * 10000",
            "b'id: 1\\n\\n' * 10000",
            "b'data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\\n\\n' * 1000",
            "b'data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\\n\\n' * 1000",
        ],
        |&data| {
            call(
            SMALL,
            &format!(
                "connection.sendall(head('text/event-stream')); forever(connection, {data}, 0.001)"
            ),
        )
        .ended(1)
        .used_at_most(SMALL_MEMORY_MIB_MAX)
        .says(&["hang", "Next"]);
        },
    );
}

#[test]
fn a_stream_that_ends_again_and_again() {
    // It can be resumed, brings something each time, and never the answer.
    let script = "def stream(connection, request=None):\n    \
                      connection.sendall(head('text/event-stream') + b'retry: 0\\nid: %d\\ndata: \\n\\n' % time.time_ns())\n\
                  serve_http({'tools/call': stream}, get=stream)";
    probe_address(&["--url", URL, "--call-timeout", "2s"], script)
        .ended(1)
        .used_at_most(SMALL_MEMORY_MIB_MAX)
        .says(&["hang", "Next"]);
}

#[test]
fn headers_that_never_end() {
    at_once(
        &[
            "connection.sendall(b'HTTP/1.1 200 OK\\r\\n'); forever(connection, b'A: b\\r\\n' * 1000)",
            "connection.sendall(b'HTTP/1.1 200 OK\\r\\nA: '); [connection.sendall(MEBIBYTE) for _ in range(1024)]",
            "forever(connection, b'HTTP/1.1 100 Continue\\r\\n\\r\\n' * 1000)",
        ],
        |&body| {
            let outcome = call(&["--call-timeout", "5s"], body);
            outcome
                .ended(1)
                .used_at_most(SMALL_MEMORY_MIB_MAX)
                .says(&["Next"]);
            on("initialize", &["--startup-timeout", "3s"], body)
                .ended(2)
                .used_at_most(SMALL_MEMORY_MIB_MAX)
                .says(&["error:", "hint:"]);
        },
    );
}

#[test]
fn answers_byte_by_byte() {
    at_once(
        &[
            "b'HTTP/1.1 200 OK\\r\\n'",
            "head(length=1 << 20)",
            "head('text/event-stream')",
        ],
        |&start| {
            call(
                SMALL,
                &format!("connection.sendall({start}); forever(connection, b'x', 0.01)"),
            )
            .ended(1)
            .used_at_most(SMALL_MEMORY_MIB_MAX)
            .says(&["hang", "Next"]);
        },
    );
}

#[test]
fn a_compressed_answer_that_nobody_asked_for() {
    let outcome = call(
        &[],
        "import gzip; data = gzip.compress(encode(answer(request, [])))\n    \
         connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Encoding: gzip\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(data) + data)",
    );
    assert_seen!("gzip", [outcome.ended(1)]);
}

#[test]
fn redirects() {
    let outcome = on(
        "initialize",
        &[],
        "connection.sendall(b'HTTP/1.1 302 Found\\r\\nLocation: /again\\r\\nContent-Length: 0\\r\\n\\r\\n')",
    );
    assert_seen!("redirect", [outcome.ended(2)]);
}

#[test]
fn what_is_no_http() {
    at_once(
        &[
            "connection.sendall(b'<html>hello</html>\\n')",
            "connection.sendall(b'SSH-2.0-OpenSSH\\r\\n')",
            "connection.sendall(bytes(range(256)))",
            "connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: -5\\r\\n\\r\\n')",
            "connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\n')",
            "connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: 500\\r\\n\\r\\n{')",
            "connection.sendall(b'HTTP/1.1 999 Odd\\r\\nContent-Length: 0\\r\\n\\r\\n')",
            "connection.sendall(b'HTTP/1.1 204 No Content\\r\\n\\r\\n')",
            "connection.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\nConnection: upgrade\\r\\n\\r\\n')",
            "pass",
        ],
        |&body| {
            on("initialize", &["--startup-timeout", "3s"], body)
                .ended(2)
                .says(&["error:", "hint:"]);
            let outcome = call(&["--call-timeout", "3s"], body);
            outcome.ended(outcome.status.code().unwrap_or(-1));
        },
    );
}

#[test]
fn broken_json() {
    let outcomes = at_once(
        &[
            "b'[' * 100000 + b']' * 100000",
            "b'{\"a\":' * 100000",
            "b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":\"\\xff\"}' % request['id']",
            "b'{\"jsonrpc\":\"2.0\",\"result\":{}}'",
            "b'null'",
            "b'{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}'",
        ],
        |&body| {
            let script =
                format!("data = {body}; connection.sendall(head(length=len(data)) + data)");
            call(SMALL, &script)
        },
    );
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.status.code() == Some(1))
    );
    // The first are cut somewhere.
    assert_seen!("broken_json", &outcomes[2..]);
}

/// A server of revision 2024-11-05 whose stream is what `body` sends on `connection`.
fn old(arguments: &[&str], body: &str) -> Outcome {
    let script = format!(
        "def handle(connection):\n    \
             read_http(connection.makefile('rb'))\n    \
             {body}\n\
         listen(handle)"
    );
    probe_address(
        &[&["--url", URL, "--transport", "sse"], arguments].concat(),
        &script,
    )
}

#[test]
fn an_endpoint_elsewhere() {
    let outcomes = [
        "http://169.254.169.254/latest",
        "https://127.0.0.1/x",
        "//example.com/x",
        "file:///etc/passwd",
        "http://user@evil/",
        "\\\\ \\x00",
    ]
    .map(|endpoint| {
        old(
            &[],
            &format!("connection.sendall(head('text/event-stream') + b'event: endpoint\\ndata: {endpoint}\\n\\n'); time.sleep(1)"),
        )
    });
    assert_seen!(
        "endpoint_elsewhere",
        outcomes.iter().map(|outcome| outcome.ended(2))
    );
}

#[test]
fn no_endpoint_at_all() {
    at_once(
        &[
            "connection.sendall(head('text/event-stream')); time.sleep(1000)",
            "connection.sendall(head('text/event-stream')); forever(connection, b': x\\n\\n' * 1000)",
            "time.sleep(1000)",
        ],
        |&body| {
            let outcome = old(&["--startup-timeout", "2s"], body);
            outcome
                .ended(2)
                .used_at_most(SMALL_MEMORY_MIB_MAX)
                .says(&["error:", "hint:"]);
        },
    );
    old(&["--max-frame", "1MiB"], "connection.sendall(head('text/event-stream') + b'event: endpoint\\ndata: '); forever(connection, MEBIBYTE)")
        .ended(2)
        .used_at_most(SMALL_MEMORY_MIB_MAX)
        .says(&["error:", "1048576", "hint:"]);
    let outcome = old(&[], "connection.sendall(head('text/event-stream'))");
    assert_seen!("no_endpoint", [outcome.ended(2)]);
}
