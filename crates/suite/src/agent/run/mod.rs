//! The loop: the model is asked, its calls are made, and it is asked again, until it is done or a budget is.
//!
//! The clock of a run is the sum of what the wire and the toolbox say that each step took, the longest
//! of calls that are made at once, and what injected faults take in virtual time; never the time of day.
//! So a run that is replayed has the same trace, byte for byte. A budget that is used up ends the run with
//! its reason and everything that happened until then.

mod asking;
mod calls;

use std::cmp::Ordering;

use mcprove_import::total_tokens;
use mcprove_trace::Conversation as Told;

use self::calls::no_room;
use super::WireNames;
use super::injected::InjectedFaults;
use super::provider::{Conversation, Entry, Message, ModelAnswer, Stop};
use crate::prelude::*;

/// How much of why a model declined is kept.
const DECLINED_CHARACTERS_MAX: usize = 500;

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedRun {
    /// What happened.
    pub run: AgentRun,
    /// What kept the run from its end, where that was not the agent's doing: it says nothing of the agent.
    pub failure: Option<Diagnostic>,
}

/// The test with the variables of its texts filled in, for those who run it.
pub fn fill_texts(
    test: &AgentTestPlan,
    environment: &Environment,
) -> Result<AgentTestPlan, FillError> {
    let fill = |text: &String| environment.fill(text);
    let prompts: Result<Vec<String>, FillError> = test.prompts.iter().map(fill).collect();
    Ok(AgentTestPlan {
        system: test.system.as_ref().map(fill).transpose()?,
        prompts: prompts?,
        ..test.clone()
    })
}

/// Has a model do the task once. Texts are taken as they are. `seed` decides what faults do that have no
/// seed of their own.
pub async fn run_once(
    test: &AgentTestPlan,
    model: &ModelPlan,
    wire: &dyn ModelWire,
    toolbox: &dyn Toolbox,
    seed: u64,
) -> FinishedRun {
    let max_detection = Duration::from_millis(max_detection_ms(&test.gates));
    let mut running = Running {
        test,
        model,
        wire,
        toolbox,
        entry: model.provider,
        names: WireNames::new(toolbox.tools()),
        faults: InjectedFaults::new(test.inject.clone(), seed, max_detection),
        conversation: Conversation::default(),
        clock: Duration::ZERO,
        run: AgentRun::default(),
        turns: Vec::new(),
        retries: Vec::new(),
        tokens: Vec::new(),
        last_words: String::new(),
    };
    let end = match running.go().await {
        Ok(()) => End::saying(StopReason::Completed),
        Err(end) => end,
    };
    let failure = end.failure.as_ref().map(ToString::to_string);
    // Nobody else could have said anything: no reply is an empty one.
    let said = Some(running.last_words).filter(|_| end.is_reply);
    FinishedRun {
        run: AgentRun {
            model: Some(model.model.clone()),
            prompt: test.prompts.first().cloned(),
            final_response: Some(said.unwrap_or_default()),
            conversation: Some(Told {
                stop_reason: Some(end.stop),
                duration_ms: Some(as_milliseconds(running.clock)),
                tokens: total_tokens(&running.tokens, &mut Vec::new()),
                turns: Some(running.turns),
                retries: Some(running.retries),
                error: failure.or(end.error),
            }),
            ..running.run
        },
        failure: end.failure,
    }
}

/// A run under way.
struct Running<'a> {
    test: &'a AgentTestPlan,
    model: &'a ModelPlan,
    wire: &'a dyn ModelWire,
    toolbox: &'a dyn Toolbox,
    entry: &'static Entry,
    names: WireNames,
    faults: InjectedFaults,
    conversation: Conversation,
    clock: Duration,
    /// The calls so far.
    run: AgentRun,
    turns: Vec<Turn>,
    retries: Vec<Retry>,
    /// Of each answer.
    tokens: Vec<Option<Tokens>>,
    /// What the agent said last, beside a call perhaps: who ends without a word has said that.
    last_words: String,
}

