//! Replaying a run: answers from a recording, in the place of the wire and the tools.
//!
//! A request is known by what it says (canonical JSON, without secrets), not by when it comes: requests that
//! say the same get the recorded answers in their order. Where a secret was taken out of the recording, any text may stand.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use mcprove_settings::secret::{Redactor, fits};
use mcprove_trace::canonical::canonical;
use serde_json::Value;

use super::difference::first_difference;
use super::error::record_or_live;
use super::format::{Body, ModelExchange, RecordedRun, ToolExchange, WireFailure};
use crate::agent::model::{Later, ModelReply, ModelRequest, ModelWire, WireError};
use crate::agent::toolbox::{OfferedTool, ToolAnswer, Toolbox};
use crate::error::TestError;
use mcprove_settings::sync::lock;

/// Answers from one recorded run. It knows no network and no process.
pub struct Replayer<'a> {
    run: &'a RecordedRun,
    tools: &'a [OfferedTool],
    redactor: Redactor,
    model: Mutex<Track>,
    calls: Mutex<Track>,
}

/// Exchanges by what they are answers to.
#[derive(Default)]
struct Track {
    keys: Vec<String>,
    by_key: HashMap<String, VecDeque<usize>>,
    /// Those with something taken out, which may be found by what is left.
    redacted: Vec<usize>,
    used: Vec<bool>,
}

impl Track {
    /// Of what each exchange says, and whether something was taken out of it.
    fn new(exchanges: impl Iterator<Item = (String, bool)>) -> Mutex<Self> {
        let mut track = Self::default();
        for (place, (key, is_redacted)) in exchanges.enumerate() {
            let places = track.by_key.entry(key.clone()).or_default();
            places.push_back(place);
            track.redacted.extend(is_redacted.then_some(place));
            track.keys.push(key);
            track.used.push(false);
        }
        Mutex::new(track)
    }

    /// The next exchange that answers this.
    fn take(&mut self, key: &str) -> Option<usize> {
        let is_unused = |place: &usize| self.used.get(*place) == Some(&false);
        let exact = self.by_key.get_mut(key);
        let exact =
            exact.and_then(|places| std::iter::from_fn(|| places.pop_front()).find(is_unused));
        let found = exact.or_else(|| {
            let is_it = |place: &usize| self.keys.get(*place).is_some_and(|own| fits(own, key));
            let mut left = self.redacted.iter().copied().filter(is_unused);
            left.find(is_it)
        })?;
        *self.used.get_mut(found)? = true;
        Some(found)
    }

    /// The exchange whose request is most like this: that which begins the same for longest, in this part of it, rather
    /// one that is still to come.
    fn nearest(&self, key: &str, part: fn(&str) -> &str) -> Option<(usize, bool)> {
        let same = |own: &str| {
            let pairs = part(own).bytes().zip(part(key).bytes());
            pairs.take_while(|(own, key)| own == key).count()
        };
        let places = self.keys.iter().zip(&self.used).enumerate();
        let ranked = places.map(|(place, (own, used))| (same(own), !used, place));
        let nearest = ranked
            .max_by_key(|(same, is_unused, place)| (*same, *is_unused, std::cmp::Reverse(*place)));
        nearest.map(|(_, is_unused, place)| (place, is_unused))
    }
}

impl<'a> Replayer<'a> {
    /// Answers from this run, with these tools.
    pub fn new(run: &'a RecordedRun, tools: &'a [OfferedTool], redactor: Redactor) -> Self {
        let model = run.model.iter().map(|it| {
            let (Body::Text(text) | Body::Base64(text)) = &it.request;
            let key = model_key(&it.path, text, &redactor);
            (key, !it.redacted.is_empty())
        });
        let calls = run.tools.iter().map(|it| {
            let key = tool_key(&it.server, &it.tool, it.args.text(), &redactor);
            (key, !it.redacted.is_empty())
        });
        let (model, calls) = (Track::new(model), Track::new(calls));
        Self {
            run,
            tools,
            redactor,
            model,
            calls,
        }
    }

