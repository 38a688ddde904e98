//! Looking at streams that were opened by GET.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::uri::Authority;
use mcprove_recording::Peer;
use mcprove_trace::protocol::split_batch;
use mcprove_trace::protocol::sse::Event;

use super::events::{Piece, RawEvents, encode};
use super::hub::{Expected, Hub, OldStream};
use super::passing::{Ending, Tap};
use super::sessions::Session;
use crate::message::{IdKey, Seen};

/// Looks at a stream that was opened by GET: where the transport of 2024-11-05 says where to post, and
/// where its answers come.
pub struct StreamTap {
    hub: Arc<Hub>,
    stream: Arc<OldStream>,
    /// The path of the stream.
    path: String,
    session: Session,
    events: RawEvents,
    endpoint: Option<String>,
    is_first: bool,
}

impl StreamTap {
    pub fn new(hub: Arc<Hub>, stream: Arc<OldStream>, path: String, session: Session) -> Self {
        Self {
            hub,
            stream,
            path,
            session,
            events: RawEvents::new(),
            endpoint: None,
            is_first: true,
        }
    }

    fn event(&mut self, raw: Bytes, event: &Event) -> Option<Bytes> {
        if std::mem::take(&mut self.is_first) && event.event == b"endpoint"[..] {
            return Some(self.announce(raw, event));
        }
        if self.hub.watch.is_idle() {
            return Some(raw);
        }
        let seen = Seen::of(&event.data);
        let Seen::Answer { id } = seen else {
            seen.note(Peer::Server, self.session.recorded.as_ref());
            if matches!(seen, Seen::Batch) {
                self.batch(&event.data);
            }
            return Some(raw);
        };
        match self.stream.answer(&IdKey::new(id), &event.data) {
            Expected::Taken => None,
            Expected::Unknown => Some(raw),
            Expected::Observed(look) => match look.answer(&self.hub, &event.data) {
                Some(changed) => Some(encode(&changed, Some(event))),
                None => Some(raw),
            },
        }
    }

    /// Batches pass as they are; the answers in them are written down.
    fn batch(&self, batch: &[u8]) {
        for member in split_batch(batch).unwrap_or_default() {
            let member = Bytes::copy_from_slice(member.as_bytes());
            if let Seen::Answer { id } = Seen::of(&member)
                && let Expected::Observed(look) = self.stream.answer(&IdKey::new(id), &member)
            {
                look.answer(&self.hub, &member);
            }
        }
    }

    /// The server says where to post: that must lead here.
    fn announce(&mut self, raw: Bytes, event: &Event) -> Bytes {
        let Ok(said) = std::str::from_utf8(&event.data) else {
            return raw;
        };
        let upstream = self.hub.upstream.authority();
        let local = match (address(said), upstream) {
            (Some(named), Some(upstream)) if leads_to(&named, &upstream) => Some(named.rest),
            (Some(_), _) => {
                let remark = "the server named an endpoint elsewhere: what is posted there passes \
                              by the proxy";
                self.hub.watch.journal.remark(remark);
                return raw;
            }
            (None, _) => None,
        };
        let target = resolve(&self.path, local.unwrap_or(said));
        self.session = self.hub.named_session(&target);
        self.hub.open_stream(target.clone(), &self.stream);
        self.endpoint = Some(target);
        match local {
            Some(local) => {
                let remark = "the server named its endpoint by a whole address, which was changed \
                              to a path so that it leads to the proxy";
                self.hub.watch.journal.remark(remark);
                encode(local.as_bytes(), Some(event))
            }
            None => raw,
        }
    }
}

/// A whole address, taken apart.
struct Named<'a> {
    authority: Authority,
    port: u16,
    /// Path and query.
    rest: &'a str,
}

fn address(text: &str) -> Option<Named<'_>> {
    let (after, default_port) = [("http://", 80), ("https://", 443), ("//", 80)]
        .into_iter()
        .find_map(|(scheme, port)| Some((text.strip_prefix(scheme)?, port)))?;
    let end = after.find(['/', '?']).unwrap_or(after.len());
    let (authority, rest) = after.split_at_checked(end)?;
    let authority: Authority = authority.parse().ok()?;
    let port = authority.port_u16().unwrap_or(default_port);
    let rest = if rest.is_empty() { "/" } else { rest };
    Some(Named {
        authority,
        port,
        rest,
    })
}

/// Whether an address is one of the server behind us, perhaps under another name of this machine.
fn leads_to(named: &Named<'_>, upstream: &Authority) -> bool {
    let is_same_port = upstream.port_u16().is_none_or(|port| port == named.port);
    let is_same_host = named.authority.host().eq_ignore_ascii_case(upstream.host());
    let are_here = is_loopback(named.authority.host()) && is_loopback(upstream.host());
    is_same_port && (is_same_host || are_here)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Where a reference leads, seen from a path.
fn resolve(path: &str, reference: &str) -> String {
    if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.starts_with('?') {
        format!("{path}{reference}")
    } else {
        let folder = path.rfind('/').and_then(|end| path.get(..=end));
        format!("{}{reference}", folder.unwrap_or("/"))
    }
}

impl Tap for StreamTap {
    fn pass(&mut self, chunk: Bytes, onwards: &mut VecDeque<Bytes>) {
        if self.hub.watch.is_idle() && !self.is_first {
            onwards.push_back(chunk);
            return;
        }
        self.events.push(&chunk);
        while let Some(piece) = self.events.next_piece() {
            onwards.extend(match piece {
                Piece::Event(raw, event) => self.event(raw, &event),
                Piece::Other(raw) | Piece::Long(raw) => Some(raw),
            });
        }
        if self.hub.watch.is_idle() && !self.is_first {
            onwards.push_back(self.events.rest());
        }
    }

    fn end(&mut self, ending: Ending, onwards: &mut VecDeque<Bytes>) {
        let rest = self.events.rest();
        if !rest.is_empty() {
            onwards.push_back(rest);
        }
        if let Some(endpoint) = &self.endpoint {
            self.hub.close_stream(endpoint);
        }
        self.stream.end(ending);
    }

    fn is_between(&self) -> bool {
        self.events.is_between()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_where_browsers_go() {
        for (reference, target) in [
            ("/messages?id=1", "/messages?id=1"),
            ("?id=1", "/a/sse?id=1"),
            ("messages", "/a/messages"),
        ] {
            assert_eq!(resolve("/a/sse", reference), target);
        }
    }

    #[test]
    fn other_names_of_this_machine_lead_to_the_same_server() {
        for (said, upstream, leads) in [
            ("http://127.0.0.1:80/m", "127.0.0.1:80", true),
            ("http://localhost:8080/m?x=1", "127.0.0.1:8080", true),
            ("//[::1]:8080/m", "localhost:8080", true),
            ("http://LOCALHOST:8081/m", "127.0.0.1:8080", false),
            ("https://api.example/m", "api.example", true),
            ("http://elsewhere.example:8080/m", "127.0.0.1:8080", false),
        ] {
            let named = address(said).unwrap();
            assert_eq!(
                leads_to(&named, &upstream.parse().unwrap()),
                leads,
                "{said}"
            );
        }
        assert!(address("/messages").is_none() && address("?x").is_none());
    }
}
