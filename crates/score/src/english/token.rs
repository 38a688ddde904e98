//! Words, numbers, names and marks of one line. What stands in code or in quotation marks becomes one
//! token, and so do addresses, paths and identifiers: nobody says `created_at` to claim anything.

use super::prelude::*;

/// What a token is written like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Letters.
    Word,
    /// A number, `#42`, `$5`, `20%`.
    Number,
    /// An identifier, address, path, date, version.
    Name,
    /// What stood in quotation marks or in code.
    Quoted,
    /// A punctuation mark; `•` for any symbol, `✗` for one that says no.
    Mark(char),
}

/// A token, and what it is in its sentence.
#[derive(Debug, Clone)]
pub struct Token {
    /// As written, without marks around it.
    pub text: String,
    /// In lower case; contractions are taken apart and written out.
    pub lower: String,
    /// What it is written like.
    pub kind: Kind,
    /// What it is in the sentence.
    pub class: Class,
    /// The verb that it is, if it is one.
    pub verb: Reading,
    /// Where it begins in the whole text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Token {
    /// Whether it begins with a capital.
    pub fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    /// Whether it is a mark, and no word.
    pub fn is_punctuation(&self) -> bool {
        matches!(self.kind, Kind::Mark(_))
    }

    pub fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }
}

/// Looks at places that a sentence may not have.
pub trait Tokens {
    /// What the token at a place is; the end is a stop.
    fn class(&self, at: usize) -> Class;
    /// The word at a place, in lower case; nothing beyond the end.
    fn lower(&self, at: usize) -> &str;
    /// Those from a place on.
    fn rest(&self, from: usize) -> &Self;
    /// Those that are no marks.
    fn words(&self) -> impl DoubleEndedIterator<Item = &Token>;
}

impl Tokens for [Token] {
    fn class(&self, at: usize) -> Class {
        self.get(at).map_or(Class::Stop, |token| token.class)
    }

    fn lower(&self, at: usize) -> &str {
        self.get(at).map_or("", |token| token.lower.as_str())
    }

    fn rest(&self, from: usize) -> &Self {
        self.get(from..).unwrap_or_default()
    }

    fn words(&self) -> impl DoubleEndedIterator<Item = &Token> {
        self.iter().filter(|token| !token.is_punctuation())
    }
}

/// Symbols that say that something was not done.
const NO_SYMBOLS: &[char] = &['❌', '🚫', '⛔', '✗', '✘', '✖', '⏳', '⌛', '☐', '🔜'];

/// Takes a line apart; `offset` is where it begins in the whole text.
pub fn tokenise(line: &str, offset: usize) -> Vec<Token> {
    let mut scanner = Scanner {
        characters: line.char_indices().collect(),
        length: line.len(),
        at: 0,
        offset,
        unclosed: Vec::new(),
        tokens: Vec::new(),
    };
    while let Some(character) = scanner.peek(0) {
        scanner.step(character);
    }
    scanner.tokens
}

/// Goes through a line.
pub struct Scanner {
    pub characters: Vec<(usize, char)>,
    length: usize,
    pub at: usize,
    offset: usize,
    /// Closing marks that the rest of the line does not have: looked for once, not again.
    pub unclosed: Vec<&'static str>,
    tokens: Vec<Token>,
}

impl Scanner {
    pub fn peek(&self, ahead: usize) -> Option<char> {
        self.character(self.at + ahead)
    }

    pub fn character(&self, place: usize) -> Option<char> {
        self.characters.get(place).map(|(_, character)| *character)
    }

    pub fn before(&self, place: usize) -> Option<char> {
        self.character(place.checked_sub(1)?)
    }

    fn byte(&self, place: usize) -> usize {
        self.characters
            .get(place)
            .map_or(self.length, |(at, _)| *at)
    }

    pub fn text(&self, from: usize, to: usize) -> String {
        let characters = self.characters.get(from..to).unwrap_or_default();
        characters.iter().map(|(_, character)| *character).collect()
    }

