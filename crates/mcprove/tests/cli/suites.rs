//! `mcprove run` with suites: what is chosen and run, and how it ends.

use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::Value;

use crate::schema::validator;
use crate::support::{Output, assert_transcript, finish, mcprove};

/// A server with one tool.
pub const TOOLS: &str = r#"
name: demo
tools:
  - name: search
    inputSchema: { type: object, properties: { query: { type: string } }, required: [query] }
    response: "found ${args.query}"
"#;

/// A configuration of a load.
const BENCH: &str = "[server]\ncommand = \"x\"\n[scenario]\ntype = \"sustained\"\n";

/// Tests whose names say how they end.
pub const SUITE: &str = r#"
servers:
  fake: { mock: ./tools.yml }
tools:
  - name: passes
    server: fake
    tool: search
    args: { query: x }
    tags: [smoke]
    expect: [{ target: "result.content[0].text", matcher: { contains: x } }]
  - name: passes too
    server: fake
    tool: search
    args: { query: y }
"#;
pub const FAILS: &str = r#"
  - name: fails
    server: fake
    tool: search
    args: { query: x }
    tags: [smoke, slow]
    expect: [{ target: "result.content[0].text", matcher: { contains: zebra } }]
"#;
pub const SKIPPED: &str = r"
  - name: skipped
    server: fake
    tool: search
    skip: needs a key
";
/// A test of a server that does not start.
const ERROR: &str = r"
  - name: cannot be done
    server: gone
    tool: search
";

/// A folder with suites in it.
pub struct Place(tempfile::TempDir);

impl Place {
    /// With the suite of these parts.
    pub fn new(parts: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("tools.yml", TOOLS);
        place.write("suite.yml", &parts.concat());
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = mcprove(&[&["run"], arguments].concat());
        command.current_dir(self.0.path());
        command
    }

    /// Runs in the folder.
    pub fn run(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments))
    }

    /// Runs the suite, and gives what came of each test.
    fn outcomes(&self, arguments: &[&str]) -> (Vec<String>, Option<i32>) {
        let all = [&["suite.yml", "--report", "json"], arguments].concat();
        let output = self.run(&all);
        let report: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let of = |test: &Value| {
            let text = |name: &str| test[name].as_str().unwrap().to_owned();
            format!("{}: {}", text("name"), text("outcome"))
        };
        let tests = report["tests"].as_array().unwrap();
        (tests.iter().map(of).collect(), output.code)
    }
}

fn with_gone_server() -> String {
    SUITE.replace(
        "servers:\n",
        "servers:\n  gone: { command: [no-such-program-anywhere] }\n",
    )
}

#[test]
fn the_exit_code_is_that_of_the_worst() {
    let gone = with_gone_server();
    let outputs = [
        &[SUITE, SKIPPED][..],
        &[SUITE, FAILS],
        &[&gone, FAILS, ERROR],
    ]
    .map(|parts| Place::new(parts).run(&["suite.yml"]));
    assert_eq!(
        outputs.each_ref().map(|output| output.code),
        [Some(0), Some(1), Some(2)]
    );
    for output in &outputs {
        let wide = output.stdout.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
    }
    assert_transcript!("suites_worst", &outputs);
}

#[test]
fn tests_are_chosen_by_name_tag_and_share() {
    let place = Place::new(&[SUITE, FAILS]);
    for (flags, expected) in [
        (&["--filter", "too"][..], &["passes too: passed"][..]),
        (&["--filter", "/^passes$/"], &["passes: passed"]),
        (&["--filter", "suite.yml::fails"], &["fails: failed"]),
        (&["--tag", "smoke", "--tag", "!slow"], &["passes: passed"]),
        (&["--shard", "1/2"], &["passes: passed", "fails: failed"]),
        (&["--shard", "2/2"], &["passes too: passed"]),
    ] {
        assert_eq!(place.outcomes(flags).0, expected, "{flags:?}");
    }
}

#[test]
fn nothing_chosen_is_an_error_that_names_what_was_meant() {
    let place = Place::new(&[SUITE]);
    let outputs = [
        ["--filter", "pases"],
        ["--tag", "smok"],
        ["--shard", "3/2"],
        ["--filter", "/(/"],
        ["--repeat", "0"],
    ]
    .map(|flags| place.run(&["suite.yml", flags[0], flags[1]]));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("suites_nothing_chosen", &outputs);
}

