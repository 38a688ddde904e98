//! Claims without a subject or an auxiliary: `Sent the email.`, `Ticket created.`

use super::prelude::*;

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

// Infinitives and `-ing` forms: claims only where what governs them says that they happened.
// `I managed to cancel it`, `I fixed it by adding an index`, `after closing the ticket I …`.

impl Walker<'_> {
    /// `to`, before an infinitive or a place.
    pub fn to(&mut self, at: usize) -> usize {
        if matches!(self.class(at + 1), Be | Have) {
            let chain = Chain::read(self.tokens, at);
            return self.govern(Subject::Thing(Phrase::default()), &chain, false);
        }
        let has_verb = self.reading(at + 1).form.is_base();
        let governor = left(self.tokens, at);
        let word = governor.map_or("", |place| self.lower(place));
        let is_agents = self.is_agents_fact();
        self.infinitive = match word {
            "able" => Some(self.was_able(governor.unwrap_or_default())),
            "managed" | "proceeded" | "remembered" | "sure" | "liberty" | "care" | "ahead" => {
                Some(is_agents)
            }
            _ if is_nonfactive(word) => Some(false),
            _ if has_verb && self.is_used() => Some(is_agents),
            _ if has_verb => Some(false),
            _ => return at + 1,
        };
        // Without a verb before it, it belongs to the subject: `permission to edit the page was …`.
        if self.controller.is_some() {
            self.last_verb = Some(at + 1);
        }
        at + 1
    }

    /// `was able`, `have been able`; not `am able`, `was not able`.
    fn was_able(&self, at: usize) -> bool {
        let before = self
            .tokens
            .get(at.saturating_sub(4)..at)
            .unwrap_or_default();
        let is_past = before
            .iter()
            .any(|token| matches!(token.lower.as_str(), "was" | "were" | "been"));
        let is_denied = before
            .iter()
            .any(|token| matches!(token.class, Not | Modal));
        let is_agents = self.is_agents_fact();
        is_past && !is_denied && is_agents
    }

    /// `I used the API to create the issue`.
    fn is_used(&self) -> bool {
        self.controller
            .as_ref()
            .is_some_and(|controller| controller.verb == "used")
    }

    /// A base form is a claim where it goes on with a factual infinitive, or is an item under
    /// `What I did`.
    pub fn base(&mut self, at: usize) {
        // `to closed` is a state.
        if !self.reading(at).form.is_base() {
            return;
        }
        let Some(place) = left(self.tokens, at) else {
            if self.mood == Mood::Done && begins_phrase(self.token(at + 1)) {
                self.active(at);
            }
            return;
        };
        let is_fact = match self.class(place) {
            To | And | Comma => self.infinitive == Some(true),
            Stop => self.mood == Mood::Done && place == 0 && begins_phrase(self.token(at + 1)),
            _ => false,
        };
        if is_fact {
            self.active(at);
        }
    }

    /// An `-ing` form.
    pub fn ing(&mut self, at: usize) {
        let fact = match left(self.tokens, at) {
            None => Some(self.is_begun(at)),
            Some(place) => self.is_done(at, place),
        };
        let Some(fact) = fact else {
            if self.reading(at).is_claimable {
                self.gerund = Some(false);
            }
            return;
        };
        self.gerund = Some(fact);
        if fact {
            self.active(at);
        }
    }

    /// Whether an `-ing` form behind this place was done; `None` where it is none of a verb.
    fn is_done(&self, at: usize, place: usize) -> Option<bool> {
        let is_agents = self.is_agents_fact();
        let before = left(self.tokens, place).map_or("", |place| self.lower(place));
        let word = self.lower(place);
        match self.class(place) {
            Stop => Some(self.is_begun(at)),
            And => Some(self.gerund == Some(true)),
            Comma => Some(match self.gerund {
                Some(fact) => fact,
                None => is_agents || self.controller.is_none() && self.has_agent,
            }),
            _ => match word {
                "by" if self.controller.is_none() => Some(self.has_agent),
                "by" => Some(is_agents && !self.is_cause()),
                "after" | "upon" | "following" => {
                    Some(self.has_agent || self.controller.is_none() && self.is_followed(at))
                }
                "finished" | "completed" | "done" => Some(is_agents || self.controller.is_none()),
                "up" => Some(is_agents && matches!(before, "ended" | "wound" | "finished")),
                "in" => Some(is_agents && matches!(before, "succeeded" | "successful")),
                "of" => Some(is_agents && matches!(before, "care" | "liberty")),
                "besides" => Some(self.has_agent),
                "from" => Some(self.has_agent && matches!(before, "apart" | "aside")),
                "to" => Some(self.has_agent && before == "addition"),
                "with" => Some(
                    is_agents
                        && matches!(before, "ahead" | "proceeded" | "done" | "finished" | "up"),
                ),
                _ => None,
            },
        }
    }

    /// `the outage was caused by deleting the row` tells of no fix.
    fn is_cause(&self) -> bool {
        self.controller.as_ref().is_some_and(|controller| {
            matches!(
                controller.verb.as_str(),
                "caused" | "triggered" | "followed" | "affected" | "broken"
            )
        })
    }

    /// `After deleting the branch, sent a note.`
    fn is_followed(&self, at: usize) -> bool {
        let comma = (at..at + WINDOW).find(|place| self.class(*place) == Comma);
        comma.is_some_and(|comma| {
            let form = self.reading(comma + 1).form;
            form.is_past() && form != Form::Any
        })
    }

    /// `Creating the issue now.`, but not `Creating an issue takes a minute.`
    fn is_begun(&self, at: usize) -> bool {
        let rest = tail(self.tokens, at + 1);
        let is_definite = self.class(at + 1).is_definite();
        let is_now = rest.iter().any(|token| token.lower == "now")
            || self.lower(at.saturating_sub(1)) == "now";
        let end = at + 1 + rest.len();
        let is_heading = self.is_mark(end, ':');
        let is_now = is_now || self.is_mark(end, '…');
        (is_definite || is_now && begins_phrase(self.token(at + 1)))
            && !has_finite(rest)
            && !is_future(rest)
            && !is_heading
    }
}
