//! Agreeing with a server on a revision, over one connection.
//!
//! In `auto` the stateless question `server/discover` goes first. Silence means nothing yet: after
//! a second `initialize` is sent too. A server that was only slow to start answers both. Then the
//! handshake counts, for with it the server entered that era.

use std::pin::Pin;

use super::prelude::*;
use crate::transport;

/// How long `server/discover` is left alone before `initialize` is sent too.
const DISCOVER_HEAD_START: Duration = Duration::from_secs(1);
/// How long at least the answer to `initialize` is waited for once `server/discover` was answered: a server that
/// was slow to answer the first question may be as slow with the second.
const SECOND_ANSWER_MIN: Duration = Duration::from_secs(2);
/// How often a refused version is answered with another try.
const VERSION_TRIES_MAX: u32 = 3;
/// How much of a revision that nobody knows is shown.
const CHOSEN_CHARACTERS_MAX: usize = 60;

/// A question of the opening that is under way.
type Question = Pin<Box<Call>>;

/// What was agreed on, and whether that is not what was asked for.
pub type Agreed = (ServerFacts, Option<RevisionMismatch>);

/// Why nothing was agreed on.
pub enum Disagreement {
    /// The process ended when it was asked something it did not know.
    Died,
    Failed(CallError),
    /// The address does not take POST: perhaps an HTTP+SSE server.
    NotStreamable(CallError),
    /// The server made itself clear.
    Refused(ConnectError),
}

impl From<CallError> for Disagreement {
    fn from(error: CallError) -> Self {
        match error.failure.detail {
            Detail::Status(400 | 404 | 405) => Self::NotStreamable(error),
            _ => Self::Failed(error),
        }
    }
}

/// One connection on which an agreement is tried.
pub struct Attempt {
    pub core: Arc<Core>,
    pub server: Server,
    pub began: Instant,
}

impl Attempt {
    pub async fn open(
        server: &Server,
        options: &SessionOptions,
        recorder: &Arc<Recorder>,
    ) -> Result<Self, ConnectError> {
        let began = Instant::now();
        let core = Core::new(options.clone(), Arc::clone(recorder));
        let inbox = Arc::new(SessionInbox(Arc::downgrade(&core)));
        let opening = async {
            let Some(layer) = &options.layer else {
                return transport::open(server, options, inbox).await;
            };
            let (session, max_frame) = (options.session_number, options.max_frame);
            let layered = layer.connection(inbox, session, recorder, max_frame);
            let channel = transport::open(server, options, layered.inbox()).await?;
            Ok(layered.around(channel))
        };
        let channel = tokio::time::timeout(server.startup_timeout, opening)
            .await
            .map_err(|_| ConnectError::Silent {
                waited: server.startup_timeout,
                stderr: String::new(),
            })??;
        // The core is new, so the cell is empty.
        let _ = core.channel.set(channel);
        Ok(Self {
            core,
            server: server.clone(),
            began,
        })
    }

    /// Agrees on a revision, in the way that the options ask for.
    pub async fn agree(&self) -> Result<Agreed, Disagreement> {
        match (self.core.options.protocol, &self.server.transport) {
            // HTTP+SSE is older than the stateless era.
            (ProtocolChoice::Auto, Transport::Sse { .. }) => {
                self.initialize(Revision::LATEST_HANDSHAKE).await
            }
            (ProtocolChoice::Auto, _) if self.core.options.known_era == Some(Era::Handshake) => {
                self.initialize(Revision::LATEST_HANDSHAKE).await
            }
            (ProtocolChoice::Auto, _) => match self.find_out().await {
                // Some servers answer the question they do not know, and end then.
                Err(Disagreement::Failed(_)) if self.is_child() && self.core.closed().is_some() => {
                    Err(Disagreement::Died)
                }
                outcome => outcome,
            },
            (ProtocolChoice::Revision(revision), _) if revision.era() == Era::Stateless => {
                self.discover(revision).await
            }
            (ProtocolChoice::Revision(revision), _) => self.initialize(revision).await,
        }
    }

    fn is_child(&self) -> bool {
        self.server.transport == Transport::Stdio
    }

    fn time_left(&self) -> Duration {
        self.server
            .startup_timeout
            .saturating_sub(self.began.elapsed())
    }

