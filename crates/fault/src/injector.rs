//! Who is struck: the faults of one mock, proxy or load, and what they have done so far.
//!
//! A choice by chance is a hash of the seed, the fault, the server, the tool, the arguments and how often
//! this very call came before: the same calls meet the same faults, whatever the order in which they
//! arrive. Only `calls` counts arrivals. The fault is its kind, aim and settings, not its name: another
//! fault beside it, which may change how this one is called, does not change whom it strikes.

use std::cell::OnceCell;
use std::hash::Hash;

use mcprove_trace::decision::{decide, share};
use mcprove_trace::{Special, Strike};

use super::kind::effect;
use crate::prelude::*;

/// How many different calls are remembered to tell their repetitions apart; further ones count as
/// new each time.
const DIFFERENT_CALLS_MAX: usize = 1_000_000;

/// How many tools are remembered as hidden: a client may call tools that never were.
const HIDDEN_TOOLS_MAX: usize = 10_000;

/// How many different tools are remembered of the past.
const TOOLS_MAX: usize = 10_000;

/// One call, as far as it matters to faults.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The name of the server.
    pub server: &'a str,
    /// The name of the tool.
    pub tool: &'a str,
    /// The arguments, as JSON; empty for none.
    pub arguments: &'a str,
}

/// A call whose number is found out once, whoever asks, and only if somebody does: the arguments have to be
/// taken apart for it.
pub struct KnownCall<'a> {
    site: CallSite<'a>,
    identity: OnceCell<u64>,
}

impl<'a> KnownCall<'a> {
    pub fn new(site: CallSite<'a>) -> Self {
        Self {
            site,
            identity: OnceCell::new(),
        }
    }

    pub fn site(&self) -> CallSite<'a> {
        self.site
    }

    /// One number for one very call: server, tool and arguments, whatever the order of their keys.
    pub fn identity(&self) -> u64 {
        *self.identity.get_or_init(|| identity(self.site))
    }
}

fn identity(call: CallSite<'_>) -> u64 {
    // Some clients send no arguments as an empty object.
    let given = if call.arguments.is_empty() {
        "{}"
    } else {
        call.arguments
    };
    let canonical = mcprove_trace::canonical::canonical(given);
    let arguments = canonical.as_deref().unwrap_or(given);
    let hash = decide(0, call.server, 0);
    decide(decide(hash, call.tool, 1), arguments, 2)
}

/// The calls that came before, and how often each fault struck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastCalls {
    /// How many calls there were, by server and tool.
    calls: HashMap<(String, String), u64>,
    /// How often each very call came again.
    repetitions: HashMap<u64, u64>,
    /// How often each fault struck, by its name.
    struck: HashMap<String, u64>,
}

impl PastCalls {
    /// A call came.
    pub fn add_call(&mut self, call: CallSite<'_>) {
        let tool = (call.server.to_owned(), call.tool.to_owned());
        repeated(&mut self.calls, tool, TOOLS_MAX, 1);
        repeated(
            &mut self.repetitions,
            identity(call),
            DIFFERENT_CALLS_MAX,
            0,
        );
    }

    /// A fault struck one.
    pub fn add_strike(&mut self, fault: &str) {
        repeated(&mut self.struck, fault.to_owned(), TOOLS_MAX, 1);
    }
}

/// Counts something once more, from `first` on; `None` if there are `max` others already, and it is not remembered.
fn repeated<K: Eq + Hash>(
    counts: &mut HashMap<K, u64>,
    key: K,
    max: usize,
    first: u64,
) -> Option<u64> {
    if let Some(count) = counts.get_mut(&key) {
        *count += 1;
        return Some(*count);
    }
    if counts.len() >= max {
        return None;
    }
    counts.insert(key, first);
    Some(first)
}

/// A fault, ready to strike.
struct Armed {
    spec: FaultSpec,
    /// What takes part in its choices.
    identity: String,
    /// The share of calls that it strikes; all unless given or a setting of its kind.
    rate: Option<f64>,
    effect: Box<dyn Effect>,
}

/// Decides which calls meet which fault.
pub struct Injector {
    faults: Vec<Arc<Armed>>,
    seed: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What each fault has done so far.
    counts: Vec<FaultCount>,
    /// How often each very call came.
    occurrences: HashMap<u64, u64>,
    /// Calls that were not remembered because there are too many different ones.
    calls_forgotten: u64,
    /// Tools that are gone, by fault, server and name.
    hidden: HashSet<(usize, String, String)>,
}

/// A fault that strikes a call.
#[derive(Clone)]
pub struct Injection {
    armed: Arc<Armed>,
    draw: u64,
}

/// How often a fault struck, in all.
#[data(open, Eq)]
#[schemars(rename = "FaultTotal")]
pub struct FaultCount {
    /// The fault.
    pub fault: String,
    /// Its kind.
    pub kind: FaultKind,
    /// Calls that it struck.
    pub struck: u64,
    /// Calls that it was aimed at.
    pub aimed: u64,
}

