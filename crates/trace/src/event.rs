//! What happens during a run, as the engine emits it: borrowed, so that emitting costs nothing
//! but the look at it. [`TraceRecord`](super::TraceRecord) is the owned form read from a file.

use crate::prelude::*;

/// Something that happened at a point of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event<'a> {
    /// Time since the run started.
    pub at: Duration,
    /// What happened.
    pub kind: EventKind<'a>,
}

/// Names a request of a run: JSON-RPC ids are unique within one session only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey {
    /// The session, counted from 0.
    pub session: u32,
    /// The JSON-RPC id.
    pub id: u64,
}

/// What a load run knows of a call besides its request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTag {
    /// The phase of the run that the call belongs to; 0 is outside of any.
    pub phase: u16,
    /// From the intended start to the sending: how long the call waited for us, not for the server.
    pub wait: Duration,
}

/// What an [`Event`] is about. JSON texts are whole values, as they were on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum EventKind<'a> {
    /// A request was sent.
    Request {
        /// Which one.
        request: RequestKey,
        /// The JSON-RPC method.
        method: &'a str,
        /// The tool, for `tools/call`.
        tool: Option<&'a str>,
        /// The parameters, as JSON.
        params: &'a str,
        /// The id that its client gave it, as JSON, where another than ours asked; else empty.
        client_id: &'a str,
        /// What a load run knows of it.
        tag: CallTag,
    },
    /// A request was answered with a result.
    Response {
        /// Which one.
        request: RequestKey,
        /// The JSON-RPC method.
        method: &'a str,
        /// The tool, for `tools/call`.
        tool: Option<&'a str>,
        /// From sending to the answer.
        duration: Duration,
        /// The result, as JSON.
        result: &'a str,
        /// What a load run knows of it.
        tag: CallTag,
    },
    /// A request ended in a failure. This is its terminal event.
    Error {
        /// Which one.
        request: RequestKey,
        /// The JSON-RPC method.
        method: &'a str,
        /// The tool, for `tools/call`.
        tool: Option<&'a str>,
        /// From sending to the failure.
        duration: Duration,
        /// Why it failed.
        failure: CallFailure<'a>,
        /// What a load run knows of it.
        tag: CallTag,
    },
    /// A request passed the hang threshold without an answer; what follows decides how it ends.
    Hang {
        /// Which one.
        request: RequestKey,
        /// How long it has waited.
        hung_for: Duration,
    },
    /// A hung request passed the grace period too.
    Deadlock {
        /// Which one.
        request: RequestKey,
        /// How long it has waited.
        hung_for: Duration,
    },
    /// The server process ended.
    Crash {
        /// How it ended.
        message: &'a str,
    },
    /// What the server's processes used at this moment.
    ProcessSample {
        /// Resident memory, in MB.
        rss_mb: f64,
        /// Share of one core, in percent.
        cpu_pct: f64,
        /// Threads, where the system tells.
        threads: Option<u32>,
        /// Open descriptors, where the system tells.
        descriptors: Option<u32>,
        /// Processes.
        processes: u32,
    },
    /// Something the engine did or noticed.
    ScenarioEvent {
        /// A short name.
        name: &'a str,
        /// The rest, for people.
        message: &'a str,
        /// The rest, for programs, as JSON; empty for none.
        data: &'a str,
    },
}

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFailure<'a> {
    /// The one category it counts in.
    pub category: ErrorCategory,
    /// What happened, for people.
    pub message: &'a str,
    /// The JSON-RPC error code, where there was one.
    pub code: Option<i64>,
    /// The message of that error, as the server wrote it. Empty where there is none, or where it is not kept.
    pub server_message: &'a str,
    /// What else the server answered, as JSON: the result of a tool error, or the `data` of a JSON-RPC
    /// error. Empty where there is none, or where it is not kept.
    pub answer: &'a str,
}

/// The most of a message that is searched for the words of a rate limit.
const SEARCHED_CHARACTERS: usize = 500;

/// What servers that refuse a call by a rate limit or a quota say, and nobody else.
const RATE_LIMIT_WORDS: &str = "rate limit|rate-limit|rate_limit|ratelimit|too many requests|too many calls|\
    too many concurrent|throttl|slow down|status 429|http 429|code 429|code -32029";

/// What they say too, where it is not about something else that can run out.
const LIMIT_WORDS: &str = "quota|limit exceeded|exceeded the limit|limit reached|limit has been reached|retry after|retry-after";