    fn step(&mut self, character: char) {
        match character {
            '`' => self.code(),
            '"' | '“' | '„' | '«' | '‘' | '\'' => self.quotation(character),
            '~' if self.peek(1) == Some('~') => self.struck(),
            ']' if self.peek(1) == Some('(') => self.link_target(),
            '<' => self.tag(),
            '.' if self.peek(1) == Some('.') => self.ellipsis(),
            '.' if self.begins_word(character) => self.word(),
            '-' | '=' if self.peek(1) == Some('>') => {
                self.push(Kind::Mark('→'), self.at, self.at + 2, "");
            }
            '—' | '–' => self.mark('—'),
            '-' if self.is_dash() => self.mark('—'),
            ',' | ';' | ':' | '!' | '?' | '(' | ')' | '.' | '=' | '|' | '…' => {
                self.mark(character);
            }
            '→' | '➜' | '⇒' => self.mark('→'),
            '&' => self.push(Kind::Word, self.at, self.at + 1, "and"),
            _ if self.begins_word(character) => self.word(),
            _ if NO_SYMBOLS.contains(&character) => self.mark('✗'),
            '’' | '”' | '»' | '›' => self.at += 1,
            // Selectors and joiners belong to the symbol before them.
            _ if character.is_ascii() || character.is_whitespace() || is_joiner(character) => {
                self.at += 1;
            }
            _ => self.mark('•'),
        }
    }

    fn mark(&mut self, mark: char) {
        self.push(Kind::Mark(mark), self.at, self.at + 1, "");
    }

    fn ellipsis(&mut self) {
        let start = self.at;
        let mut end = start;
        while self.character(end) == Some('.') {
            end += 1;
        }
        self.push(Kind::Mark('…'), start, end, "");
    }

    /// Adds a token and goes on behind it.
    pub fn push(&mut self, kind: Kind, from: usize, to: usize, lower: &str) {
        self.push_text(kind, from, to, self.text(from, to), lower.to_owned());
        self.at = to;
    }

    pub fn push_text(&mut self, kind: Kind, from: usize, to: usize, text: String, lower: String) {
        self.tokens.push(Token {
            text,
            lower,
            kind,
            class: Class::Noun,
            verb: Reading::default(),
            start: self.offset + self.byte(from),
            end: self.offset + self.byte(to),
        });
    }

    /// A hyphen that separates: at the line's edge, doubled, or with a space on one side.
    fn is_dash(&self) -> bool {
        let is_gap = |neighbour: Option<char>| neighbour.is_none_or(char::is_whitespace);
        let next = self.peek(1);
        is_gap(next) || next == Some('-') && !self.peek(2).is_some_and(char::is_alphanumeric)
    }

    fn begins_word(&self, character: char) -> bool {
        let next = self.peek(1);
        let is_after_gap = self.before(self.at).is_none_or(|c| !c.is_alphanumeric());
        match character {
            '#' | '@' => next.is_some_and(char::is_alphanumeric),
            '$' | '€' | '£' | '¥' => next.is_some_and(|c| c.is_ascii_digit()),
            '.' => {
                self.before(self.at).is_none_or(char::is_whitespace)
                    && next.is_some_and(|c| c.is_alphanumeric() || c == '/')
            }
            '/' | '~' => is_after_gap && next.is_some_and(|c| c.is_alphanumeric() || c == '/'),
            '-' => is_after_gap && next.is_some_and(|c| c.is_alphanumeric() || c == '-'),
            _ => character.is_alphanumeric(),
        }
    }

    fn word(&mut self) {
        let start = self.at;
        if let Some(end) = self.address_end(start) {
            let lower = self.text(start, end).to_lowercase();
            self.push(Kind::Name, start, end, &lower);
            return;
        }
        let mut end = start + 1;
        while let Some(character) = self.character(end) {
            if !self.continues(end, character) {
                break;
            }
            end += 1;
        }
        self.at = end;
        self.add_word(start, end);
    }

