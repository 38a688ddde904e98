//! What `mcprove run` tells of suites: reports, files, loads.

use std::path::Path;

use serde_json::Value;

use crate::schema::validator;
use crate::suites::{FAILS, Place, SKIPPED, SUITE};
use crate::support::MCPROVE;

#[test]
fn a_failure_is_told_with_its_place_and_its_reason() {
    let output = Place::new(&[SUITE, FAILS]).run(&["suite.yml"]);
    assert!(
        output.stdout.starts_with("FAIL  fails  suite.yml:"),
        "{output:?}"
    );
    assert!(output.stdout.contains("zebra"), "{output:?}");
    assert!(output.stdout.contains("--last-failed"), "{output:?}");
    assert_eq!(output.stderr, "");
}

#[test]
fn several_reports_at_once() {
    let place = Place::new(&[SUITE, FAILS, SKIPPED]);
    let output = place.run(&[
        "suite.yml",
        "--report",
        "json=report.json",
        "--report",
        "junit=report.xml",
        "--report",
        "github=report.txt",
        "--report",
        "markdown=report.md",
        "--report",
        "html=report.html",
        "--report",
        "tap",
    ]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stdout.starts_with("TAP version 14\n1..4\n"),
        "{output:?}"
    );
    let json: Value = serde_json::from_str(&place.read("report.json")).unwrap();
    let problems: Vec<String> = validator("suite-report.v1")
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(problems.is_empty(), "{problems:?}");
    let xml = place.read("report.xml");
    assert!(
        xml.contains("tests=\"4\" skipped=\"1\" failures=\"1\" errors=\"0\""),
        "{xml}"
    );
    let github = place.read("report.txt");
    assert!(
        github.starts_with("::error file=suite.yml,line="),
        "{github}"
    );
    assert!(place.read("report.md").contains("## What did not pass"));
    assert!(place.read("report.html").contains("<title>FAIL"));
    let two = place.run(&["suite.yml", "--report", "tap", "--json"]);
    assert_eq!(two.code, Some(2));
    assert!(
        two.stderr.contains("cannot both go to standard output"),
        "{two:?}"
    );
    let over = place.run(&["suite.yml", "--report", "json=./suite.yml"]);
    assert_eq!(over.code, Some(2));
    assert!(place.read("suite.yml").contains("servers:"));
    let unknown = place.run(&["suite.yml", "--report", "junti=x"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("did you mean \"junit\""),
        "{unknown:?}"
    );
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_anything_runs() {
    let place = Place::new(&[SUITE]);
    let output = place.run(&["suite.yml", "--report", "junit=no/such/folder/x.xml"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("cannot write"), "{output:?}");
    assert!(!place.path("runs").exists());
}

#[test]
fn a_broken_suite_leaves_no_report_of_an_earlier_run() {
    let place = Place::new(&[SUITE]);
    let flags = [
        "suite.yml",
        "--report",
        "junit=r.xml",
        "--report",
        "json=r.json",
    ];
    assert_eq!(place.run(&flags).code, Some(0));
    place.write("suite.yml", &SUITE.replace("tool:", "tol:"));
    let output = place.run(&flags);
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("did you mean \"tool\"?"),
        "{output:?}"
    );
    assert!(place.read("r.xml").contains("errors=\"1\""));
    let json: Value = serde_json::from_str(&place.read("r.json")).unwrap();
    assert!(validator("suite-report.v1").is_valid(&json), "{json}");
    assert_eq!(json["passed"], false);
    assert_eq!(json["problems"][0]["file"], "suite.yml");
    assert!(json["problems"][0]["line"].is_u64(), "{json}");
}

#[test]
fn every_report_says_why_nothing_was_run() {
    let place = Place::new(&[SUITE]);
    let printed = |report: &str, more: &[&str]| {
        let flags = [&["suite.yml", "--report", report], more].concat();
        let output = place.run(&flags);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.starts_with("error: "), "{output:?}");
        output.stdout
    };
    let none = ["--filter", "no such test"];
    assert_eq!(
        place.run(&["suite.yml", "--report", "tap=r.tap"]).code,
        Some(0)
    );
    printed("tap=r.tap", &none);
    assert!(place.read("r.tap").contains("Bail out! "));
    assert!(printed("tap", &none).starts_with("TAP version 14\nBail out! "));
    assert!(printed("github", &none).starts_with("::error title=mcprove cannot run::"));
    let json: Value = serde_json::from_str(&printed("json", &none)).unwrap();
    assert!(json["problems"][0].get("file").is_none(), "{json}");
    place.write("suite.yml", &SUITE.replace("tool:", "tol:"));
    let github = printed("github", &[]);
    assert!(
        github.starts_with("::error file=suite.yml,line="),
        "{github}"
    );
    assert!(printed("tap", &[]).contains("Bail out! suite.yml:"));
    assert!(printed("junit", &[]).contains("errors=\"1\""));
    assert!(printed("markdown", &[]).contains("Why nothing was run"));
}

#[test]
fn that_all_is_skipped_is_no_pass() {
    let output = Place::new(&[SUITE, SKIPPED]).run(&["suite.yml", "--filter", "skip"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains("nothing was tested"), "{output:?}");
    assert!(!output.stdout.contains("PASS"), "{output:?}");
}

#[test]
fn hints_name_keys_of_the_suite() {
    let place = Place::new(&[]);
    place.write(
        "suite.yml",
        "servers: { gone: { url: \"http://127.0.0.1:1/mcp\" } }\ntools: [{ name: t, tool: x }]\n",
    );
    let output = place.run(&["suite.yml"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(!output.stdout.contains("--transport"), "{output:?}");
    assert!(output.stdout.contains("(`transport:"), "{output:?}");
}

#[test]
fn a_load_is_a_test_like_any_other() {
    let load = r"
load:
  - name: holds
    server: real
    scenario: { type: sustained, concurrent: 2, duration: 300ms }
    thresholds: { error_rate: 0.01 }
  - name: does not hold
    server: flaky
    scenario: { type: sustained, concurrent: 2, duration: 300ms }
    thresholds: { error_rate: 0.01 }
";
    let servers = format!(
        "servers:\n  real: {{ command: [{MCPROVE:?}, fixture, normal] }}\n  \
         flaky: {{ mock: ./tools.yml, fault: \"tool-error,rate=0.5\" }}\n"
    );
    let place = Place::new(&[&SUITE.replace("servers:\n", &servers), load]);
    let output = place.run(&["suite.yml", "--report", "json", "--out", "kept"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let test = |place: usize| &report["tests"][place];
    assert_eq!(test(2)["outcome"], "passed", "{output:?}");
    assert_eq!(test(3)["outcome"], "failed", "{output:?}");
    assert_eq!(test(3)["failures"][0]["target"], "error_rate");
    for number in [2, 3] {
        let details = test(number)["details"].as_str().unwrap();
        assert!(Path::new(details).starts_with("kept"), "{details}");
        assert!(place.path(details).join("metrics.json").is_file());
    }
    assert!(place.path("kept/last-failed.json").is_file());
}

#[test]
fn the_example_passes() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop/suite.yml");
    let place = Place::new(&[]);
    let output = place.run(&[example.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output
            .stdout
            .ends_with("PASS  3 tests: 2 passed, 1 skipped\n"),
        "{output:?}"
    );
}
