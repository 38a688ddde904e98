//! Recording a run: stands before the wire and the tools, and notes what passes; and notes which variables of the
//! environment were used.
//!
//! Keys travel in headers, which are the wire's own business: they never come by here. What else is secret is
//! taken out at the end, when all secrets are known; the run itself sees everything as it is. Only times are rounded
//! on the way, to what a cassette keeps, so that a replay counts the same.

use mcprove_settings::secret::PLACES_MAX;

use super::format::{
    Body, ModelExchange, RecordedRun, ToolExchange, WireFailure, microseconds, milliseconds,
};
use crate::prelude::*;

/// The most bytes of one run that are recorded; a larger run has no cassette.
pub const RECORDED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Notes what passes between a run and its model and tools.
pub struct Recorder<'a> {
    wire: &'a dyn ModelWire,
    toolbox: &'a dyn Toolbox,
    take: Mutex<Take>,
}

/// What was noted of a run, secrets and all.
#[derive(Debug, Clone, Default)]
pub struct Take {
    /// In the order in which they began; one that was given up has no end.
    exchanges: Vec<Option<Exchange>>,
    bytes: usize,
}

/// Something that was asked and answered.
#[derive(Debug, Clone)]
enum Exchange {
    Model(ModelExchange),
    Tool(ToolExchange),
}

impl<'a> Recorder<'a> {
    /// Notes what passes through these.
    pub fn new(wire: &'a dyn ModelWire, toolbox: &'a dyn Toolbox) -> Self {
        Self {
            wire,
            toolbox,
            take: Mutex::default(),
        }
    }

    /// What was noted.
    pub fn finish(self) -> Take {
        std::mem::take(&mut *lock(&self.take))
    }

    /// Notes that something begins; its place.
    fn begin(&self) -> usize {
        let exchanges = &mut lock(&self.take).exchanges;
        exchanges.push(None);
        exchanges.len() - 1
    }

    /// Notes how it ended, with so many bytes, while there is room.
    fn end(&self, place: usize, exchange: Exchange, bytes: usize) {
        let mut take = lock(&self.take);
        take.bytes = take.bytes.saturating_add(bytes);
        if take.bytes <= RECORDED_BYTES_MAX {
            take.exchanges[place] = Some(exchange);
        }
    }
}

impl ModelWire for Recorder<'_> {
    fn send<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ModelReply, WireError>> {
        let place = self.begin();
        Box::pin(async move {
            let mut reply = self.wire.send(request).await;
            let mut exchange = ModelExchange {
                path: request.path.clone(),
                request: Body::of(&request.body),
                status: None,
                retry_after_ms: None,
                response: None,
                failure: None,
                duration_us: 0,
                redacted: Vec::new(),
            };
            let mut bytes = request.body.len();
            let duration = match &mut reply {
                Ok(reply) => {
                    bytes += reply.body.len();
                    let wait = reply.retry_after.map(|wait| milliseconds(rounded(wait)));
                    reply.retry_after = wait.map(Duration::from_millis);
                    exchange.status = Some(reply.status);
                    exchange.retry_after_ms = wait;
                    exchange.response = Some(Body::of(&reply.body));
                    &mut reply.duration
                }
                Err(error) => {
                    exchange.failure = Some(match &error.kind {
                        // A replay meets it as often as it was met, so that it need not be told apart.
                        WireErrorKind::Unreachable(message) | WireErrorKind::Refused(message) => {
                            WireFailure::Unreachable(message.clone())
                        }
                        WireErrorKind::Timeout => WireFailure::Timeout,
                        // A run that ends so is not recorded.
                        WireErrorKind::Final(_) => return reply,
                    });
                    &mut error.duration
                }
            };
            *duration = rounded(*duration);
            exchange.duration_us = microseconds(*duration);
            self.end(place, Exchange::Model(exchange), bytes);
            reply
        })
    }

    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.wire.wait(duration)
    }
}

