//! Files outside of the folder of a suite. Whoever wrote the suite chose them, and whoever reads what is printed
//! may be somebody else: a path must not be enough to have secrets shown. So what is wrong with such a file is
//! told with its place and its kind, and not in the words of the file.

use std::path::Path;

use crate::suite::error::{ConfigError, ConfigErrors};

/// What problems begin with that say what is wrong in kind, and what is told of them.
const KINDS: &[(&str, &str)] = &[
    ("not valid YAML", "not valid YAML"),
    ("not valid TOML", "not valid TOML"),
    ("not valid JSON", "not valid JSON"),
    ("unknown key", "an unknown key"),
    ("is larger than", "is too large"),
    ("is not UTF-8", "is not UTF-8 text from here on"),
    ("cannot be read", "cannot be read"),
    ("there are no tools in it", "there are no tools in it"),
];
/// What is told of all others.
const OTHER: &str = "not as it must be in a tools file";

const HINT: &str = "it is outside of the folder of the suite, so nothing of it is shown here; `mcprove validate` with \
                    the file itself tells more";

/// Whether a file is in the folder, or below it, wherever links lead.
pub(super) fn is_inside(folder: &Path, file: &Path) -> bool {
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

/// The same problems, without a word of the file.
pub(super) fn without_words(errors: ConfigErrors) -> ConfigErrors {
    let told = errors.0.into_iter().map(|error| {
        let kind = KINDS
            .iter()
            .find(|(begin, _)| error.message.starts_with(begin));
        ConfigError {
            message: kind.map_or(OTHER, |(_, told)| told).to_owned(),
            hint: Some(HINT.to_owned()),
            excerpt: None,
            ..error
        }
    });
    ConfigErrors(told.collect())
}

/// What stands for all warnings of such a file.
pub(super) fn warning(file: &Path) -> String {
    let file = file.display();
    format!("{file}: something is odd in it; `mcprove validate` with the file itself tells what")
}
