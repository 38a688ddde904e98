//! Files that are not what they seem to be: outside of the folder of a suite, or a symbolic link. Whoever wrote the
//! suite, or put the link there, chose them, and whoever reads what is printed may be somebody else: a path must not
//! be enough to have secrets shown. So what is wrong with such a file is told with its place and its kind, and not
//! in the words of the file.

use std::path::Path;

use crate::error::{ConfigError, ConfigErrors};

/// What problems begin with that say what is wrong in kind, and what is told of them.
const KINDS: &[(&str, &str)] = &[
    ("not valid YAML", "not valid YAML"),
    ("not valid TOML", "not valid TOML"),
    ("not valid JSON", "not valid JSON"),
    ("unknown key", "an unknown key"),
    ("is larger than", "is too large"),
    ("is not UTF-8", "is not UTF-8 text from here on"),
    ("cannot be read", "cannot be read"),
    (
        "is neither TOML nor YAML by its name",
        "is neither TOML nor YAML by its name",
    ),
    ("there are no tools in it", "there are no tools in it"),
    ("there are no tests in it", "there are no tests in it"),
];
/// What is told of all others.
const OTHER: &str = "not as it must be in such a file";

const OUTSIDE: &str = "it is outside of the folder of the suite, so nothing of it is shown here; `mcprove validate` \
                       with the file itself tells more";
/// What is said of a link.
pub const LINKED: &str =
    "it is a symbolic link, so nothing of it is shown here; give the file that it leads to instead";

/// Whether a file is in the folder, or below it, wherever links lead.
pub fn is_inside(folder: &Path, file: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    match (folder.canonicalize(), file.canonicalize()) {
        (Ok(folder), Ok(file)) => file.starts_with(folder),
        _ => false,
    }
}

/// Whether a file is reached through a symbolic link: itself, or a folder on the way from the working folder. (On
/// the way from the root there are links of the system.) A pipe that a shell names so is none.
pub fn is_linked(file: &Path) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    let mut ways = file.ancestors();
    let is_on_the_way = ways.next().is_some_and(is_link) || file.is_relative() && ways.any(is_link);
    is_on_the_way && file.is_file()
}

/// A problem of a file, without a word of it if the file is a link. A name that cannot be shown cannot be looked up
/// either, so the file may be one.
pub(super) fn checked(error: ConfigError) -> ConfigError {
    let is_hidden = [LINKED, OUTSIDE].map(Some).contains(&error.hint.as_deref());
    let is_unknown = error.file.contains('\u{fffd}');
    if !is_hidden && (is_unknown || is_linked(Path::new(&error.file))) {
        hide(error, LINKED)
    } else {
        error
    }
}

/// The same problems, without a word of the file.
pub fn without_words(errors: ConfigErrors) -> ConfigErrors {
    let told = errors.0.into_iter().map(|error| hide(error, OUTSIDE));
    ConfigErrors(told.collect())
}

fn hide(error: ConfigError, hint: &str) -> ConfigError {
    // One that was hidden before stays what it is.
    let is_it =
        |(begin, told): &&(&str, &str)| error.message.starts_with(begin) || error.message == *told;
    let kind = KINDS.iter().find(is_it);
    ConfigError {
        message: kind.map_or(OTHER, |(_, told)| told).to_owned(),
        hint: Some(hint.to_owned()),
        excerpt: None,
        ..error
    }
}

/// What stands for all warnings of such a file.
pub fn warning(file: &Path) -> String {
    let file = file.display();
    format!("{file}: something is odd in it; `mcprove validate` with the file itself tells what")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_to_files_are_known_and_pipes_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(folder.path(), at("folder")).unwrap();
        symlink("/dev/null", at("device")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        assert!(is_linked(&at("link")));
        for name in ["file", "device", "dangling", "folder", "missing"] {
            assert!(!is_linked(&at(name)), "{name}");
        }
        let error =
            |file: String| ConfigError::of_file(&file, "unknown key \"hunter2\"", "known: x");
        let shown = |name: &str| checked(error(at(name).display().to_string()));
        assert_eq!(shown("file").message, "unknown key \"hunter2\"");
        assert_eq!(shown("link").message, "an unknown key");
        // It may be anything.
        assert_eq!(
            checked(error("\u{fffd}.yml".into())).message,
            "an unknown key"
        );
    }
}
