//! The section `[server]`: a command to start, or an address to connect to.

use mcprove_client::server::TimeLimits;
use mcprove_settings::error::ConfigErrors;
use mcprove_settings::message::section as table;
use mcprove_settings::secret::{self, REDACTED};
use mcprove_settings::tree::Document;

use super::SessionSettings;
use super::settings::{advice, read_section};
use crate::prelude::*;

/// What stands in the section.
#[derive(Debug, Settings)]
pub struct ServerSettings {
    /// The program to start; or a list: the program and its first arguments.
    #[setting]
    command: CommandWords,
    /// The program's arguments.
    #[setting(otherwise = "none")]
    args: Vec<String>,
    /// Variables added to the environment, which the server inherits.
    #[setting(otherwise = "none")]
    env: Variables,
    /// The directory the program starts in.
    #[setting(kind = Kind::Path, otherwise = "where mcprove was started")]
    working_dir: Option<String>,
    /// How messages travel; an http address falls back to sse unless it is given.
    #[setting(kind = Kind::OneOf(&["stdio", "http", "sse", "ws"]), otherwise = "stdio, or from the address")]
    transport: Option<String>,
    /// The address of a running server, instead of a command.
    #[setting]
    url: Option<String>,
    /// Headers added to every request to an address.
    #[setting(otherwise = "none", flag = "header")]
    headers: Headers,
    /// The environment variable that holds a token, sent as `Authorization: Bearer …`.
    #[setting(otherwise = "none")]
    bearer_env: Option<String>,
    /// Another place for `protocol` of [session].
    #[setting(otherwise = "auto")]
    protocol: Option<ProtocolChoice>,
    #[setting(flatten)]
    limits: TimeLimits,
}

/// A program, or a program and its first arguments.
#[derive(Debug, Default)]
pub struct CommandWords(pub Vec<String>);

impl SettingType for CommandWords {
    const KIND: Kind = Kind::Other("text, or list of texts", || {
        json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] })
    });

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let words = match &field.value.data {
            Data::List(_) => reader.texts_of(field)?,
            _ => vec![reader.text_of(field)?.to_owned()],
        };
        if words.first().is_none_or(|word| word.trim().is_empty()) {
            let message = sentence!("{} names no program", setting(&field.name));
            let hint = "write [\"python\", \"-m\", \"my_mcp\"]";
            reader.problem(&field.value.span, message, hint);
            return None;
        }
        Some(Self(words))
    }
}

/// Variables for a program, by name.
#[derive(Debug, Default)]
pub struct Variables(pub BTreeMap<String, String>);

/// Headers for every request, by name.
#[derive(Debug, Default)]
pub struct Headers(pub BTreeMap<String, String>);

/// Texts by name.
const TEXTS: Kind = Kind::Other("texts by name", || {
    json!({
        "type": ["object", "null"],
        "additionalProperties": { "type": ["string", "integer", "boolean"] },
    })
});

pub const EXAMPLE_URL: &str =
    "use http://, https://, ws:// or wss://, such as http://127.0.0.1:8080/mcp";

/// Reads the section, and tells whether the transport is named; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, node: &Node) -> Option<(Server, bool)> {
    let section = reader.section_of(node, table("server"), ServerSettings::declared(), advice);
    let mut given = ServerSettings::initial();
    fill(&mut given, reader, &section);
    let limits = given.limits;
    let server = match (section.get("url"), given.transport.as_deref()) {
        (Some(url), Some("stdio")) => {
            let message = sentence!(
                "{} cannot be combined with transport \"stdio\"",
                setting("url")
            );
            reader.problem(&url.span, message, "leave out one of them");
            None
        }
        (Some(url), _) => read_address(reader, &section, url, given),
        (None, Some(name @ ("http" | "sse" | "ws"))) => {
            let message = format!("transport {name:?} needs a url");
            let field = section.get("transport");
            let span = field.map_or(section.span(), |field| &field.span);
            let hint = sentence!(
                "give its address as {}, such as http://127.0.0.1:8080/mcp",
                setting("url")
            );
            reader.problem(span, message, hint);
            None
        }
        (None, _) => read_command(reader, &section, given),
    };
    let server = limits.apply(server?);
    Some((server, section.get("transport").is_some()))
}

