//! What a call costs the client, and what it costs others on the same server.
//!
//! Run by `cargo xtask bench`, which builds the program whose built-in `echo` server is driven.
//! Prints one JSON object per measurement on stdout, and what it does on stderr. The figure is CPU
//! time of this process per call: it is steady where elapsed time is not.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove::Server;
use mcprove::event::{EventStream, MetricsSink, Sink, TraceFile};
use mcprove::session::{Request, Session, SessionOptions};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Each figure is the median of this many rounds.
const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let program = std::env::var("MCPROVE_BIN").map_err(|_| "run this by `cargo xtask bench`")?;
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let with_wrk = arguments.iter().any(|argument| argument == "--wrk");
    arguments.retain(|argument| !argument.starts_with("--"));
    let is_wanted =
        |name: &str| arguments.is_empty() || arguments.iter().any(|part| name.contains(part));
    mcprove::process::raise_descriptor_limit();

    let mut raw = None;
    let mut ping_pong = None;
    for (name, in_flight, calls, with_trace, target) in STDIO {
        if is_wanted(name) {
            let (reference, name_of_reference) = if *in_flight == 1 {
                let value = match ping_pong {
                    Some(value) => value,
                    None => *ping_pong.insert(median(|| raw_pipe(&program, 1, 30_000))?),
                };
                (value, "raw ping-pong")
            } else {
                let value = match raw {
                    Some(value) => value,
                    None => *raw.insert(median(|| raw_pipe(&program, 1000, 200_000))?),
                };
                (value, "raw pipe")
            };
            // One call at a time is mostly going to sleep and waking up, which costs what the
            // machine makes of it: the target is a ratio.
            let target = if *in_flight == 1 {
                target.max(PING_PONG_RATIO * reference)
            } else {
                *target
            };
            let value = median(|| stdio(&program, *in_flight, *calls, *with_trace))?;
            report(
                name,
                value,
                "µs/call",
                target,
                Some(reference),
                name_of_reference,
            );
        }
    }
    if HTTP.iter().any(|(name, ..)| is_wanted(name)) {
        let echo = HttpEcho::start(&program)?;
        let wrk = if with_wrk {
            Some(median(|| wrk(&echo.url))?)
        } else {
            None
        };
        for (name, connections, calls, target) in HTTP {
            let value = median(|| http(&echo.url, *connections, *calls))?;
            let by_wrk = if *connections == 64 { wrk } else { None };
            let target = by_wrk.map_or(*target, |wrk| target.min(1.5 * wrk));
            report(name, value, "µs/call", target, wrk, "wrk, 64 connections");
        }
    }
    if is_wanted("trace events written") {
        report(
            "trace events written",
            median(trace_rate)?,
            "M/s",
            1.0,
            None,
            "",
        );
    }
    Ok(())
}

/// What one call at a time may cost, as a multiple of the bare writes and reads: 5 µs against the
/// 2.9 µs of a blocking ping-pong.
const PING_PONG_RATIO: f64 = 5.0 / 2.9;

/// Name, calls in flight, calls, whether the trace is written, target.
const STDIO: &[(&str, usize, usize, bool, f64)] = &[
    ("stdio, 1 in flight, metrics on", 1, 30_000, false, 5.0),
    ("stdio, 100 in flight, metrics on", 100, 300_000, false, 1.0),
    (
        "stdio, 1000 in flight, metrics on",
        1000,
        300_000,
        false,
        1.0,
    ),
    (
        "stdio, 1000 in flight, metrics and full trace",
        1000,
        300_000,
        true,
        2.0,
    ),
    (
        "stdio, 5000 in flight, metrics on",
        5000,
        100_000,
        false,
        2.0,
    ),
];

/// Name, connections, calls, target.
const HTTP: &[(&str, usize, usize, f64)] = &[
    ("HTTP, 64 connections, metrics on", 64, 40_000, 12.0),
    ("HTTP, 2000 connections, metrics on", 2000, 20_000, 40.0),
];

/// One line for `cargo xtask bench`. Rates are met from below, costs from above.
fn report(
    name: &str,
    value: f64,
    unit: &str,
    target: f64,
    reference: Option<f64>,
    reference_name: &str,
) {
    let is_met = if unit.ends_with("/s") {
        value >= target
    } else {
        value <= target
    };
    let line = json!({
        "name": name, "value": value, "unit": unit, "target": target, "met": is_met,
        "reference": reference, "reference_name": reference_name,
    });
    println!("{line}");
}

fn median(mut measure: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    let mut values = (0..ROUNDS)
        .map(|_| measure())
        .collect::<Outcome<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    Ok(values[ROUNDS / 2])
}

