//! Clauses: the auxiliaries before a verb, whose doing it is, and whether it is a fact.

use super::prelude::*;

/// What stands between a subject and its verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `will`, `can`.
    Modal,
    /// `not`, `never`.
    Not,
    /// `did`.
    Did,
    /// `do`.
    Do,
    /// `have`.
    Have,
    /// `had`.
    Had,
    /// `was`, `got`.
    Was,
    /// `is`.
    Is,
    /// `be`, which only follows a modal or `to`.
    Be,
    /// `been`.
    Been,
    /// `being`.
    Being,
    /// `to`.
    To,
    /// `now`.
    Now,
    /// `already`, `originally`: it was so before.
    Stale,
    /// `almost`, `perhaps`.
    Hedge,
    /// `successfully`.
    Successfully,
    /// Any other adverb, which changes nothing.
    Plain,
}

/// The auxiliaries and adverbs before a verb, and where they end.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    parts: Vec<Part>,
    /// The first token behind them.
    pub end: usize,
}

impl Chain {
    pub fn read(tokens: &[Token], from: usize) -> Self {
        let mut chain = Self {
            parts: Vec::new(),
            end: from,
        };
        let limit = from.saturating_add(WINDOW);
        while let Some(token) = tokens.get(chain.end).filter(|_| chain.end < limit) {
            match token.class {
                And if is_between_adverbs(tokens, chain.end) => {}
                Comma => match aside_end(tokens, chain.end) {
                    Some(end) if !chain.parts.is_empty() => {
                        chain.end = end;
                        continue;
                    }
                    _ => break,
                },
                To => {
                    let is_infinitive = matches!(tokens.class(chain.end + 1), Be | Have);
                    if !is_infinitive && !chain.has(Part::Had) {
                        break;
                    }
                    chain.parts.push(Part::To);
                }
                // `not only created but also sent` denies nothing.
                Not if matches!(tokens.lower(chain.end + 1), "only" | "just" | "merely") => {}
                _ => match part(token) {
                    Some(Part::Plain) => {}
                    Some(part) => chain.parts.push(part),
                    None => break,
                },
            }
            chain.end += 1;
        }
        chain
    }

    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    /// Whether it has any of these.
    pub fn has_any(&self, parts: &[Part]) -> bool {
        parts.iter().any(|part| self.has(*part))
    }

    pub fn is_auxiliary(&self) -> bool {
        self.parts.iter().any(|part| {
            !matches!(
                part,
                Part::Not | Part::Now | Part::Stale | Part::Hedge | Part::Successfully
            )
        })
    }

    /// Whether it leaves the verb a fact.
    pub fn is_real(&self) -> bool {
        let had_to = self.has(Part::Had) && !self.has(Part::Be);
        !self.has_any(&[Part::Not, Part::Modal, Part::Be, Part::Hedge])
            && (!self.has(Part::To) || had_to)
    }

    /// What kind of verb must follow.
    pub fn kind(&self) -> Governing {
        if self.has_any(&[Part::Was, Part::Is, Part::Be, Part::Been, Part::Being]) {
            Governing::Passive
        } else if self.has_any(&[Part::Did, Part::Do, Part::To]) {
            Governing::Base
        } else if self.has_any(&[Part::Have, Part::Had]) {
            Governing::Perfect
        } else if self.has(Part::Modal) {
            Governing::Base
        } else {
            Governing::Finite
        }
    }

    /// Whether a passive tells of something that was just done: `was sent`, `has been sent`, `is now
    /// sent`; not `had been sent`, `was already sent`, nor `is sent`, unless it is told as done.
    pub fn reports_completion(&self, is_marked_done: bool) -> bool {
        let is_perfect = self.has(Part::Been) && self.has(Part::Have);
        let is_past = self.has(Part::Was);
        let is_marked = self.has_any(&[Part::Now, Part::Successfully]) || is_marked_done;
        let is_now = self.has(Part::Is) && is_marked;
        (is_perfect || is_past || is_now) && !self.has_any(&[Part::Stale, Part::Being, Part::Had])
    }
}

/// Whether an adverb leaves open whether it was done.
pub fn is_hedge(token: &Token) -> bool {
    token.class == Adverb && part(token) == Some(Part::Hedge)
}

