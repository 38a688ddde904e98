//! How long a call may take before it counts as hung, and as lost.
//!
//! An answer within the threshold is on time; a later one is late: the server is slow. A call without an answer
//! when threshold and grace period are over is stuck only if the server makes no progress ([`Progress`]); while it
//! answers others, the call is queued, and waited for. It is stuck too when many calls overtook it that were sent after it was
//! hung. Time in which other work kept the server or us from running
//! ([`LostTime`]) does not count. What else still answers says how much of a server is stuck.

use mcprove_settings::setting::Settings;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::prelude::*;

/// A call is stuck when so many calls were answered that were sent after it was hung.
pub const OVERTAKEN_BY: u64 = 100;
/// No server is stuck before it was silent for so many times as long as it has been between two answers.
const GAPS: u32 = 5;
/// The most tools whose calls are counted; a server that has more is judged without.
const TOOLS_MAX: usize = 4096;

/// When a call counts as hung, and when as lost.
#[data(Copy, Eq, Settings)]
pub struct HangLimits {
    /// When a call counts as hung.
    #[setting(name = "hang_timeout", default = "5s")]
    pub threshold: Duration,
    /// How long a hung call may still answer late; after that it is a deadlock, if the server answers nothing else.
    #[setting(name = "grace_period", kind = TIME_OR_ZERO, default = "10s")]
    pub grace: Duration,
    /// How long a call is waited for while others are answered.
    #[setting(default = "120s")]
    pub max_wait: Duration,
}

impl HangLimits {
    /// When a call without an answer is judged.
    pub fn judged_after(&self) -> Duration {
        self.threshold.saturating_add(self.grace)
    }

    /// When a call that is still queued is given up.
    pub fn given_up_after(&self) -> Duration {
        self.max_wait.max(self.judged_after())
    }
}

impl Default for HangLimits {
    fn default() -> Self {
        Self::initial()
    }
}

/// How long other work has kept the server, or us, from running: noted by whoever watches the machine.
#[derive(Debug, Default)]
pub struct LostTime(AtomicU64);