impl Injector {
    /// An injector of these faults; `seed` decides for those that have none of their own.
    pub fn new(specs: Vec<FaultSpec>, seed: u64) -> Self {
        let mut equals = HashMap::new();
        let faults: Vec<Arc<Armed>> = specs
            .into_iter()
            .filter(|spec| spec.kind.is_fault())
            .filter_map(|spec| {
                let identity = distinct(spec.identity(), &mut equals);
                // The settings were checked when they were set.
                let effect = effect(&spec).ok()?;
                let rate =
                    setting_of(spec.kind, "rate").and_then(|it| it.default_value()?.as_f64());
                Some(Arc::new(Armed {
                    rate: spec.rate.or(rate),
                    spec,
                    identity,
                    effect,
                }))
            })
            .collect();
        let counts = faults.iter().map(|armed| FaultCount {
            fault: armed.spec.name.clone(),
            kind: armed.spec.kind,
            struck: 0,
            aimed: 0,
        });
        let state = State {
            counts: counts.collect(),
            ..State::default()
        };
        Self {
            faults,
            seed,
            state: Mutex::new(state),
        }
    }

    /// Counts from where an earlier injector of the same faults ended, as far as `calls`, limits and
    /// repetitions go.
    pub fn go_on_from(&self, past: &PastCalls) {
        let mut state = lock(&self.state);
        for (armed, counts) in self.faults.iter().zip(&mut state.counts) {
            let target = &armed.spec.target;
            let meant = past
                .calls
                .iter()
                .filter(|((server, tool), _)| target.matches(server, tool));
            counts.aimed += meant.map(|(_, count)| count).sum::<u64>();
            counts.struck += past.struck.get(&armed.spec.name).unwrap_or(&0);
        }
        state.occurrences.extend(&past.repetitions);
    }

    /// Whether there is no fault, so that nobody needs to look at calls.
    pub fn is_idle(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether any fault is aimed at this call. Nothing happens to others, and nothing of them is
    /// remembered.
    pub fn is_aimed_at(&self, call: CallSite<'_>) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|armed| armed.spec.target.matches(call.server, call.tool))
    }

    /// The fault that strikes this call: the first in order that does.
    pub fn strike(&self, call: CallSite<'_>) -> Option<Injection> {
        self.strike_if(call, |_| true)
    }

    /// The same among the faults that are on. To one that is off the call never came: it counts in none
    /// of its `calls`.
    pub fn strike_if(
        &self,
        call: CallSite<'_>,
        is_on: impl Fn(&FaultSpec) -> bool,
    ) -> Option<Injection> {
        self.strike_known(&KnownCall::new(call), is_on)
    }

    /// The same of a call that others look at too.
    pub fn strike_known(
        &self,
        call: &KnownCall<'_>,
        is_on: impl Fn(&FaultSpec) -> bool,
    ) -> Option<Injection> {
        if !self.is_aimed_at(call.site()) {
            return None;
        }
        let identity = call.identity();
        let call = call.site();
        let mut state = lock(&self.state);
        let occurrence = state.occurrence(identity);
        let mut injection = None;
        for (index, armed) in self.faults.iter().enumerate() {
            let spec = &armed.spec;
            if !spec.target.matches(call.server, call.tool) || !is_on(spec) {
                continue;
            }
            let draw = self.draw(armed, identity, occurrence);
            // Counted by every fault that is aimed at the call, whichever strikes it.
            let is_struck = state.counts.get_mut(index).is_some_and(|counts| {
                counts.aimed += 1;
                let is_struck = injection.is_none() && armed.is_due(counts, draw);
                counts.struck += u64::from(is_struck);
                is_struck
            });
            if armed.hides_tool() {
                state.hide((index, call.server, call.tool), is_struck);
            }
            if is_struck {
                let armed = Arc::clone(armed);
                injection = Some(Injection { armed, draw });
            }
        }
        injection
    }

    /// Whether a tool is not to be listed: a fault that makes tools vanish is aimed at it, and struck the
    /// last call of it or strikes every one.
    pub fn hides(&self, server: &str, tool: &str) -> bool {
        self.hides_if(server, tool, |_| true)
    }

    /// The same among the faults that are on.
    pub fn hides_if(&self, server: &str, tool: &str, is_on: impl Fn(&FaultSpec) -> bool) -> bool {
        let hides = |(index, armed): (usize, &Arc<Armed>)| {
            let spec = &armed.spec;
            let is_aimed = spec.target.matches(server, tool) && is_on(spec);
            if !armed.hides_tool() || !is_aimed {
                return false;
            }
            let is_always = spec.calls.is_none() && spec.rate.is_none();
            is_always
                || lock(&self.state)
                    .hidden
                    .contains(&(index, server.to_owned(), tool.to_owned()))
        };
        self.faults.iter().enumerate().any(hides)
    }

    /// Whether lists of tools may lack some.
    pub fn hides_any(&self) -> bool {
        self.faults.iter().any(|armed| armed.hides_tool())
    }

    /// What each fault has done so far, in order.
    pub fn counts(&self) -> Vec<FaultCount> {
        lock(&self.state).counts.clone()
    }

    /// Calls that were too many different ones to be remembered: each counts as new.
    pub fn calls_forgotten(&self) -> u64 {
        lock(&self.state).calls_forgotten
    }

    fn draw(&self, armed: &Armed, call: u64, occurrence: u64) -> u64 {
        let seed = armed.spec.seed.unwrap_or(self.seed);
        decide(seed ^ call, &armed.identity, occurrence)
    }
}

/// The identity of a fault among those that are equal to it: the second and later ones choose apart.
fn distinct(identity: String, equals: &mut HashMap<String, u64>) -> String {
    let count = equals.entry(identity.clone()).or_default();
    *count += 1;
    match *count {
        1 => identity,
        nth => format!("{identity} #{nth}"),
    }
}

impl State {
    /// Notes whether a tool of a server is hidden by this fault.
    fn hide(&mut self, (fault, server, tool): (usize, &str, &str), is_hidden: bool) {
        let tool = (fault, server.to_owned(), tool.to_owned());
        if !is_hidden {
            self.hidden.remove(&tool);
        } else if self.hidden.len() < HIDDEN_TOOLS_MAX {
            self.hidden.insert(tool);
        }
    }

