//! Leaving sessions, in an orderly way or without a goodbye, and counting what they leave behind.
//!
//! Over stdio a session is a process. It has to end when its input does, within the shutdown
//! timeout of the server, and so does what it started; else it is left over. One exception is made:
//! a server that asked its client something right after the handshake may wait for that answer,
//! which never comes once its input is closed. So a process that stays is only suspected at first,
//! and from then on sessions are left alone for a moment before they are left: what stays even then
//! is left over, and the suspects with it.

use mcprove_client::process;
use mcprove_client::transport::Detail;
use mcprove_score::leak;
use mcprove_score::sessions;
use tokio::sync::RwLock;

use super::prelude::*;

/// The detector of sessions that cannot be opened any more.
pub const NEW_SESSIONS: &str = "new_sessions";

/// How long a session is left alone after it was opened, once a process stayed: longer than any
/// server takes to ask its first questions.
const SETTLING: Duration = Duration::from_secs(1);
/// After so many processes that had to be killed there is no more to learn, and each costs the
/// shutdown timeout.
const STAYED_MAX: u64 = 3;
/// Up to this share of the sessions may fail: a server may have an error now and then.
const FAILED_SHARE_MAX: f64 = 0.05;
/// How long an ended child of a server may be unnoticed by it.
const REAPING: Duration = Duration::from_millis(200);

/// How a session is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStyle {
    /// As the protocol asks for: stdin closed, the session deleted.
    Orderly,
    /// As a client that crashed: the connection is gone, in both directions.
    Abandoned,
}

impl ExitStyle {
    /// One style after the other.
    pub const fn alternate(number: u32) -> Self {
        if number.is_multiple_of(2) {
            Self::Orderly
        } else {
            Self::Abandoned
        }
    }
}

/// A session, and since when it is open.
pub struct Visit {
    /// The session.
    pub connection: Connection,
    /// When it was opened.
    pub opened: Instant,
}

/// What became of sessions that were opened and left.
#[stored(Copy, Default)]
#[serde(default)]
struct SessionsFact {
    opened: u64,
    failed_opens: u64,
    abandoned: u64,
    leftovers: u64,
    zombies: u64,
    failed_calls: u64,
    /// Sessions and calls that a rate limit refused.
    refused: u64,
    /// Whether in the end no session could be opened any more.
    is_gone: bool,
    /// What sessions left behind that were all closed in order.
    closed: Option<sessions::ClosedSessions>,
}

impl Fact for SessionsFact {
    const NAME: &'static str = "sessions";
}

/// What is counted for one style of leaving.
#[derive(Debug, Default)]
struct Stays {
    /// Processes that stayed, on sessions that were left at once.
    suspected: u64,
    /// Sessions that had been left alone before, and whose process ended.
    cleared: u64,
    /// Sessions that had been left alone before, and whose process stayed.
    confirmed: u64,
    /// Processes that stayed while they may have been at work on calls.
    busy: u64,
}

impl Stays {
    fn is_open(&self) -> bool {
        self.suspected + self.busy > 0 && self.cleared == 0 && self.confirmed == 0
    }

