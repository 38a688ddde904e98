//! Clients that mean no good, against our own servers: whatever they send or leave unread, memory stays bounded, and
//! others are served.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::{DEADLINE, Running, assert_seen, mcprove, peak_memory_kib};

const TOOLS: &str = "tools:\n  - name: echo\n    response: fine\n";
const MEBIBYTE: usize = 1024 * 1024;

/// A server of ours, until it is dropped.
struct Served {
    process: Child,
    url: String,
    _stderr: BufReader<ChildStderr>,
}

impl Served {
    fn start(arguments: &[&str]) -> Self {
        let mut process = mcprove(arguments).stdout(Stdio::null()).spawn().unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self {
            process,
            url,
            _stderr: stderr,
        }
    }

    /// The address after the scheme.
    fn authority(&self) -> &str {
        let rest = self.url.split("//").nth(1).unwrap();
        rest.split('/').next().unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    #[track_caller]
    fn used_at_most(&self, mebibytes: u64) -> &Self {
        let used = peak_memory_kib(self.process.id()) / 1024;
        assert!(used > 0 && used <= mebibytes, "{used} MiB of {mebibytes}");
        self
    }

    /// Somebody else is served.
    #[track_caller]
    fn serves(&self) -> &Self {
        let answer = match self.url.as_str() {
            url if url.starts_with("ws:") => self.beginning(&Self::handshake(self.authority())),
            url if url.ends_with("/sse") => {
                self.beginning("GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
            }
            _ => self.ask("Host: localhost\r\n", INITIALIZE),
        };
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(matches!(status, "101" | "200"), "{answer}");
        self
    }

    /// What asks for a WebSocket.
    fn handshake(host: &str) -> String {
        format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: mcp\r\n\r\n"
        )
    }

    /// The first line of what is answered.
    fn beginning(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }

    /// What is answered to this request: the whole answer as text.
    fn ask(&self, headers: &str, body: &str) -> String {
        let mut stream = self.connect();
        let length = body.len();
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn tools_file() -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".yml").tempfile().unwrap();
    file.write_all(TOOLS.as_bytes()).unwrap();
    file
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":1}}}"#;

/// A request with this body.
fn posted(body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// A frame of a WebSocket with this text, from a client.
fn masked(text: &str) -> Vec<u8> {
    let length = (text.len() as u64).to_be_bytes();
    [&[0x81, 0x80 | 0x7f][..], &length, &[0; 4], text.as_bytes()].concat()
}

/// A WebSocket to this server, with these messages sent.
fn websocket(server: &Served, texts: &[&str]) -> TcpStream {
    let mut stream = server.connect();
    let handshake = Served::handshake(server.authority());
    stream.write_all(handshake.as_bytes()).unwrap();
    read_head(&mut stream);
    for text in texts {
        stream.write_all(&masked(text)).unwrap();
    }
    stream
}

/// Reads on until this was said.
fn read_until(stream: &mut TcpStream, text: &str) {
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains(text) {
        let mut bytes = [0; 8_192];
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "no {text:?}");
        said.extend_from_slice(&bytes[..length]);
    }
}

/// Reads up to the end of the headers.
fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
}

#[test]
fn pings_whose_answers_nobody_reads_end_the_connection() {
    let lab = Served::start(&["lab", "--ws", "127.0.0.1:0"]);
    let mut stream = websocket(&lab, &[]);
    let ping = [&[0x89, 0x80 | 0x7d, 0, 0, 0, 0], &[b'x'; 125][..]].concat();
    let pings = ping.repeat(1000);
    let began = Instant::now();
    while stream.write_all(&pings).is_ok() {
        assert!(began.elapsed() < DEADLINE, "the connection is still open");
    }
    lab.used_at_most(120).serves();
}

#[test]
fn bodies_that_never_end_share_a_budget() {
    let tools = tools_file();
    let servers = [
        Served::start(&["lab", "--http", "127.0.0.1:0"]),
        Served::start(&[
            "mock",
            "--http",
            "127.0.0.1:0",
            "--tools-from",
            tools.path().to_str().unwrap(),
        ]),
    ];
    for server in servers {
        let host = server.authority();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: 67000000\r\n\r\n"
        );
        let mut refused = 0;
        let mut open = Vec::new();
        for _ in 0..12 {
            let mut stream = server.connect();
            stream.write_all(head.as_bytes()).unwrap();
            let piece = vec![b'['; MEBIBYTE];
            // Whoever is refused cannot write on.
            let is_taken = (0..62).all(|_| stream.write_all(&piece).is_ok());
            refused += u32::from(!is_taken);
            open.push(stream);
        }
        assert!(refused >= 8, "{refused} of 12 were refused");
        server.used_at_most(450).serves();
    }
}

