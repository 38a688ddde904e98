//! What is written down and said over stdio.

use mcprove_recording::{Origin, Recording};

use super::rig::{PING, Rig, call, cancel};
use crate::LOOK_BYTES_MAX;
use crate::watch::Settings;

#[tokio::test]
async fn a_reply_too_long_to_be_held_passes_and_the_fault_is_over() {
    let mut rig = Rig::with(&["slow:1"]);
    rig.client.say(&call("1", "echo")).await;
    rig.server.hear_json().await;
    let head = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":""#;
    let long = format!("{head}{}\"}}}}", "y".repeat(LOOK_BYTES_MAX));
    let (mut server, mut client) = (rig.server, rig.client);
    let ((), answer) = tokio::join!(server.say(&long), client.hear());
    assert!(answer == long);
    client.say(PING).await;
    assert_eq!(server.hear().await, PING);
}

#[tokio::test]
async fn batches_pass_untouched_and_are_counted_and_it_is_said() {
    let mut rig = Rig::with(&["error,tool=echo"]);
    for (tool, is_said) in [("other", false), ("echo", true)] {
        let batch = format!("[{},{PING}]", call("1", tool));
        rig.client.say(&batch).await;
        assert_eq!(rig.server.hear().await, batch);
        let seen = rig.watch.seen();
        let mut remarks = seen.remarks.keys();
        let is_told = remarks.any(|remark| remark.contains("batch"));
        assert_eq!((is_told, seen.counts[tool]), (is_said, 1), "{seen:?}");
    }
}

#[tokio::test]
async fn what_the_client_experiences_is_recorded() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let origin = Origin::new("proxy", "api");
    let recording = Recording::create(
        file.path(),
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    let mut rig = Rig::new(Settings {
        server_name: "api".to_owned(),
        faults: vec![
            "error,tool=bad".parse().unwrap(),
            "hang,tool=stuck".parse().unwrap(),
        ],
        recording: Some(recording.clone()),
        ..Settings::default()
    });
    rig.client.say(&call("1", "good")).await;
    rig.serve_one().await;
    rig.client.hear().await;
    rig.client.say(&call("2", "bad")).await;
    rig.client.hear().await;
    rig.client.say(&call("3", "stuck")).await;
    rig.client.say(&cancel("3")).await;
    rig.client.say(PING).await;
    rig.server.hear().await;
    recording.finish();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let imported = mcprove_import::import(&text).unwrap();
    let run = &imported.trace.runs[0];
    let tools: Vec<_> = run
        .tool_calls
        .iter()
        .map(|call| call.name.as_str())
        .collect();
    assert_eq!(tools, ["good", "bad", "stuck"]);
    let errors: Vec<_> = run
        .tool_results
        .iter()
        .map(|result| result.is_error)
        .collect();
    assert_eq!(errors, [Some(false), Some(true), Some(true)]);
    for part in [
        "\"name\":\"fault\"",
        "\"name\":\"cancelled\"",
        "\"kind\":\"hang\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
