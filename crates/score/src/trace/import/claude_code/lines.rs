//! Which session each line of a file belongs to. A session that is taken up again may go on under
//! another id: its first message then names one of the other session as its parent.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use super::super::ImportError;
use super::super::document::{Document, Element, Outline};

/// A line of a session.
pub(super) struct Line<'a> {
    pub(super) element: Element<'a>,
    /// Whether it is of the user or of the assistant.
    pub(super) is_turn: bool,
    /// Whether it belongs to a sub-agent.
    pub(super) is_aside: bool,
}

/// The lines of each session, in the order in which the sessions begin.
pub(super) fn sessions<'a>(document: &Document<'a>) -> Result<Vec<Vec<Line<'a>>>, ImportError> {
    let mut sessions: Vec<Vec<Line<'a>>> = vec![Vec::new()];
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    // The session of each line, by the id of the line.
    let mut of_lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut current = 0;
    for element in &document.elements {
        let outline = outline(document, element).map_err(|error| element.locate(error))?;
        let get = |key: &str| text(&outline, key);
        let is_turn = matches!(get("type").as_deref(), Some("user" | "assistant"));
        if let Some(id) = get("sessionId").or_else(|| get("session_id")) {
            current = match places.get(&id) {
                Some(place) => *place,
                // What is no message does not begin a session.
                None if !is_turn => current,
                None => {
                    let parent = get("parentUuid").and_then(|parent| of_lines.get(&parent));
                    let next = if places.is_empty() { 0 } else { sessions.len() };
                    let place = parent.copied().unwrap_or(next);
                    places.insert(id, place);
                    place
                }
            };
        }
        if let Some(id) = get("uuid") {
            of_lines.entry(id).or_insert(current);
        }
        let line = Line {
            element: element.clone(),
            is_turn,
            is_aside: is_aside(&outline),
        };
        match sessions.get_mut(current) {
            Some(lines) => lines.push(line),
            None => sessions.push(vec![line]),
        }
    }
    Ok(sessions)
}

fn outline<'a>(document: &Document<'a>, element: &Element<'a>) -> Result<Outline<'a>, ImportError> {
    if element.json.starts_with('{') {
        return document.parse(element.json);
    }
    document.parse::<IgnoredAny>(element.json)?;
    Err(ImportError::shape(
        "a line of a session must be an object",
        "each line has a `type`",
    ))
}

/// Whether a line belongs to a sub-agent.
fn is_aside(outline: &Outline<'_>) -> bool {
    let get = |key: &str| outline.get(key).map(|value| value.get());
    get("isSidechain") == Some("true")
        || get("parent_tool_use_id").is_some_and(|parent| parent != "null")
}

fn text(outline: &Outline<'_>, key: &str) -> Option<String> {
    serde_json::from_str(outline.get(key)?.get()).ok()
}
