//! What is called alone after a load, to judge what was seen in it.

use mcprove_score::isolation;

use crate::prelude::*;

/// How long the replies of a sample are compared.
const COMPARISON_TIME: Duration = Duration::from_secs(2);
/// The most calls for that.
const COMPARISON_CALLS_MAX: u64 = 600;
/// Other calls of a tool, made alone, by which its replies are known to tell its calls apart.
const OTHERS_ASKED_MIN: usize = 12;
/// How long a control call may take at most.
const PATIENCE_MAX: Duration = Duration::from_secs(5);
/// How often a tool with foreign tokens in its replies is called once more.
const RECHECK_CALLS: usize = 2;
/// A slow tool takes at least that long.
const SLOW_MIN: Duration = Duration::from_millis(20);
/// How many times as long as a fast one it takes.
const SLOW_FACTOR: u32 = 5;
/// How many fast tools are called beside it.
const FAST_MAX: usize = 5;
/// How often, and how long all of that may take.
const BESIDE_ROUNDS: usize = 3;
const BESIDE_TIME: Duration = Duration::from_secs(2);
/// The most that a fast call comes after the slow one.
const BESIDE_DELAY_MAX: Duration = Duration::from_millis(20);
/// How long calls that were under way are waited for.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// What a comparison of sampled replies with those of the same calls alone showed.
#[stored(Copy, Default)]
pub struct ComparedRepliesFact {
    /// They are the same.
    pub same: u64,
    /// They are what another call gets alone that was under way at the same time.
    pub crossed: u64,
    /// They are neither.
    pub altered: u64,
    /// The call gets another reply alone each time, or what it got alone before the load is not what it gets after it.
    pub varying: u64,
}

impl Fact for ComparedRepliesFact {
    const NAME: &'static str = "compared_replies";
}

/// The slow tool that fast ones were called beside.
#[stored]
pub struct BesideFact {
    pub slow: String,
    /// The processors of this machine.
    pub cores: u32,
}

impl Fact for BesideFact {
    const NAME: &'static str = "beside";
}

impl Controller {
    /// How long a control call may take. One that hangs is not waited for.
    pub fn patience(&self) -> Duration {
        PATIENCE_MAX.min(self.context.hang_limits().threshold)
    }

    /// Waits a moment until no call of the load is under way.
    pub async fn wait_until_quiet(&self) {
        let deadline = Instant::now() + QUIET_TIME;
        while self.context.gauges.in_flight() > 0 && self.may_go_on(deadline) {
            self.context.pause(Duration::from_millis(5)).await;
        }
    }

    /// Calls tools with foreign tokens in their replies once more: what holds one now returns stored text.
    pub async fn recheck_tokens(&self, mixes: &Mixes) {
        let tallies = lock(&self.context.gauges.tallies).clone();
        let mut tools = BTreeSet::new();
        for tally in tallies {
            tools.extend(lock(&tally.foreign).keys().cloned());
        }
        let deadline = Instant::now() + COMPARISON_TIME;
        for tool in tools {
            let call = mixes.iter().flat_map(Mix::calls);
            let call = call
                .into_iter()
                .find(|it| it.tool == tool && !it.places.is_empty());
            let Some(call) = call else { continue };
            let (mut answered, mut is_stored) = (0, false);
            for _ in 0..RECHECK_CALLS {
                if !self.may_go_on(deadline) {
                    break;
                }
                let number = self.number();
                let phase = self.phases.comparison();
                match self.call(call, number, phase, self.patience()).await {
                    ControlReply::Success(reply) => {
                        answered += 1;
                        let tokens = &self.context.tokens;
                        is_stored |= tokens.holds_other(reply.result_bytes(), number);
                    }
                    ControlReply::Failure => {}
                    ControlReply::Late => return,
                }
            }
            let control = match (is_stored, answered) {
                (true, _) => TokenControl::Stored,
                (_, RECHECK_CALLS) => TokenControl::Clean,
                _ => TokenControl::Unknown,
            };
            self.context
                .fact(&tool.clone(), &TokenControlFact { tool, control });
        }
    }

