//! Many first calls at the same instant on a fresh server: the moment at which lazy initialisation
//! deadlocks. While calls hang, the server is asked whether it still lives; that tells a stuck tool
//! from a dead event loop.

use mcprove_score::deadlock::{self, CallOutcome, ProbeOutcome, ProbedCall};

use super::prelude::*;

const PHASE: u16 = 1;
/// A list that takes this long is worth a warning.
const SLOW_LIST: Duration = Duration::from_secs(1);

/// Many first calls at the same instant on a fresh server.
#[in_seconds]
#[data(Settings)]
#[serde(default)]
pub struct DeadlockProbe {
    /// Calls released together.
    #[setting(like = Sustained::CONCURRENT, default = 20)]
    pub concurrent: u32,
    #[setting(like = HangLimits::THRESHOLD, name = "hang_threshold", flag = false, elsewhere = "thresholds.hang_timeout")]
    pub hang_threshold: Option<Duration>,
    #[setting(like = HangLimits::GRACE, flag = false, elsewhere = "thresholds.grace_period")]
    pub grace_period: Option<Duration>,
    #[setting(like = HangLimits::MAX_WAIT, flag = false, elsewhere = "thresholds.max_wait")]
    pub max_wait: Option<Duration>,
    /// How long `tools/list` may take.
    #[setting(otherwise = "as long as a call")]
    pub list_timeout: Option<Duration>,
}

/// What the probe found.
#[stored]
#[serde(transparent)]
pub struct ProbeFact(pub DeadlockReport);

impl Fact for ProbeFact {
    const NAME: &'static str = "deadlock_probe";
}

/// Notes what became of the calls of a tool, as far as it came to calls.
fn note(
    context: &RunContext,
    tool: &str,
    outcome: ProbeOutcome,
    calls: Vec<ProbedCall>,
    kind: Option<DeadlockKind>,
) {
    let report = deadlock::judge(tool, outcome, calls, kind);
    context.fact(tool, &ProbeFact(report));
}

impl DeadlockProbe {
    /// The tools; none where they do not come in time. What other work takes from the server does not count.
    async fn list(
        &self,
        context: &RunContext,
        session: &Session,
    ) -> Option<Result<Vec<Tool>, CallError>> {
        let lost_time = &context.options.lost_time;
        let (began, lost_before) = (Instant::now(), lost_time.total());
        let mut listing = std::pin::pin!(session.list_tools());
        loop {
            let lost = lost_time.total().saturating_sub(lost_before);
            let timeout = self
                .list_timeout
                .unwrap_or(context.hang_limits().judged_after());
            let left = (timeout + lost).checked_sub(began.elapsed())?;
            if let Ok(listed) = tokio::time::timeout(left, &mut listing).await {
                let took = began.elapsed();
                if took >= SLOW_LIST {
                    context.note_verdict(&Verdict::warning(
                        "slow_list",
                        sentence!("`tools/list` took {}.", describe_duration(took)),
                        "keep the list of tools ready, because every client asks for it first",
                    ));
                }
                return Some(listed);
            }
        }
    }

    /// Releases all calls at once, and waits for what becomes of them.
    async fn fire(
        &self,
        context: &RunContext,
        connection: &Arc<Connection>,
        call: &Arc<PreparedCall>,
    ) {
        let phase = context.phase(PHASE, "probe", self.concurrent, true);
        context.note_phase(&phase);
        let limits = context.hang_limits();
        let lost_time = &context.options.lost_time;
        let lost_before = lost_time.total();
        let params = (0..self.concurrent).map(|number| call.params_of(number.into()));
        let mut calls = call_each_at_once(connection, call, params.collect(), PHASE);
        // Asked as soon as something hangs, the answer may take as long as the hung calls do.
        let asking = Arc::clone(connection);
        let liveness = tokio::spawn(async move {
            tokio::time::sleep(limits.threshold).await;
            asking
                .session
                .check_alive(limits.given_up_after())
                .await
                .is_ok()
        });
        let mut outcomes: Vec<(u32, ProbedCall)> = Vec::new();
        // Asked to stop, it is given a while to go on. A part of the calls says nothing: where that
        // is not enough there is no conclusion, only calls without an answer.
        while let Some(joined) = calls.join_next().await {
            outcomes.extend(joined.map(|(number, outcome)| (number, probed(&outcome))));
            let done = u32::try_from(outcomes.len()).unwrap_or(u32::MAX);
            context.progress(done, self.concurrent);
        }
        outcomes.sort_by_key(|(number, _)| *number);
        let mut outcomes: Vec<ProbedCall> = outcomes.into_iter().map(|(_, call)| call).collect();
        // What other work took does not count as waiting for a server that is stuck.
        let lost = as_milliseconds(lost_time.total().saturating_sub(lost_before));
        let least = as_milliseconds(limits.judged_after());
        for call in &mut outcomes {
            if call.outcome == CallOutcome::Deadlock {
                call.duration_ms = (call.duration_ms - lost).max(least);
            }
        }
        let is_stuck = outcomes
            .iter()
            .any(|call| matches!(call.outcome, CallOutcome::Deadlock));
        let session = &connection.session;
        let kind = if is_stuck {
            // It had the grace period at least.
            let has_answered = liveness.is_finished() && liveness.await.unwrap_or(false);
            Some(process_kind(
                session,
                has_answered && session.closed().is_none(),
            ))
        } else {
            liveness.abort();
            session.closed().map(|_| DeadlockKind::ProcessDead)
        };
        context.end_phases([phase]);
        note(context, &call.tool, ProbeOutcome::Completed, outcomes, kind);
        connection.finish(is_stuck).await;
    }
}