    /// `auto`: asks `server/discover`, and `initialize` when that leads nowhere.
    async fn find_out(&self) -> Result<Agreed, Disagreement> {
        self.core
            .set_revision_before_agreement(Revision::LATEST_STATELESS);
        let mut discover = Box::pin(self.start_discovery()?);
        let head_start = match self.core.options.known_era {
            Some(_) => self.time_left(),
            None => DISCOVER_HEAD_START,
        };
        let answer = tokio::time::timeout(head_start, &mut discover).await;
        if let Ok(answer) = answer {
            return self.follow_discovery(answer).await;
        }
        self.core.forget_agreement();
        let mut initialize = Box::pin(self.start_handshake(Revision::LATEST_HANDSHAKE)?);
        tokio::select! {
            biased;
            answer = &mut initialize => self.after_initialize(answer, discover).await,
            answer = &mut discover => self.after_discovery(answer, initialize).await,
        }
    }

    /// Both questions were sent, and `server/discover` was answered first.
    async fn after_discovery(
        &self,
        answer: Result<Reply, CallError>,
        initialize: Question,
    ) -> Result<Agreed, Disagreement> {
        let asked = Revision::LATEST_HANDSHAKE;
        if let Err(error) = &answer
            && error.category() == ErrorCategory::Crash
        {
            return Err(Disagreement::Died);
        }
        match Discovery::read(&answer) {
            Discovery::Stateless(_) => {}
            Discovery::Retry => {
                return match initialize.await {
                    Ok(reply) => self.follow_initialize(asked, Ok(reply)).await,
                    Err(_) => self.follow_discovery(answer).await,
                };
            }
            Discovery::Handshake(_) | Discovery::Gone => {
                return self.follow_initialize(asked, initialize.await).await;
            }
        }
        let patience = self.began.elapsed().max(SECOND_ANSWER_MIN);
        match tokio::time::timeout(patience.min(self.time_left()), initialize).await {
            Ok(Ok(reply)) if reply.parse::<InitializeResult>().is_ok() => {
                self.follow_initialize(asked, Ok(reply)).await
            }
            Ok(Err(_)) if self.core.closed().is_some() => Err(Disagreement::Died),
            // It has no handshake.
            Ok(_) | Err(_) => self.follow_discovery(answer).await,
        }
    }

    /// Both questions were sent, and `initialize` was answered first.
    async fn after_initialize(
        &self,
        answer: Result<Reply, CallError>,
        discover: Question,
    ) -> Result<Agreed, Disagreement> {
        let asked = Revision::LATEST_HANDSHAKE;
        let error = match answer {
            Err(error) if error.category() == ErrorCategory::Crash => {
                return Err(Disagreement::Died);
            }
            Err(error) if error.is_answer() && other_version(&error, asked).is_none() => error,
            answer => return self.follow_initialize(asked, answer).await,
        };
        // The server lives, so the answer to the first question may still come and be a good one.
        let answer = discover.await;
        match Discovery::read(&answer) {
            Discovery::Gone => Err(error.into()),
            _ => self.follow_discovery(answer).await,
        }
    }

    async fn follow_discovery(
        &self,
        answer: Result<Reply, CallError>,
    ) -> Result<Agreed, Disagreement> {
        match Discovery::read(&answer) {
            Discovery::Stateless(result) => Ok(self.agree_stateless(*result)),
            Discovery::Retry => self.discover(Revision::LATEST_STATELESS).await,
            Discovery::Handshake(revision) => {
                self.core.forget_agreement();
                self.initialize(revision).await
            }
            Discovery::Gone => Err(match answer {
                Err(error) if error.category() == ErrorCategory::Timeout || !self.is_child() => {
                    error.into()
                }
                _ => Disagreement::Died,
            }),
        }
    }

    /// A stateless revision and nothing else.
    async fn discover(&self, asked: Revision) -> Result<Agreed, Disagreement> {
        self.core.set_revision_before_agreement(asked);
        for _ in 0..VERSION_TRIES_MAX {
            let answer = self.start_discovery()?.await;
            match Discovery::read(&answer) {
                Discovery::Stateless(result) => return Ok(self.agree_stateless(*result)),
                Discovery::Retry => {}
                Discovery::Handshake(_) => {
                    let offered = match &answer {
                        Ok(_) => "only revisions of the handshake era".into(),
                        Err(error) => format!("an older revision (it answered: {error})"),
                    };
                    return Err(refused(asked, offered));
                }
                Discovery::Gone => {
                    return Err(answer.map_or_else(Disagreement::Failed, |_| Disagreement::Died));
                }
            }
        }
        Err(refused(asked, "a revision that it then refuses".into()))
    }

