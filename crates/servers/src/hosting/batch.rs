//! Several messages in one, as some revisions of the handshake era have them.

use crate::prelude::*;

/// The most messages in a batch.
const BATCH_MAX: usize = 1_000;

/// The most bytes of answers to a batch.
const ANSWERS_BYTES_MAX: usize = FRAME_BYTES_MAX;

/// Why a batch of this length is not looked at.
pub fn refuse(session: &Session, length: usize) -> Option<Refusal> {
    let is_known = session.revision().is_some_and(Revision::has_batches);
    let problem = match length {
        _ if !is_known => "this revision has no batches",
        0 => "the batch is empty",
        length if length > BATCH_MAX => "the batch is too long",
        _ => return None,
    };
    Some(Refusal::new(
        INVALID_REQUEST,
        format!("Invalid request: {problem}"),
    ))
}

/// Answers all messages of a batch in one array; a batch without requests has no answer. What is said
/// before a last word is no answer, and goes out by itself. An HTTP status stands for the whole batch,
/// and a connection that breaks off does so at once. A batch of which the client wants no answer any more
/// has the end of its first request.
pub async fn answer(peer: &Peer, messages: Vec<Value>, end: &End) {
    let (output, mut answers) = mpsc::channel::<Outgoing>(OUTPUT_QUEUE_MAX);
    let each = Peer {
        output,
        ..peer.clone()
    };
    let collect = async {
        let mut collected = Collected::default();
        while let Some(answer) = answers.recv().await {
            match answer.ending {
                Ending::More => {
                    // A client that left needs no answer.
                    let _ = peer.output.send(answer).await;
                }
                Ending::Cut | Ending::Short => {
                    if answer.bytes.is_empty() {
                        // The connection closes instead of an answer.
                        collected.array.clear();
                    } else {
                        collected.add(&answer);
                    }
                    return Some(collected.ending(answer.ending));
                }
                Ending::Last | Ending::Part | Ending::Parked => collected.add(&answer),
            }
        }
        if collected.is_over {
            let refusal = Refusal::new(TOO_BUSY, "The answers to the batch have more than 64 MiB");
            return Some(Outgoing::last(&refusal.response(&Value::Null)));
        }
        collected.array.push(b']');
        (collected.array.len() > 1).then(|| collected.ending(Ending::Last))
    };
    let give = async move {
        let mut started = Vec::new();
        for message in messages {
            started.extend(dispatch::accept_one(&each, message).await);
        }
        // The last of the answers follows on the last of the work.
        drop(each);
        started
    };
    match tokio::join!(give, collect) {
        (_, Some(answer)) => {
            let _ = peer.output.send(answer).await;
        }
        (started, None) => {
            let ends = started.iter().map(|work| work.ended.get().copied());
            let is_unwanted = ends.clone().all(|how| how.is_some_and(Ended::is_unwanted));
            if let (true, Some(how)) = (is_unwanted, ends.flatten().next()) {
                // Nobody else sets it.
                let _ = end.set(how);
            }
        }
    }
}

/// The answers so far: an array without its end.
#[derive(Default)]
struct Collected {
    array: Vec<u8>,
    /// Whether the last one is only a part, which the next one goes on with.
    is_partial: bool,
    /// Whether there were too many bytes to keep.
    is_over: bool,
    away: Option<HttpRefusal>,
}

impl Collected {
    fn add(&mut self, answer: &Outgoing) {
        self.is_over |= self.array.len() + answer.bytes.len() > ANSWERS_BYTES_MAX;
        if self.is_over {
            self.array = Vec::new();
            return;
        }
        if self.array.is_empty() {
            self.array.push(b'[');
        } else if !self.is_partial {
            self.array.push(b',');
        }
        self.array.extend_from_slice(&answer.bytes);
        self.is_partial = answer.ending == Ending::Part;
        self.away = self.away.or(answer.away);
    }

    fn ending(self, ending: Ending) -> Outgoing {
        Outgoing {
            away: self.away,
            ..Outgoing::new(self.array, ending)
        }
    }
}
