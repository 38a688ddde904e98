//! What all connections of one server share: its mode, and whether it stands still or has ended.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use tokio::sync::{Semaphore, watch};

use crate::prelude::*;

/// The most calls of tools that are worked on at a time, and the most of all other requests.
pub const IN_FLIGHT_MAX: usize = 16_384;

/// How long work that was given up may take to stop.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// How often to look whether it has.
const SETTLE_STEP: Duration = Duration::from_millis(1);

/// Which eras a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eras {
    /// Only with `initialize`.
    Handshake,
    /// Only without.
    Stateless,
    /// As the client opens.
    #[default]
    Both,
}

impl Eras {
    /// The revisions of these eras, oldest first.
    pub fn revisions(self) -> Vec<Revision> {
        let is_spoken = |revision: &Revision| match self {
            Self::Handshake => revision.era() == Era::Handshake,
            Self::Stateless => revision.era() == Era::Stateless,
            Self::Both => true,
        };
        Revision::ALL.into_iter().filter(is_spoken).collect()
    }
}

impl std::str::FromStr for Eras {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "handshake" => Ok(Self::Handshake),
            "stateless" => Ok(Self::Stateless),
            "both" => Ok(Self::Both),
            other => Err(format!(
                "unknown era {other:?}; known: handshake, stateless, both"
            )),
        }
    }
}

/// Where a server's stderr goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// To the stderr of this process.
    Process,
    /// Nowhere, for servers inside another program.
    Discard,
}

/// One running server.
#[derive(Opaque)]
pub struct Host {
    /// The mode.
    pub(crate) behaviour: Arc<dyn Behaviour>,
    /// The eras it speaks.
    pub(crate) eras: Eras,
    /// One permit for each call of a tool that may be worked on.
    calls: Arc<Semaphore>,
    /// The same for all other requests: so that calls that are never answered leave room for everything else.
    others: Arc<Semaphore>,
    /// Requests that arrive or are worked on.
    pub(crate) requests: Budget,
    /// Answers that wait to be read.
    pub(crate) answers: Budget,
    /// What sessions keep of what their clients said.
    pub(crate) kept: Budget,
    public_hosts: OnceLock<Vec<PublicHost>>,
    stderr: Stderr,
    is_stalled: AtomicBool,
    end: watch::Sender<Option<u8>>,
    changes: broadcast::Sender<Change>,
    names: AtomicU64,
    name_keys: SignedState,
}

impl Host {
    /// A server with this mind.
    pub fn new(behaviour: Arc<dyn Behaviour>, eras: Eras, stderr: Stderr) -> Arc<Self> {
        Arc::new(Self {
            behaviour,
            eras,
            calls: Arc::new(Semaphore::new(IN_FLIGHT_MAX)),
            others: Arc::new(Semaphore::new(IN_FLIGHT_MAX)),
            requests: Budget::new(http_limits::REQUEST_BYTES_MAX),
            answers: Budget::new(ANSWER_BYTES_MAX),
            kept: Budget::new(SESSION_BYTES_MAX),
            public_hosts: OnceLock::new(),
            stderr,
            is_stalled: AtomicBool::new(false),
            end: watch::Sender::new(None),
            changes: broadcast::Sender::new(changes::BEHIND_MAX),
            names: AtomicU64::new(0),
            name_keys: SignedState::default(),
        })
    }

    /// The same server, which over the network also answers to these names: without them, only to loopback names and
    /// to the address that it is reached at. Given once.
    pub fn public_hosts(self: Arc<Self>, hosts: Vec<PublicHost>) -> Arc<Self> {
        self.public_hosts.get_or_init(|| hosts);
        self
    }

    /// The further names that it answers to.
    pub(super) fn names(&self) -> &[PublicHost] {
        self.public_hosts.get().map_or(&[], Vec::as_slice)
    }

    /// Stops the whole server from looking at anything more, without ending it.
    pub fn stall(&self) {
        self.is_stalled.store(true, Ordering::SeqCst);
    }

    /// Waits until the server can take something more.
    pub(crate) async fn ready(&self) {
        if let Some(ready) = self.behaviour.ready() {
            ready.await;
        }
    }

    /// Returns as soon as the server can take more, and never when it stands still or has ended.
    pub(crate) async fn pass(&self) {
        self.ready().await;
        if self.is_stalled.load(Ordering::SeqCst) || self.has_ended() {
            pending::<()>().await;
        }
    }

    /// Whether a frame is served, as the mode decides; does not return when the mode stops here.
    pub(crate) async fn takes(&self, frame: &[u8]) -> bool {
        self.pass().await;
        match self.behaviour.inspect(frame) {
            Disposition::Serve => return true,
            Disposition::Ignore => {}
            Disposition::Stall => {
                self.stall();
                self.pass().await;
            }
            Disposition::Exit(status) => self.exit(status).await,
        }
        false
    }

