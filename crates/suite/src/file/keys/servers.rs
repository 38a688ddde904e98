//! The keys of a server.

use mcprove_client::session::ProtocolChoice;
use mcprove_load::config::TRANSPORTS;
use mcprove_settings::common_keys;

use super::{Form, Key, Section, common, key};
use crate::file::limits::PARALLEL_MAX;

/// The arguments of a program that is started: a server, or an agent.
pub(super) const ARGS: Key = key("args", Form::Texts, "none", "more arguments of the program");
/// Where it is started.
pub(super) const CWD: Key = key(
    "cwd",
    Form::Text,
    "the folder of the suite",
    "the folder that the program starts in, seen from that of the suite",
);
/// The same.
pub(super) const WORKING_DIR: Key = key(
    "working_dir",
    Form::Text,
    "the folder of the suite",
    "another name of `cwd`",
);

/// A server of a suite.
pub const SERVER: Section = Section {
    name: "server",
    title: "Keys of a server",
    explanation: "a command to start, an address, or a mock in this process",
    keys: &[
        key(
            "command",
            Form::Command,
            "",
            "the program to start, and its arguments; one text is split into words as in a shell",
        ),
        ARGS,
        common(&common_keys::ENV, Form::TextTable),
        CWD,
        WORKING_DIR,
        common(&common_keys::URL, Form::Text),
        common(&common_keys::HEADERS, Form::TextTable),
        common(&common_keys::TRANSPORT, Form::OneOf(TRANSPORTS)),
        key(
            "mock",
            Form::Text,
            "",
            "a tools file, seen from the folder of the suite, to be served in this process",
        ),
        key(
            "fault",
            Form::FaultOrFaults,
            "none",
            "what the calls of a mock meet, such as `hang`",
        ),
        key(
            "faults",
            Form::FaultOrFaults,
            "none",
            "another name of `fault`",
        ),
        common(&common_keys::PROTOCOL, Form::OneOf(ProtocolChoice::NAMES)),
        common(&common_keys::STRICT_PROTOCOL, Form::Boolean),
        common(&common_keys::STARTUP_TIMEOUT, Form::Time),
        key(
            "startup_timeout_ms",
            Form::Milliseconds,
            "10000",
            "the same in milliseconds",
        ),
        common(&common_keys::SHUTDOWN_TIMEOUT, Form::TimeOrZero),
        key(
            "shutdown_timeout_ms",
            Form::Milliseconds,
            "5000",
            "the same in milliseconds",
        ),
        key(
            "call_timeout",
            Form::Time,
            "30s",
            "how long one call may take, where the test does not say",
        ),
        key(
            "call_timeout_ms",
            Form::Milliseconds,
            "30000",
            "the same in milliseconds",
        ),
        common(&common_keys::MAX_FRAME, Form::Size),
        common(&common_keys::ACCEPT_REQUESTS, Form::Boolean),
        key(
            "parallel",
            Form::Count(1, PARALLEL_MAX),
            "8",
            "how many tests may use it at once; 1 is one after the other",
        ),
        key(
            "fresh",
            Form::Boolean,
            "false",
            "gives every test a server of its own, just started",
        ),
    ],
};
