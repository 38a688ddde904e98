//! What a description says that a tool does: its first verb, and the first word that names a write.
//!
//! A word that can name a write does so where the tool is the one that acts: "Deletes the file", "and marks them
//! as read", "the cache is cleared". It does not where it is denied ("does not modify"), describes a thing
//! ("deleted items", "when it was written", "creation time") or is what somebody else does ("before you update").
//!
//! A description cut into sentences of words.

use mcprove_trace::verbs::{Effect, Form, Verb, find};

use super::act::{Place, is_neutral};
use super::words::{computes, is_in};

/// A word of a sentence, in lower case.
pub struct Word {
    pub text: String,
    pub verb: Option<Verb>,
    /// A comma or a slash stands before it.
    pub after_comma: bool,
    /// It is the name of a tool, a field or a file.
    pub is_identifier: bool,
}

/// Where a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is the first: what the tool does.
    Lead,
    /// It says more.
    Plain,
    /// It is in a list of occasions, examples or fields.
    Aside,
}

pub struct Sentence {
    pub words: Vec<Word>,
    pub role: Role,
}

/// A text as sentences.
pub struct Prose {
    sentences: Vec<Sentence>,
}

/// How a text is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The server says that the tool only reads: only what contradicts it counts.
    pub is_hinted: bool,
    /// Verbs such as `add` compute here.
    pub adds: bool,
}

/// What stands beyond the ends of a sentence.
pub static NOTHING: Word = Word {
    text: String::new(),
    verb: None,
    after_comma: true,
    is_identifier: false,
};

/// Whether a word mixes letters of scripts, or has letters of another width or style: "d\u{435}lete".
fn is_disguised(word: &str) -> bool {
    let is_styled =
        |letter: char| matches!(letter, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}');
    let is_other = |letter: char| matches!(letter, '\u{370}'..='\u{58f}');
    let has_ascii = word.chars().any(|letter| letter.is_ascii_alphabetic());
    word.chars()
        .any(|letter| is_styled(letter) || (has_ascii && is_other(letter)))
}

impl Prose {
    pub fn new(text: &str) -> Self {
        Self {
            sentences: Cutter::default().cut(text),
        }
    }

    /// Whether a text of some length has words of English, and no word in letters that look like others.
    pub fn is_english(&self) -> bool {
        let mut words = 0;
        let mut foreign = 0;
        let mut known = 0;
        for word in self.sentences.iter().flat_map(|sentence| &sentence.words) {
            if is_disguised(&word.text) {
                return false;
            }
            words += 1;
            foreign += usize::from(!word.text.is_ascii());
            known += if word.verb.is_some() || word.is("PLAIN") {
                2
            } else {
                usize::from(word.is("COMMON") || is_neutral(&word.text))
            };
        }
        foreign * 5 <= words && (words < 3 || known > 1)
    }

    /// The first verb, where the text begins with one that reads or computes.
    pub fn reading_verb(&self, adds: bool) -> Option<&str> {
        // "Notion | Retrieve a page"
        for sentence in self.sentences.iter().take(3) {
            let words = sentence.words.iter().take(6);
            let words: Vec<&str> = words.map(|word| word.text.as_str()).collect();
            if computes(&words) {
                return words.first().copied();
            }
            if let Some(verb) = head(&sentence.words) {
                let counts = verb.reads() || adds && verb.has_effect(Effect::Adds);
                return counts.then_some(verb.text.as_str());
            }
            if sentence.words.len() > 3 {
                return None;
            }
        }
        None
    }

    /// The first word that names a write.
    pub fn write(&self, reading: Reading) -> Option<&str> {
        self.sentences.iter().find_map(|sentence| {
            let mut places = (0..sentence.words.len()).map(|at| Place {
                sentence: &sentence.words,
                role: sentence.role,
                reading,
                at,
            });
            let place = places.find(Place::names_write)?;
            Some(place.word().text.as_str())
        })
    }
}

impl Word {
    pub fn is(&self, list: &str) -> bool {
        is_in(list, &self.text)
    }

    pub fn is_nothing(&self) -> bool {
        self.text.is_empty()
    }

    pub fn has_form(&self, form: Form) -> bool {
        self.verb.is_some_and(|verb| verb.form == form)
    }

    pub fn has_effect(&self, effect: Effect) -> bool {
        self.verb.is_some_and(|verb| verb.effect == effect)
    }

