//! What most files of this crate are written with.

pub use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
    future::pending,
    net::SocketAddr,
    str::FromStr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    sync::{Arc, LazyLock, Mutex, OnceLock},
    time::Duration,
};

pub use bytes::Bytes;
pub use futures_util::{Stream, StreamExt, stream};
pub use http_body_util::BodyExt;
pub use hyper::{
    StatusCode,
    body::Incoming,
    header::{HeaderMap, HeaderName, HeaderValue},
};
pub use mcprove_recording::Recording;
pub use mcprove_settings::{
    error::ConfigErrors,
    kind::Kind,
    message::{UserError, code, command, command_or, sentence},
    reader::{Reader, Warning},
    setting::{Opaque, SettingType, Settings},
    text::shorten,
    tree::{Data, Field, Node, too_large},
};
pub use mcprove_trace::{
    BoxFuture, ErrorCategory,
    budget::{Budget, Charge},
    canonical::canonical,
    protocol::{Era, Revision},
};
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value, json};
pub use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{OwnedSemaphorePermit, broadcast, mpsc, oneshot},
    task::AbortHandle,
};

pub(crate) use crate::fixture::{Counter, InFlight, sleep};
pub use crate::hosting::*;
pub use crate::mock::*;
