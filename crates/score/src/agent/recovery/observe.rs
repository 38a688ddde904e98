//! What a run says about its faults: the marks of a real clock where it has them, virtual time
//! elsewhere.
//!
//! In virtual time nothing sleeps. A call that meets a fault either times out, which is noticed after
//! one `max_detection_ms` and takes that long; or it is answered at once, with an error or a wrong
//! answer, which is noticed after 0 ms and takes no time; or the fault does nothing to it:
//!
//! | kind | times out |
//! |---|---|
//! | `hang`, `wedged`, `lose_request`, `lose_reply`, `progress_forever` | always |
//! | `slow`, `reply_after_cancel`, `jitter` | when `delay_ms` ≥ `max_detection_ms`; else nothing happens |
//! | `recover_after` | the first `failures` calls that meet this fault, whatever the tool; else nothing happens |
//! | all others | never: answered at once |
//!
//! Where `delay_ms` or `failures` is not told, nobody knows what the fault did: it is unsettled. A run
//! recovered when it ended normally with a reply, and then at the sum of what its timeouts took:
//! `detections · max_detection_ms`. Marks on a real clock win: the agent noticed and recovered
//! when they say, and what is not marked did not happen; but a run that did not end normally did not
//! recover, whatever is marked. Where nobody knows how the run ended, as of a recording, the marks alone
//! tell. Four things they do not: whether an agent saw through an altered reply (`corrupt`, `empty`,
//! `oversized`) that it did not ask for again; whether one that noticed and called nothing more told its
//! user; the outcome of a call that a recording watched for less than the budget; and when a client noticed
//! that gave no sign before it left, later than the budget allows.

use super::prelude::*;

/// How a run took its faults.
#[sparse(marked)]
#[stored(Default, Eq)]
pub struct RunRecovery {
    /// The calls that met a fault, in order.
    pub calls: Vec<FaultedCall>,
    /// The calls of which the trace does not say what their fault did.
    #[sparse]
    pub unsettled: Vec<UnsettledCall>,
    /// The calls whose fault was over before the timeout budget: it was waited out, and asked for nothing.
    #[sparse]
    pub waited_out: Vec<usize>,
    /// How long until the agent noticed, in the worst of the calls; `None` if it did not notice
    /// one, if that is unknown, or if there is none.
    pub time_to_detection_ms: Option<u64>,
    /// How long until it had recovered; `None` if it did not, if that is unknown, or if it met no
    /// fault.
    pub time_to_recovery_ms: Option<u64>,
    /// How long the user saw a call hang, at worst; `None` where that is unknown.
    pub user_visible_hang_ms: Option<u64>,
    /// Whether it recovered, also from nothing; `None` where the trace does not say how the run
    /// ended, or whether an altered reply was noticed.
    pub recovered: Option<bool>,
    /// Whether it noticed every fault within its budget; `None` where that is unknown.
    pub clean_timeout: Option<bool>,
}