impl LostTime {
    /// Notes that so much more was lost.
    pub fn add(&self, time: Duration) {
        self.0.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// All that was lost until now.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// What a server has answered, and when: shared by all sessions with one process.
#[derive(Debug)]
pub struct Progress {
    /// What other work takes from the server.
    pub lost: Arc<LostTime>,
    began: Instant,
    tools: Mutex<FxHashMap<String, Arc<ToolProgress>>>,
    answers: Answers,
}

/// The answers of a server, or of one of its tools. Times are in nanoseconds.
#[derive(Debug, Default)]
struct Answers {
    /// When it answered last; 0 when it has not.
    last: AtomicU64,
    /// What was lost until then.
    lost_by_last: AtomicU64,
    /// The longest time between two answers, or to the first one, while a call waited.
    longest_gap: AtomicU64,
}

impl Answers {
    /// Notes an answer at `now` to a call that took `took`. Sessions may do so at the same time: what one overwrites
    /// then is as good.
    fn note(&self, now: Duration, took: Duration, lost_total: Duration) {
        let now = nanoseconds(now).max(1);
        let last = self.last.load(Ordering::Relaxed);
        // While nothing was asked, silence says nothing.
        let gap = now.saturating_sub(last).min(nanoseconds(took));
        self.longest_gap.fetch_max(gap, Ordering::Relaxed);
        self.last.store(now, Ordering::Relaxed);
        self.lost_by_last
            .store(nanoseconds(lost_total), Ordering::Relaxed);
    }

    /// How long it may be silent while it still makes progress, by what it took so far.
    fn silence_max(&self) -> Duration {
        let gap = Duration::from_nanos(self.longest_gap.load(Ordering::Relaxed));
        gap.saturating_mul(GAPS)
    }

    /// From when it is stuck if it answers nothing more, as far as this call can show it; so much was lost in all.
    fn stuck_from(&self, call: &Unanswered, grace: Duration, lost_total: Duration) -> Duration {
        let last = Duration::from_nanos(self.last.load(Ordering::Relaxed));
        let lost_by_last = Duration::from_nanos(self.lost_by_last.load(Ordering::Relaxed));
        let starved = lost_total.saturating_sub(lost_by_last.max(call.lost));
        last.max(call.sent)
            .saturating_add(grace.max(self.silence_max()))
            .saturating_add(starved)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::losing(Arc::default())
    }
}

impl Progress {
    /// Of a server that other work takes time from.
    pub fn losing(lost: Arc<LostTime>) -> Self {
        Self {
            lost,
            began: Instant::now(),
            tools: Mutex::default(),
            answers: Answers::default(),
        }
    }

    /// A time as it is counted here.
    pub fn time(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.began)
    }

    /// The same, back.
    pub fn instant(&self, time: Duration) -> Option<Instant> {
        self.began.checked_add(time)
    }

    /// The calls of a tool; none when there are too many tools to count.
    pub fn tool(&self, name: &str) -> Option<Arc<ToolProgress>> {
        let mut tools = lock(&self.tools);
        if let Some(tool) = tools.get(name) {
            return Some(Arc::clone(tool));
        }
        let has_room = tools.len() < TOOLS_MAX;
        has_room.then(|| Arc::clone(tools.entry(name.to_owned()).or_default()))
    }

    /// Notes an answer at `now` to a call of this tool that `waited` for it.
    pub fn note_answer(&self, tool: &ToolProgress, now: Duration, waited: Duration) {
        let lost = self.lost.total();
        self.answers.note(now, waited, lost);
        tool.answers.note(now, waited, lost);
        tool.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// How long the server may be silent while it still makes progress, by what it took so far.
    pub fn silence_max(&self) -> Duration {
        self.answers.silence_max()
    }
}

/// How many calls of one tool were sent, and how many of them answered, and when.
#[derive(Debug, Default)]
pub struct ToolProgress {
    sent: AtomicU64,
    answered: AtomicU64,
    answers: Answers,
}

impl ToolProgress {
    /// Notes that a call is sent.
    pub fn note_sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// The mark of a call of this tool that is hung now, where its session had `answered` answers and has so many
    /// calls in flight.
    pub fn mark(&self, answered: u64, in_flight: u64) -> HungMark {
        let sent = self.sent.load(Ordering::Relaxed);
        HungMark {
            overtaken_by_tool_at: sent + OVERTAKEN_BY,
            overtaken_at: answered + in_flight + OVERTAKEN_BY,
        }
    }
}

/// What has to be answered so that [`OVERTAKEN_BY`] calls were that were sent after a call had passed the hang threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HungMark {
    /// So many answers of its tool.
    overtaken_by_tool_at: u64,
    /// So many answers of its session.
    overtaken_at: u64,
}

/// A call without an answer.
#[derive(Debug, Clone, Copy)]
pub struct Unanswered {
    /// When it was sent.
    pub sent: Duration,
    /// What was lost until then.
    pub lost: Duration,
    /// What was answered when it passed the hang threshold, if it did.
    pub hung: Option<HungMark>,
}

/// What a call without an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitState {
    /// On time, late or queued: to be judged again then, at the latest.
    Waits(Duration),
    /// It will not be answered: the server, or the tool while others are answered, makes no progress. Since then.
    Stuck(Duration),
    /// It will not be answered: many calls of its tool were that were sent after it was hung. Since then.
    Overtaken(Duration),
    /// It was waited for as long as a queued call is.
    GivenUp(Duration),
}

