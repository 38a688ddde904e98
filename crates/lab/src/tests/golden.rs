//! The rolls of `flaky` over the wire.

use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::{Value, json};

use super::support::{Pipe, call, http, listen, modern, modern_headers, open_session, structured};
use crate::LabOptions;

const GOLDEN: &str = include_str!("../../tests/data/flaky.csv");

struct Row {
    /// The call as JSON text, so that the inputs arrive as they are written.
    arguments: Value,
    bits: String,
    message: Option<String>,
}

/// The rows whose inputs JSON can carry: no NaN, no infinity.
fn golden() -> Vec<Row> {
    let rows: Vec<Row> = GOLDEN
        .lines()
        .skip(1)
        .filter_map(|line| {
            // The seed is JSON with its quotes doubled, and may have commas within.
            let end = line.rfind("\",")?;
            let seed = line.get(1..end)?.replace("\"\"", "\"");
            let rest: Vec<&str> = line.get(end + 2..)?.split(',').collect();
            let [call_id, rate, _, _, bits, failed, message] = rest.try_into().ok()?;
            let rate: f64 = rate.parse().ok()?;
            let seed: Value = serde_json::from_str(&seed).unwrap();
            let call_id: i64 = call_id.parse().unwrap();
            rate.is_finite().then(|| Row {
                arguments: json!({ "seed": seed, "call_id": call_id, "fail_rate": rate }),
                bits: bits.to_owned(),
                message: (failed == "true").then(|| message.to_owned()),
            })
        })
        .collect();
    assert_eq!(rows.len(), 154 - 3);
    rows
}

fn check(row: &Row, reply: &Value) {
    let body = match &row.message {
        Some(message) => {
            assert_eq!(reply["error"]["code"], -32_000, "{reply}");
            assert_eq!(reply["error"]["message"], *message);
            reply["error"]["data"].clone()
        }
        None => structured(reply),
    };
    let roll = body["roll"].as_f64().unwrap();
    assert_eq!(format!("{:016x}", roll.to_bits()), row.bits, "{reply}");
    assert_eq!(body["failed"], row.message.is_some());
    assert!(body.get("seed").is_none(), "a given seed is known");
}

#[tokio::test]
async fn every_roll_crosses_stdio_to_the_bit() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    for row in golden() {
        check(&row, &pipe.call("flaky", &row.arguments).await);
    }
}

#[tokio::test]
async fn every_roll_crosses_http_to_the_bit_in_both_eras() {
    let server = listen(&LabOptions::default(), ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let named = [("Mcp-Session-Id", session.as_str())];
    for (number, row) in golden().iter().enumerate() {
        let reply = if number % 2 == 0 {
            let message = call(1, "flaky", &row.arguments).to_string();
            http(&server, "POST", &named, &message).await
        } else {
            let params = json!({ "name": "flaky", "arguments": row.arguments });
            let message = modern(1, "tools/call", &params).to_string();
            http(&server, "POST", &modern_headers("flaky"), &message).await
        };
        check(row, &reply.json());
    }
}