/// Some clients say who they are with 8 MiB each, and many with what takes 50 KiB in memory.
#[test]
fn what_sessions_keep_of_their_clients_is_bounded() {
    let lab = Served::start(&["lab", "--http", "127.0.0.1:0"]);
    let name = format!(r#""{}""#, "c".repeat(8 * MEBIBYTE));
    for _ in 0..10 {
        let answer = lab.ask("Host: localhost\r\n", &INITIALIZE.replace(r#""c""#, &name));
        assert!(answer.contains("-32602"), "{answer}");
    }
    lab.used_at_most(200);
    // Values take more room than their text; whoever was idle longest makes room.
    let values = format!(
        r#""capabilities":{{"experimental":[{}0]}}"#,
        "0,".repeat(200)
    );
    let request = posted(&INITIALIZE.replace(r#""capabilities":{}"#, &values));
    let mut stream = lab.connect();
    for _ in 0..6_000 {
        stream.write_all(&request).unwrap();
        read_until(&mut stream, "serverInfo");
    }
    lab.used_at_most(450).serves();
}

/// Each client sends all of a head but its end.
#[test]
fn heads_that_never_end_are_bounded() {
    let lab = Served::start(&["lab", "--http", "127.0.0.1:0"]);
    let proxy = Served::start(&["proxy", "--listen", "127.0.0.1:0", "--url", &lab.url]);
    // A long head is fine.
    let headers = format!("Host: localhost\r\nX-A: {}\r\n", "a".repeat(15_000));
    for server in [&lab, &proxy] {
        let answer = server.ask(&headers, INITIALIZE);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let head = format!("POST /mcp HTTP/1.1\r\nX-A: {}", "a".repeat(60_000));
        let open: Vec<TcpStream> = (0..400)
            .map(|_| {
                let mut stream = server.connect();
                // Whoever is refused cannot write on.
                let _ = stream.write_all(head.as_bytes());
                stream
            })
            .collect();
        let is_closed = |mut stream: &TcpStream| {
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 431 ")
        };
        assert!(open.iter().all(is_closed));
        server.used_at_most(80).serves();
    }
}

#[test]
fn messages_over_websocket_have_the_limit_of_all_others() {
    let lab = Served::start(&["lab", "--ws", "127.0.0.1:0"]);
    let ping = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(40 * MEBIBYTE)
    );
    let mut stream = websocket(&lab, &[INITIALIZE, INITIALIZED, &ping]);
    read_until(&mut stream, r#""id":7"#);
    // Frames that never end share the budget.
    let start = &masked(&ping)[..40 * MEBIBYTE];
    let mut open = Vec::new();
    for _ in 0..12 {
        let mut stream = websocket(&lab, &[]);
        let _ = stream.write_all(start);
        open.push(stream);
    }
    lab.used_at_most(600).serves();
}

/// It asks for far more than it may leave unread, and others are answered.
#[test]
fn a_client_that_does_not_read_holds_up_only_itself() {
    let lab = Served::start(&["lab", "--ws", "127.0.0.1:0"]);
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let mut greedy = websocket(&lab, &[INITIALIZE, INITIALIZED]);
    let wait = Some(Duration::from_secs(3));
    greedy.set_write_timeout(wait).unwrap();
    let lists = masked(list).repeat(200);
    // Until nothing more is read of it.
    let is_held_up = (0..20_000).any(|_| greedy.write_all(&lists).is_err());
    assert!(is_held_up);
    let mut other = websocket(&lab, &[INITIALIZE, INITIALIZED, list]);
    read_until(&mut other, r#""id":7"#);
    lab.used_at_most(400).serves();
}

#[test]
fn a_body_without_room_is_refused_with_when_to_come_back() {
    let lab = Served::start(&["lab", "--http", "127.0.0.1:0"]);
    // Small values take far more room in memory than in JSON.
    let body = format!("[{}0]", "0,".repeat(8 * MEBIBYTE));
    let answer = lab.ask("Host: localhost\r\n", &body);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
    lab.used_at_most(120).serves();
}

/// Each answer has 16 MiB, and a gigabyte of them waits for a client that only writes.
#[test]
fn answers_that_nobody_reads_are_bounded() {
    let tools = tools_file();
    let tools = tools.path().to_str().unwrap();
    let arguments = [
        "mock",
        "--tools-from",
        tools,
        "--fault",
        "oversized:16777216",
    ];
    let mut mock = mcprove(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = mock.stdin.take().unwrap();
    writeln!(input, "{INITIALIZE}\n{INITIALIZED}").unwrap();
    for id in 2..66 {
        let call = r#""method":"tools/call","params":{"name":"echo","arguments":{}}"#;
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},{call}}}"#).unwrap();
    }
    thread::sleep(Duration::from_secs(3));
    // All are answered as soon as somebody reads, be it with an error.
    let output = BufReader::new(mock.stdout.take().unwrap());
    assert_eq!(output.lines().take(65).flatten().count(), 65);
    let used = peak_memory_kib(mock.id()) / 1024;
    drop(input);
    mock.wait().unwrap();
    assert!(used <= 700, "{used} MiB");
}

/// One notification a millisecond, to twenty clients that read nothing.
#[test]
fn progress_that_nobody_reads_is_bounded() {
    let tools = tools_file();
    let tools = tools.path().to_str().unwrap();
    for transport in ["--http", "--ws", "--sse"] {
        let fault = "progress-forever:1";
        let mock = Served::start(&[
            "mock",
            transport,
            "127.0.0.1:0",
            "--tools-from",
            tools,
            "--fault",
            fault,
        ]);
        let streams: Vec<TcpStream> = (0..20)
            .map(|_| {
                let messages = [INITIALIZE, INITIALIZED, CALL];
                if transport == "--ws" {
                    return websocket(&mock, &messages);
                }
                let mut stream = mock.connect();
                if transport == "--http" {
                    stream.write_all(&posted(CALL)).unwrap();
                    return stream;
                }
                let get = b"GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n";
                stream.write_all(get).unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let endpoint = lines.find_map(|line| {
                    let line = line.unwrap();
                    line.strip_prefix("data: ").map(str::to_owned)
                });
                for text in messages {
                    let post = String::from_utf8(posted(text)).unwrap();
                    let post = post.replacen("/mcp", endpoint.as_deref().unwrap(), 1);
                    assert!(mock.beginning(&post).contains(" 202 "));
                }
                stream
            })
            .collect();
        thread::sleep(Duration::from_secs(5));
        mock.used_at_most(120).serves();
        drop(streams);
    }
}

/// Answers of 16 MiB through a proxy, to clients that never read them.
#[test]
fn answers_through_a_proxy_that_nobody_reads_are_bounded() {
    let tools = tools_file();
    let tools = tools.path().to_str().unwrap();
    let large = ["--fault", "oversized:16777216"];
    let from = ["--tools-from", tools];
    let mock = Served::start(&[&["mock", "--http", "127.0.0.1:0"][..], &from, &large].concat());
    let proxy = Served::start(&["proxy", "--listen", "127.0.0.1:0", "--url", &mock.url]);
    let streams: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = proxy.connect();
            stream.write_all(&posted(CALL)).unwrap();
            stream
        })
        .collect();
    thread::sleep(Duration::from_secs(5));
    proxy.used_at_most(500).serves();
    drop(streams);

    let program = env!("CARGO_BIN_EXE_mcprove");
    let server = [
        &["proxy", "--quiet", "--", program, "mock"][..],
        &from,
        &large,
    ]
    .concat();
    let mut proxy = mcprove(&server).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = proxy.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        let _ = writeln!(input, "{INITIALIZE}\n{INITIALIZED}");
        for id in 2..100 {
            let call = CALL.replace(r#""id":2"#, &format!(r#""id":{id}"#));
            let _ = writeln!(input, "{call}");
        }
        // Until the proxy is gone.
        let _ = input.write_all(&vec![b'\n'; 64 * MEBIBYTE]);
    });
    thread::sleep(Duration::from_secs(4));
    let used = peak_memory_kib(proxy.id()) / 1024;
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    writer.join().unwrap();
    assert!(used > 0 && used <= 200, "{used} MiB");
}

#[test]
fn foreign_names_are_refused_and_public_ones_accepted() {
    let tools = tools_file();
    let lab = Served::start(&[
        "lab",
        "--http",
        "127.0.0.1:0",
        "--public-host",
        "lab.example",
    ]);
    let mock = Served::start(&[
        "mock",
        "--http",
        "127.0.0.1:0",
        "--public-host",
        "lab.example",
        "--tools-from",
        tools.path().to_str().unwrap(),
    ]);
    let proxy = Served::start(&[
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--public-host",
        "lab.example",
        "--url",
        &lab.url,
    ]);
    for server in [&lab, &mock, &proxy] {
        for (headers, status) in [
            ("Host: localhost\r\n", 200),
            ("Host: 127.0.0.1:1\r\n", 200),
            ("Host: [::1]:80\r\n", 200),
            ("Host: lab.example:8080\r\n", 200),
            ("Host: localhost\r\nOrigin: https://LAB.example\r\n", 200),
            ("Host: evil.example\r\n", 403),
            ("Host: localhost\r\nHost: evil.example\r\n", 403),
            ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
            ("", 400),
        ] {
            let answer = server.ask(headers, INITIALIZE);
            let line = answer.lines().next().unwrap_or_default();
            assert!(line.contains(&format!(" {status} ")), "{headers}{answer}");
            if status == 403 {
                assert!(answer.contains("--public-host evil.example"), "{answer}");
            }
        }
    }
    for server in [&lab, &proxy] {
        let target = "GET http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let line = server.beginning(target);
        assert!(line.contains(" 403 "), "{line}");
    }
    let plain = Served::start(&["lab", "--http", "127.0.0.1:0"]);
    let answer = plain.ask("Host: lab.example\r\n", INITIALIZE);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    plain.serves();
}

#[test]
fn foreign_names_are_refused_over_the_other_transports() {
    let sse = Served::start(&["lab", "--sse", "127.0.0.1:0"]);
    let ws = Served::start(&["lab", "--ws", "127.0.0.1:0"]);
    for (server, request) in [
        (
            &sse,
            "GET /sse HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".to_owned(),
        ),
        (&ws, Served::handshake("evil.example")),
    ] {
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.contains("--public-host evil.example"), "{answer}");
        server.serves();
    }
}

#[test]
fn public_names_are_names_and_for_the_network() {
    let outcomes = [
        &["lab", "--http", "0", "--public-host", "http://lab.example"][..],
        &["lab", "--public-host", "lab.example"],
    ]
    .map(|arguments| Running::start(mcprove(arguments)).end());
    assert_seen!(
        "public_host",
        outcomes.iter().map(|outcome| outcome.ended(2))
    );
}
