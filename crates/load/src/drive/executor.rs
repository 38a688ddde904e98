//! Carrying out a load: driver threads, each with a runtime of its own and many workers on its
//! connections, in the closed or in the open model.
//!
//! A scenario hands over a [`LoadPlan`]. The first driver opens the first session and learns what
//! can be called; the others follow; all begin at the same instant. When the schedule ends, calls
//! under way may end too, and one driver makes a few calls alone, for comparison.

use tokio::sync::Notify;

use super::pacer_thread;
use crate::prelude::*;

/// The least delay between connecting and the first call, so that all drivers begin together.
const START_DELAY: Duration = Duration::from_millis(5);

/// Where the numbers of calls that do not count begin.
pub const UNCOUNTED_FROM: u64 = 1 << 38;

/// Makes the mixes that a load's phases use, once a session is open.
pub type MakeMixes = Box<
    dyn for<'a> FnOnce(&'a RunContext, &'a Session, &'a [Tool]) -> BoxFuture<'a, RunResult<Mixes>>
        + Send,
>;

/// The most phases that repeat earlier ones.
const REPETITIONS_MAX: usize = 2;

/// The schedule with phases at its end that repeat some, by how many calls ended in each.
pub type Repeat = fn(&Schedule, &[u64]) -> Schedule;

/// How a load ended.
#[in_seconds]
#[stored(Copy, Default)]
pub struct LoadEndedFact {
    pub in_flight: u64,
    pub at: Duration,
    /// The outcome of the schedule of an open load.
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
#[derive(Opaque)]
pub struct LoadPlan {
    /// Its shape.
    pub schedule: Schedule,
    /// What its phases call.
    pub(crate) mixes: MakeMixes,
    /// The most calls per second of a closed load.
    pub rate_limit: Option<u32>,
    /// What is repeated at the end of a closed load, because it may have been an accident.
    pub(crate) repeat: Option<Repeat>,
}

/// Carries out `plan`; events tell its outcome.
pub async fn execute_plan(context: &RunContext, plan: LoadPlan) -> RunResult {
    let load = &context.scenario.load;
    let sessions = load.sessions.max(1);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let drivers = u32::try_from(cores).unwrap_or(1).min(sessions);
    context.plan_starts(StartUnit::Session, sessions);
    let (start, started) = watch::channel(None::<Arc<Job>>);
    let (first_tried, _) = watch::channel(false);
    let mut make_mixes = Some(plan.mixes);
    // On a schedule the pacer knows all rates from the start.
    let repeat = plan.repeat.filter(|_| load.rate.is_none());
    let repetitions = repeat.map_or(0, |_| REPETITIONS_MAX);
    let phases = plan.schedule.phases().len() + repetitions;
    let phases = u16::try_from(phases).unwrap_or(u16::MAX);
    let duration = plan.schedule.end();
    // One channel per driver in the open model, none in the closed one.
    let capacity = load.rate.map(|_| load.max_in_flight.max(1) as usize);
    let (mut arrivals, mut ready, mut finished) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..drivers {
        let (tell_ready, is_ready) = oneshot::channel();
        let (tell_finished, is_finished) = oneshot::channel();
        let (sender, receiver) = capacity.map(mpsc::channel).unzip();
        let driver = Driver {
            context: context.for_thread(),
            index,
            drivers,
            make_mixes: make_mixes.take(),
            first_tried: first_tried.clone(),
            phases,
            duration,
            arrivals: receiver,
        };
        let started = started.clone();
        spawn_thread(&format!("mcprove-driver-{index}"), move || {
            driver.run(tell_ready, started);
            let _ = tell_finished.send(());
        })?;
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
        limit: plan.rate_limit.and_then(|limit| Pacer::new(limit.into())),
        changed: Notify::new(),
        schedule: plan.schedule,
        repeat,
        repetitions: OnceLock::new(),
        mixes: mixes.ok_or_else(|| RunError::Internal("nothing was made ready to call".into()))?,
        began: Instant::now() + START_DELAY,
        next: AtomicU64::default(),
        next_uncounted: AtomicU64::default(),
        paced: AtomicU64::default(),
        active_drivers: AtomicU32::new(drivers),
        context: context.clone(),
    });
    announce(&job, job.schedule.phases(), false);
    arm_faults(&job);
    let pacer = capacity.map(|_| {
        let job = Arc::clone(&job);
        spawn_thread("mcprove-pacer", move || pacer_thread::keep(&job, &arrivals))
    });
    let pacer = pacer.transpose()?;
    let _ = start.send(Some(Arc::clone(&job)));
    keep_time(&job).await;
    let panicked = |thread| RunError::Internal(format!("a {thread} thread panicked"));
    let (stats, mut outcome) = match pacer.map(std::thread::JoinHandle::join).transpose() {
        Ok(stats) => (stats.unwrap_or_default(), Ok(())),
        Err(_) => (PacerStats::default(), Err(panicked("pacer"))),
    };
    note_end(&job, stats);
    for is_finished in finished {
        outcome = outcome.and(is_finished.await.map_err(|_| panicked("driver")));
    }
    outcome
}

/// Notes the phases, and tells the live view when the load ends.
fn announce(job: &Job, phases: &[Phase], repetition: bool) {
    let context = &job.context;
    let began = context.time(job.began);
    let rate = context.scenario.load.rate;
    for phase in phases {
        context.note_phase(&PhaseFact {
            index: phase.index,
            name: phase.name.clone(),
            concurrent: phase.concurrent,
            rate: rate.map(|rate| job.schedule.rate_of(phase, rate)),
            measured: phase.measured,
            control: false,
            repetition,
            from: began + phase.from,
            until: Some(began + phase.until),
        });
    }
    context.recorder.merge();
    let end = phases.last().map_or(Duration::ZERO, |phase| phase.until);
    let ends_at = (began + end).as_millis();
    let ends_at = u64::try_from(ends_at).unwrap_or(u64::MAX);
    context.gauges.ends_at_ms.store(ends_at, Ordering::Relaxed);
}

