//! The file as a whole, and its sections `[session]` and `[output]`.

use std::sync::Arc;

use mcprove_client::server::Server;
use mcprove_client::session::{
    Accept, CALL_TIMEOUT, Decline, ProtocolChoice, Responder, SessionOptions,
};
use mcprove_client::transport::MAX_FRAME;
use mcprove_settings::kind::Kind;
use mcprove_settings::message::{Message, message, section as table, setting};
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::setting::{SettingItem, SettingType, Settings, fill};
use mcprove_settings::tree::{Data, Node};

use super::sections::SECTIONS;
use super::server::ServerPlan;
use super::{Format, LoadConfig, OutputSettings, SessionSettings};
use super::{faults, scenario, server, thresholds};

/// What stands at the top of a file.
const TOP: &[&str] = &[
    "server",
    "scenario",
    "thresholds",
    "faults",
    "session",
    "output",
    "protocol",
];

static NOTHING: Node = Node {
    data: Data::Null,
    span: 0..0,
};

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            fall_back_to_sse: true,
            ..Self::initial()
        }
    }
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self {
            formats: Format::ALL.to_vec(),
            ..Self::initial()
        }
    }
}

impl SettingItem for Format {
    const KIND: Kind = Kind::SomeOf(|| Self::ALL.map(Self::name).to_vec());

    fn from_list(nodes: Vec<Node>) -> Option<Vec<Self>> {
        let mut formats = Vec::new();
        for format in nodes.iter().filter_map(|node| {
            Self::ALL
                .into_iter()
                .find(|format| Some(format.name()) == node.text())
        }) {
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
        Some(formats)
    }

    fn write_list(items: &[Self]) -> Option<Data> {
        Some(Data::texts(
            items.iter().map(|format| format.name().to_owned()),
        ))
    }
}

impl SessionSettings {
    /// How a session behaves with these settings.
    pub fn options(&self) -> SessionOptions {
        let responder: Arc<dyn Responder> = if self.accept_requests == Some(true) {
            Arc::new(Accept)
        } else {
            Arc::new(Decline)
        };
        SessionOptions {
            protocol: self.protocol,
            strict_protocol: self.strict_protocol,
            call_timeout: self.call_timeout.unwrap_or(CALL_TIMEOUT),
            max_frame: self.max_frame.unwrap_or(MAX_FRAME),
            responder,
            fall_back_to_sse: self.fall_back_to_sse,
            ..SessionOptions::default()
        }
    }
}

/// Reads a whole file; none only when there were problems.
pub fn read_config(
    reader: &mut Reader<'_>,
    root: &Node,
    given: Option<&Server>,
) -> Option<LoadConfig> {
    let top = reader.section(root, "the file", TOP, top_advice);
    let server = match (given, top.get("server")) {
        (Some(server), _) => Some(ServerPlan {
            server: server.clone(),
            fall_back_to_sse: true,
        }),
        (None, Some(field)) => server::read(reader, &field.value),
        (None, None) => missing(
            reader,
            &top,
            "server",
            message!["add ", table("server"), " with a command or a url"],
        ),
    };
    let mut session = SessionSettings::default();
    if let Some(server) = &server {
        session.fall_back_to_sse = server.fall_back_to_sse;
    }
    let config = read_parts(reader, &top, &session);
    Some(LoadConfig {
        server: server?.server,
        ..config?
    })
}

/// Reads everything but the server, which is an empty one; what is not said about the session is as in `session`.
/// None only when there were problems.
pub fn read_parts(
    reader: &mut Reader<'_>,
    top: &Section<'_>,
    session: &SessionSettings,
) -> Option<LoadConfig> {
    let node = |name: &str| top.get(name).map_or(&NOTHING, |field| &field.value);
    let thresholds = thresholds::read(reader, node("thresholds"));
    let scenario = match top.get("scenario") {
        Some(field) => scenario::read(reader, &field.value, thresholds.hang_limits),
        None => missing(
            reader,
            top,
            "scenario",
            message![
                "add ",
                table("scenario"),
                " with a type such as \"sustained\""
            ],
        ),
    };
    let injected = top
        .get("faults")
        .map(|field| (field, faults::read(reader, field)));
    let protocol = read_protocol(reader, top).unwrap_or(session.protocol);
    let mut session = session.clone();
    read_section(&mut session, reader, node("session"), "session");
    session.protocol = protocol;
    let mut output = OutputSettings::default();
    read_section(&mut output, reader, node("output"), "output");
    let scenario = scenario?;
    thresholds::check_names(reader, node("thresholds"), &scenario);
    if let Some((field, injected)) = &injected {
        faults::check(reader, field, injected, &scenario);
    }
    Some(LoadConfig {
        thresholds: thresholds.thresholds,
        faults: injected.map(|(_, faults)| faults).unwrap_or_default(),
        session,
        output,
        ..LoadConfig::new(Server::http(""), scenario)
    })
}

fn missing<T>(
    reader: &mut Reader<'_>,
    top: &Section<'_>,
    name: &'static str,
    hint: Message,
) -> Option<T> {
    let span = top.span().start..top.span().start;
    reader.problem(&span, message!["there is no ", table(name)], hint);
    None
}

/// The section that a misplaced key belongs to.
fn top_advice(name: &str) -> Option<Message> {
    section_advice("", name)
}

/// The same for a key in the wrong section.
pub fn section_advice(section: &str, name: &str) -> Option<Message> {
    let owner = SECTIONS.iter().find(|other| {
        other.name != section && (other.settings)().iter().any(|it| it.has_name(name))
    })?;
    Some(message!["it belongs below ", table(owner.name)])
}

/// The revision, which may stand in one of three places.
fn read_protocol(reader: &mut Reader<'_>, top: &Section<'_>) -> Option<ProtocolChoice> {
    let within = |section: &str| top.get(section)?.value.get("protocol");
    let places = [within("session"), within("server"), top.get("protocol")];
    let mut given = places.into_iter().flatten();
    let field = given.next()?;
    for second in given {
        let message = message![setting("protocol"), " is given twice"];
        let hint = message!["keep the one below ", table("session")];
        reader.problem(&second.span, message, hint);
    }
    let declared = SessionSettings::declared()
        .iter()
        .find(|it| it.name == field.name)?;
    SettingType::read(reader, field, declared)
}

/// Fills settings from a section of their own.
fn read_section<T: Settings>(
    settings: &mut T,
    reader: &mut Reader<'_>,
    node: &Node,
    name: &'static str,
) {
    let section = reader.section_of(node, table(name), T::declared(), top_advice);
    fill(settings, reader, &section);
}