/// How a run ended.
struct End {
    stop: StopReason,
    /// Whether what was said last is the reply to the user.
    is_reply: bool,
    /// Why, where the agent itself broke off.
    error: Option<String>,
    failure: Option<Diagnostic>,
}

impl End {
    fn of(stop: StopReason) -> Self {
        Self {
            stop,
            is_reply: false,
            error: None,
            failure: None,
        }
    }

    fn saying(stop: StopReason) -> Self {
        Self {
            is_reply: true,
            ..Self::of(stop)
        }
    }
}

impl From<Diagnostic> for End {
    fn from(failure: Diagnostic) -> Self {
        Self {
            failure: Some(failure),
            ..Self::of(StopReason::Error)
        }
    }
}

impl Running<'_> {
    async fn go(&mut self) -> Result<(), End> {
        for prompt in &self.test.prompts {
            let message = Message::User(prompt.clone());
            self.conversation.messages.push(message);
            self.add_turn("user", prompt);
            self.last_words.clear();
            loop {
                if self.tokens.len() >= self.test.budget.turns as usize {
                    return Err(End::of(StopReason::TurnBudget));
                }
                if let Some(spent) = self.used_up(Ordering::Equal) {
                    return Err(End::of(spent));
                }
                let answer = self.ask().await?;
                if !self.take(answer).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes an answer into the conversation, and makes its calls. Whether the model is to be asked again: else it has
    /// said all, and waits for its user.
    async fn take(&mut self, answer: ModelAnswer) -> Result<bool, End> {
        self.add_turn("assistant", &answer.text);
        self.tokens.push(answer.tokens);
        if !answer.text.trim().is_empty() {
            self.last_words.clone_from(&answer.text);
        }
        if let Some(kept) = answer.kept {
            self.conversation.messages.push(Message::Model(kept));
        }
        if answer.container.is_some() {
            self.conversation.container = answer.container;
        }
        if let Some(over) = self.used_up(Ordering::Greater) {
            // The agent wanted these calls. Nothing is asked of a toolbox, so that nothing can be missing there.
            let _ = self.make_calls(&answer.uses, |_| Some(no_room(over))).await;
            return Err(End {
                is_reply: answer.uses.is_empty() && answer.stop != Stop::Paused,
                ..End::of(over)
            });
        }
        // What it wanted to call may be incomplete, and is not its last word.
        if let Stop::Declined(why) = &answer.stop {
            let why = shorten(why, DECLINED_CHARACTERS_MAX);
            // The model, or its provider, did not want to go on. It is no way to do a task.
            return Err(End {
                error: Some(format!("the model declined ({why})")),
                ..End::saying(StopReason::Error)
            });
        }
        if !answer.uses.is_empty() {
            return self.carry_out(&answer.uses, answer.stop == Stop::Cut).await;
        }
        match answer.stop {
            Stop::Paused => Ok(true),
            // It had more to say, and may not.
            Stop::Cut => Err(End::saying(StopReason::TokenBudget)),
            Stop::Done | Stop::Calls | Stop::Declined(_) | Stop::Other => Ok(false),
        }
    }

    /// The budget of tokens or time that has come to its limit, or gone beyond it.
    fn used_up(&self, from: Ordering) -> Option<StopReason> {
        let budget = &self.test.budget;
        // As far as they were told.
        let tokens = self
            .tokens
            .iter()
            .flatten()
            .filter_map(Tokens::sum)
            .fold(0, u64::saturating_add);
        if budget.tokens.is_some_and(|most| tokens.cmp(&most) >= from) {
            return Some(StopReason::TokenBudget);
        }
        (self.clock.cmp(&budget.time) >= from).then_some(StopReason::TimeBudget)
    }

    fn time_left(&self) -> Duration {
        self.test.budget.time.saturating_sub(self.clock)
    }

    /// A step took this long.
    fn pass(&mut self, duration: Duration) {
        self.clock = self.clock.saturating_add(duration);
    }

    fn add_turn(&mut self, role: &str, text: &str) {
        self.turns.push(Turn {
            role: role.to_owned(),
            text: (!text.is_empty()).then(|| text.to_owned()),
        });
    }
}

#[cfg(test)]
mod tests;
