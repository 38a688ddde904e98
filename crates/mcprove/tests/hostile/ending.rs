//! No process of a server outlives `mcprove`, whatever ends it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::run::{DEADLINE, Outcome, Running, assert_seen, at_once, mcprove, python};

/// A text that is in the command line of every process of one server.
struct Marker(String);

impl Marker {
    fn new(name: &str) -> Self {
        Self(format!("hostile-marker-{name}-{}", std::process::id()))
    }

    /// The processes with the marker, other than `mcprove` itself and this test.
    fn processes(&self) -> Vec<(u32, String)> {
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid: u32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                let is_server =
                    line.contains(&self.0) && !line.starts_with(env!("CARGO_BIN_EXE_mcprove"));
                is_server.then_some((pid, line))
            })
            .collect()
    }

    /// Waits until there are `count` of them.
    #[track_caller]
    fn wait_for(&self, count: usize) {
        self.wait_until(&format!("{count} processes"), |processes| {
            processes == count
        });
    }

    #[track_caller]
    fn assert_gone(&self) {
        self.wait_until("none", |processes| processes == 0);
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn(usize) -> bool) {
        let began = Instant::now();
        loop {
            let processes = self.processes();
            if is_so(processes.len()) {
                return;
            }
            let pids: Vec<u32> = processes.iter().map(|(pid, _)| *pid).collect();
            assert!(began.elapsed() < DEADLINE, "not {what}, but {pids:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A server with a grandchild in its group, one in a session of its own, and one there that lost
/// its parent. None listens to any signal that it can refuse; the second tool hangs. That makes
/// four processes.
fn family(marker: &Marker) -> String {
    python(&format!(
        "# {0}\n\
         for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n\
         sleep = ['python3', '-c', 'import time; time.sleep(1000) # {0}']\n\
         quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
         subprocess.Popen(sleep, **quiet)\n\
         subprocess.Popen(sleep, start_new_session=True, **quiet)\n\
         if os.fork() == 0:\n    \
             subprocess.Popen(sleep, start_new_session=True, env={{'PATH': os.environ['PATH']}}, **quiet)\n    \
             os._exit(0)\n\
         os.wait()\n\
         if 'mute' in sys.argv: time.sleep(1000)\n\
         def call(request):\n    \
             if request['params']['name'] == 'hangs': time.sleep(1000)\n    \
             if request['params']['name'] == 'dies': os._exit(3)\n    \
             write(answer(request, []))\n\
         serve({{'tools/call': call}}, [{{'name': name, 'inputSchema': {{'type': 'object'}}, 'annotations': {{'readOnlyHint': True}}}} for name in sys.argv[1:]])\n\
         time.sleep(1000)",
        marker.0
    ))
}

/// How many processes a [`family`] is.
const FAMILY: usize = 4;

fn start(command: &str, marker: &Marker, tools: &[&str]) -> Running {
    let program = family(marker);
    let options: &[&str] = &[command, "--shutdown-timeout", "300ms"];
    let server: &[&str] = &["--", "python3", "-c", &program];
    Running::start(mcprove(&[options, server, tools].concat()))
}

#[test]
fn a_normal_end() {
    let marker = Marker::new("normal");
    start("probe", &marker, &["fine"]).end().ended(0);
    marker.assert_gone();
}

#[test]
fn a_server_that_dies() {
    let marker = Marker::new("dies");
    start("probe", &marker, &["dies", "fine", "dies"])
        .end()
        .ended(1);
    marker.assert_gone();
}

#[test]
fn a_server_that_cannot_be_spoken_to() {
    let marker = Marker::new("mute");
    let program = family(&marker);
    let outcome = Running::start(mcprove(&[
        "probe",
        "--startup-timeout",
        "2s",
        "--",
        "python3",
        "-c",
        &program,
        "mute",
    ]))
    .end();
    outcome.ended(2);
    marker.assert_gone();
}

#[test]
fn an_interrupt_leaves_a_partial_report() {
    at_once(&["-INT", "-TERM", "-HUP"], |&signal| {
        let marker = Marker::new(signal);
        let running = start("probe", &marker, &["fine", "hangs"]);
        marker.wait_for(FAMILY);
        std::thread::sleep(Duration::from_secs(4));
        running.signal(signal);
        let outcome = running.end();
        assert_seen!("interrupted_probe", [outcome.ended(130)]);
        marker.assert_gone();
    });
}

#[test]
fn an_interrupt_before_there_is_anything_to_report() {
    let marker = Marker::new("early");
    let program = family(&marker);
    let running = Running::start(mcprove(&["probe", "--", "python3", "-c", &program, "mute"]));
    marker.wait_for(FAMILY);
    running.signal("-INT");
    running.end().ended(130).says(&["interrupted"]);
    marker.assert_gone();
}

#[test]
fn an_interrupt_at_any_moment_of_the_start() {
    for milliseconds in [0, 2, 5, 10, 20, 40, 80] {
        let marker = Marker::new("start");
        let running = start("probe", &marker, &["hangs"]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        running.signal("-INT");
        let outcome: Outcome = running.end();
        assert!(!outcome.stderr.contains("panicked"));
        marker.assert_gone();
    }
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let marker = Marker::new("second");
    let program = family(&marker);
    let running = Running::start(mcprove(&[
        "probe",
        "--shutdown-timeout",
        "1000s",
        "--",
        "python3",
        "-c",
        &program,
        "fine",
        "hangs",
    ]));
    marker.wait_for(FAMILY);
    std::thread::sleep(Duration::from_secs(1));
    running.signal("-INT");
    std::thread::sleep(Duration::from_secs(2));
    // The server has its time.
    assert_eq!(marker.processes().len(), FAMILY);
    running.signal("-INT");
    running.end().ended(130);
    marker.assert_gone();
}

#[test]
fn an_interrupt_gives_the_server_time_to_end() {
    let deadlock = [
        "deadlock-probe",
        "--tool",
        "waits",
        "--hang-threshold",
        "50s",
    ];
    let commands: [(&str, &[&str]); 4] = [
        ("probe", &["probe", "--allow-writes"]),
        ("list", &["probe"]),
        ("run", &["run", "--tool", "waits", "--duration", "100s"]),
        ("deadlock", &deadlock),
    ];
    at_once(&commands, |(name, arguments)| {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let silent = if *name == "list" {
            "tools/list"
        } else {
            "tools/call"
        };
        let program = python(&format!(
            "def wait(request): open('asked', 'w').close()\n\
             serve({{'{silent}': wait}}, [{{'name': 'waits', 'inputSchema': {{'type': 'object'}}}}])\n\
             time.sleep(0.5)\n\
             open('ended', 'w').close()"
        ));
        let mut command = mcprove(arguments);
        command.args(["--call-timeout", "100s", "--", "python3", "-c", &program]);
        command.current_dir(folder.path());
        let running = Running::start(command);
        let began = Instant::now();
        while !at("asked").exists() {
            assert!(began.elapsed() < DEADLINE, "{name}");
            std::thread::sleep(Duration::from_millis(20));
        }
        running.signal("-INT");
        running.end().ended(130);
        assert!(at("ended").exists(), "{name}: the server was killed");
    });
}

/// The supervisors of the servers of a run.
fn supervisors(running: &Running) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", running.process.id())).unwrap();
    let children =
        tasks.flat_map(|task| std::fs::read_to_string(task.unwrap().path().join("children")));
    let children: Vec<String> = children.collect();
    children
        .iter()
        .flat_map(|line| line.split_whitespace())
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_killed_supervisor_is_no_finding() {
    let commands: [(&str, &[&str]); 3] = [
        ("probe", &["probe", "--call-timeout", "100s"]),
        ("run", &["run", "--tool", "hangs", "--duration", "100s"]),
        (
            "idle",
            &["run", "--tool", "fine", "--rate", "1", "--duration", "100s"],
        ),
    ];
    at_once(&commands, |(name, arguments)| {
        let marker = Marker::new(&format!("lost-{name}"));
        let program = family(&marker);
        let folder = tempfile::tempdir().unwrap();
        let server: &[&str] = &["--", "python3", "-c", &program, "fine", "hangs"];
        let mut command = mcprove(&[*arguments, server].concat());
        command.current_dir(folder.path());
        let running = Running::start(command);
        marker.wait_for(FAMILY);
        std::thread::sleep(Duration::from_secs(2));
        let supervisors = supervisors(&running);
        assert!(!supervisors.is_empty());
        let killed = std::process::Command::new("kill")
            .arg("-KILL")
            .args(&supervisors)
            .status();
        assert!(killed.unwrap().success());
        let outcome = running.end();
        outcome.ended(2).says(&["killed"]);
        assert!(
            !outcome.text().contains("still running"),
            "{}",
            outcome.excerpt()
        );
        // Only the supervisor knew the process that had lost its parent and its environment.
        for (pid, _) in marker.processes() {
            let pid = pid.to_string();
            let _ = std::process::Command::new("kill")
                .args(["-KILL", &pid])
                .status();
        }
        marker.assert_gone();
    });
}

#[test]
fn a_killed_init_leaves_no_file() {
    let marker = Marker::new("init");
    let program = family(&marker);
    let folder = tempfile::tempdir().unwrap();
    let mut command = mcprove(&["init", "--", "python3", "-c", &program, "mute"]);
    command.current_dir(folder.path());
    let running = Running::start(command);
    marker.wait_for(FAMILY);
    running.signal("-KILL");
    running.end();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    marker.assert_gone();
}

/// How a server is started by something else, and how many processes that is besides.
const WRAPPERS: [(&str, &[&str]); 2] = [
    // A shell that waits, as in the scripts of many servers.
    (
        "shell",
        &["sh", "-c", "exec 3<&0; python3 -c \"$@\" <&3 & wait", "sh"],
    ),
    // A program that starts the server and passes its streams on, as `npx` and `uvx` do.
    (
        "runner",
        &[
            "python3",
            "-c",
            "import subprocess, sys; sys.exit(subprocess.run(['python3', '-c'] + sys.argv[1:]).returncode)",
        ],
    ),
];

#[test]
fn killed_outright_nothing_stays() {
    let commands: [(&str, &[&str]); 4] = [
        ("probe", &["probe", "--call-timeout", "1000s"]),
        ("run", &["run", "--tool", "fine", "--duration", "1000s"]),
        ("deadlock", &["deadlock-probe", "--tool", "hangs"]),
        ("proxy", &["proxy"]),
    ];
    let mut cases = Vec::new();
    for command in commands {
        cases.extend(WRAPPERS.map(|wrapper| (command, wrapper)));
    }
    at_once(&cases, |((command, arguments), (wrapper, starter))| {
        let marker = Marker::new(&format!("killed-{command}-{wrapper}"));
        let program = family(&marker);
        let folder = tempfile::tempdir().unwrap();
        let rest: &[&str] = &[&program, "fine", "hangs"];
        let mut running = mcprove(&[arguments, &["--"][..], starter, rest].concat());
        // A proxy ends with its input; this one stays open.
        running.current_dir(folder.path()).stdin(Stdio::piped());
        let running = Running::start(running);
        // The wrapper has the program among its arguments.
        marker.wait_for(FAMILY + 1);
        std::thread::sleep(Duration::from_millis(300));
        running.signal("-KILL");
        running.end();
        marker.assert_gone();
    });
}

#[test]
fn killed_outright_a_suite_leaves_nothing() {
    let suite = |entry: &str| {
        format!("servers:\n  one: {{ command: [python3, server.py, fine, hangs] }}\n{entry}")
    };
    let agent = "agents:\n  - { name: a, command: [python3, server.py, mute], prompt: x, servers: [one] }\n";
    let tool = "tools:\n  - { name: t, server: one, tool: hangs, timeout_ms: 100000 }\n";
    let load = "load:\n  - { name: l, server: one, scenario: { type: sustained, duration: 1000s, tool_call: [{ name: fine }] } }\n";
    at_once(
        &[("agent", agent), ("tool", tool), ("load", load)],
        |(name, entry)| {
            let folder = tempfile::tempdir().unwrap();
            let marker = Marker::new(&format!("suite-{name}"));
            // Its own process has the marker as an argument, for it is a file here.
            let program = family(&marker);
            let entry = entry.replace("mute]", &format!("mute, {}]", marker.0));
            let suite = suite(&entry).replace("hangs]", &format!("hangs, {}]", marker.0));
            std::fs::write(folder.path().join("server.py"), program).unwrap();
            std::fs::write(folder.path().join("suite.yml"), suite).unwrap();
            let mut command = mcprove(&["run", "suite.yml"]);
            command.current_dir(folder.path());
            let running = Running::start(command);
            marker.wait_for(FAMILY);
            std::thread::sleep(Duration::from_millis(300));
            running.signal("-KILL");
            running.end();
            marker.assert_gone();
        },
    );
}

#[test]
fn an_interrupted_suite_with_hung_calls_ends_within_the_shutdown_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let marker = Marker::new("hung-suite");
    let names = ["one", "two", "three"];
    let server = format!("[python3, server.py, fine, hangs, {}]", marker.0);
    let servers =
        names.map(|name| format!("  {name}: {{ command: {server}, shutdown_timeout_ms: 2000 }}\n"));
    let tests = [0, 1, 2].map(|test| {
        names.map(|server| {
            format!("  - {{ name: {server} {test}, server: {server}, tool: hangs, timeout_ms: 100000 }}\n")
        })
    });
    let suite = format!(
        "servers:\n{}tools:\n{}",
        servers.concat(),
        tests.concat().concat()
    );
    std::fs::write(folder.path().join("server.py"), family(&marker)).unwrap();
    std::fs::write(folder.path().join("suite.yml"), suite).unwrap();
    let mut command = mcprove(&["run", "suite.yml", "--jobs", "9"]);
    command.current_dir(folder.path());
    let running = Running::start(command);
    marker.wait_for(3 * FAMILY);
    std::thread::sleep(Duration::from_secs(2));
    let began = Instant::now();
    running.signal("-INT");
    let outcome = running.end();
    outcome.ended(130).says(&["INTERRUPTED"]);
    // 2 s on a machine with nothing else to do, 54 s without the limit.
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    marker.assert_gone();
}

#[test]
fn interrupted_with_hung_calls_our_servers_end_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("tools.yml"), "tools: [{ name: hangs, response: x }]\n").unwrap();
    let tools = at("tools.yml");
    let fault = ["--fault", "hang"];
    let program = env!("CARGO_BIN_EXE_mcprove");
    let mock = [&["mock", "--tools-from", &tools][..], &fault].concat();
    let proxy = ["proxy", "--quiet", "--shutdown-timeout", "2s"];
    let proxied = [&proxy[..], &["--", program], &mock].concat();
    let audit = at("audit.db");
    let lab = vec!["lab", "--audit", &audit];
    let commands = [
        ("mock", mock, "hangs"),
        ("proxy", proxied, "hangs"),
        ("lab", lab, "slow"),
    ];
    at_once(&commands, |(name, arguments, tool)| {
        let mut command = mcprove(arguments);
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
        writeln!(
            input,
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#
        )
        .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains("serverInfo"), "{name}: {line}");
        for id in 2..10 {
            let params = format!(r#"{{"name":"{tool}","arguments":{{"milliseconds":60000}}}}"#);
            writeln!(
                input,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#
            )
            .unwrap();
        }
        std::thread::sleep(Duration::from_secs(1));
        let began = Instant::now();
        let pid = process.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status();
        assert!(sent.unwrap().success());
        while process.try_wait().unwrap().is_none() {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{name} is still there"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        // The calls were really pending.
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("\"result\""), "{name}: {rest}");
        drop(input);
    });
}

#[test]
fn interrupted_with_hung_calls_commands_end_within_the_shutdown_timeout() {
    let commands: [(&str, &[&str]); 3] = [
        (
            "run",
            &[
                "run",
                "--tool",
                "hangs",
                "--sessions",
                "4",
                "--concurrent",
                "8",
            ],
        ),
        (
            "deadlock",
            &[
                "deadlock-probe",
                "--tool",
                "hangs",
                "--hang-threshold",
                "100s",
            ],
        ),
        (
            "compare",
            &["compare", "--tool", "hangs", "--duration", "100s"],
        ),
    ];
    at_once(&commands, |(name, arguments)| {
        let marker = Marker::new(&format!("hung-{name}"));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server.py"), family(&marker)).unwrap();
        let server = format!("python3 server.py fine hangs {}", marker.0);
        let mut command = mcprove(arguments);
        command.args(["--shutdown-timeout", "2s", "--server", &server]);
        if *name == "compare" {
            command.args(["--server", &server]);
        }
        command.current_dir(folder.path());
        let running = Running::start(command);
        marker.wait_until("a family", |count| count >= FAMILY);
        std::thread::sleep(Duration::from_secs(2));
        let began = Instant::now();
        running.signal("-INT");
        let outcome = running.end();
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{name}: {:?}",
            began.elapsed()
        );
        // Calls that hang may be found by then.
        let code = outcome.status.code();
        assert!(matches!(code, Some(1 | 130)), "{}", outcome.excerpt());
        marker.assert_gone();
    });
}

