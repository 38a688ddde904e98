//! The lab as a hosted server: which tools, resources and prompts it has, and who may ask.

use std::collections::HashMap;

use http::HeaderMap;
use mcprove_arguments::SchemaCheck;
use mcprove_servers::hosting::behaviour::Behaviour;
use mcprove_servers::hosting::message::{INVALID_PARAMS, Request};
use mcprove_servers::hosting::{
    Arrival, Caller, Exchange, Identity, Malformed, TurnedAway, Unauthorised, Watch, async_trait,
};
use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::{Era, Revision};
use serde_json::{Map, Value, json};

use super::call::{Call, Reply};
use super::keys::ApiKeys;
use super::own_audit::OwnAudit;
use super::registry::{ENTRIES, Entry};
use super::seal::Seal;
use super::state::State;
use super::watch::Recorder;
use super::{Options, conformance, methods, own_audit, resources};

/// The failure-mode server.
pub struct Lab {
    tools: Vec<Tool>,
    by_name: HashMap<&'static str, usize>,
    page_size: usize,
    keys: ApiKeys,
    recorder: Option<Recorder>,
    own_audit: Option<OwnAudit>,
    /// Whether the conformance suite finds what it names.
    pub(super) has_fixtures: bool,
    /// What tools with side effects did.
    pub(super) state: State,
    /// Keeps clients from making up what they were not given.
    pub(super) seal: Seal,
}

/// A tool, made ready.
struct Tool {
    entry: &'static Entry,
    listed: Value,
    /// None only if its schema were not one.
    check: Option<SchemaCheck>,
}

impl Lab {
    /// A lab as the options say.
    pub fn new(options: &Options) -> Self {
        let fixtures = if options.conformance_fixtures {
            conformance::ENTRIES
        } else {
            &[]
        };
        let tools: Vec<Tool> = ENTRIES
            .iter()
            .chain(fixtures)
            .map(|entry| Tool {
                entry,
                listed: entry.listed(),
                check: SchemaCheck::new(&(entry.input)()).ok(),
            })
            .collect();
        let names = tools.iter().map(|tool| tool.entry.name);
        Self {
            by_name: names.zip(0..).collect(),
            tools,
            page_size: options.page_size.map_or(usize::MAX, std::num::NonZero::get),
            keys: options.api_keys.clone(),
            recorder: options.audit.clone().map(Recorder::new),
            own_audit: OwnAudit::of(options.audit.as_ref()),
            has_fixtures: options.conformance_fixtures,
            state: State::default(),
            seal: Seal::default(),
        }
    }

    /// The tool with this name, for a client of this revision.
    fn tool(&self, name: &str, revision: Revision) -> Option<&Tool> {
        let tool = self.tools.get(*self.by_name.get(name)?)?;
        (tool.entry.since <= revision).then_some(tool)
    }

