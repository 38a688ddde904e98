//! A driver: one thread with a runtime of its own, its sessions, and the workers on them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mcprove_client::process::thread_cpu_time;
use mcprove_trace::stream::Recorder;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::count::Count;
use super::error::StageError;
use super::executor::MakeMixes;
use super::job::Job;
use super::mix::Mixes;
use super::pacer_thread::Arrival;
use super::seat::Seat;
use super::stage::{PhaseNote, Stage, since_start};
use super::worker::{Ended, Moment, Tally, Worker};

/// How often a driver hands over what it gathered.
const MERGE_EVERY: Duration = Duration::from_secs(1);
/// How long a load lasts before its share of a core means anything: a few calls are soon made, and
/// all of that time is spent on them.
const CPU_SHARE_AFTER: Duration = Duration::from_millis(100);
/// How many calls are made alone after the load, for each pattern of the mix.
const ALONE_CALLS_PER_PATTERN: usize = 20;
/// The most that are made alone in all.
const ALONE_CALLS_MAX: usize = 400;
/// How long all of that may take. A tool that took as long under load is not called alone.
pub(super) const ALONE_TIME: Duration = Duration::from_secs(1);

/// What a driver reports when its sessions are open.
pub(super) type Ready = Result<(), StageError>;

/// One driver thread.
pub(super) struct Driver {
    pub stage: Arc<Stage>,
    pub index: u32,
    pub drivers: u32,
    pub seats: usize,
    pub make_mixes: Option<MakeMixes>,
    pub mixes: Arc<Mutex<Option<Mixes>>>,
    pub arrivals: Option<mpsc::Receiver<Arrival>>,
}

