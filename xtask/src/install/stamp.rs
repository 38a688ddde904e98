//! A stamp says from which inputs a folder was installed, so that it is done once.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The stamp of one folder: a file beside it.
pub struct Stamp {
    path: PathBuf,
    content: String,
}

impl Stamp {
    /// The stamp of `folder` if it is installed from `inputs`.
    pub fn new(folder: &Path, inputs: &[PathBuf]) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        for input in inputs {
            let bytes =
                std::fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
            hasher.write_usize(bytes.len());
            hasher.write(&bytes);
        }
        Ok(Self {
            path: folder.with_added_extension("stamp"),
            content: format!("{:016x}\n", hasher.finish()),
        })
    }

    /// Whether the folder was installed from these inputs.
    pub fn is_current(&self) -> bool {
        std::fs::read_to_string(&self.path).is_ok_and(|content| content == self.content)
    }

    /// Forgets an older install, before a new one begins.
    pub fn clear(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Notes that the install is complete.
    pub fn write(&self) -> Result<()> {
        std::fs::write(&self.path, &self.content)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn a_changed_input_needs_a_new_install() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("lock.txt");
        let installed = folder.path().join("installed");
        std::fs::write(&lock, "one").unwrap();
        let stamp = || Stamp::new(&installed, std::slice::from_ref(&lock)).unwrap();
        assert!(!stamp().is_current());
        stamp().write().unwrap();
        assert!(stamp().is_current());
        std::fs::write(&lock, "two").unwrap();
        assert!(!stamp().is_current());
        stamp().clear().unwrap();
        stamp().clear().unwrap();
    }
}
