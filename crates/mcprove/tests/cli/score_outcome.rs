//! How scoring ends: what holds, fails and cannot be judged, on a terminal, as JSON and as `JUnit`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::schema::validator;
use crate::score::{Place, example, report};
use crate::support::{assert_transcript, finish, mcprove, run};

#[test]
fn junit_is_written_whatever_comes_of_it() {
    let place = Place::new();
    let file = place.path("junit.xml");
    let score = |trace: &str, gates: &str| {
        let _ = std::fs::remove_file(&file);
        let output = run(&["score", trace, "--gates", gates, "--junit", &file]);
        (output.code, std::fs::read_to_string(&file).unwrap())
    };
    let (code, passed) = score(&example("truthful.json"), &example("gates.yml"));
    assert_eq!(code, Some(0));
    assert!(passed.contains("failures=\"0\" errors=\"0\""), "{passed}");
    let (code, failed) = score(&example("lying.json"), &example("gates.yml"));
    assert_eq!(code, Some(1));
    assert!(
        failed.contains("type=\"narrative.gate_passed\""),
        "{failed}"
    );
    assert!(
        failed.contains("<testcase name=\"default gate\" classname=\"loops\"/>"),
        "{failed}"
    );
    // The names of the cases do not depend on how they ended.
    let names = |text: &str| -> Vec<String> {
        let cases = text.lines().filter(|line| line.contains("<testcase "));
        cases
            .map(|line| line.trim().trim_end_matches(['/', '>']).to_owned())
            .collect()
    };
    assert_eq!(names(&passed), names(&failed));
    // One of two that cannot be judged.
    let gates = place.write("stability.yml", "stability: {}\nnarrative: {}\n");
    let (code, unjudged) = score(&example("lying.json"), &gates);
    assert_eq!(code, Some(2));
    assert!(
        unjudged.contains("failures=\"1\" errors=\"1\""),
        "{unjudged}"
    );
    let cases = ["stability", "narrative"]
        .map(|block| format!("<testcase name=\"default gate\" classname=\"{block}\""));
    assert_eq!(names(&unjudged), cases);
    // What an earlier run left behind is not left there.
    let bad = place.write("bad.yml", "narative: {}\n");
    let missing = place.path("missing.json");
    for (trace, gates, count) in [
        (&missing, &example("gates.yml"), 1),
        (&example("lying.json"), &bad, 1),
        (&missing, &bad, 2),
    ] {
        let (code, unread) = score(trace, gates);
        assert_eq!(code, Some(2));
        let summary = format!("tests=\"{count}\" skipped=\"0\" failures=\"0\" errors=\"{count}\"");
        assert!(unread.contains(&summary), "{unread}");
    }

    let nowhere: PathBuf = Path::new(&place.path("missing")).join("junit.xml");
    let nowhere = nowhere.display().to_string();
    let output = run(&["score", &example("truthful.json"), "--junit", &nowhere]);
    assert_transcript!("score_junit_nowhere", [&output.without_stdout()]);
}

/// One gate that cannot be judged hides nothing of the others.
#[test]
fn what_cannot_be_judged_stands_beside_what_fails() {
    let place = Place::new();
    let gates = place.write(
        "gates.yml",
        "narrative: {}\nloops: {}\nexpect: [{ target: \"tool_calls[7].name\", matcher: { exact: x } }]\n",
    );
    let arguments = ["score", &example("lying.json"), "--gates", &gates];
    let output = run(&[&arguments[..], &["--json"]].concat());
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_eq!(output.stderr, "");
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    let schema = validator("score.v1");
    assert!(schema.is_valid(&value), "{value}");
    let report = report(&output);
    assert!(!report.passed);
    let [failure] = &report.failures[..] else {
        panic!("{report:?}");
    };
    assert_eq!(failure.target, "narrative.gate_passed");
    let [error] = &report.errors[..] else {
        panic!("{report:?}");
    };
    assert_eq!(error.target.as_deref(), Some("tool_calls[7].name"));
    assert!(report.targets.contains_key("loops.detected"), "{report:?}");
    std::fs::copy(example("lying.json"), place.path("lying.json")).unwrap();
    let outputs = [40, 80].map(|columns| {
        let mut command = mcprove(&["score", "lying.json", "--gates", "gates.yml"]);
        command
            .env("COLUMNS", columns.to_string())
            .current_dir(place.path(""));
        let output = finish(command);
        let wide = |line: &str| line.chars().count() > columns;
        assert!(!output.stdout.lines().any(wide), "{output:?}");
        output
    });
    assert_transcript!("score_unjudged", &outputs);
}
