//! How it ends: what is still under way arrives, and what is not answered has an end of its own.

use std::sync::Arc;
use std::time::Duration;

use mcprove_recording::{Origin, Recording};
use mcprove_trace::TraceRecord;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::rig::{DEADLINE, Rig, call, cancel, watching};
use crate::stdio::End;
use crate::summary;
use crate::summary::NextStep;
use crate::watch::Settings;

/// All lines of a recording.
fn lines(file: &tempfile::NamedTempFile) -> Vec<TraceRecord> {
    let text = std::fs::read_to_string(file.path()).unwrap();
    let lines = text.lines();
    lines
        .map(|line| TraceRecord::parse(line).unwrap())
        .collect()
}

fn recorded(faults: &[&str]) -> (Settings, Recording, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let recording = Recording::create(
        file.path(),
        &Origin::new("proxy", "api"),
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    let settings = Settings {
        server_name: "api".to_owned(),
        faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
        recording: Some(recording.clone()),
        ..Settings::default()
    };
    (settings, recording, file)
}

async fn ended(relay: JoinHandle<End>) -> End {
    timeout(DEADLINE, relay).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_a_server_said_before_it_exited_arrives_however_late_it_is_read() {
    for settings in watching() {
        let mut rig = Rig::new(settings);
        let said = format!("{}\n", "x".repeat(300_000));
        let mut writer = rig.server.writer.take().unwrap();
        let writing = tokio::spawn({
            let said = said.clone();
            async move {
                writer.write_all(said.as_bytes()).await.unwrap();
                // It stays open, as if something else held it.
                writer
            }
        });
        drop(rig.process.take());
        tokio::time::sleep(Duration::from_secs(15)).await;
        let mut heard = Vec::new();
        let read = rig.client.reader.read_to_end(&mut heard);
        timeout(DEADLINE, read).await.unwrap().unwrap();
        assert!(heard == said.as_bytes(), "{} bytes", heard.len());
        assert_eq!(ended(rig.relay).await, End::ServerExited);
        drop(writing.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_waited_for_after_the_client_has_closed_its_end() {
    let patience = Duration::from_secs(1);
    for settings in watching() {
        let mut rig = Rig::patient(settings, patience);
        rig.client.say(&call("1", "echo")).await;
        rig.client.writer.take().unwrap().shutdown().await.unwrap();
        let request = rig.server.hear_json().await;
        tokio::time::sleep(patience * 15).await;
        let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
        rig.server.say(&reply.to_string()).await;
        assert_eq!(rig.client.hear_json().await["id"], 1);
        // It owes nothing any more, and does not end.
        assert_eq!(ended(rig.relay).await, End::ClientLeft);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_waited_for_whatever_its_call_and_others_look_like() {
    let patience = Duration::from_secs(1);
    let long = "x".repeat(10_000);
    let late = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":2,"params":{params},"method":"tools/call"}}"#)
    };
    for said in [
        late(r#"{"name":"a"}"#),
        late(r#"{"name":"a","arguments":{"path":"docs/notifications/x"}}"#),
        late(&format!(
            r#"{{"name":"a","arguments":{{"text":"{long}"}}}}"#
        )),
    ] {
        for settings in watching() {
            let mut rig = Rig::patient(settings, patience);
            // A call that is answered though it was cancelled.
            rig.client.say(&call("1", "echo")).await;
            rig.client.say(&cancel("1")).await;
            rig.client.say(&said).await;
            rig.client.writer.take().unwrap().shutdown().await.unwrap();
            for id in [1, 2] {
                tokio::time::sleep(patience * 15).await;
                let reply = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
                rig.server.say(&reply.to_string()).await;
                assert_eq!(rig.client.hear_json().await["id"], id, "{said}");
            }
            assert_eq!(ended(rig.relay).await, End::ClientLeft);
        }
    }
}

#[tokio::test]
async fn a_last_line_without_a_line_break_stays_a_line_of_its_own() {
    let mut rig = Rig::with(&["slow:100"]);
    rig.client.say(&call("1", "echo")).await;
    let writer = rig.client.writer.as_mut().unwrap();
    writer
        .write_all(call("2", "echo").as_bytes())
        .await
        .unwrap();
    writer.write_all(b"\nhalf").await.unwrap();
    writer.shutdown().await.unwrap();
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(rig.server.hear().await);
    }
    heard.sort();
    assert_eq!(
        heard,
        ["half".to_owned(), call("1", "echo"), call("2", "echo")]
    );

    let mut rig = Rig::with(&["slow:100"]);
    rig.client.say(&call("1", "echo")).await;
    let request = rig.server.hear_json().await;
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
    let duplicated = format!("{reply}\nhalf");
    let writer = rig.server.writer.as_mut().unwrap();
    writer.write_all(duplicated.as_bytes()).await.unwrap();
    writer.shutdown().await.unwrap();
    let mut heard = [rig.client.hear().await, rig.client.hear().await];
    heard.sort();
    assert_eq!(heard[0], "half");
    assert_eq!(serde_json::from_str::<Value>(&heard[1]).unwrap()["id"], 1);
}

#[tokio::test]
async fn calls_that_are_open_when_it_ends_are_recorded_as_what_it_ended_with() {
    for (faults, category) in [
        (&[][..], "Crash"),
        (&["slow:1"], "Crash"),
        (&["lose-reply"], "Crash"),
        (&["disconnect,tool=end"], "Disconnected"),
        (&["crash,tool=end"], "Crash"),
    ] {
        let (settings, recording, file) = recorded(faults);
        let mut rig = Rig::new(settings);
        rig.client.say(&call("1", "echo")).await;
        rig.server.hear().await;
        if category == "Disconnected" || faults == ["crash,tool=end"] {
            rig.client.say(&call("2", "end")).await;
        } else {
            rig.server.writer.take().unwrap().shutdown().await.unwrap();
            drop(rig.process.take());
        }
        ended(rig.relay).await;
        recording.finish();
        let lines = lines(&file);
        let requests = lines.iter().filter(|line| line.kind == "request").count();
        let errors: Vec<_> = lines.iter().filter(|line| line.kind == "error").collect();
        assert_eq!(errors.len(), requests, "{faults:?} {lines:?}");
        for error in errors {
            let told = format!("{:?}", error.error);
            assert!(told.contains(category), "{faults:?} {error:?}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_when_its_client_leaves() {
    for fault in ["hang", "lose-reply"] {
        let (settings, recording, file) = recorded(&[fault]);
        let mut rig = Rig::new(settings);
        rig.client.say(&call("1", "echo")).await;
        if fault == "lose-reply" {
            rig.server.hear().await;
        }
        rig.client.writer.take().unwrap().shutdown().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The server is still there.
        recording.finish();
        let lines = lines(&file);
        assert!(
            lines.iter().any(|line| line.kind == "error"),
            "{fault} {lines:?}"
        );
    }
}

#[tokio::test]
async fn nobody_knows_what_comes_after_a_fault_that_ends_the_proxy() {
    for fault in ["disconnect", "crash"] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        let watch = Arc::clone(&rig.watch);
        ended(rig.relay).await;
        let summary = summary::summarise(&watch.seen());
        assert_eq!(summary.faulted_calls[0].next, NextStep::Unknown, "{fault}");
    }
}

#[tokio::test]
async fn a_call_during_which_the_server_died_by_itself_is_told_as_that() {
    for (fault, is_output_held) in [
        ("lose-reply", false),
        ("slow:1", false),
        ("hang,tool=stuck", false),
        ("lose-reply", true),
    ] {
        let mut rig = Rig::with(&[fault]);
        if fault.starts_with("hang") {
            rig.client.say(&call("1", "stuck")).await;
            rig.client.say(&call("2", "echo")).await;
        } else {
            rig.client.say(&call("1", "echo")).await;
        }
        rig.server.hear().await;
        if !is_output_held {
            rig.server.writer.take().unwrap().shutdown().await.unwrap();
            // The client leaves too, but later.
            assert_eq!(rig.client.hear().await, "");
            rig.client.writer.take().unwrap().shutdown().await.unwrap();
        }
        drop(rig.process.take());
        let watch = Arc::clone(&rig.watch);
        assert_eq!(ended(rig.relay).await, End::ServerExited, "{fault}");
        let summary = summary::summarise(&watch.seen());
        assert_eq!(
            summary.faulted_calls[0].next,
            NextStep::ServerDied,
            "{fault}"
        );
    }
    // One that ends because its client has left did not die.
    let mut rig = Rig::with(&["lose-reply"]);
    rig.client.say(&call("1", "echo")).await;
    rig.server.hear().await;
    rig.client.writer.take().unwrap().shutdown().await.unwrap();
    assert_eq!(rig.server.hear().await, "");
    rig.server.writer.take().unwrap().shutdown().await.unwrap();
    drop(rig.process.take());
    let watch = Arc::clone(&rig.watch);
    assert_eq!(ended(rig.relay).await, End::ServerExited);
    let summary = summary::summarise(&watch.seen());
    assert_eq!(summary.faulted_calls[0].next, NextStep::GaveUp);
}

#[tokio::test]
async fn when_the_client_leaves_delayed_calls_are_made_and_hung_ones_dropped() {
    let mut rig = Rig::with(&["slow:200,tool=late", "hang,tool=stuck"]);
    rig.client.say(&call("1", "late")).await;
    rig.client.say(&call("2", "stuck")).await;
    rig.client.writer.take().unwrap().shutdown().await.unwrap();
    assert_eq!(rig.serve_one().await["id"], 1);
    assert_eq!(rig.server.hear().await, "");
    assert_eq!(rig.client.hear_json().await["id"], 1);
    rig.server.writer.take().unwrap().shutdown().await.unwrap();
    let end = timeout(DEADLINE, rig.relay).await.unwrap().unwrap();
    assert_eq!(end, End::ServerLeft);
}

/// As a server of ours does: what is due long after the client left is not executed.
#[tokio::test]
async fn when_the_client_leaves_calls_with_a_long_delay_are_not_made() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let recording = Recording::create(
        file.path(),
        &Origin::new("proxy", "api"),
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    let mut rig = Rig::new(Settings {
        faults: vec!["slow:1500".parse().unwrap()],
        recording: Some(recording.clone()),
        ..Settings::default()
    });
    rig.client.say(&call("1", "create_issue")).await;
    rig.client.writer.take().unwrap().shutdown().await.unwrap();
    assert_eq!(rig.server.hear().await, "", "the server got no call");
    rig.server.writer.take().unwrap().shutdown().await.unwrap();
    timeout(DEADLINE, rig.relay).await.unwrap().unwrap();
    recording.finish();
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(text.contains(r#""name":"left""#), "{text}");
    let imported = mcprove_import::import(&text).unwrap();
    let mark = &imported.trace.runs[0].faults[0];
    // When the client left, and not when the call was given up.
    assert_eq!(mark.detected_ms, None);
    assert!(mark.left_ms.is_some_and(|left| left < 1_500), "{mark:?}");
}
