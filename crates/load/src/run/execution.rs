//! Doing a run: threads, sinks, sampler and live view around a scenario.

use mcprove_client::process::StderrLog;
use mcprove_settings::message::{name as quoted, setting as setting_name};
use mcprove_settings::setting;
use mcprove_settings::tree::check_toml;
use mcprove_trace::hang::Progress as ServerProgress;
use mcprove_trace::panic_guard::{contain, contain_call};
use mcprove_trace::stream::{PlannedFaultsFact, TraceFile};

use super::faults;
use crate::drive::calibration;
use crate::drive::scenario;
use crate::prelude::*;

/// How often processes are looked at in a run without a duration.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// How often at most in any run.
const SAMPLE_INTERVAL_MIN: Duration = Duration::from_millis(50);
/// The most of a load that ends after so many calls.
const COUNTED_SAMPLE_INTERVAL: Duration = Duration::from_millis(250);

/// How often the events of a scenario's steps are handed over.
const MERGE_EVERY: Duration = Duration::from_secs(1);

/// The least memory that a call in flight and a session take.
const CALL_BYTES: u64 = 2048;
const SESSION_BYTES: u64 = 8192;

/// A drawn seed has 53 bits, which every reader of JSON and TOML keeps.
const SEED_SHIFT: u32 = 11;

/// Calls per second that the generator makes at best, where that is known.
#[stored]
pub struct CalibrationFact {
    pub per_s: Option<f64>,
}

impl Fact for CalibrationFact {
    const NAME: &'static str = "calibration";
}

/// The outcome of a run, and where its files are: there may be some of one that came to nothing.
pub async fn execute(mut run: Run) -> (RunResult<Report>, Option<RunDirectory>) {
    // Once, for every sink and session.
    let server = &run.server;
    let redactor = run.session.redactor.take();
    let redactor = redactor.unwrap_or_else(|| server.redactor());
    let secrets = run.scenario.secrets();
    run.session.redactor = Some(redactor.with_secrets(secrets));
    let mut directory = None;
    let outcome = carry_out(&run, &mut directory).await;
    (outcome, directory)
}

