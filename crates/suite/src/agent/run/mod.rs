//! The loop: the model is asked, its calls are made, and it is asked again, until it is done or a budget is.
//!
//! The clock of a run is the sum of what the wire and the toolbox say that each step took, the longest
//! of calls that are made at once, and what injected faults take in virtual time; never the time of day.
//! So a run that is replayed has the same trace, byte for byte. A budget that is used up ends the run with
//! its reason and everything that happened until then.

mod asking;
mod calls;
mod failure;
mod record;

use std::time::Duration;

use mcprove_score::agent::recovery::max_detection_ms;
use mcprove_trace::{AgentRun, StopReason};

pub use failure::RunFailure;

use mcprove_settings::text::shorten;

use self::record::Record;
use super::WireNames;
use super::injected::InjectedFaults;
use super::model::ModelWire;
use super::provider::{self, Conversation, Entry, Message, ModelAnswer, Stop};
use super::toolbox::Toolbox;
use crate::plan::{AgentTestPlan, Environment, FillError, ModelPlan};

/// How much of why a model declined is kept.
const DECLINED_CHARACTERS_MAX: usize = 500;

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedRun {
    /// What happened.
    pub run: AgentRun,
    /// What kept the run from its end, where that was not the agent's doing: it says nothing of the agent.
    pub failure: Option<RunFailure>,
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
        entry: provider::entry(model.provider),
        names: WireNames::new(toolbox.tools()),
        faults: InjectedFaults::new(test.inject.clone(), seed, max_detection),
        conversation: Conversation::default(),
        clock: Duration::ZERO,
        record: Record::default(),
    };
    let end = running.go().await;
    let prompt = test.prompts.first().cloned();
    let clock = running.clock;
    running
        .record
        .finish(model.model.clone(), prompt, clock, end)
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
    record: Record,
}

/// How a run ended.
struct End {
    stop: StopReason,
    final_response: Option<String>,
    /// Why, where the agent itself broke off.
    error: Option<String>,
    failure: Option<RunFailure>,
}

impl End {
    fn of(stop: StopReason) -> Self {
        Self {
            stop,
            final_response: None,
            error: None,
            failure: None,
        }
    }

    /// The model, or its provider, did not want to go on. It is no way to do a task.
    fn declined(text: String, why: &str) -> Self {
        let why = shorten(why, DECLINED_CHARACTERS_MAX);
        Self {
            error: Some(format!("the model declined ({why})")),
            ..Self::saying(StopReason::Error, text)
        }
    }

    fn saying(stop: StopReason, text: String) -> Self {
        Self {
            final_response: Some(text),
            ..Self::of(stop)
        }
    }
}

impl From<RunFailure> for End {
    fn from(failure: RunFailure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::of(StopReason::Error)
        }
    }
}

/// What comes after an answer.
enum Next {
    /// The model is asked again.
    Ask,
    /// It has said all, and waits for its user.
    Said,
    /// Nothing.
    End(End),
}

impl Running<'_> {
    async fn go(&mut self) -> End {
        let mut last_words = String::new();
        for prompt in &self.test.prompts {
            self.conversation
                .messages
                .push(Message::User(prompt.clone()));
            self.record.add_turn("user", prompt);
            match self.reply().await {
                Ok(text) => last_words = text,
                Err(end) => return end,
            }
        }
        End::saying(StopReason::Completed, last_words)
    }

    /// What the agent replies to what its user said last.
    async fn reply(&mut self) -> Result<String, End> {
        // What it said last, beside a call perhaps: who ends without a word has said that.
        let mut last_words = String::new();
        loop {
            if let Some(spent) = self.spent() {
                return Err(End::of(spent));
            }
            let answer = self.ask().await?;
            if !answer.text.trim().is_empty() {
                last_words.clone_from(&answer.text);
            }
            match self.take(answer).await {
                Next::Ask => {}
                Next::Said => return Ok(last_words),
                Next::End(mut end) => {
                    if let Some(said) = &mut end.final_response {
                        *said = last_words;
                    }
                    return Err(end);
                }
            }
        }
    }

    /// The budget that leaves no room for another answer.
    fn spent(&self) -> Option<StopReason> {
        if self.record.answers() >= self.test.budget.turns as usize {
            return Some(StopReason::TurnBudget);
        }
        self.used_up(|used, most| used >= most, |clock, most| clock >= most)
    }

    /// Takes an answer into the conversation, and makes its calls.
    async fn take(&mut self, answer: ModelAnswer) -> Next {
        self.record.add_answer(&answer);
        if let Some(kept) = answer.kept.clone() {
            self.conversation.messages.push(Message::Model(kept));
        }
        if answer.container.is_some() {
            self.conversation.container.clone_from(&answer.container);
        }
        if let Some(over) = self.overspent() {
            self.leave_calls(&answer.uses, over).await;
            let is_reply = answer.uses.is_empty() && answer.stop != Stop::Paused;
            return Next::End(End {
                final_response: is_reply.then_some(answer.text),
                ..End::of(over)
            });
        }
        // What it wanted to call may be incomplete, and is not its last word.
        if let Stop::Declined(why) = &answer.stop {
            return Next::End(End::declined(answer.text, why));
        }
        if !answer.uses.is_empty() {
            return self.make_calls(answer).await;
        }
        match answer.stop {
            Stop::Paused => Next::Ask,
            // It had more to say, and may not.
            Stop::Cut => Next::End(End::saying(StopReason::TokenBudget, answer.text)),
            Stop::Done | Stop::Calls | Stop::Declined(_) | Stop::Other(_) => Next::Said,
        }
    }

    /// The budget that an answer has gone beyond.
    fn overspent(&self) -> Option<StopReason> {
        self.used_up(|used, most| used > most, |clock, most| clock > most)
    }

    /// The budget of tokens or time that is over, by these measures.
    fn used_up(
        &self,
        are_tokens_over: fn(u64, u64) -> bool,
        is_time_over: fn(Duration, Duration) -> bool,
    ) -> Option<StopReason> {
        let budget = &self.test.budget;
        let tokens = self.record.tokens_known();
        if budget
            .tokens
            .is_some_and(|most| are_tokens_over(tokens, most))
        {
            Some(StopReason::TokenBudget)
        } else {
            is_time_over(self.clock, budget.time).then_some(StopReason::TimeBudget)
        }
    }

    /// The time that is left.
    fn time_left(&self) -> Duration {
        self.test.budget.time.saturating_sub(self.clock)
    }

    /// A step took this long.
    fn pass(&mut self, duration: Duration) {
        self.clock = self.clock.saturating_add(duration);
    }
}

#[cfg(test)]
mod tests;
