//! Whether one run gets worse as it goes: four heuristics, each 0 to 1, higher is steadier. A low
//! one says where to look; it proves nothing.
//!
//! | sub-score | formula |
//! |---|---|
//! | `tool_usage_stability` | 1 − (distinct tools − 1) / (calls − 1); 1 with fewer than two calls |
//! | `response_consistency` | 1 − min(1, σ/μ) of the characters of the assistant's turns; 1 with fewer than two |
//! | `redundancy` | distinct calls / calls, by name, server and canonical arguments; 1 without calls |
//! | `cost_per_progress` | 2000 / max(2000, tokens / distinct calls); 1 without calls |
//!
//! σ is the population's deviation; characters are Unicode scalar values; only turns with text have a
//! length. A run with fewer than two turns of the assistant, or without anything in it, has no course
//! to get worse on: all four are 1. What the trace does not say is `None`, and left out of the weakest:
//! where arguments are unknown, whether a call is a repeat, too.
//! The formulas are those of mcptest, after the Agent Stability Index (arXiv:2601.04170).

use super::prelude::*;

/// Tokens per distinct call from which on `cost_per_progress` falls.
pub const TOKENS_PER_CALL: f64 = 2000.0;

/// Calls below which the default gate looks past `tool_usage_stability`: two tools in two calls are
/// 0 by the formula, and nothing is wrong with them.
pub const CALLS_FOR_TOOL_USAGE: usize = 4;

/// How steady one run is.
#[stored]
pub struct SessionStability {
    /// How few different tools the calls are spread over.
    pub tool_usage_stability: f64,
    /// How alike the assistant's turns are in length; `None` where they are unknown.
    pub response_consistency: Option<f64>,
    /// The share of calls that are no repeats; `None` where unknown arguments decide.
    pub redundancy: Option<f64>,
    /// How little was spent per distinct call; `None` where the tokens are unknown, or unknown
    /// arguments decide.
    pub cost_per_progress: Option<f64>,
    /// The lowest of those that are known.
    pub weakest_score: f64,
}

impl SessionStability {
    /// With this for all four.
    fn all(score: f64) -> Self {
        Self {
            tool_usage_stability: score,
            response_consistency: Some(score),
            redundancy: Some(score),
            cost_per_progress: Some(score),
            weakest_score: score,
        }
    }

    /// The sub-scores that are known, by name, in the order of the table.
    fn known(&self) -> impl Iterator<Item = (&'static str, f64)> {
        [
            (TOOL_USAGE, Some(self.tool_usage_stability)),
            (RESPONSES, self.response_consistency),
            (REDUNDANCY, self.redundancy),
            ("cost_per_progress", self.cost_per_progress),
        ]
        .into_iter()
        .filter_map(|(which, score)| Some((which, score?)))
    }