/// The server and the session of a document that has nothing else, such as what flags say; what is not there is as
/// none at all, or the default.
pub fn read_alone(document: &Document) -> Result<(Server, SessionSettings), ConfigErrors> {
    let mut reader = Reader::new(document);
    let node = |name: &str| document.root.get(name).map(|field| &field.value);
    let server = node("server").and_then(|node| read(&mut reader, node));
    reader.finish()?;
    let mut session: SessionSettings = read_table(document, "session")?;
    let (server, has_transport) = server.unwrap_or_else(|| (Server::http(""), false));
    session.has_transport = has_transport;
    Ok((server, session))
}

/// One table of such a document.
pub fn read_table<T: Settings + Default>(
    document: &Document,
    name: &'static str,
) -> Result<T, ConfigErrors> {
    let mut reader = Reader::new(document);
    let mut settings = T::default();
    if let Some(field) = document.root.get(name) {
        read_section(&mut settings, &mut reader, &field.value, name);
    }
    reader.finish()?;
    Ok(settings)
}

fn read_command(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    given: ServerSettings,
) -> Option<Server> {
    if section.get("command").is_none() {
        let hint = "add command = \"python\" and args = [\"-m\", \"my_mcp\"], or url = \"http://127.0.0.1:8080/mcp\"";
        let message = sentence!("{} has neither a command nor a url", table("server"));
        reader.problem(section.span(), message, hint);
    }
    for name in ["headers", "bearer_env"] {
        if let Some(other) = section.get(name) {
            let message = sentence!("{} is for a server at an address", setting(name));
            let hint = "leave it out, or give a url instead of a command";
            reader.problem(&other.span, message, hint);
        }
    }
    let (program, first) = given.command.0.split_first()?;
    let mut server = Server::stdio(program).args(first).args(&given.args);
    refuse_redacted(reader, section, "args", &server.args);
    server.env = given.env.0;
    server.working_dir = given.working_dir.map(Into::into);
    Some(server)
}

impl SettingType for Variables {
    const KIND: Kind = TEXTS;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        let words = ("variable", "leave out `=`");
        let mut variables = BTreeMap::new();
        for (field, value) in read_texts(reader, field, is_name, words) {
            let name = &field.name;
            if value.contains(REDACTED) {
                let message =
                    format!("the value of {name} was taken out: it is left to the environment");
                reader.warn(&field.value.span, message);
            } else {
                variables.insert(name.clone(), value);
            }
        }
        Some(Self(variables))
    }
}

fn read_address(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    field: &Field,
    given: ServerSettings,
) -> Option<Server> {
    for name in ["command", "args", "env", "working_dir"] {
        if let Some(other) = section.get(name) {
            let message = sentence!(
                "{} is for a server that is started, and there is a url",
                setting(name)
            );
            reader.problem(&other.span, message, "leave out one of them");
        }
    }
    let url = given.url?;
    refuse_redacted(reader, section, "url", std::slice::from_ref(&url));
    let transport = given.transport.as_deref();
    let server = address(reader, field, url, given.headers.0, transport)?;
    let Some(bearer) = section.get("bearer_env") else {
        return Some(server);
    };
    let name = given.bearer_env?;
    let with_token = server.bearer_env(&name);
    if with_token.is_none() {
        let message = sentence!(
            "{} names the environment variable {name:?}, which is unset or empty",
            setting("bearer_env")
        );
        let hint = sentence!("set it: `export {name}=…`");
        reader.problem(&bearer.value.span, message, hint);
    }
    with_token
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
        let message = sentence!(
            "{} must be an address that mcprove supports, not {:?}",
            setting(&field.name),
            secret::redact_urls(&url)
        );
        reader.secret_problem(&field.value.span, message, EXAMPLE_URL);
        return None;
    };
    if !has_usable_host(reader, field, &url) {
        return None;
    }
    let transport = match (transport, is_websocket) {
        (None | Some("ws"), true) => Transport::WebSocket { url, headers },
        (None | Some("http"), false) => Transport::Http { url, headers },
        (Some("sse"), false) => Transport::Sse { url, headers },
        (Some(name), _) => {
            let message = format!("transport {name:?} does not fit this address");
            let hint = "use ws for ws:// and wss://, http or sse for http:// and https://";
            reader.problem(&field.value.span, message, hint);
            return None;
        }
    };
    let mut server = Server::http("");
    server.transport = transport;
    Some(server)
}

