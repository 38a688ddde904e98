//! More than a server can bear: calls that are never answered, ids that come again, sessions that
//! nobody closes.

use serde_json::json;

use super::{call, mock, ready, search};
use crate::fixture::tests::{ping, request};

/// As many as are worked on at a time.
const IN_FLIGHT_MAX: u64 = 16_384;

#[tokio::test]
async fn calls_that_are_never_answered_leave_room_for_everything_else() {
    let mut pipe = ready(&mock(&["hang"])).await;
    for id in 1..=IN_FLIGHT_MAX {
        pipe.send(&call(id, "echo", json!({}))).await;
    }
    for id in [20_001, 20_002] {
        let refused = pipe.ask(&call(id, "echo", json!({}))).await;
        assert_eq!(refused["id"], id);
        assert_eq!(refused["error"]["code"], -32000);
    }
    assert_eq!(pipe.ask(&ping(30_000)).await["id"], 30_000);
    let list = pipe.ask(&request(30_001, "tools/list", json!({}))).await;
    assert!(list["result"]["tools"].is_array());
    // One that is given up makes room, and the end of the input is the end.
    let params = json!({ "requestId": 1 });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    pipe.send(&note).await;
    pipe.ask(&ping(30_002)).await;
    pipe.send(&call(1, "echo", json!({}))).await;
    pipe.input = None;
    assert_eq!(pipe.rest().await, b"");
}

#[tokio::test]
async fn a_client_that_reads_late_has_all_its_calls_answered() {
    let mut pipe = ready(&mock(&[])).await;
    let mut input = pipe.input.take().unwrap();
    let count = 2 * IN_FLIGHT_MAX;
    let writing = tokio::spawn(async move {
        for id in 1..=count {
            let line = format!("{}\n", call(id, "echo", json!({})));
            tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes())
                .await
                .unwrap();
        }
        input
    });
    assert!(!pipe.is_quiet().await);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    for _ in 0..count {
        let reply = pipe.next().await;
        assert!(reply["result"].is_object(), "{reply}");
    }
    drop(writing.await);
}

#[tokio::test]
async fn calls_with_the_same_id_are_both_answered_and_both_cancelled() {
    let mut pipe = ready(&mock(&["slow:300,tool=search", "hang,tool=echo"])).await;
    pipe.send(&search(1, "a")).await;
    pipe.send(&search(1, "b")).await;
    let (first, second) = (pipe.next().await, pipe.next().await);
    assert_eq!((&first["id"], &second["id"]), (&json!(1), &json!(1)));
    pipe.send(&search(2, "a")).await;
    pipe.send(&search(2, "b")).await;
    let params = json!({ "requestId": 2 });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    pipe.send(&note).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(pipe.is_quiet().await);
}
