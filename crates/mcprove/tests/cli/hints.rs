//! What to try when a server does not let us in, points elsewhere, or does not start: the same in every command.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::report::directories;
use crate::support::{Fixture, Output, finish, in_parallel, mcprove};

/// A server that answers every request with the same bytes, and keeps what it read. It runs as long as the tests do.
struct Stub {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    fn start(answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &kept, &*answer));
            }
        });
        Self { address, requests }
    }

    fn http(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        Self::start(move |_| text.clone().into_bytes())
    }
}

fn serve(mut stream: TcpStream, kept: &Mutex<Vec<String>>, answer: &dyn Fn(&[u8]) -> Vec<u8>) {
    let mut bytes = vec![0; 64 * 1024];
    let Ok(size @ 1..) = stream.read(&mut bytes) else {
        return;
    };
    let request = &bytes[..size];
    kept.lock()
        .unwrap()
        .push(String::from_utf8_lossy(request).into_owned());
    let _ = stream.write_all(&answer(request));
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // Or what it still sends would turn the close into a reset.
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// What every command says of a server at an address: a probe, a load, a deadlock probe and a suite.
fn told(folder: &Path, url: &str) -> Vec<Output> {
    let suite = folder.join("suite.yml");
    let text = format!(
        "servers:\n  remote: {{ url: \"{url}\" }}\ntools:\n  - {{ name: it answers, server: remote, tool: echo, args: {{ text: x }} }}\n"
    );
    std::fs::write(&suite, text).unwrap();
    let suite = suite.to_str().unwrap();
    let commands: [&[&str]; 4] = [
        &["probe", "--url", url],
        &["run", "--calls", "1", "--url", url],
        &["deadlock-probe", "--url", url],
        &["run", suite],
    ];
    let run_it = |arguments: &[&str]| {
        let mut command = mcprove(arguments);
        command.current_dir(folder);
        finish(command)
    };
    commands.into_iter().map(run_it).collect()
}

#[test]
fn a_refusal_gets_the_hint_that_fits() {
    const RPC: &str =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Unauthorized"}}"#;
    const HOST: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host header: 127.0.0.1"},"id":null}"#;
    let json = "content-type: application/json\r\n";
    let bearer = "www-authenticate: Bearer resource_metadata=\"https://h/x\"\r\n";
    // Words of a hint for flags, and for keys of a suite.
    let cases: [(&str, &str, &str, [&str; 2]); 8] = [
        (
            "401 Unauthorized",
            json,
            RPC,
            ["--bearer-env NAME", "bearer_env: NAME"],
        ),
        (
            "401 Unauthorized",
            bearer,
            "",
            ["--bearer-env NAME", "bearer_env: NAME"],
        ),
        (
            "401 Unauthorized",
            "www-authenticate: Basic realm=x\r\n",
            "",
            ["--header", "headers"],
        ),
        (
            "403 Forbidden",
            json,
            HOST,
            ["allowed_hosts", "allowed_hosts"],
        ),
        (
            "421 Misdirected Request",
            "",
            "Invalid Host header",
            ["allowed_hosts", "allowed_hosts"],
        ),
        (
            "403 Forbidden",
            "",
            "no",
            ["--bearer-env NAME", "bearer_env: NAME"],
        ),
        (
            "307 Temporary Redirect",
            "location: /elsewhere/\r\n",
            "",
            ["--url http://127.0.0.1:", "http://127.0.0.1:"],
        ),
        (
            "308 Permanent Redirect",
            "location: https://elsewhere.test/mcp\r\n",
            "",
            [
                "--url https://elsewhere.test/mcp",
                "https://elsewhere.test/mcp",
            ],
        ),
    ];
    in_parallel(cases, |(status, headers, body, [flags, keys])| {
        let folder = tempfile::tempdir().unwrap();
        let stub = Stub::http(status, headers, body);
        let url = format!("http://{}/mcp", stub.address);
        problems(told(folder.path(), &url), status, flags, keys)
    });
}

/// What is wrong: an exit code, or a hint without these words.
fn problems(outputs: Vec<Output>, what: &str, flags: &str, keys: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, output) in outputs.into_iter().enumerate() {
        let is_suite = place == 3;
        let words = if is_suite { keys } else { flags };
        let text = format!("{}{}", output.stdout, output.stderr);
        // A long line is broken in a terminal.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if output.code != Some(2) || !text.contains(words) {
            wrong.push(format!("{what}, {words}: {output:?}"));
        }
    }
    wrong
}

#[test]
fn a_port_with_or_without_tls_is_told() {
    // What a server that speaks TLS says to anything else: an alert, as it does to a greeting it does not like.
    const ALERT: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28];
    let folder = tempfile::tempdir().unwrap();
    let plain = Stub::http("200 OK", "", "hello");
    let alert = Stub::start(|_| ALERT.to_vec());
    let page = Stub::start(|request| match request.first() {
        Some(0x16) => ALERT.to_vec(),
        _ => {
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno".to_vec()
        }
    });
    let closing = Stub::start(|request| match request.first() {
        Some(0x16) => ALERT.to_vec(),
        _ => Vec::new(),
    });
    let outputs = told(folder.path(), &format!("https://{}/mcp", plain.address));
    let words = "use http:// (or ws://)";
    assert_eq!(
        problems(outputs, "plain", words, words),
        Vec::<String>::new()
    );
    let words = "use https:// (or wss://)";
    for tls in [alert, page, closing] {
        let outputs = told(folder.path(), &format!("http://{}/mcp", tls.address));
        assert_eq!(problems(outputs, "tls", words, words), Vec::<String>::new());
    }
}