#[test]
fn what_failed_is_remembered_until_it_passes() {
    let place = Place::new(&[SUITE, FAILS]);
    let mut outputs = vec![place.run(&["suite.yml", "--last-failed"])];
    let (tests, code) = place.outcomes(&["--last-failed"]);
    assert_eq!((tests, code), (vec!["fails: failed".to_owned()], Some(1)));
    // The same file by another name is the same.
    outputs.push(place.run(&["./suite.yml", "--last-failed", "--list"]));
    place.write(
        "suite.yml",
        &[SUITE, &FAILS.replace("zebra", "found")].concat(),
    );
    let (tests, _) = place.outcomes(&["--last-failed"]);
    assert_eq!(tests, ["fails: passed"]);
    // That nothing failed is no pass: nothing is tested.
    outputs.push(place.run(&["suite.yml", "--last-failed"]));
    // Programs are told in their own words, and no report of an earlier run stays behind.
    place.write("results.xml", "old");
    let told = ["--last-failed", "--json", "--report", "junit=results.xml"];
    let output = place.run(&[&["suite.yml"], &told[..]].concat());
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&report["passed"], output.code), (&false.into(), Some(2)));
    assert!(report["problems"][0]["message"].is_string(), "{report}");
    let junit = place.read("results.xml");
    assert!(junit.contains("errors=\"1\""), "{junit}");
    let list = place.run(&["suite.yml", "--last-failed", "--list", "--json"]);
    assert_eq!(list.code, Some(2), "{list:?}");
    // One that was never run is run as a whole.
    place.write("other.yml", SUITE);
    outputs.push(place.run(&["suite.yml", "other.yml", "--last-failed", "--list"]));
    place.write("runs/last-failed.json", "nonsense");
    outputs.push(place.run(&["suite.yml", "--last-failed"]));
    assert_transcript!("suites_last_failed", &outputs);
}

/// A checkout that was moved, or a cache that was put back elsewhere, knows what failed.
#[test]
fn what_failed_is_known_elsewhere() {
    let place = Place::new(&[SUITE, FAILS]);
    assert_eq!(place.run(&["suite.yml"]).code, Some(1));
    let other = Place::new(&[SUITE, FAILS]);
    std::fs::create_dir(other.path("runs")).unwrap();
    other.write(
        "runs/last-failed.json",
        &place.read("runs/last-failed.json"),
    );
    let (tests, code) = other.outcomes(&["--last-failed"]);
    assert_eq!((tests, code), (vec!["fails: failed".to_owned()], Some(1)));
}

#[test]
fn a_recording_is_not_repeated() {
    let place = Place::new(&[SUITE]);
    let outputs = ["2", "1"].map(|times| place.run(&["suite.yml", "--record", "--repeat", times]));
    assert_transcript!("suites_record_repeat", &outputs);
}

#[test]
fn what_would_be_started_and_reached_is_explained() {
    let place = Place::new(&[
        SUITE,
        SKIPPED,
        r#"
agents:
  - { name: asks, model: claude-test, servers: [files], prompt: p }
  - { name: asks here, model: m, provider: { base_url: "http://127.0.0.1:9/v1" }, servers: [], prompt: p, runs: 3 }
  - { name: is recorded, model: claude-test, servers: [recorded], prompt: p }
  - { name: is mine, command: [./my_agent, "${MODE:-fast}"], servers: [], prompt: p }
load:
  - { name: holds, server: web, scenario: { type: sustained } }
"#,
    ]);
    let suite = place.read("suite.yml").replace(
        "servers:\n",
        "servers:\n  files: { command: [no-such-program, \"${ROOT}\"], env: { TOKEN: \"${TOKEN}\" } }\n  recorded: { command: [other-program] }\n  web: { url: \"http://127.0.0.1:9/mcp?k=${KEY}\" }\n",
    );
    place.write("suite.yml", &suite);
    std::fs::create_dir(place.path("cassettes")).unwrap();
    place.write("cassettes/is-recorded__claude-test.json", "{}");
    place.write("broken.yml", "servers: {}\ntools: [{ nam: x }]\n");
    let outputs = [
        &["suite.yml"][..],
        &["suite.yml", "--live"],
        &["suite.yml", "--filter", "passes"],
        // What cannot be read is told.
        &["gone.yml"],
        &["broken.yml"],
    ]
    .map(|arguments| place.run(&[arguments, &["--explain"]].concat()));
    assert_transcript!("suites_explain", &outputs);
}

/// A flag outweighs the file, as it does for load configurations.
#[test]
fn loads_are_written_where_the_user_says() {
    let load = r"
servers: { fake: { mock: ./tools.yml } }
load:
  - name: holds
    scenario: { type: sustained, duration: 200ms, tool_call: [{ name: search, args: { query: x } }] }
    output: { report_dir: of_the_file }
";
    let place = Place::new(&[load]);
    assert_eq!(
        place.run(&["suite.yml", "--out", "of_the_flag"]).code,
        Some(0)
    );
    assert!(!place.path("of_the_file").exists());
    let runs = std::fs::read_dir(place.path("of_the_flag")).unwrap();
    assert!(runs.flatten().any(|entry| entry.path().is_dir()));
    assert_eq!(place.run(&["suite.yml"]).code, Some(0));
    assert!(place.path("of_the_file").is_dir());
}

