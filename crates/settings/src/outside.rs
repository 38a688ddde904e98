//! Files that are not what they seem to be: outside of the folder of a suite, or a symbolic link. Whoever wrote the
//! suite, or put the link there, chose them, and whoever reads what is printed may be somebody else: a path must not
//! be enough to have secrets shown. So what is wrong with such a file is told with its place and its kind, and not
//! in the words of the file.

use crate::prelude::*;
use crate::reader::Warning;

/// What is told of most problems.
pub(crate) const OTHER: &str = "not as it must be in such a file";

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
    let is_unknown = error.file.contains('\u{fffd}');
    if !error.is_hidden && (is_unknown || is_linked(Path::new(&error.file))) {
        hide(error, LINKED)
    } else {
        error
    }
}

/// The same problems, without a word of the file.
pub fn hide_contents(errors: ConfigErrors) -> ConfigErrors {
    let outside = sentence!(
        "it is outside of the folder of the suite, so nothing of it is shown here{}",
        command("; ", "validate", " with the file itself shows more")
    );
    let told = errors.0.into_iter();
    let told = told.map(|error| hide(error, outside.clone()));
    ConfigErrors(told.collect())
}

fn hide(error: ConfigError, hint: impl Into<Message>) -> ConfigError {
    ConfigError {
        message: error.gist.into(),
        hint: Some(hint.into()),
        excerpt: None,
        is_hidden: true,
        ..error
    }
}

/// What stands for all warnings of such a file.
pub fn warning(file: &Path) -> Warning {
    Warning {
        place: file.display().to_string(),
        message: sentence!(
            "something is odd in it{}",
            command("; ", "validate", " with the file itself shows what")
        ),
        is_besides: false,
    }
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
        let error = |file: String| {
            ConfigError::of_file(&file, "unknown key \"hunter2\"", "known: x")
                .with_gist("an unknown key")
        };
        let shown = |name: &str| checked(error(at(name).display().to_string()));
        assert_eq!(shown("file").texts().0, "unknown key \"hunter2\"");
        assert_eq!(shown("link").texts().0, "an unknown key");
        // It may be anything.
        assert_eq!(
            checked(error("\u{fffd}.yml".into())).texts().0,
            "an unknown key"
        );
    }
}
