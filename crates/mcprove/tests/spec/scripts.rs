//! Agreeing with a server that is a process: it may die of the question, or take its time.

use mcprove_client::server::Server;
use mcprove_client::session::{ConnectError, ProtocolChoice, Session};
use mcprove_settings::message::UserError;
use mcprove_trace::protocol::Revision;
use mcprove_trace::stream::EventStream;

use crate::peer::options;

/// Answers every line by a rule of the shell: `$id` is the id of the request.
async fn connect_to_script(script: &str) -> Result<Session, ConnectError> {
    let read = r#"answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
        next() { IFS= read -r line || exit 0; id=${line#*\"id\":}; id=${id%%,*}; }"#;
    let server = Server::stdio("sh").args(["-c".to_owned(), format!("{read}\n{script}")]);
    let recorder = EventStream::unobserved().recorder();
    Session::connect_recorded(&server, options(ProtocolChoice::Auto), recorder).await
}

const GREETING: &str = r#""result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"script","version":"1"}}"#;
const DISCOVERY: &str =
    r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}"#;

#[tokio::test]
async fn a_server_that_dies_of_the_question_is_started_again() {
    for last_words in [
        "exit 3",
        "kill -9 $$",
        "echo '{}'; exit 0",
        "exec 1>&-; exit 1",
    ] {
        let script = format!(
            "while next; do case $line in
                *server/discover*) {last_words};;
                *'\"initialize\"'*) answer '{GREETING}';;
            esac; done"
        );
        let session = connect_to_script(&script).await;
        let session = session.unwrap_or_else(|error| panic!("{last_words}: {error}"));
        assert_eq!(session.facts().implementation.name, "script");
        assert_eq!(session.facts().revision, Revision::V2025_11_25);
        assert!(session.closed().is_none());
        session.close().await;
    }
}

#[tokio::test]
async fn a_server_that_dies_of_everything_is_not_started_for_ever() {
    let error = connect_to_script("next; echo 'out of luck' >&2; exit 3").await;
    let error = error.err().unwrap();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.stderr().contains("out of luck"), "{error:?}");
}

#[tokio::test]
async fn a_slow_start_is_waited_for() {
    let handshake = format!(
        "sleep 3; while next; do case $line in
            *server/discover*) answer '\"error\":{{\"code\":-32601,\"message\":\"no\"}}';;
            *'\"initialize\"'*) answer '{GREETING}';;
        esac; done"
    );
    let stateless = format!(
        "sleep 3; while next; do case $line in
            *server/discover*) answer '{DISCOVERY}';;
            *) answer '\"error\":{{\"code\":-32601,\"message\":\"no\"}}';;
        esac; done"
    );
    let (handshake, stateless) =
        tokio::join!(connect_to_script(&handshake), connect_to_script(&stateless));
    let (handshake, stateless) = (handshake.unwrap(), stateless.unwrap());
    assert_eq!(handshake.facts().revision, Revision::V2025_11_25);
    assert_eq!(stateless.facts().revision, Revision::V2026_07_28);
    for session in [&handshake, &stateless] {
        assert!(
            session.violations().is_empty(),
            "{:?}",
            session.violations()
        );
    }
}
