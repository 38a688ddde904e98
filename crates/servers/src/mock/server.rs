//! The mind of a mock: what it answers, and which calls meet a fault.
//!
//! A fault is decided when the call arrives, in the order of arrival, and strikes before the call is
//! looked at: a dead backend does not read arguments, so a call of a tool that is not there, or with
//! wrong arguments, counts and is struck like any other.

use std::collections::HashSet;

use mcprove_fault::{CallSite, Injection, Injector, make_distinct};

use crate::prelude::*;

pub struct Server {
    spec: MockSpec,
    tools: Vec<Tool>,
    /// Which calls meet a fault.
    pub injector: Injector,
    /// Where requests are written down.
    pub log: Log,
    /// Calls so far.
    pub calls: AtomicU64,
}

/// What goes with a request from its arrival to its end.
pub struct Ticket {
    injection: Option<Injection>,
    pub entry: Option<LogEntry>,
}

impl Watch for Ticket {
    fn sent(&self, message: &[u8], is_last: bool) {
        if let Some(entry) = &self.entry {
            entry.said(message, is_last);
        }
    }

    fn ended(&self, how: Ended) {
        if let Some(entry) = &self.entry {
            entry.ended(how);
        }
    }
}

impl Ticket {
    /// What is to be called when the client cancels, and nothing comes of it.
    pub fn canceller(&self) -> Shield {
        let request = self.entry.as_ref().map(|entry| entry.request.clone());
        Box::new(move || {
            if let Some(request) = request {
                request.cancel();
            }
        })
    }
}

impl Server {
    pub fn new(spec: MockSpec, options: MockOptions) -> Result<Self, MockError> {
        let tools: Vec<Tool> = spec.tools.iter().map(Tool::new).collect::<Result<_, _>>()?;
        let mut names = HashSet::new();
        if let Some(twice) = tools.iter().find(|tool| !names.insert(&tool.name)) {
            return Err(MockError::SameTool(twice.name.clone()));
        }
        let mut faults = options.faults;
        make_distinct(faults.iter_mut());
        let server = Self {
            tools,
            spec,
            injector: Injector::new(faults, options.seed),
            log: Log::default(),
            calls: AtomicU64::new(0),
        };
        if let Some(recording) = options.recording {
            server.record(recording);
        }
        Ok(server)
    }

    /// Writes every request down from now on. A second recording would not have the beginning of sessions.
    pub fn record(&self, recording: Recording) {
        let kept = &self.log.recording;
        if let (Ok(()), Some(recording)) = (kept.set(recording), kept.get()) {
            self.injector.go_on_from(recording.past());
        }
    }

    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The mock's own answer to a call, without any fault.
    pub fn answer_call(&self, exchange: &Exchange) -> Value {
        exchange.response(self.try_call(&exchange.request))
    }

    fn try_call(&self, request: &Request) -> Outcome {
        let name = request.tool();
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let unknown = || Refusal::invalid(format!("Unknown tool: {name}"));
        let tool = tool.ok_or_else(unknown)?;
        request.arguments()?;
        tool.call(request.params.get("arguments"))
    }

    /// The answer to what takes no time and is not done the healthy way; `None` is all else.
    fn answer(&self, exchange: &Exchange) -> Option<Outcome> {
        let spec = &self.spec;
        let revision = exchange.revision;
        let (has_resources, has_prompts) = (spec.has_resources(), !spec.prompts.is_empty());
        let list = |name: &str, items: &[Item]| {
            let listed = items.iter().map(|item| item.listed.clone().into());
            let listed: Vec<Value> = listed.collect();
            healthy::list(self, name, &listed, &exchange.request, revision)
        };
        Some(match exchange.request.method.as_str() {
            "initialize" if revision.era() == Era::Handshake => {
                Ok(healthy::introduction(self, revision))
            }
            "resources/list" if has_resources => list("resources", &spec.resources),
            "resources/templates/list" if has_resources => {
                list("resourceTemplates", &spec.resource_templates)
            }
            "resources/read" if has_resources => {
                let result = item::read(spec, &exchange.request, revision);
                result.map(|result| healthy::cacheable(result, revision))
            }
            "prompts/list" if has_prompts => list("prompts", &spec.prompts),
            "prompts/get" if has_prompts => item::get(&spec.prompts, &exchange.request),
            _ => return None,
        })
    }

