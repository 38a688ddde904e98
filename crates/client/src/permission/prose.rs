//! What a description says that a tool does: its first verb, and the first word that names a write.
//!
//! A word that can name a write does so where the tool is the one that acts: "Deletes the file", "and marks them
//! as read", "the cache is cleared". It does not where it is denied ("does not modify"), describes a thing
//! ("deleted items", "when it was written", "creation time") or is what somebody else does ("before you update").

use mcprove_trace::verbs::{Effect, Verb};

use super::act::{Place, is_neutral};
use super::sentences;

/// A word of a sentence, in lower case.
pub(super) struct Word {
    pub(super) text: String,
    pub(super) verb: Option<Verb>,
    /// A comma or a slash stands before it.
    pub(super) after_comma: bool,
    /// It is the name of a tool, a field or a file.
    pub(super) is_identifier: bool,
}

/// Where a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is the first: what the tool does.
    Lead,
    /// It says more.
    Plain,
    /// It is in a list of occasions, examples or fields.
    Aside,
}

pub(super) struct Sentence {
    pub(super) words: Vec<Word>,
    pub(super) role: Role,
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

pub(super) const DETERMINERS: &str = "a an the this that these those it its them their all any every each some one your our my \
    his her new existing another both multiple several others everything everyone";
/// Words before the first verb of a description.
const OPENERS: &str = "this the a an tool tools function method command endpoint operation server api use used useful \
    using it will can to for that which allows allow allowing lets let enables enable you users user agents clients \
    helps help please simple optionally primary main your read-only readonly only";

pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Whether a word mixes letters of scripts, or has letters of another width or style: "d\u{435}lete".
fn is_disguised(word: &str) -> bool {
    let is_styled =
        |letter: char| matches!(letter, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}');
    let is_other = |letter: char| matches!(letter, '\u{370}'..='\u{58f}');
    let has_ascii = word.chars().any(|letter| letter.is_ascii_alphabetic());
    word.chars()
        .any(|letter| is_styled(letter) || (has_ascii && is_other(letter)))
}

impl Prose {
    pub(super) fn new(text: &str) -> Self {
        Self {
            sentences: sentences::cut(text),
        }
    }

    /// Whether a text of some length has words of English, and no word in letters that look like others.
    pub(super) fn is_english(&self) -> bool {
        const COMMON: &str =
            "a an the of for in on by to with from is are and as at all your this that it if or";
        const PLAIN: &str =
            "available current data details given information number random text time user users";
        let mut words = 0;
        let mut foreign = 0;
        let mut known = 0;
        for word in self.sentences.iter().flat_map(|sentence| &sentence.words) {
            if is_disguised(&word.text) {
                return false;
            }
            words += 1;
            foreign += usize::from(!word.text.is_ascii());
            let is_plain = is_in(PLAIN, &word.text);
            known += if word.verb.is_some() || is_plain {
                2
            } else {
                usize::from(is_in(COMMON, &word.text) || is_neutral(&word.text))
            };
        }
        foreign * 5 <= words && (words < 3 || known > 1)
    }

    /// The first verb, where the text begins with one that reads or computes.
    pub(super) fn reading_verb(&self, adds: bool) -> Option<&str> {
        // "Notion | Retrieve a page"
        for sentence in self.sentences.iter().take(3) {
            let words: Vec<&str> = sentence
                .words
                .iter()
                .take(6)
                .map(|word| word.text.as_str())
                .collect();
            if computes(&words) {
                return words.first().copied();
            }
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

/// Whether words begin with one that computes only with what follows: `generate_uuid`, "Roll two dice".
pub(super) fn computes(words: &[&str]) -> bool {
    let things = match words.first().copied().unwrap_or_default() {
        "generate" | "generates" => "uuid uuids guid ulid random",
        "test" | "tests" => "regex regexp regular",
        "roll" | "rolls" => "dice die",
        _ => return false,
    };
    words.iter().any(|word| is_in(things, word))
}

/// Whether a verb that reads or computes changes such a thing: to format a disk, to list a product for sale.
pub(super) fn changes(lemma: &str, thing: &str) -> bool {
    let things = match lemma {
        "format" => {
            "disk disks drive drives volume partition partitions usb device sdcard card hdd ssd filesystem file files \
            project workspace cells"
        }
        "sort" | "filter" => "file files inbox emails mails",
        "extract" => "archive archives zip tar tarball",
        "convert" => "lead leads quote trial prospect opportunity points wallet layer",
        "transform" | "normalize" | "encode" | "round" => {
            "database table object track layer corners bucket"
        }
        "add" | "subtract" => "account balance cart credits funds group item points user",
        "rank" => "up",
        "get" => "rid",
        "show" | "display" => {
            "popup toast dialog banner tv wall led screen desktop lights slide audience off"
        }
        "ping" => "team user users channel slack everyone",
        "echo" | "explain" => "channel customer",
        "check" => "off checkbox",
        "recall" => "email message drone vehicle",
        "identify" => "light bulb lamp blinking",
        "suggest" => "change changes attendees",
        "sleep" => "computer machine pc device",
        _ => return false,
    };
    is_in(things, thing)
}

impl Word {
    pub(super) fn reads(&self) -> bool {
        self.verb
            .is_some_and(|verb| matches!(verb.effect, Effect::Reads | Effect::Computes))
    }

    pub(super) fn is_number(&self) -> bool {
        let mut bytes = self.text.bytes();
        bytes.next().is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Whether it can stand before the first verb.
    pub(super) fn opens(&self) -> bool {
        is_in(OPENERS, &self.text) || self.text.ends_with("ly") || !self.text.is_ascii()
    }
}

/// The verb that a sentence begins with, behind "This tool", "Use this to" and adverbs.
pub(super) fn head(sentence: &[Word]) -> Option<&Word> {
    let mut words = sentence.iter().enumerate().take(10).peekable();
    while let Some((at, word)) = words.next() {
        if is_in("perform performs performing do does", &word.text) {
            // "Performs a web search": the noun says what.
            return words
                .take(4)
                .map(|(_, word)| word)
                .find(|word| word.reads());
        }
        let opens = word.opens();
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
