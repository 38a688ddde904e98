//! What a call costs the client, and what it costs others on the same server.
//!
//! Run by `cargo xtask bench`, which builds the program whose built-in `echo` server is driven.
//! Prints one JSON object per measurement on stdout, and what it does on stderr. The figure is CPU
//! time of this process per call: it is steady where elapsed time is not.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::server::Server;
use mcprove_client::session::{Request, Session, SessionOptions};
use mcprove_settings::secret::Redactor;
use mcprove_trace::stream::{EventStream, MetricsSink, Sink, TraceFile};
use measuring::reference::{lean_client, raw_pipe, wrk};
use measuring::{
    Figure, Listening, Outcome, SECRETS, Selection, cpu_us, median, program, runtime, secrets,
};
use serde_json::json;

/// Each figure is the median of this many rounds.
const ROUNDS: usize = 5;

/// One way to call over stdio.
struct Stdio {
    name: &'static str,
    in_flight: usize,
    calls: usize,
    /// Whether everything is written to a trace, and how many secrets that redacts.
    trace: Option<usize>,
    /// What a call may cost in µs, where a lean client takes `lean` for it.
    target: f64,
    lean: f64,
}

const STDIO: &[Stdio] = &[
    Stdio {
        name: "stdio, 1 in flight, metrics on",
        in_flight: 1,
        calls: 30_000,
        trace: None,
        target: 5.0,
        lean: 3.9,
    },
    Stdio {
        name: "stdio, 100 in flight, metrics on",
        in_flight: 100,
        calls: 300_000,
        trace: None,
        target: 1.0,
        lean: 0.55,
    },
    Stdio {
        name: "stdio, 1000 in flight, metrics on",
        in_flight: 1000,
        calls: 300_000,
        trace: None,
        target: 1.0,
        lean: 0.52,
    },
    Stdio {
        name: "stdio, 1000 in flight, metrics and full trace",
        in_flight: 1000,
        calls: 300_000,
        trace: Some(0),
        target: 2.0,
        lean: 0.52,
    },
    Stdio {
        name: "stdio, 1000 in flight, metrics, full trace and 20 known secrets",
        in_flight: 1000,
        calls: 300_000,
        trace: Some(SECRETS),
        target: 2.0,
        lean: 0.52,
    },
    Stdio {
        name: "stdio, 5000 in flight, metrics on",
        in_flight: 5000,
        calls: 100_000,
        trace: None,
        target: 2.0,
        lean: 0.52,
    },
];

/// Name, connections, calls, target.
const HTTP: &[(&str, usize, usize, f64)] = &[
    ("HTTP, 64 connections, metrics on", 64, 40_000, 12.0),
    ("HTTP, 2000 connections, metrics on", 2000, 20_000, 40.0),
];

fn main() -> Outcome<()> {
    let program = program()?;
    let selection = Selection::from_arguments();
    mcprove_settings::own_limits::raise_descriptor_limit();

    for case in STDIO.iter().filter(|case| selection.wants(case.name)) {
        measure_stdio(&program, case)?;
    }
    if HTTP.iter().any(|(name, ..)| selection.wants(name)) {
        measure_http(&program, selection.has("--wrk"))?;
    }
    let name = "trace events written";
    if selection.wants(name) {
        Figure::new(name, median(ROUNDS, trace_rate)?, "M/s")
            .at_least(1.0)
            .print();
    }
    Ok(())
}

/// Machines differ, so what a call may cost is what it may cost beside a lean client on this one;
/// and never less than the target says.
fn measure_stdio(program: &str, case: &Stdio) -> Outcome<()> {
    let Stdio {
        in_flight, calls, ..
    } = *case;
    let floor = median(ROUNDS, || raw_pipe(program, in_flight.min(1000), calls))?;
    let mut lean = Vec::new();
    // In turns, for the machine may change its pace.
    let value = median(ROUNDS, || {
        lean.push(lean_client(program, in_flight, calls)?);
        stdio(program, in_flight, calls, case.trace)
    })?;
    lean.sort_by(f64::total_cmp);
    let lean = lean[ROUNDS / 2];
    Figure::new(case.name, value, "µs/call")
        .at_most(case.target.max(case.target / case.lean * lean))
        .beside(format!("lean client {lean:.2}, raw pipe {floor:.2}"))
        .print();
    Ok(())
}

