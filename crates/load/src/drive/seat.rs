//! A seat: the place of one connection in a load. When its session dies, the seat opens another,
//! within limits, so that a run goes on after a crash; each time is noted.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcprove_client::session::{ConnectError, Session};
use mcprove_trace::hang::{self, DeadlockKind};
use mcprove_trace::stream::Recorder;
use serde_json::json;
use tokio::sync::Mutex as AsyncMutex;

use super::stage::{Connection, Stage, note_violations};
use super::stop::StopLevel;

/// How often in a row a seat tries to connect before it gives up.
const TRIES_MAX: u32 = 5;
/// The first pause between two tries; each next is twice as long.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// How many calls in a row may lose their connection before the session is given up.
const LOST_CONNECTIONS_MAX: u32 = 20;
/// The pause after the first of them; later ones are longer.
const LOST_CONNECTION_PAUSE: Duration = Duration::from_millis(5);
/// How often a seat replaces a session whose server no longer answers.
const WEDGES_MAX: u32 = 3;
/// How long a server may take to show that it lives.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(2);

/// The place of one connection.
pub(crate) struct Seat {
    stage: Arc<Stage>,
    recorder: Arc<Recorder>,
    current: Mutex<Option<Sitting>>,
    renewal: AsyncMutex<()>,
    generation: AtomicU64,
    gave_up: AtomicBool,
    wedges: AtomicU32,
    /// Calls in a row that lost their connection.
    lost_connections: AtomicU32,
    /// The last generation that was found dead, which need not be asked again.
    wedged: Mutex<Option<u64>>,
}

/// The session on a seat.
#[derive(Clone)]
pub(crate) struct Sitting {
    /// How many sessions were here before.
    pub generation: u64,
    /// The session.
    pub connection: Arc<Connection>,
}

impl Seat {
    /// An empty seat.
    pub fn new(stage: Arc<Stage>, recorder: Arc<Recorder>) -> Arc<Self> {
        Arc::new(Self {
            stage,
            recorder,
            current: Mutex::new(None),
            renewal: AsyncMutex::new(()),
            generation: AtomicU64::new(0),
            gave_up: AtomicBool::new(false),
            wedges: AtomicU32::new(0),
            lost_connections: AtomicU32::new(0),
            wedged: Mutex::new(None),
        })
    }

    /// Opens the first session.
    pub async fn open(&self) -> Result<Sitting, ConnectError> {
        let connection = self.stage.connect(&self.recorder).await?;
        Ok(self.sit(connection))
    }

    fn sit(&self, connection: Connection) -> Sitting {
        let sitting = Sitting {
            generation: self.generation.fetch_add(1, Ordering::Relaxed),
            connection: Arc::new(connection),
        };
        *self.lock() = Some(sitting.clone());
        sitting
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Sitting>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_wedged(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.wedged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session, if there is one.
    pub fn sitting(&self) -> Option<Sitting> {
        self.lock().clone()
    }

    /// Whether the seat no longer tries.
    pub fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// A session other than the one that was `seen` to have ended: somebody else's new one, or one
    /// opened now. None when the seat gives up, or the run stops.
    pub async fn renew(&self, seen: Option<u64>, reason: &str) -> Option<Sitting> {
        let _renewal = self.renewal.lock().await;
        if let Some(sitting) = self.sitting()
            && Some(sitting.generation) != seen
        {
            return Some(sitting);
        }
        if self.gave_up() {
            return None;
        }
        let old = self.lock().take();
        if let Some(old) = old {
            // What is left of the old server must not stay; nobody needs to wait for that.
            note_violations(&self.recorder, &old.connection.session);
            tokio::spawn(async move { old.connection.end().await });
        }
        let mut pause = PAUSE_FIRST;
        for attempt in 1..=TRIES_MAX {
            let is_over = self.stage.gauges.is_over.load(Ordering::Acquire);
            if is_over || !self.stage.stop.is_running() {
                return None;
            }
            match self.stage.connect(&self.recorder).await {
                Ok(connection) => {
                    let data = json!({ "session": connection.number, "attempt": attempt, "reason": reason });
                    self.recorder.note("reconnected", reason, &data);
                    self.lost_connections.store(0, Ordering::Relaxed);
                    return Some(self.sit(connection));
                }
                Err(error) => {
                    let data = json!({ "attempt": attempt });
                    self.recorder
                        .note("connect_failed", &error.to_string(), &data);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stage.stop.requested(StopLevel::Drain) => return None,
            }
            pause *= 2;
        }
        self.gave_up.store(true, Ordering::Relaxed);
        self.recorder.note(
            "seat_gave_up",
            &format!("the server could not be reached {TRIES_MAX} times in a row"),
            &json!({}),
        );
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
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.stage.stop.requested(StopLevel::Drain) => {}
        }
        count < LOST_CONNECTIONS_MAX
    }

    /// Finds out what a call that never returned says of the server, and notes it. A server that no
    /// longer answers at all is replaced.
    pub async fn examine(&self, sitting: &Sitting, tool: &str) -> Option<DeadlockKind> {
        let _renewal = self.renewal.lock().await;
        if self.sitting().map(|now| now.generation) != Some(sitting.generation) {
            return None;
        }
        let number = sitting.connection.number;
        if *self.lock_wedged() == Some(sitting.generation) {
            note_deadlock(&self.recorder, tool, number, DeadlockKind::LoopDead);
            return Some(DeadlockKind::LoopDead);
        }
        let kind = examine_session(&sitting.connection.session).await;
        note_deadlock(&self.recorder, tool, number, kind);
        if kind == DeadlockKind::LoopDead {
            *self.lock_wedged() = Some(sitting.generation);
            sitting.connection.kill();
            let wedges = self.wedges.fetch_add(1, Ordering::Relaxed) + 1;
            if wedges >= WEDGES_MAX {
                self.gave_up.store(true, Ordering::Relaxed);
                self.recorder.note(
                    "seat_gave_up",
                    &format!("the server stopped answering {WEDGES_MAX} times"),
                    &json!({}),
                );
            }
        }
        Some(kind)
    }

    /// Ends the session in an orderly way.
    pub async fn close(&self) {
        let sitting = self.lock().take();
        if let Some(sitting) = sitting {
            sitting.connection.end().await;
            note_violations(&self.recorder, &sitting.connection.session);
        }
    }
}

/// Finds out what a call that never returned says of the server behind `connection`, and notes it.
pub(crate) async fn note_stuck(recorder: &Recorder, connection: &Connection, tool: &str) {
    let kind = examine_session(&connection.session).await;
    note_deadlock(recorder, tool, connection.number, kind);
}

async fn examine_session(session: &Session) -> DeadlockKind {
    let answers = session.check_alive(ALIVE_TIMEOUT).await.is_ok();
    let is_process_alive = session.process().map(|_| session.closed().is_none());
    hang::kind(is_process_alive, answers)
}

/// Notes a call that never returned, and what that says of the server.
pub(crate) fn note_deadlock(recorder: &Recorder, tool: &str, session: u32, kind: DeadlockKind) {
    recorder.note(
        "deadlock",
        tool,
        &json!({ "tool": tool, "session": session, "kind": kind }),
    );
}
