//! Subjects and their auxiliaries: whose doing a clause tells of, and whether as a fact.

use super::claims::Walker;
use crate::english::prelude::*;

impl Walker<'_> {
    /// A pronoun, its auxiliaries, and the verb behind them.
    pub fn subject(&mut self, at: usize) -> usize {
        let chain = Chain::read(self.tokens, at + 1);
        let class = self.class(at);
        if class != Agent && !self.is_subject(at, &chain) {
            return at + 1;
        }
        self.keep_main(at);
        let relative = self.relative_head(at);
        let is_passive = chain.kind() == Governing::Passive;
        let mut is_real = chain.is_real() && !self.is_hypothetical(at);
        let subject = match class {
            Agent => Subject::Agent,
            Thing if is_passive => {
                let token = self.token(at);
                is_real &= !token.is_some_and(is_negative) && !self.is_observed(at);
                Subject::Thing(Phrase::default())
            }
            _ => Subject::Other,
        };
        if subject == Subject::Agent {
            self.is_observing = false;
        }
        let next = self.govern(subject, &chain, is_real);
        self.relative = relative;
        next
    }

    /// Whether `you` or `it` is the subject of what follows, not the object of what came before.
    pub fn is_subject(&self, at: usize, chain: &Chain) -> bool {
        let before = left(self.tokens, at).map_or(Stop, |place| self.class(place));
        let is_object = matches!(before, Verb | Preposition | To);
        if chain.is_auxiliary() {
            return !is_object || self.lower(at) != "you";
        }
        let is_past = self.reading(chain.end).form.is_past();
        // `it looks`, `he writes`: a verb of which no list knows.
        let has_verb = is_past || self.class(chain.end) == Noun;
        !is_object && (has_verb || self.class(at) == Person)
    }

    /// Auxiliaries without a pronoun before them: after a noun, after `and`, or first of all.
    pub fn auxiliary(&mut self, at: usize) -> usize {
        let chain = Chain::read(self.tokens, at);
        let is_passive = chain.kind() == Governing::Passive;
        let elliptical = if is_passive {
            Subject::Thing(Phrase::default())
        } else {
            Subject::Agent
        };
        let Some(place) = left(self.tokens, at) else {
            return self.govern(elliptical, &chain, chain.is_real());
        };
        let relative = self.relative.take();
        match self.class(place) {
            Stop => self.govern(elliptical, &chain, chain.is_real()),
            And | Comma | But => {
                let subject = self
                    .controller
                    .as_ref()
                    .map(|controller| controller.subject.clone());
                let is_real = chain.is_real() && !self.is_observing;
                self.govern(subject.unwrap_or(elliptical), &chain, is_real)
            }
            Which | That | Subordinator => {
                // A relative clause describes; what it hangs on goes on behind it.
                self.last_verb = Some(chain.end);
                chain.end + usize::from(self.class(chain.end) == Verb)
            }
            // `the issue I created was …`, `the change you asked for was …`
            _ if relative.is_some() && is_passive => {
                let subject = Subject::Thing(relative.unwrap_or_default());
                self.govern(subject, &chain, chain.is_real())
            }
            Verb | Preposition if !self.is_noun(place) => {
                self.govern(Subject::Thing(Phrase::default()), &chain, chain.is_real())
            }
            _ => {
                let start = self.region_start(place + 1);
                let region = self.tokens.get(start..=place).unwrap_or_default();
                let phrase = subject(region);
                self.keep_main(start);
                let is_observed = self.is_observed(start) || tells_of_another(region);
                let is_real = chain.is_real() && !phrase.is_negative && !is_observed;
                let subject = if is_passive {
                    Subject::Thing(phrase)
                } else if is_agent_noun(region) {
                    Subject::Agent
                } else {
                    Subject::Other
                };
                self.is_observing = is_observed;
                self.govern(subject, &chain, is_real)
            }
        }
    }

    /// Remembers who governed before a clause that begins here and hangs on another.
    pub fn keep_main(&mut self, start: usize) {
        let before = left(self.tokens, start).map_or(Stop, |place| self.class(place));
        let hangs = matches!(before, Subordinator | That | Which);
        if hangs && self.main.is_none() {
            self.main.clone_from(&self.controller);
        }
    }

    /// `listing`, `update`: a form of a verb that may as well be a noun.
    pub fn is_noun(&self, at: usize) -> bool {
        self.reading(at).form.may_be_noun()
    }
}
