//! How a revision is agreed on, with servers of every temper.

use std::time::Duration;

use mcprove_client::session::{ConnectError, ProtocolChoice, Session, SessionOptions};
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::peer::{
    Recorded, Wire, connect, discover_result, initialize_result, open, options, try_connect,
};

const AUTO: ProtocolChoice = ProtocolChoice::Auto;

fn is_method(message: &Value, method: &str) -> bool {
    message["method"] == method
}

/// Connects by `auto` to a server of the handshake era that does `with_discover` when it is asked
/// what it does not know.
async fn falls_back(
    what: &str,
    with_discover: impl Fn(&Value, &Wire) + Send + 'static,
) -> (Session, Vec<Value>) {
    let (session, recorded) = connect(options(AUTO), move |message, wire| {
        if is_method(message, "server/discover") {
            with_discover(message, wire);
        } else {
            open(message, wire);
        }
    })
    .await;
    recorded.wait_for("notifications/initialized", 1).await;
    assert_eq!(session.facts().revision, Revision::V2025_11_25, "{what}");
    assert!(session.warnings().is_empty(), "{what}");
    assert_eq!(recorded.of("server/discover").len(), 1, "{what}");
    let initialize = recorded.of("initialize");
    assert_eq!(initialize.len(), 1, "{what}");
    let params = &initialize[0]["params"];
    assert!(params.get("_meta").is_none(), "{what}: {params}");
    (session, recorded.all())
}

#[tokio::test]
async fn a_server_that_does_not_know_the_question_is_greeted() {
    for code in [-32601, -32602, -32600, -32603, -32000] {
        falls_back(&code.to_string(), move |message, wire| {
            wire.refuse(message, &json!({ "code": code, "message": "no" }));
        })
        .await;
    }
    falls_back("{}", |message, wire| wire.answer(message, &json!({}))).await;
    falls_back("null", |message, wire| wire.answer(message, &Value::Null)).await;
    falls_back("a broken message", |message, wire| {
        wire.send_text(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"res",
            message["id"]
        ));
    })
    .await;
    falls_back("an error without an id", |_, wire| {
        wire.send(
            &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "x" } }),
        );
    })
    .await;
}

#[tokio::test]
async fn a_server_that_says_nothing_or_noise_is_greeted_too() {
    let (silent, noisy) = tokio::join!(
        falls_back("silence", |_, _| {}),
        falls_back("noise", |_, wire| wire.send_text("what do you mean?")),
    );
    assert!(silent.0.violations().is_empty());
    assert_eq!(noisy.0.violations().total(), 1);
}

#[tokio::test]
async fn a_server_that_offers_older_revisions_gets_the_newest_of_them() {
    let offer = |supported: Value| {
        let error = json!({ "code": -32022, "message": "no", "data": { "supported": supported } });
        connect(options(AUTO), move |message, wire| {
            if is_method(message, "server/discover") {
                wire.refuse(message, &error);
            } else {
                open(message, wire);
            }
        })
    };
    let (session, recorded) = offer(json!(["2025-03-26", "2025-06-18", "2024-11-05"])).await;
    assert_eq!(session.facts().revision, Revision::V2025_06_18);
    let asked = &recorded.of("initialize")[0]["params"]["protocolVersion"];
    assert_eq!(asked, "2025-06-18");

    // The same offer as an answer instead of an error.
    let (session, _) = connect(options(AUTO), |message, wire| {
        if is_method(message, "server/discover") {
            let result = json!({ "supportedVersions": ["2025-03-26"], "capabilities": {} });
            wire.answer(message, &result);
        } else {
            open(message, wire);
        }
    })
    .await;
    assert_eq!(session.facts().revision, Revision::V2025_03_26);
}

#[tokio::test]
async fn a_server_that_refuses_what_it_offers_is_not_asked_for_ever() {
    for supported in [json!(["2026-07-28"]), json!([]), json!(["2099-01-01"])] {
        let error = json!({ "code": -32022, "message": "no", "data": { "supported": supported } });
        let (outcome, recorded) = try_connect(options(AUTO), move |message, wire| {
            if is_method(message, "server/discover") {
                wire.refuse(message, &error);
            }
        })
        .await;
        let error = outcome.err().unwrap();
        assert!(matches!(error, ConnectError::Revision { .. }), "{error}");
        let asked = recorded.of("server/discover").len();
        assert!((2..=5).contains(&asked), "{asked}");
    }
}

#[tokio::test]
async fn a_refused_handshake_is_tried_once_more_with_what_is_offered() {
    let (session, recorded) = connect(options(AUTO), |message, wire| {
        let version = &message["params"]["protocolVersion"];
        if is_method(message, "server/discover") {
            wire.refuse(message, &json!({ "code": -32601, "message": "no" }));
        } else if is_method(message, "initialize") && version != "2024-11-05" {
            let data = json!({ "supported": ["2024-11-05"], "requested": version });
            let error =
                json!({ "code": -32602, "message": "Unsupported protocol version", "data": data });
            wire.refuse(message, &error);
        } else {
            open(message, wire);
        }
    })
    .await;
    assert_eq!(session.facts().revision, Revision::V2024_11_05);
    assert_eq!(recorded.of("initialize").len(), 2);
}

