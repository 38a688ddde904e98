//! Hostile answers over WebSocket.

use crate::run::{Outcome, SMALL_MEMORY_MIB_MAX, at_once, probe_address};

const URL: &str = "ws://127.0.0.1:{}/mcp";

fn call(arguments: &[&str], body: &str) -> Outcome {
    let script = format!(
        "def hostile(connection, request):\n    {body}\nserve_websocket({{'tools/call': hostile}})"
    );
    probe_address(&[&["--url", URL], arguments].concat(), &script)
}

#[test]
fn messages_over_the_limit() {
    for body in [
        "connection.sendall(frame(MEBIBYTE * 2))",
        "connection.sendall(frame(b'', length=1 << 62)); forever(connection, MEBIBYTE)",
        "connection.sendall(frame(MEBIBYTE[:1000], final=False)); forever(connection, frame(MEBIBYTE[:100000], opcode=0, final=False))",
    ] {
        call(&["--max-frame", "1MiB"], body)
            .ended(1)
            .used_at_most(SMALL_MEMORY_MIB_MAX)
            .says(&["Malformed", "1048576", "Next"]);
    }
    call(
        &[],
        "connection.sendall(frame(b'', length=1 << 30)); [connection.sendall(MEBIBYTE) for _ in range(1024)]",
    )
    .ended(1)
    .says(&["Malformed", "67108864", "Next"]);
    call(
        &[],
        "connection.sendall(frame(b'x', final=False)); forever(connection, frame(MEBIBYTE, opcode=0, final=False))",
    )
    .ended(1)
    .says(&["Malformed", "67108864", "Next"]);
}

#[test]
fn messages_that_say_nothing_for_ever() {
    at_once(
        &[
            "frame(b'', opcode=9)",
            "frame(b'') * 1000",
            "frame(b'x', opcode=0, final=False)",
        ],
        |&data| {
            let outcome = call(
                &["--call-timeout", "2s"],
                &format!("forever(connection, {data})"),
            );
            outcome
                .ended(1)
                .used_at_most(SMALL_MEMORY_MIB_MAX)
                .says(&["Next"]);
        },
    );
    call(
        &["--call-timeout", "2s", "--max-frame", "1MiB"],
        "connection.sendall(frame(b'x', final=False)); forever(connection, frame(b'', opcode=0, final=False) * 1000)",
    )
    .ended(1)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["hang", "Next"]);
}

#[test]
fn pings_whose_answers_nobody_reads_end_the_connection() {
    call(
        &["--call-timeout", "60s"],
        "forever(connection, frame(MEBIBYTE[:125], opcode=9) * 10000)",
    )
    .ended(1)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["Disconnected", "Next"]);
}

#[test]
fn frames_that_are_none() {
    at_once(
        &[
            ("connection.sendall(frame(b'\\xff\\xfe'))", "Malformed"),
            ("connection.sendall(b'\\xff' * 1000)", "Malformed"),
            (
                "connection.sendall(frame(b'{', length=1000))",
                "Disconnected",
            ),
            ("connection.sendall(frame(b'{}'))", "Disconnected"),
            (
                "connection.sendall(frame(b'[' * 100000)); time.sleep(1000)",
                "hang",
            ),
        ],
        |&(body, expected)| {
            call(&["--call-timeout", "2s"], body)
                .ended(1)
                .says(&[expected, "Next"]);
        },
    );
}

#[test]
fn handshakes_that_lead_nowhere() {
    at_once(
        &[
            "time.sleep(1000)",
            "connection.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\n'); forever(connection, b'A: b\\r\\n' * 1000)",
            "connection.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nA: '); forever(connection, MEBIBYTE)",
            "connection.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\n'); forever(connection, b'x', 0.01)",
            "connection.sendall(head(length=1 << 30, status='400 Bad')); forever(connection, MEBIBYTE)",
            "connection.sendall(bytes(range(256)))",
            "pass",
        ],
        |&body| {
            let script = format!(
                "def handle(connection):\n    \
                 read_http(connection.makefile('rb'))\n    \
                 {body}\n\
             listen(handle)"
            );
            probe_address(&["--url", URL, "--startup-timeout", "2s"], &script)
                .ended(2)
                .used_at_most(SMALL_MEMORY_MIB_MAX)
                .says(&["error:", "hint:"]);
        },
    );
}
