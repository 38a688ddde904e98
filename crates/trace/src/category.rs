//! The error taxonomy: every failed call ends in exactly one category.

use crate::prelude::*;

/// Why a call failed. A call that hung and then lost its server is a [`Crash`](Self::Crash): the
/// terminal event decides, and the trace keeps both.
///
/// ```
/// use mcprove_trace::ErrorCategory;
///
/// assert_eq!(ErrorCategory::from_code(-32601), ErrorCategory::ProtocolError);
/// assert_eq!(ErrorCategory::from_code(-32000), ErrorCategory::ServerError);
/// assert_eq!(ErrorCategory::from_code(42), ErrorCategory::ServerError);
/// ```
#[data(Copy, Eq, PartialOrd, Ord, Hash, Shown)]
#[shown(name)]
pub enum ErrorCategory {
    /// No answer within the hang threshold, but one before the grace period ended.
    Hang,
    /// No answer within hang threshold and grace period together.
    Deadlock,
    /// The caller's own deadline for the call passed.
    Timeout,
    /// A JSON-RPC error with a code that the server chose.
    ServerError,
    /// A JSON-RPC error with a code that JSON-RPC or MCP reserves.
    ProtocolError,
    /// A result with `isError: true`.
    ToolError,
    /// The server process ended during the call.
    Crash,
    /// The answer was not valid JSON, or not a valid JSON-RPC message, or too large.
    Malformed,
    /// The transport closed during the call.
    Disconnected,
    /// The caller cancelled the call before it was answered.
    Cancelled,
}

/// The names of the categories, in their order.
const NAMES: [&str; ErrorCategory::ALL.len()] = [
    "Hang",
    "Deadlock",
    "Timeout",
    "ServerError",
    "ProtocolError",
    "ToolError",
    "Crash",
    "Malformed",
    "Disconnected",
    "Cancelled",
];

impl ErrorCategory {
    /// Every category, in the order of the taxonomy.
    pub const ALL: [Self; 10] = [
        Self::Hang,
        Self::Deadlock,
        Self::Timeout,
        Self::ServerError,
        Self::ProtocolError,
        Self::ToolError,
        Self::Crash,
        Self::Malformed,
        Self::Disconnected,
        Self::Cancelled,
    ];

    /// The category of a JSON-RPC error code: what JSON-RPC or MCP reserves is a protocol error,
    /// every other code is the server's own.
    pub const fn from_code(code: i64) -> Self {
        match code {
            -32700 | -32603..=-32600 | -32099..=-32020 => Self::ProtocolError,
            _ => Self::ServerError,
        }
    }

    /// The name used in files and tables.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// What to try next when a call ended in this category.
    pub fn hint(self) -> Message {
        match self {
            Self::Hang => {
                "the tool is slow under contention; raise the hang threshold, or look for a lock held across the call".into()
            }
            Self::Deadlock => {
                "the call got no answer; look for blocking work (imports, locks) inside an async handler".into()
            }
            Self::Timeout => sentence!("raise {} if the tool may take this long, or check that the server still reads its input", setting("call_timeout")),
            Self::ServerError => {
                "the server refused the call by its own rules; check the arguments against the tool's description".into()
            }
            Self::ProtocolError => sentence!("the server rejected the request itself; check the method, the arguments and {}", setting("protocol")),
            Self::ToolError => {
                "the tool ran and reported a failure; its text says why, check the arguments".into()
            }
            Self::Crash => sentence!("the server process ended; read its stderr{}", tee_stderr()),
            Self::Malformed => sentence!("the answer is not what the protocol asks for; its message says where. Keep logs on stderr, and raise {} for large replies", setting("max_frame")),
            Self::Disconnected => sentence!("the connection closed before the answer; read the server's stderr{}", tee_stderr()),
            Self::Cancelled => {
                "the call was cancelled before it was answered; run again to finish it".into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_map_to_exactly_one_category() {
        let cases = [
            (-32700, ErrorCategory::ProtocolError),
            (-32600, ErrorCategory::ProtocolError),
            (-32603, ErrorCategory::ProtocolError),
            (-32604, ErrorCategory::ServerError),
            (-32020, ErrorCategory::ProtocolError),
            (-32099, ErrorCategory::ProtocolError),
            (-32100, ErrorCategory::ServerError),
            (-32019, ErrorCategory::ServerError),
            (-32000, ErrorCategory::ServerError),
            (0, ErrorCategory::ServerError),
            (i64::MIN, ErrorCategory::ServerError),
        ];
        for (code, category) in cases {
            assert_eq!(ErrorCategory::from_code(code), category, "code {code}");
        }
    }

    #[test]
    fn names_are_the_serialised_form() {
        for category in ErrorCategory::ALL {
            let json = serde_json::to_string(&category).unwrap();
            assert_eq!(json, format!("\"{}\"", category.name()));
            assert!(!category.hint().is_empty());
        }
    }
}
