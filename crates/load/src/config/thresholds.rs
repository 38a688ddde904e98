//! The section `[thresholds]`: limits overall and tool by tool.

use std::time::Duration;

use mcprove_settings::message::{Message, Part, message, section as table};
use mcprove_settings::reader::{Reader, near};
use mcprove_settings::setting::{SettingTable, Settings, fill};
use mcprove_settings::tree::Node;

use super::settings::section_advice;
use crate::drive::{Scenario, Step};
use crate::run::{Thresholds, ToolThresholds};

/// Limits as the section describes them.
pub struct ThresholdsPlan {
    pub thresholds: Thresholds,
    /// The limits of hung calls, where they were given.
    pub hang_limits: (Option<Duration>, Option<Duration>),
}

/// Reads the section.
pub fn read(reader: &mut Reader<'_>, node: &Node) -> ThresholdsPlan {
    let section = reader.section_of(node, table("thresholds"), Thresholds::declared(), |name| {
        section_advice("thresholds", name)
    });
    let mut thresholds = Thresholds::default();
    fill(&mut thresholds, reader, &section);
    let is_given = |name: &str| section.get(name).is_some();
    let hang = is_given("hang_timeout").then_some(thresholds.hang_timeout);
    let grace = is_given("grace_period").then_some(thresholds.grace_period);
    ThresholdsPlan {
        hang_limits: (hang, grace),
        thresholds,
    }
}

impl SettingTable for ToolThresholds {
    const LABEL: Part = table("thresholds.tools");

    fn advice(name: &str) -> Option<Message> {
        let is_overall = Thresholds::declared().iter().any(|it| it.name == name);
        is_overall.then(|| message!["it is for all tools together, below ", table("thresholds")])
    }
}

/// A limit for a tool that is never called would always hold.
pub fn check_names(reader: &mut Reader<'_>, node: &Node, scenario: &Scenario) {
    let Some(called) = called(scenario) else {
        return;
    };
    let tools = node.get("tools").map(|field| field.value.fields());
    for tool in tools.into_iter().flatten() {
        if !called.contains(&tool.name.as_str()) {
            let message = format!("the scenario does not call {:?}", tool.name);
            let hint = near(&called, &tool.name).map_or_else(
                || format!("it calls {}", called.join(", ")),
                |close| format!("did you mean {close:?}?"),
            );
            reader.problem(&tool.span, message, hint);
        }
    }
}

/// The tools that are called; none when the server decides.
fn called(scenario: &Scenario) -> Option<Vec<&str>> {
    let patterns = scenario.kind.as_type().patterns();
    let is_named = !scenario.tool_calls.is_empty()
        || !patterns.is_empty() && patterns.iter().all(|pattern| !pattern.steps.is_empty());
    let steps = patterns.iter().flat_map(|pattern| &pattern.steps);
    let of_steps = steps.filter_map(|step| match step {
        Step::Call(call) => Some(call.name.as_str()),
        Step::ListTools => None,
    });
    let of_calls = scenario.tool_calls.iter().map(|call| call.name.as_str());
    is_named.then(|| of_calls.chain(of_steps).collect())
}