/// Answers both questions once both have come: `first` now, the other a moment later.
async fn both_asked(first: &'static str) -> (Session, Recorded) {
    let mut questions: Vec<Value> = Vec::new();
    let (session, recorded) = connect(options(AUTO), move |message, wire| {
        let is_question = is_method(message, "server/discover") || is_method(message, "initialize");
        if is_method(message, "ping") {
            wire.answer(message, &json!({}));
        }
        if !is_question {
            return;
        }
        questions.push(message.clone());
        if questions.len() != 2 {
            return;
        }
        let mut questions = questions.clone();
        questions.sort_by_key(|question| question["method"] != first);
        let wire = wire.clone();
        tokio::spawn(async move {
            for question in questions {
                open(&question, &wire);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
    })
    .await;
    assert!(
        session.violations().is_empty(),
        "{:?}",
        session.violations()
    );
    assert!(recorded.of("notifications/cancelled").is_empty());
    (session, recorded)
}

#[tokio::test]
async fn where_both_questions_are_answered_the_handshake_counts() {
    let (stateless, handshake) =
        tokio::join!(both_asked("server/discover"), both_asked("initialize"));
    for (session, recorded) in [stateless, handshake] {
        assert_eq!(session.facts().revision, Revision::V2025_11_25);
        recorded.wait_for("notifications/initialized", 1).await;
        // What follows is of that era.
        session.check_alive(Duration::from_secs(5)).await.unwrap();
        let ping = recorded.of("ping");
        assert_eq!((ping.len(), recorded.of("server/discover").len()), (1, 1));
        assert!(ping[0].pointer("/params/_meta").is_none(), "{ping:?}");
        assert!(session.violations().is_empty());
    }
}

#[tokio::test]
async fn a_handshake_that_is_refused_or_ignored_leaves_the_stateless_era() {
    let opened = |has_refusal: bool| async move {
        let mut discover = None;
        let (session, _) = connect(options(AUTO), move |message, wire| {
            if is_method(message, "server/discover") {
                discover = Some(message.clone());
            } else if is_method(message, "initialize") {
                open(discover.as_ref().unwrap(), wire);
                if has_refusal {
                    wire.refuse(message, &json!({ "code": -32601, "message": "no" }));
                }
            }
        })
        .await;
        session.facts().revision
    };
    let (refused, ignored) = tokio::join!(opened(true), opened(false));
    assert_eq!([refused, ignored], [Revision::V2026_07_28; 2]);
}

#[tokio::test]
async fn a_useless_first_answer_does_not_win() {
    // Both have been asked; the useless answer comes first, the good one a moment later.
    let useless = |useless: &'static str| async move {
        let mut first: Option<Value> = None;
        let (session, _) = connect(options(AUTO), move |message, wire| {
            if is_method(message, "server/discover") {
                first = Some(message.clone());
            } else if is_method(message, "initialize") {
                let (discover, initialize) = (first.clone().unwrap(), message.clone());
                let (bad, good) = if useless == "initialize" {
                    (initialize, discover)
                } else {
                    (discover, initialize)
                };
                wire.refuse(&bad, &json!({ "code": -32601, "message": "no" }));
                let wire = wire.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    open(&good, &wire);
                });
            }
        })
        .await;
        session.facts().revision
    };
    let (handshake, stateless) = tokio::join!(useless("server/discover"), useless("initialize"));
    assert_eq!(handshake, Revision::V2025_11_25);
    assert_eq!(stateless, Revision::V2026_07_28);
}

fn asking(revision: Revision, strict_protocol: bool) -> SessionOptions {
    let mut options = options(ProtocolChoice::Revision(revision));
    options.strict_protocol = strict_protocol;
    options
}

#[tokio::test]
async fn another_revision_is_a_warning_or_an_error() {
    for (chosen, in_force) in [
        ("2025-03-26", Revision::V2025_03_26),
        ("2025-11-25", Revision::V2025_11_25),
        // What nobody knows is spoken as what was asked for.
        ("2099-01-01", Revision::V2025_06_18),
    ] {
        let choose = move |message: &Value, wire: &Wire| {
            if is_method(message, "initialize") {
                wire.answer(message, &initialize_result(chosen));
            }
        };
        let (session, _) = connect(asking(Revision::V2025_06_18, false), choose).await;
        assert_eq!(session.facts().revision, in_force);
        assert!(
            session.warnings()[0].contains(chosen),
            "{:?}",
            session.warnings()
        );

        let (outcome, recorded) = try_connect(asking(Revision::V2025_06_18, true), choose).await;
        match outcome.err().unwrap() {
            ConnectError::Revision { asked, offered } => {
                assert_eq!(asked, Revision::V2025_06_18);
                assert_eq!(offered, chosen);
            }
            other => panic!("{other}"),
        }
        assert!(recorded.of("notifications/initialized").is_empty());
    }
}

#[tokio::test]
async fn the_revision_that_was_asked_for_is_no_reason_to_warn() {
    for revision in Revision::ALL {
        let (session, _) = connect(asking(revision, true), |message, wire| {
            open(message, wire);
        })
        .await;
        assert_eq!(session.facts().revision, revision);
        assert!(session.warnings().is_empty());
    }
}

#[tokio::test]
async fn a_stateless_server_is_not_greeted_with_a_handshake() {
    let (session, recorded) = connect(options(AUTO), |message, wire| {
        if is_method(message, "server/discover") {
            wire.answer(message, &discover_result());
        }
    })
    .await;
    assert_eq!(session.facts().revision, Revision::V2026_07_28);
    assert_eq!(recorded.all().len(), 1);
}
