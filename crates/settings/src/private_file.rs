//! Files and folders that only their owner may read: run folders, traces, recordings, cassettes, logs, databases.
//!
//! They are private from their creation on, whatever the umask; a file that already exists becomes private before
//! anything is written to it. On Windows they have the permissions of their folder.

use crate::prelude::*;
use std::fs::{DirBuilder, File, OpenOptions};

/// Creates (or empties) a file.
pub fn create(path: &Path) -> io::Result<File> {
    open(
        path,
        OpenOptions::new().write(true).create(true).truncate(true),
    )
}

/// Opens a file to add to its end, or creates it.
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true).create(true))
}

/// Opens a file as the options say.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    tighten(&file);
    Ok(file)
}

/// Takes the permissions of others from a file. Whoever names a file that is not theirs, or a device, means it.
#[cfg(unix)]
fn tighten(file: &File) {
    if file.metadata().is_ok_and(|file| is_open(&file)) {
        let _ = file.set_permissions(private());
    }
}

/// Takes the permissions of others from the file at a path, if there is one, without opening it.
pub fn tighten_at(path: &Path) {
    #[cfg(unix)]
    if std::fs::metadata(path).is_ok_and(|file| is_open(&file)) {
        let _ = std::fs::set_permissions(path, private());
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(unix)]
fn is_open(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.is_file() && file.permissions().mode() & 0o077 != 0
}

#[cfg(unix)]
fn private() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o600)
}

/// Creates a folder and those above it, as far as they are not there.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    private_dir(true).create(path)
}

/// Creates a folder, which must not be there yet.
pub fn create_dir(path: &Path) -> io::Result<()> {
    private_dir(false).create(path)
}

fn private_dir(is_recursive: bool) -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(is_recursive);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::whole_file::write_private;

    #[test]
    fn only_the_owner_may_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let data = std::fs::metadata(folder.path().join(name)).unwrap();
            data.permissions().mode() & 0o777
        };
        let path = folder.path().join("old");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write_private(&path, "new").unwrap();
        append(&folder.path().join("added")).unwrap();
        create_dir(&folder.path().join("run")).unwrap();
        create_dir_all(&folder.path().join("agents/of")).unwrap();
        assert_eq!(
            [mode("old"), mode("added"), mode("run")],
            [0o600, 0o600, 0o700]
        );
        assert_eq!([mode("agents"), mode("agents/of")], [0o700, 0o700]);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        // A device stays what it is.
        write_private(Path::new("/dev/null"), "x").unwrap();
    }
}
