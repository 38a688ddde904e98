//! Long lists, a page at a time.

use serde_json::{Map, Value, json};

use super::message::{INVALID_PARAMS, Refusal};

/// The page of `items` that the cursor in `params` asks for, under the key `name`, with the cursor of
/// the next one. A cursor that was never given out is refused.
pub fn page(
    name: &str,
    items: &[Value],
    size: usize,
    params: &Map<String, Value>,
) -> Result<Value, Refusal> {
    let start = match params.get("cursor") {
        None => 0,
        Some(cursor) => cursor
            .as_str()
            .and_then(|cursor| cursor.strip_prefix("from-"))
            .and_then(|start| start.parse().ok())
            .filter(|start| *start < items.len())
            .ok_or_else(|| Refusal::new(INVALID_PARAMS, "Invalid params: unknown cursor"))?,
    };
    let end = start.saturating_add(size.max(1)).min(items.len());
    let mut result = json!({ name: items.get(start..end).unwrap_or_default() });
    if end < items.len() {
        result["nextCursor"] = format!("from-{end}").into();
    }
    Ok(result)
}
