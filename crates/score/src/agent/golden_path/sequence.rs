//! How a sequence of tools follows another one, and where it leads back.

use super::{MissingStep, Step};
use crate::prelude::*;

/// Takes each step of the path at the first chance: if the path can be followed at all, then so. The first step that is
/// not found, and the first call that is no step.
pub fn walk(calls: &[ToolCall], path: &[ToolName<'_>]) -> (Option<MissingStep>, Option<Step>) {
    let mut steps = path.iter().enumerate().peekable();
    let mut searched_from = 0;
    let mut first_extra = None;
    for (call_index, call) in calls.iter().enumerate() {
        let is_step = |(_, step): &(usize, &ToolName<'_>)| step.fit(call) == Fit::Yes;
        if steps.next_if(is_step).is_some() {
            searched_from = call_index + 1;
        } else if first_extra.is_none() {
            first_extra = Some(Step {
                call_index,
                name: call.name.clone(),
            });
        }
    }
    let missing = steps.next().map(|(golden_index, step)| MissingStep {
        golden_index,
        name: step.written.to_owned(),
        searched_from,
    });
    (missing, first_extra)
}

/// A call that leads back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detour {
    /// To a tool used earlier that is not the one just before.
    Return,
    /// To the tool just before.
    Repeat,
}

/// The detours of this kind beyond those that the golden path makes to the same tool: how many, and the first.
pub fn wasted(names: &[&str], path: &[&str], kind: Detour) -> (u64, Option<Step>) {
    let mut allowed: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, name) in detours(path, kind) {
        *allowed.entry(name).or_default() += 1;
    }
    let mut wasted = detours(names, kind);
    wasted.retain(|(_, name)| match allowed.get_mut(name) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    });
    let first = wasted.first().map(|(call_index, name)| Step {
        call_index: *call_index,
        name: (*name).to_owned(),
    });
    (count(wasted.len()), first)
}

/// The places of all detours of this kind, with their tools.
fn detours<'a>(names: &[&'a str], kind: Detour) -> Vec<(usize, &'a str)> {
    let mut used = BTreeSet::new();
    let mut previous = None;
    let mut detours = Vec::new();
    for (index, &name) in names.iter().enumerate() {
        let found = if previous == Some(name) {
            Some(Detour::Repeat)
        } else {
            (!used.insert(name)).then_some(Detour::Return)
        };
        if found == Some(kind) {
            detours.push((index, name));
        }
        previous = Some(name);
    }
    detours
}
