//! What a text claims that its writer did: `I created the issue`, `Sent the email.`, `the branch has
//! been deleted`, `by adding an index`. Denied, failed, offered, possible, conditional and future
//! actions are no claims, nor is what somebody else did, what was found, or a noun like `the post`.
//!
//! A sentence is read once from left to right. What a subject and its auxiliaries decide (whose doing it
//! is, whether it is a fact) holds for the verbs that `and` joins to the first: the [`Controller`].

use super::prelude::*;

/// An action that the text says was done.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The verb, in its base form.
    pub verb: String,
    /// What it was done to.
    pub phrase: Phrase,
    /// The place of the sentence.
    pub sentence: usize,
}

/// Every claim of a text, in order.
pub fn find(sentences: &[Sentence]) -> Vec<Claim> {
    let mut message = Message {
        is_instructive: sentences.iter().any(is_imperative),
        is_report: sentences.iter().any(begins_with_past),
        is_marked_done: false,
    };
    let mut claims = Vec::new();
    for (place, sentence) in sentences.iter().enumerate() {
        let mut walker = Walker::new(sentence, place, message);
        walker.walk();
        message.is_marked_done |= is_done(&sentence.tokens);
        claims.append(&mut walker.claims);
    }
    claims
}

/// What the message around a sentence says about it.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Whether it has sentences that tell somebody what to do.
    pub is_instructive: bool,
    /// Whether some sentence or item begins with what was done: `Created …`.
    pub is_report: bool,
    /// Whether something like `Done!` came before, so that `the order is cancelled` is no finding.
    is_marked_done: bool,
}

/// What stands where no verb is.
static NO_VERB: Reading = Reading {
    base: String::new(),
    form: Form::None,
    is_claimable: false,
};

/// Reads one sentence.
pub struct Walker<'s> {
    pub tokens: &'s [Token],
    pub mood: Mood,
    pub message: Message,
    /// Whether the sentence is a heading.
    pub is_heading: bool,
    /// Whether the agent is the subject of some fact in the sentence.
    pub has_agent: bool,
    /// What holds for further verbs.
    pub controller: Option<Controller>,
    /// What held before a clause that hangs on another: `I closed it because Bob asked, and …`.
    pub main: Option<Controller>,
    /// What a clause in between is about: `the ticket you opened last week was …`.
    pub relative: Option<Phrase>,
    /// The last participle that was said of a noun.
    pub last_adjective: Option<usize>,
    /// The last verb with a subject.
    pub last_verb: Option<usize>,
    /// Whether the last infinitive is a fact.
    pub infinitive: Option<bool>,
    /// Whether the last `-ing` form is a fact.
    pub gerund: Option<bool>,
    /// Whether the clause tells of something that was seen: `I noticed that …`.
    pub is_observing: bool,
    /// Where a question begins.
    question_start: usize,
    /// Where a condition begins.
    condition_start: Option<usize>,
    /// Where the words since the last mark begin.
    pub segment_start: usize,
    sentence: usize,
    claims: Vec<Claim>,
}

impl<'s> Walker<'s> {
    fn new(sentence: &'s Sentence, place: usize, message: Message) -> Self {
        let tokens = sentence.tokens.as_slice();
        let question_start = if sentence.is_question {
            question_start(tokens)
        } else {
            usize::MAX
        };
        Self {
            tokens,
            mood: sentence.mood,
            message,
            is_heading: sentence.is_heading,
            has_agent: has_agent(tokens),
            controller: None,
            main: None,
            relative: None,
            last_adjective: None,
            last_verb: None,
            infinitive: None,
            gerund: None,
            is_observing: false,
            question_start,
            condition_start: is_inverted(tokens).then_some(0),
            segment_start: 0,
            sentence: place,
            claims: Vec::new(),
        }
    }

