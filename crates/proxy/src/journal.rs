//! What a proxy remembers of the calls that passed, for its summary: bounded, however many there are.

use super::summary::{SeenCall, SeenFault};
use crate::prelude::*;

/// How many calls are remembered one by one; later ones are counted only.
pub const CALLS_MAX: usize = 100_000;
/// How many different names of tools are remembered.
const TOOLS_MAX: usize = 10_000;
/// How many characters of a name are kept.
const NAME_CHARACTERS_MAX: usize = 200;
/// How many different remarks are kept.
const REMARKS_MAX: usize = 50;

/// Remembers calls.
pub struct Journal {
    started: Instant,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    seen: SeenCalls,
    /// The tools that a fault has struck: what comes after is compared with what was struck.
    struck: BTreeSet<Arc<str>>,
}

/// The place of a call in the journal, if it has one of its own.
#[derive(Debug, Clone, Copy)]
pub struct CallLogId(Option<usize>);

impl Journal {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            pages: Mutex::default(),
        }
    }

    /// A call that a client made.
    pub fn call(&self, session: u32, call: &KnownCall<'_>, fault: Option<&Injection>) -> CallLogId {
        let at = self.started.elapsed();
        let name = shorten(call.site().tool, NAME_CHARACTERS_MAX);
        // A call of a tool that is struck only now did not come after what was struck, and is not compared.
        let is_compared = fault.is_some() || self.is_struck(&name);
        let identity = is_compared.then(|| call.identity());
        let mut pages = lock(&self.pages);
        let name = pages.count(&name, fault.is_some());
        if pages.seen.calls.len() >= CALLS_MAX {
            drop(pages);
            self.remark("a call was only counted, because too many others were remembered before");
            return CallLogId(None);
        }
        pages.seen.calls.push(SeenCall {
            at,
            session,
            tool: name,
            identity,
            fault: fault.map(|injection| SeenFault {
                name: injection.fault().name.clone(),
                kind: injection.fault().kind,
            }),
            ended: None,
            cancelled: None,
        });
        CallLogId(Some(pages.seen.calls.len() - 1))
    }

    /// The client had the last word on a call.
    pub fn ended(&self, id: CallLogId) {
        let now = self.started.elapsed();
        self.change(id, |call| call.ended = call.ended.or(Some(now)));
    }

    /// The client cancelled a call, or left.
    pub fn cancelled(&self, id: CallLogId) {
        let now = self.started.elapsed();
        self.change(id, |call| {
            if call.ended.is_none() {
                call.cancelled = call.cancelled.or(Some(now));
            }
        });
    }

    /// A fault ended it all: what the client does next is not seen any more.
    pub fn ended_by_fault(&self) {
        lock(&self.pages).seen.is_ended_by_fault = true;
    }

    /// The server ended by itself while its client was still there: what that does next is not seen.
    pub fn server_died(&self) {
        lock(&self.pages).seen.has_server_died = true;
    }

    /// A list of tools says that this one may be called again without harm.
    pub fn repeatable(&self, tool: String) {
        let repeatable = &mut lock(&self.pages).seen.repeatable;
        if repeatable.len() < TOOLS_MAX {
            repeatable.insert(tool);
        }
    }

    /// Something that the summary should say; the same remark is counted.
    pub fn remark(&self, remark: &str) {
        let remarks = &mut lock(&self.pages).seen.remarks;
        if remarks.len() < REMARKS_MAX || remarks.contains_key(remark) {
            *remarks.entry(remark.to_owned()).or_default() += 1;
        }
    }

    /// What was remembered.
    pub fn calls(&self) -> SeenCalls {
        SeenCalls {
            duration: self.started.elapsed(),
            ..lock(&self.pages).seen.clone()
        }
    }

    fn change(&self, id: CallLogId, change: impl FnOnce(&mut SeenCall)) {
        let mut pages = lock(&self.pages);
        if let Some(call) = id.0.and_then(|index| pages.seen.calls.get_mut(index)) {
            change(call);
        }
    }

    /// Whether a fault has struck a tool; of one that is not remembered, nobody knows.
    fn is_struck(&self, tool: &str) -> bool {
        let pages = lock(&self.pages);
        let counts = &pages.seen.counts;
        pages.struck.contains(tool) || counts.len() >= TOOLS_MAX && !counts.contains_key(tool)
    }
}

impl Pages {
    /// Counts a call of a tool, and gives its name.
    fn count(&mut self, tool: &str, is_struck: bool) -> Arc<str> {
        let counts = &mut self.seen.counts;
        let known = counts.get_key_value(tool);
        let name = known.map_or_else(|| tool.into(), |(name, _)| Arc::clone(name));
        if known.is_none() && counts.len() >= TOOLS_MAX {
            self.seen.uncounted += 1;
            return name;
        }
        *counts.entry(Arc::clone(&name)).or_default() += 1;
        if is_struck {
            self.struck.insert(Arc::clone(&name));
        }
        name
    }
}
