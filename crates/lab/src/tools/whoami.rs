//! Tells a client who it is taken for.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply};
use crate::registry::{Entry, nothing};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "whoami",
    group: "identity",
    explanation: "Tells who the caller is taken for: user, transport, session, address, client, revision.",
    input: nothing,
    output: Some(|| {
        let text = json!({ "type": ["string", "null"] });
        crate::registry::whole(&json!({
            "user": { "type": "string" },
            "auth_type": { "type": "string" },
            "transport": { "type": "string" },
            "session_id": text,
            "remote_addr": text,
            "user_agent": text,
            "client": { "type": ["object", "null"] },
            "protocol_version": { "type": "string" },
        }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

fn answer(call: Call<'_>) -> Reply {
    let caller = call.exchange.caller();
    let identity = caller.identity.as_ref();
    let client = call.exchange.client();
    Reply::Structured(json!({
        "user": identity.map_or("anonymous", |identity| identity.user.as_str()),
        "auth_type": identity.map_or("none", |identity| identity.auth_type),
        "transport": caller.way.name(),
        "session_id": call.exchange.session_name(),
        "remote_addr": caller.remote.map(|remote| remote.to_string()),
        "user_agent": caller.header("user-agent"),
        "client": if client.is_object() { client } else { json!(null) },
        "protocol_version": call.exchange.revision,
    }))
}
