//! What a proxy costs: CPU time of its process per message over stdio and per exchange over HTTP, and the
//! memory that it takes for much traffic.
//!
//! Run by `cargo xtask bench`, which builds the program that is the proxy and the server behind it. Prints
//! one JSON object per measurement on stdout. Beside each figure stands what the same traffic costs
//! without the proxy, or through the leanest program that can stand in its place.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use mcprove_client::server::Server;
use mcprove_client::session::{Request, Session, SessionOptions};
use mcprove_trace::stream::EventStream;
use measuring::{Figure, Listening, Outcome, Selection, cpu_us, median, program, runtime};
use serde_json::json;

/// Each figure is the median of this many rounds.
const ROUNDS: usize = 5;
/// What a message over stdio may cost, in µs.
const STDIO_TARGET: f64 = 15.0;
/// What an exchange over HTTP may cost, in µs.
const HTTP_TARGET: f64 = 40.0;
const STDIO_CALLS: usize = 20_000;
const HTTP_CALLS: usize = 20_000;
const HTTP_CONNECTIONS: usize = 16;
const LARGE_MESSAGES: usize = 10_000;
const LARGE_BYTES: usize = 64 * 1024;

/// A fault that is looked for in every call, and strikes none.
const FAULTS: &[&str] = &["--fault", "hang,tool=nobody"];

/// Name, arguments of the proxy, calls in flight.
const STDIO: &[(&str, &[&str], usize)] = &[
    ("proxy, stdio, 1 in flight", &[], 1),
    ("proxy, stdio, 100 in flight", &[], 100),
    ("proxy, stdio, 1 in flight, a fault elsewhere", FAULTS, 1),
    (
        "proxy, stdio, 1 in flight, recording",
        &["--record", "/dev/null"],
        1,
    ),
];

const HTTP: &[(&str, &[&str])] = &[
    ("proxy, HTTP, 16 connections", &[]),
    ("proxy, HTTP, 16 connections, a fault elsewhere", FAULTS),
    (
        "proxy, HTTP, 16 connections, a fault elsewhere, recording",
        &["--fault", "hang,tool=nobody", "--record", "/dev/null"],
    ),
];

fn main() -> Outcome<()> {
    let program = program()?;
    let selection = Selection::from_arguments();
    for (name, arguments, in_flight) in STDIO {
        if selection.wants(name) {
            measure_stdio(&program, name, arguments, *in_flight)?;
        }
    }
    for (name, arguments) in HTTP {
        if selection.wants(name) {
            measure_http(&program, name, arguments)?;
        }
    }
    let name = "proxy, stdio, memory for 10,000 messages of 64 KiB";
    if selection.wants(name) {
        let growth = memory(&program)?;
        Figure::new(name, growth, "KiB").at_most(4096.0).print();
    }
    Ok(())
}

/// The CPU time of all threads of a process, in microseconds.
fn cpu_of(process: u32) -> Outcome<f64> {
    let mut nanoseconds = 0.0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let statistics = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let first = statistics.split(' ').next().ok_or("no schedstat")?;
        nanoseconds += first.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e3)
}

/// A process between two pipes.
struct Piped {
    child: Child,
    name: String,
}

impl Piped {
    fn start(command: &mut Command) -> Outcome<Self> {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            name: format!("{command:?}"),
            child,
        })
    }

    /// Makes calls, so many at a time, and gives the CPU time of the process for each message.
    fn cpu_per_message(mut self, in_flight: usize, calls: usize) -> Outcome<f64> {
        let mut input = self.child.stdin.take().ok_or("no stdin")?;
        let output = self.child.stdout.take().ok_or("no stdout")?;
        let mut output = BufReader::with_capacity(256 * 1024, output);
        let mut line = String::new();
        let mut make = |calls: usize| -> Outcome<()> {
            let mut id = 0;
            while id < calls {
                let mut batch = String::new();
                let count = in_flight.min(calls - id);
                for number in id..id + count {
                    batch.push_str(&call(number));
                }
                input.write_all(batch.as_bytes())?;
                for _ in 0..count {
                    line.clear();
                    if output.read_line(&mut line)? == 0 {
                        return Err("it ended".into());
                    }
                }
                id += count;
            }
            Ok(())
        };
        make(calls / 10)?;
        let before = cpu_of(self.child.id())?;
        make(calls)?;
        let used = cpu_of(self.child.id())? - before;
        drop(input);
        self.child.wait()?;
        eprintln!("{}: {used:.0} µs", self.name);
        #[allow(clippy::cast_precision_loss)]
        Ok(used / (2 * calls) as f64)
    }
}

fn call(id: usize) -> String {
    let params = json!({ "name": "echo", "arguments": { "message": "hello" } });
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    format!("{call}\n")
}

