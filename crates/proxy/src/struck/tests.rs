use mcprove_fault::{CallSite, KnownCall};

use super::*;

/// A call of that many bytes is held; its number.
fn hold(calls: &StruckCalls<u32>, key: u32, bytes: usize) -> u64 {
    let site = CallSite {
        server: "api",
        tool: "echo",
        arguments: "",
    };
    let struck = Struck {
        state: Arc::default(),
        page: Journal::new().call(0, &KnownCall::new(site), None),
        recorded: None,
        due: None,
        bytes,
        is_heard: false,
    };
    calls.strike(&key, struck, |_| Box::pin(std::future::pending()))
}

#[tokio::test]
async fn what_is_held_is_bounded_in_bytes() {
    let calls = StruckCalls::new();
    assert!(calls.has_room(HELD_BYTES_MAX));
    assert!(!calls.has_room(HELD_BYTES_MAX + 1));
    let number = hold(&calls, 1, HELD_BYTES_MAX - 10);
    assert!(calls.has_room(10) && !calls.has_room(11));
    calls.finish(&1, number);
    assert!(calls.has_room(HELD_BYTES_MAX));
}

#[test]
fn calls_that_never_go_on_are_held_without_their_bytes() {
    let message = Bytes::from_static(b"{}");
    for kind in [FaultKind::Hang, FaultKind::LoseRequest, FaultKind::Error] {
        assert!(needed(kind, message.clone()).is_empty(), "{kind:?}");
    }
    for kind in [FaultKind::Slow, FaultKind::LoseReply, FaultKind::Reorder] {
        assert_eq!(needed(kind, message.clone()), message, "{kind:?}");
    }
}

#[tokio::test]
async fn names_of_calls_that_never_went_on_are_remembered_and_forgotten() {
    let calls = StruckCalls::new();
    let journal = Journal::new();
    assert_eq!(calls.cancel(&1, &journal), None);
    for _ in 0..2 {
        hold(&calls, 1, 0);
        assert_eq!(calls.cancel(&1, &journal), Some(false));
    }
    // Once more, though nobody holds it any more.
    assert_eq!(calls.cancel(&1, &journal), Some(false));
    calls.forget(&1);
    assert_eq!(calls.cancel(&1, &journal), None);
    // However many there are, the oldest go.
    let most = u32::try_from(UNFORWARDED_MAX).unwrap();
    for key in 0..=most {
        let number = hold(&calls, key, 0);
        calls.finish(&key, number);
    }
    assert_eq!(calls.cancel(&0, &journal), None);
    assert_eq!(calls.cancel(&most, &journal), Some(false));
    assert_eq!(calls.calls().unforwarded_last.len(), UNFORWARDED_MAX);
}
