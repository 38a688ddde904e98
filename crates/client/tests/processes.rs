//! Servers as processes: started, drained, ended, and never left behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::io::{BufRead as _, BufReader as LineReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::process::{Child, MARK_VARIABLE, SpawnError, StderrLog, TAIL_BYTES};
use mcprove_client::server::Server;
use mcprove_settings::message::UserError;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

/// Long enough for anything on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

fn shell(script: &str) -> Server {
    Server::stdio("sh").args(["-c", script])
}

/// The same server without and with a supervisor, for what holds either way.
fn both(server: Server) -> [Server; 2] {
    [server.clone(), supervised(server)]
}

fn supervised(server: Server) -> Server {
    server.with_supervisor(Host::program())
}

async fn spawn(server: &Server) -> (Child, ChildStdin, Lines<BufReader<ChildStdout>>) {
    let starting = Child::spawn(server, Arc::new(StderrLog::new()));
    let (child, stdin, stdout) = starting.await.unwrap();
    (child, stdin, BufReader::new(stdout).lines())
}

async fn next_pid(lines: &mut Lines<BufReader<ChildStdout>>) -> u32 {
    let line = tokio::time::timeout(DEADLINE, lines.next_line())
        .await
        .unwrap()
        .unwrap();
    line.unwrap().trim().parse().unwrap()
}

fn is_alive(pid: u32) -> bool {
    let shown = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

fn assert_dies(pid: u32) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < DEADLINE, "process {pid} is still alive");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn the_exit_status_is_kept() {
    for server in both(shell("read line; echo got $line; exit 3")) {
        let (child, mut stdin, mut lines) = spawn(&server).await;
        assert_eq!(child.exit_status(), None);
        stdin.write_all(b"hello\n").await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "got hello");
        assert_eq!(child.wait().await.code(), Some(3));
        let closing = child.stop(DEADLINE).await;
        assert_eq!(closing.exit.and_then(|status| status.code()), Some(3));
        assert!(!closing.forced);
        assert_eq!(child.leftovers(), Vec::<u32>::new());
    }
    for server in both(shell("kill -SEGV $$")) {
        let (child, _stdin, _lines) = spawn(&server).await;
        assert_eq!(child.wait().await.signal(), Some(11));
    }
}

#[tokio::test]
async fn the_end_of_input_ends_a_polite_server() {
    for server in both(Server::stdio("cat")) {
        let (child, stdin, _lines) = spawn(&server).await;
        drop(stdin);
        let closing = child.stop(DEADLINE).await;
        assert_eq!(closing.exit.and_then(|status| status.code()), Some(0));
        assert!(!closing.forced);
    }
}

#[tokio::test]
async fn environment_and_directory_are_set() {
    let directory = tempfile::tempdir().unwrap();
    let server = shell(&format!("pwd -P; echo $GREETING; echo ${MARK_VARIABLE}"))
        .env("GREETING", "hi")
        .working_dir(directory.path());
    let path = directory.path().canonicalize().unwrap();
    for server in both(server) {
        let (child, _stdin, mut lines) = spawn(&server).await;
        assert_eq!(
            lines.next_line().await.unwrap().unwrap(),
            path.to_str().unwrap()
        );
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "hi");
        assert!(!lines.next_line().await.unwrap().unwrap().is_empty());
        child.stop(DEADLINE).await;
    }
}

#[tokio::test]
async fn a_server_that_waits_for_term_gets_it() {
    let script = "trap 'exit 7' TERM; echo $$; while true; do sleep 0.05; done";
    for server in both(shell(script)) {
        let (child, _stdin, mut lines) = spawn(&server).await;
        assert_eq!(next_pid(&mut lines).await, child.pid());
        let closing = child.stop(Duration::ZERO).await;
        assert_eq!(closing.exit.and_then(|status| status.code()), Some(7));
        assert!(closing.forced);
    }
}