/// Faults count their time from the start of what is measured.
fn arm_faults(job: &Job) {
    if let Some(faults) = &job.context.faults {
        let mut phases = job.schedule.phases().iter();
        let first = phases.find(|phase| phase.measured);
        faults.begin(job.began + first.map_or(Duration::ZERO, |phase| phase.from));
    }
}

/// Moves from phase to phase until the schedule ends, with what is repeated, or the run is stopped.
async fn keep_time(job: &Arc<Job>) {
    let phases = job.schedule.phases();
    let is_whole = keep_phases(job, 0, phases).await;
    if is_whole && let Some(repetitions) = job.repetitions() {
        announce(job, repetitions, true);
        let first = u32::try_from(phases.len()).unwrap_or(OVER);
        keep_phases(job, first, repetitions).await;
    }
    job.end();
}

/// Moves from phase to phase; whether all of them had their time.
async fn keep_phases(job: &Job, first: u32, phases: &[Phase]) -> bool {
    for (place, phase) in (first..).zip(phases) {
        job.enter(place);
        let until = job.began + phase.until;
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => {}
            () = job.context.stop.requested(StopLevel::Drain) => return false,
            () = job.over() => return false,
            // What follows would be measured with less than was asked for.
            _ = job.context.stream.limits().wait() => return false,
        }
    }
    true
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

/// What all drivers of a load share.
pub struct Job {
    pub context: RunContext,
    pub schedule: Schedule,
    /// What to repeat at its end, and what is repeated.
    repeat: Option<Repeat>,
    repetitions: OnceLock<Vec<Phase>>,
    pub mixes: Mixes,
    /// When the load began.
    pub began: Instant,
    /// How many calls that count were begun; each has its place among them as its number.
    next: AtomicU64,
    /// How many calls that do not count were begun.
    next_uncounted: AtomicU64,
    /// Drivers that still have something to do.
    active_drivers: AtomicU32,
    /// When set, the pace that a closed load keeps under.
    pub limit: Option<Pacer>,
    /// How many calls have their place in that pace, whether they count or not.
    paced: AtomicU64,
    /// The next phase has begun, or the load is over.
    changed: Notify,
}

impl Job {
    /// Which phase it is: set by one timer, read by every worker before every call. None when the load is over.
    pub fn phase(&self) -> Option<&Phase> {
        let place = self.context.gauges.place.load(Ordering::Acquire) as usize;
        let phases = self.schedule.phases();
        phases.get(place).or_else(|| {
            let repetitions = self.repetitions.get()?;
            repetitions.get(place.checked_sub(phases.len())?)
        })
    }

    /// The phases that repeat earlier ones, if any need to be; decided when the schedule has ended.
    fn repetitions(&self) -> Option<&[Phase]> {
        let repeat = self.repeat?;
        let tallies = lock(&self.context.gauges.tallies).clone();
        let count = self.schedule.phases().len();
        let ended = (0..count).map(|place| {
            let counts = tallies.iter().filter_map(|tally| tally.ended.get(place));
            counts.map(Count::get).sum()
        });
        let ended: Vec<u64> = ended.collect();
        let phases = repeat(&self.schedule, &ended)
            .phases()
            .iter()
            .skip(count)
            .take(REPETITIONS_MAX)
            .cloned()
            .collect::<Vec<_>>();
        (!phases.is_empty()).then(|| self.repetitions.get_or_init(|| phases).as_slice())
    }

    /// The phase at this place of the schedule begins.
    fn enter(&self, place: u32) {
        self.context.gauges.place.store(place, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub fn end(&self) {
        if let Some(faults) = &self.context.faults {
            faults.end();
        }
        self.enter(OVER);
    }

    /// The phase in which worker `index` may make a call now; waits while it is not its turn, and
    /// is none when the load is over.
    pub async fn turn(&self, index: u32) -> Option<&Phase> {
        loop {
            let changed = self.changed.notified();
            let phase = self.phase()?;
            if index < phase.concurrent {
                return Some(phase);
            }
            changed.await;
        }
    }

    /// The number of the next call, unless there were enough. Calls that do not count have numbers
    /// of their own, so that those that count are the same with and without them.
    pub fn next_call(&self, is_counted: bool) -> Option<u64> {
        if !is_counted {
            let number = self.next_uncounted.fetch_add(1, Ordering::Relaxed);
            return Some(UNCOUNTED_FROM + number);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let calls = self.context.scenario.load.calls;
        Some(number).filter(|number| calls.is_none_or(|calls| *number < calls))
    }

    /// Notes that a driver has nothing to do any more; the last one ends the load.
    pub fn leave(&self) {
        if self.active_drivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end();
        }
    }

    /// Waits until one more call may be made without exceeding the limit.
    pub async fn wait_for_pace(&self) {
        if let Some(pacer) = &self.limit {
            let place = self.paced.fetch_add(1, Ordering::Relaxed);
            let due = self.began + pacer.due(place);
            let wait = due.saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                self.context.pause(wait).await;
            }
        }
    }

    /// Resolves when the load ended before its time: enough calls, or nobody left to make them.
    pub async fn over(&self) {
        loop {
            let changed = self.changed.notified();
            if self.phase().is_none() {
                return;
            }
            changed.await;
        }
    }
}
