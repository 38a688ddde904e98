//! Claims without a subject or an auxiliary: `Sent the email.`, `Ticket created.`

use super::claims::Walker;
use crate::english::prelude::*;

impl Walker<'_> {
    /// A verb that begins a sentence or an item: `Sent the email.`
    pub fn elliptical(&mut self, at: usize) {
        let reading = self.reading(at);
        let is_labelled = self.is_mark(at + 1, ':');
        let from = if is_labelled { at + 2 } else { at + 1 };
        let object = object(self.tokens, from, &reading.base);
        let accepted = match &object {
            Some(_) if is_labelled => self.is_thing_label(from),
            Some(_) => {
                !self.is_modifier(at) && (reading.form != Form::Any || self.is_told_past(at))
            }
            None => self.is_placed(at),
        };
        if !accepted {
            return;
        }
        self.control(Subject::Agent, Governing::Finite, at);
        if is_labelled {
            self.claim(at, object.unwrap_or_default());
        } else {
            self.active(at);
        }
    }

    /// `Created: issue #12`, but not `Created: 2024-03-01` or `Closed: 12`.
    pub fn is_thing_label(&self, from: usize) -> bool {
        let Some(token) = self.token(from) else {
            return false;
        };
        match token.kind {
            Kind::Number => token.lower.starts_with('#') || self.class(from + 1) == Noun,
            Kind::Name => !token.lower.starts_with(|c: char| c.is_ascii_digit()),
            Kind::Word => !matches!(token.lower.as_str(), "yes" | "no" | "none" | "never"),
            _ => true,
        }
    }

    /// `Deleted items are kept for 30 days`, `Closed tickets: 12`: said of the noun.
    pub fn is_modifier(&self, at: usize) -> bool {
        if !self.token(at + 1).is_some_and(is_bare_noun) {
            return false;
        }
        let rest = tail(self.tokens, at + 1);
        let end = at + 1 + rest.len();
        has_finite(rest) || self.is_mark(end, ':') || self.is_mark(end, '=') || self.is_heading
    }

    /// Whether `set` or `put` at the start tells of the past: nobody is being told what to do.
    pub fn is_told_past(&self, at: usize) -> bool {
        let mut next = at + 1;
        while matches!(
            self.lower(next),
            "up" | "out" | "back" | "together" | "down"
        ) {
            next += 1;
        }
        let is_report = self.message.is_report || self.has_claimed();
        (self.class(next).is_definite() || is_report) && !self.message.is_instructive
    }

    /// `Posted in #general`, `Sent to Bob`, but not `Created on 4 May` or `Updated by Alice`.
    pub fn is_placed(&self, at: usize) -> bool {
        let rest = tail(self.tokens, at + 1);
        let verb = self.reading(at).base.as_str();
        let is_definite = matches!(self.class(at + 2), Determiner | Name);
        let is_place = match self.lower(at + 1) {
            "to" | "into" | "onto" => true,
            "in" | "on" => is_definite && verb != "write",
            // `Sent from my phone` is a signature.
            "from" => is_definite && verb != "send",
            // `Deleted.` and nothing else.
            _ => {
                let is_first = left(self.tokens, at).is_none();
                let ends = self.is_mark(at + 1, '.') || self.is_mark(at + 1, '!');
                is_first && ends && at + 2 == self.tokens.len()
            }
        };
        is_place && !is_long_ago(rest) && !is_by_other(rest) && !has_finite(rest)
    }

    /// `Ticket created with priority high.`: a passive without its auxiliary.
    pub fn is_headline(&self, at: usize, region: &[Token], before: Class) -> bool {
        let follows_headline = match &self.controller {
            None => true,
            Some(controller) => {
                controller.governing == Governing::Passive
                    && matches!(controller.subject, Subject::Thing(_))
            }
        };
        let begins = match before {
            Stop => true,
            Comma | And | But => follows_headline,
            _ => false,
        };
        let has_preposition = region.class(0) == Preposition;
        let is_dropping = self.reading(at).base == "drop";
        let rest = tail(self.tokens, at + 1);
        // `Tickets closed: 14` is a count.
        let is_counted = self.is_mark(at + 1, ':')
            && self
                .token(at + 2)
                .is_some_and(|token| token.text.starts_with(|c: char| c.is_ascii_digit()));
        // `Time last edited: …`, `Last email sent: …`
        let is_stale = self
            .tokens
            .get(at.saturating_sub(region.len() + 2)..at)
            .unwrap_or_default()
            .iter()
            .any(is_stale);
        // `The email sent to Bob bounced`: the second verb is the finite one.
        let is_determined = region.iter().any(|token| token.class == Determiner);
        let is_past = |form: Form| form.is_past() && form != Form::Any;
        let has_other_verb = rest.iter().any(|token| is_past(token.verb.form));
        begins
            && !has_preposition
            && !is_dropping
            && !is_counted
            && !is_stale
            && !is_somebody(region)
            && !has_finite(rest)
            && !(is_determined && has_other_verb)
    }
}

/// A noun without a determiner before it.
pub fn is_bare_noun(token: &Token) -> bool {
    match token.class {
        Noun | Adjective => true,
        Verb => token.verb.form.may_be_noun(),
        _ => false,
    }
}

/// Whether a subject is somebody who does things: `Bob`, `the customer`.
fn is_somebody(region: &[Token]) -> bool {
    let Some(head) = subject(region).head else {
        return false;
    };
    let is_determined = region.iter().any(|token| token.class == Determiner);
    let is_single = region.len() == 1 && region.iter().all(Token::is_capital);
    is_single && is_first_name(&head) || is_determined && is_actor(&head)
}