/// What is refused whenever the address is used is refused at once.
fn has_usable_host(reader: &mut Reader<'_>, field: &Field, url: &str) -> bool {
    let authority = parts_of_url(url).map_or(url, |(_, authority, _)| authority);
    if authority.contains('@') {
        let hint = sentence!(
            "leave them out, and use {} or {}",
            assignment("headers", "\"Authorization: …\""),
            assignment("bearer_env", "NAME")
        );
        reader.secret_problem(&field.value.span, "the address holds credentials", hint);
        return false;
    }
    // The address itself may have colons, between brackets.
    let behind = authority.rsplit(']').next().unwrap_or_default();
    let port = behind.rsplit_once(':').map(|(_, port)| port);
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_usable = port.is_none_or(is_port);
    if !is_usable {
        let message = "the port of the address is invalid";
        reader.problem(&field.value.span, message, "give one between 1 and 65535");
    }
    is_usable
}

/// The scheme of an address, the host, and all that comes after.
pub fn parts_of_url(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    Some((scheme, authority, path))
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

impl SettingType for Headers {
    const KIND: Kind = TEXTS;

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let mut headers = BTreeMap::new();
        let is_name = |name: &str| http::HeaderName::from_bytes(name.as_bytes()).is_ok();
        let words = ("header", "use letters, digits and -");
        for (header, value) in read_texts(reader, field, is_name, words) {
            let name = &header.name;
            if value.contains(REDACTED) {
                let message = format!("the value of the header {name} was taken out");
                reader.problem(&header.value.span, message, PUT_BACK);
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
        Some(Self(headers))
    }
}

/// The entries of a table of texts whose names and values are in order; a noun and a hint for names that are not.
fn read_texts<'d>(
    reader: &mut Reader<'_>,
    table: &'d Field,
    is_name: impl Fn(&str) -> bool,
    (noun, hint): (&str, &'static str),
) -> Vec<(&'d Field, String)> {
    let mut texts = Vec::new();
    if !matches!(table.value.data, Data::Table(_) | Data::Null) {
        reader.wrong(table, "a table of texts", "write { NAME = \"value\" }");
    }
    for field in table.value.fields() {
        if is_name(&field.name) {
            texts.extend(plain_text(reader, field, &table.name).map(|text| (field, text)));
        } else {
            let message = format!("{:?} cannot be the name of a {noun}", field.name);
            reader.problem(&field.span, message, hint);
        }
    }
    texts
}

/// A text, or what can be written as one.
fn plain_text(reader: &mut Reader<'_>, field: &Field, what: &str) -> Option<String> {
    match &field.value.data {
        Data::Text(text) if !text.contains('\0') => return Some(text.clone()),
        Data::Boolean(value) => return Some(value.to_string()),
        Data::Integer(value) => return Some(value.to_string()),
        _ => {}
    }
    let held = format!(
        " holds texts, and {:?} is {}",
        field.name,
        field.value.kind()
    );
    let message = sentence!("{}{held}", setting(what));
    reader.problem(&field.value.span, message, "put the value in quotes");
    None
}

/// What to do where a secret was taken out.
const PUT_BACK: &str = "put the secret back in its place";

/// What was taken out of the command line or the address must be put back.
fn refuse_redacted(reader: &mut Reader<'_>, section: &Section<'_>, name: &str, texts: &[String]) {
    if texts.iter().any(|text| text.contains(REDACTED))
        && let Some(field) = section.get(name)
    {
        let message = sentence!("a secret was taken out of {}", setting(name));
        reader.problem(&field.value.span, message, PUT_BACK);
    }
}
