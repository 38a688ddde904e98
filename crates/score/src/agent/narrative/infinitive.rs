//! Infinitives and `-ing` forms: claims only where what governs them says that they happened.
//! `I managed to cancel it`, `I fixed it by adding an index`, `after closing the ticket I …`.

use super::claims::Walker;
use crate::english::prelude::*;

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
