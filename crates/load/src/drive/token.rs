//! Tokens: a text in each call by which its reply is known again.
//!
//! All tokens of a run begin alike, so that a token in the wrong reply is known for what it is; the
//! rest is the number of the call, always as long, so that it can be written in place.

use crate::prelude::*;
use memchr::memmem::{self, Finder};

/// How many digits the number of a call has.
const DIGITS: usize = 12;

/// The tokens of one run.
#[derive(Debug, Clone)]
pub struct Tokens {
    prefix: String,
    /// Looks for the prefix; made once, for each reply is searched.
    finder: Finder<'static>,
}

/// What a reply says of the call it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// It holds its own token.
    Own,
    /// It holds the token of this other call, and not its own.
    Other(u64),
    /// It holds no token.
    Unknown,
}

impl Tokens {
    /// The tokens of the run with this seed.
    pub fn new(seed: u64) -> Self {
        // Short, for tools may limit their texts, and unlikely to be met by chance.
        let mark = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let prefix = format!("mcp{mark:06x}-");
        Self {
            finder: Finder::new(&prefix).into_owned(),
            prefix,
        }
    }

    /// The token of a call.
    pub fn token(&self, number: u64) -> String {
        format!("{}{:0DIGITS$}", self.prefix, number)
    }

    /// Where in `text` the digits of `token` are.
    pub fn places(&self, text: &str, token: &str) -> Vec<Range<usize>> {
        memmem::find_iter(text.as_bytes(), token)
            .map(|at| at + self.prefix.len()..at + token.len())
            .collect()
    }

    /// Writes the number of a call into the places of a text made with another token.
    pub fn write(text: &mut String, places: &[Range<usize>], number: u64) {
        let digits = Digits::new(number);
        for place in places {
            if text
                .get(place.clone())
                .is_some_and(|old| old.len() == DIGITS)
            {
                text.replace_range(place.clone(), digits.text());
            }
        }
    }

    /// Whose reply this is, by the tokens in it.
    pub fn identify(&self, reply: &[u8], number: u64) -> Identity {
        let digits = Digits::new(number);
        let mut other = None;
        for at in self.finder.find_iter(reply) {
            let begin = at + self.prefix.len();
            match reply.get(begin..begin + DIGITS) {
                Some(found) if found == digits.0 => return Identity::Own,
                Some(found) => other = other.or_else(|| parse(found)),
                None => {}
            }
        }
        other.map_or(Identity::Unknown, Identity::Other)
    }

    /// Whether a reply holds the token of another call, whatever else it holds.
    pub fn holds_other(&self, reply: &[u8], number: u64) -> bool {
        let own = Digits::new(number);
        self.finder.find_iter(reply).any(|at| {
            let begin = at + self.prefix.len();
            let digits = reply.get(begin..begin + DIGITS);
            digits.is_some_and(|digits| *digits != own.0 && parse(digits).is_some())
        })
    }
}

fn parse(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The number of a call, with leading zeros.
struct Digits([u8; DIGITS]);

impl Digits {
    fn new(mut number: u64) -> Self {
        let mut digits = [b'0'; DIGITS];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        Self(digits)
    }

    fn text(&self) -> &str {
        // Digits are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_in_place_and_found_again() {
        let tokens = Tokens::new(7);
        let template = tokens.token(0);
        let mut text = format!(r#"{{"a":"{template}","b":"x {template}"}}"#);
        let places = tokens.places(&text, &template);
        assert_eq!(places.len(), 2);
        Tokens::write(&mut text, &places, 1234);
        assert_eq!(text.matches(&tokens.token(1234)).count(), 2);
        assert_eq!(tokens.identify(text.as_bytes(), 1234), Identity::Own);
        assert_eq!(
            tokens.identify(text.as_bytes(), 1235),
            Identity::Other(1234)
        );
        assert_eq!(tokens.identify(b"nothing", 1), Identity::Unknown);
        assert!(tokens.holds_other(text.as_bytes(), 1235) && !tokens.holds_other(b"nothing", 1));
        assert!(!tokens.holds_other(text.as_bytes(), 1234));
        text.push_str(&tokens.token(7));
        assert_eq!(tokens.identify(text.as_bytes(), 1234), Identity::Own);
        assert!(tokens.holds_other(text.as_bytes(), 1234));
    }

    #[test]
    fn cut_and_foreign_tokens_are_no_evidence() {
        let tokens = Tokens::new(7);
        let cut = &tokens.token(5)[..10];
        assert_eq!(tokens.identify(cut.as_bytes(), 5), Identity::Unknown);
        let foreign = Tokens::new(8).token(5);
        assert_eq!(tokens.identify(foreign.as_bytes(), 5), Identity::Unknown);
        let not_ascii = format!("{}ééééééééééé", tokens.prefix);
        assert_eq!(tokens.identify(not_ascii.as_bytes(), 5), Identity::Unknown);
    }
}
