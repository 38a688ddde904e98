//! The file as a whole, and its sections `[thresholds]`, `[[faults]]`, `[session]` and `[output]`.

use mcprove_client::session::{Accept, CALL_LIMITS, Decline, Responder};
use mcprove_fault::file::{Item, list_schema, read_list};
use mcprove_settings::message::section as table;
use mcprove_settings::reader::{meant, near};

use super::sections::{SECTIONS, top_names};
use super::{Format, LoadConfig, OutputSettings, SessionSettings, scenario, server};
use crate::prelude::*;

static NOTHING: Node = Node {
    data: Data::Null,
    span: 0..0,
};

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
        for node in &nodes {
            let mut known = Self::ALL.into_iter();
            let named = known.find(|format| Some(format.name()) == node.text());
            formats.extend(named.filter(|format| !formats.contains(format)));
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
        let mut options = SessionOptions::default().with_protocol(self.protocol);
        options.strict_protocol = self.strict_protocol;
        options.call_timeout = self.call_timeout;
        options.max_frame = self.max_frame.unwrap_or(CALL_LIMITS.max_frame);
        options.responder = responder;
        options.fall_back_to_sse = !self.has_transport;
        options
    }
}

/// Reads a whole file; none only when there were problems.
pub fn read_config(
    reader: &mut Reader<'_>,
    root: &Node,
    given: Option<&Server>,
) -> Option<LoadConfig> {
    let known: Vec<&str> = top_names().collect();
    let top = reader.section(root, "the file", &known, advice);
    let server = match (given, top.get("server")) {
        (Some(server), _) => Some((server.clone(), false)),
        (None, Some(field)) => server::read(reader, &field.value),
        (None, None) => missing(
            reader,
            &top,
            "server",
            sentence!("add {} with a command or a url", table("server")),
        ),
    };
    let session = SessionSettings {
        has_transport: server.as_ref().is_some_and(|it| it.1),
        ..SessionSettings::default()
    };
    let config = read_parts(reader, &top, &session);
    Some(LoadConfig {
        server: server?.0,
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
    let mut thresholds = Thresholds::default();
    let limits = read_section(&mut thresholds, reader, node("thresholds"), "thresholds");
    let scenario = match top.get("scenario") {
        Some(field) => scenario::read(reader, &field.value),
        None => missing(
            reader,
            top,
            "scenario",
            sentence!(
                "add {} with a type such as \"sustained\"",
                table("scenario")
            ),
        ),
    };
    let mut faults = Vec::new();
    if let Some(field) = top.get("faults") {
        for item in read_list(reader, field, LoadFault::declared()) {
            faults.push(read_fault(reader, item));
        }
    }
    let protocol = read_protocol(reader, top).unwrap_or(session.protocol);
    let mut session = session.clone();
    let given = read_section(&mut session, reader, node("session"), "session");
    session.protocol = protocol;
    let mut output = OutputSettings::default();
    read_section(&mut output, reader, node("output"), "output");
    let scenario = scenario?;
    check_limited_tools(reader, &limits, &scenario);
    let call_timeout = session.call_timeout;
    if let Some(problem) = too_short(&scenario.kind, &thresholds, call_timeout) {
        let of_scenario = || top.get("scenario")?.value.get("max_wait");
        let field = given.get("call_timeout").or(limits.get("max_wait"));
        let field = field.or_else(of_scenario);
        let span = field.map_or(top.span(), |field| &field.value.span);
        reader.problem(span, problem.message, problem.hint);
    }
    if let Some(field) = top.get("faults") {
        check_faults(reader, field, &faults, &scenario);
    }
    Some(LoadConfig {
        thresholds,
        faults,
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
    reader.problem(&span, sentence!("there is no {}", table(name)), hint);
    None
}

/// The section that a misplaced key belongs to.
pub fn advice(name: &str) -> Option<Message> {
    let mut sections = SECTIONS.iter();
    let owner = sections.find(|other| (other.settings)().iter().any(|it| it.has_name(name)))?;
    Some(sentence!("it belongs below {}", table(owner.name)))
}

/// The revision, which may stand in one of three places.
fn read_protocol(reader: &mut Reader<'_>, top: &Section<'_>) -> Option<ProtocolChoice> {
    let within = |section: &str| top.get(section)?.value.get("protocol");
    let places = [within("session"), within("server"), top.get("protocol")];
    let mut given = places.into_iter().flatten();
    let field = given.next()?;
    // A flag is meant instead of what the file says.
    let is_flag = reader.is_given_besides(&field.span);
    for second in given.filter(|_| !is_flag) {
        let message = sentence!("{} is given twice", setting("protocol"));
        let hint = sentence!("keep the one below {}", table("session"));
        reader.problem(&second.span, message, hint);
    }
    let declared = SessionSettings::declared()
        .iter()
        .find(|it| it.name == field.name)?;
    SettingType::read(reader, field, declared)
}

/// Fills settings from a section of their own.
pub fn read_section<'n, T: Settings>(
    settings: &mut T,
    reader: &mut Reader<'_>,
    node: &'n Node,
    name: &'static str,
) -> Section<'n> {
    let section = reader.section_of(node, table(name), T::declared(), advice);
    fill(settings, reader, &section);
    section
}

impl SettingTable for ToolThresholds {
    const LABEL: Part = table("thresholds.tools");

    fn advice(name: &str) -> Option<Message> {
        Thresholds::declared()
            .iter()
            .any(|it| it.name == name)
            .then(|| {
                sentence!(
                    "it is for all tools together, below {}",
                    table("thresholds")
                )
            })
    }
}

/// A limit for a tool that is never called would always hold.
fn check_limited_tools(reader: &mut Reader<'_>, limits: &Section<'_>, scenario: &Scenario) {
    let Some(called) = called(scenario) else {
        return;
    };
    let tools = limits.get("tools").map(|field| field.value.fields());
    for tool in tools.into_iter().flatten() {
        if !called.contains(&tool.name.as_str()) {
            let message = format!("the scenario does not call {:?}", tool.name);
            let otherwise = format!("it calls {}", called.join(", "));
            let hint = meant(near(&called, &tool.name), otherwise);
            reader.problem(&tool.span, message, hint);
        }
    }
}

/// The tools that are called; none when the server decides.
fn called(scenario: &Scenario) -> Option<Vec<&str>> {
    let is_named = !scenario.tool_calls.is_empty() || scenario.has_own_steps();
    is_named.then(|| {
        scenario
            .all_calls()
            .map(|call| call.name.as_str())
            .collect()
    })
}

fn read_fault(reader: &mut Reader<'_>, item: Item) -> LoadFault {
    let mut fault = LoadFault::new(item.spec);
    for field in &item.extra {
        let mut declared = LoadFault::declared().iter();
        if let Some(index) = declared.position(|it| it.name == field.name) {
            fault.read(index, reader, &as_told(field));
        }
    }
    fault
}

/// A part of a line, such as `start=5s`, by a name that cannot be taken for a flag: `--duration` is that
/// of the load. Keys of a map have a place of their own.
fn as_told(field: &Field) -> Field {
    let mut told = field.clone();
    if field.span == field.value.span {
        told.name = format!("{}=", field.name.replace('_', "-"));
    }
    told
}

/// A fault falls into a load in time, and within it.
fn check_faults(reader: &mut Reader<'_>, field: &Field, faults: &[LoadFault], scenario: &Scenario) {
    if faults.is_empty() {
        return;
    }
    if !takes_faults(&scenario.kind) {
        let message = format!("the scenario {} takes no faults", scenario.kind.name());
        reader.problem(&field.span, message, format!("use {WITH_FAULTS}"));
        return;
    }
    let Some(duration) = scenario.kind.duration() else {
        return;
    };
    for fault in faults {
        if fault.window.start.is_some_and(|start| start >= duration) {
            let name = &fault.spec.name;
            let message = format!("the fault {name:?} starts when the load is over");
            reader.problem(&field.span, message, "let it start earlier");
        }
    }
}

/// The schema of `[[faults]]`.
pub fn faults_schema() -> Value {
    let mut list = list_schema(LoadFault::declared());
    if let Some(fields) = list.as_object_mut() {
        let description = "Faults that are injected while the load lasts";
        fields.insert("type".to_owned(), json!(["array", "null"]));
        fields.insert("description".to_owned(), json!(description));
    }
    list
}
