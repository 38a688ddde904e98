//! What a description says that a tool does: its first verb, and the first word that names a write.
//!
//! A word that can name a write does so where the tool is the one that acts: "Deletes the file", "and marks them
//! as read", "the cache is cleared". It does not where it is denied ("does not modify"), describes a thing
//! ("deleted items", "when it was written", "creation time") or is what somebody else does ("before you update").

use mcprove_score::trace::verbs::{Effect, Form, Use, Verb, find};

/// A word of a sentence, in lower case.
struct Word {
    text: String,
    verb: Option<Verb>,
    /// A comma or a slash stands before it.
    after_comma: bool,
    /// It is the name of a tool, a field or a file.
    is_identifier: bool,
}

/// Where a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It is the first: what the tool does.
    Lead,
    /// It says more.
    Plain,
    /// It is in a list of occasions, examples or fields.
    Aside,
}

struct Sentence {
    words: Vec<Word>,
    role: Role,
}

/// A text as sentences.
pub(super) struct Prose {
    sentences: Vec<Sentence>,
}

/// How a text is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// The server says that the tool only reads: only what contradicts it counts.
    pub is_hinted: bool,
    /// Verbs such as `add` compute here.
    pub adds: bool,
}

const DETERMINERS: &str = "a an the this that these those it its them their all any every each some one your our my \
    his her new existing another both multiple several others everything everyone";
const DESCRIPTORS: &str = "access at by capability count counts data date dates datetime detail details event events \
    flag hash histories field fields history id identifier ids info information key keys level list metadata name names note notes \
    number numbers order permission restriction restrictions permissions privilege privileges rights sha size state status time times \
    timestamp timestamps title type types url urls user year";
const NEGATIONS: &str = "not never nothing none nor neither without cannot cant wont doesnt dont isnt arent \
    no avoid avoids than";
/// Words that a denial reaches across: "does not create, modify or delete".
const CARRIERS: &str =
    "or and nor be been being is are was were any ever actually also either get gets";
const MARKERS: &str = "when whenever if whether who whom whose where before until unless how why what which that because \
    since after once whatever already";
const SUBJECTS: &str = "you user users they someone people client clients agent agents customer customers author authors \
    owner owners we i he she developers developer it";
/// Words behind a noun, where a verb has its object.
const PREPOSITIONS: &str = "of from by in on at to with for since between and or as is are was were that which who per into \
    within during via across under over not";
const TOOL_WORDS: &str = "tool tools function functions method command endpoint operation operations action actions api \
    server";
/// Words before the first verb of a description.
const OPENERS: &str = "this the a an tool tools function method command endpoint operation server api use used useful \
    using it will can to for that which allows allow allowing lets let enables enable you users user agents clients \
    helps help please simple optionally primary main your read-only readonly only";
/// Prepositional "to", and what is permitted: "related to", "allowed to".
const BEFORE_TO: &str = "up due related relative compared similar according access link links respect close next \
    prior belonging belongs connected permitted allowed able authorized";
/// What the caller does with a result: "suitable for editing".
const PURPOSES: &str = "suitable useful needed required necessary ready helpful essential ideal perfect handy intended \
    ids id fields used";
/// Words of a heading over occasions, examples or fields, where verbs are not what the tool does.
const HEADINGS: &str = "when need needs cases case workflow example examples tip tips note notes guidance usage feature \
    features include includes including returns return parameters parameter args arguments options option error \
    errors fields for values types input inputs output outputs purpose hints hint prerequisites keys syntax";

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

impl Prose {
    pub(super) fn new(text: &str) -> Self {
        Self {
            sentences: Cutter::default().cut(text),
        }
    }

    /// Whether a text of some length has words of English.
    pub(super) fn is_english(&self) -> bool {
        const COMMON: &str =
            "a the of for in by to with from on is are and as all an at your this that it if or";
        let mut words = 0;
        let mut foreign = 0;
        let mut known = 0;
        for word in self.sentences.iter().flat_map(|sentence| &sentence.words) {
            words += 1;
            foreign += usize::from(!word.text.is_ascii());
            known += usize::from(word.verb.is_some() || is_in(COMMON, &word.text));
        }
        foreign * 5 <= words && (words < 4 || known > 0)
    }

