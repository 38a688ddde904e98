//! Event streams: the answer to a request, the stream that belongs to none, and how a stream
//! that breaks off is taken up again.

use mcprove_trace::protocol::sse::{Event, EventParser};
use tokio::time::Instant;

use super::exchange;
use super::headers::LAST_EVENT_ID;
use super::prelude::*;

/// How long to wait before reconnecting, if the server does not say.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// No wait is shorter, whatever the server says: reconnecting must not spin.
const MIN_RETRY: Duration = Duration::from_millis(10);
/// No wait is longer, whatever the server says.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often a stream is taken up again without an event in between.
const MAX_RESUMES: u32 = 5;
/// How long a server may keep a stream open after the answer.
const AFTER_ANSWER: Duration = Duration::from_secs(1);
/// How long a stream is read on after its request was given up, for a late answer.
const AFTER_GIVING_UP: Duration = Duration::from_secs(10);
/// How often a stream is asked about whose request may have been given up.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How much of a stream is read before others get a turn.
const YIELD_BYTES: usize = 256 * 1024;
/// How long the stream is read that answers a message without an id.
const UNASKED_STREAM: Duration = Duration::from_secs(10);
/// How much is read of the response that refuses a stream.
const MAX_REFUSAL: usize = 64 * 1024;

/// Where in a stream we are, across the connections that it takes.
pub struct Cursor {
    last_id: Option<HeaderValue>,
    retry: Duration,
    has_progress: bool,
}

impl Cursor {
    pub fn new() -> Self {
        Self {
            last_id: None,
            retry: DEFAULT_RETRY,
            has_progress: false,
        }
    }

    fn note(&mut self, event: &Event) {
        self.has_progress = true;
        if let Some(id) = &event.id {
            // An id that no header can carry is none.
            self.last_id = Some(id)
                .filter(|id| !id.is_empty())
                .and_then(|id| HeaderValue::from_maybe_shared(id.clone()).ok());
        }
        if let Some(retry_ms) = event.retry_ms {
            self.retry = Duration::from_millis(retry_ms).clamp(MIN_RETRY, MAX_RETRY);
        }
    }

    fn take_progress(&mut self) -> bool {
        std::mem::take(&mut self.has_progress)
    }

    /// The wait before the next connection, longer after each one that brought nothing.
    fn delay(&self, failures: u32) -> Duration {
        self.retry
            .saturating_mul(1 << failures.min(5))
            .min(MAX_RETRY)
    }
}

/// Takes the events of one body apart.
pub struct EventReader {
    parser: EventParser,
    limit: usize,
    /// Bytes read since the other tasks had a turn.
    unyielded: usize,
}

impl EventReader {
    pub fn new(limit: usize) -> Self {
        Self {
            parser: EventParser::new(limit),
            limit,
            unyielded: 0,
        }
    }

    /// The next event; `None` when the body ends. Dropping the future loses nothing.
    pub async fn next(&mut self, connection: &mut Connection) -> Result<Option<Event>, Failure> {
        loop {
            // A flood of what is no event would keep everything else waiting, deadlines too.
            if self.unyielded >= YIELD_BYTES {
                self.unyielded = 0;
                tokio::task::yield_now().await;
            }
            match self.parser.next_event() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(error) => return Err(Failure::oversized(error.size, self.limit, error.head)),
            }
            match connection.next_chunk().await? {
                Some(chunk) => {
                    self.unyielded += chunk.len();
                    self.parser.push(chunk);
                }
                None => return Ok(None),
            }
        }
    }
}

/// Reads the stream that answers `job`, over as many connections as it takes.
pub async fn follow(
    pool: &Arc<Pool>,
    connection: Connection,
    job: &Job,
) -> Result<Option<Connection>, Failure> {
    let mut cursor = Cursor::new();
    let mut resumes = 0;
    let is_asked = job.request().is_some();
    let deadline = (!is_asked).then(|| Instant::now() + UNASKED_STREAM);
    let mut end = read(pool, connection, job.request(), deadline, &mut cursor).await;
    loop {
        let Some(id) = job.request().filter(|id| pool.inbox.is_waiting(*id)) else {
            return end.or(Ok(None));
        };
        if let Err(failure) = &end
            && (failure.category == ErrorCategory::Malformed || failure.own_limit().is_some())
        {
            return end;
        }
        if cursor.last_id.is_none() || !job.headers.is_resumable {
            let message = "the event stream ended before the answer";
            return Err(end.err().unwrap_or_else(|| Failure::disconnected(message)));
        }
        if cursor.take_progress() {
            resumes = 0;
        }
        if resumes == MAX_RESUMES {
            let why = end
                .err()
                .map_or_else(String::new, |failure| format!("; {failure}"));
            let message = format!(
                "the event stream ended before the answer, and {MAX_RESUMES} attempts to resume it brought nothing{why}"
            );
            return Err(Failure::disconnected(message));
        }
        resumes += 1;
        tokio::time::sleep(cursor.retry).await;
        if !pool.inbox.is_waiting(id) {
            return end.or(Ok(None));
        }
        end = match open(pool, end.ok().flatten(), &cursor).await {
            Ok(connection) => read(pool, connection, Some(id), None, &mut cursor).await,
            Err((Some(refused), failure)) if !refused.is_server_error() => return Err(failure),
            Err((_, failure)) => Err(failure),
        };
    }
}

