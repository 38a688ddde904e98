//! A program to start: a server's, or an agent's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcprove_load::config::read_env;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::tree::{Data, Field};

/// A program to start.
pub(super) struct Command {
    pub program: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in; ours where there is none.
    pub working_dir: Option<PathBuf>,
}

/// The keys that belong to a program.
pub(super) const KEYS: [&str; 5] = ["command", "args", "env", "cwd", "working_dir"];

const HINT: &str = "write [python, -m, my_mcp]";

/// The words of a command in one text, as a shell splits them; else what is wrong.
pub(super) fn split_words(text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|error| error.to_string())
}

/// Reads the keys of a program; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, section: &Section<'_>, folder: &Path) -> Option<Command> {
    let words = section
        .get("command")
        .and_then(|field| words(reader, section, field));
    let more = reader.texts(section, "args").unwrap_or_default();
    let env = read_env(reader, section);
    let working_dir = working_dir(reader, section, folder);
    let mut words = words?.into_iter();
    let program = words.next()?;
    Some(Command {
        program: reachable(program, working_dir.as_deref()),
        args: words.chain(more).collect(),
        env,
        working_dir,
    })
}

/// The program and its first arguments.
fn words(reader: &mut Reader<'_>, section: &Section<'_>, field: &Field) -> Option<Vec<String>> {
    let words = if matches!(field.value.data, Data::List(_)) {
        reader.texts(section, "command")?
    } else {
        let text = reader.text(section, "command")?;
        match split_words(text) {
            Ok(words) => words,
            Err(problem) => {
                let message = format!("`command` cannot be split into words: {problem}");
                let hint = format!("check the quotes, or write a list: {HINT}");
                reader.problem(&field.value.span, message, hint);
                return None;
            }
        }
    };
    if words
        .first()
        .is_none_or(|program| program.trim().is_empty())
    {
        let message = "`command` names no program".to_owned();
        reader.problem(&field.value.span, message, HINT);
        return None;
    }
    Some(words)
}

/// The folder that a program starts in.
fn working_dir(reader: &mut Reader<'_>, section: &Section<'_>, folder: &Path) -> Option<PathBuf> {
    if let (Some(_), Some(second)) = (section.get("cwd"), section.get("working_dir")) {
        let message = "`cwd` and `working_dir` are the same".to_owned();
        reader.problem(&second.span, message, "leave one of them out");
    }
    let given = reader.text(section, "cwd");
    let given = given.or_else(|| reader.text(section, "working_dir"));
    let path = given.map_or_else(|| folder.to_owned(), |given| folder.join(given));
    (!path.as_os_str().is_empty()).then_some(path)
}

/// A program that is named by a relative path is looked for where it starts. Unix does so by itself,
/// Windows looks where we are.
fn reachable(program: String, working_dir: Option<&Path>) -> String {
    let is_path = program.contains(['/', '\\']) && Path::new(&program).is_relative();
    match working_dir {
        Some(folder) if cfg!(windows) && is_path => folder.join(program).display().to_string(),
        _ => program,
    }
}
