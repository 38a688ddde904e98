//! Traces and gates that cannot be used: what is said, where, and that it is never a pass.

use mcprove_score::gate::ScoreError;

use crate::score::Place;
use crate::support::{Output, assert_snapshot, assert_transcript, finish, run};

const RUN: &str =
    r#"{"tool_calls":[{"name":"search","args":{"q":"x"}}],"final_response":"Found it."}"#;

/// All are refused, and nothing is printed.
macro_rules! assert_refused {
    ($name:expr, $outputs:expr) => {
        let is_refused = |output: &Output| output.code == Some(2) && output.stdout.is_empty();
        assert!($outputs.iter().all(is_refused), "{:?}", $outputs);
        assert_transcript!($name, &$outputs);
    };
}

/// The errors of what is no pass.
#[track_caller]
fn unjudged(output: &Output) -> String {
    assert_eq!(output.code, Some(2), "{output:?}");
    let report = crate::score::report(output);
    assert!(!report.passed && !report.errors.is_empty(), "{output:?}");
    let told = |error: &ScoreError| format!("error: {error}\nhint: {}\n", error.hint.rendered());
    report.errors.iter().map(told).collect()
}

#[test]
fn traces_that_cannot_be_read() {
    let place = Place::new();
    let deep = format!("{{\"tool_calls\":{}", "[".repeat(100_000));
    let files: [(&str, &[u8]); 10] = [
        ("empty.json", b""),
        ("blank.json", b"\n \n"),
        ("binary.json", b"{\n \"a\": \"\xff\xfe\x00\"}"),
        ("broken.json", b"{\"runs\": [\n  {\"tool_calls\": [}\n]}"),
        ("other.json", b"{\"name\": \"something else\"}"),
        ("trace.yml", b"runs:\n  - tool_calls: []\n"),
        ("none.json", b"{\"schema\":\"agent-trace.v1\",\"runs\":[]}"),
        ("v9.json", b"{\"schema\":\"agent-trace.v9\",\"runs\":[]}"),
        ("wrong.json", b"{\"tool_calls\":[{\"name\":5}]}"),
        ("deep.json", deep.as_bytes()),
    ];
    let files = files.map(|(name, text)| place.write(name, text));
    // Only its size is looked at: it has holes instead of bytes.
    let large = place.path("large.json");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(1024 * 1024 * 1024 + 1).unwrap();
    let others = [place.path("missing.json"), place.path(""), large];
    let each = files.iter().chain(&others);
    let mut outputs: Vec<Output> = each.map(|path| run(&["score", path])).collect();
    outputs.push(run(&["score", "-", "-"]));
    // All that are at fault are told, with what is wrong with the gates.
    let good = place.write("good.json", RUN);
    let [empty, _, _, broken, other, ..] = &files;
    outputs.push(run(&["score", &good, broken]));
    let gates = place.write("gates.yml", "narative: {}\n");
    let all = ["score", empty, &good, broken, other, "--gates", &gates];
    outputs.push(run(&all));
    assert_refused!("score_traces", outputs);
}

#[test]
fn a_run_directory_has_its_trace_named() {
    let place = Place::new();
    place.write("trace.jsonl", "{}\n");
    assert_refused!("score_folder", [run(&["score", &place.path("")])]);
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
            .filter(|note| note.rendered().starts_with(second.as_str()));
        assert_eq!(told.count(), 1, "{report:?}");
    }
    let output = run(&["score", &trace, &other, "--json"]);
    let notes = crate::score::report(&output).notes;
    assert!(
        !notes.iter().any(|note| note.rendered().starts_with(&trace)),
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
    let others = [
        "anthropic",
        "openai",
        "claude-code",
        "otlp",
        "trace",
        "antropic",
    ];
    let outputs = others.map(|format| run(&["score", &trace, "--format", format]));
    assert_refused!("score_format", outputs);
}

