//! Which headers go on, and which are between two neighbours only.

use http::HeaderMap;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, TE, TRANSFER_ENCODING, UPGRADE,
};

/// What a body claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    Json,
    Events,
    Other,
}

/// The headers that RFC 9110 keeps between neighbours, and `Keep-Alive` and `Proxy-Connection`, which
/// older peers use so.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Takes away what is between neighbours, and what `Connection` says is.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// What a body claims to be; one that is compressed is nothing that can be read.
pub fn body_kind(headers: &HeaderMap) -> BodyKind {
    let is_plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let value = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], |value| value.as_bytes());
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let essence = value.get(..end).unwrap_or_default().trim_ascii();
    if !is_plain {
        BodyKind::Other
    } else if essence.eq_ignore_ascii_case(b"application/json") {
        BodyKind::Json
    } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
        BodyKind::Events
    } else {
        BodyKind::Other
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_what_is_between_neighbours_is_taken_away() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
            ("authorization", "Bearer t"),
        ] {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        remove_hop_by_hop(&mut headers);
        let left: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["set-cookie", "set-cookie", "authorization"]);
    }

    #[test]
    fn bodies_are_what_they_say() {
        for (kind, content_type, encoding) in [
            (BodyKind::Json, "application/json; charset=utf-8", ""),
            (BodyKind::Events, "Text/Event-Stream", "identity"),
            (BodyKind::Other, "application/json", "gzip"),
            (BodyKind::Other, "text/plain", ""),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
            if !encoding.is_empty() {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
            }
            assert_eq!(body_kind(&headers), kind, "{content_type} {encoding}");
        }
    }
}