#[test]
fn fail_fast_and_repeat() {
    let place = Place::new(&[
        &SUITE.replace("tools:\n", &format!("tools:{FAILS}")),
        SKIPPED,
    ]);
    let (tests, code) = place.outcomes(&["--fail-fast", "--jobs", "1"]);
    assert_eq!(
        tests,
        [
            "fails: failed",
            "passes: skipped",
            "passes too: skipped",
            "skipped: skipped"
        ]
    );
    assert_eq!(code, Some(1));
    let all = ["suite.yml", "--report", "json", "--repeat", "3"];
    let output = place.run(&all);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["tests"][0]["repeated"]["times"], 3);
    assert_eq!(report["tests"][0]["repeated"]["passed"], 0);
    assert_eq!(report["tests"][1]["repeated"]["passed"], 3);
    assert_transcript!(
        "suites_repeat",
        [&place.run(&["suite.yml", "--repeat", "3"])]
    );
}

#[test]
fn several_files_and_folders() {
    let place = Place::new(&[SUITE]);
    place.write("another.yml", &SUITE.replace("passes", "works"));
    place.write("bench.toml", BENCH);
    let names = |output: &Output| {
        let list: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(validator("suite-list.v1").is_valid(&list));
        let tests = list["tests"].as_array().unwrap().clone();
        let name = |test: &Value| test["name"].as_str().unwrap().to_owned();
        tests.iter().map(name).collect::<Vec<_>>()
    };
    let both = ["suite.yml", "--config", "another.yml", "./suite.yml"];
    let output = place.run(&[&both[..], &["--list", "--json"]].concat());
    let expected = ["passes", "passes too", "works", "works too"];
    assert_eq!(names(&output), expected, "{output:?}");
    let output = place.run(&[".", "--list", "--json"]);
    assert_eq!(
        names(&output),
        ["works", "works too", "passes", "passes too"]
    );
    std::fs::create_dir(place.path("empty")).unwrap();
    let outputs = [&["suite.yml", "bench.toml"][..], &["empty"]].map(|files| place.run(files));
    assert_transcript!("suites_refused_files", &outputs);
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let place = Place::new(&[SUITE]);
    place.write("bench.toml", BENCH);
    let outputs = [
        &["suite.yml", "--duration", "3s"][..],
        &["suite.yml", "--call-timeout", "3s"],
        &["suite.yml", "-s", "x"],
        &["suite.yml", "--", "x"],
        &["suite.yml", "--no-trace"],
        &["bench.toml", "--filter", "x"],
        &["--list"],
        &["suite.yml", "--list", "--watch"],
        &["suite.yml", "--record", "--live"],
    ]
    .map(|arguments| place.run(arguments));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("suites_refused_flags", &outputs);
}

#[test]
fn list_and_explain_start_nothing_and_reach_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let place = Place::new(&[]);
    let suite = format!(
        "servers:\n  here: {{ command: [touch, started] }}\n  \
         there: {{ url: \"http://{address}/mcp\" }}\ntools:\n  \
         - {{ name: a, server: here, tool: x }}\n  - {{ name: b, server: there, tool: x }}\n"
    );
    place.write("suite.yml", &suite);
    for flag in ["--list", "--explain"] {
        let output = place.run(&["suite.yml", flag]);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    assert!(!place.path("started").exists() && !place.path("runs").exists());
    assert!(listener.accept().is_err());
    // They would be, were the suite run.
    if cfg!(unix) {
        place.run(&["suite.yml", "--filter", "/^a$/"]);
        assert!(place.path("started").exists());
    }
}

#[test]
fn a_slip_drops_no_suite_from_a_folder() {
    let place = Place::new(&[SUITE]);
    place.write("ci.yml", "name: CI\non: push\njobs: { a: { steps: [] } }\n");
    place.write("other.yml", "services: { db: { image: x } }\n");
    let mut outputs = vec![place.run(&["."])];
    let test = "tools: [{ name: t, tool: search, args: {} }]\n";
    for top in [
        "severs: { fake: { mock: ./tools.yml } }\n",
        "server: { fake: { mock: ./tools.yml } }\n",
        "",
    ] {
        place.write("slip.yml", &format!("{top}{test}"));
        outputs.push(place.run(&["."]));
    }
    outputs.push(place.run(&["ci.yml"]));
    assert_transcript!("suites_slips", &outputs);
}

#[test]
fn in_a_pipe_each_listed_test_is_one_line() {
    let name = "a name that goes on and on ".repeat(8);
    let suite = [
        SUITE,
        &SKIPPED.replace("name: skipped", &format!("name: {}", name.trim())),
    ];
    let output = Place::new(&suite).run(&["suite.yml", "--list"]);
    assert_transcript!("suites_list", [&output]);
}
