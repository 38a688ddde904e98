//! Bodies that their arguments alone decide, on every machine and every day.

use serde_json::{Value, json};

use crate::call::Call;
use crate::rng::SeededRng;

/// Answers the same to the same key.
pub fn fixed_response(call: Call<'_>) -> Value {
    let mut rng = SeededRng::of(call.text("key"), 0);
    let numbers = [(); 4].map(|()| format!("{:016x}", rng.next()));
    json!({ "key": call.text("key"), "body": numbers.concat() })
}

/// Answers with as many characters as it is told.
pub fn sized_response(call: Call<'_>) -> Value {
    /// The largest body. It is in the result twice, as every structured content.
    const SIZE_MAX: u64 = 8 * 1024 * 1024;
    let size = call.count("size", SIZE_MAX);
    let characters = "0123456789abcdef".chars().cycle();
    let body: String = characters
        .take(usize::try_from(size).unwrap_or_default())
        .collect();
    json!({ "size": size, "body": body })
}

/// Text that means nothing and is always the same for the same seed.
pub fn lorem(call: Call<'_>) -> Value {
    let words = call.count("words", 100_000);
    json!({ "words": words, "text": words_of(call.text("seed"), words) })
}

const WORDS: &str = include_str!("lorem.txt");

/// So many words, in sentences of eight.
pub fn words_of(seed: &str, count: u64) -> String {
    let mut rng = SeededRng::of(seed, 0);
    let words: Vec<&str> = WORDS.split_ascii_whitespace().collect();
    let mut text = String::new();
    for number in 0..count {
        let word = words.get(rng.pick(words.len())).copied();
        let (head, rest) = word
            .and_then(|word| word.split_at_checked(1))
            .unwrap_or_default();
        if number.is_multiple_of(8) {
            text.push_str(if number > 0 { ". " } else { "" });
            text.push_str(&head.to_ascii_uppercase());
        } else {
            text.push(' ');
            text.push_str(head);
        }
        text.push_str(rest);
    }
    if count > 0 {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_whole() {
        let text = words_of("any", 1_000);
        let words: Vec<String> = text
            .split(' ')
            .map(|word| word.trim_end_matches('.').to_ascii_lowercase())
            .collect();
        assert_eq!(words.len(), 1_000);
        for word in &words {
            assert!(
                WORDS.split_whitespace().any(|known| known == word),
                "{word:?} in {text}"
            );
        }
        let sentences = text.split(". ").count();
        assert_eq!(sentences, 125);
        let is_upper = |sentence: &str| {
            sentence
                .text()
                .starts_with(|letter: char| letter.is_ascii_uppercase())
        };
        assert!(text.split(". ").all(is_upper), "{text}");
    }
}
