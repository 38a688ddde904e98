//! What happens in a run, on its way into the trace.

use std::time::Duration;

use mcprove_trace::{AgentRun, Conversation, Retry, Tokens, ToolResult, Turn};

use super::{End, FinishedRun};
use crate::agent::injected::MetCall;
use crate::agent::provider::ModelAnswer;

/// What has happened so far.
#[derive(Default)]
pub(super) struct Record {
    pub run: AgentRun,
    turns: Vec<Turn>,
    pub retries: Vec<Retry>,
    /// Of each answer.
    tokens: Vec<Option<Tokens>>,
}

impl Record {
    /// How many answers the model gave.
    pub(super) fn answers(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens so far, as far as they were told.
    pub(super) fn tokens_known(&self) -> u64 {
        let told = self
            .tokens
            .iter()
            .filter_map(|tokens| tokens.as_ref()?.sum());
        told.fold(0, u64::saturating_add)
    }

    pub(super) fn add_turn(&mut self, role: &str, text: &str) {
        self.turns.push(Turn {
            role: role.to_owned(),
            text: (!text.is_empty()).then(|| text.to_owned()),
        });
    }

    pub(super) fn add_answer(&mut self, answer: &ModelAnswer) {
        self.add_turn("assistant", &answer.text);
        self.tokens.push(answer.tokens);
    }

    pub(super) fn add_result(&mut self, call_index: usize, met: MetCall) {
        self.run.tool_results.push(ToolResult {
            call_index,
            is_error: Some(met.answer.is_error),
            result: met.answer.result,
        });
        if let Some(mut mark) = met.mark {
            mark.call_index = call_index;
            self.run.faults.push(mark);
        }
    }

    /// The trace of the whole run.
    pub(super) fn finish(
        self,
        model: String,
        prompt: Option<String>,
        clock: Duration,
        end: End,
    ) -> FinishedRun {
        let tokens = total(&self.tokens);
        let failure = end.failure.as_ref().map(ToString::to_string);
        let error = failure.or(end.error);
        FinishedRun {
            run: AgentRun {
                model: Some(model),
                prompt,
                // Nobody else could have said anything: no reply is an empty one.
                final_response: Some(end.final_response.unwrap_or_default()),
                conversation: Some(Conversation {
                    stop_reason: Some(end.stop),
                    duration_ms: Some(milliseconds(clock)),
                    tokens,
                    turns: Some(self.turns),
                    retries: Some(self.retries),
                    error,
                }),
                ..self.run
            },
            failure: end.failure,
        }
    }
}

/// Whole microseconds are all that the clock counts.
pub(super) fn milliseconds(duration: Duration) -> f64 {
    // Exact for some centuries.
    #[allow(clippy::cast_precision_loss)]
    let micros = duration.as_micros() as f64;
    micros / 1_000.0
}

/// All tokens together. What one answer does not tell is unknown for all.
fn total(answers: &[Option<Tokens>]) -> Option<Tokens> {
    let told: Option<Vec<Tokens>> = answers.iter().copied().collect();
    let all = told?;
    let sum = |part: fn(&Tokens) -> Option<u64>| -> Option<u64> {
        let parts: Option<Vec<u64>> = all.iter().map(part).collect();
        Some(parts?.into_iter().fold(0, u64::saturating_add))
    };
    let whole = Tokens {
        prompt: sum(|tokens| tokens.prompt),
        completion: sum(|tokens| tokens.completion),
        total: sum(Tokens::sum),
    };
    (!all.is_empty() && whole != Tokens::default()).then_some(whole)
}
