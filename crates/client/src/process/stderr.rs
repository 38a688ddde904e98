//! What servers write to stderr: always read, so that no server ever blocks on it, and kept within
//! limits.
//!
//! A [`Child`](super::Child) drains its pipe into a [`StderrLog`], which keeps the last lines in
//! memory and passes everything on to a file and a tee where they were asked for.

use mcprove_settings::secret::StreamRedactor;
use tokio::io::AsyncReadExt as _;

use crate::prelude::*;

/// How much of the end is kept in memory.
pub const TAIL_BYTES: usize = 64 * 1024;
/// How much is written to the log file; what comes after is counted and dropped.
pub const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// Called with each chunk as it arrives; must not block. One that panics is not called again.
pub type Tee = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Where the stderr of one or more servers goes.
///
/// ```
/// use mcprove_client::process::StderrLog;
///
/// let log = StderrLog::new();
/// log.write(b"listening\n");
/// assert_eq!(log.tail(), "listening\n");
/// assert_eq!(log.bytes(), 10);
/// ```
#[derive(Opaque, Default)]
#[must_use]
pub struct StderrLog {
    /// Everything passes here first.
    stream: Mutex<StreamRedactor>,
    tail: Mutex<Tail>,
    file: Option<Mutex<LogFile>>,
    tee: Option<Tee>,
    has_tee_panicked: AtomicBool,
    raw_tee: Option<Tee>,
    bytes: AtomicU64,
    losses: Losses,
}

impl StderrLog {
    /// A log that keeps the last [`TAIL_BYTES`] in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets which secrets are known. They are redacted before anything is kept or passed on.
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.stream = Mutex::new(StreamRedactor::new(redactor));
        self
    }

    /// Also appends everything, up to [`FILE_BYTES_MAX`], to the file at `path`, which only its owner may read.
    pub fn with_file(mut self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = LogFile::new(private_file::append(path)?, path, FILE_BYTES_MAX);
        self.file = Some(Mutex::new(file));
        Ok(self)
    }

    /// Notes there what the file or the tee did not get.
    pub fn with_losses(mut self, losses: Losses) -> Self {
        self.losses = losses;
        self
    }

    /// Also calls `tee` with each chunk. A chunk is whole lines, except for a line of more than
    /// 64 KiB and for the end of a stream without a newline.
    pub fn with_tee(mut self, tee: Tee) -> Self {
        self.tee = Some(tee);
        self
    }

    /// Also calls `tee` with each chunk as it arrives, secrets and all: for whoever only passes it on.
    pub fn with_raw_tee(mut self, tee: Tee) -> Self {
        self.raw_tee = Some(tee);
        self
    }

    /// Adds a chunk. A line that has not ended waits for the rest of it.
    pub fn write(&self, chunk: &[u8]) {
        self.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        if let Some(tee) = &self.raw_tee {
            tee(chunk);
        }
        // Held until it is passed on, so that nothing overtakes it.
        let mut stream = lock(&self.stream);
        let ready = stream.push(chunk);
        self.pass_on(&ready);
    }

    /// Passes on what waits: nothing comes after it.
    fn finish(&self) {
        let mut stream = lock(&self.stream);
        let rest = stream.finish();
        self.pass_on(&rest);
    }

    fn pass_on(&self, chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        lock(&self.tail).push(chunk);
        let file = self.file.as_ref();
        if let Some(loss) = file.and_then(|file| lock(file).push(chunk)) {
            self.losses.add(loss);
        }
        let is_heard = !self.has_tee_panicked.load(Ordering::Relaxed);
        if let Some(tee) = self.tee.as_ref().filter(|_| is_heard)
            && let Err(words) = contain_call(|| tee(chunk))
        {
            self.has_tee_panicked.store(true, Ordering::Relaxed);
            let reason = format!("it panicked: {words}");
            let loss = Loss::of("the handler of stderr", Missing::Messages(1), reason);
            self.losses.add(loss);
        }
    }

    /// The last lines. Bytes that are not UTF-8 are replaced.
    pub fn tail(&self) -> String {
        let mut tail = lock(&self.tail).clone();
        tail.push(&lock(&self.stream).rest());
        tail.text()
    }

    /// How many bytes arrived in all.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Reads `stderr` to its end.
    pub async fn drain(&self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = Vec::with_capacity(READ_BYTES);
        while matches!(stderr.read_buf(&mut buffer).await, Ok(1..)) {
            self.write(&buffer);
            buffer.clear();
        }
        self.finish();
    }
}

impl Drop for StderrLog {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The last bytes, of at most [`TAIL_BYTES`].
#[derive(Clone, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    cut: bool,
}

