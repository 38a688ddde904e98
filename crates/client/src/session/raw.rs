//! Bytes that need not be a message, and what comes back for them.
//!
//! No call waits for the answer to such bytes, and the answer may have any id or none. So while a
//! [`RawExchange`] is open, whatever belongs to no call counts as its answer, unless its id can be read; later it is an
//! answer that came late. Neither is a violation of the server's: we asked for it.

use mcprove_trace::protocol::Message;
use tokio::sync::watch;

use super::prelude::*;

/// How many ids of raw messages are remembered, so that a late answer is known for what it is.
const IDS_MAX: usize = 65_536;
/// How much of an answer is kept.
const SAID_CHARACTERS_MAX: usize = 300;

/// One raw message, and what its HTTP headers say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The method for the `Mcp-Method` header; empty where it has none that a header can carry.
    pub method: &'static str,
    /// The name for the `Mcp-Name` header.
    pub name: Option<String>,
}

/// What came back for raw messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// Whether it is a refusal: a JSON-RPC error, a result with `isError`, an HTTP status, a
    /// connection that was closed.
    pub is_error: bool,
    /// What it says, for people.
    pub text: String,
}

impl RawAnswer {
    pub fn new(is_error: bool, text: &str) -> Self {
        let text = on_one_line(&shorten(text, SAID_CHARACTERS_MAX));
        Self { is_error, text }
    }

    pub fn of_result(result: &str) -> Self {
        let parsed: Value = parse_bounded(result).unwrap_or_default();
        let said = parsed["content"][0]["text"].as_str();
        Self::new(parsed["isError"] == true, said.unwrap_or(result))
    }

    pub fn of_error(error: &str) -> Self {
        match parse_bounded::<RpcError>(error) {
            Ok(error) => Self::new(true, &format!("{} (code {})", error.message, error.code)),
            Err(_) => Self::new(true, error),
        }
    }
}

/// What a session knows of its raw messages.
#[derive(Default)]
pub struct RawTraffic {
    /// The ids in them, as JSON.
    ids: FxHashSet<String>,
    /// The ids that answer the exchange that is under way, if they can be read; else anything may.
    named: Option<Vec<String>>,
    /// Messages whose refusal, an error without an id, has not come yet.
    unanswered: u64,
    /// Where the exchange that is under way gets its answer.
    open: Option<watch::Sender<Option<RawAnswer>>>,
}

impl RawTraffic {
    /// Whether an exchange is under way.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Wakes whoever waits for an answer: the connection is over.
    pub fn give_up(&mut self) {
        self.open = None;
    }

    /// Takes an answer; false when there is nobody to take it.
    fn take(&self, answer: RawAnswer) -> bool {
        if let Some(open) = &self.open {
            open.send_modify(|known| {
                known.get_or_insert(answer);
            });
        }
        self.is_open()
    }

    /// Whether an answer with this id may be that of the exchange that is under way.
    fn answers(&self, id: Id<'_>) -> bool {
        let named = self.named.as_ref().filter(|_| id != Id::None);
        named.is_none_or(|ids| ids.contains(&id.to_string()))
    }
}

impl Core {
    /// Whether an answer to `id`, which no call waits for, belongs to a raw message. If so it is
    /// taken care of.
    pub fn takes_raw(&self, id: Id<'_>, answer: RawAnswer) -> bool {
        let mut state = self.lock();
        let is_ours = match id {
            Id::None => {
                let is_due = state.raw.unanswered > 0;
                state.raw.unanswered = state.raw.unanswered.saturating_sub(1);
                is_due
            }
            id => {
                // Everything else with an id of a call is about that call.
                let is_call =
                    matches!(id, Id::Number(number) if (1..state.next_id).contains(&number));
                let is_taken = state.raw.is_open() && !is_call && state.raw.answers(id);
                state.raw.ids.contains(&id.to_string()) || is_taken
            }
        };
        let is_taken = is_ours && state.raw.answers(id) && state.raw.take(answer);
        if is_ours && !is_taken && id != Id::None {
            state.late_replies += 1;
        }
        is_ours
    }

    /// What an HTTP server made of a raw message. It is the answer, unless it has the id of another request.
    pub fn receive_raw_answer(&self, answer: Result<Bytes, Failure>) {
        let answer = match answer {
            Ok(body) => {
                let answer = read_body(&body, &self.lock().raw);
                let Some(answer) = answer else {
                    self.violate(ViolationKind::UnknownReply, show(&body));
                    return;
                };
                answer
            }
            // Silence is no answer.
            Err(failure) if failure.category == ErrorCategory::Timeout => return,
            Err(failure) => RawAnswer::new(true, &failure.message),
        };
        let mut state = self.lock();
        state.raw.unanswered = state.raw.unanswered.saturating_sub(1);
        state.raw.take(answer);
    }

