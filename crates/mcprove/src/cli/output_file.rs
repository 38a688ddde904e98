//! Files that a command writes while it works or at its end: whether they can be written is found out before it
//! starts, and what they hold is lost only when there is something to put in its place.

use std::fs::{self, OpenOptions};

use crate::prelude::*;

/// A file that can be written, as far as can be told. One that is new is taken away again, unless it is used.
pub struct OutputFile {
    path: PathBuf,
    is_unused: bool,
}

impl OutputFile {
    /// Finds out whether the file can be written, and leaves what is in it. One that is new follows the umask.
    pub fn reserve(path: &Path) -> io::Result<Self> {
        Self::reserve_with(path, |path| {
            OpenOptions::new().append(true).create(true).open(path)
        })
    }

    /// The same for a file that only its owner may read.
    pub fn reserve_private(path: &Path) -> io::Result<Self> {
        Self::reserve_with(path, private_file::append)
    }

    fn reserve_with(
        path: &Path,
        open: impl FnOnce(&Path) -> io::Result<fs::File>,
    ) -> io::Result<Self> {
        let before = fs::metadata(path);
        let is_unused = before.is_err();
        match before {
            Ok(before) if before.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            // Whoever reads a pipe would hear its end.
            Ok(before) if !before.is_file() => {}
            _ => drop(open(path)?),
        }
        let path = path.to_owned();
        Ok(Self { path, is_unused })
    }

    /// It is written to now, or will be.
    pub fn keep(mut self) {
        self.is_unused = false;
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        let is_empty = || fs::metadata(&self.path).is_ok_and(|file| file.len() == 0);
        if self.is_unused && is_empty() {
            // An empty file harms nobody.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses to write the file of one flag over that of another.
pub fn keep_apart(
    (flag, path): (&str, Option<&Path>),
    others: &[(&str, Option<&Path>)],
) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let place = resolved(path);
    for (other, others) in others {
        if others.is_some_and(|others| resolved(others) == place) {
            return refuse(
                format!("{flag} and {other} have the same file, {}", path.display()),
                format!("give {flag} another file"),
            );
        }
    }
    Ok(())
}

/// Where a file is, or would be, without links.
pub fn resolved(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => {
                // The folder of a bare name is this one.
                let folder = Path::new(".").join(folder);
                folder.canonicalize().unwrap_or(folder).join(name)
            }
            _ => path.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_and_what_is_new_goes_unless_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "mine").unwrap();
        for path in [&old, &new] {
            let file = OutputFile::reserve(path).unwrap();
            assert!(path.exists());
            drop(file);
        }
        assert_eq!(fs::read_to_string(&old).unwrap(), "mine");
        assert!(!new.exists());
        OutputFile::reserve(&new).unwrap().keep();
        assert!(new.exists());
        assert!(OutputFile::reserve(folder.path()).is_err());
        assert!(OutputFile::reserve(&folder.path().join("no/such/file")).is_err());
    }

    #[test]
    fn files_are_the_same_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("a");
        let twisted = folder.path().join(".").join("a");
        let apart = |other: &Path| keep_apart(("--one", Some(&plain)), &[("--two", Some(other))]);
        for is_there in [false, true] {
            assert!(apart(&twisted).is_err());
            assert!(apart(&folder.path().join("b")).is_ok());
            if !is_there {
                fs::write(&plain, "").unwrap();
            }
        }
        assert!(keep_apart(("--one", None), &[("--two", Some(&plain))]).is_ok());
    }
}