/// Reads one body to its end, until `deadline`, or for a moment after the answer to `request`. Returns the connection
/// if it can be used again.
async fn read(
    pool: &Arc<Pool>,
    mut connection: Connection,
    request: Option<u64>,
    mut deadline: Option<Instant>,
    cursor: &mut Cursor,
) -> Result<Option<Connection>, Failure> {
    let mut reader = EventReader::new(pool.options.max_frame);
    loop {
        let next = reader.next(&mut connection);
        let until = deadline.unwrap_or_else(|| Instant::now() + LOOK_EVERY);
        let event = match tokio::time::timeout_at(until, next).await {
            Ok(event) => event?,
            Err(_) if deadline.is_some() => return Ok(None),
            Err(_) => {
                let is_given_up = request.is_some_and(|id| !pool.inbox.is_waiting(id));
                deadline = is_given_up.then(|| Instant::now() + AFTER_GIVING_UP);
                continue;
            }
        };
        let Some(event) = event else {
            return Ok(connection.is_open().then_some(connection));
        };
        cursor.note(&event);
        if event.is_message() && !event.data.is_empty() {
            pool.inbox.deliver(event.data);
        }
        if let Some(id) = request
            && deadline.is_none()
            && !pool.inbox.is_waiting(id)
        {
            pool.mark_answered(id);
            deadline = Some(Instant::now() + AFTER_ANSWER);
        }
    }
}

/// Why a stream did not open, and the status with which the server refused it, if it did.
type NotOpened = (Option<StatusCode>, Failure);

/// Why a response is no event stream; none if it is one.
pub async fn refusal(connection: &mut Connection, head: &Head) -> Option<Failure> {
    if head.status.is_success() && content_type(&head.headers) == ContentType::Events {
        return None;
    }
    let body = read_body(connection, MAX_REFUSAL).await;
    Some(exchange::failure(
        head.status,
        &head.headers,
        &body.unwrap_or_default(),
    ))
}

/// Asks for a stream by GET, from where `cursor` is.
async fn open(
    pool: &Pool,
    connection: Option<Connection>,
    cursor: &Cursor,
) -> Result<Connection, NotOpened> {
    let (headers, has_session) = {
        let headers = pool.headers();
        (headers.get(), headers.has_session())
    };
    let own: Vec<_> = (cursor.last_id.iter())
        .map(|id| (LAST_EVENT_ID, id.clone()))
        .collect();
    let get = Request {
        own: &own,
        ..Request::new(&Method::GET, &pool.address.path, &headers)
    };
    let opened = exchange::request(pool, connection, &get).await;
    let (mut connection, head) = opened.map_err(|failure| (None, failure))?;
    let Some(mut failure) = refusal(&mut connection, &head).await else {
        return Ok(connection);
    };
    failure.category = ErrorCategory::Disconnected;
    failure.message = format!("the event stream cannot be opened: {}", failure.message);
    if head.status == StatusCode::NOT_FOUND && has_session {
        failure.detail = Detail::SessionExpired;
    }
    Err((Some(head.status), failure))
}

/// Keeps the stream open that belongs to no request, until the server says it has none. `tried`
/// is told when the server has accepted or refused it for the first time.
pub async fn listen(pool: Arc<Pool>, tried: oneshot::Sender<()>) {
    let mut tried = Some(tried);
    let mut cursor = Cursor::new();
    let mut kept = None;
    let mut failures = 0_u32;
    loop {
        let opened = open(&pool, kept.take(), &cursor).await;
        if let Some(tried) = tried.take() {
            // Whoever waited may have given up.
            let _ = tried.send(());
        }
        match opened {
            Ok(connection) => match read(&pool, connection, None, None, &mut cursor).await {
                Ok(connection) => kept = connection,
                Err(failure) if failure.category == ErrorCategory::Malformed => {
                    pool.inbox.fail(None, failure);
                }
                Err(_) => {}
            },
            Err((Some(status), _))
                if !status.is_server_error() || status == StatusCode::NOT_IMPLEMENTED =>
            {
                pool.set_listening(false);
                return;
            }
            Err(_) => {}
        }
        failures = if cursor.take_progress() {
            0
        } else {
            failures.saturating_add(1)
        };
        tokio::time::sleep(cursor.delay(failures)).await;
    }
}
