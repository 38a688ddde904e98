//! What the commands that inject faults share: the kinds of faults in their help, reading those that are given, and
//! the recording of what passes.

use mcprove_document::terminal::wrap;
use mcprove_fault::{FaultKind, file, kinds, settings_of};

use crate::prelude::*;

/// The widest line.
const COLUMNS: usize = 80;
/// Where explanations begin.
const INDENT: usize = 30;

const AIMING: &str = "\
Aim with tool=NAME, server=NAME, calls=1-3,7 (in order of arrival), rate=0.2,
seed=7, name=TEXT, after commas. The first fault that strikes a call decides.
A hang ends after ten minutes.";

/// Every kind of fault with its settings, and how to aim it. No line is longer than 80 columns, so that
/// nothing has to be broken anew.
pub fn kinds_of_faults() -> String {
    let mut help = String::from("Faults, as after --fault:\n");
    for kind in kinds() {
        let mut start = format!("  {}", written(kind));
        for line in wrap(kind.about(), COLUMNS - INDENT, ("", "")).lines() {
            if start.len() >= INDENT {
                help.push_str(&start);
                help.push('\n');
                start.clear();
            }
            // Writing to a text cannot fail.
            let _ = writeln!(help, "{start:<INDENT$}{line}");
            start.clear();
        }
    }
    help.push_str(AIMING);
    help
}

/// The faults of a file, then those of flags.
pub fn read_faults(
    path: Option<&Path>,
    texts: &[String],
    hint: &'static str,
) -> Result<Vec<FaultSpec>, Failure> {
    let mut all = path.map(file::read_file).transpose()?.unwrap_or_default();
    for text in texts {
        let fault = text.parse();
        all.push(fault.map_err(|error| Failure::new(format!("--fault {text:?}: {error}"), hint))?);
    }
    Ok(all)
}

/// The file of a recording, new or gone on with.
pub fn open_recording(
    path: &Path,
    is_appended: bool,
    origin: &Origin,
    redactor: &Redactor,
) -> io::Result<Recording> {
    if is_appended {
        Recording::append(path, origin, redactor)
    } else {
        Recording::create(path, origin, redactor)
    }
}

/// A kind as it is written after `--fault`.
fn written(kind: FaultKind) -> String {
    let name = kind.name().replace('_', "-");
    let settings = settings_of(kind).into_iter();
    let settings: Vec<&str> = settings.map(|setting| setting.name).collect();
    if settings.is_empty() {
        name
    } else {
        format!("{name}:<{}>", settings.join(">-<"))
    }
}