    /// The first verb, where the text begins with one that reads or computes.
    pub(super) fn reading_verb(&self, adds: bool) -> Option<&str> {
        // "Notion | Retrieve a page"
        for sentence in self.sentences.iter().take(3) {
            if let Some(verb) = head(&sentence.words) {
                let counts = adds && verb.verb.is_some_and(|verb| verb.effect == Effect::Adds);
                return (verb.reads() || counts).then_some(verb.text.as_str());
            }
            if sentence.words.len() > 3 {
                return None;
            }
        }
        None
    }

    /// The first word that names a write.
    pub(super) fn write(&self, reading: Reading) -> Option<&str> {
        self.sentences.iter().find_map(|sentence| {
            let place = |at| Place {
                sentence: &sentence.words,
                role: sentence.role,
                reading,
                at,
            };
            let place = (0..sentence.words.len()).find(|at| place(*at).names_write())?;
            sentence.words.get(place).map(|word| word.text.as_str())
        })
    }
}

/// Whether a verb that computes changes such a thing: to format a disk, to extract an archive.
pub(super) fn changes(lemma: &str, thing: &str) -> bool {
    let things = match lemma {
        "format" => {
            "disk disks drive drives volume partition partitions usb device sdcard hdd ssd filesystem file files \
            project workspace"
        }
        "sort" => "file files inbox",
        "extract" => "archive archives zip tar tarball",
        "convert" => "lead leads quote trial prospect opportunity",
        _ => return false,
    };
    is_in(things, thing)
}

impl Word {
    fn reads(&self) -> bool {
        self.verb
            .is_some_and(|verb| matches!(verb.effect, Effect::Reads | Effect::Computes))
    }
}

/// The verb that a sentence begins with, behind "This tool", "Use this to" and adverbs.
fn head(sentence: &[Word]) -> Option<&Word> {
    let mut words = sentence.iter().enumerate().take(10).peekable();
    while let Some((at, word)) = words.next() {
        if is_in("perform performs performing do does", &word.text) {
            // "Performs a web search": the noun says what.
            return words
                .take(4)
                .map(|(_, word)| word)
                .find(|word| word.reads());
        }
        let opens =
            is_in(OPENERS, &word.text) || word.text.ends_with("ly") || !word.text.is_ascii();
        if word.verb.is_some() && !(opens && words.peek().is_some()) {
            return Some(word);
        }
        if !opens {
            // "Fast code search across": a noun behind adjectives.
            let rest = sentence.get(at..).unwrap_or_default();
            let is_plain = |word: &&Word| {
                !is_in(DETERMINERS, &word.text) && !is_in("in of for on to from with", &word.text)
            };
            let mut nouns = rest.iter().take(5).take_while(is_plain);
            return nouns.find(|word| is_in("search lookup query", &word.text));
        }
    }
    None
}

/// A word in its sentence.
#[derive(Clone, Copy)]
struct Place<'a> {
    sentence: &'a [Word],
    role: Role,
    reading: Reading,
    at: usize,
}