/// Judges a call without an answer at `now`; its session has had `answered` answers.
pub fn judge_wait(
    call: &Unanswered,
    (progress, tool, answered): (&Progress, &ToolProgress, u64),
    now: Duration,
    limits: &HangLimits,
) -> WaitState {
    let lost = progress.lost.total().saturating_sub(call.lost);
    let judged_at = call.sent.saturating_add(limits.judged_after());
    let judged_at = judged_at.saturating_add(lost);
    let given_up_at = call.sent.saturating_add(limits.given_up_after());
    if now < judged_at.min(given_up_at) {
        return WaitState::Waits(judged_at.min(given_up_at));
    }
    let stuck_from = |answers: &Answers| {
        let from = answers.stuck_from(call, limits.grace, progress.lost.total());
        from.max(judged_at)
    };
    let silent_from = stuck_from(&progress.answers);
    if silent_from <= now.min(given_up_at) {
        return WaitState::Stuck(silent_from);
    }
    // Overtaken by calls of its own tool, or by others while its tool was silent. That may be rare, and slow.
    let mark = call.hung.filter(|_| judged_at <= now);
    let by_own =
        mark.is_some_and(|mark| tool.answered.load(Ordering::Relaxed) >= mark.overtaken_by_tool_at);
    let by_others =
        mark.is_some_and(|mark| answered >= mark.overtaken_at && stuck_from(&tool.answers) <= now);
    if by_own {
        WaitState::Overtaken(judged_at)
    } else if by_others {
        WaitState::Stuck(judged_at)
    } else if now < given_up_at {
        WaitState::Waits(silent_from.min(given_up_at))
    } else {
        WaitState::GivenUp(given_up_at)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How much of a server is stuck.
#[choice(open, Copy, Eq, PartialOrd, Ord, Hash)]
pub enum DeadlockKind {
    /// The tool is stuck; the server still answers.
    ToolStuck,
    /// The server answers nothing any more.
    LoopDead,
    /// The server process has ended.
    ProcessDead,
}

impl DeadlockKind {
    /// What it means, in plain words that end a sentence.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::ToolStuck => "the server is otherwise alive: it answers other requests",
            Self::LoopDead => "nothing answers any more",
            Self::ProcessDead => "the server process has ended",
        }
    }

    /// What to look for.
    pub fn hint(self) -> Message {
        match self {
            Self::ToolStuck => {
                "look for a lock that is never released, or a lazy import or initialisation that several calls enter at once".into()
            }
            Self::LoopDead => {
                "look for blocking work (imports, locks, sleeps, subprocesses) inside an async handler: it stops the whole event loop".into()
            }
            Self::ProcessDead => sentence!("read the server's stderr{}", tee_stderr()),
        }
    }
}

/// How much is stuck, from whether the process lives (`None`: unknown, as for a remote server) and
/// whether the server answered a liveness request.
pub fn kind(process_alive: Option<bool>, answered_liveness: bool) -> DeadlockKind {
    match (process_alive, answered_liveness) {
        (Some(false), _) => DeadlockKind::ProcessDead,
        (_, true) => DeadlockKind::ToolStuck,
        (_, false) => DeadlockKind::LoopDead,
    }
}

#[cfg(test)]
mod simulated;

#[cfg(test)]
mod tests {

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What a call sent at 1 s is after `now` seconds, after an answer at 2 s; so much was lost by 3 s.
    fn judged(now: u32, lost: u32) -> WaitState {
        let (progress, tool) = (Progress::default(), ToolProgress::default());
        let call = Unanswered {
            sent: SECOND,
            lost: progress.lost.total(),
            hung: None,
        };
        progress.note_answer(&tool, SECOND * 2, SECOND);
        progress.lost.add(SECOND * lost);
        let limits = HangLimits {
            max_wait: SECOND * 60,
            ..HangLimits::default()
        };
        judge_wait(&call, (&progress, &tool, 0), SECOND * now, &limits)
    }

    #[test]
    fn lost_time_makes_no_call_stuck() {
        assert_eq!(judged(16, 0), WaitState::Stuck(SECOND * 16));
        assert_eq!(judged(16, 20), WaitState::Waits(SECOND * 36));
        assert_eq!(judged(36, 20), WaitState::Stuck(SECOND * 36));
        // It is not waited for longer than was asked for, and is no deadlock then.
        assert_eq!(judged(60, 100), WaitState::Waits(SECOND * 61));
        assert_eq!(judged(61, 100), WaitState::GivenUp(SECOND * 61));
    }