impl Tail {
    fn push(&mut self, chunk: &[u8]) {
        let kept = chunk
            .get(chunk.len().saturating_sub(TAIL_BYTES)..)
            .unwrap_or(chunk);
        let excess = (self.bytes.len() + kept.len()).saturating_sub(TAIL_BYTES);
        self.cut |= excess > 0 || kept.len() < chunk.len();
        self.bytes.drain(..excess.min(self.bytes.len()));
        self.bytes.extend(kept);
    }

    fn text(&mut self) -> String {
        let bytes: &[u8] = self.bytes.make_contiguous();
        // What was cut off leaves half a line in front, unless all of it is one line.
        let start = memchr::memchr(b'\n', bytes)
            .map(|newline| newline + 1)
            .filter(|start| self.cut && *start < bytes.len())
            .unwrap_or(0);
        let text = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default());
        if self.cut && start == 0 {
            return format!("…{text}");
        }
        text.into_owned()
    }
}

struct LogFile {
    file: File,
    name: String,
    room: u64,
    dropped: u64,
    error: Option<io::Error>,
}

impl LogFile {
    fn new(file: File, path: &Path, room: u64) -> Self {
        Self {
            file,
            name: path.display().to_string(),
            room,
            dropped: 0,
            error: None,
        }
    }

    /// Writes a chunk, or says why not. After the first that does not fit or fails nothing is written any more:
    /// a file with an unmarked gap would mislead.
    fn push(&mut self, chunk: &[u8]) -> Option<Loss> {
        let size = chunk.len() as u64;
        if self.dropped == 0 && size <= self.room {
            match self.file.write_all(chunk) {
                Ok(()) => {
                    self.room -= size;
                    return None;
                }
                Err(error) => self.error = Some(error),
            }
        }
        self.dropped += size;
        let missing = Missing::Bytes(size);
        Some(match &self.error {
            Some(error) => Loss::of(&self.name, missing, error.to_string()),
            None => Loss::over_limit(&self.name, missing),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_starts_with_a_whole_line() {
        let log = StderrLog::new();
        for number in 0..20_000 {
            log.write(format!("line {number}\n").as_bytes());
        }
        let tail = log.tail();
        assert!(tail.len() <= TAIL_BYTES && tail.len() > TAIL_BYTES / 2);
        assert!(tail.starts_with("line ") && tail.ends_with("line 19999\n"));
    }

    #[test]
    fn one_endless_line_is_kept_lossy() {
        let log = StderrLog::new();
        log.write(&vec![0xff; TAIL_BYTES * 3]);
        log.write(b"end");
        assert!(log.tail().ends_with("\u{fffd}end"));
    }

    #[tokio::test]
    async fn chunks_are_whole_lines() {
        let seen = Arc::new(Mutex::new(Vec::<String>::new()));
        let sink = Arc::clone(&seen);
        let log = StderrLog::new().with_tee(Arc::new(move |chunk| {
            lock(&sink).push(String::from_utf8_lossy(chunk).into_owned());
        }));
        let (mut ours, theirs) = tokio::io::duplex(4);
        let writing = async move {
            use tokio::io::AsyncWriteExt as _;
            ours.write_all(b"one\ntwo\nthree").await.unwrap();
        };
        tokio::join!(writing, log.drain(theirs));
        let seen = lock(&seen).clone();
        assert_eq!(seen, ["one\n", "two\n", "three"]);
    }

    #[test]
    fn a_full_file_counts_what_it_drops() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stderr.log");
        let mut file = LogFile::new(File::create(&path).unwrap(), &path, 8);
        for chunk in [&b"12345\n"[..], b"678\n", b"9\n"] {
            file.push(chunk);
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"12345\n");
        assert_eq!(file.dropped, 6);
        assert!(file.push(b"x").unwrap().is_limit);
    }

    #[test]
    fn a_tee_that_panics_is_told_and_the_rest_goes_on() {
        let losses = Losses::default();
        let log = StderrLog::new()
            .with_tee(Arc::new(|_| panic!("no more")))
            .with_losses(losses.clone());
        log.write(b"one\n");
        log.write(b"two\n");
        assert_eq!(log.tail(), "one\ntwo\n");
        let told: Vec<String> = losses.all().iter().map(ToString::to_string).collect();
        let expected = "the handler of stderr: 1 message was not handled: it panicked: no more";
        assert_eq!(told, [expected]);
    }

    #[test]
    fn a_failing_file_does_not_stop_the_rest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stderr.log");
        std::fs::write(&path, "").unwrap();
        let read_only = File::open(&path).unwrap();
        let losses = Losses::default();
        let mut log = StderrLog::new().with_losses(losses.clone());
        log.file = Some(Mutex::new(LogFile::new(read_only, &path, FILE_BYTES_MAX)));
        log.write(b"one\n");
        log.write(b"two\n");
        assert_eq!(log.tail(), "one\ntwo\n");
        let file = lock(log.file.as_ref().unwrap());
        assert!(file.dropped == 8 && file.error.is_some());
        assert_eq!(losses.all()[0].missing, Missing::Bytes(8));
    }
}
