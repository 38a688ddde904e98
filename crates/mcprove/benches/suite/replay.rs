//! Many runs of a recorded agent, replayed and scored, beside reading what was recorded as JSON.

use std::path::{Path, PathBuf};
use std::time::Instant;

use harness::model::{FakeModel, scripts};
use measuring::{Figure, Outcome, Selection, median, program};

use super::{ROUNDS, command, run_suite};

/// Runs of the agent.
const RUNS: usize = 1000;
/// The same with `--quick`.
const RUNS_QUICK: usize = 100;
/// The most seconds that their replay may take.
const SECONDS_MAX: f64 = 2.0;

const TOOLS: &str = "name: issues
tools:
  - name: create_issue
    inputSchema: { type: object, properties: { title: { type: string } }, required: [title] }
    response: created
";

/// Measures them, if they are wanted.
pub fn measure(selection: &Selection) -> Outcome<()> {
    let is_quick = selection.has("--quick");
    let runs = if is_quick { RUNS_QUICK } else { RUNS };
    let name = format!("suite, replay of {runs} recorded runs of an agent");
    if !selection.wants(&name) {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let suite = write_suite(folder.path(), runs)?;
    let program = program()?;
    record(&program, &suite)?;
    let seconds = median(ROUNDS, || run_suite(&program, &suite))?;
    let cassettes = folder.path().join("cassettes");
    let bare = median(ROUNDS, || read_alone(&cassettes))?;
    let figure = Figure::new(name, seconds, "s");
    let figure = if is_quick {
        figure
    } else {
        figure.at_most(SECONDS_MAX)
    };
    figure
        .beside(format!("{bare:.2} s to read them as JSON"))
        .print();
    Ok(())
}

fn write_suite(folder: &Path, runs: usize) -> Outcome<PathBuf> {
    std::fs::write(folder.join("tools.yml"), TOOLS)?;
    let text = format!(
        "servers:
  issues: {{ mock: tools.yml }}
agents:
  - name: tells the truth
    model: claude-sonnet-4-5
    servers: [issues]
    prompt: Open an issue about the flaky test.
    runs: {runs}
    trajectory: {{ mode: strict, calls: [{{ name: create_issue }}] }}
    narrative: {{}}
    loops: {{}}
"
    );
    let path = folder.join("suite.yml");
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Records the runs with a scripted model, which is gone afterwards.
fn record(program: &str, suite: &Path) -> Outcome<()> {
    let model = FakeModel::start(scripts::honest);
    let output = command(program, suite)
        .arg("--record")
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "none")
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("recording ended with {}: {said}", output.status).into())
    }
}

/// Seconds to read every file of a folder as JSON.
fn read_alone(folder: &Path) -> Outcome<f64> {
    let began = Instant::now();
    for entry in std::fs::read_dir(folder)? {
        let bytes = std::fs::read(entry?.path())?;
        let value: serde_json::Value = serde_json::from_slice(&bytes)?;
        std::hint::black_box(value);
    }
    Ok(began.elapsed().as_secs_f64())
}
