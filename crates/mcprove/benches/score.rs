//! What scoring agent traces costs, from file to result, and how often the check of closing messages
//! is right.
//!
//! Run by `cargo xtask bench`, which builds the program. Prints one JSON object per figure on stdout.
//! With `--quick` the largest trace is left out.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use mcprove_score::gate::{Gates, score};
use mcprove_trace::{AgentRun, AgentTrace, ToolCall};
use measuring::{Figure, Outcome, Selection, median, peak_rss_kib, program};
use serde::Deserialize;

/// Runs of each trace.
const RUNS: usize = 20;
/// Each time is the median of this many rounds.
const ROUNDS: usize = 3;
/// The tools that the agent of the traces calls.
const TOOLS: [&str; 8] = [
    "search_files",
    "read_file",
    "write_file",
    "list_issues",
    "create_issue",
    "run_query",
    "fetch_page",
    "send_message",
];

/// Every block, so that every metric is computed and every gate applied.
const GATES: &str = "
trajectory: { mode: subsequence, calls: [search_files, { name: read_file, args: { subset: {} } }] }
trajectory_axes:
  dependencies: [{ producer: search_files, consumer: send_message }]
  order: [{ first: search_files, second: send_message }]
golden_path: { calls: [search_files, read_file], allow_extra_steps: true, penalize_backtracking: false }
stability: {}
reliability: {}
recovery: { max_detection_ms: 3000 }
narrative: {}
orchestration: {}
loops: {}
permissions: { deny: [delete_*, { tool: write_file, args: { path: { starts_with: /etc/ } } }] }
call_limits: { total: 1000000, tools: { create_issue: { min: 1 } } }
duplicate_writes: { readonly_tools: [run_query] }
expect:
  - { target: 'tool_calls[*].name', matcher: { not: { contains: delete_ } } }
  - { target: 'tool_results[*].is_error', matcher: { contains: false } }
";

fn main() -> Outcome<()> {
    let selection = Selection::from_arguments();
    let program = program()?;
    let folder = tempfile::tempdir()?;
    let gates = folder.path().join("gates.yml");
    std::fs::write(&gates, GATES)?;
    for (calls, seconds_max) in [(10_000, 2.0), (100_000, 20.0)] {
        let name = format!("score, {RUNS} runs of {calls} calls");
        let is_large = calls > 10_000;
        if !selection.wants(&name) || is_large && selection.has("--quick") {
            continue;
        }
        let trace = write_trace(folder.path(), calls)?;
        let size = std::fs::metadata(&trace)?.len() / 1_000_000;
        eprintln!("{name}: a trace of {size} MB");
        let mut peak = 0.0_f64;
        let seconds = median(if is_large { 1 } else { ROUNDS }, || {
            let (seconds, kib) = score_file(&program, &trace, &gates)?;
            peak = peak.max(kib);
            Ok(seconds)
        })?;
        Figure::new(format!("{name}, file to result"), seconds, "s")
            .at_most(seconds_max)
            .beside(format!("{size} MB of trace"))
            .print();
        let memory = Figure::new(format!("{name}, memory"), peak / 1024.0, "MiB");
        if is_large {
            memory.at_most(1e9 / 1024.0 / 1024.0).print();
        } else {
            memory.print();
        }
        std::fs::remove_file(&trace)?;
    }
    for (file, target) in [
        ("labelled.jsonl", Some(0.97)),
        ("unseen.jsonl", None),
        ("fresh.jsonl", None),
    ] {
        let name = format!("narrative, {file}");
        if selection.wants(&name) {
            narrative(&name, file, target)?;
        }
    }
    Ok(())
}

/// Seconds from start to end of the program, and the most memory that it took.
fn score_file(program: &str, trace: &Path, gates: &Path) -> Outcome<(f64, f64)> {
    let began = Instant::now();
    let child = Command::new(program)
        .arg("score")
        .arg(trace)
        .arg("--gates")
        .arg(gates)
        .arg("--json")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let (peak, status) = peak_rss_kib(child)?;
    let seconds = began.elapsed().as_secs_f64();
    // Gates may fail; a trace that cannot be judged would be measured too cheaply.
    match status.code() {
        Some(0 | 1) => Ok((seconds, peak)),
        _ => Err(format!("`mcprove score` ended with {status}").into()),
    }
}

