//! Whether a server was ever there for its agent, by what its proxy wrote down. One that could not be started or
//! reached says nothing of the agent.

use mcprove_trace::ErrorCategory;
use serde::Deserialize;

/// A line of a recording, as far as it tells that.
#[derive(Deserialize)]
struct Line {
    kind: String,
    name: Option<String>,
    message: Option<String>,
    error: Option<LineError>,
}

/// Why a request has no answer, or which error it is.
#[derive(Deserialize)]
struct LineError {
    category: ErrorCategory,
    message: String,
}

/// Why the server of this recording was never there: it gave no answer at all, and its end or a failed connection was seen
/// before the agent left. Of one that a fault struck nothing is known.
pub(super) fn never_reached(text: &str) -> Option<String> {
    let mut why = None;
    let mut has_client_left = false;
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Line>(line) else {
            continue;
        };
        match (line.kind.as_str(), line.name.as_deref(), line.error) {
            ("response", ..) | (_, Some("fault"), _) => return None,
            (_, Some("left"), _) => has_client_left = true,
            // It tells the status, which a broken connection does not.
            ("crash", ..) => why = line.message.or(why),
            ("error", _, Some(error)) => match error.category {
                // An answer, if an unkind one.
                ErrorCategory::ServerError
                | ErrorCategory::ProtocolError
                | ErrorCategory::ToolError => return None,
                ErrorCategory::Cancelled => {}
                _ if has_client_left => {}
                _ => why = why.or(Some(error.message)),
            },
            _ => {}
        }
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = r#"{"ts":1,"kind":"request","request_id":1,"method":"initialize"}"#;
    const REFUSED: &str = r#"{"ts":1,"kind":"error","request_id":1,"method":"initialize","error":{"category":"Disconnected","message":"refused"}}"#;
    const CRASHED: &str = r#"{"ts":1,"kind":"crash","message":"exit status: 3"}"#;
    const ANSWERED: &str = r#"{"ts":1,"kind":"response","request_id":1,"method":"initialize"}"#;
    const UNKIND: &str = r#"{"ts":1,"kind":"error","request_id":1,"error":{"category":"ServerError","message":"no"}}"#;
    const STRUCK: &str = r#"{"ts":1,"kind":"scenario_event","name":"fault","message":""}"#;
    const LEFT: &str = r#"{"ts":1,"kind":"scenario_event","name":"left","message":""}"#;

    #[test]
    fn a_server_that_answers_nothing_and_fails_was_never_there() {
        for (lines, expected) in [
            (vec![ASKED, REFUSED], Some("refused")),
            (vec![ASKED, REFUSED, LEFT], Some("refused")),
            (vec![CRASHED], Some("exit status: 3")),
            (vec![ASKED, REFUSED, CRASHED], Some("exit status: 3")),
            (vec![], None),
            (vec![ASKED, LEFT], None),
            (vec![ASKED, LEFT, REFUSED], None),
            (vec![ASKED, REFUSED, ASKED, ANSWERED], None),
            (vec![ASKED, ANSWERED, CRASHED], None),
            (vec![ASKED, UNKIND, CRASHED], None),
            (vec![ASKED, STRUCK, CRASHED], None),
        ] {
            let text = lines.join("\n");
            assert_eq!(never_reached(&text).as_deref(), expected, "{text}");
        }
    }
}