#[tokio::test]
async fn a_server_that_ignores_term_is_killed() {
    let script = "trap '' TERM; echo $$; while true; do sleep 1; done";
    for server in both(shell(script)) {
        let (child, stdin, mut lines) = spawn(&server).await;
        let pid = next_pid(&mut lines).await;
        assert_eq!(pid, child.pid());
        drop(stdin);
        let closing = tokio::time::timeout(DEADLINE, child.stop(Duration::from_millis(50))).await;
        let closing = closing.unwrap();
        assert_eq!(closing.exit.and_then(|status| status.signal()), Some(9));
        assert!(closing.forced);
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn what_a_server_leaves_behind_is_reported_and_killed() {
    for server in both(shell("sleep 1000 & echo $!; exit 0")) {
        let (child, _stdin, mut lines) = spawn(&server).await;
        let grandchild = next_pid(&mut lines).await;
        let closing = child.stop(DEADLINE).await;
        assert!(!closing.forced);
        assert_eq!(child.leftovers(), [grandchild]);
        assert_dies(grandchild);
    }
}

/// Forks twice, leaves the session, clears its environment: nothing but a supervisor finds it.
#[cfg(target_os = "linux")]
const DAEMON: &str = "(setsid env -i sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!')";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_does_not_hide_from_a_supervisor() {
    // After a server that exits, after one that is told to, and after one that is dropped.
    for (rest, is_leftover) in [("exit 0", true), ("exec sleep 1000", false)] {
        let server = supervised(shell(&format!("{DAEMON}; {rest}")));
        let (child, _stdin, mut lines) = spawn(&server).await;
        let daemon = next_pid(&mut lines).await;
        assert!(is_alive(daemon));
        let patience = if is_leftover {
            DEADLINE
        } else {
            Duration::ZERO
        };
        child.stop(patience).await;
        assert_eq!(
            child.leftovers().contains(&daemon),
            is_leftover || !child.leftovers().is_empty()
        );
        assert!(!is_alive(daemon));
    }
    let server = supervised(shell(&format!("{DAEMON}; exec sleep 1000")));
    let (child, _stdin, mut lines) = spawn(&server).await;
    let daemon = next_pid(&mut lines).await;
    drop(child);
    assert_dies(daemon);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_killed_supervisor_is_made_up_for() {
    let server = supervised(shell("sleep 1000 & echo $!; wait"));
    let (child, _stdin, mut lines) = spawn(&server).await;
    let grandchild = next_pid(&mut lines).await;
    let shown = Command::new("ps")
        .args(["-o", "ppid=", "-p", &child.pid().to_string()])
        .output();
    let supervisor = String::from_utf8(shown.unwrap().stdout).unwrap();
    let supervisor = supervisor.trim();
    assert_ne!(supervisor, std::process::id().to_string());
    // What ends a program politely, and all it started with it, does not end a supervisor.
    let signal = |name: &str| Command::new("kill").args([name, supervisor]).status();
    for name in ["-TERM", "-INT", "-HUP"] {
        signal(name).unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(child.exit_status(), None);
    signal("-KILL").unwrap();
    let exit = tokio::time::timeout(DEADLINE, child.wait()).await.unwrap();
    assert_eq!(exit.signal(), Some(9));
    child.stop(DEADLINE).await;
    assert_dies(child.pid());
    assert_dies(grandchild);
}

#[tokio::test]
async fn a_program_that_is_no_supervisor_is_refused() {
    for (supervisor, expected) in [("/no/such/program", "No such file"), ("true", "")] {
        let server = shell("exec sleep 1000").with_supervisor(supervisor);
        let error = Child::spawn(&server, Arc::new(StderrLog::new()))
            .await
            .map(|_| ())
            .unwrap_err();
        let unusable = "cannot use the supervisor";
        assert!(error.to_string().starts_with(unusable), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().rendered().contains("supervise"), "{error}");
    }
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    for server in both(shell(&format!(
        "echo $$ > {}; exec sleep 1000",
        file.display()
    ))) {
        let _ = std::fs::remove_file(&file);
        // Given up at once, when the process has hardly begun to start.
        let starting = Child::spawn(&server, Arc::new(StderrLog::new()));
        let _ = tokio::time::timeout(Duration::ZERO, starting).await;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            let written = std::fs::read_to_string(&file).unwrap_or_default();
            if let Ok(pid) = written.trim().parse() {
                assert_dies(pid);
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_of_its_own_does_not_save_a_grandchild() {
    let script = "setsid sleep 1000 & echo $!; env -i setsid sleep 1000 & echo $!; \
                  (setsid sleep 1000 & echo $!); sleep 1000";
    for server in both(shell(script)) {
        let (child, _stdin, mut lines) = spawn(&server).await;
        let mut grandchildren = Vec::new();
        for _ in 0..3 {
            grandchildren.push(next_pid(&mut lines).await);
        }
        child.stop(Duration::from_millis(300)).await;
        for grandchild in grandchildren {
            assert_dies(grandchild);
        }
    }
}

#[tokio::test]
async fn dropping_kills_without_waiting() {
    let script = "trap '' TERM; sleep 1000 & echo $$; echo $!; wait; wait";
    for server in both(shell(script)) {
        let (child, stdin, mut lines) = spawn(&server).await;
        let (pid, grandchild) = (next_pid(&mut lines).await, next_pid(&mut lines).await);
        drop(child);
        assert_dies(pid);
        assert_dies(grandchild);
        drop(stdin);
    }
}

#[test]
fn a_child_outlives_its_runtime_and_still_ends() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    for server in both(shell("exec sleep 1000")) {
        let first = runtime();
        let (child, _stdin, _lines) = first.block_on(spawn(&server));
        first.shutdown_background();
        assert!(is_alive(child.pid()));
        let closing = runtime().block_on(child.stop(Duration::ZERO));
        assert_eq!(closing.exit.and_then(|status| status.signal()), Some(15));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_wait_for_one_exit() {
    let (child, stdin, _lines) = spawn(&shell("read line; exit 5")).await;
    let child = Arc::new(child);
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let child = Arc::clone(&child);
            tokio::spawn(async move { child.wait().await.code() })
        })
        .collect();
    tokio::task::yield_now().await;
    drop(stdin);
    for waiter in waiting {
        assert_eq!(waiter.await.unwrap(), Some(5));
    }
    assert_eq!(child.wait().await.code(), Some(5));
}

#[tokio::test]
async fn a_flood_of_stderr_blocks_nobody() {
    const FLOOD: u64 = 50_000_000;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stderr.log");
    let log = Arc::new(StderrLog::new().with_file(&path).unwrap());
    let server =
        shell("yes 'a line of some length' | head -c 50000000 >&2; echo done >&2; echo done");
    let starting = Child::spawn(&server, Arc::clone(&log));
    let (child, _stdin, mut stdout) = starting.await.unwrap();
    let mut text = String::new();
    tokio::time::timeout(DEADLINE, stdout.read_to_string(&mut text))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(text, "done\n");
    assert!(child.stop(DEADLINE).await.exit.unwrap().success());
    assert_eq!(log.bytes(), FLOOD + 5);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), FLOOD + 5);
    let tail = log.tail();
    assert!(tail.len() <= TAIL_BYTES && tail.ends_with("done\n"));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    async fn fail(server: Server) -> SpawnError {
        let [direct, supervised] = both(server);
        let fail = async |server: &Server| {
            let starting = Child::spawn(server, Arc::new(StderrLog::new()));
            starting.await.map(|_| ()).unwrap_err()
        };
        let error = fail(&direct).await;
        assert_eq!(fail(&supervised).await.to_string(), error.to_string());
        error
    }
    let error = fail(Server::stdio("no-such-program-anywhere")).await;
    assert!(
        error.to_string().starts_with("cannot find the program")
            && error.hint().rendered().contains("PATH")
    );
    let error = fail(Server::stdio("sh -c true")).await;
    assert!(error.hint().rendered().contains("quoting"), "{error}");
    let error = fail(shell("true").working_dir("/no/such/directory")).await;
    let directory = "cannot start in the directory";
    assert!(error.to_string().starts_with(directory), "{error}");
    let error = fail(Server::stdio("/etc/passwd")).await;
    assert!(
        error.to_string().starts_with("not allowed to run"),
        "{error}"
    );
    let error = fail(shell("true").env("BAD", "a\0b")).await;
    assert!(error.to_string().starts_with("cannot start `"), "{error}");
}

#[test]
fn there_is_no_process_without_a_runtime() {
    let server = shell("true");
    let mut starting = std::pin::pin!(Child::spawn(&server, Arc::new(StderrLog::new())));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let outcome = starting.as_mut().poll(&mut context);
    let std::task::Poll::Ready(Err(error)) = outcome else {
        panic!("it waits, or runs");
    };
    assert!(
        error.to_string().contains("inside a tokio runtime"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_at_once() {
    let mut children = Vec::new();
    for _ in 0..25 {
        for server in both(Server::stdio("cat")) {
            children.push(spawn(&server).await);
        }
    }
    let stopping = children.into_iter().map(|(child, stdin, _lines)| {
        drop(stdin);
        tokio::spawn(async move { child.stop(DEADLINE).await })
    });
    for closing in stopping.collect::<Vec<_>>() {
        assert!(closing.await.unwrap().exit.unwrap().success());
    }
}

#[tokio::test]
async fn children_of_others_are_left_alone() {
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    for server in both(shell("sleep 1000")) {
        let (child, _stdin, _lines) = spawn(&server).await;
        child.stop(Duration::ZERO).await;
        assert!(is_alive(other.id()));
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Runs the example `process_host`, which ends in the way named by `ending`.
struct Host {
    process: std::process::Child,
    lines: std::io::Lines<LineReader<std::process::ChildStdout>>,
}

impl Host {
    fn start(ending: &str, script: &str) -> Self {
        let mut process = Command::new(Self::program())
            .args([ending, script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = LineReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("open files: "));
        Self { process, lines }
    }

    /// The example lies next to the tests; `cargo test --test` alone does not build it.
    fn program() -> PathBuf {
        let test = std::env::current_exe().unwrap();
        let program = test
            .ancestors()
            .nth(2)
            .unwrap()
            .join("examples/process_host");
        if !program.exists() {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "-p", "mcprove", "--example", "process_host"]);
            assert!(build.status().unwrap().success());
        }
        program
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// The ids that the server printed in one line.
    fn pids(&mut self) -> Vec<u32> {
        self.line()
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect()
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server behind a shell, with a grandchild, one that left its session and lost its parent, and a
/// daemon without environment. None listens to any signal that it can refuse, nor to the end of its
/// input.
#[cfg(target_os = "linux")]
const FAMILY: &str = "trap '' TERM HUP PIPE; sh -c 'sleep 1000 & echo $! >&3; wait' 3>&1 & \
                      one=$!; two=$(setsid sleep 1000 >/dev/null & echo $!); \
                      three=$(setsid env -i sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'); \
                      echo $$ $one $two $three; wait; wait";

#[cfg(target_os = "linux")]
#[test]
fn no_end_of_the_program_leaves_anything_behind() {
    let endings = [
        "returned", "panicked", "aborted", "-TERM", "-INT", "-HUP", "-KILL",
    ];
    for ending in endings {
        let is_signal = ending.starts_with('-');
        let mut host = Host::start(if is_signal { "killed" } else { ending }, FAMILY);
        let mut pids = host.pids();
        if is_signal {
            // The grandchild tells its own.
            pids.extend(host.pids());
            assert_eq!(pids.len(), 5, "{pids:?}");
            assert!(pids.iter().all(|pid| is_alive(*pid)));
            host.signal(ending);
        }
        host.process.wait().unwrap();
        for pid in pids {
            assert_dies(pid);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_outlives_the_thread_that_asked_for_it() {
    let mut host = Host::start("thread-ended", "echo $$; exec sleep 1000");
    let pid = host.pids()[0];
    assert_eq!(host.line(), "still running: true");
    host.process.wait().unwrap();
    assert_dies(pid);
}

#[test]
fn a_supervised_server_keeps_its_descriptor_limit() {
    let usual = Command::new("sh")
        .args(["-c", "ulimit -n"])
        .output()
        .unwrap();
    let mut host = Host::start("returned", "ulimit -n; exec sleep 1000");
    let limit = host.line();
    host.process.wait().unwrap();
    assert_eq!(limit, String::from_utf8_lossy(&usual.stdout).trim());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn adopted_orphans_are_reaped() {
    // Each orphan comes to the supervisor, and dies.
    let script = "i=0; while [ $i -lt 5 ]; do (setsid sleep 1 >/dev/null &); i=$((i+1)); done; \
                  echo $PPID; exec sleep 1000";
    let (_child, _stdin, mut lines) = spawn(&supervised(shell(script))).await;
    let supervisor = next_pid(&mut lines).await.to_string();
    let children = || {
        let shown = Command::new("ps")
            .args(["-o", "stat=,comm=", "--ppid", &supervisor])
            .output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    };
    let start = Instant::now();
    while children().lines().count() != 1 {
        assert!(start.elapsed() < DEADLINE, "{}", children());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
