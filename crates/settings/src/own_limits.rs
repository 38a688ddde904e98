//! The limits of this process. The one on open files is raised for us, since every session costs descriptors, and
//! put back for the servers, which should meet the limit that they would meet without us. What we run out of
//! ourselves is an [`OwnLimit`]: an error of ours, never a finding about the server.

use std::io::ErrorKind;

use crate::prelude::*;
use tokio::sync::watch;
/// How long to wait after a connection could not be accepted, for instance for lack of files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// Below this, memory may run out in ordinary runs.
const LITTLE_MEMORY_BYTES: u64 = 512 * 1024 * 1024;

/// Something that this process ran out of, or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLimit {
    pub resource: LimitedResource,
    /// How much of it this process may have, where that is known.
    pub limit: Option<u64>,
}

/// What a process can run out of.
#[choice(Copy, Eq)]
pub enum LimitedResource {
    /// Open files, sockets and pipes of this process.
    Descriptors,
    /// Open files of the whole system.
    SystemDescriptors,
    /// Processes and threads.
    Processes,
    /// Memory, that of the kernel for sockets included.
    Memory,
    /// Local addresses and ports to connect from.
    Ports,
    /// The process that supervises a server: something killed it.
    Supervisor,
}

impl OwnLimit {
    /// What an error says that this process ran out of; none where it is about something else.
    pub fn of(error: &io::Error) -> Option<Self> {
        let found = match error.raw_os_error() {
            Some(code) => shortage(code),
            None if error.kind() == ErrorKind::OutOfMemory => Some(LimitedResource::Memory),
            None => {
                return error
                    .get_ref()
                    .and_then(|inner| inner.source())
                    .and_then(|it| Self::of(it.downcast_ref()?));
            }
        };
        found.map(Self::now)
    }

    /// The same of an error of starting a process or a thread, which may also say that there is no room for one.
    pub fn of_start(error: &io::Error) -> Option<Self> {
        Self::of_or(error, ErrorKind::WouldBlock, LimitedResource::Processes)
    }

    /// What the message of a panic says that this process ran out of: threads that libraries cannot start, and
    /// descriptors of a runtime, become known in no other way.
    pub fn of_panic(message: &str) -> Option<Self> {
        let mut no_thread = ["OS can't spawn worker thread", "failed to spawn thread"].iter();
        if no_thread.any(|start| message.starts_with(start)) {
            return Some(Self::now(LimitedResource::Processes));
        }
        message
            .contains("Too many open files")
            .then(|| Self::now(LimitedResource::Descriptors))
    }

    /// The same of an error of connecting, which may also say that there is no port to connect from.
    pub fn of_connect(error: &io::Error) -> Option<Self> {
        Self::of_or(error, ErrorKind::AddrNotAvailable, LimitedResource::Ports)
    }

    fn of_or(error: &io::Error, kind: ErrorKind, resource: LimitedResource) -> Option<Self> {
        Self::of(error).or_else(|| (error.kind() == kind).then(|| Self::now(resource)))
    }

    /// Of a resource, with the limit that is in force now.
    pub fn now(resource: LimitedResource) -> Self {
        let limit = current(resource);
        Self { resource, limit }
    }

    /// Fails unless this much memory can be had now.
    pub fn check_memory(bytes: u64) -> Result<(), Self> {
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut rehearsal: Vec<u8> = Vec::new();
        rehearsal
            .try_reserve_exact(wanted)
            .map_err(|_| Self::now(LimitedResource::Memory))
    }

    /// The limit on memory, where it is so small that a run may meet it. Rust then aborts, and nothing more can be
    /// said: whoever starts says it before.
    pub fn of_little_memory() -> Option<Self> {
        let limit = Self::now(LimitedResource::Memory);
        limit
            .limit
            .is_some_and(|bytes| bytes < LITTLE_MEMORY_BYTES)
            .then_some(limit)
    }

    /// The same as the numbers of a verdict, which [`OwnLimit::of_numbers`] reads back.
    pub fn numbers(self) -> BTreeMap<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }

    /// What the numbers of a verdict say.
    pub fn of_numbers(numbers: &BTreeMap<String, Value>) -> Option<Self> {
        let fields = numbers.clone().into_iter().collect();
        serde_json::from_value(Value::Object(fields)).ok()
    }
}

impl UserError for OwnLimit {
    fn hint(&self) -> Message {
        self.resource.words().1
    }
}

