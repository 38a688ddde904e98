//! Results that are not the last word, lists with pages, and deadlines.

use std::time::Duration;

use mcprove_client::session::{Request, Session};
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::peer::{PATIENCE, Recorded, Wire, connect_at};

async fn stateless(behaviour: impl FnMut(&Value, &Wire) + Send + 'static) -> (Session, Recorded) {
    connect_at(Revision::V2026_07_28, behaviour).await
}

#[tokio::test]
async fn input_that_is_required_for_ever_ends() {
    let (session, recorded) = stateless(|message, wire| {
        let asked = json!({ "roots": { "method": "roots/list" } });
        let result = json!({ "resultType": "input_required", "inputRequests": asked });
        wire.answer(message, &result);
    })
    .await;
    let error = session.call_tool("x", &json!({})).await.unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Malformed);
    let calls = recorded.of("tools/call");
    assert!((2..=50).contains(&calls.len()), "{}", calls.len());
    for call in &calls[1..] {
        assert_eq!(
            call["params"]["inputResponses"],
            json!({ "roots": { "roots": [] } })
        );
    }
}

#[tokio::test]
async fn a_state_without_questions_is_brought_back() {
    let (session, recorded) = stateless(|message, wire| {
        let round = message["params"]["requestState"].as_str().map(str::len);
        let result = match round {
            None => json!({ "resultType": "input_required", "requestState": "a" }),
            Some(1) => json!({ "resultType": "input_required", "requestState": "ab" }),
            Some(_) => json!({ "resultType": "complete", "content": [] }),
        };
        wire.answer(message, &result);
    })
    .await;
    session.call_tool("x", &json!({ "a": 1 })).await.unwrap();
    let calls = recorded.of("tools/call");
    let states: Vec<&Value> = calls
        .iter()
        .map(|call| &call["params"]["requestState"])
        .collect();
    assert_eq!(states, [&Value::Null, &json!("a"), &json!("ab")]);
    for call in &calls {
        assert!(call["params"].get("inputResponses").is_none(), "{call}");
        assert_eq!(call["params"]["arguments"], json!({ "a": 1 }));
    }
    let ids: Vec<&Value> = calls.iter().map(|call| &call["id"]).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");

    // A request without parameters takes them on.
    let request = Request::new("prompts/get");
    session.request_in_rounds(&request, PATIENCE).await.unwrap();
    assert_eq!(recorded.of("prompts/get").len(), 3);
}

#[tokio::test]
async fn an_unknown_type_of_result_is_malformed() {
    let (session, _) = stateless(|message, wire| {
        let kind = message["params"]["arguments"]["kind"].clone();
        wire.answer(message, &json!({ "resultType": kind, "content": [] }));
    })
    .await;
    for kind in [json!("later"), json!(""), json!("Complete"), json!(5)] {
        let error = session
            .call_tool("x", &json!({ "kind": kind }))
            .await
            .unwrap_err();
        assert_eq!(error.category(), ErrorCategory::Malformed, "{kind}");
        assert!(error.reply.is_some(), "{kind}");
    }
    session
        .call_tool("x", &json!({ "kind": "complete" }))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_result_type_means_nothing_before_the_stateless_era() {
    let (session, _) = connect_at(Revision::V2025_11_25, |message, wire| {
        wire.answer(
            message,
            &json!({ "resultType": "input_required", "content": [] }),
        );
    })
    .await;
    session.call_tool("x", &json!({})).await.unwrap();
}

#[tokio::test]
async fn cursors_that_repeat_end_the_list() {
    for cycle in [1_usize, 2, 5] {
        let (session, recorded) = connect_at(Revision::V2025_11_25, move |message, wire| {
            let page = message["params"]["cursor"].as_str();
            let page: usize = page.map_or(0, |page| page.parse().unwrap());
            let next = (page % cycle + 1).to_string();
            wire.answer(message, &json!({ "tools": [], "nextCursor": next }));
        })
        .await;
        let error = session.list_tools().await.unwrap_err();
        assert_eq!(error.category(), ErrorCategory::Malformed);
        assert!(error.to_string().contains("same cursor twice"), "{error}");
        let asked = recorded.of("tools/list").len();
        assert_eq!(asked, cycle + 1, "each page once, and the first one");
    }
}

#[tokio::test]
async fn an_empty_cursor_is_a_cursor() {
    let (session, recorded) = connect_at(Revision::V2025_11_25, |message, wire| {
        let result = match message["params"]["cursor"].as_str() {
            None => json!({ "tools": [], "nextCursor": "" }),
            Some(_) => json!({ "tools": [], "nextCursor": null }),
        };
        wire.answer(message, &result);
    })
    .await;
    session.list_tools().await.unwrap();
    assert_eq!(recorded.of("tools/list").len(), 2);
}

#[tokio::test]
async fn every_call_has_its_own_deadline() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let (session, recorded) = connect_at(revision, |message, wire| {
            if message["params"]["name"] == "quick" {
                wire.answer(message, &json!({ "content": [] }));
            }
        })
        .await;
        let hang = Request::tool("hang", &json!({}));
        let long = session
            .start(&hang.clone().timeout(Duration::from_mins(10)))
            .unwrap();
        let short = session
            .start(&hang.clone().timeout(Duration::from_millis(50)))
            .unwrap();
        let endless = session.start(&hang.without_timeout()).unwrap();
        let (short_id, long_id) = (short.request_id(), long.request_id());
        let error = tokio::time::timeout(PATIENCE, short)
            .await
            .unwrap()
            .unwrap_err();
        assert_eq!(error.category(), ErrorCategory::Timeout);
        assert!(
            error.duration >= Duration::from_millis(50),
            "{:?}",
            error.duration
        );
        let cancelled = recorded.wait_for("notifications/cancelled", 1).await;
        assert_eq!(cancelled[0]["params"]["requestId"], short_id);

        // The others still wait, and the session goes on.
        session.call_tool("quick", &json!({})).await.unwrap();
        assert_eq!(recorded.of("notifications/cancelled").len(), 1);
        drop(long);
        drop(endless);
        let cancelled = recorded.wait_for("notifications/cancelled", 3).await;
        assert_eq!(cancelled[1]["params"]["requestId"], long_id);
    }
}
