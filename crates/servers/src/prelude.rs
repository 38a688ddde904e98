//! What most files of this crate are written with.

pub use std::any::Any;
pub use std::borrow::Cow;
pub use std::collections::{BTreeMap, HashMap};
pub use std::fmt;
pub use std::future::pending;
pub use std::net::SocketAddr;
pub use std::str::FromStr;
pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use std::sync::{Arc, LazyLock, Mutex, OnceLock};
pub use std::time::Duration;

pub use bytes::Bytes;
pub use futures_util::{Stream, StreamExt, stream};
pub use http_body_util::BodyExt;
pub use hyper::StatusCode;
pub use hyper::body::Incoming;
pub use hyper::header::{HeaderMap, HeaderValue};
pub use mcprove_recording::Recording;
pub use mcprove_settings::error::ConfigErrors;
pub use mcprove_settings::json_schema::{Remote, compile};
pub use mcprove_settings::reader::{Reader, Warning};
pub use mcprove_settings::text::shorten;
pub use mcprove_settings::tree::{Data, Field, Node, too_large};
pub use mcprove_trace::budget::{Budget, Charge};
pub use mcprove_trace::canonical::canonical;
pub use mcprove_trace::protocol::{Era, Revision};
pub use mcprove_trace::{BoxFuture, ErrorCategory};
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value, json};
pub use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
pub use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc, oneshot};
pub use tokio::task::AbortHandle;

pub use crate::hosting::*;
pub use crate::mock::*;
