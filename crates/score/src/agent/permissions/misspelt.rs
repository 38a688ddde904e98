//! Rules that deny nothing because of how they are written: an argument that no call has.

use super::PermissionsBlock;
use super::check::compile;
use crate::prelude::*;

/// Tells of each argument of a rule of `deny` that no call of its tool has, in any run. An argument
/// that is absent matches nothing, so that a misspelt one lets everything through.
pub fn note_absent(
    block: &PermissionsBlock,
    runs: &[AgentRun],
    card: &mut Scorecard,
) -> Result<(), ScoreError> {
    for (place, (rule, compiled)) in block
        .deny
        .iter()
        .zip(compile(&block.deny, "deny")?)
        .enumerate()
    {
        if rule.args.0.is_empty() {
            continue;
        }
        let mut is_called = false;
        let mut has = vec![false; rule.args.0.len()];
        for call in runs
            .iter()
            .flat_map(|run| &run.tool_calls)
            .filter(|call| !call.args.is_null())
        {
            if has.iter().all(|has| *has) {
                break;
            }
            if compiled.fit_tool(call) == Fit::Yes {
                is_called = true;
                let args = call.args.value();
                for (has, is_there) in has.iter_mut().zip(compiled.paths_in(&args)) {
                    *has |= is_there;
                }
            }
        }
        let absent = (rule.args.0)
            .keys()
            .zip(has)
            .filter(|(_, has)| is_called && !has);
        for (path, _) in absent {
            card.note(format!(
                "permissions: args.{} of deny[{place}] was in no call of {}; is it spelt right?",
                phrase::text(path),
                phrase::name(&rule.tool)
            ));
        }
    }
    Ok(())
}
