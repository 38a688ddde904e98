//! What `mcprove run` tells of suites: reports, files, loads.

use std::path::Path;

use serde_json::Value;

use crate::schema::validator;
use crate::suites::{FAILS, Place, SKIPPED, SUITE};
use crate::support::{MCPROVE, assert_transcript, cat};

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
    assert!(place.read("report.html").contains("<title>FAIL"));
    let mut outputs = vec![output, cat(&place.path("report.md"))];
    let flags = [
        &["tap", "--json"][..],
        &["json=./suite.yml"],
        &["junti=x"],
        &["junit=no/such/folder/x.xml"],
    ];
    outputs.extend(flags.map(|flags| place.run(&[&["suite.yml", "--report"], flags].concat())));
    assert!(place.read("suite.yml").contains("servers:"));
    // The columns are as wide as the longest time.
    let columns = (r"(\| Time|-|ms|\|) +\|", "$1 |");
    assert_transcript!("suites_reports", &outputs, (r"-{5,}", "-----"), columns);
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_anything_runs() {
    let place = Place::new(&[SUITE]);
    let output = place.run(&["suite.yml", "--report", "junit=no/such/folder/x.xml"]);
    assert_eq!(output.code, Some(2));
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
    assert_transcript!("suites_broken", [&output]);
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
    let run = |report: &str, more: &[&str]| {
        place.run(&[&["suite.yml", "--report", report], more].concat())
    };
    let none = ["--filter", "no such test"];
    assert_eq!(run("tap=r.tap", &[]).code, Some(0));
    run("tap=r.tap", &none);
    assert!(place.read("r.tap").contains("Bail out! "));
    let json: Value = serde_json::from_str(&run("json", &none).stdout).unwrap();
    assert!(json["problems"][0].get("file").is_none(), "{json}");
    let mut outputs = vec![run("tap", &none), run("github", &none)];
    place.write("suite.yml", &SUITE.replace("tool:", "tol:"));
    outputs.extend(["github", "tap", "junit", "markdown"].map(|report| run(report, &[])));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("suites_reports_of_nothing", &outputs);
}

#[test]
fn that_all_is_skipped_is_no_pass() {
    let output = Place::new(&[SUITE, SKIPPED]).run(&["suite.yml", "--filter", "skip"]);
    assert!(!output.stdout.contains("PASS"), "{output:?}");
    assert_transcript!("suites_all_skipped", [&output]);
}

#[test]
fn hints_name_keys_of_the_suite() {
    let place = Place::new(&[]);
    place.write(
        "suite.yml",
        "servers: { gone: { url: \"http://127.0.0.1:1/mcp\" } }\ntools: [{ name: t, tool: x }]\n",
    );
    let output = place.run(&["suite.yml"]);
    assert!(!output.stdout.contains("--transport"), "{output:?}");
    assert_transcript!("suites_hint_of_key", [&output]);
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
}
