//! When a client noticed each fault of a recording, and when it had recovered, by the clock.
//!
//! A client **gave up** on a call when it cancelled it or made it again: a call of the same
//! tool with the same arguments is a sign, also without a cancellation. Another call is one only
//! after a call of which nothing else is heard, and of a client that makes one call at a time, for many
//! agents make several at once. A client that left gave up by that if it goes on in a later session; else it
//! may just have been done, and had noticed before or not at all: `left_ms` is the latest moment. Calls that begin within 50 ms of each other, before anything came
//! back, were made together, and say nothing of one another.
//!
//! It **noticed** (`detected_ms`) when it gave up or when something arrived that ended its wait,
//! whichever was earlier. It had **recovered** (`recovered_ms`) when the first call ended well that it
//! began at that moment or later: a retry, or another tool in its place. Never is no mark; `went_on` then
//! says whether it tried anything at all.
//!
//! | kind | ends the wait | recovered besides |
//! |---|---|---|
//! | `slow` `jitter` `reply_after_cancel` `duplicate` `reorder` `noise` | any answer: it is what the tool says | with that answer, unless the client had given up before |
//! | `corrupt` `empty` `oversized` | the answer, though nobody is told that it is altered | instead: only with a success of the same tool and arguments, for going on shows nothing |
//! | `error` `tool_error` `flaky` `http_status` `vanish` | the answer | |
//! | `disconnect` `crash` | the end of the connection: the line that ends the call, else the moment of the fault | |
//! | `hang` `wedged` `recover_after` `progress_forever` `lose_request` `lose_reply` `malformed` `truncated` `wrong_id` | an error that can be read; a result in the recording, or what is `Malformed`, is nothing that the client could take for the reply to this call | |
//!
//! A call ended well when its result is no error, its own fault left the answer as it was, and the client
//! had not cancelled it before. Only calls of the same client count: those of the same session, and of
//! sessions that began after the call did, for an agent whose connection broke connects again.
//! A call that begins up to 20 ms before a cancellation is noted counts as begun after it, for whoever
//! works on the call notes it a little late. `watched_ms` is how long the recording went on after the call began. A moment before the call began
//! did not happen.

use std::cmp::Reverse;

use mcprove_trace::canonical::{Identity, first_equal};

use super::SessionId;
use super::timeline::{TimePoint, Timeline};
use crate::prelude::*;

/// Calls that begin closer together were made together, in milliseconds.
const TOGETHER_MS: i64 = 50;

/// How late the end of a wait is noted at most where the client just hangs up, in milliseconds: its next
/// call may be noted before.
const NOTED_LATE_MS: i64 = 20;

/// A call on the clock.
pub struct Call {
    pub began: TimePoint,
    pub session: SessionId,
    /// When its session is heard of first.
    pub session_began: Option<TimePoint>,
    /// When it was answered, and whether with an error.
    pub answered: Option<(TimePoint, bool)>,
    /// When something came that cannot be read.
    pub unread: Option<TimePoint>,
    /// When the client cancelled it.
    pub cancelled: Option<TimePoint>,
    /// When its client left.
    pub left: Option<TimePoint>,
    /// When a fault struck it, and of which kind.
    pub struck: Option<(TimePoint, FaultKind)>,
}

impl Call {
    /// When something arrived that ended the wait of the client.
    fn arrived(&self) -> Option<TimePoint> {
        let answered = self.answered.filter(|(at, _)| *at >= self.began);
        let answered = match self.struck {
            Some((struck, kind)) if kind.ends_connection() => {
                Some(answered.unwrap_or((struck.max(self.began), true)))
            }
            Some((_, kind)) if kind.client_view() == ClientView::Nothing => {
                answered.filter(|(_, is_error)| *is_error)
            }
            _ => answered,
        };
        answered.map(|(at, _)| at)
    }

    fn cancelled(&self) -> Option<TimePoint> {
        self.cancelled.filter(|at| *at >= self.began)
    }

    /// When the client left without an answer.
    fn left(&self) -> Option<TimePoint> {
        let is_open = self.arrived().is_none();
        self.left.filter(|at| is_open && *at >= self.began)
    }

    /// From when on a call was not made together with this one.
    fn together_until(&self) -> TimePoint {
        let answered = self.answered.map(|(at, _)| at);
        let came = earlier(answered, self.unread).filter(|at| *at >= self.began);
        let most = self.began.plus_ms(TOGETHER_MS);
        // Not from its own beginning on, or it would be made again by itself.
        came.map_or(most, |at| at.min(most)).max(self.began.next())
    }

    fn client_view(&self) -> ClientView {
        self.struck
            .map_or(ClientView::Right, |(_, kind)| kind.client_view())
    }

    /// When it ended, if it ended well.
    fn success(&self) -> Option<TimePoint> {
        let arrived = self.arrived()?;
        let is_error = self.answered.is_none_or(|(_, is_error)| is_error);
        let is_in_time = self
            .cancelled()
            .is_none_or(|cancelled| arrived <= cancelled);
        (!is_error && is_in_time && self.client_view() == ClientView::Right).then_some(arrived)
    }
}

