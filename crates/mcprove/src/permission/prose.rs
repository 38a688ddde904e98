//! What a description says that a tool does: its first verb, and the first word that names a write.
//!
//! A word that can name a write does so where the tool is the one that acts: "Deletes the file", "and marks them
//! as read", "the cache is cleared". It does not where it is denied ("does not modify"), describes a thing
//! ("deleted items", "when it was written", "creation time") or is what somebody else does ("before you update").

use mcprove_score::trace::verbs::{Effect, Verb};

use super::act::Place;
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
    list.split_whitespace().any(|listed| listed == word)
}

impl Prose {
    pub(super) fn new(text: &str) -> Self {
        Self {
            sentences: sentences::cut(text),
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
    pub(super) fn reads(&self) -> bool {
        self.verb
            .is_some_and(|verb| matches!(verb.effect, Effect::Reads | Effect::Computes))
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
