//! `mcprove score`: what it prints, writes and ends with.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use mcprove_score::gate::ScoreReport;
use serde_json::Value;

use crate::schema::validator;
use crate::support::{Output, assert_transcript, finish, mcprove, run};

/// A folder for traces and gates.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file, and gives its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Scores a trace against gates.
    pub fn score(&self, trace: &str, gates: &str) -> Output {
        let trace = self.write("trace.json", trace);
        let gates = self.write("gates.yml", gates);
        run(&["score", &trace, "--gates", &gates, "--json"])
    }
}

/// What `--json` printed.
pub fn report(output: &Output) -> ScoreReport {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// An example that everybody can try.
pub fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/score");
    root.join(name).display().to_string()
}

/// How an example ends: exit code, and the targets that failed.
fn ending(traces: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut arguments = vec!["score".to_owned()];
    arguments.extend(traces.iter().map(|name| example(name)));
    arguments.extend(["--gates".to_owned(), example("gates.yml"), "--json".into()]);
    let output = run(&arguments);
    assert_eq!(output.stderr, "", "{output:?}");
    let report = report(&output);
    assert_eq!(report.passed, report.failures.is_empty());
    assert!(report.errors.is_empty(), "{report:?}");
    let failed = report.failures.iter().map(|failure| failure.target.clone());
    (output.code, failed.collect())
}

#[test]
fn the_examples_end_as_they_say() {
    assert_eq!(ending(&["truthful.json"]), (Some(0), Vec::new()));
    assert_eq!(ending(&["anthropic.json"]), (Some(0), Vec::new()));
    let (code, failed) = ending(&["lying.json"]);
    assert_eq!(code, Some(1));
    for target in ["trajectory.passed", "narrative.gate_passed"] {
        assert!(
            failed.iter().any(|name| name == target),
            "{target}: {failed:?}"
        );
    }
    // It says high where it wrote low.
    let (code, failed) = ending(&["openai.json"]);
    assert_eq!(code, Some(1), "{failed:?}");
    assert!(
        failed.iter().all(|name| name.starts_with("narrative.")),
        "{failed:?}"
    );
}

#[test]
fn several_files_are_runs_in_order() {
    let traces = [example("truthful.json"), example("lying.json")];
    let output = run(&["score", &traces[0], &traces[1], "--json"]);
    assert_eq!(output.code, Some(0), "nothing is gated: {output:?}");
    let report = report(&output);
    assert_eq!(report.runs.len(), 2);
    let files: Vec<Option<&str>> = report.runs.iter().map(|run| run.file.as_deref()).collect();
    assert_eq!(files, traces.each_ref().map(|name| Some(name.as_str())));
    let claims = |run: usize| report.runs[run].targets["narrative.claimed_but_absent"].clone();
    assert_eq!((claims(0), claims(1)), (Value::from(0), Value::from(2)));
    assert_eq!(
        report.targets["narrative.claimed_but_absent"], 2,
        "the worst"
    );
    let (code, failed) = ending(&["truthful.json", "lying.json"]);
    assert_eq!(code, Some(1));
    assert!(!failed.is_empty());
}

#[test]
fn json_is_of_its_format_and_the_same_every_time() {
    let schema = validator("score.v1");
    for name in [
        "truthful.json",
        "lying.json",
        "anthropic.json",
        "openai.json",
    ] {
        let arguments = [
            "score".to_owned(),
            example(name),
            "--json".to_owned(),
            "--gates".to_owned(),
            example("gates.yml"),
        ];
        let (one, other) = (run(&arguments), run(&arguments));
        assert_eq!(one.stdout, other.stdout, "{name}");
        let value: Value = serde_json::from_str(&one.stdout).unwrap();
        assert_eq!(value["schema"], "score.v1");
        let problems: Vec<String> = schema
            .iter_errors(&value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
}

#[test]
fn the_examples_are_of_their_formats() {
    let trace = validator("agent-trace.v1");
    for name in ["truthful.json", "lying.json"] {
        let text = std::fs::read_to_string(example(name)).unwrap();
        assert!(
            trace.is_valid(&serde_json::from_str(&text).unwrap()),
            "{name}"
        );
    }
}

#[test]
fn people_read_what_failed_first() {
    let traces = ["score", "truthful.json", "lying.json"];
    let mut command = mcprove(&[&traces[..], &["--gates", "gates.yml"]].concat());
    command.env("COLUMNS", "80").current_dir(example(""));
    let output = finish(command);
    let text = &output.stdout;
    assert!(!text.contains('\u{1b}'));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert_transcript!("score_gates", [&output]);
}

#[test]
fn standard_input_is_a_trace_too() {
    let text = std::fs::read(example("lying.json")).unwrap();
    let mut child = mcprove(&["score", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut from_file = report(&run(&["score", &example("lying.json"), "--json"]));
    let from_stdin: ScoreReport = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(from_file.runs[0].file.take(), Some(example("lying.json")));
    assert_eq!(
        from_stdin, from_file,
        "it has no file, and is the same otherwise"
    );
}

#[test]
fn the_number_of_runs_to_make_is_printed_alone() {
    for (arguments, printed) in [
        (&["0.05", "--confidence", "95"] as &[&str], "385\n"),
        (&["0.05"], "385\n"),
        (&["0.1", "--confidence", "90"], "68\n"),
        (&["0.05", "--confidence", "99"], "664\n"),
        (&["0.098"], "100\n"),
    ] {
        let output = run(&[&["score", "--recommend-runs"], arguments].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(output.stdout, printed, "{arguments:?}");
        assert_eq!(output.stderr, "");
    }
    let outputs = [
        &["--recommend-runs", "0"] as &[&str],
        &["--recommend-runs", "-0.1"],
        &["--recommend-runs", "1.5"],
        &["--recommend-runs", "nan"],
        &["--recommend-runs", "few"],
        &["--recommend-runs", "0.05", "--confidence", "97"],
        &["--recommend-runs", "0.05", "x.json"],
        &["--confidence", "95", "x.json"],
        &[],
    ]
    .map(|arguments| run(&[&["score"], arguments].concat()));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("score_refused", &outputs);
}