    /// Processes that stayed for no good reason.
    fn total(&self) -> u64 {
        match (self.confirmed, self.cleared) {
            (0, 1..) => 0,
            (confirmed, _) => confirmed + self.suspected,
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    sessions: SessionsFact,
    /// By style.
    stays: [Stays; 2],
}

/// Opens and leaves sessions, and counts what becomes of them.
pub struct SessionEnds {
    context: RunContext,
    counts: Mutex<Counts>,
    /// Held by whoever opens a session, together or alone.
    opening: RwLock<()>,
    /// How many starts were made, and whether one of them failed at first.
    starts: AtomicU32,
    has_failed_start: AtomicBool,
}

impl SessionEnds {
    /// Nothing opened yet.
    pub fn new(context: &RunContext) -> Self {
        Self {
            context: context.clone(),
            counts: Mutex::default(),
            opening: RwLock::default(),
            starts: AtomicU32::default(),
            has_failed_start: AtomicBool::default(),
        }
    }

    fn count(&self, count: impl FnOnce(&mut SessionsFact)) {
        count(&mut lock(&self.counts).sessions);
    }

    /// Opens the first session: a server that does not answer at all is no result but an error.
    pub async fn open_first(&self) -> RunResult<Visit> {
        Ok(self.enter(self.context.connect().await?))
    }

    /// Opens a session, or counts that it could not be opened. What fails is tried once more, while nobody else opens
    /// a session: many servers that start at once may all be late, which is no fault of theirs. Other failures are one
    /// all the same, and `starts` judges them.
    pub async fn open(&self, protocol: ProtocolChoice) -> Option<Visit> {
        let context = &self.context;
        let number = self.starts.fetch_add(1, Ordering::Relaxed);
        let connect = || context.connect_start(number, |options| options.protocol = protocol);
        let mut outcome = {
            let _together = self.opening.read().await;
            connect().await
        };
        let is_refused = |error: &ConnectError| error.is_rate_limited();
        let has_failed = outcome.as_ref().is_err_and(|error| !is_refused(error));
        self.has_failed_start
            .fetch_or(has_failed, Ordering::Relaxed);
        if has_failed && context.stop.is_running() {
            let _alone = self.opening.write().await;
            outcome = connect().await;
        }
        let opened = outcome.inspect_err(|error| {
            let is_refused = is_refused(error);
            self.count(|sessions| {
                sessions.refused += u64::from(is_refused);
                sessions.failed_opens += u64::from(!is_refused);
            });
        });
        opened.ok().map(|connection| self.enter(connection))
    }

    /// Opens a session and makes a call that has to succeed, in its proper order: what comes too early is for another
    /// scenario. A tool may fail now and then, so that one that fails is called once more, on another session.
    pub async fn open_and_call(
        &self,
        protocol: ProtocolChoice,
        reference: &Reference,
        phase: u16,
    ) -> Option<Visit> {
        let visit = self.open(protocol).await?;
        let failed = call_in_order(&visit, reference, phase).await.err();
        let Some(error) = failed.filter(|error| !self.excuse(error)) else {
            return Some(visit);
        };
        if !reference::is_answer(&error) {
            self.count(|sessions| sessions.failed_calls += 1);
            return Some(visit);
        }
        self.leave(&visit, ExitStyle::Orderly).await;
        let visit = self.open(protocol).await?;
        let again = call_in_order(&visit, reference, phase).await;
        if again.is_err_and(|error| !self.excuse(&error)) {
            self.count(|sessions| sessions.failed_calls += 1);
        }
        Some(visit)
    }

    /// Whether a call that failed says nothing against the server: a late answer is an answer, a call that is still
    /// queued may get one, a connection that was kept may be closed at any moment, and something broken is reported as such. Refusals by a rate limit are counted.
    fn excuse(&self, error: &CallError) -> bool {
        let is_refused = error.failure.is_rate_limited();
        if is_refused {
            self.count(|sessions| sessions.refused += 1);
        }
        let is_late = reference::is_answer(error) && error.category() == ErrorCategory::Hang;
        let is_unclear = matches!(
            error.failure.detail,
            Detail::Queued | Detail::KeptConnection
        );
        is_refused || is_late || is_unclear || error.category() == ErrorCategory::Malformed
    }

    /// Notes that no session can be opened any more.
    pub fn note_gone(&self) {
        self.count(|sessions| sessions.is_gone = true);
    }

    /// Notes what the server has more after sessions that were all closed in order, which are not among the others.
    pub fn note_closed(&self, closed: sessions::ClosedSessions) {
        self.count(|sessions| {
            sessions.opened = sessions.opened.saturating_sub(closed.sessions);
            sessions.closed = Some(closed);
        });
    }

    fn enter(&self, connection: Connection) -> Visit {
        self.count(|sessions| sessions.opened += 1);
        Visit {
            connection,
            opened: Instant::now(),
        }
    }

    /// Whether so much was found that going on would find no more.
    pub fn is_clear(&self) -> bool {
        let stays = &lock(&self.counts).stays;
        stays.iter().map(|stays| stays.confirmed).sum::<u64>() >= STAYED_MAX
    }

    /// Leaves a session alone for a moment, if a process stayed that had none.
    pub async fn settle(&self, visit: &Visit, style: ExitStyle) {
        let is_suspected = lock(&self.counts).stays[style as usize].suspected > 0;
        let rest = SETTLING.saturating_sub(visit.opened.elapsed());
        if is_suspected && !rest.is_zero() {
            self.context.pause(rest).await;
        }
    }

    /// Leaves a session once it has settled, and looks at what stays.
    pub async fn leave(&self, visit: &Visit, style: ExitStyle) {
        self.leave_at_work(visit, style, Duration::ZERO).await;
    }

    /// The same for a session with calls under way, which take that long together. A process that finishes them before
    /// it looks at its input stays for a good reason.
    pub async fn leave_at_work(&self, visit: &Visit, style: ExitStyle, work: Duration) {
        self.settle(visit, style).await;
        let session = &visit.connection.session;
        let is_settled = visit.opened.elapsed() >= SETTLING;
        if let Some(process) = session.process() {
            self.count_zombies(process).await;
        }
        if style == ExitStyle::Abandoned {
            self.count(|sessions| sessions.abandoned += 1);
            session.abandon();
        }
        // One that hangs in a call does not leave because of that.
        let is_stuck = session.has_unanswered();
        let closing = session.end().await;
        let mut counts = lock(&self.counts);
        let stays = &mut counts.stays[style as usize];
        let may_work = work >= self.context.server.shutdown_timeout / 2;
        match (closing.forced && !is_stuck, is_settled) {
            (true, _) if may_work => stays.busy += 1,
            (true, true) => stays.confirmed += 1,
            (true, false) => stays.suspected += 1,
            (false, true) => stays.cleared += 1,
            (false, false) => {}
        }
        counts.sessions.leftovers += session.leftovers().len() as u64;
    }

    /// Clears what is still unclear, and notes all that was counted.
    pub async fn finish(&self) {
        let context = &self.context;
        for style in [ExitStyle::Orderly, ExitStyle::Abandoned] {
            let is_open = lock(&self.counts).stays[style as usize].is_open();
            if is_open
                && context.stop.is_running()
                && let Some(visit) = self.open(context.options.protocol).await
            {
                self.leave(&visit, style).await;
            }
        }
        // Where one process serves all sessions, it is looked at once.
        let process = context
            .server
            .local_address()
            .and_then(process::process_listening_on);
        if let Some(process) = process.filter(|process| *process != std::process::id()) {
            self.count_zombies(process).await;
        }
        if self.has_failed_start.load(Ordering::Relaxed) {
            context.plan_starts(StartUnit::Start, self.starts.load(Ordering::Relaxed));
        }
        let counts = lock(&self.counts);
        let stayed: u64 = counts.stays.iter().map(Stays::total).sum();
        let fact = SessionsFact {
            leftovers: counts.sessions.leftovers + stayed,
            ..counts.sessions
        };
        context.fact("", &fact);
    }

    /// Counts descendants of `process` that ended and that it takes no notice of.
    async fn count_zombies(&self, process: u32) {
        let look = async || {
            let looking = tokio::task::spawn_blocking(move || process::zombies_under(process));
            looking.await.unwrap_or_default()
        };
        let before = look().await;
        if before.is_empty() {
            return;
        }
        // One that just ended is no zombie yet.
        tokio::time::sleep(REAPING).await;
        let after = look().await;
        let zombies = before.iter().filter(|pid| after.contains(pid)).count();
        self.count(|sessions| sessions.zombies += zombies as u64);
    }
}

/// Lists the tools and makes a call.
async fn call_in_order(visit: &Visit, reference: &Reference, phase: u16) -> Result<(), CallError> {
    let connection = &visit.connection;
    let listed = connection.session.list_tools().await;
    let called = connection.call(&reference.call, phase).await;
    listed.and(called).map(drop)
}

/// What sessions that ended left behind.
pub fn conclude(facts: &RunFacts<'_>, report: &mut Report, otherwise: Focus) -> FactResult {
    let record: SessionsFact = facts.first()?.unwrap_or_default();
    let judged = sessions::judge(
        &sessions::ChurnInput {
            run: facts.load_duration(),
            opened: record.opened,
            failed_opens: record.failed_opens,
            abandoned: record.abandoned,
            // Each session makes one call.
            progress: facts.calls_ended(),
            rss: facts.samples_of_load(report, |sample| Some(sample.rss_mb)),
            descriptors: facts.samples_of_load(report, |sample| sample.descriptors.map(f64::from)),
            threads: facts.samples_of_load(report, |sample| sample.threads.map(f64::from)),
            processes: facts.samples_of_load(report, |sample| Some(sample.processes.into())),
            leftovers: record.leftovers,
            zombies: record.zombies,
            closed: record.closed,
        },
        &leak::LeakSettings::default(),
    );
    let focus = match report.server_info.transport.as_str() {
        "stdio" => Focus::Processes,
        _ => otherwise,
    };
    let failures = facts.metrics.notes_of(ConnectFailedFact::NAME);
    let reason = failures.map(|note| note.message.as_str()).next();
    let found = verdicts(&record, &judged, focus, reason);
    report.verdicts.extend(found);
    report.session_ends = Some(judged);
    Ok(())
}

/// What is worth a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// Each session has a process of its own, which has to end with it.
    Processes,
    /// One process serves all sessions, and has to let go of them.
    Leaks,
    /// One process serves all sessions, which are too few to show what it keeps of them.
    Recovery,
}

fn verdicts(
    record: &SessionsFact,
    judged: &ChurnReport,
    focus: Focus,
    reason: Option<&str>,
) -> Vec<Verdict> {
    let mut verdicts = sessions::verdicts(judged);
    verdicts.retain(|verdict| match verdict.detector.as_str() {
        sessions::LEFTOVERS => focus == Focus::Processes || verdict.outcome == Outcome::Finding,
        _ => focus == Focus::Leaks,
    });
    verdicts.insert(0, new_sessions(record, reason));
    verdicts
}

/// Whether sessions could be opened and used after others had ended; why the first could not.
fn new_sessions(record: &SessionsFact, reason: Option<&str>) -> Verdict {
    let tried = record.opened + record.failed_opens;
    let reason = reason.map_or(String::new(), |reason| {
        format!(" (such as: {})", phrase::text(reason))
    });
    let opens = (record.failed_opens > 0)
        .then(|| format!("{} could not be opened{reason}", record.failed_opens));
    let calls = (record.failed_calls > 0).then(|| {
        let count = record.failed_calls;
        format!("on {count} a call failed that succeeded before")
    });
    let failures: Vec<String> = opens.into_iter().chain(calls).collect();
    let failed = share(record.failed_opens + record.failed_calls, tried).unwrap_or_default();
    let refused = match record.refused {
        0 => String::new(),
        count => format!(", and a rate limit refused {}", counted(count, "call")),
    };
    let verdict = if !failures.is_empty() {
        let failures = failures.join(", and ");
        let (severity, what) = if failed > FAILED_SHARE_MAX || record.is_gone {
            let what = "The server does not recover from sessions that end: of";
            (Severity::Critical, what)
        } else {
            (Severity::Warning, "Of")
        };
        Verdict::finding(
            NEW_SESSIONS,
            severity,
            format!("{what} {tried} sessions {failures}{refused}."),
            "look for what a session that ends takes with it or leaves locked: streams, tasks, a pool of connections",
        )
    } else if record.opened.saturating_sub(record.refused) < sessions::SESSIONS_MIN {
        let sentence = match record.opened {
            _ if record.refused > 0 => "A rate limit refused nearly all sessions.",
            0 => "No session was opened.",
            _ => "No session was opened after another had ended.",
        };
        let hint = "give the run more time, or look at the server's stderr";
        Verdict::inconclusive(NEW_SESSIONS, sentence, hint)
    } else {
        Verdict::pass(
            NEW_SESSIONS,
            match record.refused {
                0 => format!("All {} sessions were opened and answered.", record.opened),
                _ => format!("{} sessions were opened{refused}.", record.opened),
            },
        )
    };
    verdict
        .number("opened", record.opened)
        .number("failed_opens", record.failed_opens)
        .number("failed_calls", record.failed_calls)
        .number("refused", record.refused)
}

/// What both scenarios show.
pub fn sections(report: &Report) -> Vec<Section> {
    report.session_ends.iter().map(section).collect()
}

fn section(report: &ChurnReport) -> Section {
    let descriptors = &report.descriptors;
    let lines = [
        format!(
            "Opened: {} · Abandoned: {} · Could not be opened: {}",
            count(report.opened),
            count(report.abandoned),
            count(report.failed_opens)
        ),
        format!(
            "Processes left running: {} · Never reaped: {}",
            count(report.leftovers),
            count(report.zombies)
        ),
        format!(
            "Memory growth: {} MB ({} kB per session, R² {}) · Descriptor growth: {} ({} per session, R² {})",
            maybe_decimal(report.memory.growth_mb, 1),
            maybe_decimal(report.memory.growth_per_session_kb, 0),
            maybe_fixed(report.memory.r_squared, 2),
            maybe_decimal(descriptors.growth, 1),
            maybe_decimal(descriptors.growth_per_session, 2),
            maybe_fixed(descriptors.r_squared, 2)
        ),
    ];
    Section::new("Sessions left behind").list(lines)
}

#[cfg(test)]
mod tests {
    use mcprove_score::leak::LeakSettings;
    use mcprove_score::sessions::{ChurnInput, judge};

