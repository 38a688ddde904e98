//! A description cut into sentences of words.

use mcprove_trace::verbs::{Effect, Form, find};

use super::prose::{Role, Sentence, Word, head};
use super::words::is_in;

/// How many words a sentence has; a longer one is cut.
const WORDS_MAX: usize = 200;

/// Cuts a text into sentences of words.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)]
struct Cutter {
    done: Vec<Sentence>,
    words: Vec<Word>,
    after_comma: bool,
    /// Parentheses that are open.
    depth: usize,
    /// Whether the sentence is an item of a list.
    is_item: bool,
    /// Whether the last heading is one over occasions, examples or fields.
    is_aside: bool,
    /// Whether it is between lines of three backticks.
    is_code: bool,
    has_lead: bool,
}

/// Cuts a text.
pub fn cut(text: &str) -> Vec<Sentence> {
    Cutter::default().cut(text)
}

impl Cutter {
    fn cut(mut self, text: &str) -> Vec<Sentence> {
        let characters: Vec<char> = text.chars().collect();
        let mut at = 0;
        let text = |from: usize, to: usize| -> String {
            let part = characters.get(from..to).unwrap_or_default();
            part.iter().collect()
        };
        while let Some(&character) = characters.get(at) {
            if characters.get(at..at + 3) == Some(&['`', '`', '`']) {
                self.end();
                self.is_code = !self.is_code;
                at += 3;
            } else if let Some(end) = code_end(&characters, at) {
                self.push(text(at + 1, end).to_lowercase(), true);
                at = end + 1;
            } else if is_word_character(character) {
                let end = word_end(&characters, at);
                let is_named = characters.get(end) == Some(&'=');
                if self.words.len() >= WORDS_MAX {
                    self.end();
                }
                for (part, is_identifier) in split_word(&text(at, end)) {
                    self.push(part, is_identifier || is_named);
                }
                at = end;
            } else {
                self.punctuate(&characters, at);
                at += 1;
            }
        }
        self.end();
        self.done
    }

    fn push(&mut self, text: String, is_identifier: bool) {
        self.words.push(Word {
            verb: find(&text).filter(|_| !is_identifier),
            text,
            after_comma: std::mem::take(&mut self.after_comma),
            is_identifier,
        });
    }

    fn punctuate(&mut self, characters: &[char], at: usize) {
        let character = characters.get(at).copied().unwrap_or_default();
        let next = characters.get(at + 1);
        let is_spaced = next.is_none_or(|next| next.is_whitespace());
        let last = self.words.last();
        self.after_comma |= matches!(character, ',' | '/' | '&' | '+');
        match character {
            '.' if is_spaced && !last.is_some_and(|word| word.is("e.g i.e etc vs")) => {
                // "1. Run this": the number of an item.
                let is_number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
                let is_item = self.words.len() == 1 && last.is_some_and(is_number);
                self.end();
                self.is_item = is_item;
            }
            '\n' => {
                let rest = characters.get(at + 1..).unwrap_or_default();
                let mut rest = rest.iter();
                let first = rest.find(|next| !next.is_whitespace() || **next == '\n');
                // A line that begins with a small letter goes on with the sentence.
                if !first.is_some_and(|first| first.is_lowercase()) {
                    self.end();
                    self.is_aside &= first != Some(&'\n') || self.is_item;
                }
            }
            '-' | '–' | '—' | '*' | '•' if is_spaced => {
                let is_first = self.words.is_empty();
                self.end();
                self.is_item |= is_first;
            }
            '(' | '[' | '{' | '<' => {
                self.end();
                self.depth += 1;
            }
            ')' | ']' | '}' | '>' => {
                self.end();
                self.depth = self.depth.saturating_sub(1);
            }
            ':' => {
                self.is_aside = self.words.iter().any(|word| word.is("HEADINGS"));
                self.end();
            }
            '!' | '?' | ';' | '|' | '。' | '→' | '=' => self.end(),
            _ => {}
        }
    }

    fn end(&mut self) {
        self.after_comma = false;
        if self.words.is_empty() {
            return;
        }
        let words = std::mem::take(&mut self.words);
        let is_header = words.len() <= 3 && head(&words).is_none();
        let role = if !self.has_lead && self.depth == 0 {
            self.has_lead = !is_header;
            Role::Lead
        } else if self.is_code || self.is_aside && self.is_item {
            Role::Aside
        } else {
            Role::Plain
        };
        self.is_item = false;
        self.done.push(Sentence { words, role });
    }
}

/// Where a name between backticks ends, such as `tools/list`; a plain word is no name.
fn code_end(characters: &[char], at: usize) -> Option<usize> {
    const NAME_MAX: usize = 80;
    let rest = characters.get(at..)?.strip_prefix(&['`'])?;
    let length = rest
        .iter()
        .take(NAME_MAX)
        .position(|character| *character == '`')?;
    let name = rest.get(..length)?;
    let has_space = name.iter().any(|character| character.is_whitespace());
    let is_plain = name.iter().all(|character| character.is_alphabetic());
    (!has_space && !is_plain).then_some(at + 1 + length)
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word_end(characters: &[char], from: usize) -> usize {
    let mut at = from;
    while let Some(&character) = characters.get(at) {
        let next = characters.get(at + 1);
        let is_inner = matches!(character, '-' | '\'' | '’' | '.')
            && next.is_some_and(|next| is_word_character(*next))
            && at > from
            && !(character == '.' && begins_write(characters.get(at + 1..).unwrap_or_default()));
        if !is_word_character(character) && !is_inner {
            break;
        }
        at += 1;
    }
    at
}

/// Whether a sentence begins without a space before it: "Get x.Deletes it".
fn begins_write(characters: &[char]) -> bool {
    let letters = characters
        .iter()
        .take_while(|letter| letter.is_alphabetic());
    let verb = find(&letters.collect::<String>().to_lowercase());
    let is_capital = characters
        .first()
        .is_some_and(|letter| letter.is_uppercase());
    verb.is_some_and(|verb| {
        verb.effect == Effect::Writes && (is_capital || verb.form == Form::Third)
    })
}

/// The words of a hyphenated word, each with whether it is an identifier: `create_issue`, `getUser`, `a-b-c`, `a.b`.
fn split_word(word: &str) -> Vec<(String, bool)> {
    let mut was_small = false;
    let is_camel = word.chars().any(|character| {
        let is_hump = was_small && character.is_uppercase();
        was_small = character.is_lowercase();
        is_hump
    });
    let mut lower = word.to_lowercase().replace('’', "'");
    // "re-index"
    if ["re-", "de-", "un-"]
        .iter()
        .any(|prefix| lower.starts_with(prefix))
    {
        lower = lower.replacen('-', "", 1);
    }
    let is_identifier = word.contains('_')
        || is_camel
        || lower.matches('-').count() > 1
        || (lower.contains('.') && !is_in("e.g i.e", &lower));
    if is_identifier || lower == "read-only" {
        return vec![(lower, is_identifier)];
    }
    let parts = lower.split('-');
    parts.map(|part| (part.to_owned(), false)).collect()
}
