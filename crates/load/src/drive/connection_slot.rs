//! The place of one connection in a load. When its session dies, the slot opens another, within limits, so that a run
//! goes on after a crash; each time is noted.

use mcprove_trace::hang;
use tokio::sync::Mutex as AsyncMutex;

use crate::prelude::*;

/// How often in a row a slot tries to connect before it gives up.
const TRIES_MAX: u32 = 5;
/// The first pause between two tries; each next is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// How many calls in a row may lose their connection before the session is given up.
const LOST_CONNECTIONS_MAX: u32 = 20;
/// The pause after the first of them; later ones are longer.
const LOST_CONNECTION_PAUSE: Duration = Duration::from_millis(5);
/// How often a slot replaces a session whose server no longer answers.
const WEDGES_MAX: u32 = 3;
/// How long a server may take to show that it lives; one that took longer to start, that long.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(3);

/// A call that never returned, and what that says of the server.
#[stored]
pub struct DeadlockFact {
    pub tool: String,
    #[serde(default)]
    pub session: u32,
    pub kind: DeadlockKind,
}

impl Fact for DeadlockFact {
    const NAME: &'static str = "deadlock";
}

/// A slot no longer tries to connect; the message says why.
#[sparse]
#[stored]
pub struct GaveUpFact {
    /// Which of the planned sessions it is for.
    pub planned: Option<u32>,
}

impl Fact for GaveUpFact {
    const NAME: &'static str = "seat_gave_up";
}

/// The place of one connection.
pub struct ConnectionSlot {
    context: RunContext,
    /// Which of the planned sessions it is for, if it is for one.
    planned: Option<u32>,
    current: Mutex<Option<SlotSession>>,
    renewal: AsyncMutex<()>,
    generation: AtomicU64,
    gave_up: AtomicBool,
    wedges: AtomicU32,
    /// Calls in a row that lost their connection.
    lost_connections: AtomicU32,
    /// The last generation that was found dead, which need not be asked again.
    wedged: Mutex<Option<u64>>,
}

#[derive(Clone)]
pub struct SlotSession {
    /// How many sessions were here before.
    pub generation: u64,
    pub connection: Arc<Connection>,
}

impl ConnectionSlot {
    /// An empty slot.
    pub fn new(context: &RunContext) -> Arc<Self> {
        Self::planned(context, None)
    }

    /// An empty slot for one of the planned sessions.
    pub fn planned(context: &RunContext, planned: Option<u32>) -> Arc<Self> {
        Arc::new(Self {
            context: context.clone(),
            planned,
            current: Mutex::default(),
            renewal: AsyncMutex::default(),
            generation: AtomicU64::default(),
            gave_up: AtomicBool::default(),
            wedges: AtomicU32::default(),
            lost_connections: AtomicU32::default(),
            wedged: Mutex::default(),
        })
    }

    /// Opens the first session.
    pub async fn open(&self) -> Result<SlotSession, ConnectError> {
        let connection = self.context.connect_planned(self.planned).await?;
        Ok(self.put(connection))
    }

    fn put(&self, connection: Connection) -> SlotSession {
        let session = SlotSession {
            generation: self.generation.fetch_add(1, Ordering::Relaxed),
            connection: Arc::new(connection),
        };
        *lock(&self.current) = Some(session.clone());
        session
    }

    /// The session, if there is one.
    pub fn session(&self) -> Option<SlotSession> {
        lock(&self.current).clone()
    }

    /// Whether the slot no longer tries.
    pub fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    fn give_up(&self, reason: &str) {
        self.gave_up.store(true, Ordering::Relaxed);
        let planned = self.planned;
        self.context.fact(reason, &GaveUpFact { planned });
    }

