//! Faults under load: what is injected, when, and what must hold around it.

use crate::prelude::*;
use mcprove_fault::file::same_name;
use mcprove_trace::Special;

/// A fault of a load.
///
/// ```
/// use std::time::Duration;
/// use mcprove_load::run::LoadFault;
///
/// let fault = LoadFault::new("slow:500,tool=search".parse().unwrap())
///     .window(Duration::from_secs(10), Duration::from_secs(5))
///     .max_recovery(Duration::from_secs(2));
/// assert_eq!(fault.window.end(), Some(Duration::from_secs(15)));
/// ```
#[sparse]
#[stored(Settings)]
#[must_use]
pub struct LoadFault {
    /// What it is and which calls it strikes.
    pub spec: FaultSpec,
    /// When it is on, since the start of what is measured.
    #[serde(default)]
    #[setting(flatten)]
    pub window: FaultWindow,
    /// Fail when p99 and errors of other calls are not back this soon after it.
    #[setting]
    #[serde(default, rename = "max_recovery_secs", with = "optional_seconds")]
    pub max_recovery: Option<Duration>,
    /// false fails the run when a tool that it is not aimed at suffers; without it that is a warning.
    #[setting]
    pub others_may_suffer: Option<bool>,
}

impl LoadFault {
    /// A fault that is on all the time, with nothing to hold around it.
    pub fn new(spec: FaultSpec) -> Self {
        Self {
            spec,
            ..Self::initial()
        }
    }

    /// Sets when it begins and how long it lasts.
    pub fn window(mut self, start: Duration, duration: Duration) -> Self {
        self.window = FaultWindow {
            start: Some(start),
            duration: Some(duration),
        };
        self
    }

    /// Sets how soon after it p99 and errors must be back.
    pub fn max_recovery(mut self, limit: Duration) -> Self {
        self.max_recovery = Some(limit);
        self
    }

    /// Whether its first and its last strike say when it was on: it strikes certain calls, or a number
    /// of them.
    pub fn ends_by_itself(&self) -> bool {
        let has_last = |calls: &mcprove_fault::Ordinals| calls.last().is_some();
        self.spec.calls.as_ref().is_some_and(has_last)
            || self.spec.kind.special() == Special::Recovers
    }

    /// The fault and when it is on.
    pub fn timed(&self) -> TimedFault {
        TimedFault {
            spec: self.spec.clone(),
            window: self.window,
        }
    }
}

/// What is wrong with the faults of a run of this kind, if anything is.
pub fn check(faults: &[LoadFault], kind: &ScenarioKind, transport: &Transport) -> RunResult {
    if faults.is_empty() {
        return Ok(());
    }
    if !takes_faults(kind) {
        return Err(RunError::Config(Diagnostic::new(
            format!("the scenario {} takes no faults", kind.name()),
            format!("use {WITH_FAULTS}"),
        )));
    }
    let is_crash = |fault: &&LoadFault| fault.spec.kind.special() == Special::EndsProcess;
    if let Some(crash) = faults.iter().find(is_crash)
        && *transport != Transport::Stdio
    {
        let name = &crash.spec.name;
        return Err(RunError::Config(Diagnostic::new(
            format!(
                "the fault {name:?} ends the process of the server, and a server at a URL is not ours to end"
            ),
            "use disconnect, or start the server with a command",
        )));
    }
    let specs: Vec<FaultSpec> = faults.iter().map(|fault| fault.spec.clone()).collect();
    match same_name(&specs) {
        Some(name) => Err(RunError::Config(Diagnostic::new(
            format!("two faults are called {name:?}"),
            "give one of them another name",
        ))),
        None => Ok(()),
    }
}

/// The scenarios that take faults.
pub const WITH_FAULTS: &str = "sustained, spike, ramp, soak, pattern or slow_mix";

/// Whether a scenario is a load in time, into which a fault can fall.
pub fn takes_faults(kind: &ScenarioKind) -> bool {
    kind.duration().is_some()
}

#[cfg(test)]
mod tests;
