//! Files of earlier versions (`testing/samples`) are read as they were: the same verdicts and figures.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{
    Output, assert_snapshot, assert_transcript, cat, finish, mcprove, run, transcript,
};

/// Samples have the same figures each time.
pub const UNFILTERED: Vec<(&str, &str)> = Vec::new();

/// Names of texts for people, which may be reworded.
const WORDING: [&str; 11] = [
    "advice", "detail", "example", "examples", "hint", "meaning", "message", "reason", "reasons",
    "sentence", "warnings",
];
/// Names of lists of texts for people: as many, whatever their words.
const LISTS: [&str; 2] = ["found", "notes"];

pub fn samples(kind: &str) -> PathBuf {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/samples");
    Path::new(samples).join(kind)
}

/// The entries of a folder that end so, sorted.
fn entries(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    paths
}

/// What is judged in another way now: calls that a crash took are not `errors` besides, those of `interrupted_call` do not
/// count, a run that is inconclusive has no overall grade, and blocking among tools is a warning.
const CHANGED: [(&str, &str); 7] = [
    ("runs/crash", "/verdicts"),
    ("runs/interrupted_call", "/verdicts"),
    ("runs/thresholds", "/grades/overall"),
    ("runs/slow_mix", "/grades"),
    ("runs/slow_mix", "/outcome"),
    ("runs/slow_mix", "/passed"),
    ("runs/slow_mix", "/verdicts/2/severity"),
];

/// JSON without its wording.
fn figures(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| !WORDING.contains(&name.as_str()));
                for (name, value) in members {
                    match value {
                        Value::Array(items) if LISTS.contains(&name.as_str()) => {
                            let texts = items.iter_mut().filter(|item| item.is_string());
                            texts.for_each(|text| *text = Value::Null);
                        }
                        _ => strip(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    strip(&mut value);
    value
}

/// Takes away what earlier versions did not have.
fn drop_new(value: &mut Value, known: &Value) {
    match (value, known) {
        (Value::Object(members), Value::Object(known)) => {
            members.retain(|name, _| known.contains_key(name));
            for (name, value) in members {
                drop_new(value, &known[name]);
            }
        }
        (Value::Array(items), Value::Array(known)) => {
            let pairs = items.iter_mut().zip(known);
            pairs.for_each(|(item, known)| drop_new(item, known));
        }
        _ => {}
    }
}

#[track_caller]
fn assert_same(what: &Path, output: &Output, expected: &Path) {
    let expected = std::fs::read_to_string(expected).unwrap();
    let (mut expected, mut actual) = (figures(&expected), figures(&output.stdout));
    let changed = CHANGED.iter().filter(|(sample, _)| what.ends_with(sample));
    for (_, place) in changed {
        for value in [&mut expected, &mut actual] {
            *value.pointer_mut(place).unwrap() = Value::Null;
        }
    }
    drop_new(&mut actual, &expected);
    if expected != actual {
        let [expected, actual] = [expected, actual].map(|it| format!("{it:#}"));
        let mut lines = expected.lines().zip(actual.lines());
        let differing = lines.find(|(one, other)| one != other);
        panic!("{}: {differing:?}: {}", what.display(), output.stderr);
    }
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn runs_have_the_same_verdicts_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    for sample in entries(&samples("runs"), "") {
        // Reports are written into the folder.
        let place = folder.path().join(sample.file_name().unwrap());
        copy(&sample, &place);
        let output = run(&["report", place.to_str().unwrap(), "--json"]);
        assert_same(&sample, &output, &sample.join("expected.json"));
        let name = sample.file_name().unwrap().to_str().unwrap();
        let mut command = mcprove(&["report", name]);
        command.current_dir(folder.path());
        let seen = transcript(&[finish(command), cat(&place.join("report.md"))]);
        assert_snapshot!(format!("sample_run_{name}"), seen, UNFILTERED);
    }
}

/// Runs a command where the samples are, which it must not change.
pub fn on_samples(arguments: &[&str]) -> Output {
    let mut command = mcprove(arguments);
    command.current_dir(samples(""));
    finish(command)
}

#[test]
fn reports_are_as_reviewed() {
    let recordings = ["proxy.jsonl", "proxy-faults.jsonl", "probe.jsonl"]
        .map(|name| on_samples(&["report", &format!("traces/{name}")]));
    assert_snapshot!("sample_recordings", transcript(&recordings), UNFILTERED);
    let runs = on_samples(&["runs", "--dir", "runs", "--limit", "4"]);
    assert_snapshot!("sample_runs", transcript([&runs]), UNFILTERED);
}

#[test]
fn cassettes_are_replayed_to_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    copy(&samples("suites"), folder.path());
    let nested = entries(&samples("suites/replay"), ".yml");
    for sample in entries(&samples("suites"), ".yml")
        .into_iter()
        .chain(nested)
    {
        let suite = sample.strip_prefix(samples("suites")).unwrap();
        let suite = suite.to_str().unwrap();
        let [output, seen] = [&["--json"][..], &[]].map(|more| {
            let mut command = mcprove(&[&["run", suite, "--out", "runs"], more].concat());
            command.current_dir(folder.path());
            finish(command)
        });
        assert_same(&sample, &output, &sample.with_extension("expected.json"));
        let name = sample.file_stem().unwrap().display();
        assert_transcript!(format!("sample_suite_{name}"), [&seen]);
    }
}

#[test]
fn traces_have_the_same_scores() {
    for expected in entries(&samples("traces"), ".expected") {
        let trace = expected.with_extension("");
        let name = format!("traces/{}", trace.file_name().unwrap().display());
        assert_same(&trace, &on_samples(&["score", &name, "--json"]), &expected);
        let seen = transcript([&on_samples(&["score", &name])]);
        let name = trace.file_stem().unwrap().display();
        assert_snapshot!(format!("sample_score_{name}"), seen, UNFILTERED);
    }
}

#[test]
fn audits_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    copy(&samples("audit"), folder.path());
    let file = folder.path().join("lab.db");
    let output = run(&["lab", "audit", file.to_str().unwrap(), "--export", "jsonl"]);
    let expected = std::fs::read_to_string(samples("audit/expected.jsonl")).unwrap();
    assert_eq!(output.stdout, expected, "{}", output.stderr);
}

