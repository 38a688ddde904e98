//! Verbs without an auxiliary or a pronoun right before them: first in a sentence, joined by `and`, or
//! after a noun.

use super::prelude::*;

impl Walker<'_> {
    /// Looks at a verb that no subject reached yet.
    pub fn verb(&mut self, at: usize) {
        match self.reading(at).form {
            Form::Ing => self.ing(at),
            Form::Base => self.base(at),
            Form::Third => self.third(at),
            _ => self.past(at),
        }
    }

    fn past(&mut self, at: usize) {
        if self.is_adjective(at) {
            self.last_adjective = Some(at);
            return;
        }
        let Some(place) = left(self.tokens, at) else {
            return self.elliptical(at);
        };
        match self.class(place) {
            Stop => self.elliptical(at),
            And | Comma | But => self.coordinated(at, place),
            To | Modal | Do => self.base(at),
            Noun | Name | Number | Thing | Person | Object | Verb => {
                self.after_noun(at, place);
            }
            _ => {}
        }
    }

    /// `the deleted file`, `3 closed issues`, `open and closed tickets`, `of cancelled orders`.
    fn is_adjective(&self, at: usize) -> bool {
        if at > 0 && self.lower(at - 1) == "newly" {
            return true;
        }
        let Some(place) = left(self.tokens, at) else {
            return false;
        };
        let has_noun = self.token(at + 1).is_some_and(is_bare_noun);
        match self.class(place) {
            Determiner => true,
            Preposition => self.lower(place) != "by" || has_noun,
            Number | Adjective | Verb => has_noun,
            And | Comma => {
                // `any deleted, closed or merged items`
                let goes_on = matches!(self.class(at + 1), And | Comma);
                let Some(before) = place.checked_sub(1) else {
                    return false;
                };
                let follows =
                    self.last_adjective == Some(before) || self.class(before) == Adjective;
                follows && (has_noun || goes_on)
            }
            _ => false,
        }
    }

    /// A verb that `and` or a comma joins to the one before.
    fn coordinated(&mut self, at: usize, place: usize) {
        let reading = self.reading(at);
        let Some(controller) = self.controller.clone() else {
            return self.elliptical(at);
        };
        let form = reading.form;
        let is_comma = self.class(place) == Comma;
        let contrasts = self.class(place) == But;
        let has_object = object(self.tokens, at + 1, &reading.base).is_some();
        let continues_infinitive =
            controller.governing == Governing::Base || self.infinitive.is_some();
        if form == Form::Any && continues_infinitive && !contrasts {
            return self.base(at);
        }
        match (controller.governing, &controller.subject) {
            (Governing::Passive, Subject::Agent) if has_object => self.join(at, true),
            (Governing::Passive, _) if has_object && is_comma && form.is_past() => {
                self.elliptical(at);
            }
            (Governing::Passive, _) if has_object || !form.is_participle() => {
                self.join_other();
            }
            (Governing::Passive, _) => self.passive(at),
            (Governing::Base, _) => self.join(at, true),
            (Governing::Finite | Governing::Perfect | Governing::Present, _) => {
                // `the invoice, sent on Monday, …` tells of the invoice.
                let is_placed = matches!(self.lower(at + 1), "to" | "into" | "onto");
                if has_object || !is_comma || is_placed {
                    self.join(at, controller.is_real || contrasts);
                }
            }
        }
    }

    /// The controller's subject did this too.
    fn join(&mut self, at: usize, is_real: bool) {
        let verb = self.lower(at).to_owned();
        let Some(controller) = &mut self.controller else {
            return;
        };
        controller.is_real = is_real;
        controller.verb = verb;
        if controller.governing == Governing::Base || controller.governing == Governing::Passive {
            controller.governing = Governing::Finite;
        }
        let is_agents = controller.subject == Subject::Agent && is_real;
        self.last_verb = Some(at);
        self.infinitive = None;
        self.gerund = None;
        if is_agents {
            self.active(at);
        }
    }

    /// Whatever the passive was about did this.
    fn join_other(&mut self) {
        if let Some(controller) = &mut self.controller {
            controller.subject = Subject::Other;
            controller.governing = Governing::Finite;
        }
    }

    /// A verb after a noun: `Alice created the issue`, `Ticket created`, `the file deleted by Bob`.
    fn after_noun(&mut self, at: usize, place: usize) {
        let reading = self.reading(at);
        let start = self.region_start(place + 1);
        let Some(region) = self
            .tokens
            .get(start..=place)
            .filter(|region| !region.is_empty())
        else {
            return;
        };
        let before = start.checked_sub(1);
        // The noun is the object of a verb before it: `I found the file deleted`.
        if before.is_some() && before == self.last_verb {
            return;
        }
        let before = before.map_or(Stop, |before| self.class(before));
        if matches!(before, That | Which) && reading.form.is_participle() && !reading.form.is_past()
        {
            return;
        }
        let has_object = object(self.tokens, at + 1, &reading.base).is_some();
        if has_object || !reading.form.is_participle() {
            let phrase = subject(region);
            let is_agent = is_agent_noun(region);
            self.keep_main(start);
            let subject = if is_agent {
                Subject::Agent
            } else {
                Subject::Other
            };
            self.controller = Some(Controller {
                is_real: !phrase.is_negative,
                is_denied: phrase.is_negative,
                ..Controller::fact(subject, Governing::Finite, self.lower(at))
            });
            self.last_verb = Some(at);
            self.infinitive = None;
            self.gerund = None;
            if is_agent {
                self.active(at);
            }
        } else if self.is_headline(at, region, before) {
            let phrase = subject(region);
            // `will be sent, and the account closed`
            let is_joined = matches!(before, And | Comma);
            let is_real = self
                .controller
                .as_ref()
                .is_none_or(|controller| controller.is_real);
            let is_real = !phrase.is_negative && (is_real || !is_joined);
            let subject = Subject::Thing(phrase);
            self.controller = Some(Controller {
                is_real,
                ..Controller::fact(subject, Governing::Passive, self.lower(at))
            });
            self.last_verb = Some(at);
            self.passive(at);
        }
    }

    /// `the agent creates`: only of the agent itself.
    fn third(&mut self, at: usize) {
        let Some(place) = left(self.tokens, at) else {
            return;
        };
        match self.class(place) {
            Noun | Verb => {
                let start = self.region_start(place + 1);
                let region = self.tokens.get(start..=place).unwrap_or_default();
                if is_agent_noun(region) {
                    self.control(Subject::Agent, Governing::Present, at);
                    self.active(at);
                }
            }
            And | Comma => {
                let is_agents = self.controller.as_ref().is_some_and(|controller| {
                    controller.governing == Governing::Present && controller.is_agents_fact()
                });
                if is_agents && begins_phrase(self.token(at + 1)) {
                    self.active(at);
                }
            }
            _ => {}
        }
    }
}

// Subjects and their auxiliaries: whose doing a clause tells of, and whether as a fact.

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
