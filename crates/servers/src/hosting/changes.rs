//! News that belong to no request: lists that changed, resources that were updated. A client of the
//! handshake era gets them on its connection or GET stream, one of the stateless era on the
//! subscriptions that it opened.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::broadcast::{self, error::RecvError};

use super::exchange::{Exchange, Outgoing, Output};
use super::host::Host;
use super::message::META_SUBSCRIPTION;
use super::session::Session;

/// How many changes a client may be behind before it misses some.
pub(super) const BEHIND_MAX: usize = 256;

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource at this URI.
    Resource(String),
}

impl Change {
    const fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    /// The notification, with this `_meta`.
    fn notification(&self, meta: Option<Value>) -> Value {
        let mut params = Map::new();
        if let Some(meta) = meta {
            params.insert("_meta".to_owned(), meta);
        }
        if let Self::Resource(uri) = self {
            params.insert("uri".to_owned(), uri.clone().into());
        }
        if params.is_empty() {
            return json!({ "jsonrpc": "2.0", "method": self.method() });
        }
        json!({ "jsonrpc": "2.0", "method": self.method(), "params": params })
    }
}

/// Waits for the next change that a session of the handshake era is to hear of, as a message.
pub async fn next(news: &mut broadcast::Receiver<Change>, session: &Session) -> Option<Outgoing> {
    loop {
        match news.recv().await {
            Ok(change) if session.hears_of(&change) => {
                return Some(Outgoing::more(&change.notification(None)));
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

/// Passes changes on to a connection until its session is closed.
pub(super) async fn forward(host: Arc<Host>, session: Arc<Session>, output: Output) {
    let mut news = host.news();
    let pass_on = async {
        while let Some(outgoing) = next(&mut news, &session).await {
            if output.send(outgoing).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = session.wait_closed() => {}
        () = pass_on => {}
    }
}

/// The kinds of changes that a subscription asked for.
struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl Filter {
    /// What of `wanted` a server with these capabilities can tell.
    fn new(wanted: Option<&Value>, capabilities: &Value) -> Self {
        let wants = |name: &str| {
            let value = wanted.and_then(|wanted| wanted.get(name));
            value.and_then(Value::as_bool) == Some(true)
        };
        let has = |list: &str, what: &str| {
            let value = capabilities.get(list).and_then(|list| list.get(what));
            value.and_then(Value::as_bool) == Some(true)
        };
        let uris = wanted
            .and_then(|wanted| wanted.get("resourceSubscriptions"))
            .and_then(Value::as_array);
        let uris = uris.filter(|_| has("resources", "subscribe"));
        Self {
            tools: wants("toolsListChanged") && has("tools", "listChanged"),
            prompts: wants("promptsListChanged") && has("prompts", "listChanged"),
            resources: wants("resourcesListChanged") && has("resources", "listChanged"),
            uris: uris
                .into_iter()
                .flatten()
                .filter_map(|uri| uri.as_str().map(str::to_owned))
                .collect(),
        }
    }

    fn takes(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.contains(uri),
        }
    }

    /// What is acknowledged: only what is kept.
    fn acknowledged(&self) -> Value {
        let mut kept = Map::new();
        let lists = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (name, _) in lists.into_iter().filter(|(_, is_kept)| *is_kept) {
            kept.insert(name.to_owned(), true.into());
        }
        if !self.uris.is_empty() {
            kept.insert("resourceSubscriptions".to_owned(), json!(self.uris));
        }
        kept.into()
    }
}

/// Acknowledges a subscription and tells of the changes that it asked for, until the client leaves.
pub(super) async fn listen(exchange: &Exchange) {
    // Before the acknowledgement, so that nothing is missed after it.
    let mut news = exchange.host.news();
    let capabilities = exchange.host.behaviour.capabilities(exchange.revision);
    let filter = Filter::new(exchange.request.params.get("notifications"), &capabilities);
    let meta = json!({ META_SUBSCRIPTION: exchange.request.id });
    exchange
        .send(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": { "_meta": meta, "notifications": filter.acknowledged() },
        }))
        .await;
    loop {
        match news.recv().await {
            Ok(change) if filter.takes(&change) => {
                let notification = change.notification(Some(meta.clone()));
                exchange.send(&notification).await;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}
