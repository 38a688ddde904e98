//! What can be read of bytes that are no single message: whose reply a broken one is, and the messages that other
//! output surrounds. Nothing here is on the way of what can be read.

use std::ops::Range;

use super::{Envelope, Message};

/// How often a place that looks like the beginning of a message may turn out to be none. Each may cost a look at all
/// that follows.
const FALSE_STARTS_MAX: usize = 16;
/// How many messages are looked for in one frame.
const FOUND_MAX: usize = 10_000;
/// The keys that a message may begin with.
const FIRST_KEYS: [&[u8]; 6] = [
    b"\"jsonrpc\"",
    b"\"id\"",
    b"\"result\"",
    b"\"error\"",
    b"\"method\"",
    b"\"params\"",
];

/// What the top level of a broken message shows, as far as it can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The id, where it is a number that we could have sent.
    pub id: Option<u64>,
    /// Whether it has a method: then it is no reply, whatever its id.
    pub has_method: bool,
    /// Whether it has a result or an error.
    pub has_outcome: bool,
}

/// Reads the keys at the top level of bytes that begin like an object and are no valid JSON, so that a broken reply can
/// still be attributed to its request. An id further inside belongs to something else.
///
/// ```
/// use mcprove_trace::protocol::outline;
///
/// assert_eq!(outline(br#"{"jsonrpc":"2.0","id":7,"result":{"cont"#).id, Some(7));
/// assert_eq!(outline(br#"{"result":{"id":7},"#).id, None);
/// ```
pub fn outline(bytes: &[u8]) -> Fragment {
    let mut fragment = Fragment::default();
    let mut depth = 0_usize;
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        place += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = place;
                place = end_of_text(bytes, start);
                let key = bytes.get(start..place.saturating_sub(1));
                let rest = bytes.get(place..).unwrap_or_default().trim_ascii_start();
                if depth == 1
                    && let (Some(key), Some(value)) = (key, rest.strip_prefix(b":"))
                {
                    fragment.note(key, value.trim_ascii_start());
                }
            }
            _ => {}
        }
    }
    fragment
}

/// The place behind the closing quote of a text that begins at `start`.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let mut place = start;
    while let Some(found) = bytes
        .get(place..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        place += found;
        if bytes.get(place) == Some(&b'"') {
            return place + 1;
        }
        place += 2;
    }
    bytes.len()
}

impl Fragment {
    fn note(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"id" if self.id.is_none() => {
                let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
                let digits = value.get(..digits.count()).unwrap_or_default();
                self.id = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| digits.parse().ok());
            }
            b"method" => self.has_method = true,
            b"result" | b"error" => self.has_outcome = true,
            _ => {}
        }
    }
}

/// Where whole messages lie in bytes that are no single one: behind a log line that did not end, before one, or several
/// on one line. An object inside of another is none of them, be the outer one broken or not.
///
/// ```
/// use mcprove_trace::protocol::find_messages;
///
/// let frame = br#"INFO starting {"jsonrpc":"2.0","id":1,"result":{}}"#;
/// assert_eq!(find_messages(frame), [14..50]);
/// ```
pub fn find_messages(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut false_starts = 0;
    let mut place = 0;
    let begins_like_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'}'));
    while false_starts < FALSE_STARTS_MAX && found.len() < FOUND_MAX {
        let rest = bytes.get(place..).unwrap_or_default();
        let Some(start) = memchr::memchr(b'{', rest).map(|offset| place + offset) else {
            break;
        };
        place = start + 1;
        let rest = bytes.get(start..).unwrap_or_default();
        let first_key = rest.get(1..).unwrap_or_default().trim_ascii_start();
        if !FIRST_KEYS.iter().any(|key| first_key.starts_with(key)) {
            continue;
        }
        let before = bytes.get(..start).unwrap_or_default().trim_ascii_end();
        // The frame is broken JSON rather than a line for people, so that this may be a part of it.
        let is_part = matches!(before.last(), Some(b':' | b',' | b'[' | b'{'));
        if is_part && begins_like_json && found.is_empty() {
            continue;
        }
        match message_length(rest) {
            Some(length) => {
                place = start + length;
                found.push(start..place);
            }
            None => false_starts += 1,
        }
    }
    found
}

/// How long the message is that the bytes begin with, if they do.
fn message_length(bytes: &[u8]) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Envelope<'_>>();
    let envelope = values.next()?.ok()?;
    let is_message = !matches!(envelope.classify(), Message::Invalid { .. });
    is_message.then(|| values.byte_offset())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_an_id_at_the_top_level_is_the_id_of_a_broken_message() {
        let cases: [(&[u8], Option<u64>); 8] = [
            (br#"{"jsonrpc":"2.0","id": 12,"result":{"a"#, Some(12)),
            (br#"{"result":{"id":3,"x":[{"id":4}]},"id":5,"#, Some(5)),
            (br#"{"result":{"id":3,"x":"}\"id\":9"#, None),
            (br#"{"result":"a \" quote","id":8,,}"#, Some(8)),
            (br#"{"id":"x"}"#, None),
            (br#"{"id":-1"#, None),
            (br#"{"id":99999999999999999999,"#, None),
            (b"no id here", None),
        ];
        for (bytes, expected) in cases {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(outline(bytes).id, expected, "{shown}");
        }
    }

    #[test]
    fn what_a_broken_message_is_shows_at_its_top_level() {
        let request = outline(br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"result":"#);
        assert!(request.has_method && !request.has_outcome);
        let reply = outline(br#"{"result":{"method":"x","#);
        assert!(reply.has_outcome && !reply.has_method);
    }

    fn found(text: &str) -> Vec<&str> {
        let places = find_messages(text.as_bytes());
        places.into_iter().map(|place| &text[place]).collect()
    }

    const REPLY: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"x":{"y":[1]}}}"#;
    const OTHER: &str = r#"{"id":2,"error":{"code":1,"message":"{"},"jsonrpc":"2.0"}"#;

    #[test]
    fn messages_are_found_behind_before_and_between_other_output() {
        let cases = [
            (format!("INFO starting {REPLY}"), vec![REPLY]),
            (format!("[a] {{b}} {{\"c\": {REPLY} done"), vec![REPLY]),
            (format!("{REPLY}{OTHER}"), vec![REPLY, OTHER]),
            (format!("{REPLY} noise {OTHER} noise"), vec![REPLY, OTHER]),
            (format!("{}{OTHER}", &REPLY[..30]), vec![OTHER]),
            ("INFO {} {\"id\":1}".to_owned(), vec![]),
            (format!("log: {REPLY}"), vec![REPLY]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_message_inside_of_a_broken_one_is_none() {
        let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"said":{REPLY}}},"#);
        assert!(found(&nested).is_empty());
        assert!(found(&format!("}}{{{REPLY}")).is_empty());
        let quoted = format!("INFO {REPLY:?}");
        assert!(found(&quoted).is_empty());
    }

    #[test]
    fn the_search_is_bounded() {
        let false_starts = "{\"id\":1 ".repeat(FALSE_STARTS_MAX);
        assert!(found(&format!("x {false_starts}{REPLY}")).is_empty());
        let many = REPLY.repeat(FOUND_MAX + 5);
        assert_eq!(find_messages(many.as_bytes()).len(), FOUND_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = outline(&bytes);
            prop_assert!(find_messages(&bytes).iter().all(|place| place.end <= bytes.len()));
        }

        #[test]
        fn almost_json_is_survived(text in "[\\[\\]{}\",:a-z0-9\\\\ ]{0,80}") {
            let _ = outline(text.as_bytes());
            let _ = find_messages(text.as_bytes());
        }
    }
}
