//! Cassettes as files: `cassettes/<agent>__<model>.json` beside the suite, read within limits, written whole or not at
//! all.

use mcprove_settings::input;
use mcprove_settings::outside::{LINKED, is_linked};

use super::format::{CASSETTE_FORMAT, Cassette, check, other_format};
use crate::prelude::*;

/// The largest cassette.
pub const BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The folder of the cassettes, beside the suite.
pub const FOLDER: &str = "cassettes";
/// The longest part of a name.
const PART_CHARS_MAX: usize = 80;
/// How many recordings of other models are looked into.
const OTHERS_MAX: usize = 16;

/// What to try when a recording has no answer.
pub fn record_or_live() -> Message {
    sentence!(
        "record it again with {}, or run with {}",
        setting("record"),
        setting("live")
    )
}

/// What cannot be done with a file, and what the system says.
fn cannot(path: &Path, action: &str, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(
        format!("{}: {action}: {why}", shown(path)),
        sentence!(
            "check the path and its permissions, or run with {}",
            setting("live")
        ),
    )
}

/// Reads a cassette; `None` if there is no file.
pub fn read(path: &Path) -> DiagnosticResult<Option<Cassette>> {
    let bytes = match input::read_file(path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            let bytes = fs::metadata(path).map_or(BYTES_MAX, |metadata| metadata.len());
            let name = shown(path);
            return Err(Diagnostic::new(
                format!(
                    "{name}: the cassette has {bytes} bytes, and at most {BYTES_MAX} are allowed"
                ),
                record_or_live(),
            ));
        }
        Err(error) => return Err(cannot(path, "cannot be read", error)),
    };
    let parsed = String::from_utf8(bytes)
        .map_err(|_| (String::new(), "it is not UTF-8".to_owned()))
        .and_then(|text| parse(&text));
    parsed.map(Some).map_err(|(place, message)| {
        let is_outside = is_linked(path) || path.parent().is_some_and(Path::is_symlink);
        let message = if is_outside { LINKED } else { &message };
        broken(path, &place, message)
    })
}

/// That a file is no cassette, or not a whole one.
fn broken(path: &Path, place: &str, message: &str) -> Diagnostic {
    let message = format!("{}{place}: not a cassette: {message}", shown(path));
    Diagnostic::new(message, record_or_live())
}

/// The cassette in a text; else where in it something is wrong, and what.
fn parse(text: &str) -> Result<Cassette, (String, String)> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let cassette: Cassette = serde_json::from_str(text).map_err(|error| {
        // Of another version everything may look wrong.
        let head: Option<Head> = serde_json::from_str(text).ok();
        match head.and_then(|head| head.schema) {
            Some(schema) if schema != CASSETTE_FORMAT => (String::new(), other_format(&schema)),
            _ => {
                let said = error.to_string();
                // It tells the place itself, in other words.
                let message = said.split(" at line ").next().unwrap_or(&said);
                let place = format!(":{}:{}", error.line(), error.column());
                (place, message.to_owned())
            }
        }
    })?;
    check(&cassette, text).map_err(|message| (String::new(), message))?;
    Ok(cassette)
}

/// Writes a cassette in the place of the one before, which stays if that fails.
pub fn write(path: &Path, cassette: &Cassette) -> DiagnosticResult {
    const ACTION: &str = "cannot be written";
    let text = serde_json::to_string_pretty(cassette);
    let mut text = text.map_err(|error| cannot(path, ACTION, error))?;
    text.push('\n');
    if count(text.len()) > BYTES_MAX {
        let why = format!("it would be larger than {BYTES_MAX} bytes");
        return Err(cannot(path, ACTION, why));
    }
    // What cannot be read again is no recording.
    parse(&text)
        .map_err(|(place, message)| cannot(path, ACTION, broken(path, &place, &message)))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| write_private(path, text))
        .map_err(|error| cannot(path, ACTION, error))
}

/// Where the cassette of a test is.
pub fn path(test: &AgentTestPlan, plan: &SuitePlan) -> PathBuf {
    plan.folder.join(FOLDER).join(file_name(test))
}

/// The file of the suite, as cassettes name it.
pub fn suite_name(plan: &SuitePlan) -> String {
    let name = Path::new(&plan.file).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The path as messages have it: from the folder of the cassettes on, so that it is the same everywhere.
pub fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().and_then(Path::file_name);
    match folder {
        Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
        None => name.into_owned(),
    }
}

