//! The process of an agent, from start to end, and its last words: a text, or one object of JSON with `final_response`.

use mcprove_client::process::{Child, SpawnError, StderrLog};
use serde::de::DeserializeOwned;
use tokio::process::{ChildStdin, ChildStdout};

use crate::prelude::*;

/// How much of the standard output of an agent is kept.
pub const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many lines of its stderr are told.
const STDERR_LINES_MAX: usize = 15;
/// How long the rest of its output may take once it has exited.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// How a process ended.
pub struct Ended {
    pub how: How,
    pub stdout: String,
    /// Whether there was more.
    pub is_cut: bool,
    pub duration: Duration,
    /// When, by the clock that recordings begin by.
    pub at: SystemTime,
}

/// How a process ended.
pub enum How {
    /// With success.
    Done,
    /// With another status, or by a signal.
    Failed {
        /// Which, in words.
        status: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// It had no time left.
    TimedOut,
}

/// Runs the process to its end, or to that of its time, and all that it started with it.
pub async fn run(
    server: &Server,
    input: String,
    time: Duration,
    redactor: Redactor,
) -> Result<Ended, SpawnError> {
    let began = Instant::now();
    let stderr = Arc::new(StderrLog::new().with_redactor(redactor));
    let (child, stdin, stdout) = Child::spawn(server, Arc::clone(&stderr)).await?;
    let writing = tokio::spawn(write(stdin, input));
    let reading = tokio::spawn(read(stdout));
    let exit = timeout(time, child.wait()).await.ok();
    let (duration, at) = (began.elapsed(), SystemTime::now());
    writing.abort();
    // Also what it left behind: proxies, which write down what passed and are ended here.
    child.stop(Duration::ZERO).await;
    let (stdout, is_cut) = match timeout(OUTPUT_GRACE, reading).await {
        Ok(Ok(read)) => read,
        _ => (Vec::new(), false),
    };
    let how = match exit {
        None => How::TimedOut,
        Some(status) if status.success() => How::Done,
        Some(status) => How::Failed {
            status: match status.code() {
                Some(code) => format!("exit code {code}"),
                None => status.to_string(),
            },
            stderr: last_lines(&stderr.tail(), STDERR_LINES_MAX),
        },
    };
    let mut stdout = String::from_utf8_lossy(&stdout).into_owned();
    if is_cut {
        // Whoever looks for secrets looks there for a part of one.
        stdout.push('…');
    }
    Ok(Ended {
        how,
        stdout,
        is_cut,
        duration,
        at,
    })
}

async fn write(mut stdin: ChildStdin, input: String) {
    // An agent need not read it.
    let _ = stdin.write_all(input.as_bytes()).await;
    let _ = stdin.shutdown().await;
}

/// Reads to the end, and keeps the first part.
async fn read(mut stdout: ChildStdout) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut first = (&mut stdout).take(OUTPUT_BYTES_MAX as u64);
    let _ = first.read_to_end(&mut kept).await;
    let more = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
    (kept, more.is_ok_and(|bytes| bytes > 0))
}

/// What an agent says of its run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// What it says to its user.
    pub final_response: String,
    /// The model that it asked.
    pub model: Option<String>,
    /// The tokens that it took.
    pub tokens: Option<Tokens>,
    /// The turns of the conversation.
    pub turns: Option<Vec<Turn>>,
}

impl Output {
    /// The output as a text, whatever it is.
    pub fn text(stdout: &str) -> Self {
        Self {
            final_response: stdout.trim().to_owned(),
            ..Self::default()
        }
    }

    /// Reads standard output: all of it is the text, unless it is an object that says so itself. Such an object must be
    /// right: what is wrong with it comes back, with its place.
    pub fn read(stdout: &str) -> Result<Self, String> {
        let object: Option<Map<String, Value>> = serde_json::from_str(stdout.trim()).ok();
        let is_ours = |object: &Map<String, Value>| {
            let mut keys = ["final_response", "tokens", "turns"].into_iter();
            keys.any(|key| object.contains_key(key))
        };
        let Some(mut object) = object.filter(is_ours) else {
            return Ok(Self::text(stdout));
        };
        // Null is nothing.
        let mut take = |key: &str| object.remove(key).unwrap_or_default();
        let final_response: Option<String> = field("final_response", take("final_response"))?;
        let turns: Option<Vec<Value>> = field("turns", take("turns"))?;
        let turns = turns.map(|turns| {
            let turns = turns.into_iter().enumerate();
            let turns = turns.map(|(index, turn)| field(&format!("turns[{index}]"), turn));
            turns.collect::<Result<_, _>>()
        });
        Ok(Self {
            final_response: final_response.ok_or("final_response: it is missing")?,
            model: field("model", take("model"))?,
            tokens: field("tokens", take("tokens"))?,
            turns: turns.transpose()?,
        })
    }
}

fn field<Field: DeserializeOwned>(place: &str, value: Value) -> Result<Field, String> {
    serde_json::from_value(value).map_err(|error| format!("{place}: {error}"))
}