    /// The end of an address that begins here.
    fn address_end(&self, start: usize) -> Option<usize> {
        if !matches!(self.character(start), Some('h' | 'H' | 'w' | 'W')) {
            return None;
        }
        let head = self.text(start, (start + 8).min(self.characters.len()));
        let is_address = ["http://", "https://", "www."]
            .iter()
            .any(|scheme| head.to_ascii_lowercase().starts_with(scheme));
        if !is_address {
            return None;
        }
        let mut end = start;
        while self
            .character(end)
            .is_some_and(|c| !c.is_whitespace() && !matches!(c, ')' | '>' | ']' | '"' | '`'))
        {
            end += 1;
        }
        while matches!(
            self.before(end),
            Some('.' | ',' | ';' | ':' | '!' | '?' | '*')
        ) {
            end -= 1;
        }
        Some(end.max(start + 1))
    }

    fn continues(&self, place: usize, character: char) -> bool {
        if character.is_alphanumeric() || character == '_' {
            return true;
        }
        let Some((before, after)) = self.before(place).zip(self.character(place + 1)) else {
            return character == '%' && self.before(place).is_some_and(|c| c.is_ascii_digit());
        };
        let joins_words = before.is_alphanumeric() && after.is_alphanumeric();
        let joins_digits = before.is_ascii_digit() && after.is_ascii_digit();
        match character {
            '\'' | '’' => before.is_alphabetic() && after.is_alphabetic(),
            '-' | '‑' | '\\' | '@' => joins_words || before == '-' && after.is_alphanumeric(),
            '/' => joins_words || matches!(before, '.' | '~' | '/') && after.is_alphanumeric(),
            // `the file.Then I …`: a space was forgotten.
            '.' if before.is_lowercase() && after.is_uppercase() => false,
            '.' => joins_words || before == '/' && after.is_alphanumeric(),
            ':' | '–' => joins_digits,
            ',' => joins_digits && self.is_thousand(place),
            '%' => before.is_ascii_digit(),
            _ => false,
        }
    }

    /// A comma with exactly three digits after it.
    fn is_thousand(&self, comma: usize) -> bool {
        let is_digit = |place| self.character(place).is_some_and(|c| c.is_ascii_digit());
        (1..=3).all(|step| is_digit(comma + step)) && !is_digit(comma + 4)
    }

    fn add_word(&mut self, start: usize, end: usize) {
        let text = self.text(start, end).replace('’', "'").replace('‑', "-");
        let text = text.trim_matches('_').to_owned();
        let lower = text.to_lowercase();
        let kind = kind_of(&lower);
        match contraction(&lower).filter(|_| kind == Kind::Word) {
            Some((first, second)) => {
                let head: String = text.chars().take(first.chars().count()).collect();
                self.push_text(Kind::Word, start, end, head, first.to_owned());
                self.push_text(Kind::Word, start, end, second.to_owned(), second.to_owned());
            }
            None => self.push_text(kind, start, end, text, lower),
        }
    }
}

/// What a word is written like.
fn kind_of(lower: &str) -> Kind {
    if matches!(lower, "and/or" | "e.g" | "i.e") {
        return Kind::Word;
    }
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '\'' | '-');
    if lower.chars().all(is_letter) && lower.chars().next().is_some_and(char::is_alphabetic) {
        return Kind::Word;
    }
    let number = lower.trim_start_matches(['#', '$', '€', '£', '¥', '-']);
    let number = number.trim_end_matches('%');
    let number = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|ending| number.strip_suffix(ending))
        .unwrap_or(number);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '.'))
        && number.matches('.').count() < 2;
    if is_number { Kind::Number } else { Kind::Name }
}

const fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' | '\u{300}'..='\u{36f}')
}
