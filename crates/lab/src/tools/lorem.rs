//! Text that means nothing and is always the same for the same seed.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};
use crate::roll::Roll;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "lorem",
    group: "data",
    explanation: "Answers with words that mean nothing, the same for the same seed.",
    input: || {
        let properties = json!({
            "words": { "type": "integer", "minimum": 0, "description": "How many; more than 100000 is 100000", "default": WORDS_DEFAULT },
            "seed": { "type": "string", "description": "Decides which", "default": "" },
        });
        object(&properties, &[])
    },
    output: Some(|| {
        whole(&json!({ "words": { "type": "integer" }, "text": { "type": "string" } }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

const WORDS_DEFAULT: u64 = 50;
const WORDS_MAX: u64 = 100_000;
const SENTENCE_WORDS: u64 = 8;

const WORDS: &[&str] = &[
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
    "incididunt",
    "ut",
    "labore",
    "et",
    "dolore",
    "magna",
    "aliqua",
    "enim",
    "minim",
    "veniam",
    "quis",
    "nostrud",
    "exercitation",
    "ullamco",
    "laboris",
    "nisi",
    "aliquip",
    "ex",
    "ea",
    "commodo",
    "consequat",
    "duis",
    "aute",
    "irure",
];

fn answer(call: Call<'_>) -> Reply {
    let words = call.capped("words", WORDS_DEFAULT, WORDS_MAX);
    let text = lorem(call.text_or("seed", ""), words);
    Reply::Structured(json!({ "words": words, "text": text }))
}

/// So many words, in sentences.
pub fn lorem(seed: &str, words: u64) -> String {
    let mut roll = Roll::of(seed, 0);
    let mut text = String::new();
    for number in 0..words {
        let word = WORDS
            .get(roll.pick(WORDS.len()))
            .copied()
            .unwrap_or_default();
        let is_first = number.is_multiple_of(SENTENCE_WORDS);
        if number > 0 {
            text.push_str(if is_first { ". " } else { " " });
        }
        let (head, rest) = word.split_at_checked(1).unwrap_or_default();
        if is_first {
            text.push_str(&head.to_ascii_uppercase());
        } else {
            text.push_str(head);
        }
        text.push_str(rest);
    }
    if words > 0 {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_whole() {
        let text = lorem("any", 1_000);
        let words: Vec<String> = text
            .split(' ')
            .map(|word| word.trim_end_matches('.').to_ascii_lowercase())
            .collect();
        assert_eq!(words.len(), 1_000);
        for word in &words {
            assert!(WORDS.contains(&word.as_str()), "{word:?} in {text}");
        }
        let sentences = text.split(". ").count();
        assert_eq!(sentences, 125);
        let is_upper =
            |sentence: &str| sentence.starts_with(|letter: char| letter.is_ascii_uppercase());
        assert!(text.split(". ").all(is_upper), "{text}");
    }
}
