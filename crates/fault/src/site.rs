//! One call, as far as it matters to faults, and the number by which it is known again.

use std::cell::OnceCell;

use mcprove_trace::decision::decide;

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

pub fn identity(call: CallSite<'_>) -> u64 {
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