    #[test]
    fn what_was_lost_before_a_call_is_no_excuse_for_it() {
        let progress = Progress::default();
        progress.lost.add(SECOND * 100);
        let tool = ToolProgress::default();
        let call = Unanswered {
            sent: SECOND,
            lost: progress.lost.total(),
            hung: None,
        };
        let state = judge_wait(
            &call,
            (&progress, &tool, 0),
            SECOND * 16,
            &HangLimits::default(),
        );
        assert_eq!(state, WaitState::Stuck(SECOND * 16));
    }

    #[test]
    fn a_server_that_took_long_for_its_first_answer_may_take_as_long_for_the_next() {
        let (progress, tool) = (Progress::default(), ToolProgress::default());
        let call = Unanswered {
            sent: Duration::ZERO,
            lost: Duration::ZERO,
            hung: None,
        };
        let limits = HangLimits {
            threshold: SECOND,
            grace: SECOND,
            max_wait: SECOND * 60,
        };
        let judged = |now| judge_wait(&call, (&progress, &tool, 0), now, &limits);
        assert_eq!(judged(SECOND * 2), WaitState::Stuck(SECOND * 2));
        progress.note_answer(&tool, SECOND * 3 / 2, SECOND * 3 / 2);
        assert_eq!(judged(SECOND * 4), WaitState::Waits(SECOND * 9));
        assert_eq!(judged(SECOND * 9), WaitState::Stuck(SECOND * 9));
    }

    /// What a call sent at 1 s is at `now`, where its tool answers `own` calls and another one `others`, all sent after it was
    /// hung, the last of its own at `last`.
    fn overtaken(now: u32, (own, others, last): (u32, u32, u32)) -> WaitState {
        let (progress, tool, other) = <(Progress, ToolProgress, ToolProgress)>::default();
        tool.note_sent();
        let call = Unanswered {
            sent: SECOND,
            lost: Duration::ZERO,
            hung: Some(tool.mark(0, 1)),
        };
        // One after 12 s: it is slow.
        progress.note_answer(&tool, SECOND * 13, SECOND * 12);
        for _ in 0..own {
            progress.note_answer(&tool, SECOND * last, SECOND);
        }
        for _ in 0..others {
            progress.note_answer(&other, SECOND * now, SECOND);
        }
        let answered = u64::from(1 + own + others);
        judge_wait(
            &call,
            (&progress, &tool, answered),
            SECOND * now,
            &HangLimits::default(),
        )
    }

    #[test]
    fn a_call_is_overtaken_by_its_own_tool_or_while_that_is_silent() {
        let given_up = WaitState::GivenUp(SECOND * 121);
        let stuck = WaitState::Stuck(SECOND * 16);
        let lost = WaitState::Overtaken(SECOND * 16);
        // A rare slow tool beside a fast one is not stuck as soon as a hundred fast calls were answered.
        assert!(matches!(overtaken(23, (0, 200, 0)), WaitState::Waits(_)));
        assert_eq!(overtaken(23, (200, 0, 23)), lost);
        assert!(matches!(overtaken(23, (99, 0, 23)), WaitState::Waits(_)));
        assert_eq!(overtaken(121, (0, 200, 0)), stuck);
        assert_eq!(overtaken(121, (1, 200, 100)), given_up);
        assert_eq!(overtaken(121, (200, 200, 121)), lost);
    }

    #[test]
    fn kinds_follow_from_what_still_answers() {
        let cases = [
            (Some(true), true, DeadlockKind::ToolStuck),
            (None, true, DeadlockKind::ToolStuck),
            (Some(true), false, DeadlockKind::LoopDead),
            (None, false, DeadlockKind::LoopDead),
            (Some(false), false, DeadlockKind::ProcessDead),
            (Some(false), true, DeadlockKind::ProcessDead),
        ];
        for (alive, answered, expected) in cases {
            assert_eq!(kind(alive, answered), expected, "{alive:?} {answered}");
        }
        assert_eq!(
            serde_json::to_string(&DeadlockKind::ToolStuck).unwrap(),
            "\"tool_stuck\""
        );
    }
}