    fn answer(&self, request: &ModelRequest) -> Result<ModelReply, WireError> {
        let body = String::from_utf8_lossy(&request.body);
        let key = model_key(&request.path, &body, &self.redactor);
        let mut track = lock(&self.model);
        let found = track.take(&key);
        if let Some(exchange) = found.and_then(|place| self.run.model.get(place)) {
            return reply(exchange);
        }
        // By what it says: the address is the same for nearly all.
        let nearest = track.nearest(&key, strip).and_then(|(place, is_unused)| {
            let path = &self.run.model.get(place)?.path;
            let number = place + 1;
            Some(if *path == request.path {
                let told = difference(track.keys.get(place)?, &key, is_unused);
                format!("the nearest is request {number} of the recording: {told}")
            } else {
                format!(
                    "the nearest, request {number} of the recording, was sent to {path}, this one to {}",
                    request.path
                )
            })
        }).unwrap_or_else(|| "it has no request at all".to_owned());
        let message = format!("the cassette has no answer to this request; {nearest}");
        let missing = TestError::new(message, record_or_live());
        Err(WireError::NotRecorded(missing))
    }

    fn result(&self, server: &str, tool: &str, args: &Value) -> Result<ToolAnswer, TestError> {
        let key = tool_key(server, tool, &args.to_string(), &self.redactor);
        let mut track = lock(&self.calls);
        let found = track.take(&key);
        if let Some(exchange) = found.and_then(|place| self.run.tools.get(place)) {
            return Ok(ToolAnswer {
                result: exchange.result.clone(),
                is_error: exchange.is_error,
                duration: Duration::from_micros(exchange.duration_us),
            });
        }
        let nearest = track.nearest(&key, |whole| whole);
        let nearest = nearest.and_then(|(place, is_unused)| {
            let exchange = self.run.tools.get(place)?;
            Some(if exchange.server == server && exchange.tool == tool {
                let told = difference(track.keys.get(place)?, &key, is_unused);
                format!("the nearest is call {} of the recording: {told}", place + 1)
            } else {
                let ToolExchange { server, tool, .. } = exchange;
                format!("the nearest is a call of {tool} of {server}")
            })
        });
        let nearest = nearest.unwrap_or_else(|| "it has no call at all".to_owned());
        let message =
            format!("the cassette has no call of {tool} of {server} like this; {nearest}");
        Err(TestError::new(message, record_or_live()))
    }
}

impl ModelWire for Replayer<'_> {
    fn send<'a>(&'a self, request: &'a ModelRequest) -> Later<'a, Result<ModelReply, WireError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }

    fn wait(&self, _: Duration) -> Later<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Toolbox for Replayer<'_> {
    fn tools(&self) -> &[OfferedTool] {
        self.tools
    }

    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        args: &'a Value,
        _: Duration,
    ) -> Later<'a, Result<ToolAnswer, TestError>> {
        Box::pin(std::future::ready(self.result(server, tool, args)))
    }
}

/// What a request says: its address, a line break, and its body.
fn model_key(path: &str, body: &str, redactor: &Redactor) -> String {
    format!("{}\n{}", redactor.text(path), normal(body, redactor))
}

/// What a call says: its server and tool, a line break, and its arguments.
fn tool_key(server: &str, tool: &str, args: &str, redactor: &Redactor) -> String {
    // Names in quotes: no name can look like two.
    format!("{server:?} {tool:?}\n{}", normal(args, redactor))
}

fn normal(json: &str, redactor: &Redactor) -> String {
    let text = redactor.text(json);
    canonical(&text).unwrap_or_else(|_| text.into_owned())
}

/// What comes after the first line of a key.
fn strip(key: &str) -> &str {
    key.split_once('\n').map_or(key, |(_, rest)| rest)
}

/// What differs between two keys, or that the recorded answer was given already.
fn difference(recorded: &str, now: &str, is_unused: bool) -> String {
    let parse = |key: &str| {
        let text = strip(key);
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
    };
    match first_difference(&parse(recorded), &parse(now)) {
        Some(difference) if difference.path.is_empty() => difference.told,
        Some(difference) => format!("{}: {}", difference.path, difference.told),
        None if is_unused => "it says the same in other words".to_owned(),
        None => "it was asked more often than it was recorded".to_owned(),
    }
}

fn reply(exchange: &ModelExchange) -> Result<ModelReply, WireError> {
    let duration = Duration::from_micros(exchange.duration_us);
    match (&exchange.failure, exchange.status) {
        (Some(WireFailure::Unreachable(message)), _) => Err(WireError::Unreachable {
            message: message.clone(),
            duration,
        }),
        (Some(WireFailure::Timeout), _) => Err(WireError::Timeout(duration)),
        (None, status) => Ok(ModelReply {
            // Whoever read the file saw to it that there is one.
            status: status.unwrap_or_default(),
            retry_after: exchange.retry_after_ms.map(Duration::from_millis),
            body: exchange
                .response
                .as_ref()
                .and_then(Body::bytes)
                .unwrap_or_default(),
            duration,
        }),
    }
}
