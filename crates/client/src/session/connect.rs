//! Starting or reaching a server, and trying again where one try is not the last word: a server
//! that died of `server/discover` is started again and greeted with `initialize` alone, and an
//! address that does not take POST is tried as HTTP+SSE.

use super::Renewing;
use super::agreement::{Agreed, Attempt, Disagreement};
use super::prelude::*;
use crate::transport;
use crate::transport::stdio::LineChannel;

impl Session {
    /// Starts or reaches `server` and agrees on a revision; `recorder` gets every event.
    pub async fn connect_recorded(
        server: &Server,
        options: SessionOptions,
        recorder: Arc<Recorder>,
    ) -> Result<Self, ConnectError> {
        let connected = try_connect(server, options, &recorder).await;
        if let Some(limit) = connected.as_ref().err().and_then(ConnectError::own_limit) {
            recorder.meet_limit(limit);
        }
        connected
    }

    /// Agrees with a server at the other end of a pair of byte streams that carry lines: one in
    /// this process, or behind a socket.
    pub async fn connect_streams(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        options: SessionOptions,
        recorder: Arc<Recorder>,
    ) -> Result<Self, ConnectError> {
        let core = Core::new(options, recorder);
        let inbox = Arc::new(SessionInbox(Arc::downgrade(&core)));
        let channel = LineChannel::open(input, output, core.options.max_frame, inbox);
        let _ = core.channel.set(channel);
        let attempt = Attempt {
            core,
            server: Server::stdio("in memory"),
            began: Instant::now(),
        };
        let agreed = attempt.agree().await;
        finish(attempt, agreed)
    }
}

async fn try_connect(
    server: &Server,
    options: SessionOptions,
    recorder: &Arc<Recorder>,
) -> Result<Session, ConnectError> {
    let connected = try_agree(server, options, recorder).await;
    match connected {
        Err(error) if error.may_be_tls() && transport::is_only_tls(server).await => {
            Err(error.of_tls())
        }
        connected => connected,
    }
}

async fn try_agree(
    server: &Server,
    options: SessionOptions,
    recorder: &Arc<Recorder>,
) -> Result<Session, ConnectError> {
    let attempt = Attempt::open(server, &options, recorder).await?;
    let agreed = match attempt.agree().await {
        Err(Disagreement::Died) => {
            let died = attempt.core.closed().map(|failure| failure.message);
            let again = Attempt::open(server, &options, recorder).await?;
            let agreed = again.initialize(Revision::LATEST_HANDSHAKE).await;
            let mut session = finish(again, agreed)?;
            session.died_first = Some(died.unwrap_or_default());
            return Ok(session);
        }
        Err(Disagreement::NotStreamable(failed)) => {
            // The same address as an HTTP+SSE server, if it may be one.
            let legacy = match server.transport.clone() {
                Transport::Http { url, headers } if options.fall_back_to_sse => Some(Server {
                    transport: Transport::Sse { url, headers },
                    ..server.clone()
                }),
                _ => None,
            };
            if let Some(legacy) = legacy
                && let Ok(legacy) = Attempt::open(&legacy, &options, recorder).await
            {
                let asked = match options.protocol {
                    ProtocolChoice::Revision(asked) if asked.era() == Era::Handshake => asked,
                    _ => Revision::LATEST_HANDSHAKE,
                };
                let agreed = legacy.initialize(asked).await;
                return finish(legacy, agreed);
            }
            Err(Disagreement::Failed(failed))
        }
        agreed => agreed,
    };
    finish(attempt, agreed)
}

fn finish(attempt: Attempt, agreed: Result<Agreed, Disagreement>) -> Result<Session, ConnectError> {
    match agreed {
        Ok((facts, mismatch)) => Ok(Session {
            core: attempt.core,
            facts,
            warnings: mismatch.iter().map(ToString::to_string).collect(),
            mismatch,
            died_first: None,
            tools: Mutex::default(),
            renewal: tokio::sync::Mutex::default(),
            is_renewing: Renewing::default(),
            generation: AtomicU64::default(),
        }),
        Err(Disagreement::Refused(error)) => Err(error),
        Err(Disagreement::Failed(error) | Disagreement::NotStreamable(error)) => {
            Err(attempt.failed(&error))
        }
        Err(Disagreement::Died) => {
            let closed = attempt.core.closed();
            let failure =
                closed.unwrap_or_else(|| Failure::disconnected("the server closed the connection"));
            Err(attempt.failed(&CallError::unsent(failure)))
        }
    }
}