impl Toolbox for Recorder<'_> {
    fn tools(&self) -> &[OfferedTool] {
        self.toolbox.tools()
    }

    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, DiagnosticResult<ToolAnswer>> {
        let place = self.begin();
        Box::pin(async move {
            let mut answer = self.toolbox.call(call).await?;
            answer.duration = rounded(answer.duration);
            let exchange = ToolExchange {
                server: call.server.to_owned(),
                tool: call.tool.to_owned(),
                args: Json::from(call.args),
                result: answer.result.clone(),
                is_error: answer.is_error,
                duration_us: microseconds(answer.duration),
                redacted: Vec::new(),
            };
            let bytes = exchange.args.text().len() + exchange.result.text().len();
            self.end(place, Exchange::Tool(exchange), bytes);
            Ok(answer)
        })
    }
}

fn rounded(duration: Duration) -> Duration {
    Duration::from_micros(microseconds(duration))
}

impl Take {
    /// The run as a cassette has it; `None` if it was too large to be recorded.
    pub fn redacted(self, redactor: &Redactor) -> Option<RecordedRun> {
        if self.bytes > RECORDED_BYTES_MAX {
            return None;
        }
        let mut run = RecordedRun::default();
        for exchange in self.exchanges.into_iter().flatten() {
            let mut redaction = Redaction {
                redactor,
                places: Vec::new(),
            };
            match exchange {
                Exchange::Model(mut exchange) => {
                    redaction.body("request", &mut exchange.request);
                    if let Some(response) = &mut exchange.response {
                        redaction.body("response", response);
                    }
                    if let Some(WireFailure::Unreachable(message)) = &mut exchange.failure {
                        redaction.text("failure", message);
                    }
                    redaction.text("path", &mut exchange.path);
                    exchange.redacted = redaction.places;
                    run.model.push(exchange);
                }
                Exchange::Tool(mut exchange) => {
                    redaction.json("args", &mut exchange.args);
                    redaction.json("result", &mut exchange.result);
                    exchange.redacted = redaction.places;
                    run.tools.push(exchange);
                }
            }
        }
        Some(run)
    }
}

/// Takes the secrets out of one exchange, and notes where they were.
struct Redaction<'a> {
    redactor: &'a Redactor,
    places: Vec<String>,
}

impl Redaction<'_> {
    fn text(&mut self, name: &str, text: &mut String) {
        let redacted = self.redactor.redact(text);
        self.note(name, &redacted.places);
        *text = redacted.text.into_owned();
    }

    fn json(&mut self, name: &str, json: &mut Json) {
        let mut text = json.text().to_owned();
        self.text(name, &mut text);
        // JSON stays JSON; were it none, nothing of it would be kept.
        *json = serde_json::from_str(&text).unwrap_or_default();
    }

    fn body(&mut self, name: &str, body: &mut Body) {
        match body {
            Body::Text(text) => self.text(name, text),
            Body::Base64(_) => {
                let bytes = body.bytes().unwrap_or_default();
                if let Some((bytes, found)) = self.redactor.bytes(&bytes) {
                    self.note(name, &found);
                    *body = Body::of(&bytes);
                }
            }
        }
    }

    /// Notes the places in what has this name, while there is room.
    fn note(&mut self, name: &str, found: &[String]) {
        let room = PLACES_MAX.saturating_sub(self.places.len());
        self.places.extend(found.iter().take(room).map(|place| {
            let is_joined = place.is_empty() || place.starts_with('[');
            let joint = if is_joined { "" } else { "." };
            format!("{name}{joint}{place}")
        }));
    }
}

/// The variables of the environment that were looked up and had a value.
#[derive(Debug, Clone, Default)]
pub struct Variables(Arc<Mutex<BTreeMap<String, String>>>);

impl Variables {
    /// The environment, of which this notes what is asked for.
    pub fn watch(&self, environment: &Environment) -> Environment {
        let (variables, environment) = (self.clone(), environment.clone());
        Environment::new(move |name| {
            let value = environment.get(name)?;
            lock(&variables.0).insert(name.to_owned(), value.clone());
            Some(value)
        })
    }

    /// As a cassette has them, with its secrets taken out.
    pub fn redacted(&self, redactor: &Redactor) -> BTreeMap<String, Option<String>> {
        let used = lock(&self.0);
        let redacted = used.iter().map(|(name, value)| {
            let text = redactor.text(value);
            let is_kept = text != REDACTED;
            (name.clone(), is_kept.then(|| text.into_owned()))
        });
        redacted.collect()
    }
}
