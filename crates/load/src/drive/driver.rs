//! A driver: one thread with a runtime of its own, its sessions, and the workers on them.

use futures_util::future::join_all;
use mcprove_client::process::thread_cpu_time;

use crate::prelude::*;

/// How often a driver hands over what it gathered.
const MERGE_EVERY: Duration = Duration::from_secs(1);
/// How long a load lasts before its share of a core means anything: a few calls are soon made, and
/// all of that time is spent on them.
const CPU_SHARE_AFTER: Duration = Duration::from_millis(100);
/// How many calls are made alone after the load, for each pattern of the mix.
const ALONE_CALLS_PER_PATTERN: usize = 20;
/// The most that are made alone in all.
const ALONE_CALLS_MAX: usize = 400;
/// How long an idle server is watched after a load in which something grew, and how often somebody asks whether it is gone.
const IDLE_TIME: Duration = Duration::from_secs(10);
const IDLE_STEP: Duration = Duration::from_millis(100);
/// How long all of that may take. A tool that took as long under load is not called alone.
pub const ALONE_TIME: Duration = Duration::from_secs(1);

/// What a driver reports when its sessions are open: what can be called, if it was to find out.
pub type Ready = RunResult<Option<Mixes>>;

/// What a driver found about whose replies were whose.
#[stored]
pub struct IsolationFact {
    pub checked: u64,
    pub crossed: u64,
    pub unchecked: u64,
    pub lost: u64,
    /// Replies with tokens of other calls, by tool; not known of runs before these were told apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub foreign: BTreeMap<String, ForeignTokens>,
}

impl Fact for IsolationFact {
    const NAME: &'static str = "isolation";
}

/// In which phase calls ended, by a driver's count.
#[stored]
pub struct EndingsFact {
    pub by_phase: Vec<u64>,
    pub unstarted: u64,
    #[serde(default)]
    pub taken_up: u64,
    #[serde(default)]
    pub taken_up_late: u64,
}

impl Fact for EndingsFact {
    const NAME: &'static str = "endings";
}

/// How busy a driver was while the load lasted.
#[stored(Copy)]
pub struct DriverFact {
    #[serde(default)]
    pub driver: u32,
    pub drivers: u32,
    pub cpu_share: Option<f64>,
}

impl Fact for DriverFact {
    const NAME: &'static str = "driver";
}

/// One driver thread.
pub struct Driver {
    pub context: RunContext,
    pub index: u32,
    pub drivers: u32,
    pub make_mixes: Option<MakeMixes>,
    /// Whether it is known if the first session opens: no other takes a place from it.
    pub first_tried: watch::Sender<bool>,
    /// How many phases the load has.
    pub phases: u16,
    /// How long it lasts.
    pub duration: Duration,
    pub arrivals: Option<mpsc::Receiver<Arrival>>,
}

/// A run that was stopped before it began.
fn stopped() -> RunError {
    RunError::Internal("interrupted before the load began".into())
}

impl Driver {
    /// What the thread does.
    pub fn run(
        self,
        tell_ready: oneshot::Sender<Ready>,
        started: watch::Receiver<Option<Arc<Job>>>,
    ) {
        match thread_runtime() {
            Ok(runtime) => {
                runtime.block_on(self.drive(tell_ready, started));
                // A server that is slow to end has been dealt with; a lookup that hangs has not.
                runtime.shutdown_background();
            }
            Err(error) => {
                let _ = tell_ready.send(Err(error));
            }
        }
    }

