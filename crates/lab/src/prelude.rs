//! What most files of this crate are written with.

pub use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

pub use http::HeaderMap;
pub use mcprove_arguments::SchemaCheck;
pub use mcprove_servers::hosting::{
    self, Arrival, Behaviour, Caller, Change, Ended, Exchange, Fields, Host, INVALID_PARAMS,
    Identity, LogLevel, META_CLIENT, META_VERSION, MISSING_CAPABILITY, Malformed, Outcome, Refusal,
    Request, SignedState, Stderr, TurnedAway, Unauthorised, Watch, async_trait, healthy, lock,
};
pub use mcprove_settings::{schemars, secret::Redactor, setting::JsonSchema};
pub use mcprove_trace::{
    BoxFuture, ErrorCategory,
    protocol::{Era, Revision},
};
pub use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params_from_iter};
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value, json};

pub use crate::LabOptions;
pub use crate::ask::{Question, ask};
pub use crate::audit::*;
pub use crate::behaviour::Lab;
pub use crate::call::{Answered, Call, Reply, failed, invalid, problem, said, structured};
pub use crate::catalogue::{LabTool, render};
pub(crate) use crate::category;