fn measure_stdio(program: &str, name: &str, arguments: &[&str], in_flight: usize) -> Outcome<()> {
    let mut copied = Vec::new();
    let value = median(ROUNDS, || {
        // Both directions through one `cat`: what a copy costs, and nothing else.
        let cat = Piped::start(&mut Command::new("cat"))?;
        copied.push(cat.cpu_per_message(in_flight, STDIO_CALLS)? * 2.0);
        let proxy = Piped::start(
            Command::new(program)
                .args(["proxy", "--quiet"])
                .args(arguments)
                .args(["--", program, "fixture", "echo"]),
        )?;
        proxy.cpu_per_message(in_flight, STDIO_CALLS)
    })?;
    copied.sort_by(f64::total_cmp);
    let copied = copied.get(ROUNDS / 2).copied().unwrap_or_default();
    Figure::new(name, value, "µs/message")
        .at_most(STDIO_TARGET)
        .beside(format!("cat {copied:.2}"))
        .print();
    Ok(())
}

fn measure_http(program: &str, name: &str, arguments: &[&str]) -> Outcome<()> {
    let echo = Listening::start(program, "echo")?;
    let mut direct = Vec::new();
    let value = median(ROUNDS, || {
        let before = cpu_us();
        drive(&echo.url)?;
        #[allow(clippy::cast_precision_loss)]
        direct.push((cpu_us() - before) / HTTP_CALLS as f64);
        let mut child = Command::new(program)
            .args(["proxy", "--listen", "127.0.0.1:0", "--url", &echo.url])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        let line = BufReader::new(stderr).lines().next();
        let line = line.ok_or("the proxy ended")??;
        let url = line.trim_start_matches("listening on ").to_owned();
        let before = cpu_of(child.id())?;
        let driven = drive(&url);
        let used = cpu_of(child.id()).map(|after| after - before);
        child.kill()?;
        child.wait()?;
        driven?;
        #[allow(clippy::cast_precision_loss)]
        used.map(|used| used / HTTP_CALLS as f64)
    })?;
    direct.sort_by(f64::total_cmp);
    let direct = direct.get(ROUNDS / 2).copied().unwrap_or_default();
    Figure::new(name, value, "µs/exchange")
        .at_most(HTTP_TARGET)
        .beside(format!("our client, direct {direct:.2}"))
        .print();
    Ok(())
}

/// Makes calls to the server at `url` with our own client.
fn drive(url: &str) -> Outcome<()> {
    runtime()?.block_on(async {
        let options = SessionOptions::default().with_max_connections(HTTP_CONNECTIONS);
        let recorder = EventStream::unobserved().recorder();
        let session = Session::connect_recorded(&Server::http(url), options, recorder).await?;
        let session = Arc::new(session);
        let request = session.tool_request("echo", &json!({ "message": "hello" }));
        let request = Arc::new(request);
        let workers: Vec<_> = (0..HTTP_CONNECTIONS)
            .map(|_| tokio::spawn(repeat(Arc::clone(&session), Arc::clone(&request))))
            .collect();
        let mut failed = 0;
        for worker in workers {
            failed += worker.await?;
        }
        if failed > 0 {
            return Err(format!("{failed} calls failed").into());
        }
        Ok(())
    })
}

async fn repeat(session: Arc<Session>, request: Arc<Request>) -> usize {
    let mut failed = 0;
    for _ in 0..HTTP_CALLS / HTTP_CONNECTIONS {
        if session.request_once(&request).await.is_err() {
            failed += 1;
        }
    }
    failed
}

/// How much the resident memory of the proxy grows while many large messages pass, in KiB.
fn memory(program: &str) -> Outcome<f64> {
    let mut proxy = Piped::start(
        Command::new(program)
            .args(["proxy", "--quiet"])
            .args(FAULTS)
            .args(["--", "cat"]),
    )?;
    let mut input = proxy.child.stdin.take().ok_or("no stdin")?;
    let mut output = proxy.child.stdout.take().ok_or("no stdout")?;
    let mut message = vec![b'x'; LARGE_BYTES - 1];
    message.push(b'\n');
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; LARGE_BYTES];
        let mut total = 0;
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            total += length;
        }
        total
    });
    for _ in 0..100 {
        input.write_all(&message)?;
    }
    let before = peak_kib(proxy.child.id())?;
    for _ in 100..LARGE_MESSAGES {
        input.write_all(&message)?;
    }
    let after = peak_kib(proxy.child.id())?;
    drop(input);
    let total = reading.join().map_err(|_| "the reader failed")?;
    proxy.child.wait()?;
    if total != LARGE_MESSAGES * LARGE_BYTES {
        return Err(format!("only {total} bytes came back").into());
    }
    Ok(after - before)
}

fn peak_kib(process: u32) -> Outcome<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
