//! The thing that a verb is about: the words of a noun phrase, and which of them is its head. In
//! `a new high-priority GitHub issue` that is the last one; what follows a preposition belongs to
//! another phrase.

use super::prelude::*;

/// Tokens that a phrase is looked for in: nobody writes longer ones, and a long text stays linear.
pub const WINDOW: usize = 24;

/// What a verb is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phrase {
    /// Its words, in lower case, without determiners and adjectives. None for a pronoun, a number, an
    /// identifier or a quotation.
    pub nouns: Vec<String>,
    /// The word that says what it is.
    pub head: Option<String>,
    /// Whether it says that there is none: `no emails`, `nothing`.
    pub is_negative: bool,
    /// Whether it is the name of somebody or something: `Priya`.
    pub is_proper: bool,
    /// Whether some of its words only belong to it by `and` or `of`.
    pub is_joined: bool,
}

/// Whether a word says that there is nothing.
pub fn is_negative(token: &Token) -> bool {
    is_nothing(&token.lower)
}

/// The object of a verb, of which the next token is at `from`; `None` when none follows. `verb` is
/// the base form: `sent Priya the link` is about the link.
pub fn object(tokens: &[Token], from: usize, verb: &str) -> Option<Phrase> {
    let takes_two = matches!(verb, "send" | "write");
    let mut collector = Collector::default();
    let mut at = from;
    let mut is_numbered = false;
    let end = from.saturating_add(WINDOW);
    while let Some(token) = tokens.get(at).filter(|_| at < end) {
        let has_nouns = !collector.phrase.nouns.is_empty();
        match token.class {
            Determiner if token.lower == "'s" => {}
            Determiner if collector.is_begun && (!takes_two || is_time(tokens, at + 1)) => {
                // `all the files`, `both of the`: still the same phrase.
                if has_nouns && !collector.is_joined {
                    break;
                }
                collector.is_determined = true;
            }
            Determiner => {
                if collector.is_begun && has_nouns {
                    collector.clear();
                }
                collector.phrase.is_negative |= is_negative(token);
                collector.is_begun = true;
                collector.is_determined = true;
            }
            // `sent 3 May`, `deleted 2 days ago`
            Number if !has_nouns && begins_time(tokens.get(at + 1)) => break,
            Number | Name => {
                if has_nouns {
                    is_numbered = true;
                    break;
                }
                collector.phrase.is_negative |= is_negative(token);
                collector.is_begun = true;
            }
            Object | Thing | Person => {
                if collector.is_begun {
                    break;
                }
                collector.phrase.is_negative |= is_negative(token);
                collector.is_begun = true;
                let has_other = takes_two && begins_phrase(tokens.get(at + 1));
                if !has_other && tokens.lower(at + 1) != "of" {
                    break;
                }
            }
            Adjective => collector.is_begun = true,
            Adverb if !collector.is_begun || !has_nouns => {}
            Noun => {
                if is_time_word(&token.lower) && has_nouns {
                    break;
                }
                collector.add(token);
            }
            Verb => match token.verb.form {
                Form::Ing if !collector.is_begun => break,
                Form::Ing if has_nouns && tells_more(tokens, at) => break,
                Form::Base | Form::Third | Form::Any | Form::Ing => collector.add(token),
                _ if has_nouns => break,
                _ if begins_phrase(tokens.get(at + 1)) => collector.is_begun = true,
                _ => break,
            },
            Preposition if !collector.is_begun && is_particle(&token.lower) => {
                if !begins_phrase(tokens.get(at + 1)) {
                    break;
                }
            }
            Preposition if token.lower == "of" && is_amount(&collector) => {
                collector.clear();
            }
            // `the status of the ticket`
            Preposition if token.lower == "of" && has_nouns && changes_parts(verb) => {
                collector.is_joined = true;
            }
            And | Comma => match continues(tokens, at, &collector) {
                Some(next) => {
                    collector.is_joined |= has_nouns;
                    at = next;
                    continue;
                }
                None => break,
            },
            _ => break,
        }
        at += 1;
    }
    collector.finish(is_numbered)
}

/// Whether an `-ing` form behind a noun tells more of it (`a job running the tests`), and is no noun
/// itself (`the team meeting`).
fn tells_more(tokens: &[Token], at: usize) -> bool {
    let has_object = match tokens.class(at + 1) {
        // `cancelled the team meeting this morning`
        Determiner => tokens.lower(at + 1) != "'s" && !is_time(tokens, at + 1),
        class => class == Object,
    };
    tells_content(tokens.lower(at)) || has_object
}

fn begins_time(token: Option<&Token>) -> bool {
    token.is_some_and(|token| is_time_word(&token.lower) || is_month(&token.lower))
}