/// Sets the times of the marks of a run, whose calls these are.
pub fn set(run: &mut AgentRun, calls: &[Call], last: TimePoint) {
    let identities: Vec<Identity<'_>> = run.tool_calls.iter().map(Identity::of).collect();
    let same = first_equal(&identities);
    let mut clients = Clients::new(calls, &same);
    let mut marks: Vec<&mut FaultMark> = run.faults.iter_mut().collect();
    // From the last to the first, as sessions that began later come into sight.
    marks.sort_by_key(|mark| Reverse(calls[mark.call_index].began));
    for mark in marks {
        let call = &calls[mark.call_index];
        clients.look_back_to(call.began);
        mark.watched_ms = last.ms_since(call.began);
        mark.left_ms = call.left().and_then(|left| left.ms_since(call.began));
        set_times(mark, call, &clients, same[mark.call_index]);
    }
}

/// Sets when the client noticed the fault of a call, when it had recovered, and else whether it made further calls;
/// `what` is the first call that is the same.
fn set_times(mark: &mut FaultMark, call: &Call, clients: &Clients<'_>, what: usize) {
    let begin_from = |what: Option<usize>, moment: TimePoint| {
        clients.earliest(call.session, what, |timeline| timeline.begin_from(moment))
    };
    let arrived = call.arrived();
    let repeated = begin_from(Some(what), call.together_until());
    let given_up = call.cancelled().or_else(|| {
        let is_sign = arrived.is_none() && !clients.parallel.contains(&call.session);
        is_sign.then(|| begin_from(None, call.together_until()))?
    });
    let left = call.left().filter(|left| begin_from(None, *left).is_some());
    let noticed = [arrived, repeated, given_up, left];
    let Some(detected) = noticed.into_iter().flatten().min() else {
        return;
    };
    let is_answered = arrived == Some(detected);
    let is_cancelled = !is_answered && call.cancelled() == Some(detected);
    let from = if is_cancelled {
        detected
            .plus_ms(-NOTED_LATE_MS)
            .max(call.together_until())
            .min(detected)
    } else {
        detected
    };
    let later_success = |what: Option<usize>| {
        clients
            .earliest(call.session, what, |timeline| timeline.success_from(from))
            .map(|ended| ended.max(detected))
    };
    let recovered = match call.client_view() {
        ClientView::Right if is_answered => Some(detected),
        ClientView::Altered if is_answered => later_success(Some(what)),
        _ => later_success(None),
    };
    let since = |moment: TimePoint| i64::try_from(moment.ms_since(call.began)?).ok();
    mark.detected_ms = Some(detected).and_then(since);
    mark.recovered_ms = recovered.and_then(since);
    mark.went_on = recovered
        .is_none()
        .then(|| begin_from(None, from).is_some());
}

fn earlier(one: Option<TimePoint>, other: Option<TimePoint>) -> Option<TimePoint> {
    one.into_iter().chain(other).min()
}

/// Whose calls are on a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    /// Those of one session.
    Session(SessionId),
    /// Those of all sessions that began later.
    Later,
}

/// The calls of the client of one call, whichever that is: those of its own session, and those of
/// the sessions that began later.
struct Clients<'a> {
    /// By the first call that is the same, `None` for all.
    timelines: BTreeMap<(Whose, Option<usize>), Timeline>,
    /// The calls that are not yet in sight, those of the sessions that begin last at the end.
    earlier: Vec<(TimePoint, &'a Call, usize)>,
    /// The sessions with several calls at once.
    parallel: BTreeSet<SessionId>,
}

impl<'a> Clients<'a> {
    fn new(calls: &'a [Call], same: &[usize]) -> Self {
        let mut clients = Self {
            timelines: BTreeMap::new(),
            earlier: Vec::new(),
            parallel: parallel_sessions(calls),
        };
        for (call, what) in calls.iter().zip(same) {
            clients.add(Whose::Session(call.session), call, *what);
            // A call without a session is of none that could begin later.
            if let Some(began) = call.session_began {
                clients.earlier.push((began, call, *what));
            }
        }
        clients.earlier.sort_by_key(|(began, ..)| *began);
        clients
    }

    fn add(&mut self, whose: Whose, call: &Call, what: usize) {
        for what in [None, Some(what)] {
            self.timelines
                .entry((whose, what))
                .or_default()
                .add(call.began, call.success());
        }
    }

    /// Has all sessions in sight that began later than this.
    fn look_back_to(&mut self, moment: TimePoint) {
        while let Some((began, call, what)) = self.earlier.pop() {
            if began <= moment {
                self.earlier.push((began, call, what));
                return;
            }
            self.add(Whose::Later, call, what);
        }
    }

    /// The earliest of what is found along the own session and along those that began later.
    fn earliest(
        &self,
        session: SessionId,
        what: Option<usize>,
        find: impl Fn(&Timeline) -> Option<TimePoint>,
    ) -> Option<TimePoint> {
        let of = |whose| self.timelines.get(&(whose, what)).and_then(&find);
        earlier(of(Whose::Session(session)), of(Whose::Later))
    }
}

/// The sessions in which a call begins while another one waits, or together with it. A call of which
/// nothing more is heard may have been given up at any time, and tells only by what began with it.
fn parallel_sessions(calls: &[Call]) -> BTreeSet<SessionId> {
    let mut busy_until: BTreeMap<SessionId, TimePoint> = BTreeMap::new();
    let mut parallel = BTreeSet::new();
    for call in calls {
        let over =
            earlier(call.arrived(), call.cancelled()).unwrap_or_else(|| call.together_until());
        let busy = busy_until.entry(call.session).or_insert(call.began);
        if call.began < *busy {
            parallel.insert(call.session);
        }
        *busy = over.max(*busy);
    }
    parallel
}