    fn agree_stateless(&self, result: DiscoverResult) -> Agreed {
        let revision = Revision::LATEST_STATELESS;
        self.core.set_revision(revision);
        let implementation = result
            .meta
            .get(META_SERVER_INFO)
            .or(result.server_info.as_ref())
            .map(Implementation::read)
            .unwrap_or_default();
        let facts = ServerFacts {
            implementation,
            capabilities: result.capabilities,
            instructions: result.instructions,
            revision,
            startup: self.began.elapsed(),
        };
        (facts, None)
    }

    /// The handshake.
    pub async fn initialize(&self, asked: Revision) -> Result<Agreed, Disagreement> {
        let answer = self.start_handshake(asked)?.await;
        self.follow_initialize(asked, answer).await
    }

    async fn follow_initialize(
        &self,
        asked: Revision,
        answer: Result<Reply, CallError>,
    ) -> Result<Agreed, Disagreement> {
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => match other_version(&error, asked) {
                // Asked once more, with what the server itself offers; then its word stands.
                Some(offered) if self.core.options.protocol == ProtocolChoice::Auto => {
                    self.start_handshake(offered)?.await?
                }
                _ => return Err(error.into()),
            },
        };
        let result: InitializeResult = reply.parse().map_err(Disagreement::Failed)?;
        let (revision, mismatch) = self.judge_revision(asked, &result.protocol_version)?;
        self.core.set_revision(revision);
        if self.core.options.sends_initialized {
            self.core.notify("notifications/initialized", None);
            if let Some(channel) = self.core.channel.get() {
                channel.listen().await;
            }
        }
        let facts = ServerFacts {
            implementation: result.server_info,
            capabilities: result.capabilities,
            instructions: result.instructions,
            revision,
            startup: self.began.elapsed(),
        };
        Ok((facts, mismatch))
    }

    /// What a chosen version means: the same as asked, another one, or one that nobody knows.
    fn judge_revision(
        &self,
        asked: Revision,
        chosen: &str,
    ) -> Result<(Revision, Option<RevisionMismatch>), Disagreement> {
        let known: Option<Revision> = chosen.parse().ok();
        let is_choice_ours = self.core.options.protocol == ProtocolChoice::Auto;
        match known {
            Some(revision)
                if revision == asked || (is_choice_ours && revision.era() == Era::Handshake) =>
            {
                Ok((revision, None))
            }
            _ if self.core.options.strict_protocol => {
                Err(refused(asked, shorten(chosen, CHOSEN_CHARACTERS_MAX)))
            }
            known => {
                let chosen = shorten(chosen, CHOSEN_CHARACTERS_MAX);
                let revision = known
                    .filter(|revision| revision.era() == Era::Handshake)
                    .unwrap_or(asked);
                Ok((revision, Some(RevisionMismatch { asked, chosen })))
            }
        }
    }

    fn start_discovery(&self) -> Result<Call, CallError> {
        let request = Request::new("server/discover").timeout(self.time_left());
        self.core.start(&request, &Start::default())
    }

    fn start_handshake(&self, revision: Revision) -> Result<Call, CallError> {
        let request = self
            .core
            .initialize_request(revision)
            .timeout(self.time_left());
        self.core.start(&request, &Start::default())
    }

    pub fn failed(&self, error: &CallError) -> ConnectError {
        let stderr = self.core.stderr_tail();
        let failure = error.failure.clone();
        match error.category() {
            _ if matches!(failure.detail, Detail::Denied(_)) => ConnectError::Forbidden { failure },
            // One that was never sent was not waited for.
            ErrorCategory::Timeout if error.request_id > 0 => {
                let waited = self.server.startup_timeout;
                let state = self.core.lock();
                // A log line is no answer.
                let mut answers = state.violations.first.iter();
                let Some(violation) = answers.find(|it| it.kind != ViolationKind::Noise) else {
                    return ConnectError::Silent { waited, stderr };
                };
                // It did answer, only not what was asked.
                let message = format!(
                    "no valid answer within {}, but the server {}: {}",
                    describe_duration(waited),
                    violation.kind.explanation(),
                    violation.message
                );
                ConnectError::Handshake {
                    failure: Failure::malformed(message),
                    is_violation: true,
                    stderr,
                }
            }
            ErrorCategory::Timeout | ErrorCategory::Crash | ErrorCategory::Disconnected => {
                ConnectError::Unreachable { failure, stderr }
            }
            _ => ConnectError::Handshake {
                failure,
                is_violation: error.reply.is_some(),
                stderr,
            },
        }
    }
}

