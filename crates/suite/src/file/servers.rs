//! The section `servers`: commands to start, addresses, and mocks, by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_client::session::ProtocolChoice;
use mcprove_load::config::TRANSPORTS;
use mcprove_load::config::{SessionSettings, address, read_headers};
use mcprove_settings::message::message;
use mcprove_settings::reader::{Least, Reader, Section, near};
use mcprove_settings::table;
use mcprove_settings::text::shorten;
use mcprove_settings::tree::{Data, Field};

use super::command;
use super::keys::{self, SERVER};
use super::limits::{PARALLEL, PARALLEL_MAX, SERVER_NAME_MAX, SERVERS_MAX, TIME_MS_MAX};
use super::mocks;
use crate::plan::{Reach, ServerPlan};

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// The servers of a suite.
#[derive(Default)]
pub(super) struct Servers {
    /// Those that could be read.
    pub plans: BTreeMap<String, ServerPlan>,
    /// Every name that there is.
    names: Vec<String>,
    /// Whether there may be others, because the section could not be read.
    is_unreadable: bool,
}

impl Servers {
    /// Reads the section.
    pub(super) fn read(reader: &mut Reader<'_>, section: Option<&Field>, folder: &Path) -> Self {
        let mut servers = Self::default();
        let Some(field) = section else {
            return servers;
        };
        let fields: &[Field] = match &field.value.data {
            Data::Table(fields) => fields,
            Data::Null => &[],
            _ => {
                let hint = "write `api: { command: [python, -m, my_mcp] }` below it";
                reader.wrong(field, "a map of servers by name", hint);
                servers.is_unreadable = true;
                &[]
            }
        };
        if let Some(field) = fields.get(SERVERS_MAX) {
            let message = format!("there are more than {SERVERS_MAX} servers");
            reader.problem(&field.span, message, "leave some out");
            servers.is_unreadable = true;
            return servers;
        }
        for field in fields {
            check_name(reader, field);
            servers.names.push(field.name.clone());
            if let Some(plan) = read_server(reader, field, folder) {
                servers.plans.insert(field.name.clone(), plan);
            }
        }
        servers
    }

