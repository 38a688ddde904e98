//! The text of a suite.

use mcprove_settings::printable::printable as comment;

use super::explore::{Explored, ExploredTool};
use super::given::Given;
use super::yaml::{flow, literal, text};
use super::{Draft, SkippedTool};
use crate::prelude::*;

/// How much of a description, or of what happened, is written into a comment.
const COMMENT_CHARACTERS_MAX: usize = 160;
/// How much is written of why a tool is not called.
const REASON_CHARACTERS_MAX: usize = 300;
/// How much is written of a bad request that was not rejected.
const FINDING_CHARACTERS_MAX: usize = 600;
/// How much of the name of a tool is written into the name of its test.
const NAME_CHARACTERS_MAX: usize = 80;
/// The longest name of a server.
const SERVER_CHARACTERS_MAX: usize = 40;
/// When a text is this long, no more schemas are written into it: a suite has a largest size.
const SCHEMAS_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Why a tool is not in a suite.
const UNREADABLE: &str = "it cannot be written so that it can be read again";

/// Writes the suite, and reads it again. What does not read, which would be a mistake of the writer, is left
/// out; if that does not help, the reader says why.
pub fn write_readable(
    given: &Given,
    explored: &Explored,
    read: &dyn Fn(&str) -> Result<(), ConfigErrors>,
) -> Result<Draft, ConfigErrors> {
    let draft = write(given, explored);
    if read(&draft.text).is_ok() {
        return Ok(draft);
    }
    let mut kept = Explored {
        tools: Vec::new(),
        ..explored.clone()
    };
    let mut unread = Vec::new();
    for tool in &explored.tools {
        let alone = Explored {
            server: explored.server.clone(),
            tools: vec![tool.clone()],
            left_out: 0,
            is_ping_unanswered: false,
        };
        if read(&write(given, &alone).text).is_ok() {
            kept.tools.push(tool.clone());
        } else {
            kept.left_out += 1;
            unread.push(SkippedTool {
                tool: tool.name.clone(),
                reason: UNREADABLE.to_owned(),
            });
        }
    }
    let mut draft = write(given, &kept);
    read(&draft.text)?;
    draft.skipped.extend(unread);
    Ok(draft)
}

/// Writes the suite.
pub fn write(given: &Given, explored: &Explored) -> Draft {
    let server = server_name(&given.masked(&explored.server));
    let mut draft = Draft {
        text: head(&server, given),
        variables: given.variables.clone(),
        is_ping_unanswered: explored.is_ping_unanswered,
        ..Draft::default()
    };
    let mut names = BTreeSet::new();
    draft.text.push_str(if explored.tools.is_empty() {
        "# The server lists no tools, so this only shows what a test looks like.\n\
         tools:\n\x20 - name: a tool answers\n\x20   tool: a_tool\n\x20   args: {}\n\
         \x20   skip: the server lists no tools\n"
    } else {
        "# One test for each tool. Arguments were made from its schema; put better ones in their place, and\n\
         # say more of what must come back: result.content[0].text, result.structuredContent, duration_ms.\n\
         tools:\n"
    });
    for tool in &explored.tools {
        write_tool(tool, &server, given, &mut names, &mut draft);
    }
    if explored.left_out > 0 {
        let _ = writeln!(
            draft.text,
            "  # {} more are listed, and left out here.",
            explored.left_out
        );
    }
    let example = explored.tools.iter().find(|tool| tool.skip.is_none());
    draft.text.push_str(&more(&server, example));
    draft
}

fn head(server: &str, given: &Given) -> String {
    let mut text = "\
# Tests of an MCP server, written by `mcprove init`. Run them with `mcprove run`.
# Editors complete this file with its schema: mcprove schema suite > suite.v1.json, and this as the first line:
# yaml-language-server: $schema=suite.v1.json

"
    // A line that editors act on, where there may be no such file yet, would only give errors.
    .replace("# yaml-language-server", "#   # yaml-language-server");
    if !given.variables.is_empty() {
        let names = given.variables.join(", ");
        let _ = writeln!(text, "# Set before running it: {names}.");
    }
    let _ = writeln!(text, "servers:\n  {server}:");
    for line in &given.lines {
        let _ = writeln!(text, "    {line}");
    }
    text.push('\n');
    text
}

