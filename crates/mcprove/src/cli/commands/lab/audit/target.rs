//! The file that an export goes to: written beside its place and put there whole, and never the
//! audit itself.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What SQLite puts after the name of a file for those that it keeps beside it.
const COMPANIONS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Whether writing to `output` would write into the audit `file`, or into what belongs to it.
pub fn is_part_of(file: &Path, output: &Path) -> bool {
    let output_at = resolved(output);
    [file.to_owned(), resolved(file)].iter().any(|file| {
        COMPANIONS.iter().any(|suffix| {
            let part = with_suffix(file, suffix);
            resolved(&part) == output_at || is_same_file(&part, output)
        })
    })
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The path without links, also of a file that is not there yet.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Whether two names are of one file, as those of a hard link are.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Elsewhere the path alone tells; nothing is written through a hard link there either, as the file
/// is replaced and not opened.
#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}

/// A file that takes its place only when it is whole. What is no plain file, such as a pipe, is
/// written to as it is.
pub struct Target {
    writer: BufWriter<File>,
    /// The file while it is written, and its place.
    move_to: Option<(PathBuf, PathBuf)>,
}

impl Target {
    /// Begins to write.
    pub fn create(output: &Path) -> io::Result<Self> {
        let before = fs::metadata(output);
        if before.as_ref().is_ok_and(|before| !before.is_file()) {
            let file = OpenOptions::new().write(true).open(output)?;
            return Ok(Self {
                writer: BufWriter::new(file),
                move_to: None,
            });
        }
        let place = resolved(output);
        let (part, file) = create_beside(&place)?;
        let target = Self {
            writer: BufWriter::new(file),
            move_to: Some((part.clone(), place)),
        };
        if let Ok(before) = before {
            if before.permissions().readonly() {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            fs::set_permissions(&part, before.permissions())?;
        }
        Ok(target)
    }

    /// Puts the file in its place.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Some((part, place)) = &self.move_to {
            fs::rename(part, place)?;
            self.move_to = None;
        }
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.move_to {
            // Half an export is of no use; one that cannot be removed harms nobody.
            let _ = fs::remove_file(part);
        }
    }
}

/// A new file in the folder of `place`, under a name that nothing has.
fn create_beside(place: &Path) -> io::Result<(PathBuf, File)> {
    /// How many names are tried.
    const ATTEMPTS: u32 = 100;
    let name = place.file_name().unwrap_or_else(|| OsStr::new("export"));
    let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
    for attempt in 0..ATTEMPTS {
        let mut part = name.to_owned();
        part.push(format!(".{}-{attempt}.part", std::process::id()));
        let part = place.with_file_name(part);
        outcome = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)
            .map(|file| (part, file));
        let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        if !outcome.as_ref().is_err_and(is_taken) {
            break;
        }
    }
    outcome
}