#[test]
fn configurations_are_read() {
    let runs = entries(&samples("runs"), "");
    let of_runs = runs.iter().map(|folder| folder.join("config.toml"));
    for file in entries(&samples("configs"), "l").into_iter().chain(of_runs) {
        let output = run(&["validate", file.to_str().unwrap()]);
        assert_eq!(output.code, Some(0), "{}: {output:?}", file.display());
    }
}

#[test]
fn no_report_is_written_over_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    copy(&samples("runs/sustained"), &folder.path().join("run"));
    std::fs::write(folder.path().join("gates.yml"), "narrative: {}\n").unwrap();
    let trace = samples("traces/lying.json").display().to_string();
    for (arguments, kept) in [
        (
            ["report", "run", "--report", "json=run/trace.jsonl"].as_slice(),
            "run/trace.jsonl",
        ),
        (
            &["compare", "run", "run", "--report", "json=run/metrics.json"],
            "run/metrics.json",
        ),
        (
            &[
                "score",
                &trace,
                "--gates",
                "gates.yml",
                "--junit",
                "gates.yml",
            ],
            "gates.yml",
        ),
    ] {
        let before = std::fs::read(folder.path().join(kept)).unwrap();
        let mut command = mcprove(arguments);
        command.current_dir(folder.path());
        let output = finish(command);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert_eq!(std::fs::read(folder.path().join(kept)).unwrap(), before);
    }
}

#[test]
fn a_date_beyond_the_calendar_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    copy(&samples("runs/sustained"), &place);
    let trace = std::fs::read_to_string(place.join("trace.jsonl")).unwrap();
    let at = trace.find("\"started_at_ms\":").unwrap() + "\"started_at_ms\":".len();
    let end = at + trace[at..].find([',', '}']).unwrap();
    let changed = format!("{}253402300800000{}", &trace[..at], &trace[end..]);
    std::fs::write(place.join("trace.jsonl"), changed).unwrap();
    let output = run(&["report", place.to_str().unwrap()]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("trace.jsonl:1"), "{output:?}");
}
