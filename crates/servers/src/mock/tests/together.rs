//! Calls at the same time: none holds up another, and ordinals follow arrival.

use std::time::Duration;

use mcprove_fault::HANG_LIMIT;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{call, mock, ready, search};
use crate::fixture::tests::{ping, request, text};

#[tokio::test(start_paused = true)]
async fn five_slow_calls_take_one_delay() {
    let mut pipe = ready(&mock(&["slow:1000"])).await;
    let begin = Instant::now();
    for id in 1..=5 {
        pipe.send(&search(id, "x")).await;
    }
    for _ in 1..=5 {
        assert_eq!(text(&pipe.next().await), "found x");
    }
    // The clock stands still but for the delays, so this is exact.
    assert!(
        (1_000..1_100).contains(&begin.elapsed().as_millis()),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn everything_else_is_answered_at_once_during_a_hang() {
    let mut pipe = ready(&mock(&["hang,tool=search"])).await;
    pipe.send(&search(1, "x")).await;
    let begin = Instant::now();
    for (id, method) in [
        (2, "ping"),
        (3, "tools/list"),
        (4, "resources/list"),
        (5, "prompts/list"),
    ] {
        assert_eq!(pipe.ask(&request(id, method, json!({}))).await["id"], id);
    }
    let reply = pipe.ask(&call(6, "echo", json!({}))).await;
    assert_eq!(text(&reply), "{}");
    assert!(
        begin.elapsed() < Duration::from_millis(10),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_hang_ends_after_ten_minutes_with_the_sentinel() {
    let (output, input) = mock(&["hang"]).spawn_in_memory();
    let mut input = Box::pin(input);
    let output = Box::pin(output);
    let begin = Instant::now();
    for message in [
        crate::fixture::tests::initialize(0, "2025-11-25"),
        search(1, "x"),
    ] {
        let line = format!("{message}\n");
        tokio::io::AsyncWriteExt::write_all(&mut input, line.as_bytes())
            .await
            .unwrap();
    }
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(output));
    lines.next_line().await.unwrap();
    let sentinel: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    let expected = json!({
        "code": -32001,
        "message": "mcprove: injected hang released",
        "data": { "fault": "hang" },
    });
    assert_eq!(
        (&sentinel["id"], &sentinel["error"]),
        (&json!(1), &expected)
    );
    assert!(begin.elapsed() >= HANG_LIMIT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ordinals_follow_arrival() {
    for _ in 0..5 {
        let mut pipe = ready(&mock(&["error:1,calls=3,50,97-98"])).await;
        for id in 1..=100 {
            pipe.send(&search(id, "x")).await;
        }
        let mut struck = Vec::new();
        for _ in 1..=100 {
            let reply = pipe.next().await;
            if reply.get("error").is_some() {
                struck.push(reply["id"].as_u64().unwrap());
            }
        }
        struck.sort_unstable();
        assert_eq!(struck, [3, 50, 97, 98]);
    }
}

#[tokio::test]
async fn the_same_seed_strikes_the_same_calls_whatever_their_order() {
    let mut all = Vec::new();
    for order in [false, true] {
        let mut pipe = ready(&mock(&["flaky:0.5"])).await;
        let mut ids: Vec<u64> = (1..=40).collect();
        if order {
            ids.reverse();
        }
        let mut struck = Vec::new();
        for id in ids {
            let reply = pipe.ask(&search(id, &id.to_string())).await;
            if reply.get("error").is_some() {
                struck.push(id);
            }
        }
        struck.sort_unstable();
        all.push(struck);
    }
    assert_eq!(all[0], all[1]);
    assert!((5..35).contains(&all[0].len()), "{:?}", all[0]);
    let mut pipe = ready(&mock(&["hang"])).await;
    assert_eq!(pipe.ask(&ping(1)).await["id"], 1);
}
