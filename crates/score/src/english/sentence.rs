//! Sentences of a closing message. Markdown is read, not shown: fenced code and block quotes say
//! nothing, a list item is a sentence, what stands in parentheses is one of its own, and a heading or a
//! line that ends in a colon decides how the items under it are meant.

use super::prelude::*;

/// How a sentence is meant, by what stands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As it says itself.
    Plain,
    /// Not as done: an item under `Next steps`, one with a cross before it.
    Unreal,
    /// As done: an item under `What I did`.
    Done,
}

#[derive(Debug, Clone)]
pub struct Sentence {
    /// What it consists of.
    pub tokens: Vec<Token>,
    /// How it is meant.
    pub mood: Mood,
    /// Whether it ends in a question mark.
    pub is_question: bool,
    pub is_heading: bool,
}

impl Sentence {
    /// What it says, as it stands in the text.
    pub fn excerpt<'t>(&self, text: &'t str) -> &'t str {
        let start = self.tokens.first().map_or(0, |token| token.start);
        let end = self.tokens.last().map_or(start, |token| token.end);
        text.get(start..end).unwrap_or_default()
    }
}

/// A line, or several that belong together.
struct Line {
    tokens: Vec<Token>,
    is_item: bool,
    is_heading: bool,
    is_crossed: bool,
}

/// Takes a text apart.
pub fn sentences(text: &str, verbs: &Verbs) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut mood = Mood::Plain;
    for mut line in lines(text) {
        classify(&mut line.tokens, verbs);
        if !line.is_item {
            mood = Mood::Plain;
        }
        let mood_of_line = if line.is_crossed { Mood::Unreal } else { mood };
        if line.is_heading || line.tokens.last().is_some_and(|token| token.is_mark(':')) {
            mood = header_mood(last_sentence(&line.tokens));
        }
        let first = sentences.len();
        split(line.tokens, mood_of_line, &mut sentences);
        for sentence in sentences.iter_mut().skip(first) {
            sentence.is_heading = line.is_heading;
        }
    }
    sentences
}

/// The lines that say something, with those joined that a line break only wraps.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut offset = 0;
    let mut follows_text = false;
    for raw in text.split('\n') {
        let start = offset;
        offset += raw.len() + 1;
        let trimmed = raw.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        // A fence that opens and closes on one line is code within a text.
        let is_fence = mark.is_some_and(|mark| trimmed.matches(mark).count() == 1);
        if let Some(open) = fence {
            fence = Some(open).filter(|open| !trimmed.starts_with(open));
            continue;
        }
        if is_fence {
            fence = mark;
            follows_text = false;
            continue;
        }
        if trimmed.trim_end().is_empty() || trimmed.starts_with('>') {
            follows_text = false;
            continue;
        }
        let mut line = line(trimmed, start + raw.len() - trimmed.len());
        let wraps = follows_text && !line.is_item && trimmed.starts_with(char::is_lowercase);
        match lines.last_mut() {
            Some(last) if wraps => last.tokens.append(&mut line.tokens),
            _ => lines.push(line),
        }
        follows_text = !is_end(raw.trim_end().chars().next_back());
    }
    lines
}

const fn is_end(last: Option<char>) -> bool {
    matches!(last, Some('.' | '!' | '?' | ':'))
}

/// A line without the marks that make it an item or a heading.
fn line(trimmed: &str, start: usize) -> Line {
    let mut rest = trimmed;
    let heading = rest.trim_start_matches('#');
    let is_heading = heading.len() < rest.len() && heading.starts_with(' ');
    if is_heading {
        rest = heading.trim_start();
    }
    let mut is_item = trimmed.starts_with('|');
    if let Some(item) = item(rest) {
        (rest, is_item) = (item.trim_start(), true);
    }
    let mut is_crossed = false;
    for (mark, crosses) in [("[ ]", true), ("[x]", false), ("[X]", false)] {
        if let Some(item) = rest.strip_prefix(mark) {
            (rest, is_item, is_crossed) = (item, true, crosses);
        }
    }
    // Bold or underlined and nothing else: a heading too.
    let bare = rest.trim_end();
    let is_bold =
        bare.len() > 4 && bare.starts_with("**") && bare.trim_end_matches(':').ends_with("**");
    let is_bold = is_bold && bare.matches("**").count() == 2;
    let tokens = tokenise(rest, start + trimmed.len() - rest.len());
    let first = tokens.first().map(|token| token.kind);
    Line {
        is_item: is_item || matches!(first, Some(Kind::Mark('•' | '✗'))),
        is_heading: is_heading || is_bold,
        is_crossed: is_crossed || first == Some(Kind::Mark('✗')),
        tokens,
    }
}

