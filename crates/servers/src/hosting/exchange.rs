//! One request and the ways to answer it, wrong ones included.

use crate::prelude::*;

/// How many answers may wait to be written, for each connection.
pub const OUTPUT_QUEUE_MAX: usize = 1_024;

/// How many bytes of answers may wait to be read, for all clients together. An answer beyond that is replaced by an
/// error, and a message before the last word by the end of the connection.
pub const ANSWER_BYTES_MAX: usize = 512 * 1024 * 1024;
/// An answer of no more than this always waits. How many there are is limited, too.
pub const SMALL_ANSWER_BYTES: usize = 4096;

/// How long the server waits for the client to answer a question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);

/// What follows what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The transport's delimiter, and nothing more to the same request.
    Last,
    /// The transport's delimiter, and more to the same request.
    More,
    /// Nothing: this is only a part.
    Part,
    /// The end of the connection, in the middle of what was to be said.
    Cut,
    /// Where messages end with a delimiter, only that; else as [`Ending::Cut`].
    Short,
    /// The end of this stream, but not of what is to be said: the client fetches the rest. The bytes
    /// are the last event.
    Parked,
}

impl Ending {
    /// Whether the transport's delimiter follows.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Last | Self::More | Self::Short)
    }

    /// Whether nothing more is said to the same request.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Last | Self::Cut | Self::Short | Self::Parked)
    }
}

/// Something to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Usually a message, without a delimiter.
    pub bytes: Bytes,
    /// What follows.
    pub ending: Ending,
    /// The HTTP status: that of a success, unless the server refused to look at the request at all.
    pub status: StatusCode,
    /// What takes the place of the answer, where the request came over HTTP.
    pub away: Option<HttpRefusal>,
}

/// An HTTP status in place of an answer, and after how many seconds the client may try again.
pub type HttpRefusal = (StatusCode, u64);

/// Where answers go.
pub type Output = mpsc::Sender<Outgoing>;
/// Where they come from, to be written.
pub type Answers = mpsc::Receiver<Outgoing>;

impl Outgoing {
    pub fn new(bytes: impl Into<Bytes>, ending: Ending) -> Self {
        Self {
            bytes: bytes.into(),
            ending,
            status: StatusCode::OK,
            away: None,
        }
    }

    pub fn last(message: &Value) -> Self {
        Self::new(message.to_string(), Ending::Last)
    }

    pub fn refusal(id: &Value, refusal: &Refusal, status: StatusCode) -> Self {
        Self {
            status,
            ..Self::last(&refusal.response(id))
        }
    }
}

/// Bytes with which something is kept until the last of them is dropped.
pub fn kept_with(bytes: impl AsRef<[u8]> + Send + 'static, kept: impl Send + 'static) -> Bytes {
    struct Kept<B, K>(B, K);
    impl<B: AsRef<[u8]>, K> AsRef<[u8]> for Kept<B, K> {
        fn as_ref(&self) -> &[u8] {
            self.0.as_ref()
        }
    }
    Bytes::from_owner(Kept(bytes, kept))
}

/// One request and the way back to whoever sent it.
#[derive(Opaque)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The revision in which it is served.
    pub revision: Revision,
    pub(crate) host: Arc<Host>,
    /// The session that it belongs to.
    pub session: Arc<Session>,
    pub(super) caller: Arc<Caller>,
    /// Changes when the client is to fetch the rest of the answer.
    pub(super) output: Mutex<Output>,
    pub(super) watch: Option<Box<dyn Watch>>,
    /// How the work ended, as soon as that is known.
    pub(super) ended: End,
    /// Given back when the watch has been told of the end.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// What the request is charged, until it is dropped.
    pub(super) _charge: Option<Arc<Charge>>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            let how = *self.ended.get_or_init(|| Ended::GivenUp);
            watch.ended(match how {
                // Who is stopped closes its connections, and not its clients.
                Ended::Disconnected | Ended::GivenUp if self.host.has_ended() => Ended::Stopped,
                how => how,
            });
        }
    }
}

impl Exchange {
    /// The server that was asked.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What [watches](super::Behaviour::watch) this request, if it is of this type.
    pub fn watch<T: Watch>(&self) -> Option<&T> {
        let watch: &dyn Any = self.watch.as_deref()?;
        watch.downcast_ref()
    }

    /// Where the request came from.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Who the client says it is, as an `Implementation` of the protocol.
    pub fn client(&self) -> Value {
        self.stated(META_CLIENT, Session::client)
    }

