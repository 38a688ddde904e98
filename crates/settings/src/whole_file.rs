//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::prelude::*;

/// Tells apart the files that one process writes at the same time.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Writes `bytes` to a file beside `path`, which then takes its place: nobody finds a part of it, and if it
/// cannot be written, what was there before stays. What is no plain file, such as a pipe, is written to as
/// it is, and so is a file whose folder takes no other.
pub fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    put(path, bytes.as_ref(), false)
}

/// The same, and only the owner may read it.
pub fn write_private(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    put(path, bytes.as_ref(), true)
}

fn put(path: &Path, bytes: &[u8], is_private: bool) -> io::Result<()> {
    let written = WholeFile::open(path, is_private).and_then(|mut file| {
        file.write_all(bytes)?;
        file.finish()
    });
    match written {
        Err(error) if is_of_folder(&error) && is_writable(path) => {
            if is_private {
                private_file::create(path)?.write_all(bytes)
            } else {
                fs::write(path, bytes)
            }
        }
        written => written,
    }
}

fn is_writable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| !file.permissions().readonly())
}

/// A file that takes its place only when it is whole. What is no plain file, such as a pipe, is written to as it is.
pub struct WholeFile {
    writer: BufWriter<File>,
    /// The file while it is written, and its place.
    move_to: Option<(PathBuf, PathBuf)>,
}

impl WholeFile {
    /// Begins to write.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(path, false)
    }

    fn open(path: &Path, is_private: bool) -> io::Result<Self> {
        let before = fs::metadata(path).ok();
        if before.as_ref().is_some_and(|before| !before.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Self {
                writer: BufWriter::new(file),
                move_to: None,
            });
        }
        if before.is_some() && !is_writable(path) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // A link stays a link.
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let part = beside(&place);
        let mut options = File::options();
        options.write(true).create_new(true);
        let file = if is_private {
            private_file::open(&part, &mut options)?
        } else {
            options.open(&part)?
        };
        let whole = Self {
            writer: BufWriter::new(file),
            move_to: Some((part, place)),
        };
        if let Some(before) = before.filter(|_| !is_private) {
            whole
                .writer
                .get_ref()
                .set_permissions(before.permissions())?;
        }
        Ok(whole)
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

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.move_to {
            // A part of it is of no use; one that cannot be removed harms nobody.
            let _ = fs::remove_file(part);
        }
    }
}

/// Whether the folder is the reason: it may not be written to, or the file is mounted in it.
fn is_of_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ResourceBusy)
}

/// A name in the folder of `place` that nothing has.
fn beside(place: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{number}.part", std::process::id()));
    place.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_all_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write_whole(&path, "one").unwrap();
        write_whole(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(write_whole(&folder.path().join("no/such"), "x").is_err());
        assert!(write_whole(folder.path(), "x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write_whole(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