/// What follows the mark of a list item.
fn item(line: &str) -> Option<&str> {
    ["- ", "* ", "+ ", "• ", "– ", "— ", "‣ ", "◦ ", "▪ ", "·  "]
        .iter()
        .find_map(|bullet| line.strip_prefix(bullet))
        .or_else(|| {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = line.len() - rest.len();
            let rest = rest
                .strip_prefix(['.', ')'])
                .filter(|_| (1..=3).contains(&digits))?;
            rest.strip_prefix(' ')
        })
}

/// Cuts the tokens of a line into sentences.
fn split(tokens: Vec<Token>, mood: Mood, sentences: &mut Vec<Sentence>) {
    let mut current: Vec<Token> = Vec::new();
    let count = tokens.len();
    for (place, token) in tokens.into_iter().enumerate() {
        let is_last = place + 1 == count;
        if token.is_mark('.') && !is_last && is_abbreviation(current.last()) {
            continue;
        }
        let ends = ends_sentence(&token);
        let is_question = token.is_mark('?');
        current.push(token);
        if ends || is_last {
            finish(std::mem::take(&mut current), mood, is_question, sentences);
        }
    }
}

fn ends_sentence(token: &Token) -> bool {
    matches!(token.kind, Kind::Mark('.' | '!' | '?' | '…'))
}

/// The tokens of the last sentence of a line.
fn last_sentence(tokens: &[Token]) -> &[Token] {
    let end = tokens.iter().rposition(ends_sentence);
    tokens.rest(end.map_or(0, |place| place + 1))
}

fn is_abbreviation(token: Option<&Token>) -> bool {
    let Some(token) = token else { return false };
    let is_initial = token.text.chars().count() == 1 && token.is_capital() && token.text != "I";
    is_initial || super::inflection::is_abbreviation(&token.lower)
}

/// `1` or `a`, before a closing parenthesis.
fn is_enumerator(token: &Token) -> bool {
    token.kind == Kind::Number || token.kind == Kind::Word && token.text.chars().count() == 1
}

/// Adds a sentence, with what it has in parentheses as sentences after it.
fn finish(tokens: Vec<Token>, mood: Mood, is_question: bool, sentences: &mut Vec<Sentence>) {
    let mut outer: Vec<Token> = Vec::new();
    let mut inner: Vec<Vec<Token>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for token in tokens {
        if token.is_mark('(') {
            open.push(inner.len());
            inner.push(Vec::new());
        } else if token.is_mark(')') {
            // `1) …, 2) …`: the number only counts.
            let list = match open.pop() {
                Some(_) => None,
                None => Some(&mut outer),
            };
            if let Some(list) = list
                && list.last().is_some_and(is_enumerator)
            {
                list.pop();
            }
        } else if let Some(list) = open.last().and_then(|place| inner.get_mut(*place)) {
            list.push(token);
        } else {
            outer.push(token);
        }
    }
    for tokens in std::iter::once(outer).chain(inner) {
        if tokens.words().next().is_some() {
            sentences.push(Sentence {
                tokens,
                mood,
                is_question,
                is_heading: false,
            });
        }
    }
}

// Which sentences are in English: the rules know no other language, and `I set di dati sono pronti` or
// `Status: geschlossen` would be misread. The little words vote, first on the message and then on each
// of its sentences, so that an English message may greet in another language, and an English sentence
// before its translation is still held against the calls.

/// Words that speak for English, and for another language.
#[derive(Default)]
struct Votes {
    english: usize,
    foreign: usize,
}

/// Leaves out the sentences of a message in another language that are not English themselves.
pub fn retain_english(sentences: &mut Vec<Sentence>) {
    let votes = votes(sentences.iter().flat_map(|sentence| &sentence.tokens));
    let is_foreign = votes.foreign > 1 && votes.foreign > votes.english;
    if is_foreign {
        sentences.retain(|sentence| {
            let votes = self::votes(sentence.tokens.iter());
            votes.english > votes.foreign
        });
    }
}

fn votes<'t>(tokens: impl Iterator<Item = &'t Token>) -> Votes {
    let mut votes = Votes::default();
    for token in tokens.filter(|token| token.kind == Kind::Word) {
        votes.foreign += usize::from(is_other(token));
        votes.english += usize::from(is_english(token));
    }
    votes
}

/// A listed word, or one with letters that English lacks; with a capital it may be a name.
fn is_other(token: &Token) -> bool {
    let has_other_letter = || !token.is_capital() && !token.lower.is_ascii();
    has_other_letter() || is_foreign(&token.lower)
}

/// A word that ties others together, or the past of a verb that the rules look for.
fn is_english(token: &Token) -> bool {
    match token.class {
        // `set` and `post` are words in many languages, `created` is not.
        Verb => token.verb.is_claimable && !matches!(token.verb.form, Form::Base | Form::Any),
        Noun | Name | Number | Comma | Stop => false,
        _ if token.lower.len() < 3 => is_short_english(&token.lower),
        _ => true,
    }
}