    async fn drive(
        mut self,
        tell_ready: oneshot::Sender<Ready>,
        mut started: watch::Receiver<Option<Arc<Job>>>,
    ) {
        let sessions = self.context.scenario.load.sessions.max(1);
        let numbers = (0..sessions).filter(|number| number % self.drivers == self.index);
        let slots: Vec<_> = numbers
            .map(|number| ConnectionSlot::planned(&self.context, Some(number)))
            .collect();
        let tally = Arc::new(Tally::new(self.phases.into()));
        let controller = slots.first().map(|slot| Controller {
            context: self.context.clone(),
            slot: Arc::clone(slot),
            tally: Arc::clone(&tally),
            phases: ControlPhases(self.phases),
            late: Arc::default(),
        });
        let mut opened = self.open(&slots).await;
        if let (Ok(Some(mixes)), Some(controller)) = (&mut opened, &controller) {
            let calling = controller.call_each_alone(mixes, self.duration);
            self.context.unless(StopLevel::Drain, calling).await;
        }
        let is_open = opened.is_ok();
        let _ = tell_ready.send(opened);
        let job = started.wait_for(Option::is_some).await.ok();
        let job = job.and_then(|job| job.clone()).filter(|_| is_open);
        if let Some(job) = job {
            self.work(&job, &slots, &tally).await;
            self.watch_idle(&job).await;
            if let Some(controller) = controller.filter(|_| self.index == 0) {
                controller.wait_for_late_calls().await;
                self.call_alone(&job, &controller).await;
                controller.wait_for_late_calls().await;
            }
            self.note_isolation(&tally);
        }
        let closing = join_all(slots.iter().map(|slot| slot.close()));
        self.context.unless(StopLevel::Now, closing).await;
        self.context.recorder.merge();
    }

    /// Opens the sessions; the first of all also learns what can be called.
    async fn open(&mut self, slots: &[Arc<ConnectionSlot>]) -> Ready {
        let context = &self.context;
        let mut mixes = None;
        if self.index > 0 {
            let mut first_tried = self.first_tried.subscribe();
            let waiting = first_tried.wait_for(|is_tried| *is_tried);
            context.unless(StopLevel::Drain, waiting).await;
        }
        for (place, slot) in slots.iter().enumerate() {
            let opened = context
                .unless(StopLevel::Drain, Box::pin(slot.open()))
                .await;
            self.first_tried.send_replace(true);
            match opened.ok_or_else(stopped)? {
                Ok(opened) => {
                    if let Some(make_mixes) = self.make_mixes.take() {
                        let session = &opened.connection.session;
                        let learning = async {
                            let tools = context.list_tools(session).await?;
                            make_mixes(context, session, &tools).await
                        };
                        let learnt = context.unless(StopLevel::Drain, learning).await;
                        mixes = Some(learnt.ok_or_else(stopped)??);
                    }
                }
                // The first session decides whether there is a server at all; others may follow, unless we
                // cannot open them ourselves.
                Err(error) if (self.index == 0 && place == 0) || error.own_limit().is_some() => {
                    return Err(error.into());
                }
                // Noted by the slot, which tries again when it is needed.
                Err(_) => {}
            }
        }
        Ok(mixes)
    }

    async fn work(&mut self, job: &Arc<Job>, slots: &[Arc<ConnectionSlot>], tally: &Arc<Tally>) {
        // Arrivals come when they are due, and find the driver waiting: a timer would wake it late.
        if self.arrivals.is_none() {
            tokio::time::sleep_until(job.began.into()).await;
        }
        lock(&self.context.gauges.tallies).push(Arc::clone(tally));
        let cpu_before = thread_cpu_time();
        let mut workers = JoinSet::new();
        if let Some(arrivals) = self.arrivals.take() {
            let (job, tally) = (Arc::clone(job), Arc::clone(tally));
            let (context, slots) = (self.context.clone(), slots.to_vec());
            workers.spawn(take_arrivals(context, job, slots, tally, arrivals));
        } else {
            self.spawn_workers(job, slots, tally, &mut workers);
        }
        self.attend(job, &mut workers, cpu_before).await;
    }

    /// Notes what was found about whose replies were whose, and in which phase calls ended.
    fn note_isolation(&self, tally: &Tally) {
        let isolation = IsolationFact {
            checked: tally.checked.get(),
            crossed: tally.crossed.get(),
            unchecked: tally.unchecked.get(),
            lost: tally.lost.get(),
            foreign: lock(&tally.foreign).clone(),
        };
        self.context.fact("", &isolation);
        let endings = EndingsFact {
            by_phase: tally.ended.iter().map(Count::get).collect(),
            unstarted: tally.unstarted.get(),
            taken_up: tally.taken_up.get(),
            taken_up_late: tally.taken_up_late.get(),
        };
        self.context.fact("", &endings);
    }

