//! What can go wrong with a file of the audit.

use mcprove_settings::message::{Message, UserError, command_or, sentence, setting};

use crate::prelude::*;

/// Why rows could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LossReason {
    /// Another process writes to the file and does not let go of it.
    #[error("another process keeps the file locked")]
    Locked,
    /// More of them wait than there is room for.
    #[error("they came faster than they could be written")]
    Crowded,
    /// What SQLite says.
    #[error("{0}")]
    Sqlite(String),
}

/// What is read or written, unless the file cannot be.
pub type AuditResult<T> = Result<T, AuditError>;

/// A file of the audit that cannot be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The folder of a new file is not there.
    #[error("{}: the folder {} does not exist", .path.display(), .folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// There is nothing to read.
    #[error("{}: there is no such file", .0.display())]
    NoFile(PathBuf),
    /// The file is something else.
    #[error("{}: this is not an audit file: {reason}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: &'static str,
    },
    /// The file was written by a later version of mcprove.
    #[error("{}: the audit has version {found}, and this mcprove knows {known}", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: i64,
        /// The latest version that can be read.
        known: i64,
    },
    /// The file may be read only.
    #[error("{}: the file cannot be written to", .0.display())]
    ReadOnly(PathBuf),
    /// Another process writes to the file and does not let go of it.
    #[error("{}: {}", .0.display(), LossReason::Locked)]
    Locked(PathBuf),
    /// SQLite or the disk says no.
    #[error("{}: {message}", .path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        message: String,
    },
    /// The thread that writes could not be started.
    #[error("the thread that writes the audit cannot be started: {0}")]
    Thread(String),
    /// There is no such row.
    #[error("{}: there is no row {id}", .path.display())]
    NoRow {
        /// The file.
        path: PathBuf,
        /// The row that was asked for.
        id: i64,
    },
    /// Rows could not be written.
    #[error("{count} rows of the audit were lost: {reason}")]
    Lost {
        /// How many rows.
        count: u64,
        /// Why the first of them was lost.
        reason: LossReason,
    },
}

impl UserError for AuditError {
    fn hint(&self) -> Message {
        let hint = match self {
            Self::NoFolder { .. } => "make the folder first, or check the path",
            Self::NoFile(_) => "check the path of the audit, which the lab writes",
            Self::Foreign { .. } => {
                "give a file that the lab wrote, or a path where there is none yet"
            }
            Self::Newer { .. } => "use the mcprove that wrote it, or a later one",
            Self::ReadOnly(_) => "check the permissions of the file and of its folder",
            Self::Locked(_) => "end the other process, or wait until it is done",
            Self::Lost {
                reason: LossReason::Locked,
                ..
            } => {
                return sentence!(
                    "end the other process, or give another file with {}",
                    setting("audit")
                );
            }
            Self::Lost { .. } => {
                return sentence!(
                    "free disk space, or give another file with {}",
                    setting("audit")
                );
            }
            Self::Thread(_) => "check how many threads and how much memory a process may have",
            Self::Other { .. } => "check the path, the disk space and the permissions",
            Self::NoRow { .. } => {
                return sentence!(
                    "{} lists the rows; the oldest may have been removed",
                    command_or("lab audit FILE", "AuditReader")
                );
            }
        };
        hint.into()
    }
}

impl AuditError {
    /// What SQLite says about the file at `path`.
    pub fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign {
                path,
                reason: "it is not a SQLite file",
            },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            _ => Self::Other {
                path,
                message: error.to_string(),
            },
        }
    }
}
