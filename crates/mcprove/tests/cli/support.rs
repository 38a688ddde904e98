//! What the tests share: running the command with a deadline, built-in servers on the network,
//! and many probes at once.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mcprove_check::health::{ProbeReport, ToolHealth, ToolOutcome};

/// The command under test.
pub const MCPROVE: &str = env!("CARGO_BIN_EXE_mcprove");
/// How long a command may take. Loaded machines are slow.
const DEADLINE: Duration = Duration::from_mins(2);
/// How often to look whether it ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How many jobs run at once. Most of their time is waiting.
const WORKERS: usize = 12;
/// How many of them at once start a real server, which keeps a processor busy for a while.
const WORKERS_REAL: usize = 5;
/// What the command, and so its servers, may see of our environment: a real server has a tool
/// that returns all of it. The last is where a coverage run wants its measurements.
const ENVIRONMENT: [&str; 4] = ["SystemRoot", "TEMP", "TMPDIR", "LLVM_PROFILE_FILE"];

/// What a command left behind.
#[derive(Debug)]
pub struct Output {
    /// As it would be typed.
    pub command: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The report of `probe --json`.
    pub fn report(&self) -> ProbeReport {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same for stderr only: the rest is compared elsewhere, or has figures.
    pub fn without_stdout(self) -> Self {
        Self {
            stdout: String::new(),
            ..self
        }
    }

    /// All that its user sees.
    fn transcript(&self) -> String {
        let code = self.code.map_or("a signal".into(), |code| code.to_string());
        let stderr = match self.stderr.as_str() {
            "" => String::new(),
            text => format!("[stderr]\n{text}"),
        };
        let Self {
            command, stdout, ..
        } = self;
        format!("$ {command}\n{stdout}{stderr}[exit code {code}]\n")
    }
}

/// What the user of several commands sees, one after the other.
pub fn transcript<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> String {
    let each: Vec<String> = outputs.into_iter().map(Output::transcript).collect();
    each.join("\n").replace(MCPROVE, "mcprove")
}

/// A file, as its reader sees it.
pub fn cat(path: &Path) -> Output {
    let name = path.file_name().unwrap().to_string_lossy();
    Output {
        command: format!("cat {name}"),
        code: Some(0),
        stdout: std::fs::read_to_string(path).unwrap(),
        stderr: String::new(),
    }
}

/// A command as it would be typed, without what only prepares for it.
pub fn typed(command: &Command) -> String {
    let words = || std::iter::once(command.get_program()).chain(command.get_args());
    let begin = words().position(|word| word == MCPROVE).unwrap_or(0);
    let quoted = words().skip(begin).map(|word| {
        let word = word.to_string_lossy();
        if word.contains('\'') {
            format!("{word:?}")
        } else if word.is_empty() || word.contains([' ', '\n', '"']) {
            format!("'{word}'")
        } else {
            word.into_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The command with these arguments, in a clean environment.
pub fn mcprove<A: AsRef<str>>(arguments: &[A]) -> Command {
    let mut command = Command::new(MCPROVE);
    command
        .args(arguments.iter().map(AsRef::as_ref))
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((*name, value))
        }))
        .env("PATH", path());
    command
}

/// Our PATH, with the command first: what it prints of a server that is named `mcprove` is the
/// same on every machine.
fn path() -> std::ffi::OsString {
    let own = Path::new(MCPROVE).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&path));
    std::env::join_paths(all).unwrap()
}

/// Runs the command with these arguments.
pub fn run<A: AsRef<str>>(arguments: &[A]) -> Output {
    finish(mcprove(arguments))
}

/// Runs a command to its end.
pub fn finish(mut command: Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = read_all(child.stdout.take().unwrap());
    let stderr = read_all(child.stderr.take().unwrap());
    let status = wait(&mut child);
    let output = Output {
        command: typed(&command),
        code: status.and_then(|status| status.code()),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    };
    assert!(status.is_some(), "{command:?} did not end: {output:?}");
    assert!(!output.stderr.contains("panicked"), "{output:?}");
    output
}

/// Waits for the end; `None` if it had to be killed.
pub fn wait(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).expect("output is UTF-8")
    })
}

/// `probe --json` with these arguments.
pub fn probe<A: AsRef<str>>(arguments: &[A]) -> Output {
    let mut all = vec!["probe".to_owned(), "--json".to_owned()];
    all.extend(arguments.iter().map(|each| each.as_ref().to_owned()));
    run(&all)
}

/// The outcome of a tool in one word, with the category of an error.
pub fn outcome(tool: &ToolHealth) -> String {
    match (tool.outcome, tool.category) {
        (ToolOutcome::Ok, _) => "ok".into(),
        (ToolOutcome::ToolError, _) => "tool_error".into(),
        (ToolOutcome::Hang, _) => "hang".into(),
        (ToolOutcome::Skipped, _) => "skipped".into(),
        (ToolOutcome::Error, Some(category)) => category.to_string(),
        _ => "error".into(),
    }
}

/// All outcomes: `echo=ok add=hang`.
pub fn outcomes(report: &ProbeReport) -> String {
    let each = |tool: &ToolHealth| format!("{}={}", tool.name, outcome(tool));
    report.tools.iter().map(each).collect::<Vec<_>>().join(" ")
}

/// The kinds of the violations, in order.
pub fn violations(report: &ProbeReport) -> String {
    let kinds = report.violations.iter().map(|found| found.kind.as_str());
    kinds.collect::<Vec<_>>().join(" ")
}

/// A server of ours on the network. Dropping it ends it.
pub struct Fixture {
    pub url: String,
    child: Child,
}

