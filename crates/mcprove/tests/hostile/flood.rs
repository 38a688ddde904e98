//! Servers that never stop talking, or never listen.

use crate::run::{SMALL_MEMORY_MIB_MAX, assert_seen, probe};

#[test]
fn a_flood_on_stderr() {
    probe(
        &[],
        "def flood():\n    \
             while True: os.write(2, b'x' * 65536)\n\
         threading.Thread(target=flood, daemon=True).start()\n\
         serve()",
    )
    .ended(0)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["PASS"]);
}

#[test]
fn a_server_that_never_reads() {
    let never = probe(&["--startup-timeout", "2s"], "time.sleep(1000)");
    // It reads no more once it is called.
    let no_more = probe(
        &["--call-timeout", "1s", "--shutdown-timeout", "100ms"],
        "serve({'tools/call': lambda request: time.sleep(1000)}, [\n    \
             {'name': 'one', 'inputSchema': {'type': 'object'}},\n    \
             {'name': 'two', 'inputSchema': {'type': 'object', 'required': ['text'],\n        \
                 'properties': {'text': {'type': 'string', 'minLength': 10000}}}}])",
    );
    assert_seen!("never_reads", [never.ended(2)]);
    no_more.ended(1).says(&["one hang", "two hang", "Next"]);
}

#[test]
fn a_million_notifications() {
    probe(
        &[],
        "def call(request):\n    \
             line = b'{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\\n'\n    \
             [write(line * 10000) for _ in range(100)]\n    \
             write(answer(request, []))\n\
         serve({'tools/call': call})",
    )
    .ended(0)
    .used_at_most(SMALL_MEMORY_MIB_MAX);
}

#[test]
fn a_million_answers_to_nobody() {
    let outcome = probe(
        &["--json"],
        "def call(request):\n    \
             for start in range(0, 1000000, 10000):\n        \
                 write(b''.join(b'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\\n' % (1000 + start + n) for n in range(10000)))\n    \
             write(answer(request, []))\n\
         serve({'tools/call': call})",
    );
    outcome.ended(1).used_at_most(SMALL_MEMORY_MIB_MAX);
    let report = outcome.report();
    assert_eq!(report["violations"][0]["kind"], "unknown_reply");
    assert!(report["violations"].as_array().unwrap().len() <= 101);
}

#[test]
fn violations_that_are_large() {
    // The first hundred are kept, and no more of each than can be read.
    for line in [
        "b'{\"jsonrpc\":\"2.0\",\"id\":\"' + MEBIBYTE * 4 + b'\",\"result\":{}}\\n'",
        "b'{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"' + MEBIBYTE * 4 + b'\"}}\\n'",
    ] {
        let script = format!(
            "def call(request):\n    \
                 for _ in range(60): write({line})\n    \
                 write(answer(request, []))\n\
             def first(request):\n    \
                 write(answer(request, TOOLS)); call(request)\n\
             serve({{'tools/call': call, 'tools/list': first}})"
        );
        let outcome = probe(&["--json", "--shutdown-timeout", "100ms"], &script);
        outcome.used_at_most(120);
        assert!(matches!(outcome.status.code(), Some(0 | 1)));
        outcome.ended(outcome.status.code().unwrap_or(-1));
        assert!(outcome.stdout.len() < 1_000_000);
    }
}

#[test]
fn endless_requests_to_the_client() {
    // Nothing reads the answers, which are dropped in the end; the call ends by its deadline.
    let outcome = probe(
        &["--call-timeout", "1s", "--shutdown-timeout", "100ms"],
        "def call(request):\n    \
             line = b'{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\\n' * 1000\n    \
             while True: write(line)\n\
         serve({'tools/call': call})",
    );
    outcome
        .ended(1)
        .used_at_most(SMALL_MEMORY_MIB_MAX)
        .says(&["hang", "Next"]);
}

#[test]
fn endless_requests_to_the_client_whose_answers_are_read() {
    probe(
        &["--call-timeout", "1s", "--shutdown-timeout", "100ms"],
        "def call(request):\n    \
             for number in range(10 ** 9):\n        \
                 write({'jsonrpc': '2.0', 'id': number, 'method': 'ping'})\n        \
                 sys.stdin.buffer.readline()\n\
         serve({'tools/call': call})",
    )
    .ended(1)
    .used_at_most(SMALL_MEMORY_MIB_MAX)
    .says(&["hang"]);
}

#[test]
fn a_question_whose_answer_would_be_as_large() {
    // An id or a method comes back in the answer, and nobody reads it.
    for line in [
        "b'{\"jsonrpc\":\"2.0\",\"id\":\"' + MEBIBYTE * 4 + b'\",\"method\":\"ping\"}\\n'",
        "b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"' + MEBIBYTE * 4 + b'\"}\\n'",
    ] {
        probe(
            &["--call-timeout", "2s", "--shutdown-timeout", "100ms"],
            &format!(
                "def call(request):\n    \
                     for _ in range(50): write({line})\n    \
                     time.sleep(1000)\n\
                 serve({{'tools/call': call}})"
            ),
        )
        .ended(1)
        .used_at_most(120)
        .says(&["hang"]);
    }
}
