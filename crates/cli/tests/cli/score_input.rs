//! Traces and gates that cannot be used: what is said, where, and that it is never a pass.

use mcprove_score::gate::ScoreError;

use crate::score::Place;
use crate::support::{Output, run};

const RUN: &str =
    r#"{"tool_calls":[{"name":"search","args":{"q":"x"}}],"final_response":"Found it."}"#;

#[track_caller]
fn assert_refused(output: &Output, parts: &[&str]) {
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_eq!(output.stdout, "", "{output:?}");
    assert!(output.stderr.starts_with("error: "), "{output:?}");
    for part in parts.iter().chain(&["\nhint: "]) {
        assert!(output.stderr.contains(part), "{part:?}: {output:?}");
    }
}

/// What was printed tells an error with these parts, and is no pass.
#[track_caller]
fn assert_unjudged(output: &Output, parts: &[&str]) {
    assert_eq!(output.code, Some(2), "{output:?}");
    let report = crate::score::report(output);
    assert!(!report.passed && !report.errors.is_empty(), "{output:?}");
    let told = |error: &ScoreError| format!("{error}\nhint: {}", error.hint);
    let errors: Vec<String> = report.errors.iter().map(told).collect();
    let is_told = |part: &&str| errors.iter().any(|error| error.contains(*part));
    assert!(parts.iter().all(is_told), "{parts:?}: {errors:?}");
}

#[test]
fn traces_that_cannot_be_read() {
    let place = Place::new();
    let score = |path: &str| run(&["score", path, "--json"]);
    assert_refused(
        &score(&place.path("missing.json")),
        &["missing.json", "cannot be read"],
    );
    assert_refused(&score(&place.path("")), &["cannot be read"]);
    let empty = place.write("empty.json", "");
    assert_refused(&score(&empty), &["empty.json: there is nothing in it"]);
    let blank = place.write("blank.json", "\n \n");
    assert_refused(&score(&blank), &["there is nothing in it"]);
    let binary = place.write("binary.json", b"{\n \"a\": \"\xff\xfe\x00\"}");
    assert_refused(&score(&binary), &["binary.json:2:8: is not UTF-8"]);
    let broken = place.write("broken.json", "{\"runs\": [\n  {\"tool_calls\": [}\n]}");
    assert_refused(&score(&broken), &["broken.json:2:19: "]);
    let other = place.write("other.json", "{\"name\": \"something else\"}");
    assert_refused(
        &score(&other),
        &[
            "other.json: ",
            "no trace that is understood",
            "understood are",
        ],
    );
    let yaml = place.write("trace.yml", "runs:\n  - tool_calls: []\n");
    assert_refused(&score(&yaml), &["trace.yml:1:"]);
    let none = place.write("none.json", "{\"schema\":\"agent-trace.v1\",\"runs\":[]}");
    assert_refused(&score(&none), &["no run"]);
    let other_version = place.write("v9.json", "{\"schema\":\"agent-trace.v9\",\"runs\":[]}");
    assert_refused(
        &score(&other_version),
        &["agent-trace.v9", "agent-trace.v1"],
    );
    let wrong = place.write("wrong.json", "{\"tool_calls\":[{\"name\":5}]}");
    assert_refused(&score(&wrong), &["wrong.json:1:", "tool_calls[0]"]);
    let deep = place.write(
        "deep.json",
        format!("{{\"tool_calls\":{}", "[".repeat(100_000)),
    );
    assert_refused(&score(&deep), &["deep.json:1:"]);
    // Only its size is looked at: it has holes instead of bytes.
    let large = place.path("large.json");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(1024 * 1024 * 1024 + 1).unwrap();
    assert_refused(
        &score(&large),
        &["large.json: cannot be read: it is larger than 1 GiB"],
    );
    let twice = run(&["score", "-", "-"]);
    assert_refused(&twice, &["standard input is given twice"]);
    // All that are at fault are told, with what is wrong with the gates.
    let good = place.write("good.json", RUN);
    assert_refused(&run(&["score", &good, &broken]), &["broken.json:2:19: "]);
    let gates = place.write("gates.yml", "narative: {}\n");
    let all = run(&["score", &empty, &good, &broken, &other, "--gates", &gates]);
    assert_refused(
        &all,
        &[
            "gates.yml:1:1: unknown block",
            "error: ",
            "empty.json: there is nothing in it",
            "broken.json:2:19: ",
            "other.json: ",
        ],
    );
    assert_eq!(all.stderr.matches("hint: ").count(), 4, "{all:?}");
    assert!(!all.stderr.contains("good.json"), "{all:?}");
}