    use super::*;

    fn stays(suspected: u64, cleared: u64, confirmed: u64) -> Stays {
        Stays {
            suspected,
            cleared,
            confirmed,
            busy: 0,
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

    fn judged(leftovers: u64) -> ChurnReport {
        let steady: Vec<_> = (0..20)
            .map(|second| (Duration::from_secs(second), 10.0))
            .collect();
        let input = ChurnInput {
            run: Duration::from_secs(20),
            opened: 10,
            abandoned: 5,
            rss: steady.clone(),
            descriptors: steady,
            leftovers,
            ..ChurnInput::default()
        };
        judge(&input, &LeakSettings::default())
    }

    fn outcomes(record: SessionsFact, leftovers: u64, focus: Focus) -> Vec<(String, Outcome)> {
        verdicts(&record, &judged(leftovers), focus, None)
            .into_iter()
            .map(|verdict| (verdict.detector, verdict.outcome))
            .collect()
    }

    #[test]
    fn sessions_are_judged_by_what_they_can_leave_behind() {
        let record = SessionsFact {
            opened: 10,
            ..SessionsFact::default()
        };
        let new = ("new_sessions".to_owned(), Outcome::Pass);
        let leak = ("session_leak".to_owned(), Outcome::Pass);
        let left = ("leftovers".to_owned(), Outcome::Pass);
        let found = ("leftovers".to_owned(), Outcome::Finding);
        let cases = [
            (0, Focus::Leaks, vec![new.clone(), leak.clone()]),
            (0, Focus::Processes, vec![new.clone(), left]),
            (0, Focus::Recovery, vec![new.clone()]),
            (1, Focus::Leaks, vec![new, leak, found]),
        ];
        for (leftovers, focus, expected) in cases {
            assert_eq!(outcomes(record, leftovers, focus), expected, "{focus:?}");
        }
    }

    #[test]
    fn sessions_that_fail_are_a_finding_and_none_is_no_evidence() {
        use mcprove_score::verdict::Severity::{Critical, Warning};

        let cases = [
            (10, 1, 0, 0, Outcome::Finding, Some(Critical)),
            (10, 0, 1, 0, Outcome::Finding, Some(Critical)),
            (100, 1, 1, 0, Outcome::Finding, Some(Warning)),
            (10, 0, 0, 0, Outcome::Pass, None),
            (10, 0, 0, 6, Outcome::Pass, None),
            (10, 0, 0, 9, Outcome::Inconclusive, None),
            (1, 0, 0, 0, Outcome::Inconclusive, None),
            (0, 0, 0, 0, Outcome::Inconclusive, None),
        ];
        for (opened, failed_opens, failed_calls, refused, outcome, severity) in cases {
            let mut record = SessionsFact {
                opened,
                failed_opens,
                failed_calls,
                refused,
                ..SessionsFact::default()
            };
            let verdict = new_sessions(&record, Some("HTTP 503"));
            let said = verdict.sentence.rendered();
            assert_eq!(
                said.contains("(such as: HTTP 503)"),
                failed_opens > 0,
                "{said}"
            );
            assert_eq!(verdict.outcome, outcome, "{record:?}");
            if let Some(severity) = severity {
                assert_eq!(verdict.severity, severity, "{record:?}");
                record.is_gone = true;
                assert_eq!(new_sessions(&record, None).severity, Critical, "{record:?}");
            }
        }
    }
}