/// The server does not speak what it has to.
fn refused(asked: Revision, offered: String) -> Disagreement {
    Disagreement::Refused(ConnectError::Revision { asked, offered })
}

/// What the answer to `server/discover` says about the era that the server lives in.
enum Discovery {
    Stateless(Box<DiscoverResult>),
    /// The server is of the stateless era and wants to be asked again.
    Retry,
    Handshake(Revision),
    /// The connection ended.
    Gone,
}

impl Discovery {
    fn read(answer: &Result<Reply, CallError>) -> Self {
        let is_stateless = |versions: &[String]| {
            let stateless = Revision::LATEST_STATELESS.as_str();
            versions.iter().any(|version| version == stateless)
        };
        let handshake = |versions: &[String]| {
            Self::Handshake(newest_handshake(versions).unwrap_or(Revision::LATEST_HANDSHAKE))
        };
        let error = match answer.as_ref().map(Reply::parse::<DiscoverResult>) {
            Ok(Ok(result)) if is_stateless(&result.supported_versions) => {
                return Self::Stateless(Box::new(result));
            }
            Ok(Ok(result)) => return handshake(&result.supported_versions),
            // An answer that is none: servers of the handshake era say `{}` to anything.
            Ok(Err(_)) => return handshake(&[]),
            Err(error) => error,
        };
        let Failure {
            category, detail, ..
        } = &error.failure;
        match &error.error {
            Some(rpc) if rpc.code == UNSUPPORTED_PROTOCOL_VERSION => {
                let offered = rpc.supported_versions();
                if is_stateless(&offered) || newest_handshake(&offered).is_none() {
                    Self::Retry
                } else {
                    handshake(&offered)
                }
            }
            Some(rpc) if rpc.is_of_stateless_era() => Self::Retry,
            Some(_) => handshake(&[]),
            None => match (category, detail) {
                // What never ends cannot be talked over.
                (ErrorCategory::Crash | ErrorCategory::Timeout | ErrorCategory::Cancelled, _)
                | (
                    ErrorCategory::Disconnected,
                    Detail::None | Detail::Refused | Detail::KeptConnection,
                )
                | (_, Detail::Oversized { .. }) => Self::Gone,
                _ => handshake(&[]),
            },
        }
    }
}

/// A revision of the handshake era that the server offers instead of `asked`.
fn other_version(error: &CallError, asked: Revision) -> Option<Revision> {
    let offered = error.error.as_ref()?.supported_versions();
    newest_handshake(&offered).filter(|revision| *revision != asked)
}

fn newest_handshake(versions: &[String]) -> Option<Revision> {
    versions
        .iter()
        .filter_map(|version| version.parse().ok())
        .filter(|revision: &Revision| revision.era() == Era::Handshake)
        .max()
}

impl Core {
    /// Metadata of `revision` on requests, before the server has agreed to it.
    pub fn set_revision_before_agreement(&self, revision: Revision) {
        let capabilities = self.options.responder.capabilities(revision);
        let meta = RequestMeta::new(revision, &client_info(), &capabilities);
        self.lock().meta = meta;
    }

    fn forget_agreement(&self) {
        self.lock().meta = RequestMeta::default();
    }

    fn initialize_request(&self, revision: Revision) -> Request {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.options.responder.capabilities(revision),
            "clientInfo": client_info(),
        });
        Request::new("initialize").params(&params)
    }

    /// Agrees again after the server forgot our session (HTTP 404).
    pub async fn initialize_again(self: &Arc<Self>, revision: Revision) -> Result<(), CallError> {
        let channel = self.channel().map_err(CallError::unsent)?;
        // The old session stays until the new one is there: what is sent meanwhile is answered with another 404, and
        // made again.
        let request = self.initialize_request(revision);
        let result: InitializeResult = self.start(&request, &Start::default())?.await?.parse()?;
        self.set_revision(result.protocol_version.parse().unwrap_or(revision));
        self.notify("notifications/initialized", None);
        channel.listen().await;
        Ok(())
    }
}

/// Who we say we are.
fn client_info() -> Value {
    json!({ "name": "mcprove", "version": env!("CARGO_PKG_VERSION") })
}
