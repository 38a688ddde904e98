//! Whether a word of a sentence is what the tool does.

use mcprove_trace::verbs::{Effect, Form, Use, Verb};

use super::prose::{DETERMINERS, Reading, Role, Word, changes, computes, head, is_in};

const DESCRIPTORS: &str = "access at by capability count counts data date dates datetime detail details event events \
    flag hash histories field fields history id identifier ids info information key keys level list metadata name names note notes \
    number numbers order permission restriction restrictions permissions privilege privileges rights sha size state status time times \
    timestamp timestamps title type types url urls user year";
const NEGATIONS: &str = "not never nothing none nor neither without cannot cant wont doesnt dont isnt arent \
    no non avoid avoids than";
/// Words that a denial reaches across: "does not create, modify or delete".
const CARRIERS: &str =
    "or and nor be been being is are was were any ever actually also either get gets";
const MARKERS: &str = "when whenever if whether who whom whose where before until unless how why what which that because \
    since after once whatever already";
const SUBJECTS: &str = "you user users they someone people client clients agent agents customer customers author authors \
    owner owners we i he she developers developer it";
/// Words behind a noun, where a verb has its object.
const PREPOSITIONS: &str = "of from by in on at to with for since between and or as is are was were that which who per into \
    within during via across under over not about around against through without behind";
const TOOL_WORDS: &str = "tool tools function functions method command endpoint operation operations action actions api \
    server";
/// Prepositional "to", and what is permitted: "related to", "allowed to".
const BEFORE_TO: &str = "up due related relative compared similar according access link links respect close next \
    prior belonging belongs connected permitted allowed able authorized";
/// What the caller does with a result: "suitable for editing".
const PURPOSES: &str = "suitable useful needed required necessary ready helpful essential ideal perfect handy intended \
    ids id fields used";

/// How many words further is far.
const FAR: usize = 12;
/// What begins the object of an order.
const OBJECTS: &str =
    "a an the it its them their all any every each some one your our my everything everyone";
/// Words that make a verb of any word before them.
const PARTICLES: &str = "up down out off away back";
/// What stays, or costs, when it is generated.
const THINGS: &str = "file files pdf task tasks ticket tickets image photo photos picture report video videos md branch invoice \
    ring call payment bot";
/// Words for an act that changes nothing by itself, with or without an `s`.
const NEUTRAL: &str = "accept access adapt aggregate allow answer apply ask assess audit build capture collect combine contain \
    correlate cover crawl demonstrate do ensure explore expose gather generate grab group handle help include \
    interpret investigate learn let limit load make map match monitor need offer perform process produce profile \
    provide render report represent require review say scan score simulate support survey take tell trace \
    understand use verify visualize work";
/// More of them, which are no orders: "Calls the API and returns".
const NEUTRAL_THIRD: &str = "assumes avoids calls considers defaults excludes expects follows gives honors ignores implements \
    indicates keeps leverages means mirrors omits preserves prints prioritizes reflects respects selects skips \
    spans specifies wraps";

/// A word in its sentence.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) sentence: &'a [Word],
    pub(super) role: Role,
    pub(super) reading: Reading,
    pub(super) at: usize,
}