#[test]
fn a_run_directory_has_its_trace_named() {
    let place = Place::new();
    let folder = place.path("");
    let recording = place.write("trace.jsonl", "{}\n");
    let output = run(&["score", &folder]);
    assert_refused(&output, &["cannot be read", &format!("give {recording}")]);
}

#[test]
fn a_file_that_is_given_twice_is_told() {
    let place = Place::new();
    let trace = place.write("trace.json", RUN);
    let other = place.write("other.json", RUN);
    let again = place.path("./trace.json");
    for second in [&trace, &again] {
        let output = run(&["score", &trace, &other, second, "--json"]);
        assert_eq!(output.code, Some(0), "{output:?}");
        let report = crate::score::report(&output);
        assert_eq!(report.runs.len(), 3);
        let told = report
            .notes
            .iter()
            .filter(|note| note.starts_with(second.as_str()) && note.contains("more than once"));
        assert_eq!(told.count(), 1, "{report:?}");
    }
    let output = run(&["score", &trace, &other, "--json"]);
    let notes = crate::score::report(&output).notes;
    assert!(
        !notes.iter().any(|note| note.contains("more than once")),
        "{notes:?}"
    );
}

#[test]
fn a_format_that_is_another() {
    let place = Place::new();
    let trace = place.write("trace.json", RUN);
    for format in ["auto", "agent-trace"] {
        let output = run(&["score", &trace, "--format", format]);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    for format in ["anthropic", "openai", "claude-code", "otlp", "trace"] {
        let output = run(&["score", &trace, "--format", format]);
        assert_refused(&output, &["trace.json: ", "agent-trace.v1"]);
    }
    let output = run(&["score", &trace, "--format", "antropic"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("possible values: auto, agent-trace"),
        "{output:?}"
    );
}

#[test]
fn gates_that_cannot_be_used() {
    let place = Place::new();
    let trace = place.write("trace.json", RUN);
    let score = |name: &str| run(&["score", &trace, "--gates", &place.path(name)]);
    assert_refused(&score("missing.yml"), &["missing.yml: cannot be read"]);
    for (name, text, parts) in [
        (
            "empty.yml",
            "" as &str,
            &["empty.yml:1:1: there are no gates in it"] as &[&str],
        ),
        ("bad.yml", "narrative: [\n", &["bad.yml:", "not valid YAML"]),
        (
            "unknown.yml",
            "narative: {}\n",
            &[
                "unknown.yml:1:1: unknown block \"narative\"",
                "did you mean \"narrative\"?",
                "^^^^^^^^",
            ],
        ),
        (
            "keys.yml",
            "loops:\n  max_repeats: -1\n  max_stagnaton: 2\n",
            &[
                "keys.yml:2:16:",
                "keys.yml:3:3: unknown key",
                "\"max_stagnation\"",
            ],
        ),
        (
            "judge.yml",
            "expect:\n  - { target: final_response, matcher: { llm_judge: polite } }\n",
            &["judge.yml:2:", "asks a model"],
        ),
        (
            "target.yml",
            "expect: [{ target: stability.scor, matcher: { exact: 1 } }]\n",
            &["target.yml:1:20", "did you mean \"stability.score\"?"],
        ),
    ] {
        place.write(name, text);
        assert_refused(&score(name), parts);
    }
    place.write("binary.yml", b"\xff\xfe");
    assert_refused(&score("binary.yml"), &["binary.yml:1:1: is not UTF-8"]);
}

/// What cannot be judged is never a pass, under `not` least of all.
#[test]
fn gates_that_cannot_be_judged() {
    let place = Place::new();
    let expect = |target: &str, matcher: &str| {
        format!("expect: [{{ target: \"{target}\", matcher: {matcher} }}]\n")
    };
    for (gates, parts) in [
        // A path that leads nowhere.
        (
            expect("tool_calls[5].name", "{ exact: x }"),
            &["tool_calls[5].name of run 0"] as &[&str],
        ),
        (
            expect("tool_calls[*].nam", "{ not: { contains: refund } }"),
            &["tool_calls[*].nam of run 0"],
        ),
        (
            expect("conversation.stop_reason", "{ exact: completed }"),
            &["conversation.stop_reason"],
        ),
        (expect("passed", "{ exact: true }"), &["passed"]),
        // A value that is unknown.
        (
            expect("stability.cost_per_progress", "{ schema: { minimum: 0 } }"),
            &["stability.cost_per_progress"],
        ),
        // A metric that was not computed.
        (
            expect("golden_path.penalty", "{ exact: 1 }"),
            &["golden_path.penalty", "not computed", "`golden_path` block"],
        ),
        // One run does not tell how steady an agent is.
        ("stability: {}\n".to_owned(), &["stability"]),
        // Nobody said whether the run passed.
        ("reliability: {}\n".to_owned(), &["passed"]),
    ] {
        assert_unjudged(&place.score(RUN, &gates), parts);
    }
}

#[test]
fn an_unknown_end_under_a_recovery_gate_is_an_error() {
    let place = Place::new();
    let trace = r#"{"tool_calls":[{"name":"search","args":{}}],"final_response":"It hangs.",
        "faults":[{"call_index":0,"kind":"hang"}]}"#;
    let output = place.score(trace, "recovery: {}\n");
    assert_unjudged(&output, &["of run 0", "stop_reason"]);
    let known = trace.replace(
        "\"faults\"",
        "\"conversation\":{\"stop_reason\":\"completed\"},\"faults\"",
    );
    let output = place.score(&known, "recovery: {}\n");
    assert_eq!(output.code, Some(0), "{output:?}");
}

/// Runs `mcprove score` in a shell, which has more kinds of files.
#[cfg(unix)]
fn in_shell(script: &str) -> std::process::Output {
    std::process::Command::new("bash")
        .args(["-c", script])
        .env("MCPROVE", crate::support::MCPROVE)
        .output()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_refused_with_the_limit() {
    for script in [
        "\"$MCPROVE\" score /dev/zero",
        "\"$MCPROVE\" score - < /dev/zero",
    ] {
        let output = in_shell(script);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("it is larger than 16 MiB"), "{stderr}");
    }
    let gates = in_shell("echo '{}' | \"$MCPROVE\" score - --gates /dev/zero");
    let stderr = String::from_utf8_lossy(&gates.stderr).into_owned();
    assert_eq!(gates.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("no regular file"), "{stderr}");
}

/// Takes the 30 seconds that it is about.
#[cfg(unix)]
#[test]
fn what_says_nothing_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let scripts = [
        // Nobody ever opens it for writing.
        format!("\"$MCPROVE\" score {}", pipe.display()),
        "\"$MCPROVE\" score - < <(sleep 60 2> /dev/null)".to_owned(),
    ];
    std::thread::scope(|scope| {
        for script in &scripts {
            scope.spawn(move || {
                let output = in_shell(script);
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(2), "{stderr}");
                assert!(stderr.contains("nothing came for 30 s"), "{stderr}");
            });
        }
    });
}

#[cfg(unix)]
#[test]
fn pipes_and_process_substitution_are_read_to_their_end() {
    let place = Place::new();
    let trace = place.write("trace.json", RUN);
    let plain = in_shell(&format!("\"$MCPROVE\" score {trace}"));
    for script in [
        format!("\"$MCPROVE\" score - < {trace}"),
        format!("cat {trace} | \"$MCPROVE\" score -"),
        format!("\"$MCPROVE\" score <(cat {trace})"),
        format!("(head -c 20 {trace}; sleep 1; tail -c +21 {trace}) | \"$MCPROVE\" score -"),
    ] {
        let output = in_shell(&script);
        assert_eq!(output.status, plain.status, "{script}: {output:?}");
        assert!(output.status.code() != Some(2), "{output:?}");
    }
}

/// Larger than any trace that was seen, and most of it is white space: what counts is that it is read.
#[test]
fn a_trace_of_95_megabytes_is_read() {
    let place = Place::new();
    let large = place.write("large.json", format!("{RUN}{}", " ".repeat(95_000_000)));
    let small = place.write("small.json", RUN);
    let (large, small) = (run(&["score", &large]), run(&["score", &small]));
    assert_eq!(large.code, small.code, "{}", large.stderr);
}