fn measure_http(program: &str, with_wrk: bool) -> Outcome<()> {
    let echo = Listening::start(program, "echo")?;
    let wrk = if with_wrk {
        Some(median(ROUNDS, || wrk(&echo.url))?)
    } else {
        None
    };
    for (name, connections, calls, target) in HTTP {
        let value = median(ROUNDS, || http(&echo.url, *connections, *calls))?;
        let by_wrk = if *connections == 64 { wrk } else { None };
        let figure = Figure::new(*name, value, "µs/call")
            .at_most(by_wrk.map_or(*target, |wrk| target.min(1.5 * wrk)));
        match wrk {
            Some(wrk) => figure.beside(format!("wrk, 64 connections {wrk:.2}")),
            None => figure,
        }
        .print();
    }
    Ok(())
}

/// Drives `in_flight` calls at a time until `calls` are done; microseconds of CPU per call.
async fn drive(session: Arc<Session>, in_flight: usize, calls: usize) -> Outcome<f64> {
    let request = Arc::new(session.tool_request("echo", &json!({ "message": "hello" })));
    let per_worker = calls / in_flight;
    let work = |count: usize| {
        let workers: Vec<_> = (0..in_flight)
            .map(|_| tokio::spawn(repeat(Arc::clone(&session), Arc::clone(&request), count)))
            .collect();
        async move {
            let mut failed = 0;
            for worker in workers {
                failed += worker.await.unwrap_or(count);
            }
            failed
        }
    };
    work(per_worker / 10 + 1).await;
    let before = cpu_us();
    let failed = work(per_worker).await;
    let used = cpu_us() - before;
    if failed > 0 {
        return Err(format!("{failed} calls failed").into());
    }
    #[allow(clippy::cast_precision_loss)]
    Ok(used / (per_worker * in_flight) as f64)
}

async fn repeat(session: Arc<Session>, request: Arc<Request>, count: usize) -> usize {
    let mut failed = 0;
    for _ in 0..count {
        if black_box(session.request_once(&request).await).is_err() {
            failed += 1;
        }
    }
    failed
}

fn stdio(program: &str, in_flight: usize, calls: usize, trace: Option<usize>) -> Outcome<f64> {
    let shown = trace.map(|secrets| format!(", trace, {secrets} secrets"));
    let shown = shown.unwrap_or_default();
    eprintln!("stdio, {in_flight} in flight{shown}");
    let mut sinks: Vec<Arc<dyn Sink>> = vec![Arc::new(MetricsSink::new())];
    let folder = tempfile::tempdir()?;
    if let Some(count) = trace {
        let trace = TraceFile::create(&folder.path().join("trace.jsonl"))?;
        let redactor = Redactor::new(secrets(count));
        sinks.push(Arc::new(trace.with_redactor(redactor)));
    }
    let server = Server::stdio(program).args(["fixture", "echo"]);
    measure(&server, SessionOptions::default(), sinks, in_flight, calls)
}

fn http(url: &str, connections: usize, calls: usize) -> Outcome<f64> {
    eprintln!("HTTP, {connections} connections");
    let options = SessionOptions::default().with_max_connections(connections);
    let sinks: Vec<Arc<dyn Sink>> = vec![Arc::new(MetricsSink::new())];
    measure(&Server::http(url), options, sinks, connections, calls)
}

fn measure(
    server: &Server,
    options: SessionOptions,
    sinks: Vec<Arc<dyn Sink>>,
    in_flight: usize,
    calls: usize,
) -> Outcome<f64> {
    runtime()?.block_on(async {
        let stream = EventStream::new(sinks);
        let session = Session::connect_recorded(server, options, stream.recorder()).await?;
        let session = Arc::new(session);
        let value = drive(Arc::clone(&session), in_flight, calls).await;
        if let Ok(session) = Arc::try_unwrap(session) {
            session.close().await;
        }
        value
    })
}

/// Trace lines per microsecond, that is, millions per second.
fn trace_rate() -> Outcome<f64> {
    use mcprove_trace::{CallTag, EventKind, RequestKey};
    const EVENTS: u32 = 1_000_000;
    eprintln!("trace writer");
    let folder = tempfile::tempdir()?;
    let trace = TraceFile::create(&folder.path().join("trace.jsonl"))?;
    let trace = Arc::new(trace.with_redactor(Redactor::new(secrets(SECRETS))));
    let recorder = EventStream::new(vec![trace]).recorder();
    let now = Instant::now();
    let before = cpu_us();
    for id in 0..EVENTS {
        let kind = EventKind::Response {
            request: RequestKey {
                session: 0,
                id: id.into(),
            },
            method: "tools/call",
            tool: Some("echo"),
            duration: Duration::from_nanos(u64::from(id)),
            result: r#"{"content":[{"type":"text","text":"hello"}]}"#,
            tag: CallTag::default(),
        };
        recorder.record(now, kind);
    }
    drop(recorder);
    Ok(f64::from(EVENTS) / (cpu_us() - before))
}
