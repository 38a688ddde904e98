//! What is looked at on the way, in each direction.

use std::sync::Arc;

use bytes::Bytes;
use mcprove_recording::{Peer, RecordedRequest};
use mcprove_trace::protocol::split_batch;

use super::faulted::strike;
use super::hub::{Expected, Hub};
use super::pump::{Gate, Verdict};
use crate::message::{IdKey, Request, Seen, id_in_head, may_matter};
use crate::watch::Fate;

/// What the client says.
pub struct FromClient(pub Arc<Hub>);

/// What the server says.
pub struct FromServer(pub Arc<Hub>);

impl Gate for FromClient {
    fn is_looking(&self) -> bool {
        !self.0.watch.is_idle()
    }

    fn look(&mut self, line: &[u8]) -> Verdict {
        let hub = &self.0;
        if hub.session.is_none() && !may_matter(line) {
            return Verdict::Pass;
        }
        let seen = Seen::of(line);
        seen.note(Peer::Client, hub.session.as_ref());
        match seen.cancelled() {
            Some(key) if !hub.cancel(&key) => return Verdict::Hold,
            _ => {}
        }
        match seen {
            Seen::Request(request) => return self.request(line, &request),
            Seen::Batch => {
                let session = (0, hub.session.as_ref());
                hub.watch.batch(session, line, |id, recorded| {
                    hub.forward(IdKey::new(id), recorded, false);
                });
            }
            _ => {}
        }
        Verdict::Pass
    }

    fn skip(&mut self, _: &[u8]) {
        let remark = "a message of the client was too long to be looked at, and passed unchanged";
        self.0.watch.journal.remark(remark);
    }
}

impl FromClient {
    fn request(&self, line: &[u8], request: &Request<'_>) -> Verdict {
        let hub = &self.0;
        let key = IdKey::new(request.id);
        let fate = hub.watch.request(
            (0, hub.session.as_ref()),
            request,
            || hub.faulted.has_room(line.len()),
            || Bytes::copy_from_slice(line),
        );
        match fate {
            Fate::Passes(recorded) => {
                hub.forward(key, recorded, request.method == "tools/list");
                Verdict::Pass
            }
            Fate::Struck(struck) => {
                strike(hub, key, *struck);
                Verdict::Hold
            }
        }
    }
}

impl Gate for FromServer {
    fn is_looking(&self) -> bool {
        self.0.session.is_some() || self.0.is_expecting()
    }

    fn look(&mut self, line: &[u8]) -> Verdict {
        let hub = &self.0;
        let seen = Seen::of(line);
        seen.note(Peer::Server, hub.session.as_ref());
        match seen {
            Seen::Answer { id } => return self.answer(line, id),
            Seen::Batch => {
                for member in split_batch(line).unwrap_or_default() {
                    let member = member.as_bytes();
                    if let Seen::Answer { id } = Seen::of(member)
                        && let Expected::Passing(recorded) | Expected::Listing(recorded) =
                            hub.answer(&IdKey::new(id), || Bytes::copy_from_slice(member))
                    {
                        end(recorded.as_ref(), member);
                    }
                }
            }
            _ => {}
        }
        Verdict::Pass
    }

    fn skip(&mut self, head: &[u8]) {
        let hub = &self.0;
        if let Some(key) = id_in_head(head) {
            hub.pass_long_answer(&key);
        }
        let remark = "a message of the server was too long to be looked at, and passed unchanged";
        hub.watch.journal.remark(remark);
        if let Some(session) = &hub.session {
            session.remark(remark);
        }
    }
}

impl FromServer {
    fn answer(&self, line: &[u8], id: &str) -> Verdict {
        let hub = &self.0;
        match hub.answer(&IdKey::new(id), || {
            Bytes::copy_from_slice(line.trim_ascii())
        }) {
            Expected::Taken => Verdict::Hold,
            Expected::Passing(recorded) => {
                end(recorded.as_ref(), line);
                Verdict::Pass
            }
            Expected::Listing(recorded) => {
                let Some(mut changed) = hub.watch.listing(line) else {
                    end(recorded.as_ref(), line);
                    return Verdict::Pass;
                };
                end(recorded.as_ref(), &changed);
                changed.push(b'\n');
                Verdict::Replace(changed)
            }
        }
    }
}

fn end(recorded: Option<&RecordedRequest>, answer: &[u8]) {
    if let Some(recorded) = recorded {
        recorded.answer(answer);
    }
}
