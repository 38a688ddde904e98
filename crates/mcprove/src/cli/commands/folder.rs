//! The YAML files of a folder, and what each of them is.

use crate::prelude::*;

/// How many files that are skipped are named.
const NAMED_MAX: usize = 10;

/// A file of a folder, and what it is.
pub type Found = (PathBuf, Recognised);

/// Whether a name ends as those of YAML files do.
pub fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("yml") || extension.eq_ignore_ascii_case("yaml")
}

/// The YAML files of a folder, by name; not those of folders in it.
pub fn yaml_files(folder: &Path) -> Result<Vec<Found>> {
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read {}: {error}", folder.display());
        Failure::new(message, "check its permissions")
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && is_yaml(&path) {
            let kind = recognise_file(&path);
            found.push((path, kind));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// Says which files of folders are skipped.
pub fn warn_of_skipped_files(files: &[Found]) {
    for (path, kind) in files.iter().take(NAMED_MAX) {
        let path = path.display();
        let note = format!("note: {path} is skipped: it is {}\n", kind.describe());
        terminal::print_error(&note);
    }
    let more = files.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        terminal::print_error(&format!("note: {more} more files are skipped\n"));
    }
}
