//! News that belong to no request: lists that changed, resources that were updated. A client of the
//! handshake era gets them on its connection or GET stream, one of the stateless era on the
//! subscriptions that it opened.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::prelude::*;

/// How many changes a client may be behind before it misses some.
pub const BEHIND_MAX: usize = 256;

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A list: `tools`, `prompts` or `resources`.
    List(&'static str),
    /// The resource at this URI.
    Resource(String),
}

/// The lists that can change.
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

impl Change {
    /// The notification, with this `_meta`.
    fn notification(&self, meta: Option<&Value>) -> Value {
        let method = match self {
            Self::List(list) => format!("notifications/{list}/list_changed"),
            Self::Resource(_) => "notifications/resources/updated".to_owned(),
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

/// Waits for the next change of these, as a message with this `_meta`. None is the end of the server.
async fn next(
    news: &mut broadcast::Receiver<Change>,
    is_wanted: impl Fn(&Change) -> bool,
    meta: Option<&Value>,
) -> Option<Value> {
    loop {
        match news.recv().await {
            Ok(change) if is_wanted(&change) => return Some(change.notification(meta)),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

/// Waits for the next change that a session of the handshake era is to hear of; none when it is closed.
pub async fn next_for(
    session: &Session,
    news: &mut broadcast::Receiver<Change>,
) -> Option<Outgoing> {
    let message = tokio::select! {
        () = session.wait_closed() => None,
        message = next(news, |change| session.hears_of(change), None) => message,
    }?;
    Some(Outgoing::new(message.to_string(), Ending::More))
}

/// Passes changes on to a connection until its session is closed.
pub async fn forward(peer: Peer) {
    let mut news = peer.host.news();
    while let Some(outgoing) = next_for(&peer.session, &mut news).await {
        if peer.output.send(outgoing).await.is_err() {
            return;
        }
    }
}

/// The changes that a subscription gets, as they are acknowledged: what of `wanted` a server with these capabilities can
/// tell.
fn granted(wanted: &Value, capabilities: &Value) -> Value {
    let mut granted = json!({});
    for list in LISTS {
        let key = format!("{list}ListChanged");
        if wanted[&key] == true && capabilities[list]["listChanged"] == true {
            granted[key] = true.into();
        }
    }
    let uris = wanted["resourceSubscriptions"].as_array();
    let uris = uris.filter(|_| capabilities["resources"]["subscribe"] == true);
    let uris: Vec<&Value> = uris
        .into_iter()
        .flatten()
        .filter(|uri| uri.is_string())
        .collect();
    if !uris.is_empty() {
        granted["resourceSubscriptions"] = json!(uris);
    }
    granted
}

/// Acknowledges a subscription and tells of the changes that it asked for, until the client leaves.
pub async fn listen(exchange: &Exchange) {
    // Before the acknowledgement, so that nothing is missed after it.
    let mut news = exchange.host.news();
    let capabilities = exchange.host.behaviour.capabilities(exchange.revision);
    let wanted = exchange.request.params.get("notifications");
    let granted = granted(wanted.unwrap_or(&Value::Null), &capabilities);
    let meta = json!({ META_SUBSCRIPTION: exchange.request.id });
    let acknowledged = json!({ "_meta": meta, "notifications": granted });
    let method = "notifications/subscriptions/acknowledged";
    exchange.notify(method, &acknowledged).await;
    let is_granted = |change: &Change| match change {
        Change::List(list) => granted[format!("{list}ListChanged")] == true,
        Change::Resource(uri) => {
            let uris = granted["resourceSubscriptions"].as_array();
            uris.is_some_and(|uris| uris.iter().any(|granted| granted == uri))
        }
    };
    while let Some(message) = next(&mut news, is_granted, Some(&meta)).await {
        exchange.send(&message).await;
    }
    pending::<()>().await;
}