async fn carry_out(run: &Run, directory: &mut Option<RunDirectory>) -> RunResult<Report> {
    check(run)?;
    let header = new_header(run);
    let metrics = Arc::new(MetricsSink::new());
    let mut sinks: Vec<Arc<dyn Sink>> = vec![metrics.clone()];
    let (mut trace, mut latency_log) = (None, None);
    if let Some(base) = &run.output_dir {
        let started_at = header.started_at();
        let opened = RunDirectory::create(base, started_at, &header.run_id)?;
        if header.has_trace {
            let file = Arc::new(open_trace(run, &opened.trace())?);
            sinks.push(file.clone());
            trace = Some(file);
        }
        write_config(run, &opened)?;
        latency_log = Some(LatencyLog::create(&opened.latency_log(), started_at)?);
        *directory = Some(opened);
    }
    let directory = directory.as_ref();
    // Whatever ends this future ends the drivers and their servers.
    let leash = Leash::new(&run.stop);
    let losses = Losses::default();
    let stream = EventStream::new(sinks);
    let stop = leash.stop.clone();
    let context = make_context(run, header.seed, stream, directory, stop, &losses)?;
    context.fact("", &header);
    if !run.faults.is_empty() {
        let names = run.faults.iter().map(|it| it.spec.name.clone()).collect();
        context.fact("", &PlannedFaultsFact { names });
    }
    // First of all in the trace, so that even a run that is killed can be told.
    context.recorder.merge();
    if run.calibration {
        calibrate(&context).await;
    }
    let mut watching = Watch {
        context: context.clone(),
        metrics: Arc::clone(&metrics),
        latency_log,
        losses: losses.clone(),
        handler: run.on_progress.clone(),
        progress: Progress::default(),
        last: Instant::now(),
        meter: RateMeter::default(),
    };
    let outcome = match Sampler::start(&context, sample_interval(&run.scenario)) {
        // It works until it is dropped.
        Ok(_sampler) => tokio::select! {
            outcome = act(&context) => outcome,
            never = watching.watch() => match never {},
            never = leash.follow(run.server.shutdown_timeout) => match never {},
        },
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        if let Some(directory) = directory {
            discard(directory);
        }
        return Err(error);
    }
    if let Some(strict) = &context.strict {
        context.note_verdict(&strict.verdict());
    }
    let known = std::slice::from_ref(&run.scenario);
    let report_of = |ending| {
        context.recorder.merge();
        assemble(&metrics.snapshot(), known, ending)?
            .ok_or_else(|| RunError::Internal("the run left no header".into()))
    };
    let ending = Ending {
        duration: context.stream.started().elapsed(),
        interrupted: !context.stop.is_running(),
    };
    // What they find is noted, so that a report computed again has it too.
    for check in &run.checks {
        context.note_verdict(&found_by(check, &report_of(Some(ending))?));
    }
    context.fact("", &ending);
    let mut report = report_of(None)?;
    watching.close_interval();
    report.trace = trace.as_ref().map(|trace| {
        let summary = trace.summary();
        TraceStats {
            events: summary.written,
            bytes: summary.bytes,
        }
    });
    let path = directory.map(RunDirectory::trace);
    report.losses = context.stream.losses(trace.as_deref().zip(path.as_deref()));
    report.losses.extend(losses.all());
    let redacted = redactor_of(run).report(&report);
    // What cannot be redacted is written nowhere.
    let redacted = redacted
        .map_err(|error| RunError::Internal(format!("the report cannot be redacted: {error}")))?;
    report = redacted.unwrap_or(report);
    if let Some(directory) = directory {
        // What was measured is not lost with the disk.
        let unwritten = directory.write_some(&report, run.files.markdown, run.files.html);
        report.losses.extend(unwritten);
        if trace.is_some() {
            report.trace_path = directory.trace();
        }
    }
    Ok(report)
}

impl From<AssembleError> for RunError {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Fact(error) => Self::Internal(error.to_string()),
            AssembleError::Scenario(own) => Self::Scenario(own),
        }
    }
}

/// What a check that was handed in finds.
fn found_by(check: &ReportCheck, report: &Report) -> Verdict {
    contain_call(|| check(report)).unwrap_or_else(|words| {
        let sentence = format!("A check of the run panicked: {words}.");
        let hint = "correct the function that was given to the run";
        Verdict::critical("check", sentence, hint)
    })
}

/// What a run that begins now is asked to do.
fn new_header(run: &Run) -> Header {
    let started_at_ms = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis();
    let started_at_ms = u64::try_from(started_at_ms).unwrap_or(u64::MAX);
    // 80 bits; the last of them also tell directories apart.
    let random = u128::from(draw()) << 64 | u128::from(draw());
    let mut scenario = run.scenario.clone();
    let common = run.thresholds.hang_limits();
    scenario.kind.as_type_mut().hang_limits(common);
    Header {
        run_id: ulid::Ulid::from_parts(started_at_ms, random).to_string(),
        started_at_ms,
        seed: run.scenario.load.seed.unwrap_or_else(draw_seed),
        target: run.server.describe(),
        scenario,
        thresholds: run.thresholds.clone(),
        faults: run.faults.clone(),
        has_trace: run.output_dir.is_some() && run.files.trace,
    }
}

fn write_config(run: &Run, directory: &RunDirectory) -> RunResult {
    let Some(config) = &run.config else {
        return Ok(());
    };
    let config = redactor_of(run).plain(config);
    check_toml(&config).map_err(|error| {
        let message = format!("config.toml cannot be redacted: {error}");
        RunError::Io(io::Error::other(message))
    })?;
    Ok(directory.write_config(&config)?)
}