/// What can run out because of a mistake of the server, as a whole word.
const RESOURCE_WORDS: &str = "disk|storage|space|memory|heap|stack|recursion|depth|nesting|size|length|byte|bytes|file|files|\
    descriptor|descriptors|inode|time|context";

/// Whether a failure says that a rate limit or a quota refused the call.
pub fn is_rate_limit_message(message: &str) -> bool {
    let start = message.chars().take(SEARCHED_CHARACTERS);
    let said = start.collect::<String>().to_lowercase();
    let says = |table: &str| table.split('|').any(|words| said.contains(words));
    let is_resource = || {
        let mut words = said.split(|it: char| !it.is_alphanumeric());
        words.any(|word| RESOURCE_WORDS.split('|').any(|it| it == word))
    };
    says(RATE_LIMIT_WORDS) || says(LIMIT_WORDS) && !is_resource()
}

impl CallFailure<'_> {
    /// The HTTP status that the message begins with, if it does.
    fn http_status(&self) -> Option<&str> {
        self.message.strip_prefix("HTTP ")?.get(..3)
    }

    /// The category, with the error code or the HTTP status where there was one: `ServerError -32000`.
    pub fn name(&self) -> String {
        let category = self.category;
        match (self.code, self.http_status()) {
            (Some(code), _) => format!("{category} {code}"),
            (None, Some(status)) => format!("{category} HTTP {status}"),
            (None, None) => category.to_string(),
        }
    }

    /// Whether the server refused the call by a rate limit or a quota, as far as its words tell.
    pub fn is_rate_limited(&self) -> bool {
        let is_answer = matches!(
            self.category,
            ErrorCategory::ServerError
                | ErrorCategory::ProtocolError
                | ErrorCategory::ToolError
                | ErrorCategory::Disconnected
        );
        // A server that is overloaded or starting asks to come back later, too: that is no limit of this client.
        let is_fault = self.http_status().is_some_and(|it| it.starts_with('5'));
        is_answer && !is_fault && is_rate_limit_message(self.message)
    }
}

impl EventKind<'_> {
    /// The name in the `kind` field of a trace.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Response { .. } => "response",
            Self::Error { .. } => "error",
            Self::Hang { .. } => "hang",
            Self::Deadlock { .. } => "deadlock",
            Self::Crash { .. } => "crash",
            Self::ProcessSample { .. } => "process_sample",
            Self::ScenarioEvent { .. } => "scenario_event",
        }
    }

    /// The request that the event is about, where there is one.
    pub const fn request(&self) -> Option<RequestKey> {
        match self {
            Self::Request { request, .. }
            | Self::Response { request, .. }
            | Self::Error { request, .. }
            | Self::Hang { request, .. }
            | Self::Deadlock { request, .. } => Some(*request),
            Self::Crash { .. } | Self::ProcessSample { .. } | Self::ScenarioEvent { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_known_by_their_words() {
        let refusals = [
            "HTTP 429 Too Many Requests: wait (-32000)",
            "wait a moment (code 429)",
            "wait a moment (code -32029)",
            "Too many concurrent requests",
            "Limit exceeded: 40 calls per minute",
            "Daily limit reached",
            "Retry after 30 s",
            "Please slow down",
            "request was throttled",
            "RateLimitError",
            "Request failed with status code 429",
            "quota exceeded",
            "You exceeded your monthly quota of requests",
        ];
        for said in refusals {
            assert!(is_rate_limit_message(said), "{said}");
        }
        let mistakes = [
            "disk quota exceeded",
            "Storage quota exceeded (code -32000)",
            "no space left within the quota",
            "memory limit exceeded",
            "maximum recursion limit reached",
            "time limit exceeded",
            "open file limit reached",
            "division by zero (code -32000)",
            "out of range (code -32602)",
        ];
        for said in mistakes {
            assert!(!is_rate_limit_message(said), "{said}");
        }
    }

    #[test]
    fn only_an_answer_is_a_refusal() {
        let failure = |category| CallFailure {
            category,
            message: "rate limit",
            code: None,
            server_message: "",
            answer: "",
        };
        assert!(failure(ErrorCategory::ToolError).is_rate_limited());
        let overloaded = CallFailure {
            message: "HTTP 503 Service Unavailable (retry after 1 s)",
            ..failure(ErrorCategory::Disconnected)
        };
        assert!(!overloaded.is_rate_limited());
        assert!(!failure(ErrorCategory::Timeout).is_rate_limited());
    }
}
