//! The file as a whole, and its sections `[session]` and `[output]`.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use mcprove_client::session::{
    Accept, CALL_TIMEOUT, Decline, ProtocolChoice, Responder, SessionOptions,
};
use mcprove_client::transport::MAX_FRAME;
use mcprove_settings::reader::{Least, Reader, Section};
use mcprove_settings::tree::{Data, Field, Node};

use super::keys::{self, PROTOCOLS};
use super::{Format, LoadConfig, OutputSettings, SessionSettings};
use super::{faults, scenario, server, thresholds};
use crate::drive::Scenario;
use crate::run::{LoadFault, Thresholds};

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
            protocol: ProtocolChoice::Auto,
            strict_protocol: false,
            call_timeout: None,
            max_frame: None,
            accept_requests: None,
            fall_back_to_sse: true,
        }
    }
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self {
            report_dir: PathBuf::from("./runs"),
            formats: Format::ALL.to_vec(),
            trace: true,
            trace_value_bytes: None,
        }
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
pub(super) fn read_config(reader: &mut Reader<'_>, root: &Node) -> Option<LoadConfig> {
    let top = reader.section(root, "the file", TOP, top_advice);
    let server = match top.get("server") {
        Some(field) => server::read(reader, &field.value),
        None => missing(
            reader,
            &top,
            "server",
            "add [server] with a command or a url",
        ),
    };
    let parts = read_parts(reader, &top, &SessionSettings::default());
    let server = server?;
    let parts = parts?;
    Some(LoadConfig {
        server: server.server,
        session: SessionSettings {
            fall_back_to_sse: server.fall_back_to_sse,
            ..parts.session
        },
        scenario: parts.scenario,
        thresholds: parts.thresholds,
        faults: parts.faults,
        output: parts.output,
        warnings: Vec::new(),
    })
}

/// A load without its server.
pub struct LoadParts {
    pub scenario: Scenario,
    pub thresholds: Thresholds,
    pub faults: Vec<LoadFault>,
    pub session: SessionSettings,
    pub output: OutputSettings,
}

/// Reads everything but the server; what is not said about the session is as in `session`. None only
/// when there were problems.
pub fn read_parts(
    reader: &mut Reader<'_>,
    top: &Section<'_>,
    session: &SessionSettings,
) -> Option<LoadParts> {
    let node = |name: &str| top.get(name).map_or(&NOTHING, |field| &field.value);
    let thresholds = thresholds::read(reader, node("thresholds"));
    let scenario = match top.get("scenario") {
        Some(field) => scenario::read(reader, &field.value, &thresholds),
        None => missing(
            reader,
            top,
            "scenario",
            "add [scenario] with a type such as \"sustained\"",
        ),
    };
    let injected = top
        .get("faults")
        .map(|field| (field, faults::read(reader, field)));
    let protocol = read_protocol(reader, top).unwrap_or(session.protocol);
    let session = SessionSettings {
        protocol,
        ..read_session(reader, node("session"), session)
    };
    let output = read_output(reader, node("output"));
    let scenario = scenario?;
    thresholds::check_names(reader, node("thresholds"), &scenario);
    if let Some((field, injected)) = &injected {
        faults::check(reader, field, injected, &scenario);
    }
    Some(LoadParts {
        scenario,
        thresholds: thresholds.thresholds,
        faults: injected.map(|(_, faults)| faults).unwrap_or_default(),
        session,
        output,
    })
}

fn missing<T>(reader: &mut Reader<'_>, top: &Section<'_>, name: &str, hint: &str) -> Option<T> {
    let span = top.span().start..top.span().start;
    reader.problem(&span, format!("there is no [{name}]"), hint);
    None
}

/// The section that a misplaced key belongs to.
fn top_advice(name: &str) -> Option<String> {
    let owner = keys::SECTIONS
        .iter()
        .find(|section| section.keys.iter().any(|key| key.name == name))?;
    Some(format!("it belongs below [{}]", owner.name))
}

/// The same for a key in the wrong section.
pub(super) fn section_advice(section: &str, name: &str) -> Option<String> {
    let owner = keys::SECTIONS
        .iter()
        .find(|other| other.name != section && other.keys.iter().any(|key| key.name == name))?;
    Some(format!("it belongs below [{}]", owner.name))
}

/// The revision, which may stand in one of three places.
fn read_protocol(reader: &mut Reader<'_>, top: &Section<'_>) -> Option<ProtocolChoice> {
    let within = |section: &str| -> Option<&Field> {
        match &top.get(section)?.value.data {
            Data::Table(fields) => fields.iter().find(|field| field.name == "protocol"),
            _ => None,
        }
    };
    let places = [within("session"), within("server"), top.get("protocol")];
    let mut given = places.into_iter().flatten();
    let field = given.next()?;
    for second in given {
        let message = "`protocol` is given twice".to_owned();
        reader.problem(&second.span, message, "keep the one below [session]");
    }
    reader
        .choice_of(&field.value, "`protocol`", PROTOCOLS)
        .and_then(|name| ProtocolChoice::from_str(name).ok())
}

fn read_session(
    reader: &mut Reader<'_>,
    node: &Node,
    otherwise: &SessionSettings,
) -> SessionSettings {
    let known = keys::names(keys::section("session"));
    let section = reader.section(node, "[session]", &known, |name| {
        section_advice("session", name)
    });
    let call_timeout = reader.duration(&section, "call_timeout", Least::MoreThanZero);
    SessionSettings {
        strict_protocol: reader
            .boolean(&section, "strict_protocol")
            .unwrap_or(otherwise.strict_protocol),
        call_timeout: call_timeout.or(otherwise.call_timeout),
        max_frame: reader.size(&section, "max_frame").or(otherwise.max_frame),
        accept_requests: reader
            .boolean(&section, "accept_requests")
            .or(otherwise.accept_requests),
        ..otherwise.clone()
    }
}

fn read_output(reader: &mut Reader<'_>, node: &Node) -> OutputSettings {
    let known = keys::names(keys::section("output"));
    let section = reader.section(node, "[output]", &known, |name| {
        section_advice("output", name)
    });
    let defaults = OutputSettings::default();
    OutputSettings {
        report_dir: reader
            .text(&section, "report_dir")
            .map_or(defaults.report_dir, PathBuf::from),
        formats: read_formats(reader, &section).unwrap_or(defaults.formats),
        trace: reader.boolean(&section, "trace").unwrap_or(defaults.trace),
        trace_value_bytes: reader.size(&section, "trace_value_bytes"),
    }
}

fn read_formats(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Vec<Format>> {
    let field = section.get("formats")?;
    let hint = "write [\"markdown\", \"json\", \"terminal\", \"html\"], or some of them";
    let mut formats = Vec::new();
    for node in reader.list(field, hint) {
        let name = reader.choice_of(node, "`formats`", keys::FORMATS);
        let format = Format::ALL
            .into_iter()
            .find(|format| Some(format.name()) == name);
        formats.extend(format.filter(|format| !formats.contains(format)));
    }
    Some(formats)
}
