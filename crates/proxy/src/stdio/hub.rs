//! What both directions of one stdio proxy and the calls that met faults share. The requests of the server to the
//! client have ids of their own, and are never looked up here.

use mcprove_servers::hosting::serve_stdio::DRAIN_TIME;

use super::prelude::*;
use crate::message::{id_in_head, may_matter};

/// How many requests are remembered until they are answered.
const OPEN_MAX: usize = 100_000;

/// Everything that both directions and the faulted calls share.
pub struct Hub {
    pub watch: Arc<Watch>,
    pub session: Session,
    pub to_server: Lane,
    pub to_client: Lane,
    answers: Answers,
    /// Set when a fault ended it all.
    pub end: SetOnce<End>,
}

impl Hub {
    pub fn new(watch: Arc<Watch>, to_server: Lane, to_client: Lane) -> Arc<Self> {
        let recording = watch.settings.recording.as_ref();
        let session = Session {
            recorded: recording.map(Recording::session),
            ..Session::default()
        };
        Arc::new(Self {
            watch,
            session,
            to_server,
            to_client,
            answers: Answers::new(OPEN_MAX),
            end: SetOnce::new(),
        })
    }

    /// Whether lines of this side need to be looked at now.
    pub fn is_looking(&self, from: Peer) -> bool {
        match from {
            Peer::Client => !self.watch.is_idle(),
            Peer::Server => self.session.recorded.is_some() || self.answers.is_expecting(),
        }
    }

    /// Looks at a line, its line break included, if it has one.
    pub fn look(self: &Arc<Self>, from: Peer, line: &[u8]) -> Passage {
        if from == Peer::Server {
            let mut verdict = self.watch.hear(&self.session, &self.answers, line);
            if let Passage::Replace(changed) = &mut verdict {
                changed.push(b'\n');
            }
            return verdict;
        }
        if self.session.recorded.is_none() && !may_matter(line) {
            return Passage::Pass;
        }
        match self.watch.decide(&self.session, &Seen::of(line), line) {
            Decision::Pass(look) => {
                if let Some(look) = look {
                    self.answers.expect(&look);
                }
                Passage::Pass
            }
            Decision::Hold => Passage::Hold,
            Decision::Strike(call, injection) => {
                strike(*injection, &call, Lines(Arc::clone(self)));
                Passage::Hold
            }
        }
    }

    /// Takes note of a line that is too long, of which this is the beginning.
    pub fn skip(&self, from: Peer, head: &[u8]) {
        let name = from.name();
        let remark =
            format!("a message of the {name} was too long to be looked at, and passed unchanged");
        self.watch.journal.remark(&remark);
        if from == Peer::Server {
            if let Some(key) = id_in_head(head) {
                self.answers.pass_long(&key);
            }
            if let Some(session) = &self.session.recorded {
                session.remark(&remark);
            }
        }
    }

    /// The client has left: what waits before it goes on gets a moment, as long as a server of ours gives it;
    /// what is due later is not executed. What is never answered ends now.
    pub async fn client_left(&self) {
        if let Some(session) = &self.session.recorded {
            session.left();
        }
        let left = Instant::now();
        let faulted = &self.watch.faulted;
        faulted.abandon_unheard();
        let due = |call: &PendingCall| call.due.unwrap_or(left).max(left);
        let is_late = |call: &PendingCall| due(call) > left + DRAIN_TIME;
        faulted.give_up(
            |call| !call.is_forwarded() && is_late(call),
            RecordedRequest::cancel,
        );
        faulted
            .settle(|call| {
                let is_awaited = !call.is_forwarded() && !is_late(call);
                is_awaited.then(|| due(call) + GRACE)
            })
            .await;
        faulted.give_up(|call| !call.is_forwarded(), RecordedRequest::cancel);
    }

    /// The server says nothing more: nobody gets an answer, and faults have a moment to end.
    pub async fn server_left(&self) {
        let left = Instant::now();
        self.answers.give_up_taking();
        // The time that the client takes to read is its own.
        let until = |_: &PendingCall| {
            let is_busy = self.to_client.is_busy();
            Some(if is_busy { Instant::now() } else { left } + GRACE)
        };
        self.watch.faulted.settle(until).await;
    }
}

/// The way of calls that met faults, by lines.
struct Lines(Arc<Hub>);

impl FaultTransport for Lines {
    async fn execute(&self, call: &PendingCall) -> Option<Bytes> {
        let hub = &self.0;
        hub.watch.faulted.forget(&call.key);
        let answer = hub.answers.take_answer(call);
        if !hub.to_server.write_apart(&call.message).await {
            return None;
        }
        answer.await.ok()
    }

    async fn send(&self, message: Bytes) {
        self.0.to_client.write_line(&message).await;
    }

    // The first fault that ends it all decides how.

    async fn disconnect(&self) {
        let _ = self.0.end.set(End::Disconnected);
    }

    async fn crash(&self) {
        let _ = self.0.end.set(End::Crashed);
    }

    fn over(&self, call: &PendingCall) {
        self.0.answers.stop_taking(call);
    }
}