impl LimitedResource {
    /// That it ran out, and what to raise or lower.
    fn words(self) -> (&'static str, Message) {
        match self {
            Self::Descriptors => (
                "mcprove ran out of file descriptors",
                sentence!("raise the limit, for instance with `ulimit -n 4096`, or use fewer sessions and calls at once"),
            ),
            Self::SystemDescriptors => (
                "the system ran out of file descriptors",
                sentence!("raise the limit of the system (`sysctl fs.file-max`), or use fewer sessions and calls at once"),
            ),
            Self::Processes => (
                "mcprove could not start another process or thread",
                sentence!("raise the limits on processes (`ulimit -u`, or that of the container) and on memory \
                 (`ulimit -v`), or use fewer sessions and calls at once"),
            ),
            Self::Memory => (
                "mcprove ran out of memory",
                sentence!("raise the limit on memory (`ulimit -v`, or that of the container), or use fewer sessions and \
                 calls at once"),
            ),
            Self::Ports => (
                "mcprove has no local address or port left to connect from",
                sentence!("wait a minute until used ports are free again, widen their range (`sysctl \
                 net.ipv4.ip_local_port_range`), or use fewer sessions and calls at once"),
            ),
            Self::Supervisor => (
                "the process of mcprove that supervises the server was killed, and the server with it",
                "something else killed it, such as the system for lack of memory: see its log, and run the command again".into(),
            ),
        }
    }
}

impl fmt::Display for OwnLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.resource.words().0)?;
        match self.limit {
            Some(bytes) if self.resource == LimitedResource::Memory => {
                write!(formatter, " (limit {} MiB)", bytes >> 20)
            }
            Some(limit) => write!(formatter, " (limit {limit})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OwnLimit {}

/// Where the first own limit that is met becomes known to all who look.
#[derive(Debug, Clone, Default)]
pub struct LimitWatch(watch::Sender<Option<OwnLimit>>);

impl LimitWatch {
    /// Notes a limit that was met; tells whether it is the first.
    pub fn meet(&self, limit: OwnLimit) -> bool {
        self.0
            .send_if_modified(|first| first.is_none() && first.replace(limit).is_none())
    }

    /// Waits a little after a connection could not be accepted, so that the next try has a chance; where it was
    /// for a limit of our own, notes it.
    pub async fn accept_failed(&self, error: &io::Error) {
        if let Some(limit) = OwnLimit::of(error) {
            self.meet(limit);
        }
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }

    /// The first limit that was met.
    pub fn met(&self) -> Option<OwnLimit> {
        *self.0.borrow()
    }

    /// Waits until a limit is met.
    pub async fn wait(&self) -> OwnLimit {
        let mut first = self.0.subscribe();
        let limit = first.wait_for(Option::is_some).await.ok();
        match limit.and_then(|limit| *limit) {
            Some(limit) => limit,
            // The sender is this one, so it is there.
            None => std::future::pending().await,
        }
    }
}

/// The shortage that an error of the system means.
#[cfg(unix)]
fn shortage(code: i32) -> Option<LimitedResource> {
    use rustix::io::Errno;
    match Errno::from_raw_os_error(code) {
        Errno::MFILE => Some(LimitedResource::Descriptors),
        Errno::NFILE => Some(LimitedResource::SystemDescriptors),
        Errno::NOMEM | Errno::NOBUFS => Some(LimitedResource::Memory),
        _ => None,
    }
}

/// The shortage that an error of the system means.
#[cfg(windows)]
fn shortage(code: i32) -> Option<LimitedResource> {
    match code {
        // ERROR_TOO_MANY_OPEN_FILES, WSAEMFILE.
        4 | 10_024 => Some(LimitedResource::Descriptors),
        // ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY, ERROR_COMMITMENT_LIMIT, WSAENOBUFS.
        8 | 14 | 1455 | 10_055 => Some(LimitedResource::Memory),
        _ => None,
    }
}

/// The limit of this process on a resource.
#[cfg(unix)]
fn current(resource: LimitedResource) -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let known = match resource {
        LimitedResource::Descriptors => Resource::Nofile,
        LimitedResource::Processes => Resource::Nproc,
        LimitedResource::Memory => Resource::As,
        LimitedResource::SystemDescriptors
        | LimitedResource::Ports
        | LimitedResource::Supervisor => return None,
    };
    getrlimit(known).current
}

/// The limit of this process on a resource.
#[cfg(not(unix))]
const fn current(_: LimitedResource) -> Option<u64> {
    None
}

/// The limit before it was raised.
#[cfg(unix)]
static ORIGINAL: OnceLock<u64> = OnceLock::new();
/// What macOS grants where it refuses a limit as high as the hard one.
#[cfg(unix)]
const MODEST_LIMIT: u64 = 10_240;

/// Raises the soft limit on open files as far as allowed; returns the limit now in force, where
/// there is one. Servers with a supervisor get the original limit.
pub fn raise_descriptor_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};

        let limit = getrlimit(Resource::Nofile);
        let soft = limit.current?;
        for aim in [limit.maximum, Some(MODEST_LIMIT)] {
            let higher = aim.is_none_or(|aim| aim > soft);
            if higher && set_descriptor_limit(aim).is_ok() {
                ORIGINAL.get_or_init(|| soft);
                break;
            }
        }
        current(LimitedResource::Descriptors)
    }
    #[cfg(not(unix))]
    None
}

