//! A channel that lets calls meet faults on their way: it stands around any other channel, and only
//! where faults are to be injected.
//!
//! A `tools/call` that a fault strikes is not sent; the fault acts on it ([`call`]), in a task of its
//! own, so that it holds up no other. What the server answers to it is kept from the inbox ([`inbox`])
//! and handed to the fault, which decides what arrives. Everything else passes.

mod call;
mod inbox;
mod shared;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use mcprove_client::transport::{
    Channel, ChannelLayer, Closing, Inbox, LayeredConnection, Outgoing, OutgoingKind, SendError,
};
use mcprove_fault::{FaultCount, FaultSpec, FaultWindow, Injection, TimedFault, TimedInjector};
use mcprove_trace::protocol::Revision;
use mcprove_trace::stream::Recorder;
use mcprove_trace::{BoxFuture, Strike};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use self::call::StruckCall;
use self::inbox::FaultyInbox;
use self::shared::Shared;

/// Faults that the calls of a session meet. Those of [`Faults::new`] are on at once; a load has its own, which are on
/// while it lasts.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove_client::server::Server;
/// use mcprove_client::session::{Session, SessionOptions};
/// use mcprove_load::faulty::Faults;
/// use mcprove_servers::fixture::{self, Options};
/// use serde_json::json;
///
/// let server = Server::in_memory("normal", || {
///     fixture::spawn_in_memory("normal", &Options::default()).unwrap()
/// });
/// let faults = Faults::new(vec!["error:-32000,calls=2".parse().unwrap()], 0);
/// let options = SessionOptions::default().with_layer(faults.clone());
/// let session = Session::connect_with(&server, options).await.unwrap();
/// assert!(session.call_tool("echo", &json!({ "message": "1" })).await.is_ok());
/// assert!(session.call_tool("echo", &json!({ "message": "2" })).await.is_err());
/// assert_eq!(faults.counts()[0].struck, 1);
/// # });
/// ```
#[derive(Clone)]
pub struct Faults(pub(crate) Arc<TimedInjector>);

impl std::fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Faults")
            .field(&self.counts())
            .finish()
    }
}

impl Faults {
    /// Faults that are on from now on; `seed` decides for those that have none of their own.
    pub fn new(faults: Vec<FaultSpec>, seed: u64) -> Self {
        let window = FaultWindow::default();
        let timed = faults.into_iter().map(|spec| TimedFault { spec, window });
        let injector = TimedInjector::new(&timed.collect::<Vec<_>>(), seed);
        injector.begin(Instant::now());
        Self(Arc::new(injector))
    }

    /// What each has done so far.
    pub fn counts(&self) -> Vec<FaultCount> {
        self.0.counts()
    }
}

impl ChannelLayer for Faults {
    fn connection(
        &self,
        inbox: Arc<dyn Inbox>,
        session: u32,
        recorder: &Arc<Recorder>,
        max_frame: usize,
    ) -> Box<dyn LayeredConnection> {
        let (injector, recorder) = (Arc::clone(&self.0), Arc::clone(recorder));
        let shared = Shared::new(injector, recorder, session, inbox, max_frame);
        Box::new(FaultyConnection(shared))
    }
}

struct FaultyConnection(Arc<Shared>);

impl LayeredConnection for FaultyConnection {
    fn inbox(&self) -> Arc<dyn Inbox> {
        Arc::new(FaultyInbox(Arc::clone(&self.0)))
    }

    fn around(self: Box<Self>, channel: Arc<dyn Channel>) -> Arc<dyn Channel> {
        self.0.set_channel(&channel);
        Arc::new(FaultyChannel {
            inner: channel,
            shared: self.0,
        })
    }
}

/// A channel whose calls meet faults.
struct FaultyChannel {
    inner: Arc<dyn Channel>,
    shared: Arc<Shared>,
}

impl FaultyChannel {
    /// The fault that strikes this message, if one does, and the call that it is.
    fn strike(&self, message: &Outgoing<'_>, id: u64) -> Option<(Injection, Option<Value>)> {
        let injector = &self.shared.injector;
        let now = Instant::now();
        if message.method != "tools/call" || !injector.is_on(now) {
            return None;
        }
        let request: CallRequest<'_> = serde_json::from_slice(message.bytes).ok()?;
        let params = request.params;
        let arguments = params.arguments.map_or("", RawValue::get);
        let injection = injector.strike(&params.name, arguments, now)?;
        self.shared.note_strike(id, &params.name, &injection);
        Some((injection, params.meta.and_then(|meta| meta.progress_token)))
    }

    /// A list of tools in which some may have vanished is looked at when it comes.
    fn watch_list(&self, message: &Outgoing<'_>, id: u64) {
        if message.method == "tools/list" && self.shared.injector.hides_any(Instant::now()) {
            self.shared.expect_list(id);
        }
    }

    /// Whether a cancellation is about a struck call that the server never saw.
    fn swallows(&self, message: &Outgoing<'_>) -> bool {
        if message.method != "notifications/cancelled" {
            return false;
        }
        let cancelled: Option<Cancelled> = serde_json::from_slice(message.bytes).ok();
        let id = cancelled.and_then(|cancelled| cancelled.params.request_id.as_u64());
        id.is_some_and(|id| self.shared.cancel(id))
    }
}

impl Channel for FaultyChannel {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        if let Some(failure) = self.shared.closed() {
            return Err(SendError::Closed(failure));
        }
        let OutgoingKind::Request(id) = message.kind else {
            if self.swallows(&message) {
                return Ok(());
            }
            return self.inner.send(message);
        };
        if let Some((injection, token)) = self.strike(&message, id) {
            StruckCall::start(&self.shared, &message, id, injection, token);
            return Ok(());
        }
        self.watch_list(&message, id);
        self.inner.send(message)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        self.inner.room()
    }

    fn abandon(&self, id: u64) -> bool {
        // What the server never saw has no stream there, but is cancelled as if it had.
        let was_unsent = self.shared.cancel(id);
        self.inner.abandon(id) || (was_unsent && self.inner.name() == "http")
    }

    fn set_revision(&self, revision: Option<Revision>) {
        self.shared.set_revision(revision);
        self.inner.set_revision(revision);
    }

    fn listen(&self) -> BoxFuture<'_, ()> {
        self.inner.listen()
    }

    fn process(&self) -> Option<u32> {
        self.inner.process()
    }

    fn kill(&self) {
        self.inner.kill();
    }

    fn leftovers(&self) -> Vec<u32> {
        self.inner.leftovers()
    }

    fn stderr_tail(&self) -> String {
        self.inner.stderr_tail()
    }

    fn met_fault(&self, id: u64) -> Option<Strike> {
        self.shared.met_fault(id)
    }

    fn sever(&self) {
        self.shared.let_go();
        self.inner.sever();
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        self.shared.let_go();
        self.inner.close()
    }
}

impl Drop for FaultyChannel {
    fn drop(&mut self) {
        self.shared.let_go();
    }
}

/// What of a call decides on faults.
#[derive(Deserialize)]
struct CallRequest<'a> {
    #[serde(borrow)]
    params: CallParams<'a>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: Option<CallMeta>,
}

#[derive(Deserialize)]
struct CallMeta {
    #[serde(rename = "progressToken")]
    progress_token: Option<Value>,
}

#[derive(Deserialize)]
struct Cancelled {
    params: CancelledParams,
}

#[derive(Deserialize)]
struct CancelledParams {
    #[serde(rename = "requestId")]
    request_id: Value,
}
