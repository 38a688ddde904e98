//! The limit on open files: raised for us, since every session costs descriptors, and put back for
//! the servers, which should meet the limit that they would meet without us.

/// The limit before it was raised.
#[cfg(unix)]
static ORIGINAL: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
/// What macOS grants where it refuses a limit as high as the hard one.
#[cfg(unix)]
const MODEST_LIMIT: u64 = 10_240;

/// Raises the soft limit on open files as far as allowed; returns the limit now in force, where
/// there is one. Servers with a supervisor get the original limit.
pub fn raise_descriptor_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let limit = getrlimit(Resource::Nofile);
        let soft = limit.current?;
        for aim in [limit.maximum, Some(MODEST_LIMIT)] {
            let higher = aim.is_none_or(|aim| aim > soft);
            let raised = Rlimit {
                current: aim,
                maximum: limit.maximum,
            };
            if higher && setrlimit(Resource::Nofile, raised).is_ok() {
                ORIGINAL.get_or_init(|| soft);
                break;
            }
        }
        getrlimit(Resource::Nofile).current
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
pub(super) fn original_descriptor_limit() -> Option<u64> {
    ORIGINAL.get().copied()
}

/// Lowers the soft limit of this process to `soft`.
#[cfg(unix)]
pub(super) fn restore_descriptor_limit(soft: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let maximum = getrlimit(Resource::Nofile).maximum;
    // A server with a higher limit than usual is better than none.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(soft),
            maximum,
        },
    );
}
