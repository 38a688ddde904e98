//! A session: an agreement with one server, and many calls in flight on it.
//!
//! [`Session::connect`] starts or reaches a server and finds out what it speaks. After that,
//! requests are sent without waiting for each other and their answers are matched in any order.

mod agreement;
mod call;
mod connect;
mod connect_error;
mod core;
mod deadlines;
mod inbound;
mod lists;
pub mod options;
mod raw;
#[cfg(test)]
mod renewal_tests;
mod request;
mod respond;
mod stray_cancel;
mod tasks;
#[cfg(test)]
mod tests;
mod unreadable;
#[cfg(test)]
mod unreadable_tests;
mod violation;

use tokio::sync::Mutex;

use self::prelude::*;

pub use self::core::Start;

pub use call::{Call, CallError, FailedCall, KeptConnectionFact, Reply, SessionExpiredFact};
pub use connect_error::{ConnectError, exit_hint, import_hint};
pub use deadlines::QueuedFact;
pub use options::{
    CALL_LIMITS, CallLimits, NotificationHandler, ProtocolChoice, ResultCheck, SessionOptions,
};
pub use raw::{RawAnswer, RawMessage};
pub use request::{ProgressHandler, Request};
pub use respond::{Accept, Decline, Responder, Response};
pub use stray_cancel::StrayCancels;
pub use violation::{Violation, ViolationKind, Violations};

/// What the files of this folder use of each other.
mod prelude {
    pub use super::call::{Ending, InFlight};
    pub use super::core::{Core, State, Waiting};
    pub use super::inbound::{SessionInbox, on_one_line, show};
    pub use super::request::Label;
    pub use super::stray_cancel::CancelWatch;
    pub use crate::prelude::*;
}

/// What is known of a server after connecting.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFacts {
    /// Who it says it is.
    pub implementation: Implementation,
    /// What it offers.
    pub capabilities: Value,
    /// How to use it.
    pub instructions: Option<String>,
    /// The revision in force.
    pub revision: Revision,
    /// From starting or reaching the server to the agreement.
    pub startup: Duration,
}

/// A revision other than the one that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionMismatch {
    /// What was asked for.
    pub asked: Revision,
    /// What the server chose, in its words.
    pub chosen: String,
}

impl fmt::Display for RevisionMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, chosen } = self;
        write!(
            formatter,
            "asked for revision {asked}, the server chose {chosen}"
        )
    }
}

/// A connected server.
///
/// ```no_run
/// use mcprove_client::server::Server;
/// use mcprove_client::session::Session;
/// use serde_json::json;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::stdio("python").args(["-m", "my_mcp"]);
/// let session = Session::connect(&server).await?;
/// for tool in session.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// let reply = session.call_tool("echo", &json!({ "message": "hi" })).await?;
/// println!("{} in {:?}", reply.result(), reply.duration);
/// session.close().await;
/// # Ok(())
/// # }
/// ```
pub struct Session {
    core: Arc<Core>,
    facts: ServerFacts,
    warnings: Vec<String>,
    mismatch: Option<RevisionMismatch>,
    died_first: Option<String>,
    tools: lists::ToolRules,
    /// Held while a forgotten session is agreed on again, so that it happens once.
    renewal: Mutex<()>,
    is_renewing: Renewing,
    /// How often it was agreed on again.
    generation: AtomicU64,
}

/// Whether a session is agreed on again now.
#[derive(Debug, Default)]
struct Renewing(AtomicBool);

impl Renewing {
    /// For as long as what is returned lives.
    fn begin(&self) -> UnderWay<'_> {
        self.0.store(true, Ordering::Release);
        UnderWay(&self.0)
    }

    fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A session is agreed on again, until this is dropped.
