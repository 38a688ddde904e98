//! Files and pipes that are read: how much of them, and how long they may keep us waiting. Every reader of what users
//! name reads it here.

use std::fs::{File, FileType};
use std::io::Read;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use crate::prelude::*;

/// How long a pipe, a terminal or a device may say nothing before it is given up.
pub const SILENCE_MAX: Duration = Duration::from_secs(30);
/// How many bytes of a device are read, such as `/dev/zero`, which never ends.
pub const DEVICE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How much is read of a pipe at once.
const PIECE_BYTES: usize = 64 * 1024;
/// How many pieces wait to be taken.
const PIECES_MAX: usize = 16;

/// Reads a file, a named pipe or a process substitution to its end. More than `bytes_max` bytes are an error of the kind
/// `FileTooLarge`, and [`SILENCE_MAX`] without a byte is one of the kind `TimedOut`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() {
        return read_file(path, bytes_max);
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let path = path.to_owned();
    // To open a pipe that nobody writes to waits, too.
    let open = move || File::open(path);
    read_pipe(open, bytes_max.min(most_of(kind)), SILENCE_MAX)
}

/// Reads standard input to its end, within the limits of [`read`].
pub fn read_stdin(bytes_max: u64) -> io::Result<Vec<u8>> {
    read_pipe(
        || Ok(io::stdin()),
        bytes_max.min(most_of_stdin()),
        SILENCE_MAX,
    )
}

/// Reads a regular file of at most `bytes_max` bytes; nothing else is one.
pub fn read_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let size = file.metadata()?.len();
    if size > bytes_max {
        return Err(too_large(bytes_max));
    }
    // One more, to see the end without growing.
    let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or_default());
    // It may grow meanwhile.
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large(bytes_max));
    }
    Ok(bytes)
}

/// Opens a regular file; a pipe or a device may never end, and is refused.
pub fn open_file(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    let kind = io::ErrorKind::InvalidInput;
    Err(io::Error::new(kind, "it is not a regular file"))
}

/// Reads what `open` gives to its end. Where it keeps silent, a thread is left waiting for it.
fn read_pipe<R: Read>(
    open: impl FnOnce() -> io::Result<R> + Send + 'static,
    bytes_max: u64,
    silence_max: Duration,
) -> io::Result<Vec<u8>> {
    let (sender, pieces) = mpsc::sync_channel(PIECES_MAX);
    thread::Builder::new()
        .name("mcprove-input".to_owned())
        .spawn(move || {
            let end = send_pieces(open, |piece| sender.send(Ok(piece)).is_ok());
            if let Err(error) = end {
                // Nobody wants it any more.
                let _ = sender.send(Err(error));
            }
        })?;
    let mut bytes = Vec::new();
    loop {
        match pieces.recv_timeout(silence_max) {
            Ok(piece) => bytes.extend_from_slice(&piece?),
            Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = silence_max.as_secs();
                let text = format!("nothing came for {seconds} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        }
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(bytes_max));
        }
    }
}

/// Reads on as long as somebody takes the pieces.
fn send_pieces<R: Read>(
    open: impl FnOnce() -> io::Result<R>,
    send: impl Fn(Vec<u8>) -> bool,
) -> io::Result<()> {
    let mut source = open()?;
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        let length = match source.read(&mut piece) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        piece.truncate(length);
        if length == 0 || !send(piece) {
            return Ok(());
        }
    }
}

fn too_large(bytes_max: u64) -> io::Error {
    let (size, unit) = match bytes_max / 1024 / 1024 {
        mebibytes if mebibytes % 1024 == 0 => (mebibytes / 1024, "GiB"),
        mebibytes => (mebibytes, "MiB"),
    };
    let text = format!("it is larger than {size} {unit}");
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// How much is read of a file of this kind.
fn most_of(kind: FileType) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_char_device() || kind.is_block_device() {
            return DEVICE_BYTES_MAX;
        }
    }
    #[cfg(not(unix))]
    let _ = kind;
    u64::MAX
}

/// How much is read of standard input, by what it is.
fn most_of_stdin() -> u64 {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .and_then(|handle| File::from(handle).metadata())
            .map_or(u64::MAX, |metadata| most_of(metadata.file_type()))
    }
    #[cfg(not(unix))]
    u64::MAX
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Instant;

    use super::*;

    const SOON: Duration = Duration::from_millis(300);

    #[test]
    fn a_producer_that_is_slow_and_steady_is_read_to_its_end() {
        let (input, mut output) = io::pipe().unwrap();
        let writing = thread::spawn(move || {
            for _ in 0..10 {
                thread::sleep(SOON / 6);
                output.write_all(b"ab").unwrap();
            }
        });
        let bytes = read_pipe(|| Ok(input), 20, Duration::from_secs(20)).unwrap();
        assert_eq!(bytes, b"ab".repeat(10));
        writing.join().unwrap();
    }

    #[test]
    fn silence_is_an_error_that_names_the_limit() {
        let (input, output) = io::pipe().unwrap();
        let start = Instant::now();
        let error = read_pipe(|| Ok(input), 20, SOON).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() >= SOON);
        drop(output);
        // A pipe that nobody opens for writing does not even open.
        let open = || -> io::Result<File> {
            thread::sleep(SOON * 100);
            Err(io::ErrorKind::NotFound.into())
        };
        let error = read_pipe(open, 20, SOON).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn what_is_too_large_is_an_error_that_names_the_limit() {
        let error = read_pipe(|| Ok(io::repeat(0)), 3 << 20, SOON * 100).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it is larger than 3 MiB");
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"123").unwrap();
        assert_eq!(read_file(file.path(), 3).unwrap(), b"123");
        assert!(read_file(file.path(), 2).is_err() && read(file.path(), 2).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_end() {
        let zero = Path::new("/dev/zero");
        let error = read(zero, u64::MAX).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 16 MiB");
        let error = read_file(zero, u64::MAX).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
        assert_eq!(read(Path::new("/dev/null"), 10).unwrap(), b"");
        let folder = read(Path::new("/"), 10).unwrap_err();
        assert_eq!(folder.kind(), io::ErrorKind::IsADirectory);
    }
}
