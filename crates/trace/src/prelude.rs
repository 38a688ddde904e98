//! What nearly every file of this crate and of those above it uses: time, paths and collections, serde and JSON, messages
//! to people, and the words of a run.

pub use std::borrow::Cow;
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fmt;
pub use std::io;
pub use std::path::{Path, PathBuf};
pub use std::sync::{Arc, Mutex};
pub use std::time::{Duration, Instant, SystemTime};

pub use mcprove_settings::loss::{Loss, Losses, Missing};
pub use mcprove_settings::message::{
    Diagnostic, DiagnosticResult, Message, UserError, command, command_or, sentence, setting,
    tee_stderr,
};
pub use mcprove_settings::number::float;
pub use mcprove_settings::own_limits::OwnLimit;
pub use mcprove_settings::private_file;
pub use mcprove_settings::quantity::{as_milliseconds, describe_duration, seconds};
pub use mcprove_settings::schemars;
pub use mcprove_settings::secret::Redactor;
pub use mcprove_settings::setting::{
    JsonSchema, Opaque, Shown, choice, data, in_seconds, sparse, stored,
};
pub use mcprove_settings::sync::lock;
pub use mcprove_settings::text::{has_word, shorten};
pub use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use serde_json::value::RawValue;
pub use serde_json::{Map, Value, json};

pub use crate::stream::{
    CallMetrics, EventStream, Fact, FactError, FactResult, Metrics, MetricsSink, Sink,
};
pub use crate::{BoxFuture, CallFailure, CallTag, ErrorCategory, Event, EventKind, RequestKey};
