//! The files of cassettes: `cassettes/<agent>__<model>.json` beside the suite.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::CassetteError;
use crate::plan::{AgentTestPlan, Driver, SuitePlan};

/// The folder of the cassettes, beside the suite.
pub const FOLDER: &str = "cassettes";
/// The longest part of a name.
const PART_CHARS_MAX: usize = 80;

/// The name of the file of a test's cassette, which every file system takes.
pub fn file_name(test: &AgentTestPlan) -> String {
    let model = match &test.driver {
        Driver::Model(model) => model.model.as_str(),
        Driver::Command(command) => command.model.as_deref().unwrap_or_else(|| {
            let name = command.program.rsplit(['/', '\\']).next();
            name.unwrap_or(&command.program)
        }),
    };
    format!("{}{}.json", agent_part(test), safe(model))
}

/// What the names of all cassettes of a test begin with, whatever the model.
pub(super) fn agent_part(test: &AgentTestPlan) -> String {
    format!("{}__", safe(&test.head.name))
}

/// Letters, digits, `-`, `_` and `.` of any language stay; anything else, one `-` for all in a row.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for character in name.chars() {
        if character.is_alphanumeric() || matches!(character, '-' | '_' | '.') {
            safe.push(character);
        } else if !safe.ends_with('-') {
            safe.push('-');
        }
    }
    // Windows takes no dot at the end, and others hide what begins with one.
    let safe = safe.trim_matches(['-', '.']);
    if safe.chars().count() > PART_CHARS_MAX {
        let hash = mcprove_settings::hash::fnv_1a(name.bytes());
        let begin: String = safe.chars().take(PART_CHARS_MAX - 17).collect();
        return format!("{begin}-{hash:016x}");
    }
    if safe.is_empty() {
        return format!(
            "agent-{:016x}",
            mcprove_settings::hash::fnv_1a(name.bytes())
        );
    }
    safe.to_owned()
}

/// Refuses a test whose cassette would be that of another one of its suite. Upper and lower case are the same file on many
/// systems.
pub fn same_file(test: &AgentTestPlan, plan: &SuitePlan) -> Result<(), CassetteError> {
    let file = file_name(test);
    let mut others = plan
        .agents
        .iter()
        .filter(|other| other.head.name != test.head.name);
    match others.find(|other| file_name(other).to_lowercase() == file.to_lowercase()) {
        None => Ok(()),
        Some(other) => Err(CassetteError::SameFile {
            file,
            one: test.head.name.clone(),
            other: other.head.name.clone(),
        }),
    }
}

/// Refuses suites of which two agents would write the same cassette.
///
/// ```
/// use mcprove_suite::agent::cassette::same_file_of_suites;
///
/// assert!(same_file_of_suites(&[]).is_ok());
/// ```
pub fn same_file_of_suites(plans: &[SuitePlan]) -> Result<(), CassetteError> {
    let mut seen: BTreeMap<PathBuf, (&str, &str)> = BTreeMap::new();
    for plan in plans {
        // Two ways to write a folder are one folder.
        let folder = plan
            .folder
            .canonicalize()
            .unwrap_or_else(|_| plan.folder.clone());
        for agent in &plan.agents {
            let name = file_name(agent).to_lowercase();
            let own = (plan.file.as_str(), agent.head.name.as_str());
            let before = seen.insert(folder.join(name), own);
            // Those of one suite are refused one by one.
            if let Some((file, other)) = before.filter(|(file, _)| *file != plan.file) {
                return Err(CassetteError::SameFile {
                    file: file_name(agent),
                    one: format!("{other} of {file}"),
                    other: format!("{} of {}", agent.head.name, plan.file),
                });
            }
        }
    }
    Ok(())
}
