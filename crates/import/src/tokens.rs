//! Tokens, as providers count them.

use crate::prelude::*;

/// What one reply took. Anthropic counts tokens that are written to a cache or read from it beside
/// the others; they went into the model too. `OpenAI` counts them among the others.
pub fn usage(usage: &Value) -> Option<Tokens> {
    let number = |key: &str| usage.get(key).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"]
        .into_iter()
        .filter_map(number)
        .fold(0, u64::saturating_add);
    let prompt = number("input_tokens")
        .map(|fresh| fresh.saturating_add(cached))
        .or_else(|| number("prompt_tokens"));
    let completion = number("output_tokens").or_else(|| number("completion_tokens"));
    tokens(prompt, completion, number("total_tokens"))
}

/// Tokens, unless nothing is known of them; the total is the sum where it is not told.
pub fn tokens(prompt: Option<u64>, completion: Option<u64>, total: Option<u64>) -> Option<Tokens> {
    let parts = Tokens {
        prompt,
        completion,
        total,
    };
    let known = Tokens {
        total: parts.sum(),
        ..parts
    };
    (known != Tokens::default()).then_some(known)
}

/// Two reports as one, count by count.
fn combined(
    left: Tokens,
    right: Tokens,
    of_both: fn(Option<u64>, Option<u64>) -> Option<u64>,
) -> Tokens {
    Tokens {
        prompt: of_both(left.prompt, right.prompt),
        completion: of_both(left.completion, right.completion),
        total: of_both(left.total, right.total),
    }
}

/// The larger counts of two reports about one reply: while it is streamed they only grow.
pub fn larger(left: Tokens, right: Tokens) -> Tokens {
    combined(left, right, Ord::max)
}

/// What all replies took. Where one does not tell, the whole is unknown, and a note says so.
pub fn total(replies: &[Option<Tokens>], notes: &mut Vec<String>) -> Option<Tokens> {
    let told: Vec<Tokens> = replies.iter().copied().flatten().collect();
    if !told.is_empty() && told.len() < replies.len() {
        notes.push(format!(
            "{} of {} replies do not report their tokens, so those of the run are unknown",
            replies.len() - told.len(),
            replies.len()
        ));
        return None;
    }
    // What one of them does not tell is unknown of the whole.
    let sum = |left, right| combined(left, right, |one, other| Some(one?.saturating_add(other?)));
    let whole = told.into_iter().reduce(sum)?;
    (whole != Tokens::default()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(prompt: u64, completion: u64, total: u64) -> Tokens {
        Tokens {
            prompt: Some(prompt),
            completion: Some(completion),
            total: Some(total),
        }
    }

    #[test]
    fn every_provider_is_understood() {
        for (reported, expected) in [
            (
                json!({"input_tokens": 10, "output_tokens": 5}),
                Some(of(10, 5, 15)),
            ),
            (
                json!({"input_tokens": 10, "cache_read_input_tokens": 100,
                       "cache_creation_input_tokens": 7, "output_tokens": 5}),
                Some(of(117, 5, 122)),
            ),
            (
                json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 16}),
                Some(of(10, 5, 16)),
            ),
            (
                json!({"input_tokens": u64::MAX, "output_tokens": 5}),
                Some(of(u64::MAX, 5, u64::MAX)),
            ),
            (json!({}), None),
            (json!(null), None),
            (json!({"input_tokens": -1, "output_tokens": "5"}), None),
        ] {
            assert_eq!(usage(&reported), expected, "{reported}");
        }
    }

    #[test]
    fn a_reply_that_does_not_tell_makes_the_whole_unknown() {
        let mut notes = Vec::new();
        let reply = Some(of(10, 5, 15));
        assert_eq!(total(&[], &mut notes), None);
        assert_eq!(total(&[None, None], &mut notes), None);
        assert_eq!(total(&[reply, reply], &mut notes), Some(of(20, 10, 30)));
        assert!(notes.is_empty());
        assert_eq!(total(&[reply, None, reply], &mut notes), None);
        assert_eq!(
            notes,
            ["1 of 3 replies do not report their tokens, so those of the run are unknown"]
        );
    }
}
