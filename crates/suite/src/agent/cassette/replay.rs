//! Replaying a run: answers from a recording, in the place of the wire and the tools.
//!
//! A request is known by what it says (canonical JSON, without secrets), not by when it comes: requests that
//! say the same get the recorded answers in their order. Where a secret was taken out of the recording, any text may stand.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcprove_settings::secret::{Redactor, fits};
use mcprove_trace::canonical::canonical;
use serde_json::Value;

use super::difference::first_difference;
use super::error::record_or_live;
use super::format::{Body, ModelExchange, RecordedRun, ToolExchange, WireFailure};
use crate::agent::model::{Later, ModelReply, ModelRequest, ModelWire, WireError};
use crate::agent::toolbox::{OfferedTool, ToolAnswer, Toolbox, ToolboxError};

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
    fn new(keys: Vec<String>, redacted: Vec<usize>) -> Mutex<Self> {
        let mut by_key: HashMap<String, VecDeque<usize>> = HashMap::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            by_key.entry(key.clone()).or_default().push_back(index);
        }
        Mutex::new(Self {
            used: vec![false; keys.len()],
            keys,
            by_key,
            redacted,
        })
    }

    /// The next exchange that answers this.
    fn take(&mut self, key: &str) -> Option<usize> {
        let exact = self.by_key.get_mut(key).and_then(|places| {
            let unused = |place: &usize| self.used.get(*place) == Some(&false);
            std::iter::from_fn(|| places.pop_front()).find(unused)
        });
        let found = exact.or_else(|| {
            let unused = |place: &&usize| self.used.get(**place) == Some(&false);
            let mut left = self.redacted.iter().filter(unused);
            let is_it = |place: &&usize| self.keys.get(**place).is_some_and(|own| fits(own, key));
            left.find(is_it).copied()
        })?;
        if let Some(used) = self.used.get_mut(found) {
            *used = true;
        }
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
        let redacted = |marks: &mut dyn Iterator<Item = bool>| -> Vec<usize> {
            let marked = marks.enumerate().filter(|(_, is_marked)| *is_marked);
            marked.map(|(place, _)| place).collect()
        };
        let model = run.model.iter();
        let keys = model.map(|exchange| {
            let text = match &exchange.request {
                Body::Text(text) | Body::Base64(text) => text,
            };
            model_key(&exchange.path, text, &redactor)
        });
        let model = Track::new(
            keys.collect(),
            redacted(&mut run.model.iter().map(|it| !it.redacted.is_empty())),
        );
        let keys = run
            .tools
            .iter()
            .map(|it| tool_key(&it.server, &it.tool, it.args.text(), &redactor));
        let calls = Track::new(
            keys.collect(),
            redacted(&mut run.tools.iter().map(|it| !it.redacted.is_empty())),
        );
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
        let mut track = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let found = track.take(&key);
        if let Some(exchange) = found.and_then(|place| self.run.model.get(place)) {
            return reply(exchange);
        }
        // By what it says: the address is the same for nearly all.
        let nearest = track.nearest(&key, strip).map(|(place, is_unused)| {
            let path = self.run.model.get(place).map(|it| it.path.clone());
            let path = path.unwrap_or_default();
            let own = track.keys.get(place).map_or("", String::as_str);
            if path == request.path {
                let told = difference(strip(own), strip(&key), is_unused);
                format!(
                    "the nearest is request {} of the recording: {told}",
                    place + 1
                )
            } else {
                format!(
                    "the nearest, request {} of the recording, was sent to {path}, this one to {}",
                    place + 1,
                    request.path
                )
            }
        });
        let nearest = nearest.unwrap_or_else(|| "it has no request at all".to_owned());
        Err(WireError::NotRecorded {
            message: format!("the cassette has no answer to this request; {nearest}"),
            hint: record_or_live().text(),
        })
    }

    fn result(&self, server: &str, tool: &str, args: &Value) -> Result<ToolAnswer, ToolboxError> {
        let key = tool_key(server, tool, &args.to_string(), &self.redactor);
        let mut track = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let found = track.take(&key);
        if let Some(exchange) = found.and_then(|place| self.run.tools.get(place)) {
            return Ok(answer(exchange));
        }
        let nearest = track
            .nearest(&key, |whole| whole)
            .and_then(|(place, is_unused)| {
                let exchange = self.run.tools.get(place)?;
                let own = track.keys.get(place)?;
                Some(
                    if (exchange.server.as_str(), exchange.tool.as_str()) == (server, tool) {
                        let told = difference(strip(own), strip(&key), is_unused);
                        format!("the nearest is call {} of the recording: {told}", place + 1)
                    } else {
                        format!(
                            "the nearest is a call of {} of {}",
                            exchange.tool, exchange.server
                        )
                    },
                )
            });
        let nearest = nearest.unwrap_or_else(|| "it has no call at all".to_owned());
        Err(ToolboxError::NotRecorded {
            message: format!("the cassette has no call of {tool} of {server} like this; {nearest}"),
            hint: record_or_live().text(),
        })
    }
}

impl ModelWire for Replayer<'_> {
    fn send<'a>(&'a self, request: &'a ModelRequest) -> Later<'a, Result<ModelReply, WireError>> {
        let answer = self.answer(request);
        Box::pin(std::future::ready(answer))
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
    ) -> Later<'a, Result<ToolAnswer, ToolboxError>> {
        let answer = self.result(server, tool, args);
        Box::pin(std::future::ready(answer))
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

/// What differs, or that the recorded answer was given already.
fn difference(recorded: &str, now: &str, is_unused: bool) -> String {
    let parse = |text: &str| {
        let value: Option<Value> = serde_json::from_str(text).ok();
        value.unwrap_or_else(|| Value::from(text))
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

fn answer(exchange: &ToolExchange) -> ToolAnswer {
    ToolAnswer {
        result: exchange.result.clone(),
        is_error: exchange.is_error,
        duration: Duration::from_micros(exchange.duration_us),
    }
}