impl<'a> Place<'a> {
    fn back(&self, steps: usize) -> Option<&'a Word> {
        let at = self.at.checked_sub(steps)?;
        self.sentence.get(at)
    }

    fn next(&self) -> Option<&'a Word> {
        self.sentence.get(self.at + 1)
    }

    /// The same for the word some steps further.
    fn step(&self, steps: usize) -> Self {
        let at = self.at + steps;
        Self { at, ..*self }
    }

    fn word(&self) -> Option<&'a Word> {
        self.sentence.get(self.at)
    }

    fn is_after_comma(&self) -> bool {
        self.word().is_some_and(|word| word.after_comma)
    }

    fn follows(&self, list: &str) -> bool {
        self.back(1).is_some_and(|word| is_in(list, &word.text))
    }

    fn precedes(&self, list: &str) -> bool {
        self.next().is_some_and(|word| is_in(list, &word.text))
    }

    fn has_object(&self) -> bool {
        self.precedes(DETERMINERS) && self.next().is_some_and(|word| !word.after_comma)
    }

    fn precedes_soon(&self, list: &str) -> bool {
        let mut after = self.sentence.iter().skip(self.at + 1).take(4);
        after.any(|word| is_in(list, &word.text))
    }

    /// The words before it in its clause, the nearest first.
    fn clause(&self) -> impl Iterator<Item = &'a Word> {
        let mut is_over = self.is_after_comma();
        let before = self.sentence.get(..self.at).unwrap_or_default();
        before.iter().rev().take_while(move |word| {
            let was_over = is_over;
            is_over |= word.after_comma;
            !was_over
        })
    }

    pub(super) fn names_write(&self) -> bool {
        let Some(word) = self.word() else {
            return false;
        };
        if is_in("turn turns turning", &word.text) {
            return self.precedes_soon("on off");
        }
        if is_in("place in-place", &word.text) && self.follows("in") && !self.precedes("of") {
            return true;
        }
        if self.is_flag(&word.text) {
            let mut clause = self.clause().take(FAR);
            let is_condition = clause.any(|word| is_in("if whether when", &word.text));
            return !is_condition && !self.is_denied(Form::Base) && !self.is_of_another_tool();
        }
        let Some(verb) = word.verb else {
            return self.is_unknown_act();
        };
        let counts = match verb.effect {
            Effect::Writes => true,
            Effect::Adds => !self.reading.adds && verb.lemma == "add",
            Effect::Runs => self.role == Role::Lead && self.runs_unknown(),
            Effect::Reads | Effect::Computes => {
                if !matches!(verb.form, Form::Base | Form::Third) {
                    return false;
                }
                // "List a product on the market": nobody reads a list of one.
                let third = self.sentence.get(self.at + 3);
                if verb.lemma == "list"
                    && self.precedes("a an")
                    && third.is_some_and(|word| is_in("on for", &word.text))
                {
                    return true;
                }
                let mut after = self.sentence.iter().skip(self.at + 1).take(6);
                after.any(|word| changes(verb.lemma, &word.text))
            }
        };
        counts && self.is_act(verb)
    }

    /// Whether a word that is not known stands where a verb does: "Brews coffee", "Water the plants", "and reaps it".
    fn is_unknown_act(&self) -> bool {
        let Some(word) = self.word().filter(|_| self.role != Role::Aside) else {
            return false;
        };
        if self.makes_thing(&word.text) {
            return !self.is_denied(Form::Base) && !self.is_of_another_tool();
        }
        let is_lead = self.role == Role::Lead;
        let words = self.sentence.iter().skip(self.at).take(6);
        let words: Vec<&str> = words.map(|word| word.text.as_str()).collect();
        if !word.may_be_unknown_verb() || computes(&words) {
            return false;
        }
        let before = self.sentence.get(..self.at).unwrap_or_default();
        let begins = is_lead && before.iter().all(Word::opens);
        if begins && self.precedes(PARTICLES) {
            return true;
        }
        let is_third = is_in_third_person(&word.text);
        if is_neutral(&word.text) {
            return false;
        }
        if begins && !is_third {
            // "Force-push the branch"
            let is_compound = self.next().is_some_and(|word| {
                let is_write = word.verb.is_some_and(|verb| verb.effect == Effect::Writes);
                let is_unknown = word.verb.is_none() && word.may_be_unknown_verb();
                !word.after_comma && (is_write || is_unknown && !is_in_third_person(&word.text))
            });
            return self.precedes(OBJECTS)
                || self.at == 0 && is_compound && self.step(1).precedes(OBJECTS);
        }
        if self.reading.is_hinted {
            return begins && self.precedes(OBJECTS);
        }
        // "Paths the server may read" are things.
        let is_said = is_third
            && (self.at == 0 || self.follows("also then it which"))
            && !self.precedes_soon("is are can may will was were");
        let number = self.step(1);
        let is_counted = number.word().is_some_and(Word::is_number)
            && number.next().is_some_and(|word| !word.is_number())
            && number.acts_on_next();
        let is_joined = is_lead && self.follows("and then") && !word.text.ends_with("ly");
        (is_joined || is_said) && self.has_object()
            || is_said && is_counted
            || is_lead && self.at == 0 && is_third && self.acts_on_next()
    }

    /// "This tool has side effects", "DESTRUCTIVE", "uses it up", "costs $5"
    fn is_flag(&self, text: &str) -> bool {
        match text {
            "destructive" | "irreversible" | "irreversibly" | "destructs" => {
                self.role != Role::Aside
            }
            "side" => self.precedes("effect effects"),
            "gone" => self.follows("is are"),
            "made" => self.precedes("if when"),
            "out" => self.follows("go goes"),
            // "Get a new token"
            "new" | "fresh" => {
                self.follows("a")
                    && self
                        .back(2)
                        .is_some_and(|word| is_in("get gets", &word.text))
            }
            "text" => self.follows("type types"),
            "up" if self.precedes("to") => false,
            "up" => [1, 2].iter().any(|steps| {
                self.back(*steps)
                    .is_some_and(|word| is_in("use uses used", &word.text))
            }),
            "costs" => self.next().is_some_and(Word::is_number) || self.precedes("credits money"),
            _ => false,
        }
    }

    /// "generate a report", "takes a photo": a word for making, and what stays or costs when it is made.
    fn makes_thing(&self, text: &str) -> bool {
        const MAKING: &str =
            "build builds generate generates make makes produce produces take takes";
        is_in(MAKING, text)
            && (self.precedes_soon(THINGS) || text == "make" && self.precedes("one"))
    }

    /// Whether what is run may do anything; a server that says that it only reads runs no commands.
    fn runs_unknown(&self) -> bool {
        let is_program =
            |word: &Word| is_in("command commands cli script scripts code shell", &word.text);
        let mut after = self.sentence.iter().skip(self.at + 1);
        !self.reading.is_hinted || (self.at == 0 && after.any(is_program))
    }

    /// Whether the tool is said to do it.
    fn is_act(&self, verb: Verb) -> bool {
        if self.is_denied(verb.form) || self.is_of_another_tool() || self.is_idiom(verb) {
            return false;
        }
        let is_lead = self.role == Role::Lead;
        match verb.form {
            Form::Past => verb.used != Use::NounOrVerb && self.is_passive_act(),
            Form::Noun => {
                let is_described = self.precedes(DESCRIPTORS)
                    || self.follows("last latest since before after upon file");
                is_lead && !is_described
            }
            Form::Continuous => {
                (is_lead || !self.reading.is_hinted && self.role == Role::Plain)
                    && self.is_continuous_act(verb)
            }
            // A list of occasions says what the caller does, and so do hints to the caller.
            Form::Base if self.role == Role::Aside => false,
            Form::Base if self.reading.is_hinted && !is_lead => {
                let is_next = self.follows("will then")
                    || self.follows("also") && self.back(2).is_some_and(|word| word.text == "will");
                is_next && self.is_finite_act(verb)
            }
            Form::Base | Form::Third => self.is_finite_act(verb),
        }
    }

    /// "does not modify", "never deletes", "without changing", "nothing is deleted", "deletes nothing".
    fn is_denied(&self, form: Form) -> bool {
        if self.precedes("nothing no none nobody") {
            return !self.precedes_soon("but except");
        }
        let mut nouns = 0;
        let mut is_passive = false;
        let before = self.sentence.get(..self.at).unwrap_or_default();
        for (steps, word) in before.iter().rev().take(12).enumerate() {
            let text = word.text.as_str();
            let at = self.at - steps - 1;
            let earlier = at.checked_sub(1).and_then(|at| self.sentence.get(at));
            if is_in(NEGATIONS, text) || text.ends_with("n't") {
                let next = self.sentence.get(at + 1);
                let is_only = next.is_some_and(|next| is_in("only just", &next.text));
                let fits = match text {
                    "no" => is_passive || nouns == 0,
                    "nothing" | "none" => is_passive,
                    "than" => earlier.is_some_and(|word| word.text == "rather"),
                    "never" | "nor" | "neither" => true,
                    _ => form != Form::Third,
                };
                return fits && !is_only && (nouns == 0 || is_passive);
            }
            if text == "of" {
                return nouns == 0 && earlier.is_some_and(|word| word.text == "instead");
            }
            is_passive |= form == Form::Past && is_in("is are be been was were gets get", text);
            let is_carrier = is_in(CARRIERS, text) || text.ends_with("ly") || word.verb.is_some();
            nouns += usize::from(!is_carrier);
            if nouns > 2 {
                return false;
            }
        }
        false
    }

    /// "To create an issue, use `create_issue`", "use `create_issue` to create one".
    fn is_of_another_tool(&self) -> bool {
        let sentence = self.sentence;
        let names = |at: &usize| {
            let is_named = sentence.get(*at).is_some_and(|word| word.is_identifier);
            let before = sentence.get(at.saturating_sub(3)..*at).unwrap_or_default();
            let mut before = before.iter();
            is_named && before.any(|word| is_in("use call see prefer try", &word.text))
        };
        let Some(other) = (0..sentence.len()).find(names) else {
            return false;
        };
        // "since this call deletes"
        if self.clause().any(|word| word.text == "this") {
            return false;
        }
        let begins_with_purpose = sentence
            .first()
            .is_some_and(|word| is_in("to for if when before after instead", &word.text));
        other < self.at || begins_with_purpose
    }

    fn is_idiom(&self, verb: Verb) -> bool {
        let is_named = self.next().is_some_and(|word| word.is_identifier);
        match verb.lemma {
            "start" => self.precedes("with from at by of point here index offset date time"),
            "grant" => self.precedes("you"),
            "evaluate" => self.precedes_soon("expression expressions formula equation"),
            "connect" => true,
            "enable" => {
                const GOOD: &str = "you users agents clients efficient precise easy fast quick better llms ai";
                let next = self.next().and_then(|word| word.verb);
                let is_next_continuous = next.is_some_and(|next| next.form == Form::Continuous);
                verb.form == Form::Continuous || self.precedes(GOOD) || is_next_continuous
            }
            "apply" => self.precedes_soon("filter filters pagination sorting"),
            // Results are cut, not files.
            "truncate" => verb.form == Form::Past,
            "add" => self.precedes("on ons up"),
            "resolve" => self.precedes_soon("id ids name names dns host hostname domain url urls address path library symbol reference"),
            "set" => self.precedes("of to") || is_named,
            "write" => self.precedes("access permission permissions"),
            "close" => self.precedes("to"),
            _ => false,
        }
    }

    /// The tool is not the one who does it: "when you create", "before updating", "how to delete".
    fn is_of_others(&self) -> bool {
        let form = self.word().and_then(|word| word.verb).map(|verb| verb.form);
        let mut subject = false;
        let mut words = self.clause().take(10).peekable();
        if form == Some(Form::Continuous) {
            let is_joined = self.follows("and or")
                && self
                    .back(2)
                    .and_then(|word| word.verb)
                    .is_some_and(|verb| verb.form == Form::Continuous);
            let is_next = words.peek().is_some_and(|word| {
                is_in(
                    "before when whenever if how why what whether unless until",
                    &word.text,
                )
            });
            // "before renaming or changing"
            return is_next
                || (is_joined
                    && Self {
                        at: self.at - 2,
                        ..*self
                    }
                    .is_of_others());
        }
        // "tell the user to migrate"
        let is_told = self.follows("to")
            && self.back(2).is_some_and(|word| is_in(SUBJECTS, &word.text))
            && self
                .clause()
                .any(|word| is_in("tell ask advise instruct remind", &word.text));
        if is_told {
            return true;
        }
        for word in words {
            let text = word.text.as_str();
            if is_in("how whether", text) {
                return true;
            }
            if is_in("that which", text) {
                return self.describes_result();
            }
            if is_in(MARKERS, text) && subject {
                return true;
            }
            subject |= is_in(SUBJECTS, text);
        }
        self.has_able_subject() && self.describes_result()
    }

    /// "repositories you can push to", "what users want to delete".
    fn has_able_subject(&self) -> bool {
        const BETWEEN: &str =
            "can could may might want wants need needs have has to allowed able also";
        let mut before = self.clause().skip_while(|word| is_in(BETWEEN, &word.text));
        self.follows(BETWEEN)
            && before
                .next()
                .is_some_and(|word| is_in(SUBJECTS, &word.text) || word.text == "who")
    }

    /// Whether the sentence begins with a verb that reads, so that a clause within it describes what is read.
    fn describes_result(&self) -> bool {
        let of_tool = self.clause().any(|word| is_in(TOOL_WORDS, &word.text));
        self.clause().any(Word::reads) && !of_tool
    }

    fn is_passive_act(&self) -> bool {
        let mut steps = 1;
        while self.back(steps).is_some_and(|word| {
            word.text.ends_with("ly") || is_in("also then first immediately", &word.text)
        }) {
            steps += 1;
        }
        let Some(before) = self.back(steps) else {
            // "Removed from the cart" is what was done; "Deleted items" are things.
            let is_done = self.next().is_none_or(|word| {
                is_in(DETERMINERS, &word.text) || is_in("from to in into on", &word.text)
            });
            return is_done && self.role == Role::Lead;
        };
        if self.is_sequel() || self.follows("then") {
            return true;
        }
        // "If it is stale it is deleted": the tool acts where the clause of the marker has a verb of its own.
        let of_others = || {
            let mut clause = self.clause().skip(steps);
            let mut between = clause
                .by_ref()
                .take_while(|word| !is_in(MARKERS, &word.text));
            let is_own = between.any(|word| is_in("is are call called", &word.text));
            !is_own && self.clause().any(|word| is_in(MARKERS, &word.text))
        };
        let needs = |at: usize| {
            let word = self.back(at);
            word.is_some_and(|word| {
                is_in(
                    "waiting scheduled due yet about ready need needs must should can",
                    &word.text,
                )
            })
        };
        match before.text.as_str() {
            "get" | "gets" => self.back(steps + 1).is_some() && steps == 1 && !of_others(),
            "is" | "are" | "being" | "it's" | "they're" => !of_others(),
            "be" => !needs(steps + 1) && !needs(steps + 2) && !of_others(),
            "was" | "were" | "been" => !of_others() && !self.sentence.iter().any(Word::reads),
            // "are fetched and deleted"
            "and" | "or" => self.back(steps + 1).is_some_and(|word| {
                let is_past = word.text.ends_with("ed")
                    || word.verb.is_some_and(|verb| verb.form == Form::Past);
                let at = self.at - steps - 1;
                is_past && Self { at, ..*self }.is_passive_act()
            }),
            _ => false,
        }
    }

    /// "deleted afterwards", "removed after this call"
    fn is_sequel(&self) -> bool {
        let mut after = self.sentence.iter().skip(self.at + 1).take(FAR);
        after.any(|word| is_in("afterwards afterward thereafter", &word.text))
            || self.precedes("after") && self.precedes_soon("call read reading use retrieval")
    }

    fn is_continuous_act(&self, verb: Verb) -> bool {
        let is_purpose =
            self.follows("for") && self.back(2).is_some_and(|word| is_in(PURPOSES, &word.text));
        if is_purpose
            || self.is_of_others()
            || self.follows("about on regarding")
            || self.precedes(TOOL_WORDS)
        {
            return false;
        }
        if verb.used == Use::Verb {
            return true;
        }
        let begins = self.at == 0 || self.is_after_comma() || self.follows("and then also or for");
        (begins && self.has_object()) || self.follows("by while after")
    }

    fn is_finite_act(&self, verb: Verb) -> bool {
        if self.is_of_others() {
            return false;
        }
        let makes = |word: &Word| is_in("make makes making", &word.text);
        if verb.lemma == "change" && self.clause().take(3).any(makes) {
            return !self
                .clause()
                .any(|word| is_in("before when if not", &word.text));
        }
        let is_described = self.precedes(DESCRIPTORS);
        if verb.used == Use::Verb {
            let is_allowed = self.follows("to")
                && self
                    .back(2)
                    .is_some_and(|word| is_in(BEFORE_TO, &word.text));
            // "status and restart count" is a list of things.
            let is_counted = self.at > 0 && self.precedes("count date time timestamp id history");
            let is_noun =
                verb.form == Form::Base && is_described && (is_counted || !self.begins_act());
            let of_thing =
                verb.form == Form::Third && self.reading.is_hinted && !self.has_tool_as_subject();
            return !is_noun && !is_allowed && !of_thing;
        }
        let is_third = verb.form == Form::Third;
        let Some(before) = self.back(1) else {
            // "Moves mails" is an act, "Posts of a user" are things, and so is "Order status".
            let acts = is_third && verb.used == Use::VerbOrNoun && self.acts_on_next();
            let stands_alone = self.next().is_none_or(|word| word.after_comma);
            let needs_object = self.role != Role::Lead && !self.precedes("to in as");
            let is_noun = is_described && !is_third;
            return acts || (!is_noun && !stands_alone && (!needs_object || self.has_object()));
        };
        if self.is_after_comma() || is_in("and or then plus", &before.text) {
            return self.is_listed_act(verb, is_described);
        }
        if verb.form == Form::Base {
            let is_number = self
                .next()
                .is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
            return match before.text.as_str() {
                "to" => {
                    let before = self.back(2);
                    let is_preposition = before.is_some_and(|word| is_in(BEFORE_TO, &word.text));
                    !is_preposition && !is_described && !is_number
                }
                "will" | "must" | "should" | "would" | "can" | "may" | "could" | "please"
                | "also" | "then" => true,
                text => text.ends_with("ly") && self.has_object(),
            };
        }
        let has_object = self.has_object() || self.precedes("to into on off");
        self.has_tool_as_subject() && has_object && !is_described
    }

    /// Whether a verb in its base form stands where an order or a purpose begins.
    fn begins_act(&self) -> bool {
        self.at == 0
            || self.is_after_comma()
            || self.follows("and or then to will can may must should would could also please")
            || self.back(1).is_some_and(|word| word.text.ends_with("ly"))
    }

    /// Whether the next word can be what a verb acts on.
    fn acts_on_next(&self) -> bool {
        self.next().is_some_and(|word| {
            let is_past = word.verb.is_some_and(|verb| verb.form == Form::Past);
            !word.after_comma && !word.is_identifier && !is_past && !is_in(PREPOSITIONS, &word.text)
        })
    }

    /// Whether the verb begins its clause, or stands behind the tool or what stands for it.
    fn has_tool_as_subject(&self) -> bool {
        self.at == 0
            || self.is_after_comma()
            || self.follows("it which that this also then and or but")
            || self.back(1).is_some_and(|word| word.text.ends_with("ly"))
            || self.follows(TOOL_WORDS)
    }

    /// In a list, a word is a verb where it has an object or joins a verb: "and marks them", "get or update".
    fn is_listed_act(&self, verb: Verb, is_described: bool) -> bool {
        let joined = if self.follows("and or then plus") {
            2
        } else {
            1
        };
        let joins_verb = self.back(joined).is_some_and(|word| {
            word.verb.is_some_and(|other| {
                let is_verb = other.effect != Effect::Writes || other.used == Use::Verb;
                other.form == verb.form && is_verb
            })
        });
        let head = head(self.sentence).and_then(|word| word.verb);
        let head_is_third = head.is_some_and(|head| head.form == Form::Third);
        let continues = verb.form == Form::Third
            && head_is_third
            && (self.precedes("to into on as from in up back")
                || (verb.used == Use::VerbOrNoun && self.acts_on_next()));
        let has_distant_object = self.precedes("on for") && self.step(1).precedes("it them");
        self.follows("then")
            || self.has_object()
            || has_distant_object
            || (joins_verb && !is_described)
            || continues
    }
}

impl Word {
    /// Whether it can be a verb that is not in the table.
    fn may_be_unknown_verb(&self) -> bool {
        let text = self.text.as_str();
        let is_word = text.len() > 2 && text.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_known = [DETERMINERS, PREPOSITIONS, MARKERS, SUBJECTS, TOOL_WORDS];
        is_word
            && !self.is_identifier
            && !self.opens()
            && !is_known.iter().any(|list| is_in(list, text))
    }
}

fn is_in_third_person(text: &str) -> bool {
    text.ends_with('s') && !["ss", "us", "is"].iter().any(|end| text.ends_with(end))
}

pub(super) fn is_neutral(text: &str) -> bool {
    let bases = [Some(text), text.strip_suffix('s'), text.strip_suffix("es")];
    bases.into_iter().flatten().any(|base| is_in(NEUTRAL, base))
        || is_in(NEUTRAL_THIRD, text)
        || text == "verifies"
}