impl Driver {
    /// What the thread does.
    pub fn run(
        self,
        tell_ready: oneshot::Sender<Ready>,
        started: watch::Receiver<Option<Arc<Job>>>,
    ) -> Result<(), StageError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = tell_ready.send(Err(StageError::Thread(error)));
                return Ok(());
            }
        };
        let outcome = runtime.block_on(self.drive(tell_ready, started));
        // A server that is slow to end has been dealt with; a lookup that hangs has not.
        runtime.shutdown_background();
        outcome
    }

    async fn drive(
        mut self,
        tell_ready: oneshot::Sender<Ready>,
        mut started: watch::Receiver<Option<Arc<Job>>>,
    ) -> Result<(), StageError> {
        let recorder = self.stage.stream.recorder();
        let seats: Vec<Arc<Seat>> = (0..self.seats)
            .map(|_| Seat::new(Arc::clone(&self.stage), Arc::clone(&recorder)))
            .collect();
        let opened = self.open(&seats, &recorder).await;
        let is_open = opened.is_ok();
        let _ = tell_ready.send(opened);
        let job = started.wait_for(Option::is_some).await.ok();
        let job = job.and_then(|job| job.clone()).filter(|_| is_open);
        if let Some(job) = job {
            self.work(&job, &seats, &recorder).await;
        }
        let closing = join_all(seats.iter().map(|seat| seat.close()));
        self.stage.unless_stopped(closing).await;
        recorder.merge();
        Ok(())
    }

    /// Opens the sessions; the first of all also learns what can be called.
    async fn open(&mut self, seats: &[Arc<Seat>], recorder: &Recorder) -> Result<(), StageError> {
        for (place, seat) in seats.iter().enumerate() {
            let opened = self.stage.unless_draining(seat.open()).await;
            let opened = opened.ok_or(StageError::Stopped)?;
            match opened {
                Ok(sitting) => {
                    if let Some(make_mixes) = self.make_mixes.take() {
                        let session = &sitting.connection.session;
                        let learning = async {
                            let tools = self.stage.list_tools(recorder, session).await?;
                            make_mixes(&self.stage, session, &tools).await
                        };
                        let mixes = self.stage.unless_draining(learning).await;
                        let mixes = mixes.ok_or(StageError::Stopped)??;
                        *self.mixes.lock().unwrap_or_else(PoisonError::into_inner) = Some(mixes);
                    }
                }
                // The first session decides whether there is a server at all; others may follow, unless we
                // cannot open them ourselves.
                Err(error) if (self.index == 0 && place == 0) || error.own_limit().is_some() => {
                    return Err(error.into());
                }
                Err(error) => {
                    recorder.note("connect_failed", &error.to_string(), &json!({}));
                }
            }
        }
        Ok(())
    }

    async fn work(&mut self, job: &Arc<Job>, seats: &[Arc<Seat>], recorder: &Arc<Recorder>) {
        // Arrivals come when they are due, and find the driver waiting: a timer would wake it late.
        if self.arrivals.is_none() {
            tokio::time::sleep_until(job.began.into()).await;
        }
        let tally = Arc::new(Tally::new(job.schedule.phases().len()));
        self.stage.gauges.show_tally(&tally);
        let cpu_before = thread_cpu_time();
        let mut workers = JoinSet::new();
        if let Some(arrivals) = self.arrivals.take() {
            workers.spawn(take_arrivals(
                Arc::clone(job),
                seats.to_vec(),
                Arc::clone(recorder),
                Arc::clone(&tally),
                arrivals,
            ));
        } else {
            self.spawn_workers(job, seats, recorder, &tally, &mut workers);
        }
        self.attend(job, recorder, &mut workers, cpu_before).await;
        let has_succeeded = tally.has_succeeded();
        // Whoever counts calls does not want more of them.
        let is_counted = self.stage.scenario.load.calls.is_some();
        if self.index == 0 && has_succeeded && !is_counted && self.stage.stop.is_running() {
            self.call_alone(job, seats, recorder, &tally).await;
        }
        recorder.note(
            "isolation",
            "",
            &json!({
                "checked": tally.checked.get(),
                "crossed": tally.crossed.get(),
                "unchecked": tally.unchecked.get(),
                "lost": tally.lost.get(),
            }),
        );
        let by_phase: Vec<u64> = tally.ended.iter().map(Count::get).collect();
        recorder.note(
            "endings",
            "",
            &json!({
                "by_phase": by_phase,
                "unstarted": tally.unstarted.get(),
                "taken_up": tally.taken_up.get(),
                "taken_up_late": tally.taken_up_late.get(),
            }),
        );
    }

    /// Worker `i` of the whole load sits on seat `i` modulo the seats, wherever that is.
    fn spawn_workers(
        &self,
        job: &Arc<Job>,
        seats: &[Arc<Seat>],
        recorder: &Arc<Recorder>,
        tally: &Arc<Tally>,
        workers: &mut JoinSet<()>,
    ) {
        let sessions = self.stage.scenario.load.sessions.max(1);
        for worker_index in 0..job.schedule.concurrent_max() {
            let seat_index = worker_index % sessions;
            if seat_index % self.drivers != self.index {
                continue;
            }
            let Some(seat) = seats.get((seat_index / self.drivers) as usize) else {
                continue;
            };
            let worker = Worker::new(
                Arc::clone(&self.stage),
                Arc::clone(recorder),
                Arc::clone(seat),
                Arc::clone(tally),
            );
            workers.spawn(work_on(Arc::clone(job), worker, worker_index));
        }
    }

    /// Hands over what was gathered each second, until all workers are done; gives up those that
    /// take too long after an interruption.
    async fn attend(
        &self,
        job: &Arc<Job>,
        recorder: &Recorder,
        workers: &mut JoinSet<()>,
        cpu_before: Option<Duration>,
    ) {
        // Not at once: the first few calls alone would look like a slow server.
        let first = tokio::time::Instant::now() + MERGE_EVERY;
        let mut merge = tokio::time::interval_at(first, MERGE_EVERY);
        let mut cpu_noted = false;
        let interrupted = self.stage.drained();
        tokio::pin!(interrupted);
        let over = job.over();
        tokio::pin!(over);
        let mut is_over = false;
        loop {
            tokio::select! {
                ended = workers.join_next() => if ended.is_none() { break },
                () = &mut over, if !is_over => {
                    is_over = true;
                    self.note_cpu(job, recorder, cpu_before);
                    cpu_noted = true;
                }
                _ = merge.tick() => recorder.merge(),
                () = &mut interrupted => {
                    workers.shutdown().await;
                    break;
                }
            }
        }
        if !cpu_noted {
            self.note_cpu(job, recorder, cpu_before);
        }
        job.leave();
    }

    /// Notes how busy this driver was while the load lasted.
    fn note_cpu(&self, job: &Job, recorder: &Recorder, before: Option<Duration>) {
        let elapsed = job.began.elapsed();
        let used = before
            .zip(thread_cpu_time())
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64());
        let share = used
            .filter(|_| elapsed >= CPU_SHARE_AFTER)
            .map(|used| used / elapsed.as_secs_f64());
        recorder.note(
            "driver",
            "",
            &json!({ "driver": self.index, "drivers": self.drivers, "cpu_share": share }),
        );
    }

    /// Makes a few calls one at a time: what the server does when it has nothing else to do.
    async fn call_alone(
        &self,
        job: &Arc<Job>,
        seats: &[Arc<Seat>],
        recorder: &Arc<Recorder>,
        tally: &Arc<Tally>,
    ) {
        let Some(seat) = seats.first().filter(|seat| !seat.gave_up()) else {
            return;
        };
        let Some(mix) = job.mixes.first() else { return };
        let index = u16::try_from(job.schedule.phases().len() + 1).unwrap_or(u16::MAX);
        let from = since_start(&self.stage.stream, Instant::now());
        let mut worker = Worker::new(
            Arc::clone(&self.stage),
            Arc::clone(recorder),
            Arc::clone(seat),
            Arc::clone(tally),
        );
        let began = Instant::now();
        let slow_tools = self.stage.slow_tools.names();
        let calls = ALONE_CALLS_MAX.min(mix.len().saturating_mul(ALONE_CALLS_PER_PATTERN));
        for _ in 0..calls {
            let left = ALONE_TIME.saturating_sub(began.elapsed());
            if left.is_zero() || !self.stage.stop.is_running() {
                break;
            }
            let moment = Moment {
                number: job.next_call(false).unwrap_or_default(),
                phase: index,
                intended: None,
            };
            let is_slow = mix
                .choose(moment.number)
                .is_some_and(|(_, pattern)| pattern.calls_any_of(&slow_tools));
            if is_slow {
                continue;
            }
            // Given up before anybody could take it for a hang: the load is over.
            let patience = left.min(self.stage.hang_limits().threshold / 2);
            let performing = tokio::time::timeout(patience, worker.perform(mix, moment));
            match self.stage.unless_stopped(performing).await {
                Some(Ok(Ended::Done)) => {}
                _ => break,
            }
        }
        PhaseNote {
            index,
            name: "alone",
            concurrent: 1,
            rate: None,
            measured: false,
            from,
            until: Some(since_start(&self.stage.stream, Instant::now())),
        }
        .note(recorder);
    }
}

