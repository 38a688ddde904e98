//! Recordings of the same test with another model: their files have other names, so nobody would miss them.

use std::path::Path;

use super::error::CassetteError;
use super::file::read;
use super::name::{FOLDER, agent_part, file_name};
use crate::plan::{AgentTestPlan, SuitePlan};

/// How many files are looked into.
const FILES_MAX: usize = 16;

/// Refuses a test that has no cassette of its own but one of another model: what was replayed until now must not
/// begin to ask a model because a name changed.
pub fn none_of_another_model(test: &AgentTestPlan, plan: &SuitePlan) -> Result<(), CassetteError> {
    let folder = plan.folder.join(FOLDER);
    let suite = Path::new(&plan.file).file_name().unwrap_or_default();
    for name in candidates(test, &folder) {
        // What cannot be read is nobody's recording.
        if let Ok(Some(cassette)) = read(&folder.join(&name))
            && cassette.agent == test.head.name
            && *cassette.suite == *suite.to_string_lossy()
        {
            return Err(CassetteError::Drift {
                file: format!("{FOLDER}/{name}"),
                changes: cassette.fits.changes(test, plan).join("; "),
            });
        }
    }
    Ok(())
}

/// The files that may be recordings of the test, in order.
fn candidates(test: &AgentTestPlan, folder: &Path) -> Vec<String> {
    let begin = agent_part(test);
    let own = file_name(test);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_candidate = |name: &String| {
        let is_json = Path::new(name).extension().is_some_and(|it| it == "json");
        name.starts_with(&begin) && is_json && *name != own
    };
    let mut names: Vec<String> = names.filter(is_candidate).collect();
    names.sort();
    names.truncate(FILES_MAX);
    names
}
