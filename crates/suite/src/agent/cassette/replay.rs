//! Replaying a run: answers from a recording, in the place of the wire and the tools.
//!
//! A request is known by what it says (canonical JSON, without secrets), not by when it comes: requests that
//! say the same get the recorded answers in their order. Where a secret was taken out of the recording, any text may stand.

use std::cmp::Reverse;

use mcprove_trace::canonical::canonical;

use super::difference::first_difference;
use super::file::record_or_live;
use super::format::{Body, ModelExchange, RecordedRun, ToolExchange, WireFailure};
use crate::prelude::*;

/// The environment of a replay, which needs none: what was a secret is `<redacted>`, as it is in the cassette; what is
/// too short for one is what it was; what was not set is not set.
pub fn recorded(variables: &BTreeMap<String, Option<String>>) -> Environment {
    let variables = variables.clone();
    Environment::new(move |name| {
        let value = variables.get(name)?.clone();
        Some(value.unwrap_or_else(|| REDACTED.to_owned()))
    })
}

/// Answers from one recorded run. It knows no network and no process.
pub struct Replayer<'a> {
    run: &'a RecordedRun,
    tools: &'a [OfferedTool],
    redactor: Redactor,
    model: Mutex<Track>,
    calls: Mutex<Track>,
}

/// Exchanges by what they are answers to: a first line that says who is asked, and canonical JSON.
struct Track {
    /// What they are called in messages.
    noun: &'static str,
    /// Each with whether something was taken out, so that it may be found by what is left.
    keys: Vec<(String, bool)>,
    /// The places of those that are still to come.
    left: Vec<usize>,
}

impl Track {
    /// Of what each exchange says, and where something was taken out of it.
    fn new<'e>(
        noun: &'static str,
        exchanges: impl Iterator<Item = (String, &'e Vec<String>)>,
    ) -> Mutex<Self> {
        let keys: Vec<_> = exchanges
            .map(|(key, redacted)| (key, !redacted.is_empty()))
            .collect();
        let left = (0..keys.len()).collect();
        Mutex::new(Self { noun, keys, left })
    }

    /// The next exchange that answers this.
    fn take(&mut self, key: &str) -> Option<usize> {
        let is_exact = |place: &usize| self.keys[*place].0 == key;
        let may_fit = |place: &usize| {
            let (own, is_redacted) = &self.keys[*place];
            *is_redacted && fits(own, key)
        };
        let left = self.left.iter();
        let found = left.clone().position(is_exact);
        let found = found.or_else(|| left.clone().position(may_fit))?;
        Some(self.left.remove(found))
    }

    /// Whether an exchange is still to come. Their places stay in order.
    fn is_left(&self, place: usize) -> bool {
        self.left.binary_search(&place).is_ok()
    }

    /// Why there is no answer to this: how it differs from the exchange whose request is most like it, that which begins
    /// the same for longest, in this part of it, rather one that is still to come. `elsewhere` tells of one that
    /// was asked of somebody else.
    fn nearest(
        &self,
        key: &str,
        part: fn(&str) -> &str,
        elsewhere: impl Fn(usize) -> String,
    ) -> String {
        let rank = |place: &usize| {
            let same = part(&self.keys[*place].0)
                .bytes()
                .zip(part(key).bytes())
                .take_while(|(own, key)| own == key)
                .count();
            (same, self.is_left(*place), Reverse(*place))
        };
        let noun = self.noun;
        let Some(place) = (0..self.keys.len()).max_by_key(rank) else {
            return format!("it has no {noun} at all");
        };
        let ((head, recorded), (asked, now)) = (halves(&self.keys[place].0), halves(key));
        if head != asked {
            return elsewhere(place);
        }
        let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let told = match first_difference(&parse(recorded), &parse(now)) {
            Some((path, told)) if path.is_empty() => told,
            Some((path, told)) => format!("{path}: {told}"),
            None if !self.is_left(place) => {
                "it was asked more often than it was recorded".to_owned()
            }
            None => "it says the same in other words".to_owned(),
        };
        format!(
            "the nearest is {noun} {} of the recording: {told}",
            place + 1
        )
    }
}

