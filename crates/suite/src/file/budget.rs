//! The limits of one run of an agent.

use mcprove_client::session::options::CALL_TIMEOUT;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Node};

use super::keys::{self, BUDGET};
use super::limits::{RUN_TIME, TOKENS_MAX, TOOL_CALLS_MAX, TURNS, TURNS_MAX};
use super::servers::milliseconds;
use crate::plan::Budget;

/// Reads `max_turns` and `budget`.
pub(super) fn read(reader: &mut Reader<'_>, agent: &Section<'_>) -> Budget {
    let turns = reader.integer(agent, "max_turns", 1..=TURNS_MAX);
    let label = "`budget`";
    let known = keys::names(&BUDGET);
    let nothing = Node {
        data: Data::Null,
        span: 0..0,
    };
    let given = agent.get("budget").map_or(&nothing, |field| &field.value);
    let node = table::spelled(reader, given, label, &known).unwrap_or(nothing);
    let section = table::section(reader, &node, label, &known);
    Budget {
        turns: turns
            .and_then(|turns| turns.try_into().ok())
            .unwrap_or(TURNS),
        tokens: reader.integer(&section, "tokens", 1..=TOKENS_MAX),
        tool_calls: reader.integer(&section, "tool_calls", 0..=TOOL_CALLS_MAX),
        time: milliseconds(reader, &section, "time_ms").unwrap_or(RUN_TIME),
        call: milliseconds(reader, &section, "call_ms").unwrap_or(CALL_TIMEOUT),
    }
}