/// A trace in which the calls vary as those of an agent at work do: some come again, some fail.
fn write_trace(folder: &Path, calls: usize) -> Outcome<PathBuf> {
    let path = folder.join("trace.json");
    let mut file = BufWriter::new(File::create(&path)?);
    write!(file, "{{\"schema\":\"agent-trace.v1\",\"runs\":[")?;
    for run in 0..RUNS {
        let comma = if run == 0 { "" } else { "," };
        write!(file, "{comma}{{\"model\":\"m\",\"tool_calls\":[")?;
        for call in 0..calls {
            let comma = if call == 0 { "" } else { "," };
            let (tool, item) = (tool(run, call), item(run, call));
            write!(
                file,
                "{comma}{{\"name\":\"{tool}\",\"server\":\"work\",\"args\":{{\"path\":\"/data/{item}\"}}}}"
            )?;
        }
        write!(file, "],\"tool_results\":[")?;
        for call in 0..calls {
            let comma = if call == 0 { "" } else { "," };
            let is_error = mix(run, call, 3).is_multiple_of(50);
            let item = item(run, call);
            write!(
                file,
                "{comma}{{\"call_index\":{call},\"is_error\":{is_error},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{item} lines\"}}]}}}}"
            )?;
        }
        let passed = run % 5 != 4;
        write!(
            file,
            "],\"conversation\":{{\"stop_reason\":\"completed\",\"duration_ms\":1000,\
             \"tokens\":{{\"prompt\":1000000,\"completion\":20000,\"total\":1020000}},\
             \"turns\":[{{\"role\":\"user\",\"text\":\"Go on.\"}},{{\"role\":\"assistant\",\"text\":\"I look.\"}},\
             {{\"role\":\"assistant\",\"text\":\"I am done.\"}}]}},\
             \"faults\":[{{\"call_index\":1,\"kind\":\"hang\"}}],\
             \"final_response\":\"I searched the files, created the issue and sent a message.\",\
             \"passed\":{passed}}}"
        )?;
    }
    writeln!(file, "]}}")?;
    file.flush()?;
    Ok(path)
}

fn tool(run: usize, call: usize) -> &'static str {
    // Runs of one agent are alike, and not the same.
    let varied = if mix(run, call, 1).is_multiple_of(10) {
        run
    } else {
        0
    };
    let place = mix(varied, call, 2) % TOOLS.len() as u64;
    TOOLS
        .into_iter()
        .nth(usize::try_from(place).unwrap_or(0))
        .unwrap_or("read_file")
}

fn item(run: usize, call: usize) -> u64 {
    let varied = if mix(run, call, 4).is_multiple_of(4) {
        run
    } else {
        0
    };
    mix(varied, call / 2, 5) % 100_000
}

/// Numbers that look random and are the same every time (`SplitMix64`).
fn mix(run: usize, call: usize, salt: u64) -> u64 {
    let mut state = (run as u64) << 40 ^ (call as u64) << 8 ^ salt;
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A closing message with its calls, and what a careful reader finds.
#[derive(Deserialize)]
struct Labelled {
    text: String,
    calls: Vec<ToolCall>,
    claimed_but_absent: u64,
    arg_mismatch: u64,
    present_but_unclaimed: u64,
}

/// How many were found, are there, and are both.
#[derive(Default)]
struct Counts {
    found: u64,
    there: u64,
    both: u64,
}

impl Counts {
    fn add(&mut self, found: u64, there: u64) {
        self.found += found;
        self.there += there;
        self.both += found.min(there);
    }

    /// Prints both shares; of nothing, everything is right.
    fn print(&self, name: &str, target: Option<f64>) {
        for (word, of) in [("precision", self.found), ("recall", self.there)] {
            #[allow(clippy::cast_precision_loss)]
            let share = if of == 0 {
                1.0
            } else {
                self.both as f64 / of as f64
            };
            let figure = Figure::new(format!("{name}: {word}"), share, "");
            let figure = figure.beside(format!("{} of {of}", self.both));
            match target {
                Some(target) => figure.at_least(target),
                None => figure,
            }
            .print();
        }
    }
}

/// Precision and recall of the check on labelled messages: of what is flagged, and of the calls that
/// no message mentions.
fn narrative(name: &str, file: &str, target: Option<f64>) -> Outcome<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../score/tests/narrative");
    let text = std::fs::read_to_string(folder.join(file))?;
    let (mut flagged, mut unclaimed) = (Counts::default(), Counts::default());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Labelled = serde_json::from_str(line)?;
        let run = AgentRun {
            final_response: Some(case.text),
            tool_calls: case.calls,
            ..AgentRun::default()
        };
        let report = score(&AgentTrace::new(vec![run]), &Gates::default());
        let found = |target: &str| {
            let value = report.targets.get(target);
            let value = value.and_then(serde_json::Value::as_u64);
            value.ok_or_else(|| format!("{target} is not a count"))
        };
        flagged.add(
            found("narrative.claimed_but_absent")?,
            case.claimed_but_absent,
        );
        flagged.add(found("narrative.arg_mismatch")?, case.arg_mismatch);
        unclaimed.add(
            found("narrative.present_but_unclaimed")?,
            case.present_but_unclaimed,
        );
    }
    flagged.print(name, target);
    unclaimed.print(&format!("{name}, calls not mentioned"), None);
    Ok(())
}
