//! What both kinds of proxies share: the faults, the recording, and what is remembered of calls.

use std::sync::Arc;

use super::journal::{Journal, Page};
use super::listing::{self, Listed};
use super::message::ToolCall;
use super::summary::{FaultTotal, SeenCalls};
use crate::fault::{CallSite, FaultSpec, Injection, Injector};
use crate::recording::Recording;

/// What a proxy does besides passing things on.
#[derive(Clone, Default)]
pub struct Settings {
    /// The name under which faults are aimed at the server.
    pub server_name: String,
    /// The faults.
    pub faults: Vec<FaultSpec>,
    /// What decides for faults that have no seed of their own.
    pub seed: u64,
    /// Where traffic is written down.
    pub recording: Option<Recording>,
    /// Whether calls are counted even where there are no faults and no recording.
    pub counts_calls: bool,
}

/// The faults, the recording and the memory of one proxy.
pub(super) struct Watch {
    pub server_name: String,
    pub injector: Injector,
    pub recording: Option<Recording>,
    pub journal: Journal,
    pub seed: u64,
    /// The faults, as they are written.
    pub faults: Vec<String>,
    is_idle: bool,
}

impl Watch {
    pub fn new(settings: Settings) -> Arc<Self> {
        let faults = settings.faults.iter().map(ToString::to_string).collect();
        let injector = Injector::new(settings.faults, settings.seed);
        if let Some(recording) = &settings.recording {
            injector.go_on_from(recording.past());
        }
        Arc::new(Self {
            is_idle: injector.is_idle() && settings.recording.is_none() && !settings.counts_calls,
            server_name: settings.server_name,
            injector,
            recording: settings.recording,
            journal: Journal::new(),
            seed: settings.seed,
            faults,
        })
    }

    /// Whether nobody needs to look at what passes.
    pub fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// A client calls a tool: the fault that strikes it, and its page in the journal.
    pub fn call(&self, session: u32, call: &ToolCall, has_room: bool) -> (Option<Injection>, Page) {
        let site = CallSite {
            server: &self.server_name,
            tool: &call.tool,
            arguments: &call.arguments,
        };
        let injection = if has_room {
            self.injector.strike(site)
        } else {
            self.journal
                .remark("a call passed untouched, for too many others were held");
            None
        };
        let page = self
            .journal
            .call(session, &call.tool, &call.arguments, injection.as_ref());
        (injection, page)
    }

    /// A list of tools passes: what it says is remembered, and what it is to say instead is returned.
    pub fn listing(&self, answer: &[u8]) -> Option<Vec<u8>> {
        for Listed { tool, is_read_only } in listing::listed(answer) {
            if is_read_only {
                self.journal.read_only(tool);
            }
        }
        if !self.injector.hides_any() {
            return None;
        }
        listing::without(answer, |tool| self.injector.hides(&self.server_name, tool))
    }

    /// What was seen so far.
    pub fn seen(&self) -> SeenCalls {
        let counts = self.injector.counts().into_iter();
        SeenCalls {
            totals: counts.map(FaultTotal::from).collect(),
            ..self.journal.calls()
        }
    }
}