/// Lets a write fail that goes over the largest size that a file may have (`ulimit -f`), where SIGXFSZ would
/// end the process. Children are not affected: a handler does not outlive the start of another program. Call
/// it within a runtime.
pub fn outlive_file_size_limit() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        // The handler stays when this is dropped. Where none can be set, the system does what it does.
        let _ = signal(kind);
    }
}

/// The limit that servers should get, if ours was raised.
#[cfg(unix)]
pub fn original_descriptor_limit() -> Option<u64> {
    ORIGINAL.get().copied()
}

/// Lowers the soft limit of this process to `soft`.
#[cfg(unix)]
pub fn restore_descriptor_limit(soft: u64) {
    // A server with a higher limit than usual is better than none.
    let _ = set_descriptor_limit(Some(soft));
}

#[cfg(unix)]
fn set_descriptor_limit(current: Option<u64>) -> rustix::io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum })
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::io::Errno;

    use super::*;

    fn resource(found: Option<OwnLimit>) -> Option<LimitedResource> {
        found.map(|limit| limit.resource)
    }

    #[test]
    fn what_ran_out_here_is_told_from_what_the_server_did() {
        let of = |errno: Errno| resource(OwnLimit::of(&io::Error::from(errno)));
        assert_eq!(of(Errno::MFILE), Some(LimitedResource::Descriptors));
        assert_eq!(of(Errno::NFILE), Some(LimitedResource::SystemDescriptors));
        assert_eq!(of(Errno::NOMEM), Some(LimitedResource::Memory));
        assert_eq!(of(Errno::NOBUFS), Some(LimitedResource::Memory));
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::PIPE] {
            let error = io::Error::from(errno);
            assert_eq!(OwnLimit::of(&error), None);
            assert_eq!(OwnLimit::of_start(&error), None);
            assert_eq!(OwnLimit::of_connect(&error), None);
        }
        // Each of these means something else elsewhere.
        let again = io::Error::from(Errno::AGAIN);
        let no_port = io::Error::from(Errno::ADDRNOTAVAIL);
        assert_eq!((of(Errno::AGAIN), of(Errno::ADDRNOTAVAIL)), (None, None));
        let started = resource(OwnLimit::of_start(&again));
        assert_eq!(started, Some(LimitedResource::Processes));
        let connected = resource(OwnLimit::of_connect(&no_port));
        assert_eq!(connected, Some(LimitedResource::Ports));
    }

    #[test]
    fn what_cannot_be_had_is_refused_and_said_with_its_limit() {
        assert!(OwnLimit::check_memory(1 << 20).is_ok());
        let refused = OwnLimit::check_memory(u64::MAX).unwrap_err();
        assert_eq!(refused.resource, LimitedResource::Memory);
        let limit = OwnLimit {
            resource: LimitedResource::Descriptors,
            limit: Some(1024),
        };
        let text = "mcprove ran out of file descriptors (limit 1024)";
        assert_eq!(limit.to_string(), text);
        assert!(limit.hint().rendered().contains("`ulimit -n 4096`"));
    }

    #[tokio::test]
    async fn the_first_limit_stays() {
        let watch = LimitWatch::default();
        let seen = watch.clone();
        let limit = OwnLimit::now(LimitedResource::Ports);
        assert!(watch.meet(limit));
        assert!(!watch.meet(OwnLimit::now(LimitedResource::Memory)));
        assert_eq!(seen.met(), Some(limit));
        assert_eq!(seen.wait().await, limit);
    }
}
