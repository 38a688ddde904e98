//! The headers of every request, prepared ahead.
//!
//! What changes from message to message is little: `Mcp-Method`, `Mcp-Name` and the parameters
//! of a tool, and only in the stateless era. The rest is a map per revision and session, built
//! when one of them changes and shared by all requests until then.

use http::header::{ACCEPT, CONTENT_TYPE, HOST};

use super::prelude::*;

pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The request that opens a session, and so belongs to none yet.
const INITIALIZE: &str = "initialize";
/// The request that asks for the stateless revision before anyone agreed on one.
const DISCOVER: &str = "server/discover";

/// The headers for what is spoken now.
pub struct Headers {
    revision: Option<Revision>,
    session: Option<HeaderValue>,
    /// Before any agreement: no version, no session.
    bare: Arc<HeaderMap>,
    post: Arc<HeaderMap>,
    get: Arc<HeaderMap>,
    /// What `get` starts from.
    bare_get: HeaderMap,
}

/// The headers of one POST.
pub struct PostHeaders {
    pub shared: Arc<HeaderMap>,
    /// Those of this message alone.
    pub own: Vec<(HeaderName, HeaderValue)>,
    /// Whether a session id is among them: a 404 then means that the session is over.
    pub has_session: bool,
    /// Whether a stream that breaks off can be taken up again.
    pub is_resumable: bool,
    /// Whether the response may assign a session.
    pub opens_session: bool,
}

impl Headers {
    /// Headers before any agreement. Those of the user replace ours.
    pub fn new(host: &HeaderValue, user: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let mut common = HeaderMap::new();
        common.insert(HOST, host.clone());
        let mut post = common.clone();
        post.insert(CONTENT_TYPE, JSON);
        post.insert(ACCEPT, JSON_OR_EVENTS);
        let mut get = common;
        get.insert(ACCEPT, EVENTS);
        for (name, value) in user {
            let (name, value) = parse_header(name, value)?;
            post.insert(name.clone(), value.clone());
            // A type of the body makes no sense where there is none.
            if name != CONTENT_TYPE && name != ACCEPT {
                get.insert(name, value);
            }
        }
        let bare = Arc::new(post);
        Ok(Self {
            revision: None,
            session: None,
            post: Arc::clone(&bare),
            bare,
            get: Arc::new(get.clone()),
            bare_get: get,
        })
    }

    /// Changes the revision; `None` also forgets the session.
    pub fn set_revision(&mut self, revision: Option<Revision>) {
        self.revision = revision;
        if self.era() != Some(Era::Handshake) {
            self.session = None;
        }
        self.rebuild();
    }

    /// Remembers the session that the server assigned.
    pub fn join_session(&mut self, session: HeaderValue) {
        self.session = Some(session);
        self.rebuild();
    }

    /// Forgets the session: the server has none now.
    pub fn leave_session(&mut self) {
        if self.session.take().is_some() {
            self.rebuild();
        }
    }

    pub fn era(&self) -> Option<Era> {
        self.revision.map(Revision::era)
    }

    pub fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// For GET and DELETE, which carry no body.
    pub fn get(&self) -> Arc<HeaderMap> {
        Arc::clone(&self.get)
    }

    pub fn post(&self, message: &Outgoing<'_>) -> PostHeaders {
        let opens_session = message.method == INITIALIZE;
        let is_discover = message.method == DISCOVER;
        let (shared, has_session) = if opens_session {
            (Arc::clone(&self.bare), false)
        } else if is_discover {
            let mut headers = HeaderMap::clone(&self.bare);
            headers.insert(PROTOCOL_VERSION, version(Revision::LATEST_STATELESS));
            (Arc::new(headers), false)
        } else {
            (Arc::clone(&self.post), self.session.is_some())
        };
        let is_stateless = is_discover || self.era() == Some(Era::Stateless) && !opens_session;
        let mut own = Vec::new();
        if is_stateless {
            own.reserve_exact(2 + message.parameter_headers.len());
            push(&mut own, METHOD, message.method);
            if let Some(name) = message.name {
                push(&mut own, NAME, name);
            }
        }
        for (name, value) in message.parameter_headers {
            // Encoded values always parse; a name that does not cannot be sent at all.
            if let Ok(header) = parse_header(name, value) {
                own.push(header);
            }
        }
        PostHeaders {
            shared,
            own,
            has_session,
            is_resumable: !is_stateless,
            opens_session,
        }
    }