impl RunRecovery {
    /// Whether a call met a fault for certain.
    pub fn met_fault(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether it is known what each fault did.
    pub fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Whether each time is known: of a client that gave no sign before it left, only the latest is.
    pub fn is_timed(&self) -> bool {
        self.is_settled() && !self.calls.iter().any(|call| call.is_left)
    }

    /// Whether a real clock watched each fault, so that nobody need tell how the run ended.
    pub fn is_watched(&self) -> bool {
        let mut calls = self.calls.iter();
        let mut unsettled = self.unsettled.iter();
        (self.met_fault() || !self.is_settled())
            && calls.all(|call| call.is_real_clock)
            && unsettled.all(|call| call.watched_ms.is_some())
    }
}

/// A call whose fault may have done something, or nothing.
#[sparse(marked)]
#[stored(Eq)]
pub struct UnsettledCall {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The name of the fault.
    pub fault: Option<String>,
    /// Its kind.
    pub kind: FaultKind,
    /// What the trace does not tell: `delay_ms`, `failures`, or, where a recording ends too soon,
    /// `detected_ms`.
    pub untold: String,
    /// How long a real clock watched the call.
    #[sparse]
    pub watched_ms: Option<u64>,
    /// When the client left, which is all that is known of when it noticed.
    #[sparse]
    pub left_ms: Option<u64>,
}

/// A call that met a fault.
#[sparse(marked)]
#[stored(Eq)]
pub struct FaultedCall {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The name of the fault.
    pub fault: Option<String>,
    /// Its kind.
    pub kind: FaultKind,
    /// Whether the times are those of a real clock.
    pub is_real_clock: bool,
    /// How long a real clock watched the call, where that is told.
    #[sparse]
    pub watched_ms: Option<u64>,
    /// Whether all that is known is that the client left: it noticed by then, if not before.
    #[sparse]
    pub is_left: bool,
    /// Whether nothing was called after the fault was noticed, where a real clock watched.
    #[sparse]
    pub is_given_up: bool,
    /// The place of the next call of the same tool with the same arguments, where a real clock
    /// watched.
    #[sparse]
    pub repeated_by: Option<usize>,
    /// The call by itself.
    pub report: RecoveryReport,
}

impl FaultedCall {
    /// Whether nobody can tell if the agent recovered, because only its traffic was watched: it gave up, or its
    /// altered reply, which it did not ask for again with success, may have been noticed or not.
    pub fn is_unknown(&self) -> bool {
        let is_altered = self.kind.client_view() == ClientView::Altered;
        self.is_given_up || (is_altered && self.watched_ms.is_some() && !self.report.recovered)
    }
}

/// Scores one run against a timeout budget.
///
/// ```
/// use mcprove_score::agent::recovery::observe_run;
/// use mcprove_trace::AgentRun;
///
/// let text = r#"{"tool_calls":[{"name":"search"},{"name":"search"}],"final_response":"Search is down.",
///     "conversation":{"stop_reason":"completed"},
///     "faults":[{"call_index":0,"kind":"hang"},{"call_index":1,"kind":"hang"}]}"#;
/// let run: AgentRun = serde_json::from_str(text).unwrap();
/// let recovery = observe_run(&run, 3_000);
/// assert_eq!(recovery.time_to_detection_ms, Some(3_000));
/// assert_eq!(recovery.time_to_recovery_ms, Some(6_000));
/// assert_eq!(recovery.recovered, Some(true));
/// ```
pub fn observe_run(run: &AgentRun, max_detection_ms: u64) -> RunRecovery {
    let mut recovery = RunRecovery::of_marks(run, max_detection_ms);
    recovery.recovered = recovery.has_recovered(run);
    let reports = || recovery.calls.iter().map(|call| &call.report);
    let (is_settled, is_timed) = (recovery.is_settled(), recovery.is_timed());
    // `None` in one is `None` for all: not noticed is worse than any time.
    let detections: Option<Vec<u64>> = reports()
        .map(|report| report.time_to_detection_ms)
        .collect();
    let detection = detections.filter(|_| is_timed);
    let hangs = reports().map(|report| report.user_visible_hang_ms);
    let hang = is_timed.then(|| hangs.max().unwrap_or(0));
    let is_clean = reports().all(|report| report.clean_timeout);
    let is_over = recovery.recovered == Some(true) && recovery.met_fault() && is_settled;
    recovery.time_to_recovery_ms = is_over.then(|| time_to_recovery(&recovery.calls));
    recovery.time_to_detection_ms = detection.and_then(|times| times.into_iter().max());
    recovery.user_visible_hang_ms = hang;
    recovery.clean_timeout = (is_settled || !is_clean).then_some(is_clean);
    recovery
}

/// Whether the run ended normally with a reply; `None` where the trace does not tell. An empty reply is
/// none.
fn ended_normally(run: &AgentRun) -> Option<bool> {
    if run.stop_reason()? != StopReason::Completed {
        return Some(false);
    }
    let reply = run.final_response.as_deref()?;
    Some(!reply.trim().is_empty())
}

/// When a run that recovered had done so. A real clock has measured each recovery from its own call
/// on, and those overlap; timeouts come one after the other, and add up.
fn time_to_recovery(calls: &[FaultedCall]) -> u64 {
    let reports = || calls.iter().map(|call| call.report);
    let measured = reports().filter_map(|report| report.time_to_recovery_ms);
    let timeouts = reports()
        .filter(|report| report.time_to_recovery_ms.is_none())
        .filter_map(|report| report.time_to_detection_ms)
        .fold(0, u64::saturating_add);
    measured.fold(timeouts, u64::max)
}

// Which calls of a run met a fault, and what each of them says.

impl RunRecovery {
    /// Whether the run recovered from each fault that it met, or may have met.
    fn has_recovered(&self, run: &AgentRun) -> Option<bool> {
        let ended = ended_normally(run);
        let each = self.calls.iter().map(|call| match ended {
            Some(false) => Some(false),
            None if call.is_unknown() => None,
            // It noticed by the time it left, and has told its user something.
            Some(true) if call.is_left => Some(true),
            // Marked, or else not recovered.
            _ if call.is_real_clock => Some(call.report.recovered),
            ended => ended,
        });
        // Where the run ended well, it does not matter what the fault did.
        let unsettled = (!self.is_settled()).then(|| ended.filter(|ended| *ended));
        let all: Vec<Option<bool>> = each.chain(unsettled).collect();
        if all.contains(&Some(false)) {
            Some(false)
        } else if all.contains(&None) {
            None
        } else {
            Some(true)
        }
    }

