//! Recordings: a replay needs no model, no key and no server, and tells the same to the last byte.

use crate::scripted::{Told, by_prompt, place, run_alone, run_at};
use crate::suites::Place;
use crate::suites_agents::{check, suite};
use crate::support::{MCPROVE, assert_snapshot};

/// Every file under `folder` of a place, with its text, in order.
fn files(place: &Place, folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place.path(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            found.extend(files(place, &name));
        } else {
            found.push((name.clone(), place.read(&name)));
        }
    }
    found.sort();
    found
}

fn same(told: &Told, recorded: &Told, how: &str) {
    assert_eq!(told.output.code, recorded.output.code, "{how}");
    assert_eq!(told.output.stdout, recorded.output.stdout, "{how}");
}

#[test]
fn a_replay_needs_nothing_and_tells_the_same() {
    let model = by_prompt();
    let server = format!("{{ command: [{MCPROVE:?}, mock, --tools-from, tools.yml] }}");
    let recording = suite(&server, 2);
    let place = place(&recording);
    let recorded = run_at(&model.url(), &place, &["suite.yml", "--record"]);
    assert_eq!(recorded.output.code, Some(1), "{recorded:?}");
    check(&recorded);
    let traces = files(&place, "runs/agents");
    let cassettes = files(&place, "cassettes");
    assert_eq!(traces.len(), cassettes.len());
    drop(model);
    let gone = "{ command: [no-such-program-anywhere] }";
    place.write("suite.yml", &recording.replace(&server, gone));
    std::fs::remove_file(place.path("tools.yml")).unwrap();
    for jobs in ["1", "8", "8"] {
        std::fs::remove_dir_all(place.path("runs")).unwrap();
        let told = run_alone(&place, &["suite.yml", "--jobs", jobs]);
        same(&told, &recorded, jobs);
        assert_eq!(files(&place, "runs/agents"), traces, "{jobs} jobs");
    }
    // What is in the environment by then makes no difference.
    let told = run_at("http://127.0.0.1:1/run", &place, &["suite.yml"]);
    same(&told, &recorded, "with keys and addresses");
    assert_eq!(files(&place, "cassettes"), cassettes, "nothing is written");
    // Live it would not work.
    let live = ["suite.yml", "--live", "--filter", "claude-test"];
    assert_eq!(run_alone(&place, &live).output.code, Some(2));
}

#[test]
fn a_suite_that_changed_is_refused_with_the_reason() {
    let model = by_prompt();
    let suite = "servers:\n  tracker: { mock: tools.yml }\nagents:\n  \
        - name: files an issue\n    model: claude-test\n    servers: [tracker]\n    \
        prompt: \"honest: do it\"\n    runs: 2\n    narrative: {}\n";
    let place = place(suite);
    let name = "files an issue";
    let tools = place.read("tools.yml");
    let recorded = run_at(&model.url(), &place, &["suite.yml", "--record"]);
    assert_eq!(recorded.output.code, Some(0), "{recorded:?}");
    let asked = model.asked().len();
    let cassette = files(&place, "cassettes");
    let mut refused = Vec::new();
    let mut run = || {
        // With a model at hand, too.
        let told = run_at(&model.url(), &place, &["suite.yml"]);
        assert_eq!(told.output.code, Some(2), "{told:?}");
        refused.push(told.errors(name));
        assert_eq!(model.asked().len(), asked);
    };
    for (old, new) in [
        ("do it", "do that"),
        ("runs: 2", "runs: 3"),
        ("claude-test\n", "claude-test\n    provider: openai\n"),
        ("runs: 2", "runs: 2\n    max_turns: 3"),
        ("runs: 2", "runs: 2\n    system: Be kind."),
    ] {
        place.write("suite.yml", &suite.replace(old, new));
        run();
    }
    place.write("suite.yml", suite);
    let other = tools.replace("name: fetch_page", "name: read_page");
    place.write("tools.yml", &other);
    run();
    place.write("tools.yml", &tools);
    // A recording of one model is none of another, whatever its file is called.
    let text = &cassette[0].1;
    place.write("suite.yml", &suite.replace("claude-test", "claude-best"));
    run();
    place.write("cassettes/files-an-issue__claude-best.json", text);
    run();
    let digest = ("those of [0-9a-f]{16}", "those of [digest]");
    assert_snapshot!("suites_cassette_unfit", refused.join("\n"), vec![digest]);
    std::fs::remove_file(place.path("cassettes/files-an-issue__claude-best.json")).unwrap();
    assert_eq!(files(&place, "cassettes"), cassette);
    // What it is held to is judged anew.
    let strict = "expect: [{ target: final_response, matcher: { contains: twice } }]";
    place.write("suite.yml", &suite.replace("narrative: {}", strict));
    let told = run_alone(&place, &["suite.yml"]);
    assert_eq!(told.output.code, Some(1), "{told:?}");
    assert_eq!(told.failed(name), ["final_response"]);
    assert_eq!(model.asked().len(), asked);
}