/// Whether an adverb says that it was so before.
pub fn is_stale(token: &Token) -> bool {
    token.class == Adverb && part(token) == Some(Part::Stale)
}

/// What an auxiliary or adverb adds to a chain; `None` of any other word.
fn part(token: &Token) -> Option<Part> {
    Some(match token.class {
        Modal => Part::Modal,
        Not => Part::Not,
        Do if token.lower == "did" => Part::Did,
        Do => Part::Do,
        Have => match token.lower.as_str() {
            "had" | "'d" => Part::Had,
            _ => Part::Have,
        },
        Be => match token.lower.as_str() {
            "was" | "were" | "got" | "gotten" => Part::Was,
            "be" => Part::Be,
            "been" => Part::Been,
            "being" => Part::Being,
            _ => Part::Is,
        },
        Adverb => match token.lower.as_str() {
            "now" => Part::Now,
            "successfully" => Part::Successfully,
            word if tells_of_before(word) => Part::Stale,
            word if hedges(word) => Part::Hedge,
            _ => Part::Plain,
        },
        _ => return None,
    })
}

fn is_between_adverbs(tokens: &[Token], at: usize) -> bool {
    at > 0 && tokens.class(at - 1) == Adverb && tokens.class(at + 1) == Adverb
}

/// The end of an aside between commas that begins here: `I have, as requested, deleted it`.
fn aside_end(tokens: &[Token], comma: usize) -> Option<usize> {
    let mut places = comma + 1..comma + 7;
    let end = places.find(|at| tokens.class(*at) == Comma)? + 1;
    let goes_on = matches!(tokens.class(end), Verb | Adverb | Be | Have);
    goes_on.then_some(end)
}

/// What the verbs that one subject governs are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governing {
    /// `I created`.
    Finite,
    /// `the agent creates`.
    Present,
    /// `I have created`.
    Perfect,
    /// `it was created`.
    Passive,
    /// `I did create`, `I will create`.
    Base,
}

/// Whose doing it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Agent,
    /// Somebody else's.
    Other,
    /// Of a passive: what it was done to.
    Thing(Phrase),
}

/// What further verbs of a clause take over from the first.
#[derive(Debug, Clone)]
pub struct Controller {
    /// Whose doing it is.
    pub subject: Subject,
    /// What the verbs are like.
    pub governing: Governing,
    /// Whether they are facts.
    pub is_real: bool,
    /// Whether they are denied, and with them what hangs on them: `I don't think that …`.
    pub is_denied: bool,
    /// The word that is the verb, in lower case.
    pub verb: String,
}

impl Controller {
    /// A fact that a subject is told of with this verb.
    pub fn fact(subject: Subject, governing: Governing, verb: &str) -> Self {
        Self {
            subject,
            governing,
            is_real: true,
            is_denied: false,
            verb: verb.to_owned(),
        }
    }

    /// Whether the agent says that it did it.
    pub fn is_agents_fact(&self) -> bool {
        self.is_real && !matches!(self.subject, Subject::Other) && !is_nonfactive(&self.verb)
    }
}

/// The nearest token to the left that is no adverb.
pub fn left(tokens: &[Token], at: usize) -> Option<usize> {
    let mut place = at.checked_sub(1)?;
    let limit = at.saturating_sub(WINDOW);
    loop {
        let token = tokens.get(place)?;
        let is_skipped =
            token.class == Adverb || token.class == And && is_between_adverbs(tokens, place);
        if !is_skipped || place < limit {
            return Some(place);
        }
        place = place.checked_sub(1)?;
    }
}

/// Where the noun phrase that ends before `end` begins: behind whatever else the clause has. `floor`
/// is the first place behind the last verb, and `has_verb` whether the clause has one already.
pub fn region_start(tokens: &[Token], end: usize, floor: usize, has_verb: bool) -> usize {
    let mut start = end;
    let limit = end.saturating_sub(WINDOW).max(floor);
    while start > limit {
        match tokens.class(start - 1) {
            Comma | Stop | Subordinator | That | Which | But => break,
            And if has_verb || tokens.lower(start - 1) == "then" => break,
            _ => start -= 1,
        }
    }
    start
}
