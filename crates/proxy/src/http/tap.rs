//! Looking at responses of the server as they pass: at the answer to what a client posted, and at the streams that
//! were opened by GET.

use http::uri::Authority;
use mcprove_client::transport::http::address::resolve;

use super::prelude::*;

/// Why the end of a request that is written down is not known.
pub const TOO_LONG: &str = "the answer was too long to be looked at";

/// Looks at a body that passes, and may change it.
pub struct Tap {
    hub: Arc<Hub>,
    events: RawEvents,
    subject: Subject,
}

/// What is looked at.
enum Subject {
    /// The one answer of a request, in an event stream.
    Events(Observer),
    /// The same in a body of another kind.
    Body {
        look: Observer,
        is_json: bool,
        status: StatusCode,
        body: Gathered,
        is_too_long: bool,
    },
    /// A stream that was opened by GET: where the transport of 2024-11-05 says where to post, and where its answers
    /// come.
    Stream {
        stream: Arc<OldStream>,
        /// The path of the stream.
        path: String,
        session: Session,
        endpoint: Option<String>,
        is_first: bool,
    },
}

impl Tap {
    /// Looks at the answer to a request.
    pub fn answer(hub: Arc<Hub>, look: Observer, kind: ContentType, status: StatusCode) -> Self {
        let subject = match kind {
            ContentType::Events => Subject::Events(look),
            ContentType::Json | ContentType::Other => Subject::Body {
                look,
                is_json: kind == ContentType::Json,
                status,
                body: Gathered::default(),
                is_too_long: false,
            },
        };
        Self::new(hub, subject)
    }

    /// Looks at a stream that was opened by GET at that path.
    pub fn stream(hub: Arc<Hub>, stream: Arc<OldStream>, path: String, session: Session) -> Self {
        let subject = Subject::Stream {
            stream,
            path,
            session,
            endpoint: None,
            is_first: true,
        };
        Self::new(hub, subject)
    }

    fn new(hub: Arc<Hub>, subject: Subject) -> Self {
        Self {
            hub,
            events: RawEvents::default(),
            subject,
        }
    }

    /// Takes what arrived, and gives what goes on.
    pub fn pass(&mut self, chunk: Bytes, onwards: &mut VecDeque<Bytes>) {
        if let Subject::Body {
            body, is_too_long, ..
        } = &mut self.subject
        {
            if body.bytes() + chunk.len() <= LOOK_BYTES_MAX {
                body.push(chunk.clone());
            } else {
                *is_too_long = true;
            }
            onwards.push_back(chunk);
            return;
        }
        if self.is_done() {
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
        if self.is_done() {
            onwards.push_back(self.events.rest());
        }
    }

    /// Whether it is a stream on which nobody needs to look any more.
    fn is_done(&self) -> bool {
        let is_begun = matches!(
            self.subject,
            Subject::Stream {
                is_first: false,
                ..
            }
        );
        is_begun && self.hub.watch.is_idle()
    }

    /// The body is over.
    pub fn end(&mut self, ending: Ending, onwards: &mut VecDeque<Bytes>) {
        let rest = self.events.rest();
        if !rest.is_empty() {
            onwards.push_back(rest);
        }
        match &mut self.subject {
            Subject::Events(look) => look.end_without(ending),
            Subject::Body { look, .. } if ending == Ending::Left => look.end_without(ending),
            Subject::Body {
                look,
                is_json,
                status,
                body,
                is_too_long,
            } => {
                if *is_too_long {
                    look.fail(ErrorCategory::Malformed, TOO_LONG);
                } else if *is_json && ending == Ending::Whole {
                    // What a list is to say instead was decided before; this one passes as it is.
                    look.body(&self.hub.watch, *status, &body.take());
                } else if status.is_success() {
                    look.end_without(Ending::Broken);
                } else {
                    look.fail(ErrorCategory::ServerError, &format!("HTTP {status}"));
                }
            }
            Subject::Stream {
                stream, endpoint, ..
            } => {
                if let Some(endpoint) = endpoint {
                    self.hub.close_stream(endpoint);
                }
                stream.answers.end(ending);
            }
        }
    }

    /// Whether something else may be said now.
    pub fn is_between(&self) -> bool {
        self.events.is_between()
    }

    fn event(&mut self, raw: Bytes, event: &Event) -> Option<Bytes> {
        if let Subject::Stream { is_first, .. } = &mut self.subject
            && std::mem::take(is_first)
            && event.event == b"endpoint"[..]
        {
            return Some(self.announce(raw, event));
        }
        let watch = &self.hub.watch;
        let changed = match &self.subject {
            Subject::Events(look) if look.is_answer(&event.data) => look.answer(watch, &event.data),
            Subject::Events(look) => {
                Seen::of(&event.data).note(Peer::Server, &look.session);
                None
            }
            Subject::Stream {
                stream, session, ..
            } if !watch.is_idle() => match watch.hear(session, &stream.answers, &event.data) {
                Passage::Hold => return None,
                Passage::Pass => None,
                Passage::Replace(changed) => Some(changed),
            },
            Subject::Stream { .. } | Subject::Body { .. } => None,
        };
        Some(changed.map_or(raw, |changed| encode(&changed, event)))
    }

    /// The server says where to post: that must lead here.
    fn announce(&mut self, raw: Bytes, event: &Event) -> Bytes {
        let Subject::Stream {
            stream,
            path,
            session,
            endpoint,
            ..
        } = &mut self.subject
        else {
            return raw;
        };
        let Ok(said) = std::str::from_utf8(&event.data) else {
            return raw;
        };
        let journal = &self.hub.watch.journal;
        let upstream = self.hub.upstream.authority();
        let local = match (address(said), upstream) {
            (Some(named), Some(upstream)) if leads_to(&named, &upstream) => Some(named.rest),
            (Some(_), _) => {
                let remark = "the server named an endpoint elsewhere: what is posted there passes \
                              by the proxy";
                journal.remark(remark);
                return raw;
            }
            (None, _) => None,
        };
        let target = resolve(path, local.unwrap_or(said));
        *session = self.hub.named_session(&target);
        self.hub.open_stream(target.clone(), stream);
        *endpoint = Some(target);
        let Some(local) = local else { return raw };
        let remark = "the server named its endpoint by a whole address, which was changed \
                      to a path so that it leads to the proxy";
        journal.remark(remark);
        encode(local.as_bytes(), event)
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
