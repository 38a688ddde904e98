//! Leaving sessions, in an orderly way or without a goodbye, and counting what they leave behind.
//!
//! Over stdio a session is a process. It has to end when its input does, within the shutdown
//! timeout of the server, and so does what it started; else it is left over. One exception is made:
//! a server that asked its client something right after the handshake may wait for that answer,
//! which never comes once its input is closed. So a process that stays is only suspected at first,
//! and from then on sessions are left alone for a moment before they are left: what stays even then
//! is left over, and the suspects with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcprove_client::process;
use mcprove_client::session::{ConnectError, ProtocolChoice};
use mcprove_score::{leak, sessions};
use mcprove_trace::stream::Recorder;
use serde_json::json;
use tokio::sync::RwLock;

use crate::drive::stage::{Connection, Stage, note_violations};
use crate::drive::stop::StopLevel;
use crate::run::assemble::Assembly;
use crate::run::assemble::figures::samples;
use crate::run::report::Report;
use crate::run::session_ends::{self, Focus};

/// How long a session is left alone after it was opened, once a process stayed: longer than any
/// server takes to ask its first questions.
const SETTLING: Duration = Duration::from_secs(1);
/// After so many processes that had to be killed there is no more to learn, and each costs the
/// shutdown timeout.
const STAYED_MAX: u64 = 3;
/// How long an ended child of a server may be unnoticed by it.
const REAPING: Duration = Duration::from_millis(200);

/// How a session is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As the protocol asks for: stdin closed, the session deleted.
    Orderly,
    /// As a client that crashed: the connection is gone, in both directions.
    Abandoned,
}

impl Way {
    /// One way after the other.
    pub const fn alternate(number: u32) -> Self {
        if number.is_multiple_of(2) {
            Self::Orderly
        } else {
            Self::Abandoned
        }
    }
}

/// A session, and since when it is open.
pub(super) struct Visit {
    /// The session.
    pub connection: Connection,
    /// When it was opened.
    pub opened: Instant,
}

/// What is counted for one way of leaving.
#[derive(Debug, Default)]
struct Stays {
    /// Processes that stayed, on sessions that were left at once.
    suspected: AtomicU64,
    /// Sessions that had been left alone before, and whose process ended.
    cleared: AtomicU64,
    /// Sessions that had been left alone before, and whose process stayed.
    confirmed: AtomicU64,
}

impl Stays {
    fn is_open(&self) -> bool {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        count(&self.suspected) > 0 && count(&self.cleared) == 0 && count(&self.confirmed) == 0
    }

    /// Processes that stayed for no good reason.
    fn total(&self) -> u64 {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        match (count(&self.confirmed), count(&self.cleared)) {
            (0, 1..) => 0,
            (confirmed, _) => confirmed + count(&self.suspected),
        }
    }
}

/// What became of the sessions of a run.
#[derive(Debug, Default)]
pub(super) struct Departures {
    opened: AtomicU64,
    failed_opens: AtomicU64,
    abandoned: AtomicU64,
    left_behind: AtomicU64,
    zombies: AtomicU64,
    failed_calls: AtomicU64,
    orderly_stays: Stays,
    abandoned_stays: Stays,
    /// Held by whoever opens a session, together or alone.
    opening: RwLock<()>,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

impl Departures {
    /// Opens the first session: a server that does not answer at all is no result but an error.
    pub async fn open_first(
        &self,
        stage: &Arc<Stage>,
        recorder: &Arc<Recorder>,
    ) -> Result<Visit, ConnectError> {
        let connection = stage.connect(recorder).await?;
        Ok(self.enter(connection))
    }

    /// Opens a session, or counts that it could not be opened.
    pub async fn open(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Option<Visit> {
        self.open_with(stage, recorder, stage.options.protocol)
            .await
    }

    /// [`Departures::open`] in a revision of its own. What fails is tried once more, while nobody
    /// else opens a session: many servers that start at once may all be late, which is no fault of
    /// theirs.
    pub async fn open_with(
        &self,
        stage: &Arc<Stage>,
        recorder: &Arc<Recorder>,
        protocol: ProtocolChoice,
    ) -> Option<Visit> {
        let connect = || stage.connect_with(recorder, |options| options.protocol = protocol);
        let mut outcome = {
            let _together = self.opening.read().await;
            connect().await
        };
        if outcome.is_err() && stage.stop.is_running() {
            let _alone = self.opening.write().await;
            outcome = connect().await;
        }
        match outcome {
            Ok(connection) => Some(self.enter(connection)),
            Err(error) => {
                add(&self.failed_opens, 1);
                recorder.note("connect_failed", &error.to_string(), &json!({}));
                None
            }
        }
    }

    fn enter(&self, connection: Connection) -> Visit {
        add(&self.opened, 1);
        Visit {
            connection,
            opened: Instant::now(),
        }
    }

    /// A call failed that had succeeded before.
    pub fn failed_to_call(&self) {
        add(&self.failed_calls, 1);
    }

    const fn stays(&self, way: Way) -> &Stays {
        match way {
            Way::Orderly => &self.orderly_stays,
            Way::Abandoned => &self.abandoned_stays,
        }
    }

    /// Whether so much was found that going on would find no more.
    pub fn is_clear(&self) -> bool {
        let confirmed = [&self.orderly_stays, &self.abandoned_stays]
            .map(|stays| stays.confirmed.load(Ordering::Relaxed));
        confirmed.iter().sum::<u64>() >= STAYED_MAX
    }

    /// Leaves a session alone for a moment, if a process stayed that had none.
    pub async fn settle(&self, stage: &Stage, visit: &Visit, way: Way) {
        if self.stays(way).suspected.load(Ordering::Relaxed) == 0 {
            return;
        }
        let rest = SETTLING.saturating_sub(visit.opened.elapsed());
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = stage.stop.requested(StopLevel::Drain) => {}
        }
    }

