//! What `mcprove proxy` tells at its end, and the recordings that other commands read.

use std::io::{BufRead, BufReader, Write};

use mcprove_proxy::ProxySummary;
use mcprove_proxy::summary::NextStep;
use serde_json::Value;

use crate::proxy::{CALL, HELLO, answers, proxy, start};
use crate::support::{
    MCPROVE, TRANSCRIPT_FILTERS, assert_snapshot, assert_transcript, mcprove, run, wait,
};

#[test]
fn a_fault_strikes_and_the_summary_says_so() {
    let place = tempfile::tempdir().unwrap();
    let summary = place.path().join("summary.json").display().to_string();
    let record = place.path().join("record.jsonl").display().to_string();
    let arguments = [
        "--fault",
        "error:-32050,calls=1",
        "--summary",
        &summary,
        "--record",
        &record,
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ];
    let again = CALL.replace("\"id\":1", "\"id\":2");
    let (code, out, err) = proxy(&arguments, &format!("{HELLO}\n{CALL}\n"));
    assert_eq!(code, Some(0), "{err}");
    let heard = answers(&out);
    let failed = heard.iter().find(|answer| answer["id"] == 1).unwrap();
    assert_eq!(failed["error"]["code"], -32050);
    assert_snapshot!("proxy_fault", err, TRANSCRIPT_FILTERS.to_vec());

    // Made again once the error has been heard, it is a retry.
    let mut child = start(&mut mcprove(&[&["proxy"], &arguments[..]].concat()));
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for message in [HELLO, CALL, &again] {
        writeln!(stdin, "{message}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"id\""), "{line}");
    }
    drop(stdin);
    assert!(wait(&mut child).unwrap().success());
    let text = std::fs::read_to_string(&summary).unwrap();
    let told: ProxySummary = serde_json::from_str(&text).unwrap();
    let calls = told.calls.unwrap();
    assert_eq!((calls.calls, calls.faulted_calls.len()), (2, 1));
    assert_eq!(calls.faulted_calls[0].next, NextStep::Retried);
    crate::schema::validator("proxy-summary.v1")
        .validate(&serde_json::from_str(&text).unwrap())
        .unwrap();

    // The recording is what other commands read.
    let output = run(&["report", "--json", &record]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    crate::schema::validator("recording-report.v1")
        .validate(&report)
        .unwrap();
    assert_eq!(report["tools"]["echo"]["errors"]["ProtocolError"], 1);
    assert_eq!(report["is_whole"], true);
    let output = run(&["score", "--json", &record]);
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn a_recording_that_was_broken_off_is_reported_with_a_warning() {
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("record.jsonl").display().to_string();
    proxy(
        &["--record", &record, "--", MCPROVE, "fixture", "normal"],
        &format!("{HELLO}\n{CALL}\n"),
    );
    let text = std::fs::read_to_string(&record).unwrap();
    let cut = &text[..text.trim_end().rfind('\n').unwrap() + 20];
    std::fs::write(&record, cut).unwrap();
    let mut outputs = vec![run(&["report", &record]).without_stdout()];
    std::fs::write(&record, "hello\n").unwrap();
    outputs.push(run(&["report", &record]));
    assert_transcript!("proxy_broken_recording", &outputs);
}

#[test]
fn the_summary_says_what_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let summary = place.path().join("summary.json").display().to_string();
    let arguments = [
        "--fault",
        "error,calls=7",
        "--seed",
        "5",
        "--server-name",
        "api",
        "--summary",
        &summary,
        "--",
        MCPROVE,
        "fixture",
        "normal",
    ];
    let (_, _, err) = proxy(&arguments, &format!("{HELLO}\n{CALL}\n"));
    assert_snapshot!("proxy_fault_missed", err, TRANSCRIPT_FILTERS.to_vec());
    let told: Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    assert_eq!((&told["seed"], &told["server"]), (&5.into(), &"api".into()));
    assert_eq!(told["faults"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told["calls"]["fault_totals"][0]["aimed"], 1);
}

#[test]
fn the_example_is_read() {
    let faults = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/proxy/faults.yml"
    );
    let calls: String = [("echo", 1), ("add", 2), ("echo", 3), ("echo", 4)]
        .map(|(tool, id)| {
            let call = CALL.replace("\"id\":1", &format!("\"id\":{id}"));
            call.replace("\"echo\"", &format!("\"{tool}\"")) + "\n"
        })
        .concat();
    let arguments = ["--faults", faults, "--", MCPROVE, "fixture", "normal"];
    let (code, out, err) = proxy(&arguments, &format!("{HELLO}\n{calls}"));
    assert_eq!(code, Some(0), "{err}");
    let heard = answers(&out);
    let failed: Vec<&Value> = heard
        .iter()
        .filter(|answer| answer["error"]["code"] == -32050)
        .collect();
    assert_eq!((heard.len(), failed.len()), (5, 1), "{out}");
    assert_eq!(failed[0]["id"], 2);
    assert_snapshot!("proxy_example", err, TRANSCRIPT_FILTERS.to_vec());
}

#[cfg(unix)]
#[test]
fn a_server_that_dies_has_crashed_and_one_that_follows_its_client_has_not() {
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("record.jsonl").display().to_string();
    for (script, crashes) in [
        ("read line; exit 3", 1),
        ("read line; kill -9 $$", 1),
        ("read line; exit 0", 0),
    ] {
        let arguments = ["proxy", "--record", &record, "--", "sh", "-c", script];
        let mut child = start(&mut mcprove(&arguments));
        // Our end stays open: it is the server that ends.
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{CALL}").unwrap();
        wait(&mut child).unwrap();
        let output = run(&["report", "--json", &record]);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(report["crashes"], crashes, "{script}: {report}");
        assert_eq!(report["tools"]["echo"]["errors"]["Crash"], 1, "{report}");
        let output = run(&["report", &record]);
        let is_told = output.stdout.contains("crashed");
        assert_eq!(is_told, crashes == 1, "{output:?}");
    }
    // It is the client that leaves first.
    let script = "cat >/dev/null; exit 3";
    let arguments = ["--record", &record, "--", "sh", "-c", script];
    let (code, ..) = proxy(&arguments, &format!("{CALL}\n"));
    assert_eq!(code, Some(3));
    let output = run(&["report", "--json", &record]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["crashes"], 0, "{report}");
}