    /// The weakest sub-score as the default gate sees it, for a run of so many calls.
    pub fn weakest_to_gate(&self, calls: usize) -> Option<(&'static str, f64)> {
        self.known()
            .filter(|(which, _)| *which != TOOL_USAGE || calls >= CALLS_FOR_TOOL_USAGE)
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

const TOOL_USAGE: &str = "tool_usage_stability";
const RESPONSES: &str = "response_consistency";
const REDUNDANCY: &str = "redundancy";

/// What in the run makes a sub-score low, and what to look at.
pub fn explain(sub_score: &str, run: &AgentRun) -> Diagnostic {
    let calls = &run.tool_calls;
    let path = Numbering::default().path(run);
    let (_, distinct) = path.distinct_calls(calls);
    let made = counted(count(calls.len()), "call");
    match sub_score {
        TOOL_USAGE => Diagnostic::new(
            sentence!(
                "{made} use {}",
                counted(count(path.distinct_tools()), "different tool")
            ),
            "look at whether the agent tries one tool after the other",
        ),
        RESPONSES => {
            let mut lengths = lengths(run).unwrap_or_default();
            lengths.sort_unstable();
            let message = sentence!(
                "the assistant's turns are between {} and {} characters long",
                whole(lengths.first().copied().unwrap_or_default()),
                whole(lengths.last().copied().unwrap_or_default()),
            );
            Diagnostic::new(message, "look at the longest and the shortest")
        }
        REDUNDANCY => {
            let (place, times) = path.most_repeated(calls).unwrap_or_default();
            let name = calls.get(place).map_or("", |call| call.name.as_str());
            let message = sentence!(
                "only {} of {made} are different; call {place} ({}) is made {}",
                whole(count(distinct)),
                quoted(name),
                counted(count(times), "time"),
            );
            Diagnostic::new(message, sentence!("look at what call {place} returns"))
        }
        _ => Diagnostic::new(
            sentence!(
                "{} for {}",
                counted(tokens(run).unwrap_or_default(), "token"),
                counted(count(distinct), "different call"),
            ),
            "look at what the agent does between its calls",
        ),
    }
}

/// Scores one run.
///
/// ```
/// use mcprove_score::agent::stability::score_session;
/// use mcprove_trace::AgentRun;
///
/// let text = r#"{"tool_calls":[{"name":"search","args":{"q":"x"}},{"name":"search","args":{"q":"x"}}],
///     "conversation":{"tokens":{"total":8000},"turns":[
///         {"role":"assistant"},{"role":"assistant"},{"role":"assistant","text":"Nothing found."}]}}"#;
/// let run: AgentRun = serde_json::from_str(text).unwrap();
/// let session = score_session(&run);
/// assert_eq!(session.tool_usage_stability, 1.0);
/// assert_eq!(session.redundancy, Some(0.5));
/// assert_eq!(session.cost_per_progress, Some(0.25));
/// assert_eq!(session.weakest_score, 0.25);
/// ```
pub fn score_session(run: &AgentRun) -> SessionStability {
    score_path(run, &Numbering::default().path(run))
}

pub fn score_path(run: &AgentRun, path: &Path) -> SessionStability {
    let mut session = SessionStability::all(1.0);
    if has_no_course(run) {
        return session;
    }
    let calls = run.tool_calls.len();
    let (least, most) = path.distinct_calls(&run.tool_calls);
    // The score, where it is the same with as few and with as many different calls as there may be.
    let agreed = |score: &dyn Fn(f64) -> f64| {
        let [least, most] = [least, most].map(|distinct| score(float_len(distinct)));
        least.total_cmp(&most).is_eq().then_some(least)
    };
    session.tool_usage_stability = tool_usage_stability(path.distinct_tools(), calls);
    session.response_consistency = lengths(run).map(|lengths| response_consistency(&lengths));
    session.redundancy = agreed(&|distinct| ratio(distinct, float_len(calls)).unwrap_or(1.0));
    session.cost_per_progress = if calls == 0 {
        Some(1.0)
    } else {
        tokens(run).and_then(|tokens| {
            let cost = |distinct: f64| (float(tokens) / distinct).max(TOKENS_PER_CALL);
            agreed(&|distinct| TOKENS_PER_CALL / cost(distinct))
        })
    };
    session.weakest_score = session.known().map(|(_, score)| score).fold(1.0, f64::min);
    session
}

/// Whether the run has one turn, or nothing at all. An agent that called no tool gave its answer in
/// its first turn, also where the turns were not recorded.
pub fn has_no_course(run: &AgentRun) -> bool {
    match run.turns() {
        Some(turns) => turns.iter().filter(|turn| turn.role == "assistant").count() < 2,
        None => run.tool_calls.is_empty(),
    }
}

fn tool_usage_stability(tools: usize, calls: usize) -> f64 {
    if calls < 2 {
        return 1.0;
    }
    let fresh = float_len(tools.saturating_sub(1)) / float_len(calls - 1);
    (1.0 - fresh).clamp(0.0, 1.0)
}

/// The characters of each turn of the assistant that has text, where the turns are known.
fn lengths(run: &AgentRun) -> Option<Vec<u64>> {
    let texts = run
        .turns()?
        .iter()
        .filter(|turn| turn.role == "assistant")
        .filter_map(|turn| turn.text.as_deref());
    // Some formats write an empty text into a turn that only calls tools.
    Some(
        texts
            .map(|text| count(text.chars().count()))
            .filter(|length| *length > 0)
            .collect(),
    )
}

fn response_consistency(lengths: &[u64]) -> f64 {
    if lengths.len() < 2 {
        return 1.0;
    }
    let mean_of = |sum: f64| sum / float_len(lengths.len());
    let lengths = || lengths.iter().map(|length| float(*length));
    let mean = mean_of(lengths().sum());
    let deviation = mean_of(lengths().map(|length| (length - mean).powi(2)).sum()).sqrt();
    // No length is zero, so that the mean is not.
    1.0 - ratio(deviation, mean).unwrap_or(0.0).min(1.0)
}

/// The tokens of the run, where they are known.
fn tokens(run: &AgentRun) -> Option<u64> {
    run.conversation.as_ref()?.tokens?.sum()
}