/// The first line of a key, and what comes after it.
fn halves(key: &str) -> (&str, &str) {
    key.split_once('\n').unwrap_or(("", key))
}

impl<'a> Replayer<'a> {
    /// Answers from this run, with these tools.
    pub fn new(run: &'a RecordedRun, tools: &'a [OfferedTool], redactor: Redactor) -> Self {
        let model = run.model.iter().map(|it| {
            let (Body::Text(text) | Body::Base64(text)) = &it.request;
            (model_key(&it.path, text, &redactor), &it.redacted)
        });
        let calls = run.tools.iter().map(|it| {
            let key = tool_key(&it.server, &it.tool, it.args.text(), &redactor);
            (key, &it.redacted)
        });
        let (model, calls) = (Track::new("request", model), Track::new("call", calls));
        Self {
            run,
            tools,
            redactor,
            model,
            calls,
        }
    }

    fn answer(&self, request: &ModelRequest) -> Result<ModelReply, WireError> {
        let ModelRequest { path, body, .. } = request;
        let key = model_key(path, &String::from_utf8_lossy(body), &self.redactor);
        let mut track = lock(&self.model);
        if let Some(place) = track.take(&key) {
            return reply(&self.run.model[place]);
        }
        // By what it says: the address is the same for nearly all.
        let nearest = track.nearest(&key, |key| halves(key).1, |place| {
            let (number, other) = (place + 1, &self.run.model[place].path);
            format!(
                "the nearest, request {number} of the recording, was sent to {other}, this one to {path}"
            )
        });
        let message = format!("the cassette has no answer to this request; {nearest}");
        Err(WireError {
            kind: WireErrorKind::Final(Diagnostic::new(message, record_or_live())),
            duration: Duration::ZERO,
        })
    }

    fn result(&self, call: ToolRequest<'_>) -> DiagnosticResult<ToolAnswer> {
        let ToolRequest {
            server, tool, args, ..
        } = call;
        let key = tool_key(server, tool, &args.to_string(), &self.redactor);
        let mut track = lock(&self.calls);
        if let Some(place) = track.take(&key) {
            let exchange = &self.run.tools[place];
            return Ok(ToolAnswer {
                result: exchange.result.clone(),
                is_error: exchange.is_error,
                duration: Duration::from_micros(exchange.duration_us),
            });
        }
        let nearest = track.nearest(
            &key,
            |key| key,
            |place| {
                let ToolExchange { server, tool, .. } = &self.run.tools[place];
                format!("the nearest is a call of {tool} of {server}")
            },
        );
        let message =
            format!("the cassette has no call of {tool} of {server} like this; {nearest}");
        Err(Diagnostic::new(message, record_or_live()))
    }
}

impl ModelWire for Replayer<'_> {
    fn send<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ModelReply, WireError>> {
        Box::pin(ready(self.answer(request)))
    }

    fn wait(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

impl Toolbox for Replayer<'_> {
    fn tools(&self) -> &[OfferedTool] {
        self.tools
    }

    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, DiagnosticResult<ToolAnswer>> {
        Box::pin(ready(self.result(call)))
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

fn reply(exchange: &ModelExchange) -> Result<ModelReply, WireError> {
    let duration = Duration::from_micros(exchange.duration_us);
    let kind = match &exchange.failure {
        Some(WireFailure::Unreachable(message)) => WireErrorKind::Unreachable(message.clone()),
        Some(WireFailure::Timeout) => WireErrorKind::Timeout,
        None => {
            let body = exchange.response.as_ref().and_then(Body::bytes);
            return Ok(ModelReply {
                // Whoever read the file saw to it that there is one.
                status: exchange.status.unwrap_or_default(),
                retry_after: exchange.retry_after_ms.map(Duration::from_millis),
                body: body.unwrap_or_default(),
                duration,
            });
        }
    };
    Err(WireError { kind, duration })
}
