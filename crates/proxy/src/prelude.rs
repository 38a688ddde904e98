//! What most files use: bytes and streams, requests of HTTP, faults and recordings, and what both kinds of proxies share.

pub use std::collections::{HashMap, VecDeque};
pub use std::pin::Pin;
pub use std::sync::OnceLock;
pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use std::task::{Context, Poll, ready};

pub use bytes::{Bytes, BytesMut};
pub use http::header::{HeaderName, HeaderValue};
pub use http::request::Parts;
pub use http::{Request, Response, StatusCode};
pub use hyper::body::Incoming;
pub use mcprove_fault::{Injection, KnownCall};
pub use mcprove_recording::{Peer, RecordedRequest, RecordedSession, Recording};
pub use mcprove_settings::own_limits::LimitWatch;
pub use mcprove_trace::budget::Budget;
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::protocol::sse::Event;
pub use mcprove_trace::protocol::{Envelope, split_batch};
pub use mcprove_trace::{Execution, FaultKind, Special};
pub use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
pub use tokio::sync::{SetOnce, mpsc, oneshot};

pub use crate::LOOK_BYTES_MAX;
pub use crate::answers::{Answers, Ending, Observer};
pub use crate::faulted::{FaultTransport, strike};
pub use crate::faulted_calls::{GRACE, PendingCall};
pub use crate::message::{IdKey, Seen};
pub use crate::report::{CRASHED, Count, Ended, ProxySummary};
pub use crate::summary::SeenCalls;
pub use crate::watch::{Decision, Passage, Session, Settings, Watch};