    /// Compares the sampled replies with what the same calls get alone.
    pub async fn compare_sample(&self) {
        let sample = lock(&self.context.sampled_replies).take();
        if sample.is_empty() {
            return;
        }
        let mut comparison = Comparison {
            controller: self,
            deadline: Instant::now() + COMPARISON_TIME,
            calls: 0,
            tools: BTreeMap::new(),
        };
        let mut found = ComparedRepliesFact::default();
        for sampled in &sample {
            if comparison.compare(sampled, &mut found).await.is_none() {
                break;
            }
        }
        comparison.judge_suspects(&mut found).await;
        self.context.fact("", &found);
    }

    /// Calls the fast tools beside the slowest one.
    pub async fn call_beside_slow(&self, mixes: &Mixes) {
        let times: BTreeMap<String, Duration> = lock(&self.context.controls)
            .iter()
            .filter_map(|(tool, control)| Some((tool.clone(), control.median()?)))
            .collect();
        let Some((slow, slow_time)) = times.iter().max_by_key(|(_, time)| **time) else {
            return;
        };
        // One that takes longer than a call may is not waited for.
        if !(SLOW_MIN..=self.patience()).contains(slow_time) {
            return;
        }
        let call_of = |tool: &String| {
            let mut calls = mixes.iter().flat_map(Mix::calls);
            calls.find(|call| call.tool == *tool).cloned()
        };
        let fast: Vec<PreparedCall> = times
            .iter()
            .filter(|(_, time)| **time * SLOW_FACTOR <= *slow_time)
            .filter_map(|(tool, _)| call_of(tool))
            .take(FAST_MAX)
            .collect();
        let Some(slow_call) = call_of(slow).filter(|_| !fast.is_empty()) else {
            return;
        };
        let phase = self.begin(self.phases.beside(), BESIDE);
        let deadline = Instant::now() + BESIDE_TIME;
        for round in 0..BESIDE_ROUNDS {
            if round > 0 && !self.may_go_on(deadline) {
                break;
            }
            let index = phase.index;
            let beside = async {
                tokio::time::sleep((*slow_time / 10).min(BESIDE_DELAY_MAX)).await;
                let fast = fast.iter();
                let calls = fast.map(|call| self.call(call, self.number(), index, self.patience()));
                futures_util::future::join_all(calls).await;
            };
            let slow = self.call(&slow_call, self.number(), index, self.patience());
            let (outcome, ()) = tokio::join!(slow, beside);
            if matches!(outcome, ControlReply::Late) {
                break;
            }
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let beside = BesideFact {
            slow: slow.clone(),
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
        };
        self.context.fact(slow, &beside);
        self.context.end_phases([phase]);
    }
}

/// A comparison of sampled replies.
struct Comparison<'a> {
    controller: &'a Controller,
    deadline: Instant,
    calls: u64,
    tools: BTreeMap<String, ComparedTool>,
}

/// What is known of a tool by its calls alone.
#[derive(Default)]
struct ComparedTool {
    /// What its calls get, by their parameters.
    alone: BTreeMap<String, u64>,
    /// Replies that are what another call gets.
    suspects: Vec<CrossedReplyFact>,
}

impl ComparedTool {
    /// Whether replies tell the calls of the tool apart.
    fn tells_calls_apart(&self) -> bool {
        let replies: BTreeSet<u64> = self.alone.values().copied().collect();
        isolation::tell_calls_apart(self.alone.len(), replies.len())
    }
}

