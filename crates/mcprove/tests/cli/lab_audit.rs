//! `mcprove lab audit`: the file of the lab, listed, followed, exported, shown, replayed, compared.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mcprove_lab::audit::{AuditRow, AuditStore, COLUMNS, format_time};
use serde_json::Value;

use crate::support::{MCPROVE, Output, assert_snapshot, assert_transcript, finish, mcprove, run};

/// Compares a text with the snapshot of this name, times and all: they are those of the rows.
macro_rules! assert_exact {
    ($name:expr, $text:expr) => {
        insta::with_settings!({
            snapshot_path => "snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!($name, $text);
        });
    };
}

/// The first moment of 2026.
fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(490_896)
}

pub fn call(number: u64, tool: &str, parameters: &str) -> AuditRow {
    AuditRow {
        ts: start() + Duration::from_millis(number * 1500),
        duration_ms: 1.25,
        request_id: Some(number.to_string()),
        session_id: Some("session-1".into()),
        method: "tools/call".into(),
        tool_name: Some(tool.into()),
        tool_group: Some("failure".into()),
        parameters: Some(parameters.into()),
        success: true,
        request_chars: 100,
        response_chars: 50,
        content_blocks: 1,
        transport: "http".into(),
        remote_addr: Some("127.0.0.1:50000".into()),
        user_agent: Some("agent/1.0".into()),
        headers: Some(r#"{"accept":"*/*","authorization":"<redacted>"}"#.into()),
        response: Some(r#"{"content":[{"type":"text","text":"hi"}]}"#.into()),
        ..AuditRow::default()
    }
}

/// Rows of every kind.
pub fn rows() -> Vec<AuditRow> {
    let text = |text: &str| Some(text.to_owned());
    vec![
        AuditRow {
            method: "initialize".into(),
            tool_name: None,
            ..call(1, "", r#"{"protocolVersion":"2025-11-25"}"#)
        },
        call(2, "echo", r#"{"message":"hi"}"#),
        AuditRow {
            success: false,
            error_code: Some(-32003),
            error_category: text("auth"),
            error_message: text("no \u{1b}[31mentry\u{1b}[0m, \"friend\"\nat all"),
            response: text(r#"{"code":-32003,"message":"no entry"}"#),
            ..call(
                3,
                "error",
                r#"{"category":"auth","options":{"codes":[401]}}"#,
            )
        },
        AuditRow {
            success: false,
            cancelled: true,
            duration_ms: 12_345.6,
            response: None,
            ..call(4, "slow", r#"{"milliseconds":60000}"#)
        },
        AuditRow {
            success: false,
            error_message: text("flaky failure (roll=0.1000 < rate=0.5000)"),
            session_id: text("session-2"),
            response: text(r#"{"isError":true,"content":[]}"#),
            ts: start() + Duration::from_hours(30),
            ..call(5, "flaky", r#"{"seed":"a","call_id":1}"#)
        },
    ]
}

/// A file with these rows, and the folder that it is in.
pub fn file(rows: Vec<AuditRow>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    record(&path, rows);
    (folder, path)
}

pub fn record(path: &Path, rows: Vec<AuditRow>) {
    let store = AuditStore::open(path).unwrap();
    for row in rows {
        store.record(row);
    }
    store.close().unwrap();
}

fn audit(path: &Path, arguments: &[&str]) -> Output {
    let path = path.display().to_string();
    run(&[["lab", "audit", &path].as_slice(), arguments].concat())
}

/// What a command prints that ends well.
fn printed(path: &Path, arguments: &[&str]) -> String {
    let output = audit(path, arguments);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    output.stdout
}

/// The ids of the rows that these filters give.
fn ids(path: &Path, filters: &[&str]) -> Vec<i64> {
    let json: Value =
        serde_json::from_str(&printed(path, &[filters, &["--json"]].concat())).unwrap();
    assert_eq!(json["schema"], "audit.v1");
    let rows = json["rows"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[test]
fn the_table_is_as_reviewed_and_fits() {
    let (_folder, path) = file(rows());
    let narrow = printed(&path, &[]);
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 80),
        "{narrow}"
    );
    assert!(!narrow.contains('\u{1b}'));
    assert_exact!("lab_audit_80", narrow);
    let mut command = mcprove(&["lab", "audit", &path.display().to_string()]);
    command.env("COLUMNS", "120");
    let wide = finish(command).stdout;
    assert_exact!("lab_audit_120", wide);
}

#[test]
fn one_row_is_shown_wholly() {
    let (_folder, path) = file(rows());
    assert_exact!("lab_audit_show", printed(&path, &["show", "3"]));
    let json: Value = serde_json::from_str(&printed(&path, &["show", "3", "--json"])).unwrap();
    assert_eq!(json["parameters"]["options"]["codes"][0], 401);
    assert_eq!(json["headers"]["authorization"], "<redacted>");
    assert_eq!(json.as_object().unwrap().len(), COLUMNS.len());
}

#[test]
fn filters_choose_rows() {
    let (_folder, path) = file(rows());
    for (filters, expected) in [
        (["--order", "newest"].as_slice(), [5, 4, 3, 2, 1].as_slice()),
        (&["--order", "oldest", "--limit", "2"], &[1, 2]),
        (&["--failed"], &[5, 4, 3]),
        (&["--success", "false", "--session", "session-1"], &[4, 3]),
        (&["--success", "true"], &[2, 1]),
        (&["--category", "auth"], &[3]),
        (&["--tool", "flaky"], &[5]),
        (&["--method", "initialize"], &[1]),
        (&["--since", "2026-01-02T07:00:00+01:00"], &[5]),
        (&["--until", "2026-01-01T00:00:03Z"], &[2, 1]),
        (&["--since", "2026-01-02"], &[5]),
        (&["--until", "2026-01-02"], &[4, 3, 2, 1]),
        (&["--since", "10m"], &[]),
        (&["--argument", "options.codes[0]=401"], &[3]),
        (&["--argument", "seed=a", "--argument", "call_id=1"], &[5]),
        (&["--argument", "seed=b"], &[]),
    ] {
        assert_eq!(ids(&path, filters), expected, "{filters:?}");
    }
    let nothing = audit(&path, &["--tool", "echo", "--failed"]);
    let (_folder, empty) = file(Vec::new());
    assert_transcript!("lab_audit_nothing", [&nothing, &audit(&empty, &[])]);
}

#[test]
fn a_slip_in_a_name_is_told() {
    let (_folder, path) = file(rows());
    let mut outputs = Vec::new();
    for filters in [
        ["--tool", "ehco"],
        ["--category", "atuh"],
        ["--category", "cold"],
        ["--method", "tool/call"],
        ["--tool", "weather"],
    ] {
        let output = audit(&path, &filters);
        for way in [&["--json"][..], &["--export", "jsonl"]] {
            let other = audit(&path, &[&filters, way].concat());
            assert_eq!(other.code, Some(0), "{other:?}");
            assert_eq!(other.stderr, output.stderr);
        }
        outputs.push(output);
    }
    // There is such a category; nothing failed so.
    outputs.push(audit(&path, &["--category", "timeout"]));
    assert_transcript!("lab_audit_slips", &outputs);
}

#[test]
fn bad_input_ends_with_2_and_a_hint() {
    let (folder, path) = file(rows());
    let mut outputs = Vec::new();
    for arguments in [
        ["--since", "yesterday"].as_slice(),
        &["--argument", "seed"],
        &["--success", "maybe"],
        &["--export", "xml"],
        &["--output", "x"],
        &["--follow", "--export", "csv"],
        &["--failed", "show", "1"],
        &["show", "99"],
        &["show"],
        &["compare", "1"],
        &["compare", "1", "99"],
        &["compare", "1", "2", "--ignore", "resposne.content"],
        &["replay", "2", "--ignore", "colour", "-s", "no-such-program"],
        &["replay", "2"],
        &["replay", "99", "-s", "no-such-program"],
    ] {
        outputs.push(audit(&path, arguments));
    }
    for (name, content) in [
        ("text.db", "hello ".repeat(200)),
        ("empty.db", String::new()),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        outputs.push(audit(&path, &[]));
    }
    outputs.push(audit(folder.path(), &[]));
    outputs.push(audit(&folder.path().join("missing.db"), &["--follow"]));
    let own = path.display().to_string();
    outputs.push(audit(&path, &["--export", "csv", "-o", &own]));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("lab_audit_refused", &outputs);
    assert_eq!(printed(&path, &["--limit", "0"]), "");
    assert_eq!(ids(&path, &[]).len(), 5);
}

#[test]
fn an_export_holds_every_row_and_can_be_read_back() {
    let (folder, path) = file(rows());
    let lines = printed(&path, &["--export", "jsonl"]);
    let exported: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected: Vec<Value> = (1..)
        .zip(rows())
        .map(|(id, row)| AuditRow { id, ..row }.to_json())
        .collect();
    assert_eq!(exported, expected);
    let target = folder.path().join("rows.csv");
    let written = printed(
        &path,
        &["--export", "csv", "-o", &target.display().to_string()],
    );
    assert_eq!(written, "");
    let csv = std::fs::read_to_string(target).unwrap();
    assert_eq!(csv, printed(&path, &["--export", "csv"]));
    let records = parse_csv(&csv);
    assert_eq!(records[0], COLUMNS);
    assert_eq!(records.len(), 6);
    let place = |name: &str| COLUMNS.iter().position(|column| *column == name).unwrap();
    assert_eq!(
        records[3][place("error_message")],
        rows()[2].error_message.clone().unwrap()
    );
    assert_eq!(
        records[3][place("parameters")],
        rows()[2].parameters.clone().unwrap()
    );
    assert_eq!(records[3][place("ts")], format_time(rows()[2].ts));
    assert_eq!(records[4][place("response")], "");
    let failed = printed(&path, &["--export", "csv", "--failed", "--limit", "1"]);
    assert_eq!(parse_csv(&failed).len(), 2);
}

/// Reads CSV as RFC 4180 has it.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\r' if !is_quoted && characters.next_if_eq(&'\n').is_some() => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            character => field.push(character),
        }
    }
    assert!(
        field.is_empty() && record.is_empty() && !is_quoted,
        "{text}"
    );
    records
}

#[test]
fn rows_are_compared_column_by_column() {
    let other = AuditRow {
        success: false,
        response: Some(r#"{"content":[{"type":"text","text":"ho"}],"isError":true}"#.into()),
        ..call(9, "echo", r#"{"message":"ho"}"#)
    };
    let (_folder, path) = file(vec![
        call(1, "echo", r#"{"message":"hi"}"#),
        call(2, "echo", r#"{"message":"hi"}"#),
        other,
    ]);
    assert_exact!("lab_audit_alike", printed(&path, &["compare", "1", "2"]));
    let output = audit(&path, &["compare", "1", "3"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_exact!("lab_audit_compare", output.stdout);
    let output = audit(&path, &["compare", "1", "3", "--json"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(json["same"], false);
    assert_eq!(json["differences"][0]["column"], "parameters");
    assert_eq!(json["differences"][0]["path"], "message");
    assert_eq!(json["left"]["id"], 1);
    let ignored = ["parameters", "response", "success"].map(|place| format!("--ignore={place}"));
    let mut arguments = vec!["compare", "1", "3"];
    arguments.extend(ignored.iter().map(String::as_str));
    assert_eq!(audit(&path, &arguments).code, Some(0));
}

#[test]
fn a_request_is_replayed_on_any_server() {
    let echo = AuditRow {
        response: Some(r#"{"content":[{"type":"text","text":"other"}]}"#.into()),
        ..call(1, "echo", r#"{"message":"hi"}"#)
    };
    let cut = AuditRow {
        parameters: Some("x".repeat(100_000)),
        ..call(2, "echo", "")
    };
    let (_folder, path) = file(vec![echo, cut, call(3, "no_such_tool", "{}")]);
    let server = ["--", "mcprove", "fixture", "normal"];
    let replay = |row: &str| audit(&path, &[["replay", row].as_slice(), &server].concat());
    let mut outputs = vec![replay("1"), replay("2"), replay("3")];
    let wide = |line: &str| line.chars().count() > 80;
    assert!(!outputs[0].stdout.lines().any(wide), "{outputs:?}");
    let output = audit(
        &path,
        &[["replay", "1", "--json"].as_slice(), &server].concat(),
    );
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(json["left"]["id"], 1);
    assert_eq!(json["right"]["success"], true);
    // What came back, recorded: now the same comes back.
    let response = json["right"]["response"].to_string();
    record(
        &path,
        vec![AuditRow {
            response: Some(response),
            ..call(4, "echo", r#"{"message":"hi"}"#)
        }],
    );
    outputs.push(audit(
        &path,
        &["replay", "4", "-s", "mcprove fixture normal"],
    ));
    outputs.push(audit(&path, &["replay", "1", "-s", "no-such-program"]));
    let codes: Vec<_> = outputs.iter().map(|output| output.code.unwrap()).collect();
    assert_eq!(codes, [1, 2, 1, 0, 2]);
    assert_transcript!("lab_audit_replay", &outputs);
}

#[test]
fn a_call_that_was_cancelled_is_not_one_that_ends_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lab.db");
    let cancelled = AuditRow {
        success: false,
        response: None,
        cancelled: true,
        error_category: Some("cancelled".into()),
        ..call(1, "search", r#"{"query":"x"}"#)
    };
    record(&path, vec![cancelled]);
    let tools =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mock/tools.yml");
    let tools = tools.display().to_string();
    let mock = [MCPROVE, "mock", "--tools-from", &tools, "--fault", "crash"];
    let arguments = [["replay", "1", "--"].as_slice(), &mock].concat();
    let output = audit(&path, &arguments);
    assert_eq!(output.code, Some(1), "{output:?}");
}

#[test]
fn explain_tells_and_does_nothing() {
    let told = run(&["lab", "audit", "--explain"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_snapshot!("explain_lab_audit", told.stdout);
    let server = ["-s", "no-such-program"];
    let replay = [
        ["lab", "audit", "missing.db", "replay", "1", "--explain"].as_slice(),
        &server,
    ];
    assert_eq!(run(&replay.concat()).stdout, told.stdout);
}
