//! Why no session came about, and what to try.

use mcprove_settings::message::{Message, assignment};

use crate::prelude::*;

/// Why no session came about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server process could not be started.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The server could not be reached, or the connection ended before it answered.
    #[error("{failure}")]
    Unreachable {
        /// Why.
        failure: Failure,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// The server did not answer in time.
    #[error("the server did not answer within {}", describe_duration(*waited))]
    Silent {
        /// How long was waited.
        waited: Duration,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// The server answered, but not with what the protocol asks for.
    #[error("initialize handshake failed: {failure}")]
    Handshake {
        /// What it answered.
        failure: Failure,
        /// Whether what it answered was a message, and one that breaks the protocol.
        is_violation: bool,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// The server does not let us in.
    #[error("the server refused access: {failure}")]
    Forbidden {
        /// What it answered.
        failure: Failure,
    },
    /// The server does not speak the revision that was asked for.
    #[error("the server speaks {offered}, not {asked}")]
    Revision {
        /// What was asked for.
        asked: Revision,
        /// What it offers.
        offered: String,
    },
}

impl From<Failure> for ConnectError {
    fn from(failure: Failure) -> Self {
        Self::Unreachable {
            failure,
            stderr: String::new(),
        }
    }
}

impl UserError for ConnectError {
    fn hint(&self) -> Message {
        if let Some(limit) = self.own_limit() {
            return limit.hint();
        }
        if let Some(hint) = self.failure().and_then(hint_of_transport) {
            return hint;
        }
        if let Some(hint) = import_hint(self.stderr()) {
            return hint;
        }
        match self {
            Self::Start(error) => error.hint(),
            Self::Unreachable { failure, .. } if matches!(failure.detail, Detail::Exit(_)) => {
                exit_hint()
            }
            Self::Unreachable { .. } => sentence!(
                "check that the server runs and that the address is right ({} for HTTP+SSE servers)",
                assignment("transport", "sse")
            ),
            Self::Silent { .. } => sentence!(
                "raise {} if the server needs longer to start, or read its stderr{}",
                setting("startup_timeout"),
                tee_stderr()
            ),
            Self::Handshake { failure, .. } if failure.is_oversized() => {
                ErrorCategory::Malformed.hint()
            }
            Self::Handshake { failure, .. }
                if matches!(failure.detail, Detail::Status(500..=599)) =>
            {
                "the server was reached and failed: its log says why".into()
            }
            Self::Handshake { failure, .. }
                if matches!(failure.detail, Detail::Status(404 | 405)) =>
            {
                "check the path of the address: an MCP endpoint often ends in /mcp or /sse".into()
            }
            Self::Handshake { .. } if self.is_violation() => {
                "answer each request with its own id and the result that its method asks for".into()
            }
            Self::Handshake { .. } => sentence!(
                "check that this is an MCP server, and try another {}",
                setting("protocol")
            ),
            Self::Forbidden { .. } => sentence!(
                "give what it asks for, such as {}, which takes a token from an environment variable",
                assignment("bearer_env", "NAME")
            ),
            Self::Revision { .. } => sentence!(
                "use {}, or one that the server offers",
                assignment("protocol", "auto")
            ),
        }
    }

    fn exit_code(&self) -> u8 {
        if self.is_violation() { 1 } else { 2 }
    }

    fn stderr(&self) -> &str {
        match self {
            Self::Unreachable { stderr, .. }
            | Self::Silent { stderr, .. }
            | Self::Handshake { stderr, .. } => stderr,
            Self::Start(_) | Self::Forbidden { .. } | Self::Revision { .. } => "",
        }
    }
}

/// What to try where the server ended before it answered.
pub fn exit_hint() -> Message {
    sentence!(
        "run the command by hand: it ends before it answers{}",
        tee_stderr()
    )
}

/// What the transport knows of a failure before a session came about.
fn hint_of_transport(failure: &Failure) -> Option<Message> {
    Some(match &failure.detail {
        Detail::Denied(Denial::Token) => sentence!(
            "give a token with {}: it is taken from the environment variable NAME and sent as `Authorization: Bearer …`",
            assignment("bearer_env", "NAME")
        ),
        Detail::Denied(Denial::Scheme) => sentence!(
            "give what its `WWW-Authenticate` asks for, such as {}",
            assignment("headers", "\"Authorization: Basic …\"")
        ),
        Detail::Denied(Denial::Host) => sentence!(
            "the server does not accept the name that it is called by, or the header `Origin`: add it to the server's allowed \
             hosts or origins (`allowed_hosts`, `allowedHosts`, `allowed_origins`, `allowedOrigins`; {} of mcprove's own servers), or use \
             another name, such as localhost",
            setting("public_host")
        ),
        Detail::Redirect(location) => sentence!(
            "if that is right, use {}",
            assignment("url", location.clone())
        ),
        Detail::NoTls => {
            "the server speaks no TLS at this port: use http:// (or ws://) in the address".into()
        }
        Detail::OnlyTls => {
            "the server speaks TLS at this port: use https:// (or wss://) in the address".into()
        }
        _ => return None,
    })
}

/// What to do about a server in Python that was written for version 1 of the package `mcp`, and finds another.
pub fn import_hint(stderr: &str) -> Option<Message> {
    let is_import = |line: &&str| {
        let line = line.trim_start();
        IMPORT_ERRORS.iter().any(|error| line.starts_with(error))
            && IMPORTED.iter().any(|name| line.contains(name))
    };
    stderr.lines().rev().find(is_import)?;
    Some(sentence!(
        "something of version 1 of the Python package `mcp` is missing: servers written for it do not start with \
         version 2. Pin it: `mcp<2`"
    ))
}

/// How Python begins the last line of a failed import.
const IMPORT_ERRORS: [&str; 3] = [
    "ImportError:",
    "ModuleNotFoundError:",
    "AttributeError: 'Server' object has no attribute",
];
/// What is not there: something within the package, not the package itself; decorators of version 1.
const IMPORTED: [&str; 6] = [
    "'mcp.",
    "from 'mcp'",
    "\"mcp.",
    "'call_tool'",
    "'list_",
    "'get_prompt'",
];

impl ConnectError {
    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Unreachable { failure, .. }
            | Self::Handshake { failure, .. }
            | Self::Forbidden { failure } => Some(failure),
            Self::Start(_) | Self::Silent { .. } | Self::Revision { .. } => None,
        }
    }

    /// Whether a server that only speaks TLS could have failed in this way.
    pub(super) fn may_be_tls(&self) -> bool {
        let refused = |failure: &Failure| matches!(failure.detail, Detail::Refused | Detail::NoTls);
        match self {
            Self::Unreachable { failure, .. } => !refused(failure),
            Self::Handshake { failure, .. } => {
                matches!(failure.detail, Detail::Status(400..500) | Detail::None)
            }
            Self::Silent { .. } => true,
            Self::Start(_) | Self::Forbidden { .. } | Self::Revision { .. } => false,
        }
    }

    /// The same of a server that only speaks TLS.
    pub(super) fn of_tls(mut self) -> Self {
        match &mut self {
            Self::Unreachable { failure, .. } | Self::Handshake { failure, .. } => {
                failure.detail = Detail::OnlyTls;
                self
            }
            Self::Silent { stderr, .. } => {
                let message = "the server does not answer without TLS";
                Self::Unreachable {
                    failure: Failure::timeout(message).with(Detail::OnlyTls),
                    stderr: std::mem::take(stderr),
                }
            }
            Self::Start(_) | Self::Forbidden { .. } | Self::Revision { .. } => self,
        }
    }

    /// What happened.
    pub fn message(&self) -> Message {
        match self {
            Self::Start(error) => error.message().clone(),
            other => other.to_string().into(),
        }
    }

    /// What this process ran out of, if it is that: the server has no part in it.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        match self {
            Self::Start(error) => error.own_limit(),
            Self::Unreachable { failure, .. } | Self::Handshake { failure, .. } => {
                failure.own_limit()
            }
            _ => None,
        }
    }

    /// The category that it has as a failed start of a run.
    pub fn category(&self) -> ErrorCategory {
        match self {
            // A program that does not even start is as gone as one that ends at once.
            Self::Start(_) => ErrorCategory::Crash,
            Self::Silent { .. } => ErrorCategory::Timeout,
            Self::Revision { .. } => ErrorCategory::ProtocolError,
            Self::Unreachable { failure, .. }
            | Self::Handshake { failure, .. }
            | Self::Forbidden { failure } => failure.category,
        }
    }

    /// The HTTP status that the server answered with, if it is that.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unreachable { failure, .. }
            | Self::Handshake { failure, .. }
            | Self::Forbidden { failure } => match failure.detail {
                Detail::Status(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the server refused the session by a rate limit or a quota.
    pub fn is_rate_limited(&self) -> bool {
        self.failure().is_some_and(Failure::is_rate_limited)
    }

    /// Whether the server was started or reached, and did not answer.
    pub fn is_silence(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            Self::Unreachable { failure, .. } => failure.category == ErrorCategory::Timeout,
            _ => false,
        }
    }

    /// Whether the server was reached and broke the protocol.
    pub fn is_violation(&self) -> bool {
        matches!(
            self,
            Self::Handshake {
                is_violation: true,
                ..
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_import_of_the_sdk_is_told_from_others() {
        let failed = [
            "Traceback …\nModuleNotFoundError: No module named 'mcp.server.fastmcp'",
            "ImportError: cannot import name 'FastMCP' from 'mcp.server' (/x/mcp/server/__init__.py)\n\nbye",
            "ImportError: cannot import name 'types' from 'mcp' (/x/mcp/__init__.py)",
            "    @app.list_tools()\n     ^^^^^\nAttributeError: 'Server' object has no attribute 'list_tools'",
        ];
        for stderr in failed {
            let hint = import_hint(stderr).map(|hint| hint.rendered());
            assert!(
                hint.is_some_and(|hint| hint.contains("`mcp<2`")),
                "{stderr}"
            );
        }
        let others = [
            "ModuleNotFoundError: No module named 'mcp'",
            "ModuleNotFoundError: No module named 'requests'",
            "AttributeError: 'Server' object has no attribute 'port'",
            "INFO ImportError: 'mcp.' is only mentioned",
            "",
        ];
        for stderr in others {
            assert!(import_hint(stderr).is_none(), "{stderr}");
        }
    }

    #[test]
    fn what_the_transport_knows_is_the_hint() {
        let hint = |detail: Detail| {
            let failure = Failure::disconnected("no").with(detail);
            ConnectError::from(failure).hint().rendered()
        };
        let moved = Detail::Redirect("https://h/mcp".to_owned());
        assert!(hint(moved).contains("url = https://h/mcp"));
        assert!(hint(Detail::NoTls).contains("use http://"));
        assert!(hint(Detail::OnlyTls).contains("use https://"));
        let host = hint(Detail::Denied(Denial::Host));
        assert!(host.contains("allowed_hosts") && host.contains("allowed_origins"));
        assert!(hint(Detail::Denied(Denial::Token)).contains("bearer_env = NAME"));
        assert!(hint(Detail::Denied(Denial::Scheme)).contains("headers"));
    }

    #[test]
    fn the_path_is_in_doubt_where_nothing_is_there() {
        for (status, is_about_path) in [(404, true), (405, true), (500, false), (503, false)] {
            let failure = Failure::new(ErrorCategory::ServerError, format!("HTTP {status}"));
            let error = ConnectError::Handshake {
                failure: failure.with(Detail::Status(status)),
                is_violation: false,
                stderr: String::new(),
            };
            let hint = error.hint().rendered();
            assert_eq!(hint.contains("/mcp"), is_about_path, "{status}: {hint}");
        }
    }
}