/// Where a phrase goes on behind an `and` or a comma: at further names, at a further noun, or, where
/// two verbs share one object (`tested and merged the branch`), behind the second verb.
fn continues(tokens: &[Token], at: usize, collector: &Collector) -> Option<usize> {
    let mut next = at + 1;
    while matches!(tokens.class(next), And | Adverb) && tokens.lower(next) != "now" {
        next += 1;
    }
    let token = tokens.get(next)?;
    let has_nouns = !collector.phrase.nouns.is_empty();
    let is_comma = tokens.class(at) == Comma;
    match token.class {
        Verb if !collector.is_begun => {
            let form = token.verb.form;
            (form.is_past() || form.is_participle()).then_some(next + 1)
        }
        Name | Number if collector.is_begun && !has_nouns => Some(next),
        Noun | Adjective if has_nouns && !is_comma && !collector.is_joined => Some(next),
        Noun if collector.is_begun && !has_nouns && !is_comma => Some(next),
        _ => None,
    }
}

fn is_amount(collector: &Collector) -> bool {
    match &collector.phrase.head {
        Some(head) => is_quantity(head),
        None => collector.is_begun,
    }
}

/// Whether a noun phrase may begin with this token.
pub fn begins_phrase(token: Option<&Token>) -> bool {
    token.is_some_and(|token| match token.class {
        Determiner | Number | Name | Adjective | Noun | Object | Thing => true,
        Verb => {
            matches!(
                token.verb.form,
                Form::Base | Form::Third | Form::PastOrParticiple
            )
        }
        _ => false,
    })
}

fn is_time(tokens: &[Token], at: usize) -> bool {
    (at..at + 2).any(|at| is_time_word(tokens.lower(at)))
}

/// The phrase that a clause's subject is: its words up to the first preposition.
pub fn subject(tokens: &[Token]) -> Phrase {
    let mut collector = Collector::begun();
    let mut rest = tokens;
    // `In the new project a branch was created`: the last phrase is the subject.
    if matches!(tokens.class(0), Preposition | Subordinator) {
        let last = tokens.iter().rposition(|token| token.class == Determiner);
        rest = tokens.rest(last.unwrap_or(0));
    }
    let mut is_numbered = false;
    for (at, token) in rest.iter().enumerate() {
        let has_nouns = !collector.phrase.nouns.is_empty();
        collector.phrase.is_negative |= is_negative(token) || at == 0 && token.class == Not;
        match token.class {
            Determiner => collector.is_determined = true,
            Noun => collector.add(token),
            Verb => match token.verb.form {
                Form::Base | Form::Third | Form::Any | Form::Ing => collector.add(token),
                _ if has_nouns => break,
                _ => {}
            },
            Preposition if token.lower == "of" && is_amount(&collector) => {
                collector.clear();
            }
            Preposition | To | Which | That | Agent | Person if has_nouns => {
                break;
            }
            Number if has_nouns => is_numbered = true,
            And => collector.is_joined |= has_nouns,
            _ => {}
        }
    }
    collector.finish(is_numbered).unwrap_or_default()
}

/// Collects a phrase token by token.
#[derive(Default)]
struct Collector {
    /// What was collected.
    phrase: Phrase,
    /// Whether anything of a phrase was seen.
    is_begun: bool,
    /// Whether a determiner was.
    is_determined: bool,
    /// Whether the head is settled and more words only belong to it by `and`.
    is_joined: bool,
    /// Words with a capital.
    capitals: usize,
}

impl Collector {
    /// Of a phrase that is known to be there.
    fn begun() -> Self {
        Self {
            is_begun: true,
            ..Self::default()
        }
    }

    /// Adds a word, as the head so far.
    fn add(&mut self, token: &Token) {
        self.is_begun = true;
        self.capitals += usize::from(token.is_capital());
        let noun = if token.lower == "e-mail" {
            "email"
        } else {
            &token.lower
        };
        self.phrase.nouns.push(noun.to_owned());
        self.phrase.nouns.extend(
            noun.split('-')
                .filter(|part| part.len() < noun.len())
                .map(str::to_owned),
        );
        if !self.is_joined {
            self.phrase.head = Some(noun.rsplit('-').next().unwrap_or(noun).to_owned());
        }
    }

    /// Begins again: what came before only said how much of it there is.
    fn clear(&mut self) {
        let is_negative = self.phrase.is_negative;
        *self = Self::begun();
        self.phrase.is_negative = is_negative;
    }

    /// The phrase, if there was any.
    fn finish(mut self, is_numbered: bool) -> Option<Phrase> {
        let words = self.phrase.nouns.len();
        self.phrase.is_joined = self.is_joined;
        self.phrase.is_proper =
            words > 0 && self.capitals == words && !self.is_determined && !is_numbered;
        self.is_begun.then_some(self.phrase)
    }
}
