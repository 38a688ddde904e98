//! Carrying out a load: driver threads, each with a runtime of its own and many workers on its
//! connections, in the closed or in the open model.
//!
//! A scenario hands over a [`LoadPlan`]. The first driver opens the first session and learns what
//! can be called; the others follow; all begin at the same instant. When the schedule ends, calls
//! under way may end too, and one driver makes a few calls alone, for comparison.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcprove_client::session::Session;
use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::Tool;
use serde_json::json;
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::driver::Driver;
use super::error::StageError;
use super::job::{Clock, Job};
use super::mix::Mixes;
use super::pacer::Pacer;
use super::pacer_thread::{self, Arrival};
use super::schedule::Schedule;
use super::stage::{PhaseNote, Stage, since_start};
use super::stop::StopLevel;

/// The least delay between connecting and the first call, so that all drivers begin together.
const START_DELAY: Duration = Duration::from_millis(5);

/// Makes the mixes that a load's phases use, once a session is open.
pub(crate) type MakeMixes = Box<
    dyn for<'a> FnOnce(
            &'a Stage,
            &'a Session,
            &'a [Tool],
        ) -> BoxFuture<'a, Result<Mixes, StageError>>
        + Send,
>;

/// A load: its shape over time and what it calls.
pub(crate) struct LoadPlan {
    /// Its shape.
    pub schedule: Schedule,
    /// What its phases call.
    pub mixes: MakeMixes,
    /// The most calls per second of a closed load.
    pub rate_limit: Option<u32>,
}

/// Carries out `plan`; events tell what came of it.
pub(crate) async fn execute(stage: Arc<Stage>, plan: LoadPlan) -> Result<(), StageError> {
    let sessions = stage.scenario.load.sessions.max(1);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let drivers = u32::try_from(cores).unwrap_or(1).min(sessions);
    let (start, started) = watch::channel(None::<Arc<Job>>);
    let LoadPlan {
        schedule,
        mixes,
        rate_limit,
    } = plan;
    let mut mixes = Some(mixes);
    let mut ready = Vec::new();
    let mut finished = Vec::new();
    let (arrivals, mut inboxes) = arrival_channels(&stage, drivers);
    let first_mixes = Arc::new(Mutex::new(None));
    for index in 0..drivers {
        let (tell_ready, is_ready) = oneshot::channel();
        let (tell_finished, is_finished) = oneshot::channel();
        let driver = Driver {
            stage: Arc::clone(&stage),
            index,
            seats: (0..sessions).filter(|seat| seat % drivers == index).count(),
            drivers,
            make_mixes: mixes.take(),
            mixes: Arc::clone(&first_mixes),
            arrivals: inboxes.pop(),
        };
        let started = started.clone();
        std::thread::Builder::new()
            .name(format!("mcprove-driver-{index}"))
            .spawn(move || {
                let outcome = driver.run(tell_ready, started);
                let _ = tell_finished.send(outcome);
            })
            .map_err(StageError::Thread)?;
        ready.push(is_ready);
        finished.push(is_finished);
    }
    for is_ready in ready {
        match is_ready.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(StageError::Internal("a driver thread ended early".into())),
        }
    }
    let mixes = first_mixes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
        .ok_or_else(|| StageError::Internal("nothing was made ready to call".into()))?;
    let job = Arc::new(Job {
        limit: rate_limit.and_then(|limit| Pacer::new(f64::from(limit))),
        clock: Clock {
            place: AtomicU32::new(0),
            concurrent: AtomicU32::new(
                schedule
                    .phases()
                    .first()
                    .map_or(0, |first| first.concurrent),
            ),
            changed: Notify::new(),
        },
        schedule,
        mixes,
        began: Instant::now() + START_DELAY,
        next: AtomicU64::new(0),
        next_uncounted: AtomicU64::new(0),
        paced: AtomicU64::new(0),
        active_drivers: AtomicU32::new(drivers),
        stage: Arc::clone(&stage),
    });
    announce(&job);
    arm_faults(&job);
    let pacing = arrivals.map(|arrivals| pacer_thread::start(&stage, job.pace(), arrivals));
    let pacing = pacing.transpose().map_err(StageError::Thread)?;
    let _ = start.send(Some(Arc::clone(&job)));
    keep_time(&job).await;
    let paced = pacing.map(pacer_thread::Pacing::finish);
    note_end(&job, paced.as_ref());
    let mut outcome = Ok(());
    for is_finished in finished {
        let result = is_finished
            .await
            .unwrap_or_else(|_| Err(StageError::Internal("a driver thread panicked".into())));
        outcome = outcome.and(result);
    }
    outcome
}

