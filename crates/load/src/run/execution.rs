//! Doing a run: threads, sinks, sampler and live view around a scenario.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcprove_client::process::StderrLog;
use mcprove_fault::TimedInjector;
use mcprove_settings::loss::Losses;
use mcprove_settings::message::{Diagnostic, message, setting as setting_name};
use mcprove_settings::own_limits::OwnLimit;
use mcprove_settings::secret::Redactor;
use mcprove_settings::setting::{self, Settings};
use mcprove_settings::tree::check_toml;
use mcprove_trace::hang::HangLimits;
use mcprove_trace::stream::{EventStream, FAULTS, MetricsSink, Sink, TraceFile};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::assemble::assemble;
use super::directory::RunDirectory;
use super::error::{RunError, at};
use super::faults;
use super::header::{ENDED, Header, STARTED};
use super::latency_log::LatencyLog;
use super::report::{Report, TraceStats};
use super::watch::Watch;
use super::{LoadFault, Run};
use crate::drive::error::StageError;
use crate::drive::sampler::Sampler;
use crate::drive::scenario::{self, Steps, Work};
use crate::drive::stage::Stage;
use crate::drive::stop::{Leash, Stop};
use crate::drive::{ScenarioKind, calibration, executor};

/// How often processes are looked at in a run without a duration.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// How often at most in any run.
const SAMPLE_INTERVAL_MIN: Duration = Duration::from_millis(50);

/// How often the events of a scenario's steps are handed over.
const MERGE_EVERY: Duration = Duration::from_secs(1);

/// The least memory that a call in flight and a session take.
const CALL_BYTES: u64 = 2048;
const SESSION_BYTES: u64 = 8192;

/// A drawn seed has 53 bits, which every reader of JSON and TOML keeps.
const SEED_SHIFT: u32 = 11;

/// What came of a run, and where its files are: there may be some of one that came to nothing.
pub(super) async fn execute(mut run: Run) -> (Result<Report, RunError>, Option<RunDirectory>) {
    // Once, for every sink and session.
    let server = &run.server;
    let redactor = run.session.redactor.take();
    let redactor = redactor.unwrap_or_else(|| server.redactor());
    let secrets = run.scenario.secrets();
    run.session.redactor = Some(redactor.with_secrets(secrets));
    match check(&run).and_then(|()| open(&run)) {
        Err(error) => (Err(error), None),
        Ok(opened) => {
            let directory = opened.directory.clone();
            (carry_out(&run, opened).await, directory)
        }
    }
}

async fn carry_out(run: &Run, opened: Opened) -> Result<Report, RunError> {
    let Opened {
        directory,
        metrics,
        trace,
        latency_log,
        stream,
        header,
    } = opened;
    // Whatever ends this future ends the drivers and their servers.
    let leash = Leash::new(&run.stop);
    let losses = Losses::default();
    let stop = leash.stop();
    let stage = set_stage(run, &header, stream, directory.as_ref(), stop, &losses)?;
    let recorder = stage.stream.recorder();
    recorder.note(
        STARTED,
        "",
        &serde_json::to_value(&header).unwrap_or(Value::Null),
    );
    if !run.faults.is_empty() {
        let names: Vec<&str> = run
            .faults
            .iter()
            .map(|fault| fault.spec.name.as_str())
            .collect();
        recorder.note(FAULTS, "", &json!({ "names": names }));
    }
    // First of all in the trace, so that even a run that is killed can be told.
    recorder.merge();
    if run.calibration {
        calibrate(&stage).await;
    }
    let mut watching = Watch::new(
        Arc::clone(&stage),
        Arc::clone(&metrics),
        latency_log,
        run.on_progress.clone(),
        losses.clone(),
    );
    let outcome = match Sampler::start(&stage, sample_interval(&run.scenario.kind)) {
        // It works until it is dropped.
        Ok(_sampler) => tokio::select! {
            outcome = act(&stage) => outcome,
            never = watching.watch() => match never {},
            never = leash.follow(run.server.shutdown_timeout) => match never {},
        },
        Err(error) => Err(StageError::Thread(error)),
    };
    if let Err(error) = outcome {
        if let Some(directory) = &directory {
            discard(directory);
        }
        return Err(error.into());
    }
    if let Some(strict) = &stage.strict {
        strict.note(&recorder);
    }
    let ended = stage.stream.started().elapsed();
    recorder.note(
        ENDED,
        "",
        &json!({ "duration_secs": ended.as_secs_f64(), "interrupted": !stage.stop.is_running() }),
    );
    recorder.merge();
    watching.finish();
    let mut report = assemble(&metrics.snapshot())
        .ok_or_else(|| RunError::Internal("the run left no header".into()))?;
    report.trace = trace.as_ref().map(|trace| {
        let summary = trace.summary();
        TraceStats {
            events: summary.written,
            bytes: summary.bytes,
        }
    });
    let path = directory.as_ref().map(RunDirectory::trace);
    let traced = trace.as_deref().zip(path.as_deref());
    report.losses = stage.stream.losses(traced);
    report.losses.extend(losses.all());
    let redacted = redactor_of(run).report(&report);
    // What cannot be redacted is written nowhere.
    let redacted = redacted
        .map_err(|error| RunError::Internal(format!("the report cannot be redacted: {error}")))?;
    report = redacted.unwrap_or(report);
    if let Some(directory) = &directory {
        // What was measured is not lost with the disk.
        let files = &run.files;
        let unwritten = directory.write_some(&report, files.markdown, files.html);
        report.losses.extend(unwritten);
        if trace.is_some() {
            report.trace_path = directory.trace();
        }
    }
    Ok(report)
}