fn open_trace(run: &Run, path: &Path) -> io::Result<TraceFile> {
    let file = TraceFile::create(path)
        .map_err(at("create", path))?
        .with_value_bytes_max(run.trace_value_bytes);
    Ok(file.with_redactor(redactor_of(run)))
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

fn check(run: &Run) -> RunResult {
    faults::check(&run.faults, &run.scenario.kind, &run.server.transport)?;
    if let Some(problem) = run.scenario.problems.first() {
        return Err(RunError::Config(problem.clone()));
    }
    check_session(run)?;
    let call_timeout = run.session.call_timeout;
    if let Some(problem) = too_short(&run.scenario.kind, &run.thresholds, call_timeout) {
        return Err(RunError::Config(problem));
    }
    let mut calls = run.scenario.tool_calls.iter();
    if calls.any(|call| call.name.is_empty()) {
        let message = "arguments were given without a tool";
        return Err(RunError::Config(message.into()));
    }
    if let ScenarioKind::Custom(custom) = &run.scenario.kind {
        custom.check().map_err(RunError::Config)?;
    }
    let load = &run.scenario.load;
    for settings in [
        run.scenario.kind.as_type() as &dyn Settings,
        load,
        &run.thresholds,
    ] {
        setting::check(settings).map_err(|errors| RunError::Config(errors.into()))?;
    }
    if load.strict && !mcprove_arguments::CAN_CHECK {
        return Err(RunError::Config(Diagnostic::new(
            sentence!("{} needs the feature `schema`", setting_name("strict")),
            "add it to the features of mcprove in Cargo.toml",
        )));
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
            sentence!(
                "lower {}, {} or {}",
                setting_name("concurrent"),
                setting_name("max_in_flight"),
                setting_name("sessions")
            ),
        )));
    }
    Ok(())
}

/// Refuses the options of sessions that a run would replace by its own.
fn check_session(run: &Run) -> RunResult {
    let session = &run.session;
    let own = [
        ("hang_limits", session.hang_limits.is_some()),
        ("known_era", session.known_era.is_some()),
        ("session_number", session.session_number != 0),
        ("layer", session.layer.is_some() && !run.faults.is_empty()),
    ];
    match own.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(RunError::Config(Diagnostic::new(
            sentence!("a run sets the session option {} itself", quoted(option)),
            "leave it out: the run takes it from its thresholds, its faults or the server",
        ))),
        None => Ok(()),
    }
}

fn make_context(
    run: &Run,
    seed: u64,
    stream: EventStream,
    directory: Option<&RunDirectory>,
    stop: Stop,
    losses: &Losses,
) -> RunResult<RunContext> {
    let mut options = run.session.clone();
    options.losses = losses.clone();
    options.hang_limits = Some(run.scenario.kind.hang_limits(&run.thresholds));
    // All sessions with an address have one server, those with a command one each.
    if run.server.transport != Transport::Stdio {
        let lost = Arc::clone(&options.lost_time);
        let progress = || Arc::new(ServerProgress::losing(lost));
        options.progress.get_or_insert_with(progress);
    }
    let scenario = &run.scenario;
    let most = scenario.kind.concurrent().max(scenario.load.max_in_flight);
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
    let timed: Vec<_> = run.faults.iter().map(LoadFault::timed).collect();
    let faults = (!timed.is_empty()).then(|| TimedInjector::new(&timed, seed));
    Ok(RunContext::new(SharedRun::new(
        run, options, seed, faults, stream, stop,
    )))
}

/// Does something on a thread of its own, so that the caller's runtime neither waits for it nor disturbs it.
async fn on_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> RunResult<T> {
    let (tell, told) = oneshot::channel();
    spawn_thread(name, move || tell.send(work()).is_ok())?;
    told.await
        .map_err(|_| RunError::Internal("the driver thread panicked".into()))
}