    /// The only one, if there is but one.
    pub(super) fn only(&self) -> Option<&str> {
        match &self.names[..] {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Whether a server has this name; if none has, this is a problem.
    pub(super) fn check(
        &self,
        reader: &mut Reader<'_>,
        span: &std::ops::Range<usize>,
        name: &str,
    ) -> bool {
        let is_there = self.is_unreadable || self.names.iter().any(|known| known == name);
        if !is_there {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let hint = match (near(&names, name), names.is_empty()) {
                (Some(close), _) => format!("did you mean {close:?}?"),
                (None, false) => format!("the servers are {}", names.join(", ")),
                (None, true) => "name it under `servers`: there are none".to_owned(),
            };
            let message = format!("no server is called {:?}", shorten(name, SHOWN_MAX));
            reader.problem(span, message, hint);
        }
        is_there
    }
}

fn check_name(reader: &mut Reader<'_>, field: &Field) {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let name = &field.name;
    if name.is_empty() || name.len() > SERVER_NAME_MAX || !name.chars().all(is_allowed) {
        let shown = shorten(name, SHOWN_MAX);
        let message = format!("{shown:?} cannot be the name of a server");
        let hint = format!("use letters, digits, `_`, `-` and `.`, at most {SERVER_NAME_MAX}");
        reader.problem(&field.span, message, hint);
    }
}

fn read_server(reader: &mut Reader<'_>, field: &Field, folder: &Path) -> Option<ServerPlan> {
    let label = format!("the server {:?}", shorten(&field.name, SHOWN_MAX));
    let known = keys::names(&SERVER);
    let node = table::spelled(reader, &field.value, &label, &known)?;
    let section = table::section(reader, &node, &label, &known);
    let session = read_session(reader, &section);
    let parallel = reader.integer(&section, "parallel", 1..=PARALLEL_MAX);
    let is_fresh = reader.boolean(&section, "fresh").unwrap_or_default();
    let startup = time(reader, &section, "startup_timeout", Least::MoreThanZero);
    let shutdown = time(reader, &section, "shutdown_timeout", Least::Zero);
    let mut reach = read_reach(reader, &section, &field.name, folder)?;
    if let Reach::Server(server) = &mut reach {
        server.startup_timeout = startup.unwrap_or(server.startup_timeout);
        server.shutdown_timeout = shutdown.unwrap_or(server.shutdown_timeout);
    }
    Some(ServerPlan {
        name: field.name.clone(),
        place: reader.place(&field.span),
        reach,
        session,
        parallel: parallel
            .and_then(|count| count.try_into().ok())
            .unwrap_or(PARALLEL),
        is_fresh,
    })
}

/// Which of the three it is; what belongs to another is a problem.
fn read_reach(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    name: &str,
    folder: &Path,
) -> Option<Reach> {
    let given: Vec<&Field> = ["command", "url", "mock"]
        .into_iter()
        .filter_map(|key| section.get(key))
        .collect();
    match given[..] {
        [] => {
            let message = message![section.label.clone(), " has no command, url or mock"];
            let hint = "add `command: [python, -m, my_mcp]`, `url: http://127.0.0.1:8080/mcp` or \
                        `mock: ./tools.yml`";
            reader.problem(section.span(), message, hint);
            None
        }
        [one] => {
            refuse_others(reader, section, &one.name);
            match one.name.as_str() {
                "command" => read_command(reader, section, folder),
                "url" => read_address(reader, section, one),
                _ => mocks::read(reader, section, one, name, folder),
            }
        }
        [first, second, ..] => {
            let message = format!(
                "`{}` and `{}` cannot both be given",
                first.name, second.name
            );
            reader.problem(&second.span, message, "leave one of them out");
            None
        }
    }
}

/// What does not go with the way in which a server is reached.
fn refuse_others(reader: &mut Reader<'_>, section: &Section<'_>, way: &str) {
    let owners: &[(&str, &str, &[&str])] = &[
        (
            "command",
            "a server that is started",
            &["args", "env", "cwd", "working_dir"],
        ),
        ("url", "a server at an address", &["headers"]),
        ("mock", "a mock", &["fault", "faults"]),
    ];
    for (owner, what, keys) in owners.iter().filter(|(owner, ..)| *owner != way) {
        for field in keys.iter().filter_map(|key| section.get(key)) {
            let message = format!("`{}` is for {what}", field.name);
            let hint = match *owner {
                "mock" => {
                    "leave it out; agents meet faults by `inject`, loads by their own `faults`"
                        .to_owned()
                }
                owner => format!("leave it out, or give a {owner} instead of a {way}"),
            };
            reader.problem(&field.span, message, hint);
        }
    }
    if way == "mock"
        && let Some(field) = section.get("transport")
    {
        let message = "a mock in this process has no transport".to_owned();
        reader.problem(&field.span, message, "leave it out");
    }
}

fn read_command(reader: &mut Reader<'_>, section: &Section<'_>, folder: &Path) -> Option<Reach> {
    if let Some(name @ ("http" | "sse" | "ws")) = reader.choice(section, "transport", TRANSPORTS)
        && let Some(field) = section.get("transport")
    {
        let message = format!("transport {name:?} needs a url");
        reader.problem(&field.span, message, "leave it out, or give a url");
    }
    let command = command::read(reader, section, folder)?;
    let mut server = Server::stdio(command.program).args(command.args);
    server.env = command.env;
    server.working_dir = command.working_dir;
    Some(Reach::Server(server))
}

fn read_address(reader: &mut Reader<'_>, section: &Section<'_>, field: &Field) -> Option<Reach> {
    let name = reader.choice(section, "transport", TRANSPORTS);
    let headers = read_headers(reader, section);
    let url = reader.text(section, "url")?.to_owned();
    let server = address(reader, field, url, headers, name)?;
    check_host(reader, field);
    Some(Reach::Server(server))
}

/// What is refused whenever the address is used is refused at once.
fn check_host(reader: &mut Reader<'_>, field: &Field) {
    let url = field.value.text().unwrap_or_default();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        let message = "the address holds credentials".to_owned();
        let hint = "leave them out, and give an Authorization under `headers`";
        reader.secret_problem(&field.value.span, message, hint);
        return;
    }
    // The address itself may have colons, between brackets.
    let behind = authority.rsplit(']').next().unwrap_or_default();
    let port = behind.rsplit_once(':').map(|(_, port)| port);
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if port.is_some_and(|port| !port.is_empty() && !is_port(port)) {
        let message = "the port of the address is none".to_owned();
        reader.problem(&field.value.span, message, "give one between 1 and 65535");
    }
}

fn read_session(reader: &mut Reader<'_>, section: &Section<'_>) -> SessionSettings {
    let protocol = reader.choice(section, "protocol", ProtocolChoice::NAMES);
    SessionSettings {
        protocol: protocol
            .and_then(|name| ProtocolChoice::from_str(name).ok())
            .unwrap_or_default(),
        strict_protocol: reader
            .boolean(section, "strict_protocol")
            .unwrap_or_default(),
        call_timeout: time(reader, section, "call_timeout", Least::MoreThanZero),
        max_frame: reader.size(section, "max_frame"),
        accept_requests: reader.boolean(section, "accept_requests"),
        fall_back_to_sse: section.get("transport").is_none(),
    }
}

/// A time, as `name` with its unit, or as `name_ms`.
fn time(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    name: &str,
    least: Least,
) -> Option<Duration> {
    let in_milliseconds = format!("{name}_ms");
    if let (Some(_), Some(second)) = (section.get(name), section.get(&in_milliseconds)) {
        let message = format!("`{name}` and `{in_milliseconds}` are the same");
        reader.problem(&second.span, message, "leave one of them out");
    }
    let given = reader.duration(section, name, least);
    given.or_else(|| milliseconds(reader, section, &in_milliseconds))
}

/// A whole number of milliseconds.
pub(super) fn milliseconds(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    name: &str,
) -> Option<Duration> {
    let value = reader.integer(section, name, 1..=TIME_MS_MAX)?;
    Some(Duration::from_millis(value))
}
