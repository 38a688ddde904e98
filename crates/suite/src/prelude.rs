//! What nearly every file uses: what is common to all crates, servers and sessions, files with places, agent traces and
//! gates; and of this crate, its plans, its errors, its reports, and what stands between an agent, models and tools.

pub use std::collections::{HashMap, HashSet, VecDeque};
pub use std::fmt::{self, Write as _};
pub use std::fs;
pub use std::future::ready;
pub use std::net::{Ipv4Addr, SocketAddr};
pub use std::ops::Range;
pub use std::time::UNIX_EPOCH;

pub use futures_util::future::join_all;
pub use mcprove_check::negative_path::Probe;
pub use mcprove_check::pulse::Pulse;
pub use mcprove_client::server::{Server, TimeLimits, Transport};
pub use mcprove_client::session::{CALL_LIMITS, CallError, CallLimits, Session};
pub use mcprove_client::transport::{Detail, Failure};
pub use mcprove_fault::{FaultSpec, Injection};
pub use mcprove_import::{Format, import_as};
pub use mcprove_load::config::{LoadConfig, SessionSettings};
pub use mcprove_load::drive::{Stop, StopLevel};
pub use mcprove_score::agent::recovery::max_detection_ms;
pub use mcprove_score::gate::{Expectation, GateFailure, Gates, ScoreError};
pub use mcprove_servers::mock::{Listening, Mock, MockSpec};
pub use mcprove_settings::error::{ConfigError, ConfigErrors, SourcePlace};
pub use mcprove_settings::hash::fnv_1a;
pub use mcprove_settings::message::{Spelling, assignment};
pub use mcprove_settings::number::count;
pub use mcprove_settings::phrase;
pub use mcprove_settings::printable::{escape_hidden, printable, printable_json};
pub use mcprove_settings::reader::{Reader, Section, Warning, meant, near};
pub use mcprove_settings::registry::nearest;
pub use mcprove_settings::secret::{REDACTED, fits, redact_arguments, redact_urls};
pub use mcprove_settings::setting::{Setting, SettingType, Settings};
pub use mcprove_settings::table;
pub use mcprove_settings::tree::{Data, Document, Field, Node, Wanted};
pub use mcprove_settings::whole_file::write_private;
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::protocol::{Era, METHOD_NOT_FOUND, Tool};
pub use mcprove_trace::{
    AgentRun, AgentTrace, Conversation, FaultMark, Json, Retry, StopReason, Tokens, ToolHints, Turn,
};
pub use thiserror::Error;
pub use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
pub use tokio::time::timeout;

pub use crate::agent::cassette::{
    self, CASSETTE_FORMAT, Cassette, CassetteInputs, RecordedOutcome, RecordedRun,
};
pub use crate::agent::model::*;
pub use crate::agent::provider;
pub use crate::agent::run::fill_texts;
pub use crate::agent::toolbox::*;
pub use crate::error::*;
pub use crate::gates;
pub use crate::plan::*;
pub(crate) use crate::run::Context;
pub use crate::run::listing::*;
pub use crate::run::report::*;
pub use crate::run::{CassetteMode, SuiteEvent, SuiteListener, SuiteOptions};
