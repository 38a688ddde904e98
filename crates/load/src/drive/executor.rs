//! Carrying out a load: driver threads, each with a runtime of its own and many workers on its
//! connections, in the closed or in the open model.
//!
//! A scenario hands over a [`LoadPlan`]. The first driver opens the first session and learns what
//! can be called; the others follow; all begin at the same instant. When the schedule ends, calls
//! under way may end too, and one driver makes a few calls alone, for comparison.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcprove_client::session::Session;
use mcprove_settings::setting::in_seconds;
use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::Tool;
use mcprove_trace::stream::Fact;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::context::{PhaseFact, RunContext};
use super::driver::Driver;
use super::job::Job;
use super::mix::Mixes;
use super::pacer::Pacer;
use super::pacer_thread::{self, PacerStats};
use super::schedule::Schedule;
use super::stop::StopLevel;
use crate::run::RunError;

/// The least delay between connecting and the first call, so that all drivers begin together.
const START_DELAY: Duration = Duration::from_millis(5);

/// Makes the mixes that a load's phases use, once a session is open.
pub type MakeMixes = Box<
    dyn for<'a> FnOnce(
            &'a RunContext,
            &'a Session,
            &'a [Tool],
        ) -> BoxFuture<'a, Result<Mixes, RunError>>
        + Send,
>;

/// How a load ended.
#[in_seconds]
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct LoadEndedFact {
    pub in_flight: u64,
    pub at: Duration,
    /// What came of the schedule of an open load.
    #[serde(flatten)]
    pub paced: PacerStats,
    /// Calls that faults with a rate could not tell from earlier ones.
    #[serde(default)]
    pub calls_forgotten: u64,
}

impl Fact for LoadEndedFact {
    const NAME: &'static str = "load_ended";
}

/// A load: its shape over time and what it calls.
pub struct LoadPlan {
    /// Its shape.
    pub schedule: Schedule,
    /// What its phases call.
    pub mixes: MakeMixes,
    /// The most calls per second of a closed load.
    pub rate_limit: Option<u32>,
}

/// Carries out `plan`; events tell what came of it.
pub(crate) async fn execute(context: &RunContext, plan: LoadPlan) -> Result<(), RunError> {
    let load = &context.scenario.load;
    let sessions = load.sessions.max(1);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let drivers = u32::try_from(cores).unwrap_or(1).min(sessions);
    let (start, started) = watch::channel(None::<Arc<Job>>);
    let mut make_mixes = Some(plan.mixes);
    // One channel per driver in the open model, none in the closed one.
    let capacity = load.rate.map(|_| load.max_in_flight.max(1) as usize);
    let (mut arrivals, mut ready, mut finished) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..drivers {
        let (tell_ready, is_ready) = oneshot::channel();
        let (tell_finished, is_finished) = oneshot::channel();
        let channel = capacity.map(mpsc::channel);
        let (sender, receiver) = channel.unzip();
        let driver = Driver {
            context: context.for_thread(),
            index,
            connections: (0..sessions).filter(|it| it % drivers == index).count(),
            drivers,
            make_mixes: make_mixes.take(),
            arrivals: receiver,
        };
        let started = started.clone();
        std::thread::Builder::new()
            .name(format!("mcprove-driver-{index}"))
            .spawn(move || {
                driver.run(tell_ready, started);
                let _ = tell_finished.send(());
            })
            .map_err(RunError::of_thread)?;
        arrivals.extend(sender);
        ready.push(is_ready);
        finished.push(is_finished);
    }
    let mut mixes = None;
    for is_ready in ready {
        let learnt = is_ready.await;
        let ended = |_| RunError::Internal("a driver thread ended early".into());
        mixes = learnt.map_err(ended)??.or(mixes);
    }
    let job = Arc::new(Job {
        limit: plan
            .rate_limit
            .and_then(|limit| Pacer::new(f64::from(limit))),
        changed: Notify::new(),
        schedule: plan.schedule,
        mixes: mixes.ok_or_else(|| RunError::Internal("nothing was made ready to call".into()))?,
        began: Instant::now() + START_DELAY,
        next: AtomicU64::new(0),
        next_uncounted: AtomicU64::new(0),
        paced: AtomicU64::new(0),
        active_drivers: AtomicU32::new(drivers),
        context: context.clone(),
    });
    announce(&job);
    arm_faults(&job);
    let pacer = capacity.map(|_| pacer_thread::start(&job, arrivals));
    let pacer = pacer.transpose().map_err(RunError::of_thread)?;
    let _ = start.send(Some(Arc::clone(&job)));
    keep_time(&job).await;
    let stats = pacer.and_then(|pacer| pacer.join().ok());
    note_end(&job, stats.unwrap_or_default());
    let mut outcome = Ok(());
    for is_finished in finished {
        let panicked = |_| RunError::Internal("a driver thread panicked".into());
        outcome = outcome.and(is_finished.await.map_err(panicked));
    }
    outcome
}

/// Notes the phases, and tells the live view when the load ends.
fn announce(job: &Job) {
    let context = &job.context;
    let began = context.time(job.began);
    let rate = context.scenario.load.rate;
    for phase in job.schedule.phases() {
        context.note_phase(&PhaseFact {
            index: phase.index,
            name: phase.name.clone(),
            concurrent: phase.concurrent,
            rate: rate.map(|rate| job.schedule.rate_of(phase, rate)),
            measured: phase.measured,
            from: began + phase.from,
            until: Some(began + phase.until),
        });
    }
    context.recorder.merge();
    let ends_at = (began + job.schedule.end()).as_millis();
    context.gauges.ends_at_ms.store(
        u64::try_from(ends_at).unwrap_or(u64::MAX),
        Ordering::Relaxed,
    );
}

/// Faults count their time from the start of what is measured.
fn arm_faults(job: &Job) {
    if let Some(faults) = &job.context.faults {
        let mut phases = job.schedule.phases().iter();
        let first = phases.find(|phase| phase.measured);
        faults.begin(job.began + first.map_or(Duration::ZERO, |phase| phase.from));
    }
}

/// Moves from phase to phase until the schedule ends or the run is stopped.
async fn keep_time(job: &Arc<Job>) {
    for (place, phase) in (0..).zip(job.schedule.phases()) {
        job.enter(place);
        let until = job.began + phase.until;
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => {}
            () = job.context.stop.requested(StopLevel::Drain) => break,
            () = job.over() => break,
            // What follows would be measured with less than was asked for.
            _ = job.context.stream.limits().wait() => break,
        }
    }
    job.end();
}

fn note_end(job: &Job, paced: PacerStats) {
    let context = &job.context;
    let faults = context.faults.as_ref();
    let fact = LoadEndedFact {
        in_flight: context.gauges.in_flight(),
        at: context.time(Instant::now()),
        paced,
        calls_forgotten: faults.map_or(0, |faults| faults.calls_forgotten()),
    };
    context.fact("", &fact);
    context.recorder.merge();
}
