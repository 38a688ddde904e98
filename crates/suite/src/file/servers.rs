//! The section `servers`: commands to start, addresses, and mocks, by name.

use mcprove_client::server::AUTHORIZATION;
use mcprove_load::config::address;
use mcprove_servers::tools_file;
use mcprove_settings::outside;
use mcprove_settings::setting::cannot_both;

use super::SHOWN_MAX;
use super::entry;
use super::kinds::{MockFaults, VariableName};
use super::settings::{ServerSettings, names_of};
use crate::prelude::*;

/// The most servers of one suite.
const SERVERS_MAX: usize = 1_000;
/// The longest name of a server.
const NAME_MAX: usize = 64;

/// The servers of a suite.
#[derive(Default)]
pub struct Servers {
    /// Those that could be read.
    pub plans: BTreeMap<String, ServerPlan>,
    /// Every name that there is.
    names: Vec<String>,
    /// Whether there may be others, because the section could not be read.
    is_unreadable: bool,
}

impl Servers {
    pub fn read(reader: &mut Reader<'_>, section: Option<&Field>, folder: &Path) -> Self {
        let mut servers = Self::default();
        let Some(field) = section else {
            return servers;
        };
        if !matches!(field.value.data, Data::Table(_) | Data::Null) {
            let hint = sentence!("write `api: {{ command: [python, -m, my_mcp] }}` below it");
            reader.wrong(field, "a map of servers by name", hint);
            servers.is_unreadable = true;
        }
        let fields = field.value.fields();
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
    pub fn only(&self) -> Option<&str> {
        match &self.names[..] {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Whether a server has this name; if none has, this is a problem.
    pub fn check(&self, reader: &mut Reader<'_>, span: &Range<usize>, name: &str) -> bool {
        self.is_unreadable || is_known(reader, span, name, &self.names, "server")
    }
}

/// Whether something of this kind has this name; if nothing has, this is a problem.
pub fn is_known(
    reader: &mut Reader<'_>,
    span: &Range<usize>,
    name: &str,
    known: &[String],
    kind: &str,
) -> bool {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let is_there = names.contains(&name);
    if !is_there {
        let otherwise = match kind {
            _ if !names.is_empty() => sentence!("the {kind}s are {}", names.join(", ")),
            "server" => sentence!("name it under `servers`: there are none"),
            _ => sentence!("describe it under `{kind}s`: there are none"),
        };
        let hint = meant(near(&names, name), otherwise);
        let message = format!("no {kind} is called {:?}", shorten(name, SHOWN_MAX));
        reader.problem(span, message, hint);
    }
    is_there
}

fn check_name(reader: &mut Reader<'_>, field: &Field) {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let name = &field.name;
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_allowed) {
        let shown = shorten(name, SHOWN_MAX);
        let message = format!("{shown:?} cannot be the name of a server");
        let hint = sentence!("use letters, digits, `_`, `-` and `.`, at most {NAME_MAX}");
        reader.problem(&field.span, message, hint);
    }
}

fn read_server(reader: &mut Reader<'_>, field: &Field, folder: &Path) -> Option<ServerPlan> {
    let label = sentence!("the server {:?}", shorten(&field.name, SHOWN_MAX));
    let known = names_of::<ServerSettings>();
    let node = table::spelled(reader, &field.value, &label, &known)?;
    let (mut given, section): (ServerSettings, _) = entry::settings(reader, &node, &label, &[]);
    let (limits, session) = (&mut given.limits, &mut given.session);
    for name in ["startup_timeout", "shutdown_timeout", "call_timeout"] {
        if let (Some(_), Some(second)) = (section.get(name), section.get(&format!("{name}_ms"))) {
            cannot_both(reader, second, name);
        }
    }
    let (startup, shutdown) = (given.startup_timeout_ms, given.shutdown_timeout_ms);
    limits.startup_timeout = startup.unwrap_or(limits.startup_timeout);
    limits.shutdown_timeout = shutdown.unwrap_or(limits.shutdown_timeout);
    session.call_timeout = session.call_timeout.or(given.call_timeout_ms);
    session.has_transport = section.get("transport").is_some();
    Some(ServerPlan {
        name: field.name.clone(),
        place: reader.place(&field.span),
        session: session.clone(),
        parallel: given.parallel,
        is_fresh: given.fresh,
        min_coverage: given.min_coverage,
        reach: read_reach(reader, &section, given, &field.name, folder)?,
    })
}

/// Which of the three it is; what belongs to another is a problem.
fn read_reach(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: ServerSettings,
    name: &str,
    folder: &Path,
) -> Option<Reach> {
    let ways = ["command", "url", "mock"].into_iter();
    let ways: Vec<&Field> = ways.filter_map(|key| section.get(key)).collect();
    match ways[..] {
        [] => {
            let message = sentence!("{} has no command, url or mock", section.label);
            let hint = sentence!(
                "add `command: [python, -m, my_mcp]`, `url: http://127.0.0.1:8080/mcp` or \
                        `mock: ./tools.yml`"
            );
            reader.problem(section.span(), message, hint);
            None
        }
        [one] => {
            refuse_others(reader, section, &one.name);
            match one.name.as_str() {
                "command" => Some(read_command(reader, section, given, folder)),
                "url" => read_address(reader, one, given),
                _ => read_mock(reader, one, given, name, folder),
            }
        }
        [first, second, ..] => {
            let message = sentence!(
                "`{}` and `{}` cannot both be given",
                first.name,
                second.name
            );
            reader.problem(&second.span, message, "leave one of them out");
            None
        }
    }
}

/// What is only for one way to reach a server.
pub const OWNERS: [(&str, &str, &[&str]); 3] = [
    (
        "command",
        "a server that is started",
        &["args", "env", "cwd", "working_dir"],
    ),
    ("url", "a server at an address", &["headers", "bearer_env"]),
    ("mock", "a mock", &["fault", "faults"]),
];

/// What does not go with the way in which a server is reached.
fn refuse_others(reader: &mut Reader<'_>, section: &Section<'_>, way: &str) {
    for (owner, what, keys) in OWNERS.iter().filter(|(owner, ..)| *owner != way) {
        for field in keys.iter().filter_map(|key| section.get(key)) {
            let message = sentence!("`{}` is for {what}", field.name);
            let hint = match *owner {
                "mock" => {
                    sentence!(
                        "leave it out; agents meet faults by `inject`, loads by their own `faults`"
                    )
                }
                owner => sentence!("leave it out, or give a {owner} instead of a {way}"),
            };
            reader.problem(&field.span, message, hint);
        }
    }
    if way == "mock"
        && let Some(field) = section.get("transport")
    {
        let message = "a mock in this process has no transport";
        reader.problem(&field.span, message, "leave it out");
    }
}

fn read_command(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: ServerSettings,
    folder: &Path,
) -> Reach {
    if let Some(name @ ("http" | "sse" | "ws")) = given.transport.as_deref()
        && let Some(field) = section.get("transport")
    {
        let message = format!("transport {name:?} needs a url");
        reader.problem(&field.span, message, "leave it out, or give a url");
    }
    let command = entry::command(given.program, folder);
    let mut server = Server::stdio(command.program).args(command.args);
    server.env = command.env;
    server.working_dir = command.working_dir;
    Reach::Server(given.limits.apply(server))
}

fn read_address(reader: &mut Reader<'_>, field: &Field, given: ServerSettings) -> Option<Reach> {
    let mut headers = given.headers.0;
    if let Some(VariableName(name)) = &given.bearer_env {
        // Filled in when the server is reached, as everything in headers is, and kept out of reports.
        headers.insert(AUTHORIZATION.to_owned(), format!("Bearer ${{{name}}}"));
    }
    let (url, transport) = (given.url?.0, given.transport.as_deref());
    let server = address(reader, field, url, headers, transport)?;
    Some(Reach::Server(given.limits.apply(server)))
}

/// A mock; the problems of its tools file are told with their own places.
fn read_mock(
    reader: &mut Reader<'_>,
    field: &Field,
    given: ServerSettings,
    name: &str,
    folder: &Path,
) -> Option<Reach> {
    let faults = aimed(reader, given.fault, name);
    let path = folder.join(given.mock?);
    if !path.is_file() {
        let message = format!("there is no tools file {}", path.display());
        let hint = "give its path as seen from the folder of the suite";
        reader.problem(&field.value.span, message, hint);
        return None;
    }
    let is_inside = outside::is_inside(folder, &path);
    match tools_file::read(&path) {
        Ok(file) => {
            reader.adopt_warnings(if is_inside || file.warnings.is_empty() {
                file.warnings
            } else {
                vec![outside::warning(&path)]
            });
            let spec = Box::new(file.spec);
            Some(Reach::Mock { spec, faults })
        }
        Err(errors) => {
            reader.adopt(if is_inside {
                errors
            } else {
                outside::hide_contents(errors)
            });
            None
        }
    }
}

/// The faults of a mock, which none but its own calls meet.
fn aimed(reader: &mut Reader<'_>, MockFaults(items): MockFaults, name: &str) -> Vec<FaultSpec> {
    for item in &items {
        let target = item.spec.target.server.as_deref();
        if target.is_some_and(|target| target != name) {
            let message = "a fault of a mock is aimed at another server";
            let hint = sentence!("leave out `server`: it strikes the calls of this mock");
            reader.problem(&item.name_span, message, hint);
        }
    }
    items.into_iter().map(|item| item.spec).collect()
}
