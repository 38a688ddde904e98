//! The section `tools`: calls of tools, and what must come back.

use mcprove_check::negative_path::Probe;
use mcprove_client::session::options::CALL_TIMEOUT;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field, Node};
use serde_json::{Map, Value};

use super::entry::{self, with_defaults};
use super::keys::{self, NEGATIVE_PATH, TOOL};
use super::limits::NEGATIVE_PATH_TIMEOUT;
use super::servers::{Servers, milliseconds};
use super::targets;
use crate::gates::{expectations_of, json};
use crate::plan::{NegativePathPlan, ToolTestPlan};

const LABEL: &str = "a test of `tools`";
const CHECKS_HINT: &str = "leave it out for all of them";

/// Reads one test; none only when there were problems.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    defaults: &[Field],
    servers: &Servers,
) -> Option<ToolTestPlan> {
    let known = keys::names(&TOOL);
    let node = table::spelled(reader, node, LABEL, &known)?;
    let node = with_defaults(node, defaults, &TOOL, &[]);
    let section = table::section(reader, &node, LABEL, &known);
    let head = entry::head(reader, &section);
    let server = entry::server(reader, &section, servers);
    let tool = table::required(reader, &section, "tool");
    let args = arguments(reader, &section);
    let timeout = milliseconds(reader, &section, "timeout_ms");
    let negative_path = section
        .get("negative_path")
        .and_then(|field| negative_path(reader, field));
    let expect = match section.get("expect") {
        Some(field) if section.get("negative_path").is_some() => {
            expectations_of(reader, field, &targets::resolve)
        }
        Some(field) => expectations_of(reader, field, &targets::resolve_of_call),
        None => Vec::new(),
    };
    let server = server?;
    let of_server = servers.plans.get(&server);
    let of_server = of_server.and_then(|server| server.session.call_timeout);
    Some(ToolTestPlan {
        head: head?,
        server,
        tool: tool?,
        args: args?,
        timeout: timeout.or(of_server).unwrap_or(CALL_TIMEOUT),
        expect,
        negative_path,
    })
}

fn arguments(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Value> {
    let Some(field) = section.get("args") else {
        return Some(Value::Object(Map::new()));
    };
    match field.value.data {
        Data::Null => Some(Value::Object(Map::new())),
        Data::Table(_) => json(reader, &field.value),
        _ => {
            reader.wrong(field, "a map of arguments", "write { query: x }");
            None
        }
    }
}

fn negative_path(reader: &mut Reader<'_>, field: &Field) -> Option<NegativePathPlan> {
    let label = "`negative_path`";
    let known = keys::names(&NEGATIVE_PATH);
    let node = table::spelled(reader, &field.value, label, &known)?;
    let section = table::section(reader, &node, label, &known);
    let timeout = milliseconds(reader, &section, "timeout_ms");
    let expect = section
        .get("expect")
        .map(|field| expectations_of(reader, field, &targets::resolve_of_negative_path));
    Some(NegativePathPlan {
        checks: checks(reader, &section),
        timeout: timeout.unwrap_or(NEGATIVE_PATH_TIMEOUT),
        expect,
    })
}

fn checks(reader: &mut Reader<'_>, section: &Section<'_>) -> Vec<Probe> {
    let Some(field) = section.get("checks") else {
        return Probe::ALL.map(|(_, probe)| probe).to_vec();
    };
    let nodes = reader.list(field, CHECKS_HINT);
    if matches!(&field.value.data, Data::List(nodes) if nodes.is_empty()) {
        let message = "`checks` is empty, so nothing is checked".to_owned();
        reader.problem(&field.value.span, message, CHECKS_HINT);
    }
    let known = keys::checks();
    let mut checks = Vec::new();
    for node in nodes {
        let probe = reader.choice_of(node, "checks", &known);
        let probe = probe.and_then(Probe::parse);
        checks.extend(probe.filter(|probe| !checks.contains(probe)));
    }
    checks
}