#[test]
fn gates_that_cannot_be_used() {
    let place = Place::new();
    let trace = place.write("trace.json", RUN);
    let files: [(&str, &[u8]); 7] = [
        ("empty.yml", b""),
        ("bad.yml", b"narrative: [\n"),
        ("unknown.yml", b"narative: {}\n"),
        (
            "keys.yml",
            b"loops:\n  max_repeats: -1\n  max_stagnaton: 2\n",
        ),
        (
            "judge.yml",
            b"expect:\n  - { target: final_response, matcher: { llm_judge: polite } }\n",
        ),
        (
            "target.yml",
            b"expect: [{ target: stability.scor, matcher: { exact: 1 } }]\n",
        ),
        ("binary.yml", b"\xff\xfe"),
    ];
    let files = files.map(|(name, text)| place.write(name, text));
    let missing = place.path("missing.yml");
    let each = files.iter().chain([&missing]);
    let outputs: Vec<Output> = each
        .map(|gates| run(&["score", &trace, "--gates", gates]))
        .collect();
    assert_refused!("score_gates_refused", outputs);
}

/// What cannot be judged is never a pass, under `not` least of all.
#[test]
fn gates_that_cannot_be_judged() {
    let place = Place::new();
    let expect = |target: &str, matcher: &str| {
        format!("expect: [{{ target: \"{target}\", matcher: {matcher} }}]\n")
    };
    let told = [
        // A path that leads nowhere.
        expect("tool_calls[5].name", "{ exact: x }"),
        expect("tool_calls[*].nam", "{ not: { contains: refund } }"),
        expect("conversation.stop_reason", "{ exact: completed }"),
        expect("passed", "{ exact: true }"),
        // A value that is unknown.
        expect("stability.cost_per_progress", "{ schema: { minimum: 0 } }"),
        // A metric that was not computed.
        expect("golden_path.penalty", "{ exact: 1 }"),
        // One run does not tell how steady an agent is.
        "stability: {}\n".to_owned(),
        // Nobody said whether the run passed.
        "reliability: {}\n".to_owned(),
    ]
    .map(|gates| format!("{gates}{}", unjudged(&place.score(RUN, &gates))));
    assert_snapshot!("score_gates_unjudged", told.join("\n"));
}

#[test]
fn an_unknown_end_under_a_recovery_gate_is_an_error() {
    let place = Place::new();
    let trace = r#"{"tool_calls":[{"name":"search","args":{}}],"final_response":"It hangs.",
        "faults":[{"call_index":0,"kind":"hang"}]}"#;
    let output = place.score(trace, "recovery: {}\n");
    assert_snapshot!("score_recovery_unjudged", unjudged(&output));
    let known = trace.replace(
        "\"faults\"",
        "\"conversation\":{\"stop_reason\":\"completed\"},\"faults\"",
    );
    let output = place.score(&known, "recovery: {}\n");
    assert_eq!(output.code, Some(0), "{output:?}");
}

/// Runs `mcprove score` in a shell, which has more kinds of files.
#[cfg(unix)]
fn in_shell(script: &str) -> Output {
    let mut command = std::process::Command::new("bash");
    command
        .args(["-c", script])
        .env("MCPROVE", crate::support::MCPROVE);
    finish(command)
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_refused_with_the_limit() {
    let outputs = [
        "\"$MCPROVE\" score /dev/zero",
        "\"$MCPROVE\" score - < /dev/zero",
        "echo '{}' | \"$MCPROVE\" score - --gates /dev/zero",
    ]
    .map(in_shell);
    assert_refused!("score_endless", outputs);
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
    let outputs = std::thread::scope(|scope| {
        let both = scripts
            .each_ref()
            .map(|script| scope.spawn(|| in_shell(script)));
        both.map(|output| output.join().unwrap())
    });
    assert_refused!("score_silent", outputs);
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
        assert_eq!(output.code, plain.code, "{script}: {output:?}");
        assert!(output.code != Some(2), "{output:?}");
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