    /// Each call by its first mark: the first fault that matches a call is the one that it meets.
    fn of_marks(run: &AgentRun, max_detection_ms: u64) -> Self {
        let mut marks: Vec<&FaultMark> = run
            .faults
            .iter()
            .filter(|mark| mark.kind.is_fault())
            .collect();
        marks.sort_by_key(|mark| mark.call_index);
        marks.dedup_by_key(|mark| mark.call_index);
        let mut counts = BTreeMap::new();
        let mut recovery = Self::default();
        for mark in marks {
            let met_before = counts.entry(mark.fault.as_deref()).or_insert(0_u64);
            recovery.add(mark, *met_before, max_detection_ms);
            if mark.kind.special() == Special::Recovers {
                *met_before += 1;
            }
        }
        recovery.find_repetitions(run);
        recovery
    }

    /// Finds for each watched call the next one that is the same.
    fn find_repetitions(&mut self, run: &AgentRun) {
        let is_watched = |call: &FaultedCall| call.watched_ms.is_some();
        if !self.calls.iter().any(is_watched) {
            return;
        }
        let identities: Vec<Identity<'_>> = run.tool_calls.iter().map(Identity::of).collect();
        let same = first_equal(&identities);
        let mut next = vec![None; same.len()];
        let mut after: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, first) in same.iter().enumerate().rev() {
            next[index] = after.insert(*first, index);
        }
        for call in self.calls.iter_mut().filter(|call| is_watched(call)) {
            call.repeated_by = next.get(call.call_index).copied().flatten();
        }
    }

    fn add(&mut self, mark: &FaultMark, met_before: u64, max_detection_ms: u64) {
        let mut unsettled = |untold: &str| {
            self.unsettled.push(UnsettledCall {
                call_index: mark.call_index,
                fault: mark.fault.clone(),
                kind: mark.kind,
                untold: untold.to_owned(),
                watched_ms: mark.watched_ms,
                left_ms: mark.left_ms,
            });
        };
        let is_real_clock = mark.is_real_clock();
        let detected_ms = if is_cut_short(mark, max_detection_ms) {
            return unsettled("detected_ms");
        } else if is_left(mark) {
            mark.left_ms
        } else if is_real_clock {
            after_start(mark.detected_ms)
        } else {
            match noticed_ms(mark, met_before, max_detection_ms) {
                Ok(Some(time)) => Some(time),
                Ok(None) => {
                    // A `recover_after` that has recovered does not strike any more.
                    let waited_out = mark.delay_ms.map(|_| mark.call_index);
                    return self.waited_out.extend(waited_out);
                }
                Err(untold) => return unsettled(untold),
            }
        };
        let observation = RecoveryObservation {
            call_start_ms: 0,
            detected_ms,
            recovered_ms: after_start(mark.recovered_ms),
            timeout_budget_ms: max_detection_ms,
        };
        self.calls.push(FaultedCall {
            call_index: mark.call_index,
            fault: mark.fault.clone(),
            kind: mark.kind,
            is_real_clock,
            watched_ms: mark.watched_ms,
            is_left: is_left(mark),
            is_given_up: mark.went_on == Some(false) || is_left(mark),
            repeated_by: None,
            report: score_recovery(&observation),
        });
    }
}

/// When a fault is noticed in virtual time ([`observe_run`](super::observe_run) has the table), which `met_before`
/// calls met before; none where it does nothing, and an error with what it depends on where that is not told.
fn noticed_ms(
    mark: &FaultMark,
    met_before: u64,
    max_detection_ms: u64,
) -> Result<Option<u64>, &'static str> {
    let times_out = if mark.kind.special() == Special::Recovers {
        met_before < mark.failures.ok_or("failures")?
    } else if mark.kind.executes() == Execution::Late {
        mark.delay_ms.ok_or("delay_ms")? >= max_detection_ms
    } else if mark.kind.is_silent() {
        true
    } else {
        return Ok(Some(0));
    };
    Ok(times_out.then_some(max_detection_ms))
}

/// Whether nobody knows if a fault was noticed within the budget: nobody had by the end of the recording, which
/// is before that, or the client gave no sign before it left, which is after.
fn is_cut_short(mark: &FaultMark, max_detection_ms: u64) -> bool {
    if is_left(mark) {
        return mark.left_ms.is_some_and(|time| time > max_detection_ms);
    }
    is_open(mark) && mark.watched_ms.is_some_and(|time| time < max_detection_ms)
}

/// Whether all that is known of a call is that its client left: by then it had noticed.
fn is_left(mark: &FaultMark) -> bool {
    is_open(mark) && mark.left_ms.is_some()
}

fn is_open(mark: &FaultMark) -> bool {
    mark.detected_ms.is_none() && mark.recovered_ms.is_none()
}

/// A mark before the call began did not happen.
fn after_start(mark: Option<i64>) -> Option<u64> {
    u64::try_from(mark?).ok()
}
