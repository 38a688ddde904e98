//! Recordings as their readers see them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcprove_fault::{CallSite, Injector};
use mcprove_import as import;
use mcprove_trace::{ErrorCategory, TraceRecord};
use serde_json::json;

use super::*;

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).unwrap()
    }

    fn lines(&self) -> Vec<TraceRecord> {
        let text = self.text();
        text.lines()
            .map(|line| TraceRecord::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")))
            .collect()
    }
}

fn recording() -> (Recording, Memory) {
    let memory = Memory::default();
    let origin = Origin::new("proxy", "api");
    let recording = Recording::to_writer(
        Box::new(memory.clone()),
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    (recording, memory)
}

const CALL: &str = r#"{"name":"search","arguments":{"q":"x"}}"#;

#[test]
fn a_call_is_a_request_and_one_end() {
    let (recording, memory) = recording();
    let session = recording.session();
    let good = session.request(r#""a""#, "tools/call", CALL);
    let bad = session.request(r#""b""#, "tools/call", CALL);
    let refused = session.request(&"1".repeat(500), "tools/call", CALL);
    let listed = session.request("-7", "tools/list", "");
    good.answer(br#"{"jsonrpc":"2.0","id":"a","result":{"content":[]}}"#);
    bad.answer(br#"{"jsonrpc":"2.0","id":"b","result":{"content":[{"type":"text","text":"no"}],"isError":true}}"#);
    refused.answer(br#"{"jsonrpc":"2.0","id":"c","error":{"code":-32602,"message":"what?"}}"#);
    listed.answer(b"}{");
    assert_eq!(recording.finish().requests, 4);

    let lines = memory.lines();
    let first = &lines[0];
    assert_eq!(first.schema.as_deref(), Some("trace.v1"));
    assert_eq!(first.name.as_deref(), Some(STARTED));
    let origin: Origin = serde_json::from_value(first.data.clone().unwrap()).unwrap();
    assert_eq!(
        (origin.by.as_str(), origin.server.as_str()),
        ("proxy", "api")
    );
    assert_eq!(lines.last().unwrap().name.as_deref(), Some(ENDED));

    let asked: Vec<_> = lines.iter().filter(|line| line.kind == "request").collect();
    assert_eq!(asked.len(), 4);
    assert_eq!(
        (asked[0].request_id, asked[3].request_id),
        (Some(1), Some(4))
    );
    let client_ids: Vec<_> = asked.iter().map(|line| line.client_id.clone()).collect();
    // One that is too long is left out.
    let kept = [Some(json!("a")), Some(json!("b")), None, Some(json!(-7))];
    assert_eq!(client_ids, kept);
    assert_eq!(asked[0].tool.as_deref(), Some("search"));
    assert_eq!(asked[0].params.as_ref().unwrap()["arguments"]["q"], "x");
    let answered: Vec<_> = lines
        .iter()
        .filter(|line| line.kind == "response")
        .collect();
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0].result, Some(json!({"content": []})));
    let categories: Vec<_> = lines
        .iter()
        .filter_map(|line| line.error.as_ref())
        .map(|error| error.category)
        .collect();
    assert_eq!(
        categories,
        [
            ErrorCategory::ToolError,
            ErrorCategory::ProtocolError,
            ErrorCategory::Malformed
        ]
    );
}

#[test]
fn a_request_ends_once_and_what_comes_after_is_a_note() {
    let (recording, memory) = recording();
    let request = recording.session().request("7", "tools/call", CALL);
    request.cancel();
    request.cancel();
    request.answer(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    recording.finish();
    let lines = memory.lines();
    let named = |name: &str| {
        let found: Vec<_> = lines
            .iter()
            .filter(|line| line.name.as_deref() == Some(name))
            .collect();
        found
    };
    let data = json!({"session": 0, "request_id": 1});
    assert_eq!(named("cancelled").len(), 1);
    assert_eq!(named("cancelled")[0].data, Some(data.clone()));
    assert_eq!(named("late_reply").len(), 1);
    assert_eq!(named("late_reply")[0].data, Some(data));
    let ends: Vec<_> = lines
        .iter()
        .filter_map(|line| line.error.as_ref())
        .collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].category, ErrorCategory::Cancelled);
    assert!(!lines.iter().any(|line| line.kind == "response"));
}

#[test]
fn a_fault_is_a_note_that_names_the_request() {
    let (recording, memory) = recording();
    let faults = ["slow:250,tool=search,name=late", "recover-after:3"];
    let specs = faults.map(|fault| fault.parse().unwrap()).to_vec();
    let injector = Injector::new(specs, 1);
    let session = recording.session();
    for (tool, params) in [("search", CALL), ("other", r#"{"name":"other"}"#)] {
        let site = CallSite {
            server: "api",
            tool,
            arguments: "",
        };
        let request = session.request("7", "tools/call", params);
        request.strike(&injector.strike(site).unwrap(), "api");
    }
    recording.finish();
    let data: Vec<_> = memory
        .lines()
        .into_iter()
        .filter(|line| line.name.as_deref() == Some("fault"))
        .map(|line| line.data.unwrap())
        .collect();
    assert_eq!(
        data,
        [
            json!({
                "session": 0, "request_id": 1, "fault": "late", "kind": "slow",
                "server": "api", "tool": "search", "delay_ms": 250
            }),
            json!({
                "session": 0, "request_id": 2, "fault": "recover_after", "kind": "recover_after",
                "server": "api", "tool": "other", "failures": 3
            }),
        ]
    );
}

#[test]
fn whatever_peers_send_the_recording_can_be_read() {
    let (recording, memory) = recording();
    let session = recording.session();
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for value in [deep.as_str(), "1e999", "\"\\ud800\"", "{\n\"a\":\r\n1}"] {
        let params = format!("{{\"name\":\"search\",\"arguments\":{{\"q\":{value}}}}}");
        let request = session.request("7", "tools/call", &params);
        let reply =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[],\"x\":{value}}}}}");
        request.answer(reply.as_bytes());
        session.notification(Peer::Client, "notifications/\"odd\"\n", value);
        session.server_request(value, "sampling/createMessage", value);
        session.client_reply(value);
    }
    session.notification(Peer::Server, "huge", &"9".repeat(NOTE_BYTES_MAX + 1));
    let long = format!("{{\"content\":\"{}\"}}", "x".repeat(RESULT_BYTES_MAX));
    session.request("7", "tools/call", CALL).result(&long);
    let kept = format!("{{\"content\":\"{}\"}}", "x".repeat(RESULT_BYTES_MAX - 14));
    session.request("7", "tools/call", CALL).result(&kept);
    assert_eq!(recording.finish().cut, 1);

    let lines = memory.lines();
    let huge = lines
        .iter()
        .find(|line| line.message.as_deref() == Some("huge"));
    let data = huge.unwrap().data.as_ref().unwrap();
    assert_eq!(data["params_bytes"], NOTE_BYTES_MAX + 1);
    assert_eq!(data["params"], json!(null));
    let imported = import::import(&memory.text()).unwrap();
    assert_eq!(imported.trace.runs[0].tool_calls.len(), 6);
}

#[test]
fn lines_reach_the_file_by_themselves() {
    let (recording, memory) = recording();
    let _request = recording.session().request("7", "ping", "");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !memory.text().contains("\"ping\"") {
        assert!(Instant::now() < deadline, "{}", memory.text());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_disk_that_is_full_is_told() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let origin = Origin::new("mock", "demo");
    let recording = Recording::to_writer(
        Box::new(Full),
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    recording.session().request("7", "ping", "").result("{}");
    assert!(recording.finish().failure.is_some());
}

#[test]
fn a_recording_goes_on_where_another_process_left_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let mut origin = Origin::new("mock", "demo");
    origin.started_at_ms -= 5_000;
    // The first time it is created.
    let first = Recording::append(
        &path,
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    first
        .session()
        .request("7", "tools/call", CALL)
        .result("{}");
    first.finish();

    let second = Recording::append(
        &path,
        &Origin::new("mock", "demo"),
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    assert_eq!(second.session().number(), 1);
    second
        .session()
        .request("7", "tools/call", CALL)
        .result("{}");
    second.finish();

    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<TraceRecord> = text
        .lines()
        .map(|line| TraceRecord::parse(line).unwrap())
        .collect();
    let calls: Vec<&TraceRecord> = lines.iter().filter(|line| line.kind == "request").collect();
    assert_eq!(calls[0].session, Some(0));
    assert_eq!(calls[1].session, Some(2));
    // On the clock of the first.
    assert!(calls[1].ts >= 5.0, "{}", calls[1].ts);
    let imported = import::import(&text).unwrap();
    assert_eq!(imported.trace.runs.len(), 1);
    assert_eq!(imported.trace.runs[0].tool_calls.len(), 2);
}

#[test]
fn two_processes_may_record_to_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let origin = Origin::new("mock", "demo");
    let one = Recording::create(
        &path,
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    one.flush();
    let two = Recording::append(
        &path,
        &origin,
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    for recording in [&one, &two, &one, &two] {
        recording
            .session()
            .request("7", "tools/call", CALL)
            .result("{}");
        recording.flush();
    }
    one.finish();
    two.finish();
    let text = std::fs::read_to_string(&path).unwrap();
    let imported = import::import(&text).unwrap();
    assert_eq!(imported.trace.runs[0].tool_calls.len(), 4, "{text}");
    assert_eq!(imported.trace.runs[0].tool_results.len(), 4, "{text}");
}

#[test]
fn what_is_no_recording_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let (recording, memory) = recording();
    recording.finish();
    let whole = memory.text();
    let huge = format!("{whole}{{\"ts\":1.0,\"kind\":\"request\",\"session\":4294967295}}\n");
    let cut_early = whole[..20].to_owned();
    let not_json = format!("{whole}{{\"ts\":1,}}");
    let request = "{\"ts\":0,\"kind\":\"request\"}\n".to_owned();
    for text in ["my notes\n".to_owned(), request, huge, cut_early, not_json] {
        std::fs::write(&path, &text).unwrap();
        assert!(
            Recording::append(
                &path,
                &Origin::new("mock", "demo"),
                &mcprove_settings::secret::Redactor::default()
            )
            .is_err()
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

/// Whoever recorded may have been killed in the middle of a line.
#[test]
fn a_last_line_that_is_not_whole_is_cut_off_when_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let origin = Origin::new("mock", "demo");
    let (recording, memory) = recording();
    recording.session().request("7", "tools/call", CALL);
    recording.finish();
    let whole = memory.text();
    let cut = format!("{whole}{{\"ts\":1,\"kind\":\"requ");
    // Whole, but for its line break.
    let unbroken = format!("{whole}{{\"ts\":1,\"kind\":\"request\",\"session\":1}}");
    for (text, kept) in [(&cut, whole.clone()), (&unbroken, format!("{unbroken}\n"))] {
        std::fs::write(&path, text).unwrap();
        let second = Recording::append(
            &path,
            &origin,
            &mcprove_settings::secret::Redactor::default(),
        )
        .unwrap();
        second
            .session()
            .request("7", "tools/call", CALL)
            .result("{}");
        second.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&kept), "{text}");
        for line in text.lines() {
            TraceRecord::parse(line).unwrap();
        }
        let rest = text.lines().count() - kept.lines().count();
        assert_eq!(rest, 4, "first line, request, response, last line");
    }
}

/// A client that connects again starts a process anew, and meets the same faults, not from the beginning.
#[test]
fn faults_go_on_where_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let origin = |faults: &[&str]| Origin {
        faults: faults.iter().map(|&fault| fault.to_owned()).collect(),
        ..Origin::new("mock", "demo")
    };
    // Strikes the calls that come in one process.
    let process = |faults: &[&str], tools: &[&str]| -> Vec<bool> {
        let recording = Recording::append(
            &path,
            &origin(faults),
            &mcprove_settings::secret::Redactor::default(),
        )
        .unwrap();
        let specs = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        let injector = mcprove_fault::Injector::new(specs, 7);
        injector.go_on_from(recording.past());
        let session = recording.session();
        let struck = tools.iter().map(|tool| {
            let params = format!("{{\"name\":\"{tool}\",\"arguments\":{{\"a\":1}}}}");
            let request = session.request("7", "tools/call", &params);
            let site = mcprove_fault::CallSite {
                server: "demo",
                tool,
                arguments: r#"{"a":1}"#,
            };
            let injection = injector.strike(site);
            if let Some(injection) = &injection {
                request.strike(injection, "demo");
            }
            injection.is_some()
        });
        let struck = struck.collect();
        recording.finish();
        struck
    };
    for fault in ["hang,calls=1-2,tool=search", "recover-after:2,tool=search"] {
        let _ = std::fs::remove_file(&path);
        let faults = [fault];
        assert_eq!(
            process(&faults, &["echo", "search"]),
            [false, true],
            "{fault}"
        );
        assert_eq!(
            process(&faults, &["search", "search"]),
            [true, false],
            "{fault}"
        );
        assert_eq!(process(&faults, &["search"]), [false], "{fault}");
        // Other faults begin.
        assert_eq!(process(&["error,calls=1"], &["search"]), [true], "{fault}");
    }
    // By chance too: the same calls in one process or in many.
    let faults = ["flaky"];
    let _ = std::fs::remove_file(&path);
    let at_once = process(&faults, &["search"; 12]);
    let _ = std::fs::remove_file(&path);
    let one_by_one: Vec<bool> = (0..12)
        .flat_map(|_| process(&faults, &["search"]))
        .collect();
    assert_eq!(at_once, one_by_one);
    assert!(at_once.contains(&true) && at_once.contains(&false));
}

#[test]
fn a_client_that_gives_up_on_a_broken_reply_is_seen_to() {
    let (recording, memory) = recording();
    let request = recording.session().request("7", "tools/call", CALL);
    request.answer(b"}{");
    request.cancel();
    request.cancel();
    recording.finish();
    let cancelled = memory
        .lines()
        .iter()
        .filter(|line| line.name.as_deref() == Some("cancelled"))
        .count();
    assert_eq!(cancelled, 1);
}