    pub fn reads(&self) -> bool {
        self.has_effect(Effect::Reads) || self.has_effect(Effect::Computes)
    }

    pub fn is_number(&self) -> bool {
        self.text.starts_with(|first: char| first.is_ascii_digit())
    }

    pub fn is_adverb(&self) -> bool {
        self.text.ends_with("ly")
    }

    /// Whether it can stand before the first verb.
    pub fn opens(&self) -> bool {
        self.is("OPENERS") || self.is_adverb() || !self.text.is_ascii()
    }
}

/// The verb that a sentence begins with, behind "This tool", "Use this to" and adverbs.
pub fn head(sentence: &[Word]) -> Option<&Word> {
    let start = sentence.get(..10).unwrap_or(sentence);
    for (at, word) in start.iter().enumerate() {
        let rest = start.get(at + 1..).unwrap_or_default();
        if word.is("perform performs performing do does") {
            // "Performs a web search": the noun says what.
            return rest.iter().take(4).find(|word| word.reads());
        }
        if word.verb.is_some() && (!word.opens() || rest.is_empty()) {
            return Some(word);
        }
        if !word.opens() {
            // "Fast code search across": a noun behind adjectives.
            let is_plain =
                |word: &&Word| !word.is("DETERMINERS") && !word.is("in of for on to from with");
            let mut nouns = sentence.iter().skip(at).take(5).take_while(is_plain);
            return nouns.find(|word| word.is("search lookup query"));
        }
    }
    None
}

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
    lower
        .split('-')
        .map(|part| (part.to_owned(), false))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNHINTED: Reading = Reading {
        is_hinted: false,
        adds: false,
    };

    #[test]
    fn what_the_tool_does_is_told_from_what_it_describes() {
        for text in [
            "Deletes the file.",
            "Returns the messages and marks them as read.",
            "Get a customer, creating it when it is missing",
            "Reads the queue. The message is removed.",
            "Search for a text and replace it",
            "Use this tool to send a mail",
            "Not only reads, but deletes the rows",
            "Does not ask and deletes the file",
            "Fetches messages and posts to the channel",
            "Messages are fetched and deleted",
            "Clears the cache",
            "This tool will update the page",
            "Reads the sensor (this also resets the counter)",
            "Runs a query",
            "Formats the disk",
            "Turns the light on",
            "Get the list then delete it",
            "Triggers a build",
            "Gets the next job, locking it for five minutes",
            "Removed from the cart",
            "Logs in to the site",
            "Screenshot is saved to a file",
            "Handles deletion of users",
            "Makes changes to the file",
            "READS AND DELETES",
        ] {
            assert!(Prose::new(text).write(UNHINTED).is_some(), "{text}");
        }
        for text in [
            "Nothing is deleted.",
            "Does not modify anything",
            "Never deletes or changes files",
            "Waits a while, and holds nobody up",
            "Validate a formula without applying it",
            "Says when it was written",
            "Returns deleted items",
            "List issues created by a user",
            "Returns created_at and updated_at",
            "A read-only view of the orders",
            "Get the creation time and the last modified time",
            "Shows the commit logs",
            "List branches and tags",
            "List repositories you can push to",
            "To create an issue, use create_issue.",
            "Use this before updating a page",
            "Lists files that were deleted",
            "Explains how to create a user",
            "Returns updates of the order",
            "List users who can edit the page",
            "No files are changed",
            "It doesn't create, modify or delete files",
            "Get posts, comments and labels",
        ] {
            assert_eq!(Prose::new(text).write(UNHINTED), None, "{text}");
        }
    }

    #[test]
    fn the_first_verb_is_behind_its_opening() {
        for (text, verb) in [
            ("Get the weather", Some("get")),
            ("Recursively search for files", Some("search")),
            ("This tool will retrieve the balance", Some("retrieve")),
            ("Use this tool to list workflows", Some("list")),
            ("Notion | Retrieve a page", Some("retrieve")),
            ("Performs a web search", Some("search")),
            ("Tools for listing resources", Some("listing")),
            ("Snooze a reminder in the list", None),
            ("Weather of a city", None),
            ("Delete it", None),
            ("", None),
        ] {
            assert_eq!(Prose::new(text).reading_verb(false), verb, "{text}");
        }
    }
}
