//! Under which names a server over the network may be addressed. A page in a browser can have its own name lead to
//! this machine, and then reach servers that trust everybody here: its requests tell by `Host` and `Origin`.

use std::net::IpAddr;

use hyper::header::{HOST, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Uri, Version};
use mcprove_settings::message::assignment;

use crate::prelude::*;

/// How much is shown of a name that is refused.
const NAME_CHARACTERS_SHOWN: usize = 100;

/// A name that a server over the network answers to, besides loopback names and the address that it is reached at.
/// The port does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicHost(String);

impl FromStr for PublicHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.parse::<IpAddr>().map(|address| address.to_string());
        let name = bare.ok().or_else(|| {
            let has_port = text.parse::<Authority>().ok()?.port().is_some();
            host_of(text).filter(|_| !has_port)
        });
        let is_name = |name: &String| !name.contains('*');
        name.filter(is_name).map(Self).ok_or_else(|| {
            format!("{text:?} is not a host name; write it without scheme, port and path, such as lab.example")
        })
    }
}

/// The status and text with which a request is refused.
pub type Refused = (StatusCode, String);

/// Refuses a request that names a foreign host, or comes from a page of one. `local` is the address at which it
/// arrived. An error says why, and what would accept it.
pub fn check(
    (uri, version, headers): (&Uri, Version, &HeaderMap),
    local: SocketAddr,
    public: &[PublicHost],
) -> Result<(), Refused> {
    if version >= Version::HTTP_11 && !headers.contains_key(HOST) {
        let text = "Host is missing; HTTP/1.1 requires it\n".to_owned();
        return Err((StatusCode::BAD_REQUEST, text));
    }
    // It takes the place of `Host` where there is one.
    let target = uri.authority().map(|authority| {
        let authority = authority.as_str();
        ("request target", authority, host_of(authority))
    });
    let named = |header, name, host: fn(&str) -> Option<String>| {
        headers
            .get_all(name)
            .iter()
            .map(move |value: &HeaderValue| {
                let value = value.to_str().unwrap_or_default();
                (header, value, host(value))
            })
    };
    let hosts = named("Host", HOST, host_of);
    let origins = named("Origin", ORIGIN, host_of_origin);
    for (header, value, name) in target.into_iter().chain(hosts).chain(origins) {
        let is_known = name.as_deref().is_some_and(|name| {
            is_own(name, local) || public.iter().any(|PublicHost(public)| public == name)
        });
        if !is_known {
            let value = shorten(value, NAME_CHARACTERS_SHOWN);
            let name = name.map_or_else(
                || "NAME".to_owned(),
                |name| shorten(&name, NAME_CHARACTERS_SHOWN),
            );
            let what = format!(
                "foreign {header} {value:?}: this server answers to loopback names and its own address; start it with "
            );
            let text = sentence!("{what}{} to accept more\n", assignment("public_host", name));
            return Err((StatusCode::FORBIDDEN, text.rendered()));
        }
    }
    Ok(())
}

/// The host of what `Host` says, or of an authority: in small letters, without brackets.
fn host_of(authority: &str) -> Option<String> {
    let authority = authority.parse::<Authority>().ok()?;
    let host = authority.host();
    let host = host
        .strip_prefix('[')
        .map_or(host, |host| host.trim_end_matches(']'));
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_plain = !host.is_empty() && !authority.as_str().contains('@');
    is_plain.then(|| host.to_ascii_lowercase())
}

/// The same of what `Origin` says: an address without a path.
fn host_of_origin(origin: &str) -> Option<String> {
    let origin = origin.parse::<Uri>().ok()?;
    origin.scheme()?;
    host_of(origin.authority()?.as_str())
}

fn is_own(name: &str, local: SocketAddr) -> bool {
    name == "localhost"
        || name.parse::<IpAddr>().is_ok_and(|address| {
            let address = address.to_canonical();
            address.is_loopback() || address == local.ip().to_canonical()
        })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn refused(name: hyper::header::HeaderName, value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        let public = ["Lab.Example", "fd00::7"].map(|name| name.parse().unwrap());
        headers
            .entry(HOST)
            .or_insert(HeaderValue::from_static("localhost"));
        refusal("/mcp", Version::HTTP_11, &headers, &public).map(|(_, why)| why)
    }

    fn refusal(
        uri: &str,
        version: Version,
        headers: &HeaderMap,
        public: &[PublicHost],
    ) -> Option<Refused> {
        let local = "192.0.2.1:80".parse().unwrap();
        check((&uri.parse().unwrap(), version, headers), local, public).err()
    }

    #[test]
    fn the_target_of_a_request_is_judged_and_a_host_required() {
        let mut headers = HeaderMap::new();
        let ask = |uri, version, headers: &HeaderMap| {
            refusal(uri, version, headers, &[]).map(|(status, _)| status.as_u16())
        };
        assert_eq!(ask("/mcp", Version::HTTP_10, &headers), None);
        assert_eq!(ask("/mcp", Version::HTTP_11, &headers), Some(400));
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        assert_eq!(ask("/mcp", Version::HTTP_11, &headers), None);
        assert_eq!(
            ask("http://localhost:1/mcp", Version::HTTP_11, &headers),
            None
        );
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert_eq!(ask("http://evil.example/mcp", version, &headers), Some(403));
        }
    }

    #[test]
    fn own_names_and_public_ones_are_accepted_with_any_port() {
        for host in [
            "localhost",
            "LocalHost:8080",
            "localhost.",
            "127.0.0.1:1",
            "127.8.9.10",
            "[::1]:5",
            "[::ffff:127.0.0.1]",
            "192.0.2.1",
            "192.0.2.1:8080",
            "[::ffff:192.0.2.1]",
            "lab.example:443",
            "LAB.example.",
            "[fd00::7]:80",
        ] {
            assert_eq!(refused(HOST, host), None, "{host}");
            assert_eq!(refused(ORIGIN, &format!("http://{host}")), None, "{host}");
        }
    }

    #[test]
    fn foreign_names_are_refused_with_what_would_accept_them() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.2",
            "0.0.0.0",
            "localhost@evil.example",
            "user@localhost",
            "",
            "a b",
            "[::2]",
            "*",
            "127.1",
        ] {
            let why = refused(HOST, host).unwrap_or_else(|| panic!("{host} is accepted"));
            assert!(why.contains("public_host"), "{why}");
        }
        let why = refused(HOST, "Evil.example:80").unwrap();
        assert!(why.contains("foreign Host \"Evil.example:80\""), "{why}");
        assert!(why.contains("`public_host = evil.example` "), "{why}");
        for origin in [
            "null",
            "http://evil.example",
            "localhost",
            "file://",
            "http://localhost@evil.example",
        ] {
            assert!(refused(ORIGIN, origin).is_some(), "{origin}");
        }
    }

    #[test]
    fn public_names_are_names_alone() {
        for text in [
            "",
            "http://lab.example",
            "lab.example:80",
            "lab.example/mcp",
            "a b",
            "*",
            "*.example",
            "[::1]:80",
        ] {
            assert!(text.parse::<PublicHost>().is_err(), "{text}");
        }
        for text in ["lab.example", "LAB", "10.0.0.1", "fd00::7", "[fd00::7]"] {
            assert!(text.parse::<PublicHost>().is_ok(), "{text}");
        }
    }
}