type ArrivalSenders = Vec<mpsc::Sender<Arrival>>;

/// One channel per driver in the open model, none in the closed one.
fn arrival_channels(
    stage: &Stage,
    drivers: u32,
) -> (Option<ArrivalSenders>, Vec<mpsc::Receiver<Arrival>>) {
    if stage.scenario.load.rate.is_none() {
        return (None, Vec::new());
    }
    let capacity = stage.scenario.load.max_in_flight.max(1) as usize;
    let (senders, receivers) = (0..drivers).map(|_| mpsc::channel(capacity)).unzip();
    (Some(senders), receivers)
}

/// Notes the phases, and tells the live view when the load ends.
fn announce(job: &Job) {
    let recorder = job.stage.stream.recorder();
    let began = since_start(&job.stage.stream, job.began);
    let rate = job.stage.scenario.load.rate;
    for phase in job.schedule.phases() {
        PhaseNote {
            index: phase.index,
            name: &phase.name,
            concurrent: phase.concurrent,
            rate: rate.map(|rate| job.schedule.rate_of(phase, rate)),
            measured: phase.measured,
            from: began + phase.from,
            until: Some(began + phase.until),
        }
        .note(&recorder);
    }
    let ends_at = (began + job.schedule.end()).as_millis();
    job.stage.gauges.ends_at_ms.store(
        u64::try_from(ends_at).unwrap_or(u64::MAX),
        Ordering::Relaxed,
    );
}

/// Faults count their time from the start of what is measured.
fn arm_faults(job: &Job) {
    if let Some(faults) = &job.stage.faults {
        let mut phases = job.schedule.phases().iter();
        let first = phases.find(|phase| phase.measured);
        faults.begin(job.began + first.map_or(Duration::ZERO, |phase| phase.from));
    }
}

/// Moves from phase to phase until the schedule ends or the run is stopped.
async fn keep_time(job: &Arc<Job>) {
    for (place, phase) in job.schedule.phases().iter().enumerate() {
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        job.clock.place.store(place, Ordering::Release);
        job.stage.gauges.place.store(place, Ordering::Release);
        job.clock
            .concurrent
            .store(phase.concurrent, Ordering::Release);
        job.clock.changed.notify_waiters();
        let until = job.began + phase.until;
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => {}
            () = job.stage.stop.requested(StopLevel::Drain) => break,
            () = job.over() => break,
            // What follows would be measured with less than was asked for.
            _ = job.stage.stream.limits().wait() => break,
        }
    }
    job.end();
}

fn note_end(job: &Job, paced: Option<&pacer_thread::Paced>) {
    let recorder = job.stage.stream.recorder();
    let in_flight = job.stage.gauges.in_flight();
    let ended = since_start(&job.stage.stream, Instant::now());
    let faults = job.stage.faults.as_ref();
    recorder.note(
        "load_ended",
        "",
        &json!({
            "in_flight": in_flight,
            "at_secs": ended.as_secs_f64(),
            "dropped": paced.map_or(0, |paced| paced.dropped),
            "missed": paced.map_or(0, |paced| paced.missed),
            "due": paced.map_or(0, |paced| paced.due),
            "calls_forgotten": faults.map_or(0, |faults| faults.calls_forgotten()),
        }),
    );
}