#[test]
fn doctor_and_demo_interrupted() {
    let marker = Marker::new("doctor");
    let program = family(&marker);
    let running = Running::start(mcprove(&[
        "doctor", "--", "python3", "-c", &program, "mute",
    ]));
    marker.wait_for(FAMILY);
    running.signal("-INT");
    running.end().ended(130).says(&["interrupted"]);
    marker.assert_gone();

    // The servers of the demo are `mcprove` itself, and carry a variable of ours.
    let variable = format!("HOSTILE_MARKER=demo-{}", std::process::id());
    let (name, value) = variable.split_once('=').unwrap();
    let mut command = mcprove(&["demo"]);
    command.env(name, value);
    let running = Running::start(command);
    let alive = || {
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read(entry.ok()?.path().join("environ")).ok())
            .filter(|environment| String::from_utf8_lossy(environment).contains(&variable))
            .count()
    };
    let began = Instant::now();
    while alive() < 2 {
        assert!(began.elapsed() < DEADLINE);
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(1));
    running.signal("-INT");
    running.end().ended(130).says(&["interrupted"]);
    while alive() > 0 {
        assert!(began.elapsed() < DEADLINE);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn closed_pipes_change_nothing() {
    for arguments in [
        &["probe", "--json", "--"][..],
        &["probe", "--"],
        &["probe", "--tee-stderr", "--"],
        &["doctor", "--"],
    ] {
        let marker = Marker::new("pipe");
        let program = family(&marker);
        let server: &[&str] = &["python3", "-c", &program, "fine"];
        let mut command = mcprove(
            &[
                &arguments[..1],
                &["--shutdown-timeout", "300ms"],
                &arguments[1..],
                server,
            ]
            .concat(),
        );
        command.stdout(closed_pipe()).stderr(closed_pipe());
        let outcome = Running::start(command).end();
        assert!(
            matches!(outcome.status.code(), Some(0 | 1)),
            "{}",
            outcome.excerpt()
        );
        marker.assert_gone();
    }
    // An error that nobody can read is still told by the code.
    for arguments in [
        &["probe", "--", "no-such-program-anywhere"][..],
        &["probe"],
        &[
            "probe",
            "--",
            "python3",
            "-c",
            "import sys; sys.stderr.write('no\\n'); sys.exit(3)",
        ],
    ] {
        let mut command = mcprove(arguments);
        command.stdout(closed_pipe()).stderr(closed_pipe());
        assert_eq!(Running::start(command).end().status.code(), Some(2));
    }
}

/// The end to write to of a pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Stdio::from(writer)
}

#[test]
fn a_full_disk_changes_nothing() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let mut command = mcprove(&["probe", "--", "no-such-program-anywhere"]);
    command.stdout(full()).stderr(full());
    assert_eq!(Running::start(command).end().status.code(), Some(2));
}
