//! What many files of this crate use: std, tokio and bytes, the protocol, and what sessions, processes and transports
//! know of each other.

pub use std::collections::{HashMap, HashSet, VecDeque};
pub use std::fmt;
pub use std::fs::File;
pub use std::io::{Read as _, Write as _};
pub use std::process::ExitStatus;
pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use std::sync::{MutexGuard, OnceLock, Weak};
pub use std::task::{Context, Poll};
pub use std::thread;

pub use bytes::{Bytes, BytesMut};
pub use mcprove_settings::secret::{redact_text, redact_urls};
pub use mcprove_settings::text::shorten_bytes;
pub use mcprove_trace::Strike;
pub use mcprove_trace::hang::{HangLimits, HungMark, LostTime, Progress, ToolProgress};
pub use mcprove_trace::panic_guard::contain_call;
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::protocol::{self, *};
pub use mcprove_trace::stream::Recorder;
pub use mcprove_trace::words::tokens;
pub use rustc_hash::{FxHashMap, FxHashSet};
pub use tokio::io::{AsyncRead, AsyncWrite};
pub use tokio::net::TcpStream;
pub use tokio::sync::{Notify, oneshot};
pub use tokio::task::{AbortHandle, JoinHandle};
pub use tokio::time::timeout;

pub use crate::process::{Closing, MARK_VARIABLE, SpawnError, StderrLog};
pub use crate::server::{Server, Transport};
pub use crate::session::*;
pub use crate::transport::http::HttpOptions;
pub use crate::transport::{
    Channel, Denial, Detail, Failure, Inbox, Outgoing, OutgoingKind, SendError,
};
