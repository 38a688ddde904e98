//! What nearly every file uses: the words of `trace`, sessions, settings, verdicts, and what `drive` and `run` publish.

pub use std::collections::VecDeque;
pub use std::ops::Range;
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
pub use std::sync::{OnceLock, Weak};

pub use hdrhistogram::Histogram;
pub use mcprove_client::permission::{Allowance, SkippedTool};
pub use mcprove_client::server::{Server, Transport};
pub use mcprove_client::session::{
    CallError, ConnectError, KeptConnectionFact, ProtocolChoice, QueuedFact, Reply, Request,
    Session, SessionExpiredFact, SessionOptions, Start,
};
pub use mcprove_client::transport::Failure;
pub use mcprove_fault::{FaultSpec, FaultWindow, Injection, TimedFault, TimedInjector};
pub use mcprove_score::isolation::{ForeignTokens, TokenControl};
pub use mcprove_score::verdict::{Outcome, Severity, Verdict};
pub use mcprove_settings::kind::Kind;
pub use mcprove_settings::message::{Part, assignment, section};
pub use mcprove_settings::number::{self, share};
pub use mcprove_settings::phrase;
pub use mcprove_settings::quantity::{optional_seconds, write_duration};
pub use mcprove_settings::reader::{Reader, Section};
pub use mcprove_settings::setting::{
    Setting, SettingItem, SettingTable, SettingType, Settings, fill,
};
pub use mcprove_settings::tree::{Data, Field, Node};
pub use mcprove_trace::Strike;
pub use mcprove_trace::hang::{DeadlockKind, HangLimits};
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::protocol::{Era, Revision, Tool};
pub use mcprove_trace::stream::Recorder;
pub use tokio::sync::{mpsc, oneshot, watch};
pub use tokio::task::JoinSet;

pub use crate::drive::*;
pub use crate::run::report::*;
pub use crate::run::*;