impl Comparison<'_> {
    /// What the call gets alone; none where it fails, or where it is time to end.
    async fn alone(&mut self, call: &PreparedCall, number: u64) -> Option<u64> {
        self.calls += 1;
        if self.calls > COMPARISON_CALLS_MAX || !self.controller.may_go_on(self.deadline) {
            return None;
        }
        let found = self.reply_to(call, number).await?;
        let params = self.params_of(call, number);
        let tool = self.tools.entry(call.tool.clone()).or_default();
        tool.alone.insert(params, found);
        Some(found)
    }

    async fn reply_to(&self, call: &PreparedCall, number: u64) -> Option<u64> {
        let controller = self.controller;
        let phase = controller.phases.comparison();
        let calling = controller.call(call, number, phase, controller.patience());
        match calling.await {
            ControlReply::Success(reply) => Some(hash(&canonical_reply(&reply)?)),
            _ => None,
        }
    }

    async fn compare(
        &mut self,
        sampled: &SampledReply,
        found: &mut ComparedRepliesFact,
    ) -> Option<()> {
        let SampledReply { call, number, .. } = sampled;
        let alone = self.alone(call, *number).await?;
        if alone == sampled.hash {
            found.same += 1;
            return Some(());
        }
        let whose = self.whose(sampled).await?;
        // In this order: a tool that returns the text of the call before gives another reply now.
        if self.alone(call, *number).await? != alone {
            found.varying += 1;
        } else if let Some(other) = whose {
            let suspect = CrossedReplyFact {
                tool: call.tool.clone(),
                call: *number,
                other,
                request_id: sampled.request_id,
            };
            let tool = self.tools.entry(call.tool.clone()).or_default();
            tool.suspects.push(suspect);
        } else {
            found.altered += 1;
        }
        Some(())
    }

    /// The other call that gets this reply alone, if one does; none where it is time to end.
    async fn whose(&mut self, sampled: &SampledReply) -> Option<Option<u64>> {
        let SampledReply { call, others, .. } = sampled;
        let mut whose = None;
        for other in others {
            // Once it is found, others only show whether replies tell calls apart.
            if whose.is_some() && !self.wants_other(call, *other) {
                continue;
            }
            match self.alone(call, *other).await {
                Some(alone) if alone == sampled.hash => whose = whose.or(Some(*other)),
                None if whose.is_none() => return None,
                _ => {}
            }
        }
        Some(whose)
    }

    /// Whether one more call of a tool is to be made alone to see whether its replies differ: one with other parameters, while
    /// there is time left for more than that.
    fn wants_other(&self, call: &PreparedCall, number: u64) -> bool {
        let Some(tool) = self.tools.get(&call.tool) else {
            return true;
        };
        Instant::now() + COMPARISON_TIME / 2 < self.deadline
            && tool.alone.len() < OTHERS_ASKED_MIN
            && !tool.alone.contains_key(&self.params_of(call, number))
    }

    fn params_of(&self, call: &PreparedCall, number: u64) -> String {
        let mut buffer = String::new();
        let own = call.own_params(number, self.controller.context.seed, &mut buffer);
        own.unwrap_or(&call.request.params).to_owned()
    }

    /// Whether the tool still does what it did before the load; none where that is not known.
    async fn has_changed(&self, tool: &str) -> Option<bool> {
        let controls = lock(&self.controller.context.controls).clone();
        let known = controls.get(tool).filter(|it| !it.known.is_empty())?;
        let deadline = Instant::now() + COMPARISON_TIME;
        for reply in &known.known {
            if !self.controller.may_go_on(deadline) {
                return None;
            }
            if self.reply_to(&reply.call, reply.number).await? != reply.hash {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether replies that are what other calls get went to the wrong one: not where the tool changes with time, nor where it
    /// has so few replies that some are the same by chance.
    async fn judge_suspects(&mut self, found: &mut ComparedRepliesFact) {
        for (name, tool) in std::mem::take(&mut self.tools) {
            if tool.suspects.is_empty() {
                continue;
            }
            let count = tool.suspects.len() as u64;
            match self.has_changed(&name).await {
                Some(true) => found.varying += count,
                Some(false) if tool.tells_calls_apart() => {
                    found.crossed += count;
                    tool.suspects.iter().for_each(|it| self.note_crossed(it));
                }
                _ => found.altered += count,
            }
        }
    }

    fn note_crossed(&self, fact: &CrossedReplyFact) {
        let CrossedReplyFact {
            tool, call, other, ..
        } = fact;
        let message = format!(
            "the reply to call {call} of {tool} is what call {other} gets alone, which was made at the same time"
        );
        self.controller.context.fact(&message, fact);
    }
}