impl Fixture {
    /// Starts a mode of the built-in servers; `kind` is `http`, `sse` or `ws`.
    pub fn start(kind: &str, mode: &[&str]) -> Self {
        let flag = format!("--{kind}");
        let mut arguments = vec!["fixture"];
        arguments.extend(mode);
        arguments.extend([&flag, "127.0.0.1:0"]);
        Self::start_command(mcprove(&arguments))
    }

    /// Starts any server that tells where it listens.
    pub fn start_command(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut url = None;
        let mut line = String::new();
        while url.is_none() && lines.read_line(&mut line).unwrap() > 0 {
            url = line
                .trim_end()
                .strip_prefix("listening on ")
                .map(str::to_owned);
            line.clear();
        }
        // Read on, or the server blocks on a full pipe.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self {
            url: url.expect("the line that tells the address"),
            child,
        }
    }
}

impl Fixture {
    /// The process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does `work` for every job, several at once. Panics with all the problems that it returned.
pub fn in_parallel<J: Send>(
    jobs: impl IntoIterator<Item = J>,
    work: impl Fn(J) -> Vec<String> + Sync,
) {
    work_off(WORKERS, jobs, work);
}

/// Like [`in_parallel`], for jobs with real servers.
pub fn in_parallel_real<J: Send>(
    jobs: impl IntoIterator<Item = J>,
    work: impl Fn(J) -> Vec<String> + Sync,
) {
    work_off(WORKERS_REAL, jobs, work);
}

fn work_off<J: Send>(
    workers: usize,
    jobs: impl IntoIterator<Item = J>,
    work: impl Fn(J) -> Vec<String> + Sync,
) {
    let queue: Mutex<VecDeque<J>> = Mutex::new(jobs.into_iter().collect());
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(job) = queue.lock().unwrap().pop_front() else {
                        return;
                    };
                    let found = work(job);
                    problems.lock().unwrap().extend(found);
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Collects what is not as expected.
pub struct Comparison {
    label: String,
    problems: Vec<String>,
}

impl Comparison {
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            problems: Vec::new(),
        }
    }

    /// Notes a difference.
    // By value, so that the callers need no references to what they just made.
    #[allow(clippy::needless_pass_by_value)]
    pub fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
        &mut self,
        what: &str,
        found: T,
        expected: U,
    ) {
        if found != expected {
            let label = &self.label;
            let problem = format!("{label}: {what} is {found:?}, not {expected:?}");
            self.problems.push(problem);
        }
    }

    /// Notes a text that lacks a part.
    pub fn holds(&mut self, what: &str, text: &str, part: &str) {
        if !text.contains(part) {
            let problem = format!("{}: {what} lacks {part:?}: {text:?}", self.label);
            self.problems.push(problem);
        }
    }

    /// What was not as expected; with the output, for whoever has to look into it.
    pub fn finish(mut self, output: &Output) -> Vec<String> {
        if !self.problems.is_empty() {
            self.problems.push(format!("{output:?}\n"));
        }
        self.problems
    }
}

/// Filters of snapshots: what differs from run to run and from system to system.
pub const FILTERS: [(&str, &str); 7] = [
    (r" +\d+\.\d ms *", " [time] "),
    (r"\d+(\.\d+)? ms\b", "[time]"),
    (r"\b0\.\d+\.\d+\b", "[version]"),
    (r"mcprove\.exe", "mcprove"),
    (r"exit code: ", "exit status: "),
    // The column in between is as wide as the longest time.
    (r"skipped  +", "skipped  "),
    // How busy the machine is with other work is of the moment.
    (r"(?s) *Machine: busy;.*?processors\.\n+", ""),
];

/// Filters of transcripts: folders of this run and of this machine, ports, times.
pub const TRANSCRIPT_FILTERS: [(&str, &str); 13] = [
    (r#"[^\s"'`=(]*[/\\]\.tmp\w{6}"#, "[folder]"),
    (r#"[^\s"'`=(]*[/\\](examples|testing)[/\\]"#, "$1/"),
    (
        r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(compare-)?\w{6}\b",
        "[run]",
    ),
    // What follows is on the same line where there is room.
    (r"Files in ([^\s:]+):?\s+", "Files in $1: "),
    (r"(127\.0\.0\.1|localhost):\d{5}\b", "$1:[port]"),
    (r"\b\d+\.\d+ ?m?s\b", "[time]"),
    (r"\bin \d+ ms\b", "in [time]"),
    (r"duration_ms: \d+\.\d+", "duration_ms: [time]"),
    (r"mcprove\.exe", "mcprove"),
    (r"exit code: ", "exit status: "),
    // Columns are as wide as the longest time.
    (r" {2,}(\[time\]|Time) {2,}", "  $1  "),
    (r" {2,}(\[time\]|at  tool)", "  $1"),
    (r"skipped  +", "skipped  "),
];

/// Compares a text with the snapshot of this name, with other filters if any are given.
macro_rules! assert_snapshot {
    ($name:expr, $text:expr) => {
        $crate::support::assert_snapshot!($name, $text, $crate::support::FILTERS.to_vec());
    };
    ($name:expr, $text:expr, $filters:expr) => {
        insta::with_settings!({
            filters => $filters,
            snapshot_path => "snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!($name, $text);
        });
    };
}
pub(crate) use assert_snapshot;

/// Compares what the user of some commands sees with the snapshot of this name; filters of its
/// own may follow.
macro_rules! assert_transcript {
    ($name:expr, $outputs:expr $(, $filter:expr)*) => {{
        let filters = [&[$($filter),*][..], &$crate::support::TRANSCRIPT_FILTERS].concat();
        $crate::support::assert_snapshot!($name, $crate::support::transcript($outputs), filters);
    }};
}
pub(crate) use assert_transcript;
