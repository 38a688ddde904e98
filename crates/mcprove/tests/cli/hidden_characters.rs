//! Characters that turn the direction of writing around, or take no room, are escaped wherever a name is shown.

use std::path::{Path, PathBuf};
use std::process::Command;

use harness::require;
use serde_json::Value;

use crate::support::{MCPROVE, Output, run};

/// What nobody may see raw: bidi marks, what has no width, tags.
fn is_bad(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[track_caller]
fn assert_clean(text: &str) {
    let bad = text.chars().find(|character| is_bad(*character));
    assert_eq!(bad, None, "{text:?}");
}

#[track_caller]
fn assert_shown(text: &str) {
    assert_clean(text);
    assert!(text.contains("\\u{202e}"), "{text:?}");
}

/// A tool and a server with hidden characters in every text, as YAML.
const TOOLS: &str = r#"
name: "ser\u202Ever\u200B"
tools:
  - name: "get_\u202Etxt\u200Bx\U000E0041"
    description: "re\u2066ads\uFEFF"
    annotations: { title: "ti\u200Ftle", readOnlyHint: true }
    response: "an\u202Eswer"
  - name: "get_bad\u202E\u2060"
    annotations: { readOnlyHint: true }
    response: { content: [{ type: text, text: "no\u202Et" }], isError: true }
"#;

const TOOL: &str = "get_\u{202e}txt\u{200b}x\u{e0041}";
const BAD_TOOL: &str = "get_bad\u{202e}\u{2060}";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("tools.yml", TOOLS);
        place
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a command on the mock.
    fn on_mock(&self, arguments: &[&str]) -> Output {
        let tools = self.path("tools.yml");
        let mock = ["--", MCPROVE, "mock", "--tools-from", &tools];
        run(&[arguments, &mock].concat())
    }
}

fn texts_below(folder: &Path, names: &[&str]) -> Vec<String> {
    let runs = std::fs::read_dir(folder).unwrap().flatten();
    let files = runs.flat_map(|run| names.iter().map(move |name| run.path().join(name)));
    files
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect()
}

#[test]
fn probes_and_init() {
    let place = Place::new();
    let probe = place.on_mock(&["probe", "--all"]);
    assert_shown(&probe.stdout);
    assert_clean(&probe.stderr);
    let json = place.on_mock(&["probe", "--all", "--json"]);
    assert_clean(&json.stdout);
    assert_eq!(json.report().tools[0].name, TOOL);
    let doctor = place.on_mock(&["doctor"]);
    assert_shown(&doctor.stdout);
    let suite = place.path("mcprove.yml");
    let init = place.on_mock(&["init", "--out", &suite]);
    assert_clean(&init.stdout);
    assert_clean(&init.stderr);
    if let Ok(text) = std::fs::read_to_string(&suite) {
        assert_clean(&text);
    }
}

#[test]
fn loads_and_their_files() {
    let place = Place::new();
    let out = place.path("runs");
    let load = |tool, more: &[&str]| {
        let own = ["run", "--tool", tool, "--calls", "20", "--out", &out];
        place.on_mock(&[&own[..], more].concat())
    };
    for (tool, code) in [(TOOL, 0), (BAD_TOOL, 1)] {
        let output = load(tool, &[]);
        assert_eq!(output.code, Some(code), "{output:?}");
        assert_shown(&output.stdout);
        assert_clean(&output.stderr);
    }
    let json = load(TOOL, &["--json"]);
    assert_clean(&json.stdout);
    let metrics: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(metrics["tools"].get(TOOL).is_some(), "{metrics}");
    let files = texts_below(Path::new(&out), &["report.md", "report.html"]);
    assert_eq!(files.len(), 6);
    for text in &files {
        assert_shown(text);
    }
    let runs: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|run| run.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    assert_clean(&run(&["runs", "--dir", &out]).stdout);
    assert_clean(&run(&["compare", &runs[0], &runs[1]]).stdout);
    assert_shown(&run(&["report", &runs[0]]).stdout);
    let wrong = load("no\u{202e}pe", &[]);
    assert_eq!(wrong.code, Some(2));
    assert_shown(&wrong.stderr);
}

#[test]
fn suites_in_every_format() {
    let place = Place::new();
    let suite = place.write(
        "suite.yml",
        &format!(
            "name: \"su\\u202Eite\"\nservers: {{ s: {{ mock: tools.yml }} }}\ntools:\n  \
             - {{ name: \"go\\u202Eod\", tool: \"{TOOL}\" }}\n  - {{ name: \"ba\\u202Ed\", tool: \"{BAD_TOOL}\" }}\n"
        ),
    );
    let suite = suite.to_str().unwrap();
    let out = place.path("runs");
    for format in [
        "terminal", "junit", "tap", "github", "markdown", "html", "json",
    ] {
        let output = run(&["run", suite, "--report", format, "--out", &out]);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert_clean(&output.stdout);
        assert_clean(&output.stderr);
        let escape = if format == "json" { "\\u202e" } else { "202e" };
        assert!(output.stdout.contains(escape), "{format}: {output:?}");
    }
    for flags in [&["--list"][..], &["--explain"], &["--list", "--json"]] {
        let output = run(&[&["run", suite][..], flags].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_clean(&output.stdout);
    }
    // An error with the line of the file, and a name of a file.
    let broken = place.write(
        "b\u{202e}roken.yml",
        "name: s\ntools: [{ \u{200b}x\u{202e}: 1 }]\n",
    );
    let broken = broken.to_str().unwrap();
    let output = run(&["run", broken]);
    assert_eq!(output.code, Some(2));
    assert_shown(&output.stderr);
    let json = run(&["validate", "--json", broken]);
    assert_clean(&json.stdout);
    serde_json::from_str::<Value>(&json.stdout).unwrap();
}

/// On a terminal there is a line that tells what is going on.
#[test]
fn the_line_of_progress() {
    let has_script = Command::new("script").arg("--version").output().is_ok();
    if !require(
        "script, for a terminal",
        cfg!(target_os = "linux") && has_script,
    ) {
        return;
    }
    let place = Place::new();
    let tools = place.path("tools.yml");
    let command = format!("'{MCPROVE}' probe --all -- '{MCPROVE}' mock --tools-from '{tools}'");
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("LC_ALL", "C.UTF-8")
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("get_\\u{202e}txt\\u{200b}x"), "{text:?}");
    assert_clean(&text);
}