/// What a run writes to, and what it is asked to do.
struct Opened {
    directory: Option<RunDirectory>,
    metrics: Arc<MetricsSink>,
    trace: Option<Arc<TraceFile>>,
    latency_log: Option<LatencyLog>,
    stream: EventStream,
    header: Header,
}

fn open(run: &Run) -> Result<Opened, RunError> {
    let started_at = SystemTime::now();
    let since_epoch = started_at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let started_at_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
    // 80 bits; the last of them also tell directories apart.
    let random = u128::from(draw()) << 64 | u128::from(draw());
    let run_id = ulid::Ulid::from_parts(started_at_ms, random).to_string();
    let metrics = Arc::new(MetricsSink::new());
    let mut sinks: Vec<Arc<dyn Sink>> = vec![metrics.clone()];
    let (mut directory, mut trace, mut latency_log) = (None, None, None);
    if let Some(base) = &run.output_dir {
        let opened = RunDirectory::create(base, started_at, &run_id)?;
        if run.files.trace {
            let path = opened.trace();
            let file = TraceFile::create(&path).map_err(at("create", &path))?;
            let file = file.with_value_bytes_max(run.trace_value_bytes);
            let file = Arc::new(file.with_redactor(redactor_of(run)));
            sinks.push(file.clone());
            trace = Some(file);
        }
        if let Some(config) = &run.config {
            let config = redactor_of(run).plain(config);
            if let Err(error) = check_toml(&config) {
                let message = format!("config.toml cannot be redacted: {error}");
                return Err(RunError::Io(io::Error::other(message)));
            }
            opened.write_config(&config)?;
        }
        latency_log = Some(LatencyLog::create(&opened.latency_log(), started_at)?);
        directory = Some(opened);
    }
    let header = Header {
        run_id,
        started_at_ms,
        seed: run.scenario.load.seed.unwrap_or_else(draw_seed),
        target: run.server.describe(),
        scenario: run.scenario.clone(),
        thresholds: run.thresholds.clone(),
        faults: run.faults.clone(),
        has_trace: trace.is_some(),
    };
    Ok(Opened {
        directory,
        metrics,
        trace,
        latency_log,
        stream: EventStream::new(sinks),
        header,
    })
}

fn redactor_of(run: &Run) -> Redactor {
    run.session.redactor.clone().unwrap_or_default()
}

/// Leaves nothing of a run that never began but what the server had to say.
fn discard(directory: &RunDirectory) {
    for file in [
        directory.trace(),
        directory.latency_log(),
        directory.server_stdout(),
    ] {
        let _ = std::fs::remove_file(file);
    }
    let stderr = directory.server_stderr();
    let has_words = std::fs::metadata(&stderr).is_ok_and(|stderr| stderr.len() > 0);
    if !has_words {
        let _ = std::fs::remove_dir_all(directory.path());
    }
}

fn check(run: &Run) -> Result<(), RunError> {
    faults::check(&run.faults, &run.scenario.kind, &run.server.transport)?;
    if let Some(problem) = run.scenario.problems.first() {
        return Err(RunError::Config(problem.clone()));
    }
    let unnamed = run
        .scenario
        .tool_calls
        .iter()
        .any(|call| call.name.is_empty());
    if unnamed {
        return Err(RunError::Config(
            "arguments were given without a tool".into(),
        ));
    }
    let load = &run.scenario.load;
    for settings in [
        run.scenario.kind.as_type() as &dyn Settings,
        load,
        &run.thresholds,
    ] {
        setting::check(settings).map_err(|errors| RunError::Config(errors.into()))?;
    }
    let calls = match load.rate {
        Some(_) => load.max_in_flight,
        None => run.scenario.kind.concurrent(),
    };
    let bytes = u64::from(calls) * CALL_BYTES + u64::from(load.sessions) * SESSION_BYTES;
    if let Err(limit) = OwnLimit::check_memory(bytes) {
        let (sessions, size) = (load.sessions, bytes >> 20);
        return Err(RunError::Config(Diagnostic::new(
            format!("{calls} calls at once on {sessions} sessions need {size} MiB, and {limit}"),
            message![
                "lower ",
                setting_name("concurrent"),
                ", ",
                setting_name("max_in_flight"),
                " or ",
                setting_name("sessions")
            ],
        )));
    }
    Ok(())
}

