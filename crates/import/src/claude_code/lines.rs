//! Which session each line of a file belongs to. A session that is taken up again may go on under
//! another id: its first message then names one of the other session as its parent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::ImportError;
use crate::document::{Document, Element};
use crate::lenient::{Maybe, Text};

/// A line of a session.
pub struct Line<'a> {
    pub element: Element<'a>,
    pub kind: Kind,
    /// Whether it belongs to a sub-agent.
    pub is_aside: bool,
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    User,
    Assistant,
    Result,
    #[serde(other)]
    Other,
}

/// What tells where a line belongs.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Header {
    #[serde(rename = "type")]
    kind: Maybe<Kind>,
    session_id: Text,
    #[serde(rename = "session_id")]
    printed_session_id: Text,
    uuid: Text,
    parent_uuid: Text,
    is_sidechain: Maybe<bool>,
    #[serde(rename = "parent_tool_use_id")]
    parent: Option<IgnoredAny>,
}

impl Kind {
    /// Whether it is of the user or of the assistant.
    pub fn is_turn(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

/// The lines of each session, in the order in which the sessions begin.
pub fn sessions<'a>(document: &Document<'a>) -> Result<Vec<Vec<Line<'a>>>, ImportError> {
    let mut sessions: Vec<Vec<Line<'a>>> = vec![Vec::new()];
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    // The session of each line, by the id of the line.
    let mut of_lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut current = 0;
    for element in &document.elements {
        let header: Header = document
            .parse(element.json)
            .map_err(|error| element.locate(error))?;
        let kind = header.kind.unwrap_or(Kind::Other);
        if let Some(id) = header.session_id.0.or(header.printed_session_id.0) {
            current = match places.get(&id) {
                Some(place) => *place,
                // What is no message does not begin a session.
                None if !kind.is_turn() => current,
                None => {
                    let next = if places.is_empty() { 0 } else { sessions.len() };
                    let parent = header.parent_uuid.as_ref();
                    let place = parent.and_then(|id| of_lines.get(id)).copied();
                    let place = place.unwrap_or(next);
                    places.insert(id, place);
                    place
                }
            };
        }
        if let Maybe(Some(id)) = header.uuid {
            of_lines.entry(id).or_insert(current);
        }
        let line = Line {
            element: element.clone(),
            kind,
            is_aside: *header.is_sidechain == Some(true) || header.parent.is_some(),
        };
        match sessions.get_mut(current) {
            Some(lines) => lines.push(line),
            None => sessions.push(vec![line]),
        }
    }
    Ok(sessions)
}
