//! What a line quotes: code, quotation marks, links, and what was struck out.

use super::prelude::*;
use super::token::Scanner;

/// Characters of the longest tag.
const TAG_CHARS_MAX: usize = 64;

impl Scanner {
    /// `code`, in one to three backticks.
    pub fn code(&mut self) {
        let start = self.at;
        let mut from = start;
        while self.character(from) == Some('`') {
            from += 1;
        }
        let closing = match from - start {
            1 => "`",
            2 => "``",
            _ => "```",
        };
        match self.find(from, closing, |_, _| true) {
            Some(to) => self.quoted(from, to, to + closing.len()),
            None => self.at = from,
        }
    }

    pub fn quotation(&mut self, opening: char) {
        let from = self.at + 1;
        let is_inside_word = self.before(self.at).is_some_and(char::is_alphanumeric);
        let begins = self.peek(1).is_some_and(|c| !c.is_whitespace());
        let is_end = |scanner: &Self, place: usize| {
            !scanner
                .character(place + 1)
                .is_some_and(char::is_alphanumeric)
                && !scanner.before(place).is_some_and(char::is_whitespace)
        };
        let found = match opening {
            _ if is_inside_word || !begins => None,
            '"' => self.find(from, "\"", |_, _| true),
            '“' | '„' => self.find_any(from, ["”", "“"]),
            '«' => self.find(from, "»", |_, _| true),
            '‘' => self.find(from, "’", is_end),
            _ => self.find(from, "'", is_end),
        };
        match found {
            Some(to) => self.quoted(from, to, to + 1),
            None => self.at = from,
        }
    }

    pub fn find_any(&mut self, from: usize, closings: [&'static str; 2]) -> Option<usize> {
        let [one, other] = closings;
        let one = self.find(from, one, |_, _| true);
        one.or_else(|| self.find(from, other, |_, _| true))
    }

    /// Where a closing mark begins.
    pub fn find(
        &mut self,
        from: usize,
        closing: &'static str,
        is_end: impl Fn(&Self, usize) -> bool,
    ) -> Option<usize> {
        if self.unclosed.contains(&closing) {
            return None;
        }
        let found = (from..self.characters.len()).find(|place| {
            let mut rest = self.characters.get(*place..).unwrap_or_default().iter();
            closing
                .chars()
                .all(|c| rest.next().is_some_and(|(_, other)| *other == c))
                && is_end(self, *place)
        });
        if found.is_none() {
            self.unclosed.push(closing);
        }
        found
    }

    pub fn quoted(&mut self, from: usize, to: usize, end: usize) {
        let text = self.text(from, to).trim().to_owned();
        let lower = text.to_lowercase();
        self.push_text(Kind::Quoted, from, to, text, lower);
        self.at = end;
    }

    /// ~~What was struck out~~ is not said.
    pub fn struck(&mut self) {
        let from = self.at + 2;
        self.at = match self.find(from, "~~", |_, _| true) {
            Some(to) => to + 2,
            None => from,
        };
    }

    /// `<br>` ends what was said, `<b>` does not.
    pub fn tag(&mut self) {
        let from = self.at + 1;
        let to = (from..from + TAG_CHARS_MAX).find(|place| self.character(*place) == Some('>'));
        let name = self.text(from, to.unwrap_or(from));
        let name = name
            .trim_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap_or_default();
        let is_tag = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
        match to.filter(|_| is_tag) {
            None => self.at = from,
            Some(to) if keeps_no_mark(name) => {
                self.at = to + 1;
            }
            Some(to) => self.push(Kind::Mark('•'), self.at, to + 1, ""),
        }
    }

    pub fn link_target(&mut self) {
        let from = self.at + 2;
        self.at = match self.find(from, ")", |_, _| true) {
            Some(to) => to + 1,
            None => from,
        };
    }
}
