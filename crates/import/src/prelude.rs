//! What most files here use.

pub use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use mcprove_settings::message::{Diagnostic, name};
pub use mcprove_settings::phrase;
pub use mcprove_settings::registry::nearest;
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::{
    AgentRun, ClientView, Conversation, FaultKind, FaultMark, Json, RealAnswer, StopReason, Tokens,
    ToolCall, ToolHints, ToolResult, TraceRecord, Turn, canonical,
};
pub use serde::de::{DeserializeOwned, IgnoredAny};

pub use crate::builder::RunBuilder;
pub use crate::document::{Document, Element, Outline};
pub use crate::error::{ImportError, Placed, Result, refuse};
pub use crate::lenient::{Maybe, Text};
pub use crate::named_count::{HAS_ONE_ALREADY, NamedCount, many};
pub use crate::names::{arguments, caller, known_role, mcp_result, tool_call};
pub(crate) use crate::{ImportedRun, ImportedRuns, names, tokens};
