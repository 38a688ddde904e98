//! Every example of a suite, as it stands: with a model that does its tasks well, and with one that does not.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use harness::model::{FakeModel, scripts};

use crate::scripted::{Told, run_alone, run_at};
use crate::suites::Place;
use crate::support::MCPROVE;

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    folder.join(name).display().to_string()
}

/// A test of an example, and a target that a bad agent fails in it.
type Agent = (&'static str, &'static str);

const EXAMPLES: [(&str, &[Agent]); 6] = [
    (
        "fault-injection-recovery.yml",
        &[("recovers from a hung search tool", "recovery.recovered")],
    ),
    (
        "offline-trace-validation.yml",
        &[
            ("trajectory pins the call plan", "trajectory.passed"),
            (
                "calls depend on each other",
                "trajectory.order_satisfaction",
            ),
        ],
    ),
    (
        "agent-stability.yml",
        &[
            ("weather session stays stable", "stability.weakest_score"),
            (
                "weather session is stable on every dimension",
                "stability.score",
            ),
        ],
    ),
    (
        "narrative.yml",
        &[
            ("triage agent tells the truth", "narrative.gate_passed"),
            (
                "triage agent claims only what it did",
                "narrative.claimed_but_absent",
            ),
        ],
    ),
    (
        "oracle.yml",
        &[("invoice lookup stays read-only", "tool_calls[0].name")],
    ),
    (
        "suites/suite.yml",
        &[("finds the weather", "trajectory.passed")],
    ),
];

fn run(model: &FakeModel, name: &str) -> Told {
    let place = Place::new(&[]);
    run_at(&model.url(), &place, &[&example(name), "--live"])
}

#[test]
fn a_diligent_agent_passes_all_of_them() {
    let model = FakeModel::start(scripts::diligent);
    for (name, agents) in EXAMPLES {
        let told = run(&model, name);
        assert_eq!(told.output.code, Some(0), "{name}: {told:?}");
        for (agent, _) in agents {
            assert_eq!(told.outcome(agent), "passed", "{name}");
        }
    }
    assert!(!model.asked().is_empty());
}

#[test]
fn a_careless_agent_fails_what_it_does_badly() {
    let model = FakeModel::start(scripts::careless);
    for (name, agents) in EXAMPLES {
        let told = run(&model, name);
        assert_eq!(told.output.code, Some(1), "{name}: {told:?}");
        for (agent, target) in agents {
            let failed = told.failed(agent);
            assert!(
                failed.iter().any(|it| it == target),
                "{agent}: {target} is not in {failed:?}"
            );
        }
        // What is no agent's doing holds.
        for test in told.report["tests"].as_array().unwrap() {
            let is_agent = test["kind"] == "agent";
            assert!(is_agent || test["outcome"] == "passed", "{test}");
        }
    }
}

#[test]
fn bad_requests_are_rejected_or_not() {
    let file = example("negative-path.yml");
    let place = Place::new(&[]);
    let nobody = "http://127.0.0.1:1";
    assert_eq!(run_at(nobody, &place, &[&file]).output.code, Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    let careless = format!("command: [{MCPROVE:?}, fixture, careless]");
    let bad = text.replace("mock: suites/search.yml", &careless);
    assert_ne!(bad, text);
    place.write("bad.yml", &bad);
    let told = run_at(nobody, &place, &["bad.yml"]);
    assert_eq!(told.output.code, Some(1), "{told:?}");
    let failed = told.failed("search rejects bad requests");
    assert!(!failed.is_empty(), "{told:?}");
    assert!(
        failed.iter().all(|it| it.starts_with("negative_path.")),
        "{failed:?}"
    );
}

/// Copies the files of a folder of examples, but for recordings.
fn copy_examples(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() && name != "cassettes" {
            copy_examples(&path, &to.join(name));
        } else if path.extension().is_some_and(|it| it == "yml") {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// The recordings beside a suite, by their names.
fn recordings(suite: &Path) -> BTreeMap<OsString, String> {
    let folder = suite.parent().unwrap().join("cassettes");
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            (path.file_name().unwrap().to_owned(), text)
        })
        .collect()
}

/// What a model that does its tasks well answers, beside each suite. `MCPROVE_UPDATE_DOCS=1` records it anew.
#[test]
fn the_recordings_that_come_with_the_examples_are_replayed() {
    let place = Place::new(&[]);
    copy_examples(Path::new(&example("")), &place.path(""));
    let model = FakeModel::start(scripts::diligent);
    let replayed: &[Agent] = &[("finds the weather", "trajectory.passed")];
    for (name, agents) in EXAMPLES
        .into_iter()
        .chain([("replay/agents.yml", replayed)])
    {
        let recorded = run_at(&model.url(), &place, &[name, "--record"]);
        assert_eq!(recorded.output.code, Some(0), "{name}: {recorded:?}");
        if std::env::var_os("MCPROVE_UPDATE_DOCS").is_some() {
            let suite = example(name);
            let folder = Path::new(&suite).parent().unwrap().join("cassettes");
            std::fs::create_dir_all(&folder).unwrap();
            for (file, text) in recordings(&place.path(name)) {
                std::fs::write(folder.join(file), text).unwrap();
            }
        }
        let told = run_alone(&Place::new(&[]), &[&example(name)]);
        assert_eq!(told.output.code, Some(0), "{name}: {told:?}");
        for (agent, _) in agents {
            assert_eq!(told.outcome(agent), "passed", "{name}");
            let gates = |told: &Told| {
                let targets = told.test(agent)["targets"].as_object().cloned().unwrap();
                let names = targets.into_iter().map(|(name, _)| name);
                names.collect::<Vec<String>>()
            };
            assert_eq!(gates(&told), gates(&recorded), "{name}");
        }
    }
}
