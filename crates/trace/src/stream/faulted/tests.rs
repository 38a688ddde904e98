//! What counts against the server though a fault struck the call.

use std::time::Duration;

use crate::{CallFailure, CallTag, ErrorCategory, Event, EventKind, RequestKey};

use crate::stream::{Metrics, MetricsSink, Sink};

const REQUEST: RequestKey = RequestKey { session: 0, id: 7 };
const SECOND: Duration = Duration::from_secs(1);

fn note<'a>(name: &'a str, data: &'a str) -> EventKind<'a> {
    EventKind::ScenarioEvent {
        name,
        message: "",
        data,
    }
}

fn failed(category: ErrorCategory, duration: Duration) -> EventKind<'static> {
    EventKind::Error {
        request: REQUEST,
        method: "tools/call",
        tool: Some("add"),
        duration,
        failure: CallFailure {
            category,
            message: "it failed",
            code: None,
            server_message: "",
            answer: "",
        },
        tag: CallTag::default(),
    }
}

fn hang(hung_for: Duration) -> EventKind<'static> {
    EventKind::Hang {
        request: REQUEST,
        hung_for,
    }
}

/// A call of add that a fault strikes, and what becomes of it.
fn struck(fault: &str, after: &[EventKind<'_>]) -> Metrics {
    let sink = MetricsSink::new();
    let mut shard = sink.shard();
    let strike = format!(r#"{{"session":0,"request_id":7,"fault":"f","tool":"add",{fault}}}"#);
    let request = EventKind::Request {
        request: REQUEST,
        method: "tools/call",
        tool: Some("add"),
        params: "{}",
        client_id: "",
        tag: CallTag::default(),
    };
    let before = [note("faults", "[]"), note("fault", &strike), request];
    for (place, kind) in before.iter().chain(after).enumerate() {
        let at = SECOND * u32::try_from(place).unwrap();
        shard.record(&Event { at, kind: *kind }).unwrap();
    }
    shard.merge().unwrap();
    sink.snapshot()
}

#[test]
fn an_error_that_the_fault_cannot_cause_is_the_servers() {
    let error = [failed(ErrorCategory::ServerError, SECOND)];
    for fault in [
        r#""kind":"slow","delay_ms":5.0"#,
        r#""kind":"reorder","held_ms":550.0"#,
        r#""kind":"corrupt""#,
    ] {
        let metrics = struck(fault, &error);
        let total = metrics.total();
        assert_eq!((total.sent, total.failed()), (1, 1), "{fault}");
        let own = &metrics.faults.struck["f"];
        assert_eq!((own.calls(), own.servers_own, own.failed()), (1, 1, 0));
        assert!(!own.has_open());
    }
    for fault in [r#""kind":"error""#, r#""kind":"flaky""#] {
        let metrics = struck(fault, &error);
        assert_eq!((metrics.total().sent, metrics.total().failed()), (0, 0));
        assert_eq!(metrics.faults.struck["f"].failed(), 1);
    }
}

#[test]
fn a_hang_is_the_servers_unless_the_fault_holds_the_call() {
    let ends = [
        hang(5 * SECOND),
        failed(ErrorCategory::Deadlock, 15 * SECOND),
    ];
    let metrics = struck(r#""kind":"slow","delay_ms":5.0"#, &ends);
    assert_eq!(
        (metrics.hangs, metrics.faults.sum(|struck| struck.hung)),
        (1, 0)
    );
    assert_eq!(metrics.total().errors[&ErrorCategory::Deadlock], 1);
    assert_eq!(metrics.total().sent, 1);
    // Held for a good part of the time, but the rest is a hang by itself.
    let metrics = struck(r#""kind":"slow","delay_ms":4000.0"#, &ends);
    assert_eq!(
        (
            metrics.total().failed(),
            metrics.faults.sum(|struck| struck.hung)
        ),
        (1, 0)
    );
    // Held so long that it had to hang.
    let metrics = struck(r#""kind":"slow","delay_ms":14000.0"#, &ends);
    assert_eq!(
        (
            metrics.total().failed(),
            metrics.faults.sum(|struck| struck.hung)
        ),
        (0, 1)
    );
    let metrics = struck(r#""kind":"hang""#, &ends);
    assert_eq!(
        (
            metrics.total().failed(),
            metrics.faults.sum(|struck| struck.hung)
        ),
        (0, 1)
    );
    assert_eq!(metrics.faults.struck["f"].released_at, Some(4 * SECOND));
}

#[test]
fn calls_that_had_no_end_were_struck_all_the_same() {
    let metrics = struck(r#""kind":"hang""#, &[]);
    let struck = &metrics.faults.struck["f"];
    assert_eq!((struck.calls(), struck.ended()), (1, 0));
    assert!(struck.has_open());
}

#[test]
fn connections_beyond_the_limit_are_counted() {
    let sink = MetricsSink::new();
    let mut shard = sink.shard();
    for session in 0..100_003 {
        let data = format!(r#"{{"session":{session},"fault":"f"}}"#);
        let kind = note("fault_ended_session", &data);
        let at = Duration::ZERO;
        shard.record(&Event { at, kind }).unwrap();
    }
    shard.merge().unwrap();
    let metrics = sink.snapshot();
    assert_eq!(metrics.faults.sessions_forgotten, 3);
    assert_eq!(metrics.faults.struck["f"].connections_ended, 100_003);
}