fn probed(outcome: &Result<Reply, CallError>) -> ProbedCall {
    let (outcome, duration, message) = match outcome {
        Ok(reply) => (CallOutcome::Success, reply.duration, None),
        Err(error) => {
            let outcome = match error.category() {
                ErrorCategory::Hang => CallOutcome::Slow,
                ErrorCategory::Deadlock => CallOutcome::Deadlock,
                ErrorCategory::Timeout => CallOutcome::Queued,
                _ => CallOutcome::Error,
            };
            (outcome, error.duration, Some(error.to_string()))
        }
    };
    ProbedCall {
        outcome,
        duration_ms: as_milliseconds(duration),
        message,
    }
}

impl ScenarioType for DeadlockProbe {
    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let connection = match context.connect().await {
                Ok(connection) => Arc::new(connection),
                // A server that starts and then does not answer is what we came for; one that cannot
                // be started or reached at all is an error.
                Err(error) if error.is_silence() => {
                    note(context, "", ProbeOutcome::ServerInitError, Vec::new(), None);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            let session = &connection.session;
            let tools = match self.list(context, session).await {
                Some(Ok(tools)) => tools,
                Some(Err(error)) if error.category() != ErrorCategory::Timeout => {
                    return Err(RunError::of_list(&error));
                }
                Some(Err(_)) | None => {
                    note(context, "", ProbeOutcome::ToolsListHang, Vec::new(), None);
                    connection.kill();
                    return Ok(());
                }
            };
            context.learn_tools(session, &tools)?;
            if let Some(call) = context.prepared(session, &tools)?.next() {
                self.fire(context, &connection, &Arc::new(call?)).await;
            }
            Ok(())
        })
    }

    fn hang_limits(&mut self, common: HangLimits) -> HangLimits {
        HangLimits {
            threshold: *self.hang_threshold.get_or_insert(common.threshold),
            grace: *self.grace_period.get_or_insert(common.grace),
            max_wait: *self.max_wait.get_or_insert(common.max_wait),
        }
    }

    fn judging(&self) -> Judging {
        Judging {
            judges_hangs: true,
            ..Judging::default()
        }
    }

    /// Its own verdict says when nothing was answered; a late answer is one.
    fn success(&self, facts: &RunFacts<'_>, report: &Report) -> Success {
        Success {
            is_needed: false,
            is_reached: !facts.ending.interrupted || report.deadlock.is_some(),
        }
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        report.deadlock.iter().map(deadlock_section).collect()
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        let limits = self.clone().hang_limits(HangLimits::default());
        vec![
            concurrent(self.concurrent),
            format!(
                "slow after {}, deadlocked after {}",
                figure::duration(limits.threshold),
                figure::duration(limits.judged_after())
            ),
        ]
    }
}

fn deadlock_section(report: &DeadlockReport) -> Section {
    let head = Section::new("Deadlock probe").list([
        Line::plain("Severity: ").and(Line::strong(name_of(report.severity))),
        Line::plain(format!("Probe: {}", name_of(report.outcome))),
    ]);
    let mut lines = Vec::new();
    if report.outcome == ProbeOutcome::Completed {
        lines.push(Line::plain("Tool: ").and_code(&report.tool));
        lines.push(Line::plain(format!(
            "Success: {} · Slow: {} · Deadlock: {} · Error: {}",
            report.success, report.slow, report.deadlock, report.error
        )));
    }
    if let Some(kind) = report.kind {
        let stuck = format!("What is stuck: {} ({})", name_of(kind), kind.explanation());
        lines.push(stuck.into());
    }
    let rows =
        (1..)
            .zip(report.calls.iter().take(super::ROWS_MAX))
            .map(|(number, call): (u32, _)| {
                let message = call.message.as_ref().map_or_else(Line::default, Line::code);
                cells![
                    number,
                    name_of(call.outcome),
                    milliseconds(call.duration_ms),
                    message
                ]
            });
    let table = Table::new(["Call", "Outcome", "after", "Message"])
        .numbers(..1)
        .numbers(2..3)
        .rows(rows);
    let calls = and_more(Section::default().table(table), report.calls.len(), "calls");
    head.detail()
        .with(Section::default().list(lines))
        .with(calls.detail())
}
