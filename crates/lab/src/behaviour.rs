//! The lab as a hosted server: which tools, resources and prompts it has, and who may ask.

use super::call::send;
use super::catalogue::{CONFORMANCE, Catalogue, LAB};
use super::keys::ApiKeys;
use super::state::State;
use super::tools::failure::refuse_category;
use super::{methods, tools, watch};
use crate::prelude::*;

/// The failure-mode server.
pub struct Lab {
    tools: Vec<Tool>,
    page_size: usize,
    keys: ApiKeys,
    audit: Option<Arc<AuditStore>>,
    /// What it has to offer.
    pub catalogues: Vec<&'static Catalogue>,
    /// What tools with side effects did.
    pub state: State,
    /// Keeps clients from making up what they were not given.
    pub signed_state: SignedState,
}

/// A tool, made ready.
struct Tool {
    entry: &'static LabTool,
    /// None only if its schema were not one.
    check: Option<SchemaCheck>,
}

impl Lab {
    /// A lab as the options say.
    pub fn new(options: &LabOptions) -> Self {
        let fixtures = options.conformance_fixtures.then_some(&*CONFORMANCE);
        let catalogues: Vec<&Catalogue> = [&*LAB].into_iter().chain(fixtures).collect();
        let entries = catalogues.iter().flat_map(|catalogue| &catalogue.tools);
        let tool = |entry: &'static LabTool| Tool {
            entry,
            check: SchemaCheck::new(entry.input()).ok(),
        };
        Self {
            tools: entries.map(tool).collect(),
            page_size: options.page_size.map_or(usize::MAX, std::num::NonZero::get),
            keys: options.api_keys.clone(),
            audit: options.audit.clone(),
            catalogues,
            state: State::default(),
            signed_state: SignedState::default(),
        }
    }

    /// What its catalogues declare of a kind.
    pub fn declared<T>(
        &self,
        of: fn(&'static Catalogue) -> &'static Vec<T>,
    ) -> impl Iterator<Item = &'static T> {
        self.catalogues
            .iter()
            .flat_map(move |catalogue| of(catalogue))
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.entry.name() == name)
    }

    /// The group of a tool.
    fn group(&self, name: &str) -> Option<&'static str> {
        Some(&self.tool(name)?.entry.group)
    }

    /// The audit that it shows as a resource: none in a file, for whoever may read the file can look into it, and nobody
    /// else is to.
    pub fn own_audit(&self) -> Option<&Arc<AuditStore>> {
        self.audit.as_ref().filter(|store| store.is_in_memory())
    }

    async fn call(&self, exchange: &Exchange) -> Answered {
        let name = exchange.request.text("name");
        let name = name.ok_or_else(|| invalid("Invalid params: name must be a string"))?;
        let tool = self
            .tool(name)
            .filter(|tool| tool.entry.since <= exchange.revision);
        let tool = tool.ok_or_else(|| invalid(format!("Unknown tool: {name}")))?;
        let mut arguments = exchange.request.arguments()?.clone();
        let given = &Value::Object(arguments.clone());
        refuse_category(name, given)?;
        // A wrong argument is for the model to read and correct, so it is no protocol error.
        let wrong = tool.check.as_ref().and_then(|check| check.failure(given));
        if let Some(wrong) = wrong {
            return Ok(problem(&wrong));
        }
        let properties = tool.entry.input()["properties"].as_object();
        for (name, property) in properties.into_iter().flatten() {
            if let Some(default) = property.get("default") {
                arguments.entry(name).or_insert_with(|| default.clone());
            }
        }
        let call = Call {
            exchange,
            lab: self,
            arguments: &arguments,
        };
        tools::answer(call, tool.entry).await
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
            .map(|tool| tool.entry)
            .filter(|entry| entry.since <= revision)
            .map(|entry| entry.tool.clone())
            .collect()
    }

    fn capabilities(&self, revision: Revision) -> Value {
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "prompts": { "listChanged": true },
            "logging": {},
        });
        if revision >= Revision::V2025_03_26 {
            capabilities["completions"] = json!({});
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
        let audit = self.audit.as_ref().filter(|audit| !audit.has_room())?;
        Some(Box::pin(audit.room()))
    }

    fn watch(&self, arrival: &Arrival<'_>) -> Option<Box<dyn Watch>> {
        let group = self.group(arrival.request.tool());
        Some(watch::watch(self.audit.as_ref()?, arrival, group))
    }

    fn turned_away(&self, caller: &Caller, refused: TurnedAway<'_>) {
        if let Some(audit) = &self.audit {
            let tool = refused.request.map(Request::tool);
            let group = tool.and_then(|tool| self.group(tool));
            audit.record_now(watch::turned_away(caller, refused, group));
        }
    }

    fn malformed(&self, refused: Malformed<'_>) {
        if let Some(audit) = &self.audit {
            audit.record_now(watch::malformed(refused));
        }
    }

    async fn intercept(&self, exchange: &Exchange) -> bool {
        let answer = match exchange.request.method.as_str() {
            "tools/call" => Some(self.call(exchange).await),
            // As any server, but with what it tells about itself.
            "initialize" if exchange.revision.era() == Era::Handshake => {
                Some(Ok(healthy::introduction(self, exchange.revision)))
            }
            _ => methods::answer(self, exchange).await,
        };
        let is_answered = answer.is_some();
        if let Some(answer) = answer {
            send(exchange, answer).await;
        }
        is_answered
    }
}
