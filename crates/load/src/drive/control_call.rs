//! Control calls: calls made alone, one at a time, to know what a tool does when nothing else happens. They belong to
//! phases of their own, after those of the schedule, and count in no metric.

use futures_util::future::BoxFuture;

use crate::prelude::*;

/// Where the numbers of control calls begin.
const CONTROL_FROM: u64 = 1 << 39;
/// Calls of each tool before a load.
const CALLS: usize = 5;
/// Calls of a tool whose calls are slow; of one whose replies are to be compared, one more.
const SLOW_CALLS: usize = 2;
/// How long the calls of a tool may take until it counts as slow.
const TOOL_TIME: Duration = Duration::from_millis(100);
/// The share of a load's time that the calls before it may take.
const TIME_PARTS: u32 = 10;
const TIME_MIN: Duration = Duration::from_secs(1);
const TIME_MAX: Duration = Duration::from_secs(5);
/// How much longer a call with other numbers may take, so that it does not change what is measured: this, and half as
/// long again.
const OTHER_TIME: Duration = Duration::from_millis(5);
/// From then on a call gives the others more time, once.
const SLOW_CALL: Duration = Duration::from_millis(500);

/// The phases of control calls of a load whose schedule has so many.
#[derive(Debug, Clone, Copy)]
pub struct ControlPhases(pub u16);

impl ControlPhases {
    /// After the load, to grade by.
    pub fn alone(self) -> u16 {
        self.0.saturating_add(1)
    }

    /// Before the load, with two tokens for each tool.
    pub fn before(self) -> u16 {
        self.0.saturating_add(2)
    }

    /// After the load, compared with replies of the load.
    pub fn comparison(self) -> u16 {
        self.0.saturating_add(3)
    }

    /// After the load, fast tools beside a slow one.
    pub fn beside(self) -> u16 {
        self.0.saturating_add(4)
    }
}

/// What the tokens in a tool's replies do, when it is called alone.
#[stored]
pub struct TokenControlFact {
    pub tool: String,
    pub control: TokenControl,
}

impl Fact for TokenControlFact {
    const NAME: &'static str = "token_control";
}

/// What the tokens in the replies of a call are good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenUse {
    /// They tell whose reply it is, if there are any.
    #[default]
    Identify,
    /// There are none, but the same call always gets the same reply, and another one another: they can be compared.
    Compare,
    /// Each reply alone held its own, so that one without it is compared.
    Own,
    /// None: the tool returns text of earlier calls.
    StoredText,
}

/// What a tool does alone.
#[derive(Debug, Clone, Default)]
pub struct ToolControl {
    /// How long each call took.
    pub times: Vec<Duration>,
    pub token_use: TokenUse,
    /// Whether a call was not answered in time.
    pub is_late: bool,
    /// What its calls got before the load, where replies are compared.
    pub known: Vec<KnownReply>,
}

/// What a call got alone.
#[derive(Debug, Clone)]
pub struct KnownReply {
    pub call: PreparedCall,
    pub number: u64,
    /// Tells its text from others.
    pub hash: u64,
}

impl ToolControl {
    /// The median of its times.
    pub fn median(&self) -> Option<Duration> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

/// Makes control calls on a slot.
#[derive(Clone)]
pub struct Controller {
    pub context: RunContext,
    pub slot: Arc<ConnectionSlot>,
    pub tally: Arc<Tally>,
    pub phases: ControlPhases,
    /// Calls that were not answered in time.
    pub late: Arc<Mutex<Vec<BoxFuture<'static, ()>>>>,
}

impl Controller {
    /// Makes one call, and waits that long for its answer. One that takes longer is left alone: to cancel it could
    /// change what is tested.
    pub async fn call(
        &self,
        call: &PreparedCall,
        number: u64,
        phase: u16,
        patience: Duration,
    ) -> ControlReply {
        let mut worker = Worker::new(&self.context, &self.slot, &self.tally);
        let call = call.clone();
        let slot = CallSlot {
            number,
            phase,
            intended: None,
            is_control: true,
        };
        let mut calling = tokio::spawn(async move { worker.call_control(&call, slot).await });
        let answered = tokio::time::timeout(patience, &mut calling);
        match self.context.unless(StopLevel::Drain, answered).await {
            Some(Ok(Ok(Some(reply)))) => ControlReply::Success(reply),
            Some(Ok(_)) => ControlReply::Failure,
            _ => {
                self.note_late(async { drop(calling.await) });
                ControlReply::Late
            }
        }
    }

