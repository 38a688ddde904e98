//! A file on disk as text, and what is said of one that cannot be read.

use super::FILE_BYTES_MAX;
use crate::input;
use crate::prelude::*;

/// A text of a format, and its name in messages, to a document.
pub type Parse = fn(&str, &str) -> Result<Document, ConfigErrors>;

/// What a file should have been, for hints.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// What to try when there is no such file.
    pub when_missing: fn() -> Message,
    /// What to ask when it is too large.
    pub when_too_large: fn() -> Message,
}

impl Wanted {
    /// Any file that people write.
    pub const ANY: Self = Self {
        when_missing: || "check the path".into(),
        when_too_large: || "is it a file for mcprove at all? split it if it is".into(),
    };
}

impl Document {
    /// Reads a file as a format.
    pub fn read(path: &Path, parse: Parse, wanted: Wanted) -> Result<Self, ConfigErrors> {
        let text = read_text(path, FILE_BYTES_MAX, wanted)?;
        parse(&text, &path.display().to_string())
    }

    /// Reads a file as what its name says: TOML when it ends in `.toml`, YAML when it ends in `.yml`, `.yaml`
    /// or `.json`.
    pub fn read_by_name(path: &Path, wanted: Wanted) -> Result<Self, ConfigErrors> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let parse = match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("toml") => Self::from_toml,
            Some("json") if cfg!(not(feature = "files")) => Self::from_json,
            // JSON is YAML.
            Some("yml" | "yaml" | "json") => Self::from_yaml,
            _ => {
                return Err(ConfigErrors::of(
                    ConfigError::of_file(
                        &path.display().to_string(),
                        "is neither TOML nor YAML by its name",
                        "let the name end in .toml, .yml, .yaml or .json",
                    )
                    .with_gist("is neither TOML nor YAML by its name"),
                ));
            }
        };
        Self::read(path, parse, wanted)
    }
}

/// The text of a file of at most so many bytes.
pub fn read_text(path: &Path, bytes_max: usize, wanted: Wanted) -> Result<String, ConfigErrors> {
    let file = path.display().to_string();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let bytes = input::read_file(path, limit).map_err(|error| {
        ConfigErrors::of(match error.kind() {
            io::ErrorKind::FileTooLarge => too_large(&file, bytes_max, wanted),
            _ => unread(&file, &error, wanted),
        })
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        ConfigErrors::of(not_text(&file, error.as_bytes(), valid))
    })
}

fn unread(file: &str, error: &io::Error, wanted: Wanted) -> ConfigError {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => (wanted.when_missing)(),
        io::ErrorKind::PermissionDenied => "check its permissions".into(),
        _ => "check that it is a file that can be read".into(),
    };
    ConfigError::of_file(file, format!("cannot be read: {error}"), hint).with_gist("cannot be read")
}

/// Says that a file is larger than what is taken.
pub fn too_large(file: &str, bytes_max: usize, wanted: Wanted) -> ConfigError {
    ConfigError::of_file(
        file,
        format!("is larger than {} MiB", bytes_max / 1024 / 1024),
        (wanted.when_too_large)(),
    )
    .with_gist("is too large")
}

/// Says that these bytes are text up to a place only.
pub fn not_text(file: &str, bytes: &[u8], valid: usize) -> ConfigError {
    let before = bytes.get(..valid).unwrap_or_default();
    let begin = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |index| index + 1);
    let line = before.get(begin..).unwrap_or_default();
    let error = ConfigError::of_file(
        file,
        "is not UTF-8",
        "save it as UTF-8; is it a text file at all?",
    )
    .with_gist("is not UTF-8");
    ConfigError {
        place: Some(SourcePlace {
            line: memchr::memchr_iter(b'\n', before).count() + 1,
            column: String::from_utf8_lossy(line).chars().count() + 1,
        }),
        ..error
    }
}