fn set_stage(
    run: &Run,
    header: &Header,
    stream: EventStream,
    directory: Option<&RunDirectory>,
    stop: Stop,
    losses: &Losses,
) -> Result<Arc<Stage>, RunError> {
    let mut options = run.session.clone();
    options.losses = losses.clone();
    let own = run.scenario.kind.as_type().hang_limits();
    options.hang_limits = Some(own.unwrap_or(HangLimits {
        threshold: run.thresholds.hang_timeout,
        grace: run.thresholds.grace_period,
    }));
    let most = run
        .scenario
        .kind
        .concurrent()
        .max(run.scenario.load.max_in_flight);
    options.max_connections = options.max_connections.max(most as usize);
    if let Some(directory) = directory {
        options
            .stderr_file
            .get_or_insert_with(|| directory.server_stderr());
        let path = directory.server_stdout();
        let noise = StderrLog::new()
            .with_redactor(redactor_of(run))
            .with_file(&path)
            .map_err(at("create", &path))?
            .with_losses(losses.clone());
        let known = options.on_noise.take();
        options.on_noise = Some(Arc::new(move |bytes: &[u8]| {
            noise.write(&[bytes, b"\n"].concat());
            if let Some(known) = &known {
                known(bytes);
            }
        }));
    }
    let mut stage = Stage::new(
        run.server.clone(),
        options,
        run.scenario.clone(),
        header.seed,
        stream,
        stop,
        run.thresholds.tools.keys().cloned().collect(),
    );
    if !run.faults.is_empty() {
        let timed: Vec<_> = run.faults.iter().map(LoadFault::timed).collect();
        stage = stage.with_faults(TimedInjector::new(&timed, header.seed));
    }
    Ok(Arc::new(stage))
}

/// Finds out what the generator can do at best, beside whatever runtime we are on.
async fn calibrate(stage: &Stage) {
    let (tell, told) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("mcprove-calibration".to_owned())
        .spawn(move || {
            let _ = tell.send(calibration::calibrate());
        });
    if thread.is_ok()
        && let Ok(rate) = told.await
    {
        let recorder = stage.stream.recorder();
        recorder.note("calibration", "", &json!({ "per_s": rate }));
    }
}

fn sample_interval(kind: &ScenarioKind) -> Duration {
    match (kind.as_type().sample_interval(), kind.duration()) {
        (Some(own), _) => own.max(SAMPLE_INTERVAL_MIN),
        (None, Some(duration)) => scenario::sample_interval(duration),
        (None, None) => SAMPLE_INTERVAL,
    }
}

/// Lets the scenario act.
async fn act(stage: &Arc<Stage>) -> Result<(), StageError> {
    match stage.scenario.kind.work(&stage.scenario.load)? {
        Work::Load(plan) => executor::execute(Arc::clone(stage), plan).await,
        Work::Steps(steps) => take_steps(stage, steps).await,
    }
}

/// Lets a scenario take its steps on a thread and a runtime of its own, so that the caller's
/// runtime neither waits for it nor disturbs it.
async fn take_steps(stage: &Arc<Stage>, steps: Box<dyn Steps>) -> Result<(), StageError> {
    let (tell, told) = oneshot::channel();
    let stage = Arc::clone(stage);
    std::thread::Builder::new()
        .name("mcprove-driver-0".to_owned())
        .spawn(move || {
            let _ = tell.send(step_by_step(&stage, steps.as_ref()));
        })
        .map_err(StageError::Thread)?;
    told.await
        .unwrap_or_else(|_| Err(StageError::Internal("the driver thread panicked".into())))
}

fn step_by_step(stage: &Arc<Stage>, steps: &dyn Steps) -> Result<(), StageError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StageError::Thread)?;
    let recorder = stage.stream.recorder();
    // Should the run be killed, its trace tells what there was.
    let handing_over = async {
        let mut each = tokio::time::interval(MERGE_EVERY);
        loop {
            each.tick().await;
            recorder.merge();
        }
    };
    let outcome = runtime.block_on(async {
        let mut steps = pin!(steps.run(stage, &recorder));
        tokio::select! {
            outcome = &mut steps => Some(outcome),
            () = stage.drained() => {
                // No step is taken any more, but none is dropped either, which would kill its server.
                stage.end_open().await;
                None
            }
            () = handing_over => None,
        }
    });
    recorder.merge();
    drop(recorder);
    runtime.shutdown_background();
    outcome.unwrap_or(Ok(()))
}

/// A seed that nobody can foresee.
pub fn draw_seed() -> u64 {
    draw() >> SEED_SHIFT
}

/// A number that nobody can foresee: a seed, or part of an id.
pub fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}