const TOKEN: &str = "tok-9f8e7d6c5b4a";

#[test]
fn a_token_comes_from_the_environment_and_is_written_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let stub = Stub::http("401 Unauthorized", "", "");
    let url = format!("http://{}/mcp", stub.address);
    let suite = folder.path().join("suite.yml");
    let text = format!(
        "servers:\n  remote: {{ url: \"{url}\", bearer_env: MY_BEARER }}\ntools:\n  - {{ name: it answers, server: remote, tool: echo, args: {{ text: x }} }}\n"
    );
    std::fs::write(&suite, text).unwrap();
    let config = folder.path().join("load.toml");
    let text = format!(
        "[server]\nurl = \"{url}\"\nbearer_env = \"MY_BEARER\"\n[scenario]\ntype = \"sustained\"\ncalls = 1\n"
    );
    std::fs::write(&config, text).unwrap();
    let run_it = |arguments: &[&str], token: &str| {
        let mut command = mcprove(arguments);
        command.current_dir(folder.path()).env("MY_BEARER", token);
        finish(command)
    };
    let commands: [&[&str]; 4] = [
        &["probe", "--url", &url, "--bearer-env", "MY_BEARER"],
        &[
            "run",
            "--url",
            &url,
            "--bearer-env",
            "MY_BEARER",
            "--calls",
            "1",
        ],
        &["run", config.to_str().unwrap()],
        &["run", suite.to_str().unwrap()],
    ];
    for arguments in commands {
        stub.requests.lock().unwrap().clear();
        let output = run_it(arguments, TOKEN);
        assert!(!format!("{output:?}").contains(TOKEN), "{output:?}");
        let requests = stub
            .requests
            .lock()
            .unwrap()
            .join("\n")
            .to_ascii_lowercase();
        let sent = format!("authorization: bearer {TOKEN}");
        assert!(requests.contains(&sent), "{output:?}\n{requests}");
    }
    // Without the variable nothing is begun.
    for arguments in &commands[..3] {
        stub.requests.lock().unwrap().clear();
        let output = run_it(arguments, "");
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains("MY_BEARER"), "{output:?}");
        assert_eq!(stub.requests.lock().unwrap().len(), 0);
    }
}

#[test]
fn the_files_of_a_run_name_the_variable_and_can_be_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::start("http", &["normal"]);
    let run_it = |arguments: &[&str]| {
        let mut command = mcprove(arguments);
        command.current_dir(folder.path()).env("MY_BEARER", TOKEN);
        finish(command)
    };
    let output = run_it(&[
        "run",
        "--calls",
        "5",
        "--url",
        &fixture.url,
        "--bearer-env",
        "MY_BEARER",
        "--tool",
        "echo",
    ]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let made = directories(&folder.path().join("runs")).remove(0);
    for entry in std::fs::read_dir(&made).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(TOKEN));
    }
    let config = made.join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.contains("bearer_env = \"MY_BEARER\""), "{text}");
    let again = run_it(&["run", config.to_str().unwrap()]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let command = "-s";
    let output = run_it(&[
        "probe",
        command,
        "mcprove fixture normal",
        "--bearer-env",
        "MY_BEARER",
    ]);
    assert_eq!(output.code, Some(2), "it is for an address: {output:?}");
}

#[cfg(unix)]
#[test]
fn a_server_that_fails_on_import_and_one_that_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let said = "Traceback (most recent call last):\\n  File \"/srv/server.py\", line 1, in <module>\\nImportError: cannot import name 'FastMCP' from 'mcp.server' (/x/mcp/server/__init__.py)";
    let script = folder.path().join("old.sh");
    std::fs::write(
        &script,
        format!(
            "printf '%b\\n' '{}' >&2; exit 1",
            said.replace('\'', "'\\''")
        ),
    )
    .unwrap();
    let server = format!("sh {}", script.display());
    let suite = folder.path().join("suite.yml");
    let text = format!(
        "servers:\n  old: {{ command: \"{server}\" }}\ntools:\n  - {{ name: it answers, server: old, tool: echo, args: {{ text: x }} }}\n"
    );
    std::fs::write(&suite, text).unwrap();
    let commands: [&[&str]; 4] = [
        &["probe", "-s", &server],
        &["run", "-s", &server],
        &["deadlock-probe", "-s", &server],
        &["run", suite.to_str().unwrap()],
    ];
    let run_it = |arguments: &[&str]| {
        let mut command = mcprove(arguments);
        command.current_dir(folder.path());
        finish(command)
    };
    let outputs: Vec<Output> = commands.into_iter().map(run_it).collect();
    let log = |output: &Output| output.stderr.contains("server.stderr.log");
    assert!(
        !log(&outputs[0]) && log(&outputs[1]) && log(&outputs[2]),
        "{outputs:?}"
    );
    assert_eq!(
        problems(outputs, "import", "mcp<2", "mcp<2"),
        Vec::<String>::new()
    );
    let output = run_it(&["run", "-s", "mcprove fixture exit_at_start"]);
    assert!(output.stderr.contains("server.stderr.log"), "{output:?}");
    assert!(output.stderr.contains("--tee-stderr"), "{output:?}");
    let output = run_it(&["probe", "-s", "mcprove fixture exit_at_start"]);
    assert!(output.stderr.contains("--tee-stderr"), "{output:?}");
}