    /// The fault that strikes a request that just arrived.
    fn strike(&self, request: &Request) -> Option<Injection> {
        if request.method != "tools/call" {
            return None;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.injector.is_idle() {
            return None;
        }
        let arguments = request.params.get("arguments").map(Value::to_string);
        self.injector.strike(CallSite {
            server: &self.spec.name,
            tool: request.tool(),
            arguments: arguments.as_deref().unwrap_or_default(),
        })
    }
}

#[async_trait]
impl Behaviour for Server {
    fn identity(&self) -> Value {
        let version = self.spec.version.as_deref();
        let version = version.unwrap_or(env!("CARGO_PKG_VERSION"));
        let mut identity = json!({ "name": self.spec.name, "version": version });
        if let Some(title) = &self.spec.title {
            identity["title"] = title.as_str().into();
        }
        identity
    }

    fn instructions(&self) -> String {
        self.spec.instructions.clone().unwrap_or_default()
    }

    fn tools(&self, _: Revision) -> Vec<Value> {
        let is_listed = |tool: &&Tool| !self.injector.hides(&self.spec.name, &tool.name);
        self.tools
            .iter()
            .filter(is_listed)
            .map(|tool| tool.listed.clone())
            .collect()
    }

    fn capabilities(&self, _: Revision) -> Value {
        let mut capabilities = json!({ "tools": {} });
        if self.spec.has_resources() {
            capabilities["resources"] = json!({});
        }
        if !self.spec.prompts.is_empty() {
            capabilities["prompts"] = json!({});
        }
        capabilities
    }

    fn page_size(&self) -> usize {
        self.spec.page_size.unwrap_or(usize::MAX)
    }

    fn watch(&self, arrival: &Arrival<'_>) -> Option<Box<dyn Watch>> {
        let Arrival {
            request, session, ..
        } = arrival;
        let injection = arrival.is_admitted.then(|| self.strike(request)).flatten();
        let entry = self.log.request(session, request);
        if let (Some(entry), Some(injection)) = (&entry, &injection) {
            entry.request.strike(injection, &self.spec.name);
        }
        Some(Box::new(Ticket { injection, entry }))
    }

    fn notified(&self, session: &Session, method: &str, params: &Fields) {
        self.log.notification(session, method, params);
    }

    fn malformed(&self, refused: Malformed<'_>) {
        self.log
            .misread(refused.session, refused.frame, refused.refusal);
    }

    fn turned_away(&self, _: &Caller, refused: TurnedAway<'_>) {
        self.log.turned_away(&refused);
    }

    fn left(&self, session: &Session) {
        self.log.left(session);
    }

    fn shield(&self, exchange: &Exchange) -> Option<Shield> {
        let ticket: &Ticket = exchange.watch()?;
        ticket
            .injection
            .as_ref()?
            .ignores_cancellation()
            .then(|| ticket.canceller())
    }

    async fn intercept(&self, exchange: &Exchange) -> bool {
        let ticket: Option<&Ticket> = exchange.watch();
        let injection = ticket.and_then(|ticket| ticket.injection.as_ref());
        let answer = if exchange.request.method != "tools/call" {
            match self.answer(exchange) {
                Some(outcome) => exchange.response(outcome),
                None => return false,
            }
        } else if let Some(injection) = injection {
            injection.apply(&FaultedExchange::new(self, exchange)).await;
            return true;
        } else {
            self.answer_call(exchange)
        };
        exchange.reply(answer).await;
        true
    }
}
