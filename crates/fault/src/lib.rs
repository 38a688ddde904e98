//! Things that go wrong on purpose: one vocabulary for mocks, proxies, suites and load.
//!
//! A kind of fault is a file in `kind`, and a row in the crate `trace`. A [`FaultSpec`] says which calls it is aimed at;
//! the [`Injector`] decides for each call whether a fault strikes it. Whoever carries calls implements [`FaultedCall`] and
//! lets the fault act on it: each call by itself, so that no fault holds up another call.

mod call;
pub mod file;
mod injector;
mod kind;
mod ordinals;
mod prelude;
mod spec;
mod timed;

#[cfg(test)]
mod tests;

pub use call::{FAILURE_CODE, FaultedCall, HANG_LIMIT, raw_id, status as status_reply};
pub use injector::{CallSite, FaultCount, Injection, Injector, KnownCall, PastCalls};
pub use kind::{kinds, settings_of};
pub use mcprove_trace::FaultKind;
pub use ordinals::Ordinals;
pub use spec::{FaultError, FaultSpec, FaultTarget, make_distinct};
pub use timed::{FaultWindow, TimedFault, TimedInjector};