    /// A session other than the one that was `seen` to have ended: somebody else's new one, or one
    /// opened now. None when the slot gives up, or the run stops.
    pub async fn renew(&self, seen: Option<u64>, reason: &str) -> Option<SlotSession> {
        let _renewal = self.renewal.lock().await;
        if let Some(session) = self.session()
            && Some(session.generation) != seen
        {
            return Some(session);
        }
        if self.gave_up() {
            return None;
        }
        let old = lock(&self.current).take();
        if let Some(old) = old {
            // What is left of the old server must not stay; nobody needs to wait for that.
            tokio::spawn(async move { old.connection.end().await });
        }
        let context = &self.context;
        let mut pause = PAUSE_FIRST;
        for attempt in 1..=TRIES_MAX {
            let is_over = context.gauges.place.load(Ordering::Acquire) == OVER;
            if is_over || !context.stop.is_running() {
                return None;
            }
            let opened = context.reconnect(self.planned, attempt, reason).await;
            if let Ok(connection) = opened {
                self.lost_connections.store(0, Ordering::Relaxed);
                return Some(self.put(connection));
            }
            let pausing = tokio::time::sleep(pause);
            context.unless(StopLevel::Drain, pausing).await?;
            pause *= 2;
        }
        self.give_up(&format!(
            "the server could not be reached {TRIES_MAX} times in a row"
        ));
        None
    }

    /// Notes that a call was answered.
    pub fn note_answer(&self) {
        if self.lost_connections.load(Ordering::Relaxed) != 0 {
            self.lost_connections.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that a call lost its connection though the session goes on, as over HTTP; waits a
    /// little before the next, and tells whether the session is worth another try.
    pub async fn note_lost_connection(&self) -> bool {
        let count = self.lost_connections.fetch_add(1, Ordering::Relaxed) + 1;
        let pause = LOST_CONNECTION_PAUSE * count.min(LOST_CONNECTIONS_MAX);
        self.context.pause(pause).await;
        count < LOST_CONNECTIONS_MAX
    }

    /// Finds out what a call that never returned says of the server, and notes it. A server that no
    /// longer answers at all is replaced.
    pub async fn examine(&self, session: &SlotSession, tool: &str) -> Option<DeadlockKind> {
        let _renewal = self.renewal.lock().await;
        if self.session().map(|now| now.generation) != Some(session.generation) {
            return None;
        }
        let connection = &session.connection;
        if *lock(&self.wedged) == Some(session.generation) {
            self.context
                .note_deadlock(connection, tool, DeadlockKind::LoopDead);
            return Some(DeadlockKind::LoopDead);
        }
        let kind = self.context.note_stuck(connection, tool).await;
        if kind == DeadlockKind::LoopDead {
            *lock(&self.wedged) = Some(session.generation);
            connection.kill();
            let wedges = self.wedges.fetch_add(1, Ordering::Relaxed) + 1;
            if wedges >= WEDGES_MAX {
                self.give_up(&format!("the server stopped answering {WEDGES_MAX} times"));
            }
        }
        Some(kind)
    }

    /// Ends the session in an orderly way.
    pub async fn close(&self) {
        let session = lock(&self.current).take();
        if let Some(session) = session {
            session.connection.end().await;
        }
    }
}

impl RunContext {
    /// Finds out what a call that never returned says of the server behind `connection`, and notes it.
    pub async fn note_stuck(&self, connection: &Connection, tool: &str) -> DeadlockKind {
        let session = &connection.session;
        let patience = ALIVE_TIMEOUT.max(session.facts().startup);
        let answers = session.check_alive(patience).await.is_ok();
        let kind = process_kind(session, answers);
        self.note_deadlock(connection, tool, kind);
        kind
    }

    fn note_deadlock(&self, connection: &Connection, tool: &str, kind: DeadlockKind) {
        let fact = DeadlockFact {
            tool: tool.to_owned(),
            session: connection.number,
            kind,
        };
        self.fact(tool, &fact);
    }
}

/// What is stuck, where a call never returned: by whether the server answers anything, and its process lives.
pub fn process_kind(session: &Session, answers: bool) -> DeadlockKind {
    let is_process_alive = session.process().map(|_| session.closed().is_none());
    hang::kind(is_process_alive, answers)
}
