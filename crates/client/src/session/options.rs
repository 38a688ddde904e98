//! How a session behaves.

use std::str::FromStr;
use std::sync::LazyLock;

use mcprove_settings::kind::Kind;
use mcprove_settings::setting::{SettingType, Settings};
use mcprove_settings::tree::Data;

use crate::prelude::*;
use crate::transport::{BytesHandler, ChannelLayer};

/// The limits of calls.
#[derive(Debug, Clone, Copy, Settings)]
pub struct CallLimits {
    /// How long one call may take.
    #[setting(default = "30s")]
    pub call_timeout: Duration,
    /// The largest message accepted from the server.
    #[setting(default = "64MiB")]
    pub max_frame: usize,
}

/// Those that hold unless set otherwise.
pub static CALL_LIMITS: LazyLock<CallLimits> = LazyLock::new(CallLimits::initial);

/// Which revision of the protocol to speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// Whatever the server speaks: the stateless era if it can, else the newest handshake.
    #[default]
    Auto,
    /// This one.
    Revision(Revision),
}

impl FromStr for ProtocolChoice {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            Ok(Self::Auto)
        } else {
            text.parse().map(Self::Revision)
        }
    }
}

impl ProtocolChoice {
    /// What can be chosen, by name.
    pub const NAMES: &[&str] = &[
        "auto",
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ];
}

impl SettingType for ProtocolChoice {
    const KIND: Kind = Kind::OneOf(Self::NAMES);

    fn from_data(data: Data) -> Option<Self> {
        match data {
            Data::Text(name) => name.parse().ok(),
            _ => None,
        }
    }

    fn write(&self) -> Option<Data> {
        (*self != Self::Auto).then(|| Data::Text(self.to_string()))
    }
}

impl fmt::Display for ProtocolChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Revision(revision) => revision.fmt(formatter),
        }
    }
}

/// Called with the method and the parameters (as JSON) of each notification.
pub type NotificationHandler = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Called with the tool and the result of each call; says why the result is not acceptable, and
/// what the call counts as then.
pub type ResultCheck = Arc<dyn Fn(&str, &str) -> Option<Failure> + Send + Sync>;

/// How a session behaves.
///
/// ```
/// use std::time::Duration;
/// use mcprove_client::session::SessionOptions;
///
/// let options = SessionOptions::default().with_call_timeout(Duration::from_secs(5));
/// assert_eq!(options.max_frame, 64 * 1024 * 1024);
/// ```
#[derive(Opaque, Clone)]
#[must_use]
#[non_exhaustive]
pub struct SessionOptions {
    /// Which revision to speak.
    pub protocol: ProtocolChoice,
    /// The era that the server is known to speak: where the choice is ours, no other is tried.
    pub known_era: Option<Era>,
    /// Whether a revision other than the one asked for is an error rather than a warning.
    pub strict_protocol: bool,
    /// How long a call may take; unless set 30 s, and for a tool call with `hang_limits` as long as they say.
    pub call_timeout: Option<Duration>,
    /// When a tool call counts as hung and when as deadlocked; none looks at the call timeout only.
    pub hang_limits: Option<HangLimits>,
    /// What the server has answered to all sessions, where they share a process.
    pub progress: Option<Arc<Progress>>,
    /// How long other work has kept the server, or us, from running: that time makes no call a stuck one.
    pub lost_time: Arc<LostTime>,
    /// Who judges the results of tools besides us.
    pub result_check: Option<ResultCheck>,
    /// The largest message accepted.
    pub max_frame: usize,
    /// How many HTTP connections may be open at once.
    pub max_connections: usize,
    /// Who answers what the server asks of its client.
    pub responder: Arc<dyn Responder>,
    /// Who is told of notifications.
    pub on_notification: Option<NotificationHandler>,
    /// Who gets what arrived and is no message.
    pub on_noise: Option<BytesHandler>,
    /// Who gets the server's stderr, live and whole lines at a time.
    pub on_stderr: Option<BytesHandler>,
    /// Where the server's stderr is kept.
    pub stderr_file: Option<PathBuf>,
    /// Where it is noted what that file did not get, and which handler panicked.
    pub losses: Losses,
    /// Takes secrets out of what is kept, passed on and told; unless set, those that the server is started or reached
    /// with, and inherited ones ([`Server::redactor`]).
    pub redactor: Option<Redactor>,
    /// The number of this session in the trace.
    pub session_number: u32,
    /// Whether a handshake ends with `notifications/initialized`, as the protocol asks for; without
    /// it whoever connects has to send it.
    pub sends_initialized: bool,
    /// Whether an HTTP address that turns out to be of the old HTTP+SSE kind is taken as such.
    pub fall_back_to_sse: bool,
    /// What stands around its channel, such as faults that calls meet on their way.
    pub layer: Option<Arc<dyn ChannelLayer>>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            protocol: ProtocolChoice::Auto,
            known_era: None,
            strict_protocol: false,
            call_timeout: None,
            hang_limits: None,
            progress: None,
            lost_time: Arc::default(),
            result_check: None,
            max_frame: CALL_LIMITS.max_frame,
            max_connections: crate::transport::http::MAX_CONNECTIONS,
            responder: Arc::new(Decline),
            on_notification: None,
            on_noise: None,
            on_stderr: None,
            stderr_file: None,
            losses: Losses::default(),
            redactor: None,
            session_number: 0,
            sends_initialized: true,
            fall_back_to_sse: true,
            layer: None,
        }
    }
}

impl SessionOptions {
    /// Sets how long a call may take.
    pub fn with_call_timeout(mut self, call_timeout: Duration) -> Self {
        self.call_timeout = Some(call_timeout);
        self
    }

    /// How long a call of a tool may take at most.
    pub fn call_timeout(&self) -> Duration {
        let limits = self.hang_limits.as_ref();
        let usual = limits.map_or(CALL_LIMITS.call_timeout, HangLimits::given_up_after);
        self.call_timeout.unwrap_or(usual)
    }

    /// Sets the revision to speak.
    pub fn with_revision(mut self, revision: Revision) -> Self {
        self.protocol = ProtocolChoice::Revision(revision);
        self
    }

    /// Sets how the revision is chosen.
    pub const fn with_protocol(mut self, protocol: ProtocolChoice) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets how many connections calls over HTTP share.
    pub const fn with_max_connections(mut self, max_connections: usize) -> Self {
        self.max_connections = max_connections;
        self
    }

    /// Sets what looks at every result of a tool: it gets the name of the tool and the result as JSON, and may say why
    /// the call counts as failed.
    pub fn with_result_check(
        mut self,
        check: impl Fn(&str, &str) -> Option<Failure> + Send + Sync + 'static,
    ) -> Self {
        self.result_check = Some(Arc::new(check));
        self
    }

    /// Sets who answers what the server asks of its client.
    pub fn with_responder(mut self, responder: impl Responder + 'static) -> Self {
        self.responder = Arc::new(responder);
        self
    }

    /// Sets who is told of notifications: their method and their parameters, as JSON.
    pub fn with_notifications(mut self, told: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        self.on_notification = Some(Arc::new(told));
        self
    }

    /// Sets what stands around the channel, such as faults.
    pub fn with_layer(mut self, layer: impl ChannelLayer + 'static) -> Self {
        self.layer = Some(Arc::new(layer));
        self
    }
}