    pub fn token(&self, at: usize) -> Option<&'s Token> {
        self.tokens.get(at)
    }

    pub fn class(&self, at: usize) -> Class {
        self.tokens.class(at)
    }

    pub fn lower(&self, at: usize) -> &'s str {
        self.tokens.lower(at)
    }

    pub fn is_mark(&self, at: usize, mark: char) -> bool {
        self.token(at).is_some_and(|token| token.is_mark(mark))
    }

    /// Whether what the controller says is a fact, and the agent's doing.
    pub fn is_agents_fact(&self) -> bool {
        self.controller
            .as_ref()
            .is_some_and(Controller::is_agents_fact)
    }

    /// Notes that a subject is told of with this verb, as a fact.
    pub fn control(&mut self, subject: Subject, governing: Governing, at: usize) {
        self.controller = Some(Controller::fact(subject, governing, self.lower(at)));
        self.last_verb = Some(at);
    }

    pub fn reading(&self, at: usize) -> &'s Reading {
        self.token(at).map_or(&NO_VERB, |token| &token.verb)
    }

    fn walk(&mut self) {
        let mut at = 0;
        while let Some(token) = self.token(at) {
            at = match token.class {
                Stop => self.stop(at),
                But => {
                    self.condition_start = None;
                    self.is_observing = false;
                    at + 1
                }
                Subordinator => {
                    if is_condition(&token.lower) {
                        self.condition_start = Some(at);
                    }
                    at + 1
                }
                Comma => {
                    // A clause that hung on another ends here.
                    if let Some(main) = self.main.take() {
                        self.controller = Some(main);
                        self.infinitive = None;
                    }
                    at + 1
                }
                Agent | Person | Thing => self.subject(at),
                Verb if token.lower == "according" => {
                    self.condition_start = Some(at);
                    at + 1
                }
                Be | Have | Do | Modal => self.auxiliary(at),
                To => self.to(at),
                Verb => {
                    self.verb(at);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// A mark ends what was said before. A dash may be an aside.
    fn stop(&mut self, at: usize) -> usize {
        let before = self.tokens.get(self.segment_start..at).unwrap_or_default();
        let is_header = self.is_mark(at, ':') && is_unreal_header(before);
        self.condition_start = is_header.then_some(at);
        self.message.is_marked_done |= is_done(before);
        self.segment_start = at + 1;
        self.infinitive = None;
        self.gerund = None;
        self.relative = None;
        if !self.is_mark(at, '—') {
            self.controller = None;
            self.main = None;
            self.last_verb = None;
            self.is_observing = false;
        }
        at + 1
    }

    /// Where the noun phrase that ends before `end` begins.
    pub fn region_start(&self, end: usize) -> usize {
        let floor = self.last_verb.map_or(0, |verb| verb + 1);
        region_start(self.tokens, end, floor.min(end), self.controller.is_some())
    }

    /// Notes who governs the verbs from here on, and looks at the first of them.
    pub fn govern(&mut self, subject: Subject, chain: &Chain, is_real: bool) -> usize {
        let verb = chain.end;
        let governing = chain.kind();
        let is_thing = matches!(subject, Subject::Thing(_));
        let is_marked = self.message.is_marked_done || self.lower(verb + 1) == "now";
        let is_told = !is_thing || chain.reports_completion(is_marked);
        let is_agent = subject == Subject::Agent;
        self.infinitive = (governing == Governing::Base)
            .then(|| is_agent && is_real && chain.has_any(&[Part::Did, Part::Had]));
        self.gerund = None;
        self.last_verb = Some(verb);
        self.controller = Some(Controller {
            subject,
            governing,
            is_real: is_real && is_told,
            is_denied: chain.has(Part::Not),
            verb: self.lower(verb).to_owned(),
        });
        let form = self.reading(verb).form;
        match governing {
            _ if form == Form::None => return verb,
            Governing::Passive if form.is_participle() => self.passive(verb),
            Governing::Passive if form == Form::Ing => {
                let is_perfect = chain.has(Part::Have) && chain.has(Part::Been);
                let is_present = chain.has(Part::Is) && !is_future(tail(self.tokens, verb + 1));
                self.gerund = Some(is_agent && is_real && (is_present || is_perfect));
                if self.gerund == Some(true) {
                    self.active(verb);
                }
            }
            Governing::Perfect if form.is_participle() && is_agent && is_real => self.active(verb),
            Governing::Finite if form.is_past() && is_agent && is_real => self.active(verb),
            Governing::Base if form.is_base() && self.infinitive == Some(true) => self.active(verb),
            _ => {}
        }
        verb + 1
    }

    /// Whether the sentence has claimed something already.
    pub fn has_claimed(&self) -> bool {
        !self.claims.is_empty()
    }

    pub fn claim(&mut self, at: usize, phrase: Phrase) {
        let reading = self.reading(at);
        let is_conditional = self.condition_start.is_some_and(|start| at >= start);
        let is_fact = self.mood != Mood::Unreal && at < self.question_start && !is_conditional;
        if reading.is_claimable && is_fact {
            self.claims.push(Claim {
                verb: reading.base.clone(),
                phrase,
                sentence: self.sentence,
            });
        }
    }
}
