//! The scenarios that take steps of their own, on built-in servers over the network: the bad one is
//! found, the healthy one is not. Over stdio they are tested with the command.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod churn;
mod deadlock;
mod early_call;
mod every;
mod fuzzer;
mod interrupted_call;
mod race_check;
mod reconnect;
mod stray_output;
mod support;
