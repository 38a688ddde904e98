//! Whether a word of a sentence is what the tool does.

use mcprove_trace::verbs::{Effect, Form, Use, Verb};

use super::prose::{NOTHING, Reading, Role, Word, head};
use super::words::{changes, computes, is_in, is_in_list_of};

/// How many words further is far.
const FAR: usize = 12;

/// A word in its sentence.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub sentence: &'a [Word],
    pub role: Role,
    pub reading: Reading,
    pub at: usize,
}

impl<'a> Place<'a> {
    pub fn word(&self) -> &'a Word {
        self.ahead(0)
    }

    fn next(&self) -> &'a Word {
        self.ahead(1)
    }

    fn ahead(&self, steps: usize) -> &'a Word {
        self.sentence.get(self.at + steps).unwrap_or(&NOTHING)
    }

    fn back(&self, steps: usize) -> &'a Word {
        let at = self.at.checked_sub(steps);
        at.map_or(&NOTHING, |at| self.moved_to(at).word())
    }

    fn moved_to(&self, at: usize) -> Self {
        Self { at, ..*self }
    }

    fn follows(&self, list: &str) -> bool {
        self.back(1).is(list)
    }

    fn precedes(&self, list: &str) -> bool {
        self.next().is(list)
    }

    fn precedes_soon(&self, list: &str) -> bool {
        self.after(4).any(|word| word.is(list))
    }

    fn has_object(&self) -> bool {
        self.precedes("DETERMINERS") && !self.next().after_comma
    }

    fn after(&self, count: usize) -> impl Iterator<Item = &'a Word> {
        self.sentence.iter().skip(self.at + 1).take(count)
    }

    /// The words before it in its clause, the nearest first.
    fn clause(&self) -> impl Iterator<Item = &'a Word> {
        let mut is_over = self.word().after_comma;
        self.sentence
            .iter()
            .take(self.at)
            .rev()
            .take_while(move |word| {
                let was_over = is_over;
                is_over |= word.after_comma;
                !was_over
            })
    }

    fn clause_has(&self, list: &str) -> bool {
        self.clause().any(|word| word.is(list))
    }

    pub fn names_write(&self) -> bool {
        let word = self.word();
        if word.is("turn turns turning") {
            return self.precedes_soon("on off");
        }
        if word.is("place in-place") && self.follows("in") && !self.precedes("of") {
            return true;
        }
        if self.is_flag() {
            let mut clause = self.clause().take(FAR);
            return !clause.any(|word| word.is("if whether when")) && self.is_own(Form::Base);
        }
        let Some(verb) = word.verb else {
            return self.is_unknown_act();
        };
        let counts = match verb.effect {
            Effect::Writes => true,
            Effect::Adds => !self.reading.adds && verb.lemma == "add",
            Effect::Runs => self.role == Role::Lead && self.runs_unknown(),
            _ if !matches!(verb.form, Form::Base | Form::Third) => false,
            // "List a product on the market": nobody reads a list of one.
            _ if verb.lemma == "list" && self.precedes("a an") && self.ahead(3).is("on for") => {
                return true;
            }
            _ => self.after(6).any(|word| changes(verb.lemma, &word.text)),
        };
        counts && self.is_act(verb)
    }

    /// Whether it is said without a denial, and not of another tool.
    fn is_own(&self, form: Form) -> bool {
        !self.is_denied(form) && !self.is_of_another_tool()
    }

    /// Whether a word that is not known stands where a verb does: "Brews coffee", "Water the plants", "and reaps it".
    fn is_unknown_act(&self) -> bool {
        let word = self.word();
        if self.role == Role::Aside {
            return false;
        }
        // "generate a report", "takes a photo"
        let makes_thing = self.precedes_soon("MADE") || word.is("make") && self.precedes("one");
        if word.is("MAKING") && makes_thing {
            return self.is_own(Form::Base);
        }
        let words: Vec<&str> = (0..6)
            .map(|steps| self.ahead(steps).text.as_str())
            .collect();
        if !word.may_be_unknown_verb() || computes(&words) {
            return false;
        }
        let is_lead = self.role == Role::Lead;
        let begins = is_lead && self.sentence.iter().take(self.at).all(Word::opens);
        if begins && self.precedes("PARTICLES") {
            return true;
        }
        if is_neutral(&word.text) {
            return false;
        }
        let is_third = word.is_in_third_person();
        if begins && !is_third {
            // "Force-push the branch"
            let next = self.next();
            let is_unknown = next.verb.is_none() && next.may_be_unknown_verb();
            let is_compound = !next.after_comma
                && (next.has_effect(Effect::Writes) || is_unknown && !next.is_in_third_person());
            return self.precedes("OBJECTS")
                || self.at == 0 && is_compound && self.ahead(2).is("OBJECTS");
        }
        if self.reading.is_hinted {
            return begins && self.precedes("OBJECTS");
        }
        // "Paths the server may read" are things.
        let is_said = is_third
            && (self.at == 0 || self.follows("also then it which"))
            && !self.precedes_soon("is are can may will was were");
        let is_counted = self.next().is_number()
            && !self.ahead(2).is_number()
            && self.moved_to(self.at + 1).acts_on_next();
        let is_joined = is_lead && self.follows("and then") && !word.is_adverb();
        (is_joined || is_said) && self.has_object()
            || is_said && is_counted
            || is_lead && self.at == 0 && is_third && self.acts_on_next()
    }

    /// "This tool has side effects", "DESTRUCTIVE", "uses it up", "costs $5"
    fn is_flag(&self) -> bool {
        let word = self.word();
        let is_listed = |kind, other: &Word| is_in_list_of(kind, &word.text, &other.text);
        let is_used = |steps| self.back(steps).is("use uses used");
        is_listed("flag_before", self.next())
            || is_listed("flag_after", self.back(1))
            || word.is("DESTRUCTIVE") && self.role != Role::Aside
            // "Get a new token"
            || word.is("new fresh") && self.follows("a") && self.back(2).is("get gets")
            || word.is("up") && !self.precedes("to") && (is_used(1) || is_used(2))
            || word.is("costs") && self.next().is_number()
    }

    /// Whether what is run may do anything; a server that says that it only reads runs no commands.
    fn runs_unknown(&self) -> bool {
        let is_program = |word: &Word| word.is("command commands cli script scripts code shell");
        !self.reading.is_hinted || (self.at == 0 && self.after(usize::MAX).any(is_program))
    }

    /// Whether the tool is said to do it.
    fn is_act(&self, verb: Verb) -> bool {
        if !self.is_own(verb.form) || self.is_idiom(verb) {
            return false;
        }
        let is_lead = self.role == Role::Lead;
        match verb.form {
            Form::Past => verb.used != Use::NounOrVerb && self.is_passive_act(),
            Form::Noun => {
                let is_dated = self.follows("last latest since before after upon file");
                is_lead && !self.precedes("DESCRIPTORS") && !is_dated
            }
            Form::Continuous => {
                (is_lead || !self.reading.is_hinted && self.role == Role::Plain)
                    && self.is_continuous_act(verb)
            }
            // A list of occasions says what the caller does, and so do hints to the caller.
            Form::Base if self.role == Role::Aside => false,
            Form::Base if self.reading.is_hinted && !is_lead => {
                let is_also = self.follows("also") && self.back(2).is("will");
                (self.follows("will then") || is_also) && self.is_finite_act(verb)
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
        for steps in 1..=FAR {
            let (word, earlier) = (self.back(steps), self.back(steps + 1));
            if word.is("NEGATIONS") || word.text.ends_with("n't") {
                let fits = match word.text.as_str() {
                    "no" => is_passive || nouns == 0,
                    "nothing" | "none" => is_passive,
                    "than" => earlier.is("rather"),
                    "never" | "nor" | "neither" => true,
                    _ => form != Form::Third,
                };
                let is_only = self.back(steps - 1).is("only just");
                return fits && !is_only && (nouns == 0 || is_passive);
            }
            if word.is("of") {
                return nouns == 0 && earlier.is("instead");
            }
            is_passive |= form == Form::Past && word.is("is are be been was were gets get");
            let is_carrier = word.is("CARRIERS") || word.is_adverb() || word.verb.is_some();
            nouns += usize::from(!is_carrier);
            if nouns > 2 {
                return false;
            }
        }
        false
    }

    /// "To create an issue, use `create_issue`", "use `create_issue` to create one".
    fn is_of_another_tool(&self) -> bool {
        let names = |at: &usize| {
            let place = self.moved_to(*at);
            let is_use = |steps| place.back(steps).is("use call see prefer try");
            place.word().is_identifier && (1..=3).any(is_use)
        };
        (0..self.sentence.len()).find(names).is_some_and(|other| {
            let begins_with_purpose = self
                .moved_to(0)
                .word()
                .is("to for if when before after instead");
            // "since this call deletes"
            !self.clause_has("this") && (other < self.at || begins_with_purpose)
        })
    }

    fn is_idiom(&self, verb: Verb) -> bool {
        let is_listed = |kind, word: &Word| is_in_list_of(kind, verb.lemma, &word.text);
        let next = self.next();
        is_listed("idiom", next)
            || self.after(4).any(|word| is_listed("idiom_soon", word))
            || match verb.lemma {
                "connect" => true,
                "enable" => verb.form == Form::Continuous || next.has_form(Form::Continuous),
                // Results are cut, not files.
                "truncate" => verb.form == Form::Past,
                "set" => next.is_identifier,
                _ => false,
            }
    }

    /// The tool is not the one who does it: "when you create", "before updating", "how to delete".
    fn is_of_others(&self) -> bool {
        if self.word().has_form(Form::Continuous) {
            const BEFORE: &str = "before when whenever if how why what whether unless until";
            let is_next = self.clause().next().is_some_and(|word| word.is(BEFORE));
            let is_joined = self.follows("and or") && self.back(2).has_form(Form::Continuous);
            // "before renaming or changing"
            return is_next || is_joined && self.moved_to(self.at - 2).is_of_others();
        }
        // "tell the user to migrate"
        if self.follows("to")
            && self.back(2).is("SUBJECTS")
            && self.clause_has("tell ask advise instruct remind")
        {
            return true;
        }
        let mut has_subject = false;
        for word in self.clause().take(10) {
            if word.is("how whether") {
                return true;
            }
            if word.is("that which") {
                return self.describes_result();
            }
            if word.is("MARKERS") && has_subject {
                return true;
            }
            has_subject |= word.is("SUBJECTS");
        }
        // "repositories you can push to", "what users want to delete".
        let mut before = self.clause().skip_while(|word| word.is("BETWEEN"));
        let is_able = |word: &Word| word.is("SUBJECTS") || word.is("who");
        self.follows("BETWEEN") && before.next().is_some_and(is_able) && self.describes_result()
    }

    /// Whether the sentence begins with a verb that reads, so that a clause within it describes what is read.
    fn describes_result(&self) -> bool {
        self.clause().any(Word::reads) && !self.clause_has("TOOL")
    }

    fn is_passive_act(&self) -> bool {
        const NEEDS: &str = "waiting scheduled due yet about ready need needs must should can";
        let mut steps = 1;
        while self.back(steps).is_adverb() || self.back(steps).is("also then first immediately") {
            steps += 1;
        }
        if steps > self.at {
            // "Removed from the cart" is what was done; "Deleted items" are things.
            let next = self.next();
            let is_done =
                next.is_nothing() || next.is("DETERMINERS") || next.is("from to in into on");
            return is_done && self.role == Role::Lead;
        }
        if self.is_sequel() || self.follows("then") {
            return true;
        }
        // "If it is stale it is deleted": the tool acts where the clause of the marker has a verb of its own.
        let of_others = || {
            let mut between = self
                .clause()
                .skip(steps)
                .take_while(|word| !word.is("MARKERS"));
            !between.any(|word| word.is("is are call called")) && self.clause_has("MARKERS")
        };
        let earlier = self.back(steps + 1);
        match self.back(steps).text.as_str() {
            "get" | "gets" => self.at > 1 && steps == 1 && !of_others(),
            "is" | "are" | "being" | "it's" | "they're" => !of_others(),
            "be" => !earlier.is(NEEDS) && !self.back(steps + 2).is(NEEDS) && !of_others(),
            "was" | "were" | "been" => !of_others() && !self.sentence.iter().any(Word::reads),
            // "are fetched and deleted"
            "and" | "or" => {
                let is_past = earlier.text.ends_with("ed") || earlier.has_form(Form::Past);
                is_past && self.moved_to(self.at - steps - 1).is_passive_act()
            }
            _ => false,
        }
    }

    /// "deleted afterwards", "removed after this call"
    fn is_sequel(&self) -> bool {
        let mut after = self.after(FAR);
        after.any(|word| word.is("afterwards afterward thereafter"))
            || self.precedes("after") && self.precedes_soon("call read reading use retrieval")
    }

    fn is_continuous_act(&self, verb: Verb) -> bool {
        if self.follows("for") && self.back(2).is("PURPOSES")
            || self.is_of_others()
            || self.follows("about on regarding")
            || self.precedes("TOOL")
        {
            return false;
        }
        let begins = self.begins_clause() || self.follows("and then also or for");
        verb.used == Use::Verb || (begins && self.has_object()) || self.follows("by while after")
    }

    fn is_finite_act(&self, verb: Verb) -> bool {
        if self.is_of_others() {
            return false;
        }
        let makes = |word: &Word| word.is("make makes making");
        if verb.lemma == "change" && self.clause().take(3).any(makes) {
            return !self.clause_has("before when if not");
        }
        let is_described = self.precedes("DESCRIPTORS");
        let is_third = verb.form == Form::Third;
        let is_base = verb.form == Form::Base;
        if verb.used == Use::Verb {
            let is_allowed = self.follows("to") && self.back(2).is("BEFORE_TO");
            // "status and restart count" is a list of things.
            let is_counted = self.at > 0 && self.precedes("count date time timestamp id history");
            let is_noun = is_base && is_described && (is_counted || !self.begins_act());
            let of_thing = is_third && self.reading.is_hinted && !self.has_tool_as_subject();
            return !is_noun && !is_allowed && !of_thing;
        }
        if self.at == 0 {
            // "Moves mails" is an act, "Posts of a user" are things, and so is "Order status".
            let acts = is_third && verb.used == Use::VerbOrNoun && self.acts_on_next();
            let stands_alone = self.next().after_comma;
            let needs_object = self.role != Role::Lead && !self.precedes("to in as");
            let is_noun = is_described && !is_third;
            return acts || (!is_noun && !stands_alone && (!needs_object || self.has_object()));
        }
        let (before, next) = (self.back(1), self.next());
        if self.word().after_comma || before.is("and or then plus") {
            return self.is_listed_act(verb, is_described);
        }
        if is_base && before.is("to") {
            let mut digits = next.text.bytes();
            let is_number = !next.is_nothing() && digits.all(|byte| byte.is_ascii_digit());
            return !self.back(2).is("BEFORE_TO") && !is_described && !is_number;
        }
        if is_base {
            return before.is("will must should would can may could please also then")
                || before.is_adverb() && self.has_object();
        }
        let has_object = self.has_object() || self.precedes("to into on off");
        self.has_tool_as_subject() && has_object && !is_described
    }

    fn begins_clause(&self) -> bool {
        self.at == 0 || self.word().after_comma
    }

    /// Whether a verb in its base form stands where an order or a purpose begins.
    fn begins_act(&self) -> bool {
        self.begins_clause()
            || self.follows("and or then to will can may must should would could also please")
            || self.back(1).is_adverb()
    }

    /// Whether the next word can be what a verb acts on.
    fn acts_on_next(&self) -> bool {
        let next = self.next();
        let is_past = next.has_form(Form::Past);
        !next.after_comma && !next.is_identifier && !is_past && !next.is("PREPOSITIONS")
    }

    /// Whether the verb begins its clause, or stands behind the tool or what stands for it.
    fn has_tool_as_subject(&self) -> bool {
        self.begins_clause()
            || self.follows("it which that this also then and or but")
            || self.back(1).is_adverb()
            || self.follows("TOOL")
    }

    /// In a list, a word is a verb where it has an object or joins a verb: "and marks them", "get or update".
    fn is_listed_act(&self, verb: Verb, is_described: bool) -> bool {
        let is_joined = self.follows("and or then plus");
        let joins_verb = self
            .back(1 + usize::from(is_joined))
            .verb
            .is_some_and(|other| {
                let is_verb = other.effect != Effect::Writes || other.used == Use::Verb;
                other.form == verb.form && is_verb
            });
        let head_is_third = head(self.sentence).is_some_and(|head| head.has_form(Form::Third));
        let continues = verb.form == Form::Third
            && head_is_third
            && (self.precedes("to into on as from in up back")
                || (verb.used == Use::VerbOrNoun && self.acts_on_next()));
        let has_distant_object = self.precedes("on for") && self.ahead(2).is("it them");
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
        let known = ["DETERMINERS", "PREPOSITIONS", "MARKERS", "SUBJECTS", "TOOL"];
        is_word && !self.is_identifier && !self.opens() && !known.iter().any(|list| self.is(list))
    }

    fn is_in_third_person(&self) -> bool {
        let text = self.text.as_str();
        text.ends_with('s') && !["ss", "us", "is"].iter().any(|end| text.ends_with(end))
    }
}

pub fn is_neutral(text: &str) -> bool {
    let bases = [Some(text), text.strip_suffix('s'), text.strip_suffix("es")];
    let mut bases = bases.into_iter().flatten();
    bases.any(|base| is_in("NEUTRAL", base)) || is_in("NEUTRAL_THIRD", text)
}