    /// Worker `i` of the whole load calls on connection `i` modulo the connections, wherever that is.
    fn spawn_workers(
        &self,
        job: &Arc<Job>,
        slots: &[Arc<ConnectionSlot>],
        tally: &Arc<Tally>,
        workers: &mut JoinSet<()>,
    ) {
        let sessions = self.context.scenario.load.sessions.max(1);
        for worker_index in 0..job.schedule.concurrent_max() {
            let slot_index = worker_index % sessions;
            if slot_index % self.drivers != self.index {
                continue;
            }
            if let Some(slot) = slots.get((slot_index / self.drivers) as usize) {
                let worker = Worker::new(&self.context, slot, tally);
                workers.spawn(work_on(Arc::clone(job), worker, worker_index));
            }
        }
    }

    /// Hands over what was gathered each second, until all workers are done; gives up those that
    /// take too long after an interruption.
    async fn attend(
        &self,
        job: &Arc<Job>,
        workers: &mut JoinSet<()>,
        cpu_before: Option<Duration>,
    ) {
        // Not at once: the first few calls alone would look like a slow server.
        let first = tokio::time::Instant::now() + MERGE_EVERY;
        let mut merge = tokio::time::interval_at(first, MERGE_EVERY);
        let interrupted = self.context.drained();
        tokio::pin!(interrupted);
        let over = job.over();
        tokio::pin!(over);
        let mut is_over = false;
        loop {
            tokio::select! {
                ended = workers.join_next() => if ended.is_none() { break },
                () = &mut over, if !is_over => {
                    is_over = true;
                    self.note_cpu(job, cpu_before);
                }
                _ = merge.tick() => self.context.recorder.merge(),
                () = &mut interrupted => {
                    workers.shutdown().await;
                    break;
                }
            }
        }
        if !is_over {
            self.note_cpu(job, cpu_before);
        }
        job.leave();
    }

    /// Notes how busy this driver was while the load lasted.
    fn note_cpu(&self, job: &Job, before: Option<Duration>) {
        let elapsed = job.began.elapsed();
        let used = before.zip(thread_cpu_time());
        let used = used.filter(|_| elapsed >= CPU_SHARE_AFTER);
        let fact = DriverFact {
            driver: self.index,
            drivers: self.drivers,
            cpu_share: used.map(|(before, after)| {
                after.saturating_sub(before).as_secs_f64() / elapsed.as_secs_f64()
            }),
        };
        self.context.fact("", &fact);
    }

    /// Watches the idle server for a while, where something grew in the load: it may be kept for a while only. Every driver waits,
    /// because a server of a session ends with it.
    async fn watch_idle(&self, job: &Job) {
        let context = &self.context;
        let held = &context.gauges.held;
        let in_flight = job.schedule.concurrent_max();
        if !job.schedule.is_steady() || !held.is_kept(in_flight) {
            return;
        }
        held.watch();
        let deadline = Instant::now() + IDLE_TIME;
        while held.is_kept(in_flight) && Instant::now() < deadline && context.stop.is_running() {
            context.pause(IDLE_STEP).await;
        }
        context.fact("", &IdleWatchFact {});
    }

    /// Makes control calls after the load: what the server does when it has nothing else to do, and whether what was seen
    /// in the load has another reason.
    async fn call_alone(&self, job: &Arc<Job>, controller: &Controller) {
        let context = &self.context;
        if !controller.tally.has_succeeded() || controller.slot.gave_up() {
            return;
        }
        controller.wait_until_quiet().await;
        // Whoever counts calls wants no more of them than are needed to judge these.
        if context.scenario.load.calls.is_none() && context.stop.is_running() {
            self.measure_alone(job, controller).await;
            // What follows would answer a call that waits for others, and is made alone too.
            controller.wait_for_late_calls().await;
        }
        let phase = controller.begin(controller.phases.comparison(), COMPARISON);
        controller.recheck_tokens(&job.mixes).await;
        controller.compare_sample().await;
        context.end_phases([phase]);
        controller.call_beside_slow(&job.mixes).await;
    }

