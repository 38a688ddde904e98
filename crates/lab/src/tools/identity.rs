//! Who the client is taken for.

use crate::prelude::*;

/// Tells a client who it is taken for.
pub fn whoami(call: Call<'_>) -> Value {
    let caller = call.exchange.caller();
    let identity = caller.identity.as_ref();
    let client = call.exchange.client();
    json!({
        "user": caller.user().unwrap_or("anonymous"),
        "auth_type": identity.map_or("none", |identity| identity.auth_type),
        "transport": caller.transport(),
        "session_id": call.exchange.session.name(),
        "remote_addr": caller.remote.map(|remote| remote.to_string()),
        "user_agent": caller.header("user-agent"),
        "client": if client.is_object() { client } else { Value::Null },
        "protocol_version": call.exchange.revision,
    })
}

/// Shows the headers that reached the server, without their secrets.
pub fn headers(call: Call<'_>) -> Value {
    let shown = redact_headers(header_texts(&call.exchange.caller().headers));
    let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
    json!({ "headers": shown })
}
