//! Bodies that their arguments alone decide, on every machine and every day: with numbers that look random and are
//! decided by a seed (PCG with the DXSM output, of 128 bits of state).

use mcprove_settings::hash::fnv_1a;

use crate::prelude::*;

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
    let body: String = "0123456789abcdef"
        .chars()
        .cycle()
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

/// The multiplier of the generator.
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
/// What is added at each step.
const INCREMENT: u128 = 0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f;
/// The multiplier of the output.
const MIX: u64 = 0xda94_2042_e4dd_58b5;

/// How many bits a roll has: as many as a double holds.
const ROLL_BITS: u32 = 53;

/// A generator at the beginning of its numbers.
#[derive(Debug, Clone)]
pub struct SeededRng {
    state: u128,
}

impl SeededRng {
    /// The generator of a seed and a number.
    pub fn of(seed: &str, number: i64) -> Self {
        let text = format!("{seed}|{number}");
        let high = fnv_1a(text.bytes());
        let low = fnv_1a("salt|".bytes().chain(text.bytes()));
        Self {
            state: (u128::from(high) << 64) | u128::from(low),
        }
    }

    /// The next 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let (mut high, low) = ((self.state >> 64) as u64, self.state as u64);
        high ^= high >> 32;
        high = high.wrapping_mul(MIX);
        high ^= high >> 48;
        high.wrapping_mul(low | 1)
    }

    /// A number from 0 up to 1, without 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are what a double holds"
    )]
    pub fn value(mut self) -> f64 {
        let scale = 1_u64 << ROLL_BITS;
        (self.next() & (scale - 1)) as f64 / scale as f64
    }

    /// One of the first `count` numbers.
    #[expect(clippy::cast_possible_truncation, reason = "less than `count`")]
    pub fn pick(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
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
        let is_upper =
            |sentence: &str| sentence.starts_with(|letter: char| letter.is_ascii_uppercase());
        assert!(text.split(". ").all(is_upper), "{text}");
    }
}