    /// Goes through a pattern of the first mix of a load, and waits that long for it; whether it is through. It is left
    /// alone like a call.
    pub async fn perform(&self, job: &Arc<Job>, slot: CallSlot, patience: Duration) -> bool {
        let mut worker = Worker::new(&self.context, &self.slot, &self.tally);
        let job = Arc::clone(job);
        let mut performing = tokio::spawn(async move {
            match job.mixes.first() {
                Some(mix) => worker.perform(mix, slot).await,
                None => Ended::NoSession,
            }
        });
        let ended = tokio::time::timeout(patience, &mut performing);
        if let Some(Ok(ended)) = self.context.unless(StopLevel::Drain, ended).await {
            return ended.is_ok_and(|ended| ended == Ended::Done);
        }
        self.note_late(async { drop(performing.await) });
        false
    }

    fn note_late(&self, waiting: impl Future<Output = ()> + Send + 'static) {
        lock(&self.late).push(Box::pin(waiting));
    }

    /// Waits for the calls that were not answered in time: whether they hang is for the report, as of any other call.
    pub async fn wait_for_late_calls(&self) {
        let late = std::mem::take(&mut *lock(&self.late));
        let waiting = futures_util::future::join_all(late);
        self.context.unless(StopLevel::Drain, waiting).await;
    }

