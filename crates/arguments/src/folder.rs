//! The fresh folder that generated paths lie in.

use mcprove_settings::private_file::create_dir;

use super::meaning::FILE;
use crate::prelude::*;

/// How many names are tried.
const NAMES_MAX: u32 = 100;

/// A folder that only we can read, with one file; removed when it is dropped.
///
/// Its name comes from a seed, so that the same seed gives the same arguments, as far as no other folder has it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder.
    pub fn create(seed: u64) -> io::Result<Self> {
        // Old ones may be left by processes that were killed.
        for name in (0..NAMES_MAX).map(Some).chain([None]) {
            let path = named(seed, name);
            match create_dir(&path) {
                Ok(()) => {
                    let folder = Self { path };
                    std::fs::write(folder.path.join(FILE), "text\n")?;
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A path that no folder has, for arguments that are only written down.
pub fn nowhere() -> PathBuf {
    std::env::temp_dir().join("mcprove-nowhere")
}

fn named(seed: u64, number: Option<u32>) -> PathBuf {
    let name = match number {
        Some(0) => format!("mcprove-{seed:x}"),
        Some(number) => format!("mcprove-{seed:x}-{number}"),
        None => format!("mcprove-{seed:x}-of-{}", std::process::id()),
    };
    std::env::temp_dir().join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_fresh_private_and_removed() {
        let seed = u64::from(std::process::id()) << 20;
        let first = Folder::create(seed).unwrap();
        let second = Folder::create(seed).unwrap();
        assert_ne!(first.path(), second.path());
        assert!(first.path().join(FILE).is_file());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = first.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        let others: Vec<Folder> = (0..NAMES_MAX).flat_map(|_| Folder::create(seed)).collect();
        assert_eq!(others.len(), 99, "the last is named by the process");
        assert!(Folder::create(seed).is_err());
        drop(others);
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
        let again = Folder::create(seed).unwrap();
        assert_eq!(again.path(), path, "the same seed gives the same path");
    }
}