    /// Makes a few calls one at a time, to grade by.
    async fn measure_alone(&self, job: &Arc<Job>, controller: &Controller) {
        let Some(mix) = job.mixes.first() else {
            return;
        };
        let context = &self.context;
        let phase = controller.begin(controller.phases.alone(), ALONE);
        let began = Instant::now();
        let slow_tools = lock(&context.slow_tools).clone();
        let calls = ALONE_CALLS_MAX.min(mix.len().saturating_mul(ALONE_CALLS_PER_PATTERN));
        for _ in 0..calls {
            let left = ALONE_TIME.saturating_sub(began.elapsed());
            if left.is_zero() || !context.stop.is_running() {
                break;
            }
            let call = CallSlot {
                number: job.next_call(false).unwrap_or_default(),
                phase: phase.index,
                intended: None,
                is_control: true,
            };
            let pattern = mix.choose(call.number);
            if pattern.is_some_and(|pattern| pattern.calls_any_of(&slow_tools)) {
                continue;
            }
            let patience = left.min(context.hang_limits().threshold / 2);
            if !controller.perform(job, call, patience).await {
                break;
            }
        }
        context.end_phases([phase]);
    }
}

/// One worker of the closed model: the next call waits for the answer to the last.
async fn work_on(job: Arc<Job>, mut worker: Worker, index: u32) {
    while let Some(phase) = job.turn(index).await {
        let Some(number) = job.next_call(phase.measured) else {
            job.end();
            return;
        };
        job.wait_for_pace().await;
        // The load may have ended while this call waited for its turn.
        if job.limit.is_some() && job.phase().is_none() {
            return;
        }
        let Some(mix) = job.mixes.get(phase.mix) else {
            return;
        };
        let call = CallSlot {
            number,
            phase: phase.index,
            intended: None,
            is_control: false,
        };
        match worker.perform(mix, call).await {
            Ended::Done => {}
            Ended::StopRun => {
                job.end();
                return;
            }
            Ended::NoSession => return,
        }
    }
}

/// The open model: each arrival is a task of its own, whatever became of those before.
async fn take_arrivals(
    context: RunContext,
    job: Arc<Job>,
    slots: Vec<Arc<ConnectionSlot>>,
    tally: Arc<Tally>,
    mut arrivals: mpsc::Receiver<Arrival>,
) {
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            arrival = arrivals.recv() => {
                let Some(arrival) = arrival else { break };
                let place = arrival.turn % (slots.len().max(1) as u64);
                let Some(slot) = slots.get(usize::try_from(place).unwrap_or_default()) else { break };
                let worker = Worker::new(&context, slot, &tally);
                calls.spawn(answer_arrival(Arc::clone(&job), worker, arrival));
            }
            Some(_) = calls.join_next(), if !calls.is_empty() => {}
        }
    }
    while calls.join_next().await.is_some() {}
}

async fn answer_arrival(job: Arc<Job>, mut worker: Worker, arrival: Arrival) {
    let elapsed = arrival.intended.saturating_duration_since(job.began);
    let phase = job.schedule.at(elapsed).or(job.schedule.phases().last());
    if let Some((phase, mix)) = phase.and_then(|phase| Some((phase, job.mixes.get(phase.mix)?))) {
        if phase.measured {
            worker.note_taken_up(arrival.intended.elapsed());
        }
        let call = CallSlot {
            number: arrival.number,
            phase: phase.index,
            intended: Some(arrival.intended),
            is_control: false,
        };
        match worker.perform(mix, call).await {
            Ended::Done => {}
            Ended::StopRun => job.end(),
            Ended::NoSession => worker.tally.unstarted.add(),
        }
    }
    drop(arrival.place);
}
