//! Content of other kinds than text; what never changes stands in the catalogue.

use crate::prelude::*;
use crate::resources;

/// A resource inside a result, and a link to one.
pub async fn resource(call: Call<'_>) -> Answered {
    let uri = call.text("uri");
    let contents = resources::read_for(call.exchange, uri, call.lab).await;
    let contents = contents.ok_or_else(|| invalid(format!("Resource not found: {uri}")))?;
    let mut blocks = vec![json!({ "type": "resource", "resource": contents })];
    if call.exchange.revision >= Revision::V2025_06_18 {
        let kind = contents.get("mimeType");
        blocks.push(json!({ "type": "resource_link", "uri": uri, "name": uri, "mimeType": kind }));
    }
    Ok(structured(&json!({ "uri": uri }), blocks))
}
