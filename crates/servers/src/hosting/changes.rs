//! News that belong to no request: lists that changed, resources that were updated. A client of the
//! handshake era gets them on its connection or GET stream, one of the stateless era on the
//! subscriptions that it opened.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};

use super::exchange::{Exchange, Outgoing, Output};
use super::host::Host;
use super::message::META_SUBSCRIPTION;
use super::session::Session;

/// How many changes a client may be behind before it misses some.
pub const BEHIND_MAX: usize = 256;

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

/// The lists that can change.
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

impl Change {
    /// The name of the list that changed, if it is one.
    const fn list(&self) -> Option<&'static str> {
        match self {
            Self::Tools => Some("tools"),
            Self::Prompts => Some("prompts"),
            Self::Resources => Some("resources"),
            Self::Resource(_) => None,
        }
    }

    /// The notification, with this `_meta`.
    fn notification(&self, meta: Option<&Value>) -> Value {
        let method = match self.list() {
            Some(list) => format!("notifications/{list}/list_changed"),
            None => "notifications/resources/updated".to_owned(),
        };
        let mut notification = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(meta) = meta {
            notification["params"]["_meta"] = meta.clone();
        }
        if let Self::Resource(uri) = self {
            notification["params"]["uri"] = uri.as_str().into();
        }
        notification
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
pub async fn forward(host: Arc<Host>, session: Arc<Session>, output: Output) {
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

/// The changes that a subscription asked for.
struct Filter {
    lists: Vec<&'static str>,
    uris: Vec<String>,
}

impl Filter {
    /// What of `wanted` a server with these capabilities can tell.
    fn new(wanted: &Value, capabilities: &Value) -> Self {
        let is_told = |list: &&str| {
            wanted[format!("{list}ListChanged")] == true
                && capabilities[list]["listChanged"] == true
        };
        let uris = wanted["resourceSubscriptions"].as_array();
        let uris = uris.filter(|_| capabilities["resources"]["subscribe"] == true);
        let uris = uris.into_iter().flatten().filter_map(Value::as_str);
        Self {
            lists: LISTS.into_iter().filter(is_told).collect(),
            uris: uris.map(str::to_owned).collect(),
        }
    }

    fn takes(&self, change: &Change) -> bool {
        match change {
            Change::Resource(uri) => self.uris.contains(uri),
            change => change.list().is_some_and(|list| self.lists.contains(&list)),
        }
    }

    /// What is acknowledged: only what is kept.
    fn acknowledged(&self) -> Value {
        let mut kept = json!({});
        for list in &self.lists {
            kept[format!("{list}ListChanged")] = true.into();
        }
        if !self.uris.is_empty() {
            kept["resourceSubscriptions"] = json!(self.uris);
        }
        kept
    }
}

/// Acknowledges a subscription and tells of the changes that it asked for, until the client leaves.
pub async fn listen(exchange: &Exchange) {
    // Before the acknowledgement, so that nothing is missed after it.
    let mut news = exchange.host.news();
    let capabilities = exchange.host.behaviour.capabilities(exchange.revision);
    let wanted = exchange.request.params.get("notifications");
    let filter = Filter::new(wanted.unwrap_or(&Value::Null), &capabilities);
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
                exchange.send(&change.notification(Some(&meta))).await;
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}