/// Finds out what the generator can do at best.
async fn calibrate(context: &RunContext) {
    let calibrated = on_thread("mcprove-calibration", calibration::calibrate).await;
    if let Ok(per_s) = calibrated {
        context.fact("", &CalibrationFact { per_s });
        context.recorder.merge();
    }
}

fn sample_interval(scenario: &Scenario) -> Duration {
    let kind = &scenario.kind;
    let interval = match (kind.as_type().sample_interval(), kind.duration()) {
        (Some(own), _) => own.max(SAMPLE_INTERVAL_MIN),
        (None, Some(duration)) => scenario::sample_interval(duration),
        (None, None) => SAMPLE_INTERVAL,
    };
    // So many calls may be done long before the time is over.
    match scenario.load.calls {
        Some(_) => interval.min(COUNTED_SAMPLE_INTERVAL),
        None => interval,
    }
}

/// Lets the scenario act.
async fn act(context: &RunContext) -> RunResult {
    let scenario = &context.scenario;
    if let Some(plan) = scenario.kind.as_type().plan(&scenario.load)? {
        return execute_plan(context, plan).await;
    }
    let context = context.for_thread();
    on_thread("mcprove-driver-0", move || take_steps(&context)).await?
}

/// Lets a scenario take its steps, on a runtime of its own.
fn take_steps(context: &RunContext) -> RunResult {
    let runtime = thread_runtime()?;
    // Should the run be killed, its trace tells what there was.
    let handing_over = async {
        let mut each = tokio::time::interval(MERGE_EVERY);
        loop {
            each.tick().await;
            context.recorder.merge();
        }
    };
    let kind = &context.scenario.kind;
    let outcome = runtime.block_on(async {
        let mut steps = std::pin::pin!(contain(kind.as_type().drive(context)));
        tokio::select! {
            outcome = &mut steps => outcome,
            () = context.drained() => {
                // No step is taken any more, but none is dropped either, which would kill its server.
                context.end_open().await;
                Ok(Ok(()))
            }
            () = handing_over => Ok(Ok(())),
        }
    });
    context.recorder.merge();
    runtime.shutdown_background();
    outcome.unwrap_or_else(|words| {
        let message = format!("the scenario {} panicked: {words}", kind.name());
        Err(RunError::Scenario(message.into()))
    })
}

/// A seed that nobody can foresee.
pub fn draw_seed() -> u64 {
    draw() >> SEED_SHIFT
}

/// A number that nobody can foresee: a seed, or part of an id.
pub fn draw() -> u64 {
    // Only a system without a source of randomness has none.
    getrandom::u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_sessions_that_a_run_sets_itself_are_refused() {
        let server = || Server::http("http://127.0.0.1:1/mcp");
        let run = || Run::new(server(), crate::drive::Scenario::sustained());
        let with = |set: fn(&mut SessionOptions)| {
            let mut session = SessionOptions::default();
            set(&mut session);
            session
        };
        let cases = [
            (
                "hang_limits",
                with(|it| it.hang_limits = Some(HangLimits::default())),
            ),
            ("known_era", with(|it| it.known_era = Some(Era::Stateless))),
            ("session_number", with(|it| it.session_number = 3)),
        ];
        for (option, session) in cases {
            let error = check(&run().with_session(session)).unwrap_err();
            let expected = format!("a run sets the session option `{option}` itself");
            assert!(error.to_string().contains(&expected), "{error}");
        }
        let spec = || "slow:20".parse::<FaultSpec>().unwrap();
        let faults = crate::faulty::Faults::new(vec![spec()], 1);
        let mut session = SessionOptions::default();
        session.layer = Some(Arc::new(faults));
        check(&run().with_session(session.clone())).unwrap();
        let fault = LoadFault::new(spec());
        let error = check(&run().with_session(session).with_faults(vec![fault])).unwrap_err();
        assert!(error.to_string().contains("`layer`"), "{error}");
    }
}
