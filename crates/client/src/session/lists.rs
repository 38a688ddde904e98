//! Lists with pages, and what a list of tools says about calling them.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

use mcprove_settings::quantity::describe_duration;
use mcprove_settings::sync::lock;
use mcprove_trace::protocol::parameter_headers::ParameterHeaders;
use mcprove_trace::protocol::{Era, Tool, VALUES_MAX, count_values};
use serde_json::{Value, json};

use super::{CallError, Request, Session, ViolationKind};
use crate::permission::settle_repeated;
use crate::transport::Failure;

/// A list with more pages than this does not end.
const PAGES_MAX: usize = 1000;
/// A list with more items than this is taken as endless.
const ITEMS_MAX: usize = 100_000;
/// How many times as long as one call a whole list may take.
const CALL_TIMEOUTS_MAX: u32 = 10;

/// What the last list of tools says about calling them.
pub type ToolRules = Mutex<HashMap<String, ToolRule>>;

pub struct ToolRule {
    requires_task: bool,
    headers: Option<ParameterHeaders>,
}

impl Session {
    pub(super) fn requires_task(&self, tool: &str) -> bool {
        let rules = lock(&self.tools);
        rules.get(tool).is_some_and(|rule| rule.requires_task)
    }

    /// A call of `tool` with the headers that its definition asks for, to be sent any number of
    /// times.
    pub fn tool_request(&self, tool: &str, arguments: &Value) -> Request {
        let mut request = Request::tool(tool, arguments);
        let rules = lock(&self.tools);
        if let Some(headers) = rules.get(tool).and_then(|rule| rule.headers.as_ref()) {
            request.headers = headers.extract(arguments);
        }
        request
    }

    /// Every tool of the server, all pages of the list. Over HTTP in the stateless era, tools with
    /// invalid `x-mcp-header` annotations are left out, as the revision demands.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, CallError> {
        let items = self.list("tools/list", "tools").await?;
        let mirrors_headers = self.era() == Era::Stateless && self.transport() == "http";
        let mut tools = Vec::with_capacity(items.len());
        let mut rules = HashMap::new();
        for item in items {
            let tool: Tool = serde_json::from_value(item).map_err(|error| {
                let message = format!("tools/list has an item that is not a tool: {error}");
                CallError::unsent(Failure::malformed(message))
            })?;
            let headers = match ParameterHeaders::from_schema(&tool.input_schema) {
                Ok(headers) => mirrors_headers.then_some(headers),
                Err(_) if !mirrors_headers => None,
                Err(error) => {
                    let message = format!("tool {:?} is left out: {error}", tool.name);
                    self.core.violate(ViolationKind::InvalidTool, message);
                    continue;
                }
            };
            let rule = ToolRule {
                requires_task: tool.requires_task(),
                headers,
            };
            rules.insert(tool.name.clone(), rule);
            tools.push(tool);
        }
        *lock(&self.tools) = rules;
        settle_repeated(&mut tools);
        Ok(tools)
    }

    /// Every prompt of the server.
    pub async fn list_prompts(&self) -> Result<Vec<Value>, CallError> {
        self.list("prompts/list", "prompts").await
    }

    /// Every resource of the server.
    pub async fn list_resources(&self) -> Result<Vec<Value>, CallError> {
        self.list("resources/list", "resources").await
    }

    /// All pages of a list: `key` names the items in the result of `method`.
    pub async fn list(&self, method: &str, key: &str) -> Result<Vec<Value>, CallError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        let mut cursors = HashSet::new();
        let mut size = Size::default();
        let time_max = self
            .core
            .options
            .call_timeout
            .saturating_mul(CALL_TIMEOUTS_MAX);
        let began = Instant::now();
        for _ in 0..PAGES_MAX {
            let request = match &cursor {
                None => Request::new(method),
                Some(cursor) => Request::new(method).params(&json!({ "cursor": cursor })),
            };
            let reply = self.request(&request).await?;
            size.add(reply.result());
            let mut page: Value = reply.parse()?;
            let Some(Value::Array(more)) = page.get_mut(key).map(Value::take) else {
                let message = format!("the result of {method} has no list {key:?}");
                let failure = Failure::malformed(message);
                return Err(CallError::unsent(failure));
            };
            items.extend(more);
            let next = page
                .get("nextCursor")
                .and_then(Value::as_str)
                .map(str::to_owned);
            if let Some(excess) = size.excess(items.len(), self.core.options.max_frame) {
                return Err(endless(method, &excess));
            }
            match next {
                None => return Ok(items),
                Some(next) if !cursors.insert(next.clone()) => {
                    return Err(endless(method, "gave the same cursor twice"));
                }
                Some(_) if began.elapsed() > time_max => {
                    let time = describe_duration(time_max);
                    return Err(endless(method, &format!("has more pages after {time}")));
                }
                Some(next) => cursor = Some(next),
            }
        }
        Err(endless(method, &format!("has more than {PAGES_MAX} pages")))
    }
}

/// What the pages of a list amount to, in memory too.
#[derive(Default)]
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, page: &str) {
        self.bytes += page.len();
        self.values += count_values(page);
    }

    /// What there is too much of. All pages together may be as large as one message may.
    fn excess(&self, items: usize, bytes_max: usize) -> Option<String> {
        if items > ITEMS_MAX {
            Some(format!("has more than {ITEMS_MAX} items"))
        } else if self.values > VALUES_MAX {
            Some(format!("holds more than {VALUES_MAX} values"))
        } else if self.bytes > bytes_max {
            Some(format!(
                "has more than {bytes_max} bytes, the limit of one message"
            ))
        } else {
            None
        }
    }
}

fn endless(method: &str, reason: &str) -> CallError {
    let message = format!("{method} does not end: it {reason}");
    CallError::unsent(Failure::malformed(message))
}
