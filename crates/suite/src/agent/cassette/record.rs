//! Recording a run: stands before the wire and the tools, and notes what passes.
//!
//! Keys travel in headers, which are the wire's own business: they never come by here. What else is secret is
//! taken out at the end, when all secrets are known; the run itself sees everything as it is. Only times are rounded
//! on the way, to what a cassette keeps, so that a replay counts the same.

use std::sync::Mutex;
use std::time::Duration;

use mcprove_settings::secret::{PLACES_MAX, Redactor};
use mcprove_trace::Json;
use serde_json::Value;

use super::format::{
    Body, ModelExchange, RecordedRun, ToolExchange, WireFailure, microseconds, milliseconds,
};
use crate::agent::model::{Later, ModelReply, ModelRequest, ModelWire, WireError};
use crate::agent::toolbox::{OfferedTool, ToolAnswer, Toolbox};
use crate::error::TestError;
use mcprove_settings::sync::lock;

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
        if take.bytes <= RECORDED_BYTES_MAX
            && let Some(slot) = take.exchanges.get_mut(place)
        {
            *slot = Some(exchange);
        }
    }
}

impl ModelWire for Recorder<'_> {
    fn send<'a>(&'a self, request: &'a ModelRequest) -> Later<'a, Result<ModelReply, WireError>> {
        let place = self.begin();
        Box::pin(async move {
            let reply = rounded_reply(self.wire.send(request).await);
            if let Some(exchange) = exchange(request, &reply) {
                let bodies = [Some(&exchange.request), exchange.response.as_ref()];
                let sizes = bodies.into_iter().flatten().map(|body| match body {
                    Body::Text(text) | Body::Base64(text) => text.len(),
                });
                let bytes = sizes.sum();
                self.end(place, Exchange::Model(exchange), bytes);
            }
            reply
        })
    }

    fn wait(&self, duration: Duration) -> Later<'_, ()> {
        self.wire.wait(duration)
    }
}

impl Toolbox for Recorder<'_> {
    fn tools(&self) -> &[OfferedTool] {
        self.toolbox.tools()
    }

    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        args: &'a Value,
        timeout: Duration,
    ) -> Later<'a, Result<ToolAnswer, TestError>> {
        let place = self.begin();
        Box::pin(async move {
            let mut answer = self.toolbox.call(server, tool, args, timeout).await?;
            answer.duration = rounded(answer.duration);
            let exchange = ToolExchange {
                server: server.to_owned(),
                tool: tool.to_owned(),
                args: Json::from(args),
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

/// The reply with the times that a cassette keeps.
fn rounded_reply(reply: Result<ModelReply, WireError>) -> Result<ModelReply, WireError> {
    match reply {
        Ok(mut reply) => {
            reply.duration = rounded(reply.duration);
            let wait = reply.retry_after.map(rounded);
            reply.retry_after = wait.map(|wait| Duration::from_millis(milliseconds(wait)));
            Ok(reply)
        }
        Err(error) => {
            let duration = rounded(error.duration());
            Err(error.lasting(duration))
        }
    }
}

/// What is noted of a request; `None` for what no recording has.
fn exchange(
    request: &ModelRequest,
    reply: &Result<ModelReply, WireError>,
) -> Option<ModelExchange> {
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
    match reply {
        Ok(reply) => {
            exchange.status = Some(reply.status);
            exchange.retry_after_ms = reply.retry_after.map(milliseconds);
            exchange.response = Some(Body::of(&reply.body));
            exchange.duration_us = microseconds(reply.duration);
        }
        Err(error) => {
            exchange.failure = Some(match error {
                // A replay meets it as often as it was met, so that it need not be told apart.
                WireError::Unreachable { message, .. } | WireError::Refused { message, .. } => {
                    WireFailure::Unreachable(message.clone())
                }
                WireError::Timeout(_) => WireFailure::Timeout,
                // A run that ends so is not recorded.
                WireError::TooLarge { .. } | WireError::NotRecorded(_) => return None,
            });
            exchange.duration_us = microseconds(error.duration());
        }
    }
    Some(exchange)
}

impl Take {
    /// The run as a cassette has it; `None` if it was too large to be recorded.
    pub fn redacted(self, redactor: &Redactor) -> Option<RecordedRun> {
        if self.bytes > RECORDED_BYTES_MAX {
            return None;
        }
        let mut run = RecordedRun::default();
        for exchange in self.exchanges.into_iter().flatten() {
            match exchange {
                Exchange::Model(it) => run.model.push(redacted_model(it, redactor)),
                Exchange::Tool(it) => run.tools.push(redacted_tool(it, redactor)),
            }
        }
        Some(run)
    }
}

/// Takes secrets out, and tells where they were: in what has this name.
fn take_out(text: &str, name: &str, redactor: &Redactor, places: &mut Vec<String>) -> String {
    let redacted = redactor.redact(text);
    note_places(name, &redacted.places, places);
    redacted.text.into_owned()
}

fn note_places(name: &str, found: &[String], places: &mut Vec<String>) {
    for place in found {
        if places.len() < PLACES_MAX {
            let joint = if place.is_empty() || place.starts_with('[') {
                ""
            } else {
                "."
            };
            places.push(format!("{name}{joint}{place}"));
        }
    }
}

fn redacted_body(body: Body, name: &str, redactor: &Redactor, places: &mut Vec<String>) -> Body {
    let bytes = match body {
        Body::Text(text) => return Body::Text(take_out(&text, name, redactor, places)),
        Body::Base64(_) => body.bytes().unwrap_or_default(),
    };
    match redactor.bytes(&bytes) {
        Some((bytes, found)) => {
            note_places(name, &found, places);
            Body::of(&bytes)
        }
        None => body,
    }
}

fn redacted_model(exchange: ModelExchange, redactor: &Redactor) -> ModelExchange {
    let mut places = Vec::new();
    let request = redacted_body(exchange.request, "request", redactor, &mut places);
    let response = exchange
        .response
        .map(|body| redacted_body(body, "response", redactor, &mut places));
    let failure = exchange.failure.map(|failure| match failure {
        WireFailure::Unreachable(message) => {
            WireFailure::Unreachable(take_out(&message, "failure", redactor, &mut places))
        }
        WireFailure::Timeout => WireFailure::Timeout,
    });
    ModelExchange {
        path: take_out(&exchange.path, "path", redactor, &mut places),
        request,
        response,
        failure,
        redacted: places,
        ..exchange
    }
}

fn redacted_tool(exchange: ToolExchange, redactor: &Redactor) -> ToolExchange {
    let mut places = Vec::new();
    let mut json = |value: &Json, name: &str| {
        let text = take_out(value.text(), name, redactor, &mut places);
        // JSON stays JSON; were it none, nothing of it would be kept.
        serde_json::from_str(&text).unwrap_or_default()
    };
    let (args, result) = (
        json(&exchange.args, "args"),
        json(&exchange.result, "result"),
    );
    ToolExchange {
        args,
        result,
        redacted: places,
        ..exchange
    }
}