    /// What the client said that it can do.
    pub fn client_capability(&self, name: &str) -> bool {
        self.stated(META_CAPABILITIES, Session::client_capabilities)
            .get(name)
            .is_some()
    }

    /// What the client says of itself: with each request in the stateless era, and once before.
    fn stated(&self, key: &str, agreed: fn(&Session) -> Value) -> Value {
        match self.revision.era() {
            Era::Stateless => self.request.meta(key).cloned().unwrap_or_default(),
            Era::Handshake => agreed(&self.session),
        }
    }

    /// The response with this result, completed as the revision wants it.
    pub fn success(&self, result: Value) -> Value {
        success(&self.request, self.revision, &*self.host.behaviour, result)
    }

    /// The response with this result or refusal.
    pub fn response(&self, outcome: Outcome) -> Value {
        match outcome {
            Ok(result) => self.success(result),
            Err(refusal) => refusal.response(&self.request.id),
        }
    }

    /// The response with this error.
    pub fn failure(&self, code: i64, message: &str) -> Value {
        Refusal::new(code, message).response(&self.request.id)
    }

    /// The response of a healthy server to this call.
    pub fn healthy(&self) -> Value {
        self.success(tools::run(&self.request))
    }

    /// Sends the last word on this request.
    pub async fn reply(&self, message: Value) {
        let text = message.to_string();
        // It may be large, and wait for long.
        drop(message);
        self.reply_raw(text).await;
    }

    /// Answers with this result, completed as the revision wants it.
    pub async fn succeed(&self, result: Value) {
        self.reply(self.success(result)).await;
    }

    /// Answers with this error.
    pub async fn fail(&self, code: i64, message: &str) {
        self.reply(self.failure(code, message)).await;
    }

    /// Answers this call as a healthy server does.
    pub async fn reply_healthy(&self) {
        self.reply(self.healthy()).await;
    }

    /// Sends the last word on this request, whatever these bytes are.
    pub async fn reply_raw(&self, bytes: impl Into<Bytes>) {
        self.write(Outgoing::new(bytes, Ending::Last)).await;
    }

    /// Sends a message before the last word.
    pub async fn send(&self, message: &Value) {
        self.send_raw(message.to_string()).await;
    }

    /// Sends a notification before the last word.
    pub async fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends bytes as if they were a message, before the last word.
    pub async fn send_raw(&self, bytes: impl Into<Bytes>) {
        self.write(Outgoing::new(bytes, Ending::More)).await;
    }

    /// Sends bytes that no delimiter follows, before the last word.
    pub async fn send_part(&self, bytes: impl Into<Bytes>) {
        self.write(Outgoing::new(bytes, Ending::Part)).await;
    }

    /// Sends bytes and breaks the connection off; over stdio, ends the server with status 0.
    pub async fn break_off(&self, bytes: impl Into<Bytes>) {
        self.write(Outgoing::new(bytes, Ending::Cut)).await;
    }

    /// Sends the beginning of a message as the last word. Over stdio the line ends early and the
    /// connection lives; elsewhere it is closed in the middle of the message.
    pub async fn cut_short(&self, bytes: impl Into<Bytes>) {
        self.write(Outgoing::new(bytes, Ending::Short)).await;
    }

    /// Answers over HTTP with a status and `Retry-After`; elsewhere with this message.
    pub async fn turn_away(&self, status: u16, retry_after_s: u64, message: impl Into<Bytes>) {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let mut outgoing = Outgoing::new(message, Ending::Last);
        outgoing.away = Some((status, retry_after_s));
        self.write(outgoing).await;
    }

    /// From now on the work goes on though the client cancels it; `told` is called when it does.
    pub fn ignore_cancellation(&self, told: impl FnOnce() + Send + 'static) {
        let in_flight = &self.session.in_flight;
        in_flight.shield(&self.request.id, &self.ended, Box::new(told));
    }

