//! Sends the requests of an audit again, on a session.

use mcprove_client::session::{CallError, Reply, Request, Session};
use mcprove_client::transport::Detail;
use mcprove_lab::audit::{Caller, CallerAnswer, CallerFailure};
use serde_json::Value;

/// A session on which recorded requests are sent again.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::lab::SessionCaller;
/// use mcprove::lab::audit::Caller;
/// use mcprove::{InMemory, Session};
/// use serde_json::json;
///
/// let session = Session::connect(&InMemory::fixture("normal").unwrap()).await.unwrap();
/// let answer = SessionCaller(&session).call_tool("echo", &json!({ "message": "hi" })).await;
/// assert!(answer.reply.is_some());
/// # });
/// ```
#[derive(mcprove_settings::setting::Opaque)]
pub struct SessionCaller<'a>(pub &'a Session);

impl Caller for SessionCaller<'_> {
    fn transport(&self) -> &str {
        self.0.transport()
    }

    async fn call_tool(&self, name: &str, arguments: &Value) -> CallerAnswer {
        answer(self.0.call_tool(name, arguments).await)
    }

    async fn request(&self, method: &str, params: Option<&Value>) -> CallerAnswer {
        let mut request = Request::new(method);
        if let Some(params) = params {
            request = request.params(params);
        }
        answer(self.0.request(&request).await)
    }
}

fn answer(outcome: Result<Reply, CallError>) -> CallerAnswer {
    let kept = |reply: &Reply| (reply.request_id, reply.result().to_owned());
    match outcome {
        Ok(reply) => CallerAnswer {
            duration: reply.duration,
            reply: Some(kept(&reply)),
            failure: None,
        },
        Err(error) => CallerAnswer {
            duration: error.duration,
            reply: error.reply.as_ref().map(kept),
            failure: Some(CallerFailure {
                category: error.category(),
                message: error.to_string(),
                status: match error.failure.detail {
                    Detail::Status(status) => Some(status),
                    _ => None,
                },
                error: error.error.clone(),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use mcprove_client::session::SessionOptions;
    use mcprove_lab::audit::{AuditRow, AuditStore, Filter, Replay};
    use mcprove_trace::stream::EventStream;

    fn row(method: &str, parameters: &str) -> AuditRow {
        AuditRow {
            id: 3,
            method: method.into(),
            request_id: Some("1".into()),
            parameters: Some(parameters.into()),
            ..AuditRow::default()
        }
    }

    async fn session_with(lab: &mcprove_lab::LabOptions) -> Session {
        let (output, input) = mcprove_lab::spawn_in_memory(lab);
        let recorder = EventStream::unobserved().recorder();
        let options = SessionOptions::default();
        let session = Session::connect_streams(output, input, options, recorder);
        session.await.unwrap()
    }

    #[tokio::test]
    async fn a_replay_names_errors_as_the_row_does() {
        let store = Arc::new(AuditStore::in_memory().unwrap());
        let audited = mcprove_lab::LabOptions {
            audit: Some(Arc::clone(&store)),
            ..Default::default()
        };
        let session = session_with(&audited).await;
        for category in ["protocol", "tool", "timeout", "auth"] {
            for as_tool in [false, true] {
                let arguments = json!({ "category": category, "as_tool": as_tool });
                let _ = session.call_tool("error", &arguments).await;
            }
        }
        let _ = session
            .call_tool("error", &json!({ "category": "none" }))
            .await;
        let flaky = json!({ "fail_rate": 1, "seed": "a" });
        let _ = session.call_tool("flaky", &flaky).await;
        let _ = session.call_tool("slow", &json!({})).await;
        let _ = session.request(&Request::new("no/such")).await;
        let rows = loop {
            store.flush();
            let reader = store.reader().unwrap();
            let rows: Vec<AuditRow> = reader.rows(Filter::default()).map(Result::unwrap).collect();
            let is_wanted =
                |row: &AuditRow| ["tools/call", "no/such"].contains(&row.method.as_str());
            let rows: Vec<AuditRow> = rows.into_iter().filter(is_wanted).collect();
            if rows.len() >= 12 {
                break rows;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        };
        assert_eq!(rows.len(), 12);
        let again = session_with(&mcprove_lab::LabOptions::default()).await;
        for row in rows {
            let replay = Replay::new(row).unwrap();
            let compared = replay.send(&SessionCaller(&again), &[]).await;
            let (row, now) = (&compared.left, &compared.right);
            assert!(row.error_category.is_some(), "{row:?}");
            assert_eq!(row.error_category, now.error_category, "{compared:#?}");
            assert_eq!(row.error_code, now.error_code, "{compared:#?}");
        }
    }

    #[tokio::test]
    async fn a_call_that_was_cancelled_is_not_one_that_took_too_long() {
        let (output, input) = mcprove_lab::spawn_in_memory(&mcprove_lab::LabOptions::default());
        let recorder = mcprove_trace::stream::EventStream::unobserved().recorder();
        let options = mcprove_client::session::SessionOptions::default()
            .with_call_timeout(std::time::Duration::from_millis(300));
        let session = Session::connect_streams(output, input, options, recorder)
            .await
            .unwrap();
        let cancelled = AuditRow {
            tool_name: Some("slow".into()),
            cancelled: true,
            error_category: Some("cancelled".into()),
            ..row("tools/call", r#"{"milliseconds":60000}"#)
        };
        let compared = Replay::new(cancelled)
            .unwrap()
            .send(&SessionCaller(&session), &[])
            .await;
        assert_eq!(compared.right.error_category.as_deref(), Some("timeout"));
        assert!(!compared.same, "{compared:?}");
    }

    #[tokio::test]
    async fn a_replay_finds_what_changed_and_what_did_not() {
        let (output, input) = mcprove_servers::fixture::spawn_in_memory(
            "normal",
            &mcprove_servers::fixture::FixtureOptions::default(),
        )
        .unwrap();
        let recorder = mcprove_trace::stream::EventStream::unobserved().recorder();
        let options = mcprove_client::session::SessionOptions::default();
        let session = Session::connect_streams(output, input, options, recorder)
            .await
            .unwrap();
        let echo = AuditRow {
            tool_name: Some("echo".into()),
            success: true,
            ..row("tools/call", r#"{"message":"hi"}"#)
        };
        let first = Replay::new(echo)
            .unwrap()
            .send(&SessionCaller(&session), &[])
            .await;
        assert!(first.right.success, "{first:?}");
        assert!(!first.same, "nothing was recorded");
        let whole = AuditRow {
            id: 4,
            ..first.right
        };
        let again = Replay::new(whole.clone())
            .unwrap()
            .send(&SessionCaller(&session), &[])
            .await;
        assert!(again.same, "{again:?}");
        let failed = AuditRow {
            success: false,
            error_code: Some(-32000),
            response: Some(r#"{"code":-32000,"message":"no"}"#.into()),
            ..whole
        };
        let other = Replay::new(failed)
            .unwrap()
            .send(&SessionCaller(&session), &[])
            .await;
        let columns: Vec<&str> = other.differences.iter().map(|found| found.column).collect();
        assert!(columns.starts_with(&["success", "error_code"]), "{other:?}");
        let missing = Replay::new(row("no/such", "{}")).unwrap();
        let missing = missing.send(&SessionCaller(&session), &[]).await;
        assert_eq!(missing.right.error_code, Some(-32601));
    }
}
