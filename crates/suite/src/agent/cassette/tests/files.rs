//! Cassettes as files, also bad ones.

use std::fs;

use serde_json::{Value, json};

use super::super::*;
use super::{a_command, a_suite, a_test, a_tool};

fn cassette() -> Cassette {
    let test = a_test("find", "claude-sonnet-4-5");
    Cassette {
        schema: CASSETTE_FORMAT.to_owned(),
        agent: "find".to_owned(),
        suite: "suite.yml".to_owned(),
        fits: CassetteInputs::of(&test, &[a_tool("search")]),
        seed: 7,
        variables: [("A".to_owned(), None)].into(),
        verdict: RecordedVerdict {
            outcome: RecordedOutcome::Failed,
            failures: vec!["narrative.gate_passed".to_owned()],
        },
        runs: vec![RecordedRun {
            model: vec![ModelExchange {
                path: "/v1/messages".to_owned(),
                request: Body::Text("{}".to_owned()),
                status: Some(200),
                retry_after_ms: None,
                response: Some(Body::of(b"\xff")),
                failure: None,
                duration_us: 12,
                redacted: Vec::new(),
            }],
            tools: vec![ToolExchange {
                server: "api".to_owned(),
                tool: "search".to_owned(),
                args: json!({}).into(),
                result: serde_json::from_str("{ \"n\":1.50 }").unwrap(),
                is_error: true,
                duration_us: 3,
                redacted: Vec::new(),
            }],
            ..RecordedRun::default()
        }],
    }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassettes/a.json");
    assert_eq!(read(&path).unwrap(), None);
    write(&path, &cassette()).unwrap();
    let first = fs::read_to_string(&path).unwrap();
    assert!(first.contains("{ \"n\":1.50 }"), "byte for byte");
    let again = read(&path).unwrap().unwrap();
    assert_eq!(again, cassette());
    write(&path, &again).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    let files: Vec<_> = fs::read_dir(folder.path().join("cassettes"))
        .unwrap()
        .collect();
    assert_eq!(files.len(), 1, "nothing is left beside it");

    // What could not be read again is not written, and what is there stays.
    let mut bad = cassette();
    bad.fits.runs = 2;
    let error = write(&path, &bad).unwrap_err().to_string();
    assert!(error.contains("cannot be written"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
}

#[test]
fn bad_files_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassettes").join("a.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let good = serde_json::to_value(cassette()).unwrap();
    let with = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bad.to_string().into_bytes()
    };
    let mut extra = good.clone();
    extra["run_this"] = json!("rm -rf /");
    for (bytes, expected) in [
        (b"{\n  \"schema\": 1".to_vec(), "cassettes/a.json:2:"),
        (b"\xff".to_vec(), "not UTF-8"),
        (b"[]".to_vec(), "not a cassette"),
        (with("/schema", json!("cassette.v9")), "cassette.v9"),
        (extra.to_string().into_bytes(), "run_this"),
        (with("/runs", json!([])), "0 runs"),
        (
            with("/runs/0/model/0/duration_us", json!(u64::MAX)),
            "took longer",
        ),
        (
            with("/runs/0/model/0/response", json!({ "base64": "%" })),
            "not valid base64",
        ),
        (
            with("/runs/0/model/0/status", Value::Null),
            "a status and a response",
        ),
        (with("/runs/0/tools/0/result", json!("x".repeat(10))), ""),
        ("[".repeat(100_000).into_bytes(), "not a cassette"),
    ] {
        fs::write(&path, &bytes).unwrap();
        let told = match read(&path) {
            Err(error) => {
                assert!(error.hint.rendered().contains("`record`"));
                error.to_string()
            }
            Ok(_) => String::new(),
        };
        assert!(
            told.contains(expected) && told.is_empty() == expected.is_empty(),
            "{told}"
        );
    }
    let huge = fs::File::create(&path).unwrap();
    huge.set_len(BYTES_MAX + 1).unwrap();
    let error = read(&path).unwrap_err();
    assert!(error.to_string().contains("are allowed"), "{error}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[test]
fn names_are_safe_everywhere() {
    for (name, model, expected) in [
        ("find", "claude-sonnet-4-5", "find__claude-sonnet-4-5.json"),
        (
            "finds it, at last!",
            "a/b:c",
            "finds-it-at-last__a-b-c.json",
        ),
        ("../../etc/passwd", "..", "etc-passwd__agent-"),
        ("größe", "llama3.2", "größe__llama3.2.json"),
    ] {
        let file = file_name(&a_test(name, model));
        assert!(file.starts_with(expected), "{file}");
        assert!(
            !file.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|']),
            "{file}"
        );
    }
    assert_eq!(
        file_name(&a_command("x", "./bin/my_agent")),
        "x__my_agent.json"
    );
    let long = file_name(&a_test(&"ab".repeat(500), "m"));
    assert!(long.len() < 200, "{long}");
    assert_ne!(long, file_name(&a_test(&"ab".repeat(501), "m")));

    let (one, other) = (a_test("Find it", "m"), a_test("find-it", "m"));
    let plan = a_suite(vec![one.clone(), other, a_test("else", "m")]);
    let error = same_file(&one, &plan).unwrap_err();
    assert!(
        error.to_string().contains("\"Find it\" and \"find-it\""),
        "{error}"
    );
    assert_eq!(same_file(&plan.agents[2], &plan), Ok(()));
}

/// A change of a trace, and how its refusal begins.
type Odd = (fn(&mut Value), &'static str);

#[test]
fn the_trace_of_a_process_is_held_to_what_traces_are() {
    let test = a_command("find", "agent");
    let mut whole = serde_json::to_value(Cassette {
        fits: CassetteInputs::of(&test, &[]),
        runs: vec![RecordedRun::default()],
        ..cassette()
    })
    .unwrap();
    whole["runs"][0]["trace"] = json!({
        "tool_calls": [{ "name": "search", "args": {} }],
        "tool_results": [{ "call_index": 0, "is_error": false, "result": {} }],
        "conversation": { "stop_reason": "completed", "duration_ms": 12.0 },
        "faults": [{ "call_index": 0, "kind": "hang", "detected_ms": 5, "recovered_ms": 9, "watched_ms": 20 }],
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, whole.to_string()).unwrap();
    read(&path).unwrap();
    let odd: [Odd; 10] = [
        (
            |run| run["trace"]["tool_results"][0]["call_index"] = json!(7),
            "runs[0].trace.tool_results[0].call_index: ",
        ),
        (
            |run| run["trace"]["faults"][0]["call_index"] = json!(7),
            "runs[0].trace.faults[0].call_index: ",
        ),
        (
            |run| run["trace"]["conversation"]["duration_ms"] = json!(-5),
            "runs[0].trace.conversation.duration_ms: ",
        ),
        (
            |run| run["trace"]["conversation"]["duration_ms"] = json!(1e300),
            "runs[0].trace.conversation.duration_ms: ",
        ),
        (
            |run| run["trace"]["faults"][0]["detected_ms"] = json!(10),
            "runs[0].trace.faults[0].recovered_ms: ",
        ),
        (
            |run| run["trace"]["faults"][0]["detected_ms"] = json!(-1),
            "runs[0].trace.faults[0].detected_ms: ",
        ),
        (
            |run| run["trace"]["faults"][0]["left_ms"] = json!(u64::MAX),
            "runs[0].trace.faults[0].left_ms: ",
        ),
        (|run| run["trace"]["zz"] = json!(1), "runs[0].trace"),
        (|run| run["model"] = json!([]), "runs[0]: "),
        (|run| run["tools"] = json!([]), "runs[0]: "),
    ];
    for (change, place) in odd {
        let mut changed = whole.clone();
        change(&mut changed["runs"][0]);
        fs::write(&path, changed.to_string()).unwrap();
        let error = read(&path).unwrap_err().to_string();
        let what = format!("not a cassette: {place}");
        assert!(error.contains(&what), "{place}: {error}");
    }
}