    /// Sends a raw message.
    pub fn send_raw(&self, message: &RawMessage) -> Result<(), SendError> {
        let outgoing = Outgoing {
            bytes: &message.bytes,
            kind: OutgoingKind::Raw,
            method: message.method,
            name: message.name.as_deref(),
            parameter_headers: &[],
        };
        self.channel().map_err(SendError::Closed)?.send(outgoing)?;
        self.lock().raw.unanswered += 1;
        Ok(())
    }
}

/// The answer that a body is: a message, the first of a batch that answers, or any text; none if all have foreign ids.
fn read_body(body: &[u8], traffic: &RawTraffic) -> Option<RawAnswer> {
    let mut has_foreign = false;
    let members = match body.trim_ascii_start().first() {
        Some(b'[') => protocol::split_batch(body).unwrap_or_default(),
        _ => std::str::from_utf8(body).into_iter().collect(),
    };
    let answer = members.iter().find_map(|member| {
        let envelope = Envelope::parse(member.as_bytes()).ok()?;
        let (id, answer) = match envelope.classify() {
            Message::Response { id, result } => (id, RawAnswer::of_result(result)),
            Message::Error { id, error } => (id, RawAnswer::of_error(error)),
            _ => return None,
        };
        has_foreign |= !traffic.answers(id);
        traffic.answers(id).then_some(answer)
    });
    answer.or_else(|| (!has_foreign).then(|| RawAnswer::new(false, &show(body))))
}

/// Raw messages that were sent, and the wait for what comes back. Ends when dropped.
pub struct RawExchange<'a> {
    core: &'a Core,
    answer: watch::Receiver<Option<RawAnswer>>,
}

impl RawExchange<'_> {
    /// Resolves when something came back, or the connection ended.
    pub async fn wait(&self) {
        let mut answer = self.answer.clone();
        let _ = answer.wait_for(Option::is_some).await;
    }

    /// What came back so far.
    pub fn answer(&self) -> Option<RawAnswer> {
        self.answer.borrow().clone()
    }
}

impl Drop for RawExchange<'_> {
    fn drop(&mut self) {
        self.core.lock().raw.open = None;
    }
}

impl Session {
    /// Sends bytes as one message, whatever they are; nobody waits for an answer.
    pub fn send_raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let message = RawMessage {
            bytes: bytes.to_vec(),
            method: "",
            name: None,
        };
        Ok(self.core.send_raw(&message)?)
    }

    /// The members of `_meta` in every request, as JSON without the braces around them.
    pub fn request_meta(&self) -> String {
        self.core.lock().meta.members().to_owned()
    }

    /// An id that no call has or will have, for a raw message.
    pub fn reserve_id(&self) -> u64 {
        let mut state = self.core.lock();
        let id = state.next_id;
        state.next_id += 1;
        id
    }

    /// Sends `messages` and opens the wait for what comes back. `ids` are those in them, as JSON; if they are `named` they
    /// can be read, and nothing else is an answer.
    /// One exchange can be open at a time. A server that does not read is waited for.
    pub async fn exchange_raw(
        &self,
        messages: &[RawMessage],
        ids: &[String],
        named: bool,
        patience: Duration,
    ) -> Result<RawExchange<'_>, Failure> {
        let (open, answer) = watch::channel(None);
        {
            let mut state = self.core.lock();
            state.raw.open = Some(open);
            state.raw.named = named.then(|| ids.to_vec());
            let room = IDS_MAX.saturating_sub(state.raw.ids.len());
            state.raw.ids.extend(ids.iter().take(room).cloned());
        }
        let exchange = RawExchange {
            core: &self.core,
            answer,
        };
        for message in messages {
            let sending = async {
                loop {
                    match self.core.send_raw(message) {
                        Ok(()) => return Ok(()),
                        Err(SendError::Closed(failure)) => return Err(failure),
                        Err(SendError::Full) => self.core.channel()?.room().await,
                    }
                }
            };
            tokio::time::timeout(patience, sending)
                .await
                .unwrap_or_else(|_| Err(SendError::Full.into()))?;
        }
        Ok(exchange)
    }
}
