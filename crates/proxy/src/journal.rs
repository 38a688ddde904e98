//! What a proxy remembers of the calls that passed, for its summary: bounded, however many there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mcprove_fault::{Injection, KnownCall};
use mcprove_settings::text::shorten;

use super::summary::{SeenCall, SeenCalls, SeenFault};

/// How many calls are remembered one by one; later ones are counted only.
pub const CALLS_MAX: usize = 100_000;
/// How many different names of tools are remembered.
const TOOLS_MAX: usize = 10_000;
/// How many characters of a name are kept.
const NAME_CHARACTERS_MAX: usize = 200;
/// How many different remarks are kept.
const REMARKS_MAX: usize = 50;

/// Remembers calls.
pub(super) struct Journal {
    started: Instant,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    calls: Vec<SeenCall>,
    tools: BTreeMap<Arc<str>, ToolPage>,
    uncounted: u64,
    repeatable: BTreeSet<String>,
    remarks: BTreeMap<String, u64>,
    is_ended_by_fault: bool,
    has_server_died: bool,
}

/// What is remembered of a tool.
#[derive(Default)]
struct ToolPage {
    calls: u64,
    /// Whether a fault has struck it: what comes after is compared with what was struck.
    is_struck: bool,
}

/// A call in the journal, if it has a page of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page(Option<usize>);

impl Journal {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            pages: Mutex::default(),
        }
    }

    /// A call that a client made.
    pub fn call(&self, session: u32, call: &KnownCall<'_>, fault: Option<&Injection>) -> Page {
        let at = self.started.elapsed();
        let name = shorten(call.site().tool, NAME_CHARACTERS_MAX);
        // A call of a tool that is struck only now did not come after what was struck, and is not compared.
        let is_compared = fault.is_some() || self.is_struck(&name);
        let identity = is_compared.then(|| call.identity());
        let mut pages = self.pages();
        let name = pages.count(&name, fault.is_some());
        if pages.calls.len() >= CALLS_MAX {
            drop(pages);
            self.remark("a call was counted only, for too many others were remembered before");
            return Page(None);
        }
        pages.calls.push(SeenCall {
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
        Page(Some(pages.calls.len() - 1))
    }

    /// The client had the last word on a call.
    pub fn ended(&self, page: Page) {
        let now = self.started.elapsed();
        self.change(page, |call| call.ended = call.ended.or(Some(now)));
    }

    /// The client cancelled a call, or left.
    pub fn cancelled(&self, page: Page) {
        let now = self.started.elapsed();
        self.change(page, |call| {
            if call.ended.is_none() {
                call.cancelled = call.cancelled.or(Some(now));
            }
        });
    }

    /// A fault ended it all: what the client does next is not seen any more.
    pub fn ended_by_fault(&self) {
        self.pages().is_ended_by_fault = true;
    }

    /// The server ended by itself while its client was still there: what that does next is not seen.
    pub fn server_died(&self) {
        self.pages().has_server_died = true;
    }

    /// A list of tools says that this one may be called again without harm.
    pub fn repeatable(&self, tool: String) {
        let mut pages = self.pages();
        if pages.repeatable.len() < TOOLS_MAX {
            pages.repeatable.insert(tool);
        }
    }

    /// Something that the summary should say; the same remark is counted.
    pub fn remark(&self, remark: &str) {
        let mut pages = self.pages();
        let has_room = pages.remarks.len() < REMARKS_MAX;
        match pages.remarks.get_mut(remark) {
            Some(count) => *count += 1,
            None if has_room => {
                pages.remarks.insert(remark.to_owned(), 1);
            }
            None => {}
        }
    }

    /// What was remembered.
    pub fn calls(&self) -> SeenCalls {
        let pages = self.pages();
        let names = pages.tools.iter();
        SeenCalls {
            calls: pages.calls.clone(),
            counts: names
                .map(|(name, tool)| (name.to_string(), tool.calls))
                .collect(),
            uncounted: pages.uncounted,
            repeatable: pages.repeatable.clone(),
            remarks: pages.remarks.clone(),
            totals: Vec::new(),
            is_ended_by_fault: pages.is_ended_by_fault,
            has_server_died: pages.has_server_died,
            duration: self.started.elapsed(),
        }
    }

    fn change(&self, page: Page, change: impl FnOnce(&mut SeenCall)) {
        let mut pages = self.pages();
        if let Some(call) = page.0.and_then(|index| pages.calls.get_mut(index)) {
            change(call);
        }
    }

    /// Whether a fault has struck a tool; of one that is not remembered, nobody knows.
    fn is_struck(&self, tool: &str) -> bool {
        let pages = self.pages();
        let page = pages.tools.get(tool);
        page.map_or(pages.tools.len() >= TOOLS_MAX, |page| page.is_struck)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    /// Counts a call of a tool, and gives its name.
    fn count(&mut self, tool: &str, is_struck: bool) -> Arc<str> {
        if let Some((name, _)) = self.tools.get_key_value(tool) {
            let name = Arc::clone(name);
            if let Some(page) = self.tools.get_mut(tool) {
                page.calls += 1;
                page.is_struck |= is_struck;
            }
            return name;
        }
        let name: Arc<str> = tool.into();
        if self.tools.len() < TOOLS_MAX {
            let calls = 1;
            let page = ToolPage { calls, is_struck };
            self.tools.insert(Arc::clone(&name), page);
        } else {
            self.uncounted += 1;
        }
        name
    }
}
