use mcprove_fault::{CallSite, KnownCall};

use super::*;
use crate::message::IdKey;
use crate::watch::{Settings, needed};
use mcprove_trace::FaultKind;

fn key(number: u32) -> CallKey {
    ("".into(), IdKey::Number(number.into()))
}

/// A call of that many bytes is held.
fn hold(calls: &FaultedCalls, number: u32, bytes: usize) -> Arc<PendingCall> {
    let site = CallSite {
        server: "api",
        tool: "echo",
        arguments: "",
    };
    let watch = Watch::new(Settings::default());
    let call = Arc::new(PendingCall {
        log_id: watch.journal.call(0, &KnownCall::new(site), None),
        watch,
        key: key(number),
        serial: calls.serial(),
        id: "1".to_owned(),
        tool: "echo".to_owned(),
        progress_token: None,
        is_stateless: false,
        message: vec![0; bytes].into(),
        recorded: None,
        due: None,
        is_heard: false,
        is_lost: false,
        is_forwarded: AtomicBool::default(),
        ignores_cancellation: AtomicBool::default(),
        task: OnceLock::new(),
    });
    calls.strike(&call, std::future::pending());
    call
}

#[tokio::test]
async fn what_is_held_is_bounded_in_bytes() {
    let calls = FaultedCalls::default();
    assert!(calls.has_room(HELD_BYTES_MAX));
    assert!(!calls.has_room(HELD_BYTES_MAX + 1));
    let held = hold(&calls, 1, HELD_BYTES_MAX - 10);
    assert!(calls.has_room(10) && !calls.has_room(11));
    calls.finish(&held);
    assert!(calls.has_room(HELD_BYTES_MAX));
}

#[test]
fn calls_that_never_go_on_are_held_without_their_bytes() {
    let message = b"{}";
    for kind in [FaultKind::Hang, FaultKind::LoseRequest, FaultKind::Error] {
        assert!(needed(kind, message).is_empty(), "{kind:?}");
    }
    for kind in [FaultKind::Slow, FaultKind::LoseReply, FaultKind::Reorder] {
        assert_eq!(needed(kind, message), &message[..], "{kind:?}");
    }
}

#[tokio::test]
async fn names_of_calls_that_never_went_on_are_remembered_and_forgotten() {
    let calls = FaultedCalls::default();
    assert_eq!(calls.cancel(&key(1)), None);
    for _ in 0..2 {
        hold(&calls, 1, 0);
        assert_eq!(calls.cancel(&key(1)), Some(false));
    }
    // Once more, though nobody holds it any more.
    assert_eq!(calls.cancel(&key(1)), Some(false));
    calls.forget(&key(1));
    assert_eq!(calls.cancel(&key(1)), None);
    // However many there are, the oldest go.
    let most = u32::try_from(UNFORWARDED_MAX).unwrap();
    for number in 0..=most {
        let held = hold(&calls, number, 0);
        calls.finish(&held);
    }
    assert_eq!(calls.cancel(&key(0)), None);
    assert_eq!(calls.cancel(&key(most)), Some(false));
    assert_eq!(lock(&calls.0).unforwarded_last.len(), UNFORWARDED_MAX);
}
