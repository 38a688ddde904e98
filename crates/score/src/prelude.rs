//! What every module here uses: numbers, words, JSON, traces, the verdict that a detector ends in, and the
//! shape of a metric.

pub use core::time::Duration;
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fmt;
pub use std::ops::Range;
pub use std::slice;
pub use std::sync::{Arc, LazyLock};

pub use mcprove_settings::kind::Kind;
pub use mcprove_settings::message::{
    Diagnostic, DiagnosticResult, Message, UserError, assignment, code, command_or, name as quoted,
    names as quoted_names, sentence, setting, tee_stderr,
};
pub use mcprove_settings::number::{
    count, finite, float, float_len, mean, median, ratio, share, truncated, truncated_len,
};
pub use mcprove_settings::phrase::{
    self, are, count as counted, decimal, milliseconds, percent, places as named_places, were,
    whole,
};
pub use mcprove_settings::reader::{Reader, Section, meant};
pub use mcprove_settings::registry::{did_you_mean, nearest};
pub use mcprove_settings::schemars;
pub use mcprove_settings::setting::{
    JsonSchema, Setting, SettingType, Settings, Shown, choice, data, sparse, stored,
};
pub use mcprove_settings::table::{self, Row, map_schema};
pub use mcprove_settings::text::has_word;
pub use mcprove_settings::tree::{Data, Field, Node};
pub use mcprove_trace::canonical::{Identity, first_equal};
pub use mcprove_trace::word_lists::WordLists;
pub use mcprove_trace::words::{fits, tokens};
pub use mcprove_trace::{
    AgentRun, AgentTrace, ClientView, ErrorCategory, Execution, FaultKind, FaultMark, Json,
    Special, StopReason, ToolCall, ToolResult, canonical,
};
pub use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use serde_json::{Map, Value, json};

#[cfg(feature = "eval")]
pub(crate) use crate::agent::{
    About, AnyMetric, Case, METRICS, Metric, Need, Scope, Target, first_of, metrics,
    tool_name::{Fit, Tool, ToolName, tool_of},
    with_own,
};
pub use crate::compare::proportion::{rise_at_least, share_at_least, wilson};
#[cfg(feature = "eval")]
pub use crate::gate::{
    Answer, Difference, Expectation, GateFailure, GateId, Gates, Matcher, Path, PathStep, RunCard,
    RunTargets, ScoreError, ScoreReport, ScoreResult, Scorecard,
};
pub use crate::percentile;
pub use crate::race::common_chars;
pub use crate::regression::{SAMPLES_MIN, Trend};
pub use crate::verdict::{FailOn, Outcome, Severity, Verdict};
