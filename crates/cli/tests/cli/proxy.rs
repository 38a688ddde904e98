//! `mcprove proxy`: between our own client and servers, over stdio and HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use mcprove::Server;
use mcprove::event::EventStream;
use mcprove::proxy::ProxySummary;
use mcprove::proxy::summary::NextStep;
use mcprove::session::{Session, SessionOptions};
use serde_json::Value;

use crate::support::{MCPROVE, mcprove, run, wait};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Runs `mcprove proxy` with these arguments and this input.
fn proxy(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let all = [&["proxy"], arguments].concat();
    let mut child = start(&mut mcprove(&all));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let (mut out, mut err) = (String::new(), String::new());
    let mut stderr = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        stderr.read_to_string(&mut err).unwrap();
        err
    });
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let status = wait(&mut child).expect("it ends");
    (status.code(), out, reading.join().unwrap())
}

fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn answers(output: &str) -> Vec<Value> {
    let lines = output.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn bytes_pass_and_the_status_of_the_server_is_ours() {
    let script = "cat; echo last >&2; printf 'no newline'; exit 7";
    let (code, out, err) = proxy(&["--", "sh", "-c", script], "one\r\n\n}{ bad\nhalf");
    assert_eq!(code, Some(7));
    assert_eq!(out, "one\r\n\n}{ bad\nhalfno newline");
    assert!(err.starts_with("last\n"), "{err}");
    assert!(err.contains("messages to the server"), "{err}");
    let (code, _, err) = proxy(&["--quiet", "--", "sh", "-c", "kill -9 $$"], "");
    assert_eq!((code, err.as_str()), (Some(137), ""));
}

#[test]
fn a_fault_strikes_and_the_summary_says_so() {
    let place = tempfile::tempdir().unwrap();
    let summary = place.path().join("summary.json").display().to_string();
    let record = place.path().join("record.jsonl").display().to_string();
    let arguments = [
        "--fault",
        "error:-32050,calls=1",
        "--summary",
        &summary,
        "--record",
        &record,
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ];
    let again = CALL.replace("\"id\":1", "\"id\":2");
    let (code, out, err) = proxy(&arguments, &format!("{HELLO}\n{CALL}\n"));
    assert_eq!(code, Some(0), "{err}");
    let heard = answers(&out);
    let failed = heard.iter().find(|answer| answer["id"] == 1).unwrap();
    assert_eq!(failed["error"]["code"], -32050);
    assert!(err.contains("fault error struck 1 call of echo"), "{err}");

    let (_, out, _) = proxy(&arguments, &format!("{HELLO}\n{CALL}\n{again}\n"));
    assert_eq!(answers(&out).len(), 3);
    let text = std::fs::read_to_string(&summary).unwrap();
    let told: ProxySummary = serde_json::from_str(&text).unwrap();
    let calls = told.calls.unwrap();
    assert_eq!((calls.calls, calls.faulted_calls.len()), (2, 1));
    assert!(matches!(
        calls.faulted_calls[0].next,
        // The retry may be on its way before the error has left.
        NextStep::Retried | NextStep::GaveUp
    ));
    crate::schema::validator("proxy-summary.v1")
        .validate(&serde_json::from_str(&text).unwrap())
        .unwrap();

    // The recording is what other commands read.
    let output = run(&["report", &record]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output
            .stdout
            .starts_with("RECORDED  2 calls: 1 ok, 1 failed"),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("fault error struck 1 call of echo"),
        "{output:?}"
    );
    let output = run(&["report", "--json", &record]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    crate::schema::validator("recording-report.v1")
        .validate(&report)
        .unwrap();
    assert_eq!(report["tools"]["echo"]["errors"]["ProtocolError"], 1);
    assert_eq!(report["is_whole"], true);
    let output = run(&["score", "--json", &record]);
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn a_recording_that_was_broken_off_is_reported_with_a_warning() {
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("record.jsonl").display().to_string();
    proxy(
        &["--record", &record, "--", MCPROVE, "fixture", "normal"],
        &format!("{HELLO}\n{CALL}\n"),
    );
    let text = std::fs::read_to_string(&record).unwrap();
    let cut = &text[..text.trim_end().rfind('\n').unwrap() + 20];
    std::fs::write(&record, cut).unwrap();
    let output = run(&["report", &record]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stderr.contains("no end"), "{output:?}");
    std::fs::write(&record, "hello\n").unwrap();
    let output = run(&["report", &record]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("record.jsonl:1:") && output.stderr.contains("hint:"));
}

#[test]
fn disconnect_and_crash_end_the_connection() {
    for (fault, status) in [("disconnect", 0), ("crash", 1)] {
        let mut child = start(&mut mcprove(&[
            "proxy", "--fault", fault, "--", MCPROVE, "fixture", "normal",
        ]));
        // Our end stays open: it is the server's that closes.
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{HELLO}").unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"result\""), "{line}");
        writeln!(stdin, "{CALL}").unwrap();
        line.clear();
        assert_eq!(stdout.read_line(&mut line).unwrap(), 0, "{line}");
        let ended = wait(&mut child).unwrap();
        assert_eq!(ended.code(), Some(status), "{fault}");
        drop(stdin);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_server_and_still_tells() {
    for signal in ["INT", "TERM"] {
        // It outlives the end of its input, and is told to end.
        let script = "echo ready; while true; do sleep 0.1; done";
        let mut child = start(&mut mcprove(&["proxy", "--", "sh", "-c", script]));
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let killed = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        let ended = wait(&mut child).unwrap();
        assert_eq!(ended.code(), Some(130), "{signal}");
        let mut err = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        assert!(err.contains("to the server"), "{err}");
    }
}

#[cfg(unix)]
#[test]
fn stderr_that_nobody_reads_holds_up_nothing() {
    let script = "yes eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee >&2 & exec cat";
    let mut child = start(&mut mcprove(&["proxy", "--", "sh", "-c", script]));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 0..20 {
        writeln!(stdin, "{number}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), number.to_string());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let ended = wait(&mut child).expect("it ends");
    assert_eq!(ended.code(), Some(130));
}

#[test]
fn the_server_and_the_address_are_named_as_elsewhere() {
    let text = format!("{MCPROVE} fixture normal");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (code, out, err) = proxy(&["-s", &text], &format!("{ping}\n"));
    assert_eq!((code, answers(&out).len()), (Some(0), 1), "{err}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for address in [
        format!("localhost:{port}"),
        format!(":{port}"),
        port.to_string(),
    ] {
        let output = run(&[
            "proxy",
            "--listen",
            &address,
            "--url",
            "http://127.0.0.1:9/mcp",
        ]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(
            output.stderr.contains(&format!("127.0.0.1:{port}")),
            "{output:?}"
        );
    }
}

#[test]
fn what_it_tells_of_itself_fits_a_small_screen() {
    let explained = run(&["proxy", "--explain"]).stdout;
    for line in explained.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_summary_says_what_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let summary = place.path().join("summary.json").display().to_string();
    let arguments = [
        "--fault",
        "error,calls=7",
        "--seed",
        "5",
        "--server-name",
        "api",
        "--summary",
        &summary,
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ];
    let (_, _, err) = proxy(&arguments, &format!("{HELLO}\n{CALL}\n"));
    assert!(err.contains("fault error struck none of 1 call"), "{err}");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    assert_eq!((&told["seed"], &told["server"]), (&5.into(), &"api".into()));
    assert_eq!(told["faults"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["calls"]["fault_totals"][0]["aimed"], 1);
}

#[test]
fn what_cannot_be_done_is_told_with_a_hint() {
    let place = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken_addr = taken.local_addr().unwrap().to_string();
    let bad = place.path().join("bad.yml");
    std::fs::write(&bad, "faults:\n  - { kind: slwo }\n").unwrap();
    let bad = bad.display().to_string();
    let nowhere = place
        .path()
        .join("no/such/folder/r.jsonl")
        .display()
        .to_string();
    let url = "http://127.0.0.1:9/mcp";
    for (arguments, part) in [
        (vec!["--", "no-such-program"], "no-such-program"),
        (vec![], "no server given"),
        (
            vec!["--fault", "slwo", "--", "cat"],
            "did you mean \"slow\"",
        ),
        (vec!["--fault", "slow:x", "--", "cat"], "delay_ms"),
        (
            vec![
                "--fault",
                "hang,name=late",
                "--fault",
                "slow,name=late",
                "--",
                "cat",
            ],
            "two faults",
        ),
        (vec!["--faults", &bad, "--", "cat"], "bad.yml:2:"),
        (vec!["--record", &nowhere, "--", "cat"], "cannot be written"),
        (vec!["--listen", &taken_addr, "--url", url], "cannot listen"),
        (
            vec!["--listen", "127.0.0.1:0", "--url", "ftp://x"],
            "http://",
        ),
        (
            vec![
                "--listen",
                "127.0.0.1:0",
                "--url",
                url,
                "--header",
                "nonsense",
            ],
            "Name: value",
        ),
    ] {
        let all = [vec!["proxy"], arguments].concat();
        let output = run(&all);
        assert_eq!(output.code, Some(2), "{all:?}: {output:?}");
        assert!(output.stderr.contains(part), "{all:?}: {output:?}");
        assert!(output.stderr.contains("hint:"), "{all:?}: {output:?}");
    }
}

#[test]
fn the_help_lists_every_kind_of_fault() {
    let output = run(&["proxy", "--help"]);
    for entry in mcprove::fault::ENTRIES {
        let name = entry.name.replace('_', "-");
        assert!(output.stdout.contains(&name), "{name}");
    }
    let output = run(&["proxy", "--explain"]);
    assert!(output.stdout.starts_with("What it does:"), "{output:?}");
}

/// A proxy over HTTP, until it is dropped.
struct HttpProxy {
    child: Child,
    url: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl HttpProxy {
    fn start(url: &str, arguments: &[&str]) -> Self {
        let all = [
            &["proxy", "--listen", "127.0.0.1:0", "--url", url],
            arguments,
        ]
        .concat();
        let mut child = start(&mut mcprove(&all));
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("listening on ").unwrap();
        Self {
            url: url.to_owned(),
            child,
            stderr,
        }
    }

    #[cfg(unix)]
    fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert_eq!(wait(&mut self.child).unwrap().code(), Some(130));
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lists the tools of a server and calls one: what our own client sees.
#[cfg(unix)]
async fn visit(server: &Server) -> (Vec<String>, String) {
    let recorder = EventStream::unobserved().recorder();
    let options = SessionOptions::default();
    let session = Session::connect(server, options, recorder).await.unwrap();
    let tools = session.list_tools().await.unwrap();
    let arguments = serde_json::json!({ "message": "hello" });
    let reply = session.call_tool("echo", &arguments).await.unwrap();
    let result = reply.result().to_owned();
    session.close().await;
    (tools.iter().map(|tool| tool.name.clone()).collect(), result)
}

#[cfg(unix)]
#[test]
fn real_servers_work_behind_it() {
    use harness::{RealServers, ServerKind};
    let servers = RealServers::locate();
    if !harness::require("real servers", servers.is_some()) {
        return;
    }
    let Some(servers) = servers else { return };
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("record.jsonl").display().to_string();
    let real = servers.stdio(ServerKind::Everything);
    let direct = Server::stdio(real.program.display().to_string()).args(real.args.clone());
    let through = Server::stdio(MCPROVE)
        .args(["proxy", "--record", &record, "--"])
        .arg(real.program.display().to_string())
        .args(real.args);
    let seen = runtime.block_on(visit(&through));
    assert_eq!(seen, runtime.block_on(visit(&direct)));
    let report = run(&["report", "--json", &record]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["tools"]["echo"]["succeeded"], 1, "{report}");

    let running = servers.start_http(ServerKind::Everything, &[]).unwrap();
    let proxy = HttpProxy::start(running.url(), &["--fault", "slow:30,tool=echo"]);
    let seen = runtime.block_on(visit(&Server::http(&proxy.url)));
    assert_eq!(seen, runtime.block_on(visit(&Server::http(running.url()))));
    let summary = proxy.stop();
    let part = "fault slow struck 1 call of echo";
    assert!(summary.contains(part), "{summary}");
}

#[test]
fn the_example_is_read() {
    let faults = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/proxy/faults.yml"
    );
    let calls: String = [("echo", 1), ("add", 2), ("echo", 3), ("echo", 4)]
        .map(|(tool, id)| {
            let call = CALL.replace("\"id\":1", &format!("\"id\":{id}"));
            call.replace("\"echo\"", &format!("\"{tool}\"")) + "\n"
        })
        .concat();
    let arguments = ["--faults", faults, "--", MCPROVE, "fixture", "normal"];
    let (code, out, err) = proxy(&arguments, &format!("{HELLO}\n{calls}"));
    assert_eq!(code, Some(0), "{err}");
    let heard = answers(&out);
    let failed: Vec<&Value> = heard
        .iter()
        .filter(|answer| answer["error"]["code"] == -32050)
        .collect();
    assert_eq!((heard.len(), failed.len()), (5, 1), "{out}");
    assert_eq!(failed[0]["id"], 2);
    assert!(err.contains("late-echo struck 2 calls of echo"), "{err}");
}

/// The most memory that a process had so far, in KiB.
#[cfg(target_os = "linux")]
fn peak_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.unwrap().trim().trim_end_matches(" kB");
    line.parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn much_traffic_takes_constant_memory() {
    const MESSAGES: usize = 10_000;
    const BYTES: usize = 64 * 1024;
    let mut child = start(&mut mcprove(&[
        "proxy",
        "--quiet",
        "--fault",
        "hang,tool=nobody",
        "--",
        "cat",
    ]));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; BYTES];
        let mut total = 0;
        while let Ok(length @ 1..) = stdout.read(&mut buffer) {
            total += length;
        }
        total
    });
    let mut message = vec![b'x'; BYTES - 1];
    message.push(b'\n');
    for _ in 0..100 {
        stdin.write_all(&message).unwrap();
    }
    let before = peak_kib(child.id());
    for _ in 100..MESSAGES {
        stdin.write_all(&message).unwrap();
    }
    let growth = peak_kib(child.id()) - before;
    drop(stdin);
    assert_eq!(reading.join().unwrap(), MESSAGES * BYTES);
    assert!(wait(&mut child).unwrap().success());
    // All of it would be 625 MiB.
    assert!(growth < 32 * 1024, "{growth} KiB");
}
