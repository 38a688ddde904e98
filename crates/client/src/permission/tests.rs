use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

fn judged(tool: Value) -> Result<Reason, Reason> {
    judge(&serde_json::from_value(tool).unwrap())
}

fn may_call(tool: Value) -> bool {
    judged(tool).is_ok()
}

fn numbers() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "integer"}}})
}

#[test]
fn hints_count_as_far_as_no_word_contradicts_them() {
    let hinted = |name: &str, annotations: Value| {
        may_call(json!({"name": name, "annotations": annotations}))
    };
    assert!(hinted("search", json!(null)));
    assert!(hinted("search", json!({"openWorldHint": true})));
    assert!(hinted("weather", json!({"readOnlyHint": true})));
    assert!(hinted("run_report", json!({"readOnlyHint": true})));
    assert!(hinted(
        "search",
        json!({"readOnlyHint": true, "destructiveHint": true})
    ));
    assert!(!hinted("create_issue", json!({"readOnlyHint": true})));
    assert!(!hinted(
        "x",
        json!({"readOnlyHint": true, "title": "Delete x"})
    ));
    assert!(!hinted("order_pizza", json!({"destructiveHint": false})));
    assert!(!hinted("search", json!({"readOnlyHint": false})));
    assert!(!hinted(
        "search",
        json!({"readOnlyHint": false, "destructiveHint": false})
    ));
    assert!(!hinted("search", json!({"destructiveHint": true})));
    let read = json!({
        "name": "inbox", "description": "Get messages. Marks them as read.",
        "annotations": {"readOnlyHint": true}
    });
    assert!(!may_call(read));
}

#[test]
fn a_tool_without_hints_is_judged_by_every_text() {
    let described = |name: &str, text: &str| may_call(json!({"name": name, "description": text}));
    assert!(described(
        "slack_list_channels",
        "List channels of the workspace"
    ));
    assert!(described("weather", "Get the weather of a city"));
    assert!(described("git_log", "Shows the commit logs"));
    assert!(!described("slack_list_channels", ""));
    assert!(!described("weather", "Weather of a city"));
    assert!(!described(
        "get_inbox",
        "Returns the messages and marks them as read"
    ));
    assert!(!described("get_lock", "Acquire a lock"));
    assert!(!described("snooze_list", "Snooze the list"));
    assert!(!described("get_file", "Löscht die Datei auf der Platte"));
    assert!(!described("get_file", "删除文件"));
    assert!(!described("get_x", "De\u{200b}letes x"));
    assert!(!described("get_d\u{435}lete", "Get x"));
    assert!(!described("get_delete2", "Get x"));
    assert!(!described("get", &"word ".repeat(CHARACTERS_MAX)));
    assert!(!may_call(
        json!({"name": "get_x", "title": "Get and delete x"})
    ));
    let act = json!({
        "name": "get_items",
        "inputSchema": {"properties": {"action": {"enum": ["list", "delete"]}}}
    });
    assert!(!may_call(act));
}

#[test]
fn adding_computes_only_with_numbers() {
    let tool = |schema: Value| json!({"name": "add", "description": "Adds two numbers", "inputSchema": schema});
    assert!(may_call(tool(numbers())));
    assert!(!may_call(tool(json!({}))));
    let note = json!({"properties": {"note": {"type": "string"}}});
    assert!(!may_call(tool(note)));
    assert!(!may_call(json!({"name": "add_note"})));
}

#[test]
fn a_file_is_not_changed_in_place() {
    let tool = |name: &str, argument: &str| json!({"name": name, "inputSchema": {"properties": {argument: {"type": "string"}}}});
    assert!(may_call(tool("format_code", "code")));
    assert!(may_call(tool("read_file", "path")));
    assert!(!may_call(tool("format_file", "path")));
    assert!(!may_call(tool("query", "sql")));
}