/// The name of the file of a test's cassette, which every file system takes.
pub fn file_name(test: &AgentTestPlan) -> String {
    let model = match &test.driver {
        Driver::Model(model) => model.model.as_str(),
        Driver::Command(command) => command.model.as_deref().unwrap_or_else(|| {
            command
                .program
                .rsplit(['/', '\\'])
                .next()
                .unwrap_or(&command.program)
        }),
    };
    format!("{}{}.json", agent_part(test), safe(model))
}

/// What the names of all cassettes of a test begin with, whatever the model.
fn agent_part(test: &AgentTestPlan) -> String {
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
    let hash = fnv_1a(name.bytes());
    if safe.is_empty() {
        format!("agent-{hash:016x}")
    } else if safe.chars().count() > PART_CHARS_MAX {
        let begin: String = safe.chars().take(PART_CHARS_MAX - 17).collect();
        format!("{begin}-{hash:016x}")
    } else {
        safe.to_owned()
    }
}

/// Refuses a test whose cassette would be that of another one of its suite. Upper and lower case are the same file on many
/// systems.
pub fn same_file(test: &AgentTestPlan, plan: &SuitePlan) -> DiagnosticResult {
    let (own, file) = (&test.head.name, file_name(test));
    let is_same = |other: &&AgentTestPlan| {
        other.head.name != *own && file_name(other).to_lowercase() == file.to_lowercase()
    };
    match plan.agents.iter().find(is_same) {
        None => Ok(()),
        Some(other) => Err(two_agents(own, &other.head.name, &file)),
    }
}

fn two_agents(one: &str, other: &str, file: &str) -> Diagnostic {
    Diagnostic::new(
        format!("the agents {one:?} and {other:?} would have the same cassette, {file}"),
        "give one of them another name",
    )
}

/// Refuses suites of which two agents would write the same cassette.
///
/// ```
/// use mcprove_suite::agent::cassette::same_file_of_suites;
///
/// assert!(same_file_of_suites(&[]).is_ok());
/// ```
pub fn same_file_of_suites(plans: &[SuitePlan]) -> DiagnosticResult {
    let mut seen: BTreeMap<PathBuf, (&str, &str)> = BTreeMap::new();
    for plan in plans {
        // Two ways to write a folder are one folder.
        let folder = plan.folder.canonicalize();
        let folder = folder.as_ref().unwrap_or(&plan.folder);
        for agent in &plan.agents {
            let (file, own) = (file_name(agent), agent.head.name.as_str());
            let before = seen.insert(folder.join(file.to_lowercase()), (&plan.file, own));
            // Those of one suite are refused one by one.
            if let Some((suite, other)) = before.filter(|(suite, _)| *suite != plan.file) {
                let one = format!("{other} of {suite}");
                let other = format!("{own} of {}", plan.file);
                return Err(two_agents(&one, &other, &file));
            }
        }
    }
    Ok(())
}

/// That a file is a recording of something else, of which this has changed.
pub fn drift(file: &str, changes: &[String]) -> Diagnostic {
    Diagnostic::new(
        format!(
            "{FOLDER}/{file}: the cassette no longer fits: {}",
            changes.join("; ")
        ),
        record_or_live().then(" to leave the cassette aside"),
    )
}

/// Refuses a test that has no cassette of its own but one of another model, whose file has another name: what was
/// replayed until now must not begin to ask a model because a name changed.
pub fn none_of_another_model(test: &AgentTestPlan, plan: &SuitePlan) -> DiagnosticResult {
    let folder = plan.folder.join(FOLDER);
    let (begin, own) = (agent_part(test), file_name(test));
    let names = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let is_candidate = |name: &String| {
        let is_json = Path::new(name).extension().is_some_and(|it| it == "json");
        name.starts_with(&begin) && is_json && *name != own
    };
    let mut names: Vec<String> = names.filter(is_candidate).collect();
    names.sort();
    for name in names.iter().take(OTHERS_MAX) {
        // What cannot be read is nobody's recording.
        if let Ok(Some(cassette)) = read(&folder.join(name))
            && cassette.agent == test.head.name
            && cassette.suite == suite_name(plan)
        {
            return Err(drift(name, &cassette.fits.changes(test, plan)));
        }
    }
    Ok(())
}
#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn of_a_link_only_the_place_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.json"), folder.path().join("b.json"));
        let text = format!("{{\"schema\": \"{CASSETTE_FORMAT}\",\n\"fits\": \"hunter2\"}}");
        fs::write(&file, text).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let told = |path: &Path| read(path).err().unwrap().to_string();
        assert!(told(&file).contains("hunter2"), "{}", told(&file));
        assert!(told(&link).contains("b.json:2:"), "{}", told(&link));
        assert!(!told(&link).contains("hunter2"), "{}", told(&link));
    }
}