impl<'a> Place<'a> {
    fn back(&self, steps: usize) -> Option<&'a Word> {
        let at = self.at.checked_sub(steps)?;
        self.sentence.get(at)
    }

    fn next(&self) -> Option<&'a Word> {
        self.sentence.get(self.at + 1)
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

    fn names_write(&self) -> bool {
        let Some(word) = self.word() else {
            return false;
        };
        if is_in("turn turns turning", &word.text) {
            return self.precedes_soon("on off");
        }
        if is_in("place in-place", &word.text) && self.follows("in") && !self.precedes("of") {
            return true;
        }
        let Some(verb) = word.verb else {
            return self.is_unknown_act();
        };
        let counts = match verb.effect {
            Effect::Writes => true,
            Effect::Adds => !self.reading.adds && verb.lemma == "add",
            Effect::Runs => self.role == Role::Lead && self.runs_unknown(),
            Effect::Reads => false,
            Effect::Computes => {
                let mut after = self.sentence.iter().skip(self.at + 1).take(4);
                after.any(|word| changes(verb.lemma, &word.text))
            }
        };
        counts && self.is_act(verb)
    }

    /// Whether a word that is not known stands where a verb does: "Brews coffee", "and reaps it".
    fn is_unknown_act(&self) -> bool {
        const NEUTRAL: &str = "provide provides allow allows let lets help helps give gives use uses support supports \
            take takes accept accepts contain contains include includes represent represents offer offers expose \
            exposes produce produces perform performs tell tells print prints report reports render renders \
            demonstrate demonstrates handle handles generate generates make makes do does process processes ask asks \
            say says work works answer answers need needs require requires call calls open opens apply applies \
            cover covers combine combines group groups capture captures access accesses load loads gather gathers \
            collect collects map maps build builds select selects scan scans limit limits match matches";
        let Some(word) = self
            .word()
            .filter(|_| self.role == Role::Lead && !self.reading.is_hinted)
        else {
            return false;
        };
        let text = word.text.as_str();
        let is_word = text.len() > 2 && text.bytes().all(|byte| byte.is_ascii_lowercase());
        if !is_word
            || word.is_identifier
            || is_in(NEUTRAL, text)
            || is_in(DETERMINERS, text)
            || is_in(PREPOSITIONS, text)
            || is_in(MARKERS, text)
        {
            return false;
        }
        let is_third = text.ends_with('s')
            && !text.ends_with("ss")
            && !text.ends_with("us")
            && !text.ends_with("is");
        let begins = self.at == 0 && is_third && self.acts_on_next();
        let is_joined = self.follows("and then") && self.has_object() && !text.ends_with("ly");
        begins || is_joined
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
            Form::Base if self.role == Role::Aside || (self.reading.is_hinted && !is_lead) => false,
            Form::Base | Form::Third => self.is_finite_act(verb),
        }
    }

    /// "does not modify", "never deletes", "without changing", "nothing is deleted", "deletes nothing".
    fn is_denied(&self, form: Form) -> bool {
        if self.precedes("nothing no none nobody") {
            return true;
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
                    "without" | "avoid" | "avoids" => form != Form::Third,
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

    /// "To create an issue, use `create_issue`", "use create_issue to create one".
    fn is_of_another_tool(&self) -> bool {
        let sentence = self.sentence;
        let names = |at: &usize| {
            let is_named = sentence.get(*at).is_some_and(|word| word.is_identifier);
            let before = sentence.get(at.saturating_sub(3)..*at).unwrap_or_default();
            let mut before = before.iter();
            is_named && before.any(|word| is_in("use call see prefer try", &word.text))
        };
        let Some(named) = (0..sentence.len()).find(names) else {
            return false;
        };
        let begins_with_purpose = sentence
            .first()
            .is_some_and(|word| is_in("to for if when before after instead", &word.text));
        named < self.at || begins_with_purpose
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
        let of_others = || self.clause().any(|word| is_in(MARKERS, &word.text));
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
            "is" | "are" | "being" => !of_others(),
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
        self.follows("then") || self.has_object() || (joins_verb && !is_described) || continues
    }
}

/// Cuts a text into sentences of words.
#[derive(Default)]
struct Cutter {
    done: Vec<Sentence>,
    words: Vec<Word>,
    after_comma: bool,
    /// Parentheses that are open.
    depth: usize,
    /// Whether the sentence is an item of a list.
    is_item: bool,
    /// Whether the last heading is one over occasions, examples or fields.
    is_aside: bool,
    has_lead: bool,
}

impl Cutter {
    fn cut(mut self, text: &str) -> Vec<Sentence> {
        let characters: Vec<char> = text.chars().collect();
        let mut at = 0;
        let mut is_code = false;
        while let Some(&character) = characters.get(at) {
            if characters.get(at..at + 3) == Some(&['`', '`', '`']) {
                is_code = !is_code;
                self.end();
                at += 3;
                continue;
            }
            let name = code_end(&characters, at).filter(|_| !is_code);
            if is_code {
                at += 1;
            } else if let Some(end) = name {
                let name: String = characters
                    .get(at + 1..end)
                    .unwrap_or_default()
                    .iter()
                    .collect();
                self.add_name(name.to_lowercase());
                at = end + 1;
            } else if is_word_character(character) {
                let end = word_end(&characters, at);
                let word: String = characters.get(at..end).unwrap_or_default().iter().collect();
                let is_named = characters.get(end) == Some(&'=');
                self.add(&word, is_named);
                at = end;
            } else {
                self.punctuate(&characters, at);
                at += 1;
            }
        }
        self.end();
        self.done
    }

    fn add(&mut self, word: &str, is_named: bool) {
        for (text, is_identifier) in split_word(word) {
            let is_identifier = is_identifier || is_named;
            self.words.push(Word {
                verb: (!is_identifier).then(|| find(&text)).flatten(),
                text,
                after_comma: std::mem::take(&mut self.after_comma),
                is_identifier,
            });
        }
    }

    /// Adds the name of a tool, a field or a method.
    fn add_name(&mut self, text: String) {
        self.words.push(Word {
            text,
            verb: None,
            after_comma: std::mem::take(&mut self.after_comma),
            is_identifier: true,
        });
    }

    fn punctuate(&mut self, characters: &[char], at: usize) {
        let character = characters.get(at).copied().unwrap_or_default();
        let next = characters.get(at + 1);
        let is_spaced = next.is_none_or(|next| next.is_whitespace());
        self.after_comma |= matches!(character, ',' | '/' | '&' | '+');
        match character {
            '.' if is_spaced && !self.is_abbreviated() => {
                // "1. Run this": the number of an item.
                let is_number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
                let is_item = self.words.len() == 1 && self.words.iter().all(is_number);
                self.end();
                self.is_item = is_item;
            }
            '\n' => {
                let rest = characters.get(at + 1..).unwrap_or_default();
                let first = rest
                    .iter()
                    .find(|next| !next.is_whitespace() || **next == '\n');
                // A line that begins with a small letter goes on with the sentence.
                if !first.is_some_and(|first| first.is_lowercase()) {
                    self.end();
                    self.is_aside &= first != Some(&'\n') || self.is_item;
                }
            }
            '-' | '–' | '—' | '*' | '•' if is_spaced => {
                let is_first = self.words.is_empty();
                self.end();
                self.is_item |= is_first;
            }
            '(' | '[' | '{' | '<' => {
                self.end();
                self.depth += 1;
            }
            ')' | ']' | '}' | '>' => {
                self.end();
                self.depth = self.depth.saturating_sub(1);
            }
            ':' => {
                self.is_aside = self.words.iter().any(|word| is_in(HEADINGS, &word.text));
                self.end();
            }
            '!' | '?' | ';' | '|' | '。' | '→' | '=' => self.end(),
            _ => {}
        }
    }

    fn is_abbreviated(&self) -> bool {
        let last = self.words.last();
        last.is_some_and(|word| is_in("e.g i.e etc vs", &word.text))
    }

    fn end(&mut self) {
        self.after_comma = false;
        if self.words.is_empty() {
            return;
        }
        let words = std::mem::take(&mut self.words);
        let is_header = words.len() <= 3 && head(&words).is_none();
        let role = if !self.has_lead && self.depth == 0 {
            self.has_lead = !is_header;
            Role::Lead
        } else if self.is_aside && self.is_item {
            Role::Aside
        } else {
            Role::Plain
        };
        self.is_item = false;
        self.done.push(Sentence { words, role });
    }
}

/// Where a name between backticks ends, such as `tools/list`; a plain word is no name.
fn code_end(characters: &[char], at: usize) -> Option<usize> {
    const NAME_MAX: usize = 80;
    let rest = characters.get(at..)?.strip_prefix(&['`'])?;
    let length = rest
        .iter()
        .take(NAME_MAX)
        .position(|character| *character == '`')?;
    let name = rest.get(..length)?;
    let has_space = name.iter().any(|character| character.is_whitespace());
    let is_plain = name.iter().all(|character| character.is_alphabetic());
    (!has_space && !is_plain).then_some(at + 1 + length)
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word_end(characters: &[char], from: usize) -> usize {
    let mut at = from;
    while let Some(&character) = characters.get(at) {
        let next = characters.get(at + 1);
        let is_inner = matches!(character, '-' | '\'' | '’' | '.')
            && next.is_some_and(|next| is_word_character(*next))
            && at > from;
        if !is_word_character(character) && !is_inner {
            break;
        }
        at += 1;
    }
    at
}

/// The words of a hyphenated word, each with whether it is an identifier: `create_issue`, `getUser`, `a-b-c`, `a.b`.
fn split_word(word: &str) -> Vec<(String, bool)> {
    let mut was_small = false;
    let is_camel = word.chars().any(|character| {
        let is_hump = was_small && character.is_uppercase();
        was_small = character.is_lowercase();
        is_hump
    });
    let lower = word.to_lowercase().replace('’', "'");
    let is_identifier = word.contains('_')
        || is_camel
        || lower.matches('-').count() > 1
        || (lower.contains('.') && !is_in("e.g i.e", &lower));
    if is_identifier || lower == "read-only" {
        return vec![(lower, is_identifier)];
    }
    let parts = lower.split('-');
    parts.map(|part| (part.to_owned(), false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNHINTED: Reading = Reading {
        is_hinted: false,
        adds: false,
    };

    #[test]
    fn what_the_tool_does_is_told_from_what_it_describes() {
        for text in [
            "Deletes the file.",
            "Returns the messages and marks them as read.",
            "Get a customer, creating it when it is missing",
            "Reads the queue. The message is removed.",
            "Search for a text and replace it",
            "Use this tool to send a mail",
            "Not only reads, but deletes the rows",
            "Does not ask and deletes the file",
            "Fetches messages and posts to the channel",
            "Messages are fetched and deleted",
            "Clears the cache",
            "This tool will update the page",
            "Reads the sensor (this also resets the counter)",
            "Runs a query",
            "Formats the disk",
            "Turns the light on",
            "Get the list then delete it",
            "Triggers a build",
            "Gets the next job, locking it for five minutes",
            "Removed from the cart",
            "Logs in to the site",
            "Screenshot is saved to a file",
            "Handles deletion of users",
            "Makes changes to the file",
            "READS AND DELETES",
        ] {
            assert!(Prose::new(text).write(UNHINTED).is_some(), "{text}");
        }
        for text in [
            "Nothing is deleted.",
            "Does not modify anything",
            "Never deletes or changes files",
            "Waits a while, and holds nobody up",
            "Validate a formula without applying it",
            "Says when it was written",
            "Returns deleted items",
            "List issues created by a user",
            "Returns created_at and updated_at",
            "A read-only view of the orders",
            "Get the creation time and the last modified time",
            "Shows the commit logs",
            "List branches and tags",
            "List repositories you can push to",
            "To create an issue, use create_issue.",
            "Use this before updating a page",
            "Lists files that were deleted",
            "Explains how to create a user",
            "Returns updates of the order",
            "List users who can edit the page",
            "No files are changed",
            "It doesn't create, modify or delete files",
            "Get posts, comments and labels",
        ] {
            assert_eq!(Prose::new(text).write(UNHINTED), None, "{text}");
        }
    }

    #[test]
    fn the_first_verb_is_behind_its_opening() {
        for (text, verb) in [
            ("Get the weather", Some("get")),
            ("Recursively search for files", Some("search")),
            ("This tool will retrieve the balance", Some("retrieve")),
            ("Use this tool to list workflows", Some("list")),
            ("Notion | Retrieve a page", Some("retrieve")),
            ("Performs a web search", Some("search")),
            ("Tools for listing resources", Some("listing")),
            ("Snooze a reminder in the list", None),
            ("Weather of a city", None),
            ("Delete it", None),
            ("", None),
        ] {
            assert_eq!(Prose::new(text).reading_verb(false), verb, "{text}");
        }
    }
}