#[test]
fn what_the_user_allows_is_called() {
    let tool: Tool = serde_json::from_value(json!({
        "name": "wipe_disk", "annotations": {"destructiveHint": true}
    }))
    .unwrap();
    let names = |names: &[&str]| Allowance {
        writes: false,
        names: names.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(names(&["wipe_*"]).refusal(&tool), None);
    assert_eq!(
        names(&["wipe"]).refusal(&tool),
        Some(Reason::DestructiveHint)
    );
    let all = Allowance {
        writes: true,
        names: Vec::new(),
    };
    assert_eq!(all.refusal(&tool), None);
}

#[test]
fn every_reason_can_be_shown() {
    let shown = judged(json!({"name": "delete_note"}))
        .unwrap_err()
        .to_string();
    assert_eq!(shown, "may write: \"delete\" in its name");
    let shown = judged(json!({"name": "get_note"})).unwrap().to_string();
    assert_eq!(shown, "\"get\" only reads or computes");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Label {
    Reads,
    Computes,
    Writes,
}

#[derive(Deserialize)]
struct Row {
    server: String,
    label: Label,
    /// Whether it should be called.
    call: bool,
    tool: Tool,
}

/// The rows of a table of tools.
fn table<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/tools/");
    let text = std::fs::read_to_string(format!("{folder}{name}.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.collect()
}

#[test]
fn no_writing_tool_of_public_servers_is_called_and_most_others_are() {
    let rows: Vec<Row> = table("tools");
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let mut called = Vec::new();
    let mut left_out = Vec::new();
    let mut decisions = Vec::new();
    for row in &rows {
        let judged = judge(&row.tool);
        let may_call = judged.is_ok();
        let (Ok(reason) | Err(reason)) = judged;
        let line = format!("{} {}: {reason}", row.server, row.tool.name);
        let decision = if may_call { "called" } else { "skipped" };
        decisions.push(format!("{decision} {line}"));
        assert!(row.call || !may_call, "should not be called: {line}");
        match (row.label, may_call) {
            (Label::Writes, true) => called.push(line),
            (Label::Reads | Label::Computes, false) => left_out.push(line),
            _ => {}
        }
    }
    assert!(
        called.is_empty(),
        "writing tools are called:\n{}",
        called.join("\n")
    );
    // Every decision with its reason.
    insta::assert_snapshot!("decisions_on_the_table", decisions.join("\n"));
    let harmless = rows.iter().filter(|row| row.label != Label::Writes).count();
    assert!(harmless >= 60, "{harmless} rows only read or compute");
    assert!(
        left_out.len() * 10 <= harmless,
        "{} of {harmless} harmless tools are not called:\n{}",
        left_out.len(),
        left_out.join("\n")
    );
}

#[derive(Debug, Deserialize)]
struct Phrase {
    called: bool,
    /// The rule is known to judge it wrong.
    #[serde(default)]
    gap: bool,
    name: String,
    description: Option<String>,
    hint: Option<bool>,
    properties: Option<Value>,
}

#[test]
fn phrases_of_writing_tools_are_told_from_those_of_reading_ones() {
    let mut wrong = Vec::new();
    for row in table::<Phrase>("phrases") {
        let id = json!({"id": {"type": "string"}});
        let properties = row.properties.clone().unwrap_or(id);
        let judged = judged(json!({
            "name": row.name,
            "description": row.description,
            "annotations": {"readOnlyHint": row.hint},
            "inputSchema": {"type": "object", "properties": properties},
        }));
        let may_call = judged.is_ok();
        let (Ok(reason) | Err(reason)) = judged;
        if (may_call == row.called) == row.gap {
            wrong.push(format!("{row:?}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_hint_in_snake_case_counts_where_it_is_stricter() {
    let hinted = |name: &str, hints: Value| may_call(json!({"name": name, "annotations": hints}));
    assert!(!hinted("search", json!({"destructive_hint": true})));
    assert!(!hinted(
        "search",
        json!({"readOnlyHint": true, "read_only_hint": false})
    ));
    assert!(!hinted("weather", json!({"read_only_hint": true})));
    assert!(hinted(
        "search",
        json!({"destructive_hint": false, "read_only_hint": "no"})
    ));
}

#[test]
fn of_tools_with_one_name_the_strictest_counts() {
    let tools = json!([
        {"name": "get_x", "annotations": {"readOnlyHint": true}},
        {"name": "get_x"},
        {"name": "get_y"},
        {"name": "get_y"},
        {"name": "get_x", "annotations": {"destructiveHint": true}},
    ]);
    let mut tools: Vec<Tool> = serde_json::from_value(tools).unwrap();
    settle_repeated(&mut tools);
    let called: Vec<&str> = tools
        .iter()
        .filter(|tool| judge(tool).is_ok())
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(called, ["get_y", "get_y"]);
}

#[test]
fn titles_and_look_alikes_are_read_too() {
    assert!(!may_call(
        json!({"name": "get_pizza", "title": "Order a pizza"})
    ));
    let hint = json!({"readOnlyHint": true});
    for name in ["d\u{435}lete", "\u{ff44}elete"] {
        assert!(!may_call(json!({"name": name, "annotations": hint})));
    }
    let disguised = "Get the values of all the rows of a table that is named. D\u{435}letes it.";
    assert!(!may_call(
        json!({"name": "get_x", "description": disguised, "annotations": hint})
    ));
}