/// The CPU time that this process has used, in microseconds.
fn cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[allow(clippy::cast_precision_loss)]
    {
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    }
}

fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
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

fn stdio(program: &str, in_flight: usize, calls: usize, with_trace: bool) -> Outcome<f64> {
    eprintln!(
        "stdio, {in_flight} in flight{}",
        if with_trace { ", trace" } else { "" }
    );
    let mut sinks: Vec<Arc<dyn Sink>> = vec![Arc::new(MetricsSink::new())];
    let folder = tempfile::tempdir()?;
    if with_trace {
        sinks.push(Arc::new(TraceFile::create(
            &folder.path().join("trace.jsonl"),
        )?));
    }
    let server = Server::stdio(program).args(["fixture", "echo"]);
    measure(&server, SessionOptions::default(), sinks, in_flight, calls)
}

fn http(url: &str, connections: usize, calls: usize) -> Outcome<f64> {
    eprintln!("HTTP, {connections} connections");
    let options = SessionOptions {
        max_connections: connections,
        ..SessionOptions::default()
    };
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
        let session = Session::connect(server, options, stream.recorder()).await?;
        let session = Arc::new(session);
        let value = drive(Arc::clone(&session), in_flight, calls).await;
        if let Ok(session) = Arc::try_unwrap(session) {
            session.close().await;
        }
        value
    })
}

/// The floor: the same bytes through the same server, with no parsing and no matching.
fn raw_pipe(program: &str, batch_size: usize, calls: usize) -> Outcome<f64> {
    use std::io::{Read, Write};
    eprintln!("reference: raw pipe, {batch_size} at a time");
    let mut child = Command::new(program)
        .args(["fixture", "echo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    let params = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"message":"hello"}}"#;
    let batch: Vec<u8> = (1..=batch_size)
        .flat_map(|id| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n")
                .into_bytes()
        })
        .collect();
    let mut buffer = vec![0; 256 * 1024];
    let before = cpu_us();
    for _ in 0..calls / batch_size {
        input.write_all(&batch)?;
        let mut answered = 0;
        while answered < batch_size {
            let count = output.read(&mut buffer)?;
            if count == 0 {
                return Err("the echo server ended".into());
            }
            answered += memchr::memchr_iter(b'\n', &buffer[..count]).count();
        }
    }
    let used = cpu_us() - before;
    drop(input);
    child.wait()?;
    #[allow(clippy::cast_precision_loss)]
    Ok(used / calls as f64)
}

/// Trace lines per microsecond, that is, millions per second.
fn trace_rate() -> Outcome<f64> {
    use mcprove_score::trace::{CallTag, EventKind, RequestKey};
    const EVENTS: u32 = 1_000_000;
    eprintln!("trace writer");
    let folder = tempfile::tempdir()?;
    let trace = Arc::new(TraceFile::create(&folder.path().join("trace.jsonl"))?);
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

/// The built-in echo server on a free port.
struct HttpEcho {
    child: std::process::Child,
    url: String,
}

impl HttpEcho {
    fn start(program: &str) -> Outcome<Self> {
        use std::io::{BufRead, BufReader};
        let mut child = Command::new(program)
            .args(["fixture", "echo", "--http", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        let line = BufReader::new(stderr)
            .lines()
            .next()
            .ok_or("the echo server ended")??;
        let url = line.trim_start_matches("listening on ").to_owned();
        Ok(Self { child, url })
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for HttpEcho {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the same request costs wrk: microseconds of CPU per request.
fn wrk(url: &str) -> Outcome<f64> {
    eprintln!("reference: wrk");
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("call.lua");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"message":"hello"}}}"#;
    std::fs::write(
        &script,
        format!(
            "wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.headers['Accept'] = 'application/json, text/event-stream'\nwrk.headers['MCP-Protocol-Version'] = '2026-07-28'\nwrk.headers['Mcp-Method'] = 'tools/call'\nwrk.headers['Mcp-Name'] = 'echo'\n"
        ),
    )?;
    let command = format!(
        "TIMEFORMAT='cpu %U %S'; time wrk -t1 -c64 -d2s -s {} {url}",
        script.display()
    );
    let output = Command::new("bash").args(["-c", &command]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("Non-2xx") {
        return Err(format!("wrk was refused: {text}").into());
    }
    let requests: f64 = text
        .lines()
        .find_map(|line| {
            line.trim()
                .split_once(" requests in ")
                .map(|(count, _)| count.trim().parse())
        })
        .ok_or("wrk printed no count")??;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let cpu = errors
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .ok_or("bash printed no time")?;
    let seconds: f64 = cpu
        .split_whitespace()
        .filter_map(|part| part.parse::<f64>().ok())
        .sum();
    Ok(seconds * 1e6 / requests)
}
