//! The thread that keeps the pace of the open model. It sleeps until shortly before each slot and
//! spins for the rest: timers of a busy runtime are late by a millisecond, and that lateness would
//! look like the server's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::context::RunContext;
use super::pacer::{Pacer, Turn};

/// How long before a slot the thread wakes up to spin.
const SPIN: Duration = Duration::from_micros(120);
/// The longest sleep, so that a stop is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// A call that is due.
pub(crate) struct Arrival {
    /// The number of the call.
    pub number: u64,
    /// When it is due.
    pub intended: Instant,
    /// Which call of this driver it is, counted from 0.
    pub turn: u64,
    /// Its place among the calls in flight; dropped when it has ended.
    pub place: Place,
}

/// A place among the calls in flight.
pub(crate) struct Place(Arc<AtomicU64>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What the pacer keeps to.
pub(crate) struct PacerConfig {
    /// When the load begins.
    pub began: Instant,
    /// When it ends.
    pub until: Instant,
    /// When each call is due; none if there are none to make.
    pub pacer: Option<Pacer>,
    /// The most calls.
    pub calls: u64,
    /// Whether missed slots are made up for.
    pub catch_up: bool,
    /// The most calls in flight.
    pub max_in_flight: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct PacerStats {
    /// Slots that were due.
    pub due: u64,
    /// Calls that could not start because too many were in flight.
    pub dropped: u64,
    /// Slots that the pacer itself came too late for.
    pub missed: u64,
}

/// A pacer at work.
pub(crate) struct PacerHandle {
    thread: JoinHandle<PacerStats>,
    is_over: Arc<AtomicBool>,
}

impl PacerHandle {
    /// Ends the pacing, and tells what came of it.
    pub fn finish(self) -> PacerStats {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Starts the thread; it ends by itself when the load does.
pub(crate) fn start(
    context: &RunContext,
    config: PacerConfig,
    drivers: Vec<mpsc::Sender<Arrival>>,
) -> io::Result<PacerHandle> {
    let is_over = Arc::new(AtomicBool::new(false));
    let pacer = PacerThread {
        config,
        in_flight: Arc::default(),
        is_over: Arc::clone(&is_over),
        context: context.clone(),
    };
    let thread = std::thread::Builder::new()
        .name("mcprove-pacer".to_owned())
        .spawn(move || pacer.keep(&drivers))?;
    Ok(PacerHandle { thread, is_over })
}

struct PacerThread {
    config: PacerConfig,
    in_flight: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    context: RunContext,
}

impl PacerThread {
    fn keep(&self, drivers: &[mpsc::Sender<Arrival>]) -> PacerStats {
        let mut outcome = PacerStats::default();
        let (Some(pacer), false) = (&self.config.pacer, drivers.is_empty()) else {
            return outcome;
        };
        let mut number = 0;
        while number < self.config.calls && self.is_wanted() {
            let now = Instant::now();
            let elapsed = now.saturating_duration_since(self.config.began);
            let due = self.config.began + pacer.due(number);
            if due >= self.config.until {
                // The load lasts until its end, also when nothing more is due.
                self.rest(now);
                break;
            }
            match pacer.turn(number, elapsed, self.config.catch_up) {
                Turn::Wait(_) => {
                    wait_until(due, now);
                    continue;
                }
                Turn::Missed => outcome.missed += 1,
                Turn::Send(_) => {
                    if !self.send(drivers, number, due) {
                        outcome.dropped += 1;
                    }
                }
            }
            outcome.due += 1;
            number += 1;
        }
        outcome
    }

    /// Sleeps until the load ends.
    fn rest(&self, mut now: Instant) {
        while now < self.config.until && self.is_wanted() {
            std::thread::sleep(
                self.config
                    .until
                    .saturating_duration_since(now)
                    .min(SLEEP_MAX),
            );
            now = Instant::now();
        }
    }

    fn is_wanted(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed) && self.context.stop.is_running()
    }

    /// Hands the call to a driver, unless too many are in flight.
    fn send(&self, drivers: &[mpsc::Sender<Arrival>], number: u64, intended: Instant) -> bool {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) >= self.config.max_in_flight {
            self.in_flight.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        let count = drivers.len() as u64;
        let arrival = Arrival {
            number,
            intended,
            turn: number / count,
            place: Place(Arc::clone(&self.in_flight)),
        };
        let driver = usize::try_from(number % count).unwrap_or_default();
        drivers
            .get(driver)
            .is_some_and(|driver| driver.try_send(arrival).is_ok())
    }
}

/// Sleeps until shortly before `due`, and spins when it is near.
fn wait_until(due: Instant, now: Instant) {
    let left = due.saturating_duration_since(now);
    if left > SPIN {
        std::thread::sleep(left.saturating_sub(SPIN).min(SLEEP_MAX));
    } else {
        std::hint::spin_loop();
    }
}