    /// The group of a tool.
    fn group(&self, name: &str) -> Option<&'static str> {
        let tool = self.tools.get(*self.by_name.get(name)?)?;
        Some(tool.entry.group)
    }

    /// The resources that are listed.
    pub(super) fn resources(&self) -> Vec<Value> {
        let own_audit = self.own_audit.as_ref().map(|_| OwnAudit::listed());
        let mut listed = resources::listed(self.has_fixtures);
        listed.extend(own_audit);
        listed
    }

    /// Whether there is a resource at a URI.
    pub(super) fn has_resource(&self, uri: &str) -> bool {
        let is_own_audit = uri == own_audit::URI && self.own_audit.is_some();
        is_own_audit || resources::read(uri, self.has_fixtures).is_some()
    }

    /// What is at a URI, for whoever asks.
    pub(super) async fn contents(&self, uri: &str, exchange: &Exchange) -> Option<Value> {
        match &self.own_audit {
            Some(audit) if uri == own_audit::URI => {
                audit.read(exchange.caller().identity.as_ref()).await
            }
            _ => resources::read(uri, self.has_fixtures),
        }
    }

    async fn call(&self, exchange: &Exchange) {
        let name = exchange.request.params.get("name").and_then(Value::as_str);
        let tool = name.and_then(|name| self.tool(name, exchange.revision));
        let Some(tool) = tool else {
            let text = name.map_or_else(
                || "Invalid params: name must be a string".to_owned(),
                |name| format!("Unknown tool: {name}"),
            );
            return Reply::error(INVALID_PARAMS, text).send(exchange).await;
        };
        let none = Value::Object(Map::new());
        let arguments = exchange.request.params.get("arguments").unwrap_or(&none);
        if !arguments.is_object() {
            let text = "Invalid params: arguments must be an object";
            return Reply::error(INVALID_PARAMS, text).send(exchange).await;
        }
        let refusal = super::tools::error::refusal(tool.entry.name, arguments);
        if let Some(refusal) = refusal {
            return Reply::Error(refusal).send(exchange).await;
        }
        // A wrong argument is for the model to read and correct, so it is no protocol error.
        let problem = tool
            .check
            .as_ref()
            .and_then(|check| check.failure(arguments));
        if let Some(problem) = problem {
            let reply = Reply::failed(json!({ "problem": problem }), &problem);
            return reply.send(exchange).await;
        }
        let call = Call {
            exchange,
            lab: self,
        };
        let reply = (tool.entry.answer)(call).await;
        reply.send(exchange).await;
    }
}

#[async_trait]
impl Behaviour for Lab {
    fn identity(&self) -> Value {
        json!({
            "name": "mcprove-lab",
            "title": "mcprove lab",
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    fn instructions(&self) -> String {
        "A server that fails on purpose, in ways that are written down. Nothing it does has an effect \
         outside of it."
            .to_owned()
    }

    fn tools(&self, revision: Revision) -> Vec<Value> {
        self.tools
            .iter()
            .filter(|tool| tool.entry.since <= revision)
            .map(|tool| tool.listed.clone())
            .collect()
    }

    fn capabilities(&self, revision: Revision) -> Value {
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "prompts": { "listChanged": true },
            "logging": {},
        });
        if let (true, Some(fields)) = (
            revision >= Revision::V2025_03_26,
            capabilities.as_object_mut(),
        ) {
            fields.insert("completions".to_owned(), json!({}));
        }
        capabilities
    }

    fn page_size(&self) -> usize {
        self.page_size
    }

    fn authorise(&self, headers: &HeaderMap) -> Result<Option<Identity>, Unauthorised> {
        self.keys.authorise(headers)
    }

    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        self.recorder.as_ref()?.ready()
    }

    fn watch(&self, arrival: &Arrival<'_>) -> Option<Box<dyn Watch>> {
        let recorder = self.recorder.as_ref()?;
        let group = self.group(arrival.request.tool());
        Some(recorder.watch(arrival, group))
    }

    fn turned_away(&self, caller: &Caller, refused: TurnedAway<'_>) {
        if let Some(recorder) = &self.recorder {
            let tool = refused.request.map(Request::tool);
            let group = tool.and_then(|tool| self.group(tool));
            recorder.turned_away(caller, refused, group);
        }
    }

    fn malformed(&self, refused: Malformed<'_>) {
        if let Some(recorder) = &self.recorder {
            recorder.malformed(refused);
        }
    }

    async fn intercept(&self, exchange: &Exchange) -> bool {
        match exchange.request.method.as_str() {
            "tools/call" => self.call(exchange).await,
            "initialize" if exchange.revision.era() == Era::Handshake => {
                self.initialize(exchange).await;
            }
            _ => match methods::answer(self, exchange) {
                Some(answered) => answered.await,
                None => return false,
            },
        }
        true
    }
}

impl Lab {
    /// As any server, but with what it tells about itself.
    async fn initialize(&self, exchange: &Exchange) {
        let result = json!({
            "protocolVersion": exchange.revision,
            "capabilities": self.capabilities(exchange.revision),
            "serverInfo": self.identity(),
            "instructions": self.instructions(),
        });
        exchange.reply(exchange.success(result)).await;
    }
}
