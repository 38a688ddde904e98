//! A server without tools: its prompts are got and its resources read, which changes nothing.

use super::{Prober, ToolHealth, ToolOutcome, UNREACHED};
use crate::prelude::*;

/// How many prompts are got, and how many resources are read.
const EACH_MAX: usize = 20;
/// What an argument of a prompt says; all of them are texts.
const ARGUMENT: &str = "text";

impl Prober<'_> {
    /// Gets the prompts and reads the resources, as far as the server lists any.
    pub async fn examine_others(&mut self) -> (Vec<ToolHealth>, Vec<ToolHealth>) {
        let prompts = self.ask_all("prompts").await;
        (prompts, self.ask_all("resources").await)
    }

    async fn ask_all(&mut self, kind: &str) -> Vec<ToolHealth> {
        let mut healths = Vec::new();
        for (name, request) in self.list_others(kind).await {
            healths.push(self.ask(name, &request).await);
        }
        healths
    }

    /// What is listed, as requests; nothing where the server does not declare it, or cannot list it.
    async fn list_others(&mut self, kind: &str) -> Vec<(String, Request)> {
        let Some(session) = &self.session else {
            return Vec::new();
        };
        if session.facts().capabilities.get(kind).is_none() {
            return Vec::new();
        }
        let listed = match kind {
            "prompts" => session.list_prompts().await,
            _ => session.list_resources().await,
        };
        match listed {
            Ok(listed) => listed
                .iter()
                .filter_map(|entry| request(kind, entry))
                .take(EACH_MAX)
                .collect(),
            Err(error) => {
                let warning = format!("{kind}/list failed: {error}");
                self.first.warnings.push(warning);
                Vec::new()
            }
        }
    }

    async fn ask(&mut self, name: String, request: &Request) -> ToolHealth {
        let Some(session) = &self.session else {
            return ToolHealth::skipped(name, UNREACHED);
        };
        let began = Instant::now();
        let outcome = session.request(request).await;
        let elapsed = began.elapsed();
        match outcome.and_then(|reply| reply.parse::<Value>()) {
            Ok(_) => ToolHealth::new(name, ToolOutcome::Ok, Some(elapsed)),
            Err(error) => self.explain(&name, &error, elapsed).await,
        }
    }
}

fn request(kind: &str, entry: &Value) -> Option<(String, Request)> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    if kind == "resources" {
        let uri = text("uri")?;
        let request = Request::new("resources/read").params(&json!({ "uri": uri }));
        return Some((uri, request));
    }
    let name = text("name")?;
    let arguments: Map<String, Value> = entry
        .get("arguments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|argument| argument.get("required").and_then(Value::as_bool) == Some(true))
        .filter_map(|argument| Some((argument.get("name")?.as_str()?.to_owned(), ARGUMENT.into())))
        .collect();
    let request =
        Request::new("prompts/get").params(&json!({ "name": name, "arguments": arguments }));
    Some((name, request))
}