    /// Leaves a session, and looks at what stays.
    pub async fn leave(&self, recorder: &Recorder, visit: &Visit, way: Way) {
        let session = &visit.connection.session;
        let is_settled = visit.opened.elapsed() >= SETTLING;
        if let Some(process) = session.process() {
            add(&self.zombies, count_zombies(process).await);
        }
        note_violations(recorder, session);
        if way == Way::Abandoned {
            add(&self.abandoned, 1);
            session.abandon();
        }
        // One that hangs in a call does not leave because of that.
        let is_stuck = session.has_unanswered();
        let closing = session.end().await;
        let stays = self.stays(way);
        match (closing.forced && !is_stuck, is_settled) {
            (true, true) => add(&stays.confirmed, 1),
            (true, false) => add(&stays.suspected, 1),
            (false, true) => add(&stays.cleared, 1),
            (false, false) => {}
        }
        let left = session.leftovers().len();
        add(&self.left_behind, u64::try_from(left).unwrap_or(u64::MAX));
    }

    /// Clears what is still unclear, and notes all that was counted.
    pub async fn finish(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) {
        for way in [Way::Orderly, Way::Abandoned] {
            if self.stays(way).is_open()
                && stage.stop.is_running()
                && let Some(visit) = self.open(stage, recorder).await
            {
                self.settle(stage, &visit, way).await;
                self.leave(recorder, &visit, way).await;
            }
        }
        // Where one process serves all sessions, it is looked at once.
        let listening = stage.server.local_address();
        let process = listening.and_then(process::process_listening_on);
        if let Some(process) = process.filter(|process| *process != std::process::id()) {
            add(&self.zombies, count_zombies(process).await);
        }
        self.note(recorder);
    }

    fn note(&self, recorder: &Recorder) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let stayed = self.orderly_stays.total() + self.abandoned_stays.total();
        recorder.note(
            "sessions",
            "",
            &json!({
                "opened": count(&self.opened),
                "failed_opens": count(&self.failed_opens),
                "abandoned": count(&self.abandoned),
                "leftovers": count(&self.left_behind) + stayed,
                "zombies": count(&self.zombies),
                "failed_calls": count(&self.failed_calls),
            }),
        );
    }
}

/// Ends a session of which nothing more is wanted. A process of ours is not waited for: it may take
/// its time to leave a session that was short.
pub(super) async fn dismiss(recorder: &Recorder, connection: &Connection) {
    note_violations(recorder, &connection.session);
    if connection.session.process().is_some() {
        connection.session.abandon();
        connection.kill();
    }
    connection.end().await;
}

/// Descendants of `process` that ended and that it takes no notice of.
async fn count_zombies(process: u32) -> u64 {
    let look = || async move {
        tokio::task::spawn_blocking(move || process::zombies_under(process))
            .await
            .unwrap_or_default()
    };
    let before = look().await;
    if before.is_empty() {
        return 0;
    }
    // One that just ended is no zombie yet.
    tokio::time::sleep(REAPING).await;
    let after = look().await;
    let count = before.iter().filter(|pid| after.contains(pid)).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// What sessions that ended left behind.
pub(super) fn conclude(assembly: &Assembly<'_>, report: &mut Report, otherwise: Focus) {
    let record = assembly.notes.sessions.unwrap_or_default();
    let judged = sessions::judge(
        &sessions::ChurnInput {
            run: assembly.ending.duration,
            opened: record.opened,
            failed_opens: record.failed_opens,
            abandoned: record.abandoned,
            rss: samples(report, |sample| Some(sample.rss_mb)),
            descriptors: samples(report, |sample| sample.descriptors.map(f64::from)),
            leftovers: record.leftovers,
            zombies: record.zombies,
        },
        &leak::LeakSettings::default(),
    );
    let is_stdio = report.server_info.transport == "stdio";
    let focus = if is_stdio {
        Focus::Processes
    } else {
        otherwise
    };
    let verdicts = session_ends::verdicts(&record, &judged, focus);
    report.verdicts.extend(verdicts);
    report.session_ends = Some(judged);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(suspected: u64, cleared: u64, confirmed: u64) -> Stays {
        Stays {
            suspected: suspected.into(),
            cleared: cleared.into(),
            confirmed: confirmed.into(),
        }
    }

    #[test]
    fn suspects_are_cleared_only_by_sessions_that_end() {
        let cases = [
            ((0, 0, 0), 0, false),
            ((2, 0, 0), 2, true),
            ((2, 3, 0), 0, false),
            ((2, 0, 1), 3, false),
            ((2, 1, 1), 3, false),
            ((0, 4, 1), 1, false),
        ];
        for ((suspected, cleared, confirmed), total, is_open) in cases {
            let stays = stays(suspected, cleared, confirmed);
            assert_eq!(
                (stays.total(), stays.is_open()),
                (total, is_open),
                "{stays:?}"
            );
        }
    }
}
