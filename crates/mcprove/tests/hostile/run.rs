//! Runs `mcprove` against a server written in Python, and watches its memory.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than any run takes, on a busy machine too.
pub const DEADLINE: Duration = Duration::from_mins(2);
/// How much `mcprove` may use with the usual limit on messages, 64 MiB.
pub const MEMORY_MIB_MAX: u64 = 250;
/// How much it may use with `--max-frame 1MiB`.
pub const SMALL_MEMORY_MIB_MAX: u64 = 60;

const PRELUDE: &str = include_str!("server.py");

/// The program of a server that ends with `script`.
pub fn python(script: &str) -> String {
    format!("{PRELUDE}\n{script}\n")
}

/// `mcprove` with `arguments`, not started yet.
pub fn mcprove(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcprove"));
    command
        .args(arguments)
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Checks all cases at the same time: most of them wait for a deadline. Gives what came of each.
pub fn at_once<T: Sync, R: Send>(cases: &[T], check: impl Fn(&T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let check = &check;
        let start = |case| scope.spawn(move || check(case));
        let all: Vec<_> = cases.iter().map(start).collect();
        all.into_iter().map(|check| check.join().unwrap()).collect()
    })
}

/// Probes the server on stdio that ends with `script`.
pub fn probe(arguments: &[&str], script: &str) -> Outcome {
    let program = python(script);
    let mut all = vec!["probe", "--allow-writes"];
    all.extend_from_slice(arguments);
    all.extend_from_slice(&["--", "python3", "-c", &program]);
    Running::start(mcprove(&all)).end()
}

/// Probes a server at an address. `{}` in an argument stands for its port.
pub fn probe_address(arguments: &[&str], script: &str) -> Outcome {
    let server = Listening::start(script);
    let arguments: Vec<String> = std::iter::once("probe".to_owned())
        .chain(
            arguments
                .iter()
                .map(|text| text.replace("{}", &server.port.to_string())),
        )
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Running::start(mcprove(&arguments)).end()
}

/// A server at an address; ends with this value.
pub struct Listening {
    process: Child,
    pub port: u16,
}

impl Listening {
    pub fn start(script: &str) -> Self {
        let mut process = Command::new("python3")
            .args(["-c", &python(script)])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().parse().unwrap();
        Self { process, port }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A run of `mcprove` that is under way.
pub struct Running {
    pub process: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let stdout = process.stdout.take().map(collect);
        let stderr = process.stderr.take().map(collect);
        Self {
            process,
            stdout,
            stderr,
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; fails the test if that does not come.
    pub fn end(mut self) -> Outcome {
        let began = Instant::now();
        let mut memory_kib = 0;
        let status = loop {
            memory_kib = memory_kib.max(peak_memory_kib(self.process.id()));
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > DEADLINE {
                let _ = self.process.kill();
                panic!("mcprove did not end within {DEADLINE:?}");
            }
            thread::sleep(Duration::from_millis(3));
        };
        let text = |reader: Option<JoinHandle<String>>| {
            reader.map_or_else(String::new, |reader| reader.join().unwrap())
        };
        Outcome {
            status,
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
            memory_mib: memory_kib / 1024,
            duration: began.elapsed(),
        }
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("mcprove writes UTF-8")
    })
}

/// The most memory that a process had resident; 0 once it is gone.
pub fn peak_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// How a run of `mcprove` ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub memory_mib: u64,
    pub duration: Duration,
}

impl Outcome {
    /// All that was printed, in one line of single spaces: where lines break does not matter.
    pub fn text(&self) -> String {
        let all = format!("{} {}", self.stdout, self.stderr);
        all.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The run ended with `code`, in bounded memory and in good order.
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        self.used_at_most(MEMORY_MIB_MAX);
        assert_eq!(self.status.code(), Some(code), "{}", self.excerpt());
        assert!(!self.stderr.contains("panicked"), "{}", self.excerpt());
        self
    }

    #[track_caller]
    pub fn used_at_most(&self, mebibytes: u64) -> &Self {
        assert!(
            self.memory_mib <= mebibytes,
            "{} MiB of {mebibytes}: {}",
            self.memory_mib,
            self.excerpt()
        );
        self
    }

    /// All that its user saw.
    fn transcript(&self) -> String {
        let Self { stdout, stderr, .. } = self;
        let code = self.status.code().unwrap_or(-1);
        format!("{stdout}[stderr]\n{stderr}[exit code {code}]\n")
    }

    /// All of `parts` were printed.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &Self {
        let text = self.text();
        for part in parts {
            assert!(text.contains(part), "no {part:?} in {}", self.excerpt());
        }
        self
    }

    /// The report of a run with `--json`.
    pub fn report(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    pub fn excerpt(&self) -> String {
        let cut = |text: &str| text.chars().take(3000).collect::<String>();
        format!(
            "{} after {:?} with {} MiB\n{}\n{}",
            self.status,
            self.duration,
            self.memory_mib,
            cut(&self.stdout),
            cut(&self.stderr)
        )
    }
}

/// What the users of several runs saw.
pub fn transcript<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
    let each: Vec<String> = outcomes.into_iter().map(Outcome::transcript).collect();
    each.join("\n")
}

/// Filters of snapshots: cells that are wrapped, for the times before them are shorter or longer; times; ports.
pub const FILTERS: [(&str, &str); 5] = [
    (r"\n {6,}", " "),
    (r"skipped  +", "skipped  "),
    (r" +\d+\.\d ms *", " [time] "),
    (r"\d+(\.\d+)? ms\b", "[time]"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
];

/// Compares all that was printed with the snapshot of this name.
macro_rules! assert_seen {
    ($name:expr, $outcomes:expr) => {
        insta::with_settings!({
            filters => $crate::run::FILTERS.to_vec(),
            snapshot_path => "snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!($name, $crate::run::transcript($outcomes));
        });
    };
}
pub(crate) use assert_seen;