    /// Ends the server, as a process would by exiting; never returns to the mode.
    pub async fn exit(&self, status: u8) {
        self.end(status);
        pending::<()>().await;
    }

    /// Ends the server with this status, unless it has ended already.
    pub fn end(&self, status: u8) {
        self.end.send_if_modified(|end| {
            let is_first = end.is_none();
            end.get_or_insert(status);
            is_first
        });
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Why work is given up when a connection closes: the client left, unless we did.
    pub(crate) fn why_closed(&self) -> Ended {
        if self.has_ended() {
            Ended::GivenUp
        } else {
            Ended::Disconnected
        }
    }

    /// The rights to be worked on, for requests of this method.
    pub(super) fn slots(&self, method: &str) -> &Arc<Semaphore> {
        if method == "tools/call" {
            &self.calls
        } else {
            &self.others
        }
    }

    /// Gives up work on requests that the client no longer wants; whether any of it goes on all the same.
    pub(super) fn cancel(&self, session: &Session, id: &Value, which: Which, how: Ended) -> bool {
        let (methods, is_shielded) = session.in_flight.cancel(id, which, how);
        for method in methods {
            self.behaviour.cancelled(&method);
        }
        is_shielded
    }

    /// Closes a session, and tells the behaviour of a client that left.
    pub(crate) fn close(&self, session: &Session) {
        let how = self.why_closed();
        if how == Ended::Disconnected {
            self.behaviour.left(session);
        }
        session.close(how);
    }

    /// Waits for the end, and says with which status.
    pub(crate) async fn ended(&self) -> u8 {
        let mut end = self.end.subscribe();
        let status = end.wait_for(Option::is_some).await.ok();
        status.and_then(|status| *status).unwrap_or_default()
    }

    /// Tells every client that wants to know that something changed.
    pub fn publish(&self, change: Change) {
        // Nobody may be listening.
        let _ = self.changes.send(change);
    }

    /// Everything that is published from now on.
    pub(super) fn news(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Waits until no request is worked on any more, once all were answered or given up.
    pub(crate) async fn settled(&self) {
        let is_idle = |slots: &Semaphore| slots.available_permits() == IN_FLIGHT_MAX;
        let is_settled = || is_idle(&self.calls) && is_idle(&self.others);
        wait_until(is_settled, SETTLE_STEP, SETTLE_TIME).await;
    }

    /// Writes to stderr, waiting for whoever reads it.
    pub async fn write_stderr(&self, bytes: &[u8]) {
        if self.stderr == Stderr::Process {
            let mut stderr = tokio::io::stderr();
            // Nobody to tell when stderr is gone.
            let _ = stderr.write_all(bytes).await;
            let _ = stderr.flush().await;
        }
    }

    /// A name that nobody can guess and that is given once: for sessions and tasks.
    pub fn unique_name(&self) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        self.name_keys.mark(&number.to_string())
    }
}

/// Waits until this is so, looking every `step`, and no longer than `max`: what does not stop by then is left behind.
pub async fn wait_until(is_so: impl Fn() -> bool, step: Duration, max: Duration) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(step).await;
        }
    };
    let _ = tokio::time::timeout(max, wait).await;
}

/// Keys that only this process knows, for seals on what a client is given and has to bring back unchanged.
#[derive(Default)]
pub struct SignedState {
    first: RandomState,
    second: RandomState,
}

impl SignedState {
    /// The text with a seal on it.
    pub fn put(&self, text: &str) -> String {
        format!("{text}.{}", self.mark(text))
    }

    /// The text, if the seal on it is whole.
    pub fn check<'a>(&self, sealed: &'a str) -> Option<&'a str> {
        let (text, mark) = sealed.rsplit_once('.')?;
        (mark == self.mark(text)).then_some(text)
    }

    /// What stands for a text, and tells nothing of it.
    pub fn mark(&self, text: &str) -> String {
        let half = |keys: &RandomState| {
            let mut hasher = keys.build_hasher();
            hasher.write(text.as_bytes());
            hasher.finish()
        };
        format!("{:016x}{:016x}", half(&self.first), half(&self.second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_here_is_whole() {
        let seal = SignedState::default();
        let sealed = seal.put("step 1.5");
        assert_eq!(seal.check(&sealed), Some("step 1.5"));
        assert_eq!(seal.check(&format!("{sealed}-TAMPERED")), None);
        assert_eq!(seal.check(&sealed.replace('5', "6")), None);
        assert_eq!(seal.check("step 1.5"), None);
        assert_eq!(SignedState::default().check(&sealed), None);
    }
}
