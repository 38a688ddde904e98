//! Faults that are on for a while only: those of a load, which begin and end with it or within it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::injector::{CallSite, FaultCount, Injection, Injector};
use crate::prelude::*;

/// When a fault is on, since the start of what is measured.
#[in_seconds]
#[sparse]
#[stored(Copy, Default, Eq, Settings)]
#[serde(default)]
pub struct FaultWindow {
    /// When it begins, since the start of what is measured.
    #[setting(kind = TIME_OR_ZERO, otherwise = "at once")]
    pub start: Option<Duration>,
    /// How long it lasts.
    #[setting(otherwise = "to the end")]
    pub duration: Option<Duration>,
}

impl FaultWindow {
    /// Whether a time is in it.
    pub fn contains(&self, time: Duration) -> bool {
        let start = self.start.unwrap_or_default();
        time >= start && self.end().is_none_or(|end| time < end)
    }

    /// When it is over; `None` for no end of its own.
    pub fn end(&self) -> Option<Duration> {
        let duration = self.duration?;
        Some(self.start.unwrap_or_default().saturating_add(duration))
    }

    /// Whether it was given at all.
    pub fn is_given(&self) -> bool {
        self.start.is_some() || self.duration.is_some()
    }
}

/// A fault and when it is on.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedFault {
    /// The fault.
    pub spec: FaultSpec,
    /// When.
    pub window: FaultWindow,
}

/// Decides which calls of a load meet which fault: only while it lasts, and only in the window of the
/// fault. All sessions and threads of a load share one.
pub struct TimedInjector {
    injector: Injector,
    faults: Vec<TimedFault>,
    began: OnceLock<Instant>,
    is_over: AtomicBool,
    server: OnceLock<String>,
}

impl TimedInjector {
    /// Of these faults; `seed` decides for those that have none of their own.
    pub fn new(faults: &[TimedFault], seed: u64) -> Self {
        let specs = faults.iter().map(|fault| fault.spec.clone()).collect();
        Self {
            injector: Injector::new(specs, seed),
            faults: faults.to_vec(),
            began: OnceLock::new(),
            is_over: AtomicBool::new(false),
            server: OnceLock::new(),
        }
    }

    /// What faults are aimed at by name.
    pub fn targets(&self) -> impl Iterator<Item = &FaultTarget> {
        self.faults.iter().map(|fault| &fault.spec.target)
    }

    /// What is measured begins at this instant; no call is struck before.
    pub fn begin(&self, at: Instant) {
        let _ = self.began.set(at);
    }

    /// It is over; no call is struck from now on.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// The name of the server; the first that is told counts.
    pub fn name_server(&self, name: &str) {
        let _ = self.server.set(name.to_owned());
    }

    /// The name of the server, as far as it is known.
    pub fn server(&self) -> &str {
        self.server.get().map_or("", String::as_str)
    }

    /// Whether a call of this tool could be struck now, so that its arguments are worth a look.
    pub fn is_on(&self, now: Instant) -> bool {
        let time = self.time(now);
        time.is_some_and(|time| self.faults.iter().any(|fault| fault.window.contains(time)))
    }

    /// The fault that strikes this call now.
    pub fn strike(&self, tool: &str, arguments: &str, now: Instant) -> Option<Injection> {
        let time = self.time(now)?;
        let call = CallSite {
            server: self.server(),
            tool,
            arguments,
        };
        self.injector
            .strike_if(call, |spec| self.is_on_at(spec, time))
    }

    /// Whether lists of tools may lack some now.
    pub fn hides_any(&self, now: Instant) -> bool {
        self.injector.hides_any() && self.is_on(now)
    }

    /// Whether a tool is not to be listed now.
    pub fn hides(&self, tool: &str, now: Instant) -> bool {
        let Some(time) = self.time(now) else {
            return false;
        };
        self.injector
            .hides_if(self.server(), tool, |spec| self.is_on_at(spec, time))
    }

    /// What each fault has done so far.
    pub fn counts(&self) -> Vec<FaultCount> {
        self.injector.counts()
    }

    /// Calls that were too many different ones to be remembered.
    pub fn calls_forgotten(&self) -> u64 {
        self.injector.calls_forgotten()
    }

    fn time(&self, now: Instant) -> Option<Duration> {
        let began = *self.began.get()?;
        let is_on = now >= began && !self.is_over.load(Ordering::Acquire);
        is_on.then(|| now.saturating_duration_since(began))
    }

    fn is_on_at(&self, spec: &FaultSpec, time: Duration) -> bool {
        let fault = self
            .faults
            .iter()
            .find(|fault| fault.spec.name == spec.name);
        fault.is_none_or(|fault| fault.window.contains(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: u64, duration: Option<u64>) -> FaultWindow {
        FaultWindow {
            start: Some(Duration::from_secs(start)),
            duration: duration.map(Duration::from_secs),
        }
    }

    #[test]
    fn calls_are_struck_in_the_window_alone_and_count_from_there() {
        let fault = TimedFault {
            spec: "error,tool=search,calls=2-".parse().unwrap(),
            window: window(2, Some(3)),
        };
        let injector = TimedInjector::new(&[fault], 1);
        let began = Instant::now();
        let strikes = |second: u64| {
            let now = began + Duration::from_secs(second);
            let is_struck = injector.strike("search", "{}", now).is_some();
            assert!(injector.strike("add", "{}", now).is_none());
            is_struck
        };
        assert!(!strikes(3), "not begun");
        injector.begin(began);
        let struck: Vec<bool> = (0..7).map(strikes).collect();
        assert_eq!(struck, [false, false, false, true, true, false, false]);
        assert!(injector.is_on(began + Duration::from_secs(2)));
        assert!(!injector.is_on(began + Duration::from_secs(5)));
        injector.end();
        assert!(!strikes(3), "over");
    }

    #[test]
    fn a_window_without_an_end_goes_on() {
        assert!(FaultWindow::default().contains(Duration::ZERO));
        assert!(window(5, None).contains(Duration::from_secs(5_000)));
        assert!(!window(5, None).contains(Duration::from_secs(4)));
        assert_eq!(window(5, Some(2)).end(), Some(Duration::from_secs(7)));
    }
}
