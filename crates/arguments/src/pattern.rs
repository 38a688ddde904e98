//! Texts that match a `pattern`.
//!
//! The pattern is parsed and the shortest match is read off the tree. Lookaround is not followed:
//! it is cut out first, and the check afterwards says whether the text still matches.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::prelude::*;

/// Nesting of a pattern.
const NESTING_MAX: u32 = 64;
const PATTERN_LENGTH_MAX: usize = 4_096;
/// Parts of a pattern, repetitions counted, that one text is written from.
const PARTS_MAX: usize = 4 * TEXT_CHARACTERS_MAX;
/// Characters that are preferred where a class allows them.
const PLAIN: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_. ";

/// A parsed pattern.
pub struct Pattern {
    tree: Hir,
}

/// One text in the making.
struct Writing {
    text: String,
    /// Which of the equally short texts to write, as digits.
    digits: usize,
    /// Characters still to be added where a repetition allows more.
    missing: usize,
    /// Parts of the pattern written so far.
    parts: usize,
}

/// The text became longer than any text may be, or took too long to write.
struct TooLong;

impl Pattern {
    pub fn parse(pattern: &str) -> Option<Self> {
        if pattern.len() > PATTERN_LENGTH_MAX {
            return None;
        }
        parse(pattern)
            .or_else(|| parse(&cut_lookaround(pattern)))
            .map(|tree| Self { tree })
    }

    /// Writes a matching text of at least so many characters, as far as repetitions allow.
    pub fn write(&self, variant: usize, length_min: usize) -> Option<String> {
        let shortest = self.write_with(variant, 0)?;
        let missing = length_min.saturating_sub(shortest.chars().count());
        if missing == 0 {
            return Some(shortest);
        }
        self.write_with(variant, missing)
    }

    fn write_with(&self, variant: usize, missing: usize) -> Option<String> {
        let mut writing = Writing {
            text: String::new(),
            digits: variant,
            missing,
            parts: 0,
        };
        writing.add(&self.tree).ok()?;
        Some(writing.text)
    }
}

/// Parses with a parser of its own: one that has failed is of no further use.
fn parse(pattern: &str) -> Option<Hir> {
    let mut parser = ParserBuilder::new().nest_limit(NESTING_MAX).build();
    parser.parse(pattern).ok()
}

impl Writing {
    fn add(&mut self, tree: &Hir) -> Result<(), TooLong> {
        self.parts += 1;
        if self.text.len() > TEXT_CHARACTERS_MAX || self.parts > PARTS_MAX {
            return Err(TooLong);
        }
        match tree.kind() {
            HirKind::Empty | HirKind::Look(_) => Ok(()),
            HirKind::Literal(literal) => {
                self.text.push_str(&String::from_utf8_lossy(&literal.0));
                Ok(())
            }
            HirKind::Class(class) => {
                self.add_one_of(class);
                Ok(())
            }
            HirKind::Repetition(repetition) => self.add_repetition(repetition),
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.add(part)),
            HirKind::Alternation(branches) => {
                let digit = self.take_digit(branches.len());
                branches
                    .get(digit)
                    .map_or(Ok(()), |branch| self.add(branch))
            }
        }
    }

    fn add_repetition(&mut self, repetition: &Repetition) -> Result<(), TooLong> {
        for _ in 0..repetition.min {
            let before = self.text.len();
            self.add(&repetition.sub)?;
            if self.text.len() == before {
                // Repeating nothing stays nothing, however often.
                break;
            }
        }
        let room = repetition.max.unwrap_or(u32::MAX) - repetition.min;
        for _ in 0..room {
            if self.missing == 0 {
                break;
            }
            let before = self.text.len();
            let missing = std::mem::take(&mut self.missing);
            self.add(&repetition.sub)?;
            let added = self
                .text
                .get(before..)
                .map_or(0, |text| text.chars().count());
            self.missing = missing.saturating_sub(added);
            if added == 0 {
                break;
            }
        }
        Ok(())
    }

    fn add_one_of(&mut self, class: &Class) {
        let ranges: Vec<(char, char)> = match class {
            Class::Unicode(class) => class
                .iter()
                .map(|range| (range.start(), range.end()))
                .collect(),
            Class::Bytes(class) => class
                .iter()
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect(),
        };
        let within = |character: &char| {
            ranges
                .iter()
                .any(|(start, end)| (start..=end).contains(&character))
        };
        let plain: Vec<char> = PLAIN.chars().filter(within).collect();
        let digit = self.take_digit(plain.len().max(1));
        let first = ranges.first().map(|(start, _)| *start);
        self.text.extend(plain.get(digit).copied().or(first));
    }

    fn take_digit(&mut self, base: usize) -> usize {
        let digit = self.digits % base.max(1);
        self.digits /= base.max(1);
        digit
    }
}

/// Removes `(?=…)`, `(?!…)`, `(?<=…)` and `(?<!…)`.
fn cut_lookaround(pattern: &str) -> String {
    const OPENINGS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
    let mut kept = String::with_capacity(pattern.len());
    let mut escaped = false;
    let mut in_class = false;
    // The nesting inside of a lookaround; zero outside.
    let mut cut_depth = 0_usize;
    for (index, character) in pattern.char_indices() {
        let rest = pattern.get(index..).unwrap_or_default();
        let plain = !escaped && !in_class;
        if plain && cut_depth > 0 && character == '(' {
            cut_depth += 1;
        } else if plain && OPENINGS.iter().any(|opening| rest.starts_with(opening)) {
            cut_depth = 1;
        }
        if cut_depth == 0 {
            kept.push(character);
        } else if plain && character == ')' {
            cut_depth -= 1;
        }
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::compile_pattern;

    #[test]
    fn writes_texts_that_match() {
        for pattern in [
            "^[a-z]+$",
            r"^\d{3}-\d{4}$",
            r"^\w+@\w+\.\w{2,}$",
            "^(foo|bar)[0-9]?$",
            "^[^a-zA-Z0-9]$",
            r"^\p{Lu}\p{Ll}*$",
            r"^https?:\/\/[^\s\/$.?#].[^\s]*$",
            r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89ab][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$",
            r"^\d{4}-\d{2}-\d{2}$",
            "^$|^x{2,4}$",
            "(?i)^abc$",
            "",
        ] {
            let matcher = compile_pattern(pattern).unwrap();
            let parsed = Pattern::parse(pattern).unwrap();
            for variant in 0..20 {
                for length in [0, 3, 30] {
                    let text = parsed.write(variant, length).unwrap();
                    assert!(matcher.is_valid(&text.clone().into()), "{pattern} {text:?}");
                }
            }
        }
    }

    #[test]
    fn grows_where_it_may() {
        let parsed = Pattern::parse("^[a-z]+$").unwrap();
        assert_eq!(parsed.write(0, 0).unwrap(), "a");
        assert_eq!(parsed.write(0, 5).unwrap().len(), 5);
    }

    #[test]
    fn refuses_what_never_ends() {
        for pattern in ["a{1000000}", "(a{1000}){1000}", "((a{100}){100}){100}"] {
            assert_eq!(
                Pattern::parse(pattern).unwrap().write(0, 0),
                None,
                "{pattern}"
            );
        }
        assert_eq!(
            Pattern::parse("(|a{0}){4000000000}")
                .unwrap()
                .write(0, 0)
                .unwrap(),
            ""
        );
        assert!(Pattern::parse(&"(".repeat(1_000)).is_none());
        assert!(Pattern::parse("(?=a").is_some_and(|parsed| parsed.write(0, 0).is_some()));
    }
}
