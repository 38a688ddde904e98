//! The text by which replies are compared.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::prelude::*;

/// How much of an answer is kept; of a longer one the rest is told apart by a hash.
pub const KEPT_CHARACTERS_MAX: usize = 64 * 1024;

/// A result in the one form in which equal results are equal, without the metadata of the
/// transport, which may differ from call to call.
pub fn canonical_reply(reply: &Reply) -> Option<String> {
    let mut result: Value = reply.parse().ok()?;
    if let Some(members) = result.as_object_mut() {
        members.remove("_meta");
    }
    let text = mcprove_trace::canonical::canonical(&result.to_string()).ok()?;
    let Some((end, _)) = text.char_indices().nth(KEPT_CHARACTERS_MAX) else {
        return Some(text);
    };
    let kept = text.get(..end)?;
    Some(format!("{kept}… (hash {:016x})", hash(&text)))
}

/// Tells such texts apart where they are too many to be kept.
pub fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn reply(result: &str) -> Reply {
        Reply {
            frame: Bytes::copy_from_slice(result.as_bytes()),
            result: 0..result.len(),
            request_id: 1,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn metadata_and_the_order_of_keys_do_not_matter() {
        let one = reply(r#"{"content":[],"_meta":{"at":1},"x":{"b":1,"a":2}}"#);
        let other = reply(r#"{"x":{"a":2.0,"b":1},"_meta":{"at":2},"content":[]}"#);
        assert_eq!(
            canonical_reply(&one).unwrap(),
            canonical_reply(&other).unwrap()
        );
        let inner = reply(r#"{"content":[{"_meta":{"at":1}}],"x":{"b":1,"a":2}}"#);
        assert_ne!(
            canonical_reply(&one).unwrap(),
            canonical_reply(&inner).unwrap()
        );
        assert_eq!(canonical_reply(&reply(&"[".repeat(1000))), None);
    }

    #[test]
    fn long_answers_are_told_apart_by_their_ends() {
        let long = |end: char| {
            let text = "x".repeat(2 * KEPT_CHARACTERS_MAX);
            canonical_reply(&reply(&format!("\"{text}{end}\""))).unwrap()
        };
        assert_eq!(long('a'), long('a'));
        assert_ne!(long('a'), long('b'));
        assert!(long('a').len() < 2 * KEPT_CHARACTERS_MAX);
    }
}
