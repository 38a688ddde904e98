//! A program to start: a server's, or an agent's.

use mcprove_settings::message::sentence;
use std::path::{Path, PathBuf};

use mcprove_load::config::read_env;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::tree::Field;

use super::kinds::CommandWords;
use crate::plan::CommandPlan;

/// The keys that belong to a program.
pub(super) const KEYS: [&str; 5] = ["command", "args", "env", "cwd", "working_dir"];

/// The program of a section with a `command`, which was read already, as `args` and the folder were.
pub(super) fn read(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    (command, args): (CommandWords, Vec<String>),
    cwd: Option<String>,
    folder: &Path,
) -> CommandPlan {
    one_of(reader, section, "cwd", "working_dir");
    let path = cwd.map_or_else(|| folder.to_owned(), |given| folder.join(given));
    let working_dir = (!path.as_os_str().is_empty()).then_some(path);
    let mut words = command.0.into_iter();
    let program = words.next().unwrap_or_default();
    CommandPlan {
        program: reachable(program, working_dir.as_ref()),
        args: words.chain(args).collect(),
        env: read_env(reader, section),
        working_dir,
        model: None,
    }
}

/// The entry under one of two names for the same thing.
pub(super) fn one_of<'n>(
    reader: &mut Reader<'_>,
    section: &Section<'n>,
    name: &str,
    other: &str,
) -> Option<&'n Field> {
    let second = section.get(other);
    if let (Some(_), Some(second)) = (section.get(name), second) {
        let message = sentence!("`{name}` and `{other}` are the same");
        reader.problem(&second.span, message, "leave one of them out");
    }
    section.get(name).or(second)
}

/// A program that is named by a relative path is looked for where it starts. Unix does so by itself,
/// Windows looks where we are.
fn reachable(program: String, working_dir: Option<&PathBuf>) -> String {
    let is_path = program.contains(['/', '\\']) && Path::new(&program).is_relative();
    match working_dir {
        Some(folder) if cfg!(windows) && is_path => folder.join(program).display().to_string(),
        _ => program,
    }
}