/// One worker of the closed model: the next call waits for the answer to the last.
async fn work_on(job: Arc<Job>, mut worker: Worker, index: u32) {
    while let Some(phase) = job.turn(index).await {
        let (phase_index, mix) = (phase.index, phase.mix);
        let Some(number) = job.next_call(phase.measured) else {
            job.end();
            return;
        };
        job.wait_for_pace().await;
        // The load may have ended while this call waited for its turn.
        if job.limit.is_some() && job.phase().is_none() {
            return;
        }
        let Some(mix) = job.mixes.get(mix) else {
            return;
        };
        let moment = Moment {
            number,
            phase: phase_index,
            intended: None,
        };
        match worker.perform(mix, moment).await {
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
    job: Arc<Job>,
    seats: Vec<Arc<Seat>>,
    recorder: Arc<Recorder>,
    tally: Arc<Tally>,
    mut arrivals: mpsc::Receiver<Arrival>,
) {
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            arrival = arrivals.recv() => {
                let Some(arrival) = arrival else { break };
                let Some(seat) = seats.get(place_of(arrival.turn, seats.len())) else { break };
                let worker = Worker::new(
                    Arc::clone(&job.stage),
                    Arc::clone(&recorder),
                    Arc::clone(seat),
                    Arc::clone(&tally),
                );
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
        let moment = Moment {
            number: arrival.number,
            phase: phase.index,
            intended: Some(arrival.intended),
        };
        match worker.perform(mix, moment).await {
            Ended::Done => {}
            Ended::StopRun => job.end(),
            Ended::NoSession => worker.note_unstarted(),
        }
    }
    drop(arrival.place);
}

/// Whose turn it is among so many.
fn place_of(turn: u64, count: usize) -> usize {
    usize::try_from(turn % (count.max(1) as u64)).unwrap_or_default()
}
