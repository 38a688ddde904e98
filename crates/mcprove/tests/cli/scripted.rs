//! What suites with scripted models share: a folder, a model that tells by the prompt whom it plays, and the
//! report of a run.

use harness::model::{Asked, FakeModel, Said, scripts};
use serde_json::Value;

use crate::suites::Place;
use crate::support::{Output, finish};

/// Tools that read, and one that writes.
pub const TOOLS: &str = r#"
name: tracker
tools:
  - name: search
    annotations: { readOnlyHint: true }
    inputSchema: { type: object, properties: { query: { type: string } }, required: [query] }
    response: "found ${args.query}"
  - name: fetch_page
    annotations: { readOnlyHint: true }
    inputSchema: { type: object, properties: { url: { type: string } }, required: [url] }
    response: "all systems run"
  - name: create_issue
    annotations: { readOnlyHint: false }
    inputSchema: { type: object, properties: { title: { type: string } }, required: [title] }
    response: "created ${args.title}"
"#;

/// A model that plays the script that the prompt begins with: `liar: file an issue`.
pub fn by_prompt() -> FakeModel {
    FakeModel::start(play)
}

fn play(asked: &Asked) -> Said {
    let prompts = asked.prompts();
    let name = prompts.first().and_then(|prompt| prompt.split(':').next());
    let script = name.and_then(scripts::find);
    script.map_or(Said::Silence, |script| script(asked))
}

/// A folder with this suite and the tools above.
pub fn place(suite: &str) -> Place {
    let place = Place::new(&[suite]);
    place.write("tools.yml", TOOLS);
    place
}

/// What a run told.
#[derive(Debug)]
pub struct Told {
    pub output: Output,
    pub report: Value,
}

impl Told {
    /// The test of this name.
    pub fn test(&self, name: &str) -> &Value {
        let tests = self.report["tests"].as_array().unwrap();
        let found = tests.iter().find(|test| test["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {:?}", self.output))
    }

    pub fn outcome(&self, name: &str) -> &str {
        self.test(name)["outcome"].as_str().unwrap()
    }

    /// The targets that failed, each once.
    pub fn failed(&self, name: &str) -> Vec<String> {
        let failures = self.test(name)["failures"].as_array().cloned();
        let mut targets: Vec<String> = Vec::new();
        for failure in failures.unwrap_or_default() {
            let target = failure["target"].as_str().unwrap().to_owned();
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }

    /// What went wrong with a test, as text.
    pub fn errors(&self, name: &str) -> String {
        self.test(name)["errors"].to_string()
    }
}

/// Runs suites in a folder, with the model at this address, and reads the JSON report.
pub fn run_at(url: &str, place: &Place, arguments: &[&str]) -> Told {
    let mut command = place.command(arguments);
    command.args(["--report", "json"]).envs([
        ("ANTHROPIC_BASE_URL", url),
        ("OPENAI_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "key-of-the-first"),
        ("OPENAI_API_KEY", "key-of-the-second"),
    ]);
    let output = finish(command);
    let report = serde_json::from_str(&output.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Told { output, report }
}

/// The same without any model, key or address.
pub fn run_alone(place: &Place, arguments: &[&str]) -> Told {
    let mut command = place.command(arguments);
    command.args(["--report", "json"]);
    let output = finish(command);
    let report = serde_json::from_str(&output.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Told { output, report }
}

/// The trace that a test of an agent left.
pub fn trace(place: &Place, told: &Told, name: &str) -> Value {
    let details = told.test(name)["details"].as_str().unwrap();
    serde_json::from_str(&place.read(&format!("runs/{details}"))).unwrap()
}
