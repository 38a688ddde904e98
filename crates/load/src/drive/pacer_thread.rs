//! The thread that keeps the pace of the open model. It sleeps until shortly before each slot and
//! spins for the rest: timers of a busy runtime are late by a millisecond, and that lateness would
//! look like the server's.

use crate::prelude::*;

/// How long before a slot the thread wakes up to spin.
const SPIN: Duration = Duration::from_micros(120);
/// The longest sleep, so that a stop is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// A call that is due.
pub struct Arrival {
    /// The number of the call.
    pub number: u64,
    /// When it is due.
    pub intended: Instant,
    /// Which call of this driver it is, counted from 0.
    pub turn: u64,
    /// Its place among the calls in flight, which are as many as there are of these; dropped when it has ended.
    pub place: Arc<()>,
}

/// Its outcome.
#[stored(Copy, Default)]
pub struct PacerStats {
    /// Slots that were due.
    pub due: u64,
    /// Calls that could not start because too many were in flight.
    pub dropped: u64,
    /// Slots that the pacer itself came too late for.
    pub missed: u64,
}

/// Sends calls when they are due, until the load ends; tells its outcome.
pub fn keep(job: &Job, drivers: &[mpsc::Sender<Arrival>]) -> PacerStats {
    let mut stats = PacerStats::default();
    let load = &job.context.scenario.load;
    let phases = job.schedule.phases().iter();
    let pacer = load.rate.and_then(|rate| {
        Pacer::of(phases.map(|phase| (phase.from, job.schedule.rate_of(phase, rate))))
    });
    let Some(pacer) = pacer else {
        return stats;
    };
    let until = job.began + job.schedule.end();
    let count = drivers.len().max(1) as u64;
    let in_flight = Arc::new(());
    let mut number = 0;
    let is_wanted = || job.phase().is_some() && job.context.stop.is_running();
    while number < load.calls.unwrap_or(u64::MAX) && is_wanted() {
        let now = Instant::now();
        let due = job.began + pacer.due(number);
        if due >= until {
            // The load lasts until its end, also when nothing more is due.
            if now >= until {
                break;
            }
            std::thread::sleep(until.saturating_duration_since(now).min(SLEEP_MAX));
            continue;
        }
        let elapsed = now.saturating_duration_since(job.began);
        match pacer.turn(number, elapsed, load.catch_up) {
            Turn::Wait => {
                wait_until(due, now);
                continue;
            }
            Turn::Missed => stats.missed += 1,
            Turn::Send => {
                let arrival = Arrival {
                    number,
                    intended: due,
                    turn: number / count,
                    place: Arc::clone(&in_flight),
                };
                let driver = usize::try_from(number % count).unwrap_or_default();
                // This one and our own are among them.
                let is_room =
                    Arc::strong_count(&in_flight) <= load.max_in_flight.max(1) as usize + 1;
                let driver = drivers.get(driver).filter(|_| is_room);
                let is_sent = driver.is_some_and(|driver| driver.try_send(arrival).is_ok());
                stats.dropped += u64::from(!is_sent);
            }
        }
        stats.due += 1;
        number += 1;
    }
    stats
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
