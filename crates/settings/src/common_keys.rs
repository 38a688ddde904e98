//! Keys that mean the same in a load configuration and in a suite: each is said once.

/// A key, without what it takes, for which each format has its own words.
pub struct CommonKey {
    /// The name.
    pub name: &'static str,
    /// What it is when it is not given.
    pub default: &'static str,
    /// What it does.
    pub explanation: &'static str,
}

pub const ENV: CommonKey = common(
    "env",
    "none",
    "variables added to the environment, which the server inherits",
);
pub const TRANSPORT: CommonKey = common(
    "transport",
    "stdio, or from the address",
    "how messages travel; an http address falls back to sse unless it is given",
);
pub const URL: CommonKey = common(
    "url",
    "",
    "the address of a running server, instead of a command",
);
pub const HEADERS: CommonKey = common(
    "headers",
    "none",
    "headers added to every request to an address",
);
pub const STARTUP_TIMEOUT: CommonKey = common(
    "startup_timeout",
    "30s",
    "how long the server may take to answer the first request",
);
pub const SHUTDOWN_TIMEOUT: CommonKey = common(
    "shutdown_timeout",
    "5s",
    "how long it may take to exit once its input is closed",
);
pub const PROTOCOL: CommonKey = common("protocol", "auto", "the revision to speak");
pub const STRICT_PROTOCOL: CommonKey = common(
    "strict_protocol",
    "false",
    "fails when the server chooses another revision than the one asked for",
);
pub const MAX_FRAME: CommonKey = common(
    "max_frame",
    "64MiB",
    "the largest message accepted from the server",
);
pub const ACCEPT_REQUESTS: CommonKey = common(
    "accept_requests",
    "false",
    "answers a server that asks for input with made-up values instead of declining",
);

const fn common(name: &'static str, default: &'static str, explanation: &'static str) -> CommonKey {
    CommonKey {
        name,
        default,
        explanation,
    }
}