    fn rebuild(&mut self) {
        let mut post = HeaderMap::clone(&self.bare);
        let mut get = self.bare_get.clone();
        for headers in [&mut post, &mut get] {
            if let Some(revision) = self
                .revision
                .filter(|revision| revision.has_version_header())
            {
                headers.insert(PROTOCOL_VERSION, version(revision));
            }
            if let Some(session) = &self.session {
                headers.insert(SESSION_ID, session.clone());
            }
        }
        self.post = Arc::new(post);
        self.get = Arc::new(get);
    }
}

fn version(revision: Revision) -> HeaderValue {
    HeaderValue::from_static(revision.as_str())
}

fn push(headers: &mut Vec<(HeaderName, HeaderValue)>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(encode_header_value(value)) {
        headers.push((name, value));
    }
}

/// Reads a header that came as text.
pub fn parse_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let refuse = |what: &str| {
        let message =
            format!("the header {name:?} cannot be sent: its {what} is not allowed in HTTP");
        Failure::disconnected(message)
    };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse("name"))?;
    let value = HeaderValue::from_str(value).map_err(|_| refuse("value"))?;
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::OutgoingKind;

    fn message<'a>(method: &'a str, name: Option<&'a str>) -> Outgoing<'a> {
        Outgoing {
            bytes: b"{}",
            kind: OutgoingKind::Request(1),
            method,
            name,
            parameter_headers: &[],
        }
    }

    fn headers() -> Headers {
        let user = BTreeMap::from([("X-Key".to_owned(), "k".to_owned())]);
        Headers::new(&HeaderValue::from_static("h:1"), &user).unwrap()
    }

    fn own(post: &PostHeaders) -> Vec<(&str, &str)> {
        post.own
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn initialize_carries_neither_session_nor_version() {
        let mut headers = headers();
        headers.set_revision(Some(Revision::V2025_11_25));
        headers.join_session(HeaderValue::from_static("s"));
        let post = headers.post(&message("initialize", None));
        assert!(!post.shared.contains_key(SESSION_ID) && !post.has_session);
        assert!(!post.shared.contains_key(PROTOCOL_VERSION) && post.opens_session);
        assert_eq!(post.shared["x-key"], "k");
    }

    #[test]
    fn the_handshake_era_carries_session_and_version_from_2025_06_18() {
        for revision in Revision::ALL
            .into_iter()
            .filter(|each| each.era() == Era::Handshake)
        {
            let mut headers = headers();
            headers.join_session(HeaderValue::from_static("s"));
            headers.set_revision(Some(revision));
            let post = headers.post(&message("tools/call", Some("echo")));
            assert_eq!(post.shared[SESSION_ID], "s");
            assert_eq!(headers.get()[SESSION_ID], "s");
            assert_eq!(headers.get()[ACCEPT], "text/event-stream");
            let version = post.shared.get(PROTOCOL_VERSION);
            assert_eq!(
                version.is_some(),
                revision.has_version_header(),
                "{revision}"
            );
            assert!(post.own.is_empty() && post.is_resumable);
        }
    }

    #[test]
    fn discover_speaks_the_stateless_revision_before_any_agreement() {
        let post = headers().post(&message("server/discover", None));
        assert_eq!(post.shared[PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(own(&post), [("mcp-method", "server/discover")]);
        assert!(!post.is_resumable);
    }

    #[test]
    fn the_stateless_era_names_method_and_target_and_has_no_session() {
        let mut headers = headers();
        headers.join_session(HeaderValue::from_static("s"));
        headers.set_revision(Some(Revision::V2026_07_28));
        let post = headers.post(&message("tools/call", Some("Hello, 世界")));
        let name = "=?base64?SGVsbG8sIOS4lueVjA==?=";
        assert_eq!(
            own(&post),
            [("mcp-method", "tools/call"), ("mcp-name", name)]
        );
        assert!(!post.shared.contains_key(SESSION_ID) && !post.has_session);
    }

    #[test]
    fn speaking_nothing_forgets_the_session() {
        let mut headers = headers();
        headers.join_session(HeaderValue::from_static("s"));
        headers.set_revision(None);
        assert!(!headers.has_session() && !headers.get().contains_key(SESSION_ID));
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named() {
        let user = BTreeMap::from([("X Key".to_owned(), "k".to_owned())]);
        let failure = Headers::new(&HeaderValue::from_static("h"), &user)
            .err()
            .unwrap();
        assert!(failure.message.contains("\"X Key\""), "{failure}");
    }
}
