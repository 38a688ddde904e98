//! Whether what a clause says is asserted, and of what thing.

use super::prelude::*;

impl Walker<'_> {
    /// Whether a clause with its subject here is only thought: `before I deleted it`, `I thought I sent it`.
    pub fn is_hypothetical(&self, at: usize) -> bool {
        let Some(mut place) = left(self.tokens, at) else {
            return at > 0 && self.tokens.first().is_some_and(is_hedge);
        };
        if self.class(place) == That {
            match place.checked_sub(1) {
                Some(before) => place = before,
                None => return false,
            }
        }
        is_hypothetical(self.lower(place)) || self.is_denied(place)
    }

    /// Whether a clause that begins here tells of what was found or happens in general, by what stands
    /// before it: `because`, `when`, `I noticed that`; not `I can confirm that`.
    pub fn is_observed(&self, start: usize) -> bool {
        let Some(place) = start.checked_sub(1) else {
            return false;
        };
        let before = left(self.tokens, place).map_or("", |place| self.lower(place));
        match self.class(place) {
            Stop | Comma | But => false,
            And => self.is_observing,
            Subordinator => match self.lower(place) {
                "after" => !self.has_agent,
                "although" | "though" | "while" | "whilst" | "whereas" => false,
                // `As requested the user was removed`.
                "as" => self.class(start) != Verb,
                _ => true,
            },
            That => {
                let is_told = is_report(before) || self.lower(place.saturating_sub(1)) == "now";
                !is_told || self.is_denied(place.saturating_sub(1))
            }
            Which => true,
            // `As you asked the user was removed`.
            _ => {
                let is_as = place >= 2 && self.lower(place - 2) == "as";
                let is_told = is_report(self.lower(place)) && !self.is_denied(place);
                self.last_verb == Some(place) && !is_told && !is_as
            }
        }
    }

    /// A participle after `was`, said of the controller's thing.
    pub fn passive(&mut self, at: usize) {
        let Some(Controller {
            subject: Subject::Thing(phrase),
            is_real: true,
            ..
        }) = &self.controller
        else {
            return;
        };
        // `the customer was sent an email`
        let verb = self.reading(at).base.as_str();
        let phrase = object(self.tokens, at + 1, verb)
            .filter(|_| verb == "send")
            .unwrap_or_else(|| phrase.clone());
        let rest = tail(self.tokens, at + 1);
        // `written in Rust` describes.
        let is_described = verb == "write" && self.lower(at + 1) == "in";
        let is_old = is_long_ago(rest) || self.begins_long_ago();
        if !is_by_other(rest) && !is_old && !is_described {
            self.claim(at, phrase);
        }
    }

    /// Whether the verb at a place is denied, and what hangs on it with it.
    fn is_denied(&self, place: usize) -> bool {
        let is_denied = self
            .controller
            .as_ref()
            .is_some_and(|controller| controller.is_denied);
        self.last_verb == Some(place) && is_denied
    }

    /// `Last week the branch was merged`, `Apparently, it was sent`, `Every time it was changed …`.
    fn begins_long_ago(&self) -> bool {
        let segment = self.tokens.rest(self.segment_start);
        let first = segment.get(..4).unwrap_or(segment);
        let is_finite = |token: &Token| matches!(token.class, Be | Have);
        let first = first.split(is_finite).next().unwrap_or_default();
        match (first.lower(0), first.lower(1), first.lower(2)) {
            ("in", "the", "past")
            | ("each" | "every" | "any", "time", _)
            | ("historically", ..) => true,
            _ if first.first().is_some_and(is_hedge) => true,
            _ => {
                let is_thing = first.first().is_none_or(|token| token.class == Determiner);
                !is_thing && is_long_ago(first)
            }
        }
    }

    /// A verb of which the agent is the subject.
    pub fn active(&mut self, at: usize) {
        let base = self.reading(at).base.as_str();
        if self.is_other_sense(at, base) {
            return;
        }
        let phrase = object(self.tokens, at + 1, base)
            .or_else(|| self.antecedent(at))
            .unwrap_or_default();
        if !phrase.is_negative {
            self.claim(at, phrase);
        }
    }

    /// `I added that …`, `I set out to …`: not what the verb does to a thing.
    pub fn is_other_sense(&self, at: usize, base: &str) -> bool {
        let next = self.lower(at + 1);
        match base {
            // `I'm writing to confirm …`
            "write" if next == "to" => !matches!(self.class(at + 2), Determiner | Name),
            "add" | "write" | "post" => self.class(at + 1) == That,
            "set" => matches!(next, "out" | "about" | "off" | "forth" | "aside"),
            "put" => matches!(next, "off" | "aside" | "forward"),
            "drop" => matches!(next, "by" | "in"),
            _ => false,
        }
    }

    /// The noun phrase right before a clause with its subject here, which tells more of it.
    pub fn relative_head(&self, at: usize) -> Option<Phrase> {
        let mut end = at;
        if matches!(self.class(end.checked_sub(1)?), That | Which) {
            end -= 1;
        }
        if self.class(end.checked_sub(1)?) != Noun {
            return None;
        }
        let start = self.region_start(end);
        // `I deleted the file you sent` has its verb already.
        let is_subject = start == 0 || self.class(start - 1).begins_clause();
        let phrase = subject(self.tokens.get(start..end)?);
        (is_subject && self.class(start) == Determiner).then_some(phrase)
    }

    /// The thing before a clause that says what was done with it: `the issue I created`.
    pub fn antecedent(&self, at: usize) -> Option<Phrase> {
        let agent = (0..at)
            .rev()
            .take(6)
            .find(|place| self.class(*place) == Agent)?;
        let mut end = agent;
        while matches!(self.class(end.checked_sub(1)?), That | Which) {
            end -= 1;
        }
        let place = end.checked_sub(1)?;
        if !matches!(self.class(place), Noun | Name) {
            return None;
        }
        let start = region_start(self.tokens, end, 0, true);
        let is_adverbial = |class| matches!(class, Preposition | Subordinator);
        let before = start.checked_sub(1).map_or(Stop, |place| self.class(place));
        if is_adverbial(self.class(start)) || is_adverbial(before) {
            return None;
        }
        let determiner = (start..end)
            .rev()
            .find(|place| self.class(*place) == Determiner)?;
        Some(subject(self.tokens.get(determiner..end)?))
    }
}
