//! Things that go wrong on purpose: one vocabulary for mocks, proxies, suites and load.
//!
//! A kind of fault is one short file under `kind/` with an [`Effect`], and one line in [`ENTRIES`]. A
//! [`FaultSpec`] says which calls it is aimed at; the [`Injector`] decides for each call whether a
//! fault strikes it. Whoever carries calls implements [`FaultedCall`] and lets the fault act on it:
//! each call by itself, so that no fault holds up another call.

mod call;
mod effect;
mod error;
pub mod file;
mod injector;
mod kind;
mod ordinals;
mod past;
mod reply;
mod site;
mod spec;
mod text;
mod timed;
mod written;

#[cfg(test)]
mod tests;

pub use call::FaultedCall;
pub use effect::Effect;
pub use error::FaultError;
pub use injector::{FaultCount, Injection, Injector};
pub use kind::{ENTRIES, Entry};
pub use mcprove_trace::FaultKind;
pub use ordinals::{Ordinals, OrdinalsError};
pub use past::PastCalls;
pub use reply::{
    FAILURE_CODE, HANG_CODE, HANG_LIMIT, HANG_MESSAGE, error as error_reply, raw_id,
    status as status_reply,
};
pub use site::{CallSite, KnownCall};
pub use spec::{FaultSpec, Target, tell_apart};
pub use timed::{FaultWindow, TimedFault, TimedInjector};