    /// How often this very call came before.
    fn occurrence(&mut self, identity: u64) -> u64 {
        let count = repeated(&mut self.occurrences, identity, DIFFERENT_CALLS_MAX, 0);
        self.calls_forgotten += u64::from(count.is_none());
        count.unwrap_or_default()
    }
}

impl Armed {
    fn hides_tool(&self) -> bool {
        self.spec.kind.special() == Special::HidesTool
    }

    fn is_due(&self, counts: &FaultCount, draw: u64) -> bool {
        let spec = &self.spec;
        spec.calls
            .as_ref()
            .is_none_or(|calls| calls.contains(counts.aimed))
            && self.rate.is_none_or(|rate| share(draw) < rate)
            && self
                .effect
                .strikes_max()
                .is_none_or(|max| counts.struck < max)
    }
}

impl Injection {
    pub fn fault(&self) -> &FaultSpec {
        &self.armed.spec
    }

    /// How late the answer will be, where that is what the fault is about.
    pub fn delay(&self) -> Option<Duration> {
        self.armed.effect.delay(self.draw)
    }

    /// What it can do to the call, to tell it from what the server does.
    pub fn as_strike(&self) -> Strike {
        Strike {
            kind: self.armed.spec.kind,
            held: self.armed.effect.held(self.draw).unwrap_or_default(),
        }
    }

    /// Whether the call goes on though the client cancels it. Known before the fault acts, for a client
    /// may cancel before that.
    pub fn ignores_cancellation(&self) -> bool {
        self.armed.spec.kind.special() == Special::IgnoresCancellation
    }

    /// How many calls the fault strikes before it is over; `None` for no end.
    pub fn strikes_max(&self) -> Option<u64> {
        self.armed.effect.strikes_max()
    }

    /// Does to the call what the fault does.
    pub async fn apply(&self, call: &dyn FaultedCall) {
        let exchange = FaultExchange::new(call, self.fault().kind, self.draw);
        self.armed.effect.apply(&exchange).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_calls_that_no_fault_is_aimed_at_nothing_is_remembered() {
        let aimed = "hang,tool=search,calls=2".parse().unwrap();
        let injector = Injector::new(vec![aimed], 0);
        let site = |tool| CallSite {
            server: "api",
            tool,
            arguments: "{}",
        };
        for tool in ["echo", "search", "echo"] {
            assert!(injector.strike(site(tool)).is_none());
        }
        assert_eq!(lock(&injector.state).occurrences.len(), 1);
        assert!(injector.strike(site("search")).is_some());
        assert_eq!(injector.counts()[0].aimed, 2);
    }

    #[test]
    fn calls_beyond_the_limit_are_counted() {
        let numbers = 0..DIFFERENT_CALLS_MAX as u64;
        let mut state = State {
            occurrences: numbers.map(|identity| (identity, 0)).collect(),
            ..State::default()
        };
        assert_eq!(state.occurrence(3), 1);
        assert_eq!(state.calls_forgotten, 0);
        let unknown = u64::MAX;
        assert_eq!([(); 2].map(|()| state.occurrence(unknown)), [0, 0]);
        assert_eq!(state.calls_forgotten, 2);
    }
}
