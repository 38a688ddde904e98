//! The calls and results that stand in the messages of a model. Many agents record no span for their
//! tools, so a call may stand there only. One that has a span too is the same call: they have the
//! same id, or, where one of both has none, the same name and no other arguments.

use super::span::{ModelSpan, ToolSpan};
use super::value::{arguments, list, structured};
use crate::prelude::*;

/// A message as the conventions have it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Message {
    pub role: Text,
    pub finish_reason: Text,
    content: Text,
    parts: Parts,
}

/// The parts of a message that can be read.
#[derive(Default, Deserialize)]
#[serde(from = "Value")]
struct Parts(Vec<Part>);

impl From<Value> for Parts {
    fn from(parts: Value) -> Self {
        Self(list(parts))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    #[serde(rename = "type")]
    kind: Text,
    content: Text,
    id: Text,
    name: Text,
    arguments: Maybe<Value>,
    response: Maybe<Value>,
    result: Maybe<Value>,
}

impl Message {
    /// The texts of it.
    pub fn said(&self) -> Option<String> {
        let texts = self
            .parts
            .0
            .iter()
            .filter(|part| part.kind.or_empty() == "text");
        let texts: Vec<&str> = texts.filter_map(|part| part.content.as_deref()).collect();
        let joined = (!texts.is_empty()).then(|| texts.join("\n"));
        self.content.0.clone().or(joined)
    }

    /// Whether it calls tools.
    pub fn has_calls(&self) -> bool {
        self.parts.0.iter().any(Part::is_call)
    }
}

impl Part {
    fn is_call(&self) -> bool {
        self.kind.or_empty().ends_with("tool_call")
    }
}

/// When something happened: nanoseconds, then the place in the file.
pub type Time = (u64, usize);

/// What the messages of a trace tell of calls.
#[derive(Default)]
pub struct Messages {
    asked: Vec<ToolSpan>,
    ids: BTreeSet<String>,
    /// How often each call without an id was asked for.
    without_id: BTreeMap<Key, usize>,
    /// Results, by the id of their call.
    answers: BTreeMap<String, Value>,
}

/// A call without an id: its name and, where they are known, its arguments.
type Key = (String, Option<String>);

impl Messages {
    /// Hears what a reply was told, and what it says. A reply asks for calls; everything else in
    /// messages was said before, most likely in another reply.
    pub fn hear(&mut self, span: &ModelSpan, start: Time, end: Time, is_reply: bool) {
        for (messages, time, is_new) in [(&span.input, start, false), (&span.output, end, is_reply)]
        {
            let mut told = BTreeMap::new();
            for part in messages.iter().flat_map(|message| &message.parts.0) {
                if part.is_call() {
                    self.hear_call(part, time, is_new, &mut told);
                } else if part.kind.or_empty().ends_with("tool_call_response")
                    && let Some(id) = part.id.as_ref()
                    && let Some(answer) = part.response.as_ref().or(part.result.as_ref())
                {
                    self.answers.insert(id.clone(), structured(answer.clone()));
                }
            }
        }
    }

    fn hear_call(
        &mut self,
        part: &Part,
        time: Time,
        is_new: bool,
        told: &mut BTreeMap<Key, usize>,
    ) {
        let args = part.arguments.0.clone().map(arguments);
        let asked = ToolSpan {
            time,
            has_arguments: args.is_some(),
            call: tool_call(part.name.or_empty(), None, args.unwrap_or_default()),
            id: part.id.0.clone().filter(|id| !id.is_empty()),
            ..ToolSpan::default()
        };
        if let Some(id) = &asked.id {
            if self.ids.insert(id.clone()) {
                self.asked.push(asked);
            }
            return;
        }
        // The same messages are sent again with each request, so only more of them are new.
        let key = key(&asked);
        let in_these = told.entry(key.clone()).or_insert(0);
        *in_these += 1;
        let known = self.without_id.entry(key).or_insert(0);
        if is_new || *in_these > *known {
            *known += 1;
            self.asked.push(asked);
        }
    }

    /// Adds what the spans do not tell. Returns the calls that have no span of their own.
    pub fn add_to(self, tools: &mut Vec<ToolSpan>) -> NamedCount {
        // Spans of calls that no message was found for: without an id, any call with the same name could be meant.
        let mut unmatched: [Places; 2] = Default::default();
        let ids: BTreeMap<String, usize> = (0..)
            .zip(&*tools)
            .filter_map(|(place, tool)| Some((tool.id.clone()?, place)))
            .collect();
        for (place, tool) in tools.iter().enumerate() {
            let is_asked_for = tool.id.as_ref().is_some_and(|id| self.ids.contains(id));
            if !is_asked_for {
                let places = &mut unmatched[usize::from(tool.id.is_some())];
                places.entry(key(tool)).or_default().push_back(place);
            }
        }
        let mut without_span = NamedCount::default();
        for asked in self.asked {
            let place = asked
                .id
                .as_ref()
                .and_then(|id| ids.get(id).copied())
                .or_else(|| {
                    let (key, fits) = (key(&asked), |at: usize| {
                        tools[at].may_have_server_of(&asked)
                    });
                    // Two ids are two calls.
                    let candidates = if asked.id.is_some() { 1 } else { 2 };
                    let mut candidates = unmatched.iter_mut().take(candidates);
                    candidates.find_map(|places| take(places, &key, fits))
                });
            if let Some(place) = place {
                tools[place].add(asked);
            } else {
                without_span.push(&asked.call.name);
                tools.push(asked);
            }
        }
        let mut answers = self.answers;
        for tool in tools.iter_mut() {
            let answer = tool.id.as_ref().and_then(|id| answers.remove(id));
            if let (None, Some(answer)) = (&tool.result, answer) {
                let (is_error, result) = mcp_result(answer);
                tool.is_error = tool.is_error.or(is_error);
                tool.result = Some(result);
            }
        }
        tools.sort_by_key(|tool| tool.time);
        without_span
    }
}

/// Places of spans, by what they call.
type Places = BTreeMap<Key, VecDeque<usize>>;

/// The first span of this name whose arguments are the same, or unknown.
fn take(places: &mut Places, same: &Key, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let (name, args) = same;
    let unknown = (name.clone(), None);
    let key = if places.contains_key(same) {
        same.clone()
    } else {
        // Those with unknown arguments come first of all with the name.
        let (first, _) = places.range(&unknown..).next()?;
        let is_it = *first == unknown || (args.is_none() && first.0 == *name);
        is_it.then(|| first.clone())?
    };
    let queue = places.get_mut(&key)?;
    let place = queue.front().copied().filter(|place| fits(*place))?;
    queue.pop_front();
    if queue.is_empty() {
        places.remove(&key);
    }
    Some(place)
}

fn key(tool: &ToolSpan) -> Key {
    let args = || canonical::text(&tool.call.args.value());
    (tool.call.name.clone(), tool.has_arguments.then(args))
}