    /// Refuses the request, over HTTP with the status of a request that is not served.
    pub async fn refuse(&self, refusal: &Refusal) {
        let status = match (refusal.code, self.revision.era()) {
            (METHOD_NOT_FOUND, Era::Handshake) => StatusCode::OK,
            (METHOD_NOT_FOUND, Era::Stateless) => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        let refused = Outgoing::refusal(&self.request.id, refusal, status);
        self.write(refused).await;
    }

    /// Asks the client, and waits for its answer: the result, or what went wrong.
    pub async fn ask(&self, method: &str, params: &Value) -> Result<Value, String> {
        let (id, answer) = self.session.question();
        let mut question = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            question["params"] = params.clone();
        }
        self.send(&question).await;
        match tokio::time::timeout(QUESTION_TIMEOUT, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) | Err(_) => {
                self.session.forget_question(&id);
                Err(format!("the client did not answer {method}"))
            }
        }
    }

    /// Sends a log message, unless the client wants none or only more severe ones. A client of the
    /// stateless era has to ask for them with each request.
    pub async fn log(&self, level: LogLevel, logger: &str, data: &Value) -> bool {
        let wanted = match self.revision.era() {
            Era::Handshake => Some(*lock(&self.session.log_level)),
            Era::Stateless => self.request.meta(META_LOG_LEVEL).and_then(LogLevel::of),
        };
        let is_wanted = wanted.is_some_and(|wanted| level >= wanted);
        if is_wanted {
            let params = json!({ "level": level, "logger": logger, "data": data });
            self.notify("notifications/message", &params).await;
        }
        is_wanted
    }

    /// Sends only log messages of this level and above to this client from now on; for the handshake
    /// era.
    pub fn set_log_level(&self, level: LogLevel) {
        *lock(&self.session.log_level) = level;
    }

    /// Tells this client of changes of a resource; for the handshake era. False if it has subscribed to
    /// too many.
    pub fn subscribe(&self, uri: &str) -> bool {
        self.session.subscribe(uri, &self.host.kept)
    }

    /// Closes the stream of this request, for the client to come back after `retry` and fetch what is
    /// sent from now on. Does nothing where no stream can be taken up again.
    pub async fn park(&self, retry: Duration) {
        let is_over_http = self.caller.kind == Some(ListenerKind::Http);
        let event = self.host.unique_name();
        let (rest, answers) = mpsc::channel(OUTPUT_QUEUE_MAX);
        let can_resume = is_over_http && self.revision == Revision::V2025_11_25;
        if !can_resume || !self.session.park(&event, answers) {
            return;
        }
        let before = std::mem::replace(&mut *lock(&self.output), rest);
        let last = format!("id: {event}\nretry: {}\ndata: \n\n", retry.as_millis());
        // A client that left can come back.
        let _ = before.send(Outgoing::new(last, Ending::Parked)).await;
    }

    /// What is written, charged until the last of it is written; something small in its place when too much waits.
    fn charged(&self, outgoing: Outgoing) -> Outgoing {
        let Outgoing { bytes, ending, .. } = &outgoing;
        if bytes.len() <= SMALL_ANSWER_BYTES {
            return outgoing;
        }
        match self.host.answers.charge(bytes.len()) {
            Some(charge) => Outgoing {
                bytes: kept_with(
                    bytes.clone(),
                    (charge, self.session.unread.exceed(bytes.len())),
                ),
                ..outgoing
            },
            None if ending.is_final() => {
                let refusal = Refusal::new(TOO_BUSY, "Too many bytes of answers wait to be read");
                Outgoing {
                    away: Some((StatusCode::SERVICE_UNAVAILABLE, BUSY_RETRY_S)),
                    ..Outgoing::last(&refusal.response(&self.request.id))
                }
            }
            None => Outgoing {
                bytes: Bytes::new(),
                ending: Ending::Cut,
                ..outgoing
            },
        }
    }

    async fn write(&self, outgoing: Outgoing) {
        // A process that exited says nothing more, whatever else it was working on.
        if self.host.has_ended() {
            pending::<()>().await;
        }
        let outgoing = self.charged(outgoing);
        let is_final = outgoing.ending.is_final();
        if let Some(watch) = &self.watch {
            watch.sent(&outgoing.bytes, is_final);
        }
        if is_final {
            // Unless it was given up at this very moment.
            let _ = self.ended.set(Ended::Answered);
        }
        let output = lock(&self.output).clone();
        // A client that left needs no answer.
        let _ = output.send(outgoing).await;
    }
}

/// The response with this result, completed as the revision wants it.
pub fn success(
    request: &Request,
    revision: Revision,
    behaviour: &dyn Behaviour,
    mut result: Value,
) -> Value {
    if let (Era::Stateless, Some(fields)) = (revision.era(), result.as_object_mut()) {
        fields
            .entry("resultType")
            .or_insert_with(|| json!("complete"));
        let meta = fields.entry("_meta").or_insert_with(|| json!({}));
        if meta.is_object() {
            meta[META_SERVER] = behaviour.identity();
        }
    }
    json!({ "jsonrpc": "2.0", "id": request.id, "result": result })
}
