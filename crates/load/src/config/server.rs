//! The section `[server]`: a command to start, or an address to connect to.

use std::collections::BTreeMap;

use mcprove_client::server::{Server, Transport};
use mcprove_settings::reader::{Least, Reader, Section};
use mcprove_settings::secret::{self, REDACTED};
use mcprove_settings::tree::{Data, Field, Node};

use super::keys::{self, TRANSPORTS};
use super::settings::section_advice;

/// A server as the section describes it.
pub(super) struct ServerPlan {
    pub server: Server,
    /// Whether the transport was left to the address.
    pub fall_back_to_sse: bool,
}

pub const EXAMPLE_URL: &str =
    "use http://, https://, ws:// or wss://, such as http://127.0.0.1:8080/mcp";

/// Reads the section; none only when there were problems.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<ServerPlan> {
    let known = keys::names(keys::section("server"));
    let section = reader.section(node, "[server]", &known, |name| {
        section_advice("server", name)
    });
    let transport = reader.choice(&section, "transport", TRANSPORTS);
    let server = match (section.get("url"), transport) {
        (Some(url), Some("stdio")) => {
            let message = "`url` does not go with transport \"stdio\"".to_owned();
            reader.problem(&url.span, message, "leave out one of them");
            None
        }
        (Some(url), transport) => read_address(reader, &section, url, transport),
        (None, Some(name @ ("http" | "sse" | "ws"))) => {
            let message = format!("transport {name:?} needs a url");
            let span = section
                .get("transport")
                .map_or(section.span(), |field| &field.span);
            reader.problem(span, message, "add url = \"http://127.0.0.1:8080/mcp\"");
            None
        }
        (None, _) => read_command(reader, &section),
    };
    let startup = reader.duration(&section, "startup_timeout", Least::MoreThanZero);
    let shutdown = reader.duration(&section, "shutdown_timeout", Least::Zero);
    let mut server = server?;
    server.startup_timeout = startup.unwrap_or(server.startup_timeout);
    server.shutdown_timeout = shutdown.unwrap_or(server.shutdown_timeout);
    Some(ServerPlan {
        fall_back_to_sse: section.get("transport").is_none(),
        server,
    })
}

fn read_command(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Server> {
    let words = match section.get("command") {
        None => {
            let message = "[server] has neither a command nor a url".to_owned();
            let hint = "add command = \"python\" and args = [\"-m\", \"my_mcp\"], or url = \"http://127.0.0.1:8080/mcp\"";
            reader.problem(section.span(), message, hint);
            None
        }
        Some(Field {
            value: Node {
                data: Data::List(_),
                ..
            },
            ..
        }) => reader.texts(section, "command"),
        Some(_) => reader
            .text(section, "command")
            .map(|text| vec![text.to_owned()]),
    };
    if let Some(headers) = section.get("headers") {
        let message = "`headers` are for a server at an address".to_owned();
        reader.problem(
            &headers.span,
            message,
            "leave them out, or give a url instead of a command",
        );
    }
    let args = reader.texts(section, "args").unwrap_or_default();
    let env = read_env(reader, section);
    let working_dir = reader.text(section, "working_dir");
    let words = words?;
    let Some((program, first)) = words
        .split_first()
        .filter(|(program, _)| !program.is_empty())
    else {
        if let Some(field) = section.get("command") {
            reader.wrong(field, "a program", "write [\"python\", \"-m\", \"my_mcp\"]");
        }
        return None;
    };
    let mut server = Server::stdio(program).args(first).args(args);
    refuse_redacted(reader, section, "args", &server.args);
    server.env = env;
    server.working_dir = working_dir.map(Into::into);
    Some(server)
}

pub fn read_env(reader: &mut Reader<'_>, section: &Section<'_>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let Some(field) = section.get("env") else {
        return variables;
    };
    for variable in entries(reader, field) {
        let name = &variable.name;
        if name.is_empty() || name.contains(['=', '\0']) {
            let message = format!("{name:?} cannot be the name of a variable");
            reader.problem(&variable.span, message, "leave out `=`");
        } else if let Some(value) = plain_text(reader, variable, "`env`") {
            if value.contains(REDACTED) {
                let message =
                    format!("the value of {name} was taken out: it is left to the environment");
                reader.warn(&variable.value.span, &message);
            } else {
                variables.insert(name.clone(), value);
            }
        }
    }
    variables
}

fn read_address(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    field: &Field,
    transport: Option<&str>,
) -> Option<Server> {
    for name in ["command", "args", "env", "working_dir"] {
        if let Some(other) = section.get(name) {
            let message = format!("`{name}` is for a server that is started, and there is a url");
            reader.problem(&other.span, message, "leave out one of them");
        }
    }
    let headers = read_headers(reader, section);
    let url = reader.text(section, "url")?;
    refuse_redacted(reader, section, "url", &[url.to_owned()]);
    address(reader, field, url.to_owned(), headers, transport)
}

/// The server at an address, which stands in this entry; `transport` is its name, if it is given.
pub fn address(
    reader: &mut Reader<'_>,
    field: &Field,
    url: String,
    headers: BTreeMap<String, String>,
    transport: Option<&str>,
) -> Option<Server> {
    let Some(is_websocket) = is_websocket(&url) else {
        reader.wrong(field, "an address that mcprove can speak to", EXAMPLE_URL);
        return None;
    };
    let transport = match (transport, is_websocket) {
        (None | Some("ws"), true) => Transport::WebSocket { url, headers },
        (None | Some("http"), false) => Transport::Http { url, headers },
        (Some("sse"), false) => Transport::Sse { url, headers },
        (Some(name), _) => {
            let message = format!("transport {name:?} does not fit this address");
            let hint = "ws goes with ws:// and wss://, http and sse with http:// and https://";
            reader.problem(&field.value.span, message, hint);
            return None;
        }
    };
    let mut server = Server::http("");
    server.transport = transport;
    Some(server)
}

/// Whether an address is for WebSocket; none if it is for nothing that we speak.
fn is_websocket(url: &str) -> Option<bool> {
    let (scheme, rest) = url.split_once("://")?;
    let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#']);
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" if has_host => Some(false),
        "ws" | "wss" if has_host => Some(true),
        _ => None,
    }
}

