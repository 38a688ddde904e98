//! The headers of a request, as they may be written down.

use mcprove_settings::secret::{REDACTED, is_secret_name, redact_value};

use crate::prelude::*;

/// Words in the names of headers whose values are secrets, beside those that are secrets
/// everywhere.
const SECRET_WORDS: &[&str] = &["auth", "signature", "otp", "assertion"];

/// The headers as a JSON object, their names in lower case: the values of
/// `Authorization`, `Cookie`, `X-Api-Key` and all others whose name or value shows a secret are
/// hidden. A header that comes several times has its values joined by a comma.
///
/// ```
/// use mcprove_lab::audit::redact_headers;
///
/// let headers = [("Accept", "text/html"), ("X-Api-Key", "abc"), ("Authorization", "Bearer abc")];
/// assert_eq!(
///     redact_headers(headers),
///     r#"{"accept":"text/html","authorization":"<redacted>","x-api-key":"<redacted>"}"#,
/// );
/// ```
pub fn redact_headers<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut shown = Map::new();
    for (given, value) in headers {
        let name = given.to_ascii_lowercase();
        let value = redact_header(given, value);
        match shown.get_mut(&name) {
            Some(Value::String(joined)) => {
                joined.push_str(", ");
                joined.push_str(&value);
            }
            _ => {
                shown.insert(name, Value::String(value));
            }
        }
    }
    Value::Object(shown).to_string()
}

/// The names and values of headers that are texts.
pub fn header_texts(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// The value of one header, unless it is a secret.
pub fn redact_header(name: &str, value: &str) -> String {
    let lower = name.to_ascii_lowercase();
    // What the opening handshake of a WebSocket calls a key is no secret.
    if lower == "sec-websocket-key" {
        return value.to_owned();
    }
    let mut words = lower.split(['-', '_']);
    if is_secret_name(name) || words.any(|word| SECRET_WORDS.contains(&word)) {
        REDACTED.to_owned()
    } else {
        redact_value(&lower, value)
    }
}

/// Takes secrets out of all that a row quotes, before it is cut.
pub fn redact_row(row: &mut AuditRow, redactor: &Redactor) {
    for json in [&mut row.parameters, &mut row.response, &mut row.headers] {
        if let Some(Cow::Owned(redacted)) = json.as_deref().map(|json| redactor.json(json)) {
            *json = Some(redacted);
        }
    }
    for text in [&mut row.error_message, &mut row.user_agent, &mut row.source] {
        if let Some(Cow::Owned(redacted)) = text.as_deref().map(|text| redactor.plain(text)) {
            *text = Some(redacted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_by_name() {
        for name in [
            "Authorization",
            "PROXY-AUTHORIZATION",
            "Cookie",
            "Set-Cookie",
            "X-Api-Key",
            "x-apikey",
            "api_key",
            "X-Auth",
            "X-Amz-Security-Token",
            "X-Hub-Signature-256",
            "X-Client-Secret",
            "X-Password",
            "Private-Credential",
            "X-Db-Pass",
            "X-Pwd",
            "X-User-Jwt",
            "X-Csrf",
            "X-Session-Id",
        ] {
            assert_eq!(redact_header(name, "abc 123"), REDACTED, "{name}");
        }
    }

    #[test]
    fn secrets_are_hidden_by_value() {
        assert_eq!(redact_header("x-custom", "ghp_0123456789abcdef"), REDACTED);
        assert_eq!(redact_header("x-vault", "hvs.CAESIJ0123"), REDACTED);
        let referer = redact_header("referer", "https://host/page?token=abc&page=2");
        assert!(!referer.contains("abc"), "{referer}");
        assert!(referer.contains("page=2"), "{referer}");
        let custom = redact_header("x-custom", "Bearer abc123");
        assert!(!custom.contains("abc123"), "{custom}");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for (name, value) in [
            ("content-type", "application/json"),
            ("mcp-session-id", "0198-abcd"),
            ("mcp-protocol-version", "2026-07-28"),
            ("user-agent", "curl/8.1 (linux)"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("accept", "application/json, text/event-stream"),
        ] {
            assert_eq!(redact_header(name, value), value);
        }
    }

    #[test]
    fn headers_that_come_again_are_joined() {
        let headers = [("Accept", "a"), ("cookie", "x=1"), ("ACCEPT", "b")];
        assert_eq!(
            redact_headers(headers),
            r#"{"accept":"a, b","cookie":"<redacted>"}"#
        );
        assert_eq!(redact_headers([]), "{}");
    }
}
