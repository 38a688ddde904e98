//! A folder for the files of one run of an agent: nobody else may look into it, and it goes when the run does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use mcprove_settings::private_file;

/// How often another name is tried.
const TRIES: usize = 16;

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub fn create() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut last = None;
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_nanos();
            let name = format!("mcprove-agent-{}-{now}-{count}", std::process::id());
            let path = std::env::temp_dir().join(name);
            // One that is there already is somebody else's.
            match private_file::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