    /// A number for a control call.
    pub fn number(&self) -> u64 {
        CONTROL_FROM + self.context.control_calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether more control calls may be made.
    pub fn may_go_on(&self, deadline: Instant) -> bool {
        Instant::now() < deadline && self.context.stop.is_running() && !self.slot.gave_up()
    }

    /// Calls each tool alone, before a load of that duration, and keeps what it does for the load and what follows.
    pub async fn call_each_alone(&self, mixes: &mut Mixes, duration: Duration) {
        let mut deadline = Instant::now() + (duration / TIME_PARTS).clamp(TIME_MIN, TIME_MAX);
        let mut was_slow = false;
        let phase = self.begin(self.phases.before(), CONTROL);
        let mut stored_text = BTreeMap::<String, TokenControl>::new();
        for call in distinct_calls(mixes) {
            if !self.may_go_on(deadline) {
                break;
            }
            let (found, control) = self.examine(&call, deadline).await;
            let took: Duration = found.times.iter().sum();
            if took >= SLOW_CALL && !was_slow {
                was_slow = true;
                deadline += took;
            }
            if let Some(control) = control {
                let known = stored_text.entry(call.tool.clone()).or_insert(control);
                if control == TokenControl::Stored {
                    *known = control;
                }
            }
            for prepared in prepared_calls_mut(mixes) {
                if prepared.tool == call.tool && prepared.request.params == call.request.params {
                    prepared.token_use = found.token_use;
                    // With a number of calls, the same seed makes the same calls whatever was measured.
                    prepared.is_sample_varied = found.token_use == TokenUse::Compare
                        && self.context.scenario.load.calls.is_none();
                }
            }
            let mut controls = lock(&self.context.controls);
            let known = controls.entry(call.tool.clone()).or_default();
            known.times.extend(&found.times);
            known.known.extend(found.known);
            drop(controls);
            // It may still be busy with that.
            if found.is_late {
                break;
            }
        }
        for (tool, control) in stored_text {
            self.context
                .fact(&tool.clone(), &TokenControlFact { tool, control });
        }
        self.context.end_phases([phase]);
    }

    /// Notes a phase of control calls, so that even a run that is killed tells what they are.
    pub fn begin(&self, index: u16, name: &str) -> PhaseFact {
        let phase = PhaseFact {
            control: true,
            ..self.context.phase(index, name, 1, false)
        };
        self.context.note_phase(&phase);
        phase
    }

    /// Calls a tool alone, with two tokens in turns where it carries one, or else with other numbers.
    async fn examine(
        &self,
        call: &PreparedCall,
        deadline: Instant,
    ) -> (ToolControl, Option<TokenControl>) {
        let has_token = !call.places.is_empty();
        let other = if has_token {
            Some(call.clone())
        } else {
            call.with_other_numbers()
        };
        let is_compared = other.is_some();
        let calls = [call.clone(), other.unwrap_or_else(|| call.clone())];
        let numbers = [self.number(), self.number()];
        let mut longest = [Duration::ZERO; 2];
        let mut found = ToolControl::default();
        let mut replies: [Vec<Option<String>>; 2] = Default::default();
        let (mut is_stored, mut holds_own) = (false, false);
        let began = Instant::now();
        for (round, place) in (0..CALLS).zip([0, 1].into_iter().cycle()) {
            let wanted = SLOW_CALLS + usize::from(is_compared && !holds_own);
            let is_slow = began.elapsed() >= TOOL_TIME;
            if round > 0 && (!self.may_go_on(deadline) || is_slow && round >= wanted) {
                break;
            }
            let number = numbers[place];
            // A tool that hangs is for the load to find.
            let calling = self.call(&calls[place], number, self.phases.before(), self.patience());
            match calling.await {
                ControlReply::Success(reply) => {
                    found.times.push(reply.duration);
                    longest[place] = longest[place].max(reply.duration);
                    if has_token {
                        let tokens = &self.context.tokens;
                        is_stored |= tokens.holds_other(reply.result_bytes(), number);
                        let identity = tokens.identify(reply.result_bytes(), number);
                        holds_own |= identity == Identity::Own;
                    }
                    if is_compared {
                        replies[place].push(canonical_reply(&reply));
                    }
                }
                // An error says nothing of its tokens, nor of what it does alone.
                ControlReply::Failure => {}
                ControlReply::Late => {
                    found.is_late = true;
                    return (found, None);
                }
            }
        }
        let [usual, other] = longest;
        let is_as_long = other <= usual + usual / 2 + OTHER_TIME;
        if !is_stored && (has_token || is_as_long) && are_comparable(&replies) {
            found.token_use = if holds_own {
                TokenUse::Own
            } else {
                TokenUse::Compare
            };
            let first = replies.iter().map(|replies| replies.first());
            found.known = calls
                .iter()
                .zip(numbers)
                .zip(first)
                .filter_map(|((call, number), text)| {
                    let hash = hash(text?.as_ref()?);
                    let call = call.clone();
                    Some(KnownReply { call, number, hash })
                })
                .collect();
        }
        let control = if !has_token {
            None
        } else if is_stored {
            found.token_use = TokenUse::StoredText;
            Some(TokenControl::Stored)
        } else if found.times.len() < 2 {
            Some(TokenControl::Unknown)
        } else {
            Some(TokenControl::Clean)
        };
        (found, control)
    }
}

/// What came of a control call.
pub enum ControlReply {
    Success(Reply),
    Failure,
    /// It was not answered in time.
    Late,
}

/// Whether the same call got the same reply, and the other one another.
fn are_comparable([one, other]: &[Vec<Option<String>>; 2]) -> bool {
    let (Some(Some(first)), Some(Some(second))) = (one.first(), other.first()) else {
        return false;
    };
    let is_repeated = one.len() > 1;
    let same =
        |replies: &[Option<String>], text| replies.iter().all(|it| it.as_ref() == Some(text));
    is_repeated && first != second && same(one, first) && same(other, second)
}

/// The calls of all mixes, each once.
fn distinct_calls(mixes: &Mixes) -> Vec<PreparedCall> {
    let mut calls: Vec<PreparedCall> = Vec::new();
    for call in mixes.iter().flat_map(Mix::calls) {
        let is_same = |known: &PreparedCall| {
            known.tool == call.tool && known.request.params == call.request.params
        };
        if !calls.iter().any(is_same) {
            calls.push(call.clone());
        }
    }
    calls
}

fn prepared_calls_mut(mixes: &mut Mixes) -> impl Iterator<Item = &mut PreparedCall> {
    mixes.iter_mut().flat_map(Mix::calls_mut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_can_be_compared_if_they_depend_on_the_call_and_on_nothing_else() {
        let texts = |texts: &[&str]| texts.iter().map(|it| Some((*it).to_owned())).collect();
        let cases: [(&[&str], &[&str], bool); 6] = [
            (&["A", "A", "A"], &["B", "B"], true),
            (&["A", "A"], &["B"], true),
            (&["A"], &["B"], false),
            (&["A", "A"], &["A"], false),
            (&["none", "B"], &["A"], false),
            (&[], &["B"], false),
        ];
        for (one, other, expected) in cases {
            let replies = [texts(one), texts(other)];
            assert_eq!(are_comparable(&replies), expected, "{replies:?}");
        }
        assert!(!are_comparable(&[vec![None, None], texts(&["B"])]));
    }
}
