//! What faults have done before, in an earlier process: a client that starts its server anew goes on with the
//! same faults.

use std::collections::HashMap;
use std::hash::Hash;

use super::injector::DIFFERENT_CALLS_MAX;
use super::site::{CallSite, identity};

/// How many different tools are remembered.
const TOOLS_MAX: usize = 10_000;

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

    /// How many calls there were of the tools that are meant.
    pub fn aimed(&self, is_meant: impl Fn(&str, &str) -> bool) -> u64 {
        let calls = self.calls.iter();
        let meant = calls.filter(|((server, tool), _)| is_meant(server, tool));
        meant.map(|(_, count)| count).sum()
    }

    pub fn struck(&self, fault: &str) -> u64 {
        self.struck.get(fault).copied().unwrap_or_default()
    }

    pub fn repetitions(&self) -> &HashMap<u64, u64> {
        &self.repetitions
    }
}

/// Counts something once more, from `first` on; `None` if there are `max` others already, and it is not remembered.
pub fn repeated<K: Eq + Hash>(
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