pub fn read_headers(reader: &mut Reader<'_>, section: &Section<'_>) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    let Some(field) = section.get("headers") else {
        return headers;
    };
    for header in entries(reader, field) {
        let name = &header.name;
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            let message = format!("{name:?} cannot be the name of a header");
            reader.problem(&header.span, message, "use letters, digits and -");
            continue;
        }
        let Some(value) = plain_text(reader, header, "`headers`") else {
            continue;
        };
        if value.contains(REDACTED) {
            let message = format!("the value of the header {name} was taken out");
            reader.problem(
                &header.value.span,
                message,
                "put the secret back in its place",
            );
        } else if http::HeaderValue::from_bytes(value.as_bytes()).is_err() {
            let message = format!("the header {name} holds what HTTP does not allow");
            let hint = "use visible characters, without line ends";
            if secret::is_secret_name(name) {
                reader.secret_problem(&header.value.span, message, hint);
            } else {
                reader.problem(&header.value.span, message, hint);
            }
        } else {
            headers.insert(name.clone(), value);
        }
    }
    headers
}

/// The entries of a table of texts.
fn entries<'d>(reader: &mut Reader<'_>, field: &'d Field) -> &'d [Field] {
    match &field.value.data {
        Data::Table(fields) => fields,
        Data::Null => &[],
        _ => {
            reader.wrong(field, "a table of texts", "write { NAME = \"value\" }");
            &[]
        }
    }
}

/// A text, or what can be written as one.
fn plain_text(reader: &mut Reader<'_>, field: &Field, what: &str) -> Option<String> {
    let text = match &field.value.data {
        Data::Text(text) => Some(text.clone()),
        Data::Boolean(value) => Some(value.to_string()),
        Data::Integer(value) => Some(value.to_string()),
        _ => None,
    };
    let text = text.filter(|text| !text.contains('\0'));
    if text.is_none() {
        let kind = field.value.kind();
        let message = format!("{what} holds texts, and {:?} is {kind}", field.name);
        reader.problem(&field.value.span, message, "put the value in quotes");
    }
    text
}

/// What was taken out of the command line or the address must be put back.
fn refuse_redacted(reader: &mut Reader<'_>, section: &Section<'_>, name: &str, texts: &[String]) {
    if texts.iter().any(|text| text.contains(REDACTED))
        && let Some(field) = section.get(name)
    {
        let message = format!("a secret was taken out of `{name}`");
        reader.problem(
            &field.value.span,
            message,
            "put the secret back in its place",
        );
    }
}