struct UnderWay<'a>(&'a AtomicBool);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("facts", &self.facts)
            .field("transport", &self.transport())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Starts or reaches `server` and agrees on a revision, with the usual options.
    pub async fn connect(server: &Server) -> Result<Self, ConnectError> {
        Self::connect_with(server, SessionOptions::default()).await
    }

    /// Starts or reaches `server` and agrees on a revision.
    pub async fn connect_with(
        server: &Server,
        options: SessionOptions,
    ) -> Result<Self, ConnectError> {
        Self::connect_recorded(server, options, EventStream::unobserved().recorder()).await
    }

    /// What is known of the server.
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// The era of the revision in force.
    pub fn era(&self) -> Era {
        self.facts.revision.era()
    }

    /// What was odd about the agreement, for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How the server ended when it was first started, if it had to be started again: some die of `server/discover`,
    /// and these die of it each time.
    pub fn died_first(&self) -> Option<&str> {
        self.died_first.as_deref()
    }

    /// Whether the revision in force is not the one that was asked for.
    pub fn revision_mismatch(&self) -> Option<&RevisionMismatch> {
        self.mismatch.as_ref()
    }

    /// `stdio`, `http`, `sse`, `ws` or `memory`.
    pub fn transport(&self) -> &'static str {
        let channel = self.core.channel.get();
        channel.map_or("closed", |channel| channel.name())
    }

    /// Sends a request without waiting for anything. Fails at once when the server does not read
    /// its input fast enough; [`Session::request`] waits instead.
    pub fn start(&self, request: &Request) -> Result<Call, CallError> {
        self.start_as(request, &Start::default())
    }

    /// [`Session::start`], with what differs between one sending and the next.
    pub fn start_as(&self, request: &Request, start: &Start<'_>) -> Result<Call, CallError> {
        self.core.start(request, start)
    }

    /// Sends a request and waits for its answer, whatever it is.
    pub async fn request_once(&self, request: &Request) -> Result<Reply, CallError> {
        self.send_once(request, &Start::default()).await
    }

    async fn send_once(&self, request: &Request, start: &Start<'_>) -> Result<Reply, CallError> {
        loop {
            self.wait_for_renewal().await;
            match self.core.request_as(request, start).await {
                Ok(outcome) => return outcome,
                Err(closed @ SendError::Closed(_)) => return Err(closed.into()),
                Err(SendError::Full) => {
                    let channel = self.core.channel().map_err(CallError::unsent)?;
                    let patience = self.core.patience(request);
                    let patience = patience.unwrap_or_else(|| self.core.options.call_timeout());
                    let room = tokio::time::timeout(patience, channel.room());
                    if room.await.is_err() {
                        return Err(SendError::Full.into());
                    }
                }
            }
        }
    }

    /// Sends a request and waits for its answer. A session that the server has forgotten (HTTP
    /// 404) is agreed on again, once, and the request made again.
    pub async fn request(&self, request: &Request) -> Result<Reply, CallError> {
        self.request_as(request, &Start::default()).await
    }

    /// [`Session::request`], with what differs between one sending and the next.
    pub async fn request_as(
        &self,
        request: &Request,
        start: &Start<'_>,
    ) -> Result<Reply, CallError> {
        self.wait_for_renewal().await;
        let generation = self.generation.load(Ordering::Acquire);
        let first = Start {
            repeats: true,
            ..*start
        };
        match self.send_once(request, &first).await {
            Err(error) if error.is_session_expired() => {
                Box::pin(self.repeat(request, start, generation, &error)).await
            }
            outcome => outcome,
        }
    }

    /// Sends a request again, whose session had expired.
    async fn repeat(
        &self,
        request: &Request,
        start: &Start<'_>,
        generation: u64,
        expired: &CallError,
    ) -> Result<Reply, CallError> {
        let renewed = self.renew(generation).await;
        let session = self.core.options.session_number;
        self.core.end_expired(request, start, expired, &renewed);
        renewed?;
        let fact = SessionExpiredFact { session };
        self.core.recorder.fact(&expired.failure.message, &fact);
        self.send_once(request, start).await
    }

    /// A request between the end of a session and the agreement on the next would belong to neither.
    async fn wait_for_renewal(&self) {
        if self.is_renewing.is_under_way() {
            drop(self.renewal.lock().await);
        }
    }

    async fn renew(&self, seen: u64) -> Result<(), CallError> {
        let _renewal = self.renewal.lock().await;
        if self.generation.load(Ordering::Acquire) == seen {
            let _under_way = self.is_renewing.begin();
            self.core.initialize_again(self.facts.revision).await?;
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Calls a tool, and sees it through: answers what the server asks meanwhile, and runs it as a
    /// task where it must be one. A result with `isError` is an error of category `ToolError`.
    pub async fn call_tool(&self, tool: &str, arguments: &Value) -> Result<Reply, CallError> {
        self.call_tool_within(tool, arguments, self.core.options.call_timeout())
            .await
    }

    /// [`Session::call_tool`] with a deadline of its own for each request that it takes.
    pub async fn call_tool_within(
        &self,
        tool: &str,
        arguments: &Value,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        // Only one revision has the client ask for a task; later the server decides.
        if self.supports_task_calls() && self.requires_task(tool) {
            return self.run_as_task(tool, arguments, timeout).await;
        }
        let request = self.tool_request(tool, arguments).timeout(timeout);
        match self.request_in_rounds(&request, timeout).await {
            // The tool's definition asks for headers that we did not know of: look again, once.
            Err(error) if error.code() == Some(HEADER_MISMATCH) => {
                self.list_tools().await?;
                let request = self.tool_request(tool, arguments).timeout(timeout);
                self.request_in_rounds(&request, timeout).await
            }
            outcome => outcome,
        }
    }

    /// Asks whether the server is alive: `ping`, or `server/discover` in the stateless era. An error is an answer, too:
    /// not every server knows these methods. So is something broken. Asks several times, and any answer counts; a server
    /// that was slow to answer calls has as much time as it may be silent. Returns how long the answer took.
    pub async fn check_alive(&self, timeout: Duration) -> Result<Duration, CallError> {
        let method = match self.era() {
            Era::Handshake => "ping",
            Era::Stateless => "server/discover",
        };
        let began = Instant::now();
        let limits = self.core.options.hang_limits.unwrap_or_default();
        let silence = self.core.progress.silence_max().min(limits.judged_after());
        let timeout = timeout.max(silence);
        let ask = |after: Duration| async move {
            if !after.is_zero() {
                tokio::time::sleep(after).await;
            }
            let left = timeout.saturating_sub(after);
            self.request(&Request::new(method).timeout(left)).await
        };
        // They end together at the latest.
        let answered = tokio::select! {
            biased;
            first = ask(Duration::ZERO) => first,
            second = ask(timeout / 3) => second,
            third = ask(timeout / 3 * 2) => third,
        };
        match answered {
            Err(error) if !error.is_answer() => Err(error),
            _ => Ok(began.elapsed()),
        }
    }

    /// Opens a stream of change notifications (stateless era); dropping the call closes it.
    pub fn subscribe(&self, filter: &Value) -> Result<Call, CallError> {
        let params = json!({ "notifications": filter });
        self.start(
            &Request::new("subscriptions/listen")
                .params(&params)
                .without_timeout(),
        )
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Option<&Value>) {
        self.core.notify(method, params);
    }

    /// What the server did that the protocol does not allow.
    pub fn violations(&self) -> Violations {
        self.core.lock().violations.clone()
    }

    /// The injected fault that struck the request with this id, as far as is remembered.
    pub fn met_fault(&self, request_id: u64) -> Option<Strike> {
        self.core.channel.get()?.met_fault(request_id)
    }

    /// How many answers came after their call had been given up.
    pub fn late_replies(&self) -> u64 {
        self.core.lock().late_replies
    }

    /// Whether the server left a call without an answer until it was given up.
    pub fn has_unanswered(&self) -> bool {
        !self.core.lock().abandoned.is_empty()
    }

    /// Why the connection ended, if it did.
    pub fn closed(&self) -> Option<Failure> {
        self.core.closed()
    }

    /// What this process ran out of, which is no failure of the server's; on any session of the same stream of
    /// events.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        self.core.recorder.limits().met()
    }

    /// The id of the server's process, where the session started it.
    pub fn process(&self) -> Option<u32> {
        self.core.channel.get()?.process()
    }

    /// Ends the server process at once, where the session started it, and with it the session.
    pub fn kill(&self) {
        // A process that we end ourselves does not crash.
        self.core.lock().is_ending = true;
        let failure = Failure::cancelled("the server was ended by us");
        self.core.close_with(&failure);
        if let Some(channel) = self.core.channel.get() {
            channel.kill();
        }
    }

    /// The processes that the server had started and that outlived it; complete once the session
    /// was ended.
    pub fn leftovers(&self) -> Vec<u32> {
        let channel = self.core.channel.get();
        channel.map_or_else(Vec::new, |channel| channel.leftovers())
    }

    /// The last of what the server wrote to stderr.
    pub fn stderr_tail(&self) -> String {
        self.core.stderr_tail()
    }

    /// Lets go of the session the way a client does that crashed: nothing is said, nothing waited
    /// for, and calls in flight end as cancelled. [`Session::end`] then tells how a process of
    /// ours took that.
    pub fn abandon(&self) {
        self.core.lock().is_ending = true;
        if let Some(channel) = self.core.channel.get() {
            channel.sever();
        }
        let failure = Failure::cancelled("the session was abandoned");
        self.core.close_with(&failure);
    }

    /// Ends the session in an orderly way.
    pub async fn close(self) -> Closing {
        self.end().await
    }

    /// [`Session::close`] for those who ask afterwards what the server still did until its end.
    pub async fn end(&self) -> Closing {
        self.core.lock().is_ending = true;
        let closing = match self.core.channel.get() {
            Some(channel) => channel.close().await,
            None => Closing::default(),
        };
        let failure = Failure::cancelled("the session was closed");
        self.core.close_with(&failure);
        closing
    }
}
