//! The keys of a server.

use super::{Form, Section, key};
use crate::suite::file::limits::PARALLEL_MAX;
use crate::suite::load::keys::{PROTOCOLS, TRANSPORTS};

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
        key("args", Form::Texts, "none", "more arguments of the program"),
        key(
            "env",
            Form::TextTable,
            "none",
            "variables added to the environment, which the server inherits",
        ),
        key(
            "cwd",
            Form::Text,
            "the folder of the suite",
            "the folder that the program starts in, seen from that of the suite",
        ),
        key(
            "working_dir",
            Form::Text,
            "the folder of the suite",
            "another name of `cwd`",
        ),
        key(
            "url",
            Form::Text,
            "",
            "the address of a running server, instead of a command",
        ),
        key(
            "headers",
            Form::TextTable,
            "none",
            "headers added to every request to an address",
        ),
        key(
            "transport",
            Form::OneOf(TRANSPORTS),
            "stdio, or from the address",
            "how messages travel; an http address falls back to sse unless it is given",
        ),
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
        key(
            "protocol",
            Form::OneOf(PROTOCOLS),
            "auto",
            "the revision to speak",
        ),
        key(
            "strict_protocol",
            Form::Boolean,
            "false",
            "fails when the server chooses another revision than the one asked for",
        ),
        key(
            "startup_timeout",
            Form::Time,
            "10s",
            "how long the server may take to answer the first request",
        ),
        key(
            "startup_timeout_ms",
            Form::Milliseconds,
            "10000",
            "the same in milliseconds",
        ),
        key(
            "shutdown_timeout",
            Form::TimeOrZero,
            "5s",
            "how long it may take to exit once its input is closed",
        ),
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
        key(
            "max_frame",
            Form::Size,
            "64MiB",
            "the largest message accepted from the server",
        ),
        key(
            "accept_requests",
            Form::Boolean,
            "false",
            "answers a server that asks for input with made-up values instead of declining",
        ),
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