fn write_tool(
    tool: &ExploredTool,
    server: &str,
    given: &Given,
    names: &mut BTreeSet<String>,
    draft: &mut Draft,
) {
    let said = |text: &str| comment(&given.masked(text), COMMENT_CHARACTERS_MAX);
    if tool.name.trim().is_empty() || tool.name.contains('\0') {
        let reason = "its name cannot stand in a file".to_owned();
        let _ = writeln!(
            draft.text,
            "  # {:?} is left out: {reason}.",
            comment(&tool.name, NAME_CHARACTERS_MAX)
        );
        draft.skipped.push(SkippedTool {
            tool: tool.name.clone(),
            reason,
        });
        return;
    }
    let out = &mut draft.text;
    if !names.is_empty() {
        out.push('\n');
    }
    if let Some(description) = tool.description.as_deref().map(said)
        && !description.trim().is_empty()
    {
        let _ = writeln!(out, "  # {}", description.trim());
    }
    let name = test_name(&tool.name, names);
    let _ = writeln!(out, "  - name: {}", literal(&name));
    let _ = writeln!(out, "    server: {server}");
    let _ = writeln!(out, "    tool: {}", literal(&tool.name));
    let _ = writeln!(out, "    args: {}", flow(&tool.arguments));
    if let Some(reason) = &tool.skip {
        let reason = comment(&given.masked(reason), REASON_CHARACTERS_MAX);
        let line = if tool.is_left_alone {
            draft.left_alone += 1;
            format!(
                "{reason}; take this line away if it may be called, or run init with {}",
                allowing(&tool.name)
            )
        } else {
            reason.clone()
        };
        let _ = writeln!(out, "    skip: {}", literal(&line));
        draft.skipped.push(SkippedTool {
            tool: tool.name.clone(),
            reason,
        });
    } else {
        draft.tests += 1;
    }
    if !tool.expectations.is_empty() {
        let _ = writeln!(out, "    expect:");
    }
    for (target, matcher) in &tool.expectations {
        if matcher.get("schema").is_some() && out.len() > SCHEMAS_BYTES_MAX {
            continue;
        }
        let _ = writeln!(
            out,
            "      - {{ target: {}, matcher: {} }}",
            text(target),
            flow(matcher)
        );
    }
    if let Some(reason) = &tool.unchecked {
        let _ = writeln!(out, "    # No bad requests: {}.", said(reason));
    }
    if !tool.checks.is_empty() {
        let checks: Vec<&str> = tool.checks.iter().map(|probe| probe.name()).collect();
        let _ = writeln!(out, "    negative_path:");
        let _ = writeln!(out, "      checks: [{}]", checks.join(", "));
    }
    for finding in &tool.findings {
        let message = comment(&given.masked(&finding.message), FINDING_CHARACTERS_MAX);
        let _ = writeln!(out, "      # not kept when this was written: {message}");
        draft.findings.push(super::UnrejectedRequest {
            message,
            ..finding.clone()
        });
    }
}

/// The flag that has a tool called.
fn allowing(tool: &str) -> String {
    // A name that a shell might change is not written for one.
    let is_plain = text(tool) == tool;
    let name = if is_plain { tool } else { "and its name" };
    sentence!("{}", assignment("allow", name.to_owned())).rendered()
}

/// What a suite can have besides, to start from.
fn more(server: &str, example: Option<&ExploredTool>) -> String {
    let tool = example.map_or_else(|| "a_tool".to_owned(), |tool| literal(&tool.name));
    let args = example.map_or_else(|| "{}".to_owned(), |tool| flow(&tool.arguments));
    format!(
        "
# A task for an agent, and what it must do. With {record} a model is asked once, and replayed from
# then on, without a network and without a key.
# agents:
#   - name: {agent}
#     model: claude-sonnet-4-5
#     servers: [{server}]
#     prompt: Say here what is to be done.
#     trajectory:
#       mode: subsequence
#       calls:
#         - name: {tool}

# A load, and what must hold under it.
# load:
#   - name: {load}
#     server: {server}
#     scenario:
#       type: sustained
#       concurrent: 10
#       duration: 10s
#       tool_call: [{{ name: {tool}, args: {args} }}]
#     thresholds: {{ p99_latency: 500ms, error_rate: 0.01 }}
",
        record = sentence!("{}", setting("record")).rendered(),
        agent = literal("an agent uses the tool"),
        load = literal("holds 10 clients"),
    )
}

/// The name of a test, which no other has.
fn test_name(tool: &str, names: &mut BTreeSet<String>) -> String {
    let wanted = comment(tool, NAME_CHARACTERS_MAX);
    let wanted = format!("{} answers", wanted.trim());
    let mut name = wanted.clone();
    let mut number = 2_u64;
    while !names.insert(name.clone()) {
        name = format!("{wanted} ({number})");
        number += 1;
    }
    name
}

/// The name that the server gives itself, as far as it is one for a suite.
fn server_name(name: &str) -> String {
    let allowed = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let trimmed = allowed
        .get(..SERVER_CHARACTERS_MAX)
        .unwrap_or(&allowed)
        .trim_matches('-');
    let begins_well = trimmed.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if begins_well && text(trimmed) == trimmed {
        trimmed.to_owned()
    } else {
        "server".to_owned()
    }
}
