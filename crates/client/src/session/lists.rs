//! Lists with pages, and what a list of tools says about calling them.

use super::prelude::*;
use crate::permission::settle_repeated;

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
    pub fn requires_task(&self, tool: &str) -> bool {
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
        let mut params: Option<Value> = None;
        let mut cursors = HashSet::new();
        let (mut values, mut bytes) = (0, 0);
        // All pages together may be as large as one message may.
        let bytes_max = self.core.options.max_frame;
        let time_max = self
            .core
            .options
            .call_timeout
            .unwrap_or(CALL_LIMITS.call_timeout)
            .saturating_mul(CALL_TIMEOUTS_MAX);
        let began = Instant::now();
        for _ in 0..PAGES_MAX {
            let mut request = Request::new(method);
            if let Some(params) = &params {
                request = request.params(params);
            }
            let reply = self.request(&request).await?;
            bytes += reply.result().len();
            values += count_values(reply.result());
            let mut page: Value = reply.parse()?;
            let Some(Value::Array(more)) = page.get_mut(key).map(Value::take) else {
                let message = format!("the result of {method} has no list {key:?}");
                let failure = Failure::malformed(message);
                return Err(CallError::unsent(failure));
            };
            items.extend(more);
            let next = page["nextCursor"].as_str();
            let problem = if items.len() > ITEMS_MAX {
                format!("has more than {ITEMS_MAX} items")
            } else if values > VALUES_MAX {
                format!("holds more than {VALUES_MAX} values")
            } else if bytes > bytes_max {
                format!("has more than {bytes_max} bytes, the limit of one message")
            } else {
                let Some(next) = next else { return Ok(items) };
                params = Some(json!({ "cursor": next }));
                if !cursors.insert(next.to_owned()) {
                    "gave the same cursor twice".to_owned()
                } else if began.elapsed() > time_max {
                    format!("has more pages after {}", describe_duration(time_max))
                } else {
                    continue;
                }
            };
            return Err(endless(method, &problem));
        }
        Err(endless(method, &format!("has more than {PAGES_MAX} pages")))
    }
}

fn endless(method: &str, reason: &str) -> CallError {
    let message = format!("{method} does not end: it {reason}");
    CallError::unsent(Failure::malformed(message))
}
