//! Connections to the SQLite file of an audit, or to one in memory.

use std::sync::atomic::{AtomicU64, Ordering};

use mcprove_settings::private_file;
use rusqlite::OpenFlags;

use crate::prelude::*;

/// How long a connection waits for one that has the file locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where an audit is.
#[derive(Debug, Clone)]
pub enum AuditPlace {
    File(PathBuf),
    /// In the memory of this process, under a name.
    Memory(String),
}

impl AuditPlace {
    /// A place in memory that no other store has. It lives as long as a connection to it.
    pub fn new_memory() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self::Memory(format!("file:/mcprove-audit-{number}?vfs=memdb"))
    }

    /// What errors call it.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory(_) => Path::new("(memory)"),
        }
    }

    /// A connection that may write; a file that is not there is made.
    pub fn connect(&self) -> AuditResult<Connection> {
        if let Self::File(path) = self {
            check_folder(path)?;
            create_private(path);
        }
        let connection =
            self.open(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        // SQLite opens what may not be written for reading, and says so only when it is to write.
        match connection.is_readonly("main") {
            Ok(false) => Ok(connection),
            Ok(true) => Err(AuditError::ReadOnly(self.path().to_owned())),
            Err(error) => Err(self.describe(&error)),
        }
    }

    /// A connection that only reads.
    pub fn connect_to_read(&self) -> AuditResult<Connection> {
        if let Self::File(path) = self {
            if !path.exists() {
                return Err(AuditError::NoFile(path.clone()));
            }
            refuse_folder(path)?;
        }
        self.open(OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn open(&self, flags: OpenFlags) -> AuditResult<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match self {
            Self::Memory(name) => {
                Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI)
            }
            Self::File(path) => Connection::open_with_flags(literal(path), flags),
        };
        let patient = connection.and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        });
        patient.map_err(|error| self.describe(&error))
    }

    /// A connection to a file that nobody can write to, such as one on a read-only disk: there
    /// SQLite cannot make the files that it needs beside it. None where somebody may be writing.
    pub fn connect_at_rest(&self) -> Option<Connection> {
        let Self::File(path) = self else {
            return None;
        };
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
            return None;
        }
        let path = std::path::absolute(path).ok()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(address(path.to_str()?), flags).ok()
    }

    /// What SQLite says about this place.
    pub fn describe(&self, error: &rusqlite::Error) -> AuditError {
        AuditError::from_sqlite(self.path(), error)
    }
}

/// The path such that SQLite takes it for one, and not for an address or a place in memory.
fn literal(path: &Path) -> PathBuf {
    if path.is_relative() {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    }
}

/// The address of a file that does not change.
fn address(path: &str) -> String {
    let path = if cfg!(windows) {
        format!("/{}", path.replace('\\', "/"))
    } else {
        path.to_owned()
    };
    // The percent sign first, as the others become one.
    let path = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{path}?immutable=1")
}

/// Makes a file that only its owner may read: it holds what clients sent. SQLite gives those beside it the same
/// permissions; older ones get them here.
fn create_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    // SQLite says what is wrong with others. One that is there is not opened: closing it would end its locks.
    if private_file::open(path, options.write(true).create_new(true)).is_err() {
        for beside in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(beside);
            private_file::tighten_at(Path::new(&name));
        }
    }
}

/// SQLite says only that it cannot open the file.
fn check_folder(path: &Path) -> AuditResult<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(AuditError::NoFolder {
            path: path.to_owned(),
            folder: folder.to_owned(),
        });
    }
    refuse_folder(path)
}

fn refuse_folder(path: &Path) -> AuditResult<()> {
    if path.is_dir() {
        return Err(AuditError::Foreign {
            path: path.to_owned(),
            reason: "it is a folder",
        });
    }
    Ok(())
}
