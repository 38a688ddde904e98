//! The table of verbs: which words of a tool's name or description say that it reads, computes, writes or
//! runs something, in every inflection.
//!
//! The table is data; what follows from a word is decided by whoever asks (`mcprove_client::permission`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What a verb says about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It looks at something.
    Reads,
    /// It works something out from its arguments.
    Computes,
    /// It computes if all of its arguments are numbers, and writes otherwise (`add`).
    Adds,
    /// It changes something.
    Writes,
    /// It starts something with unknown effects: often a query, sometimes a command.
    Runs,
}

/// How a word is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Nearly always as a verb.
    Verb,
    /// As a verb, sometimes as a noun or an adjective: `update`, `clear`.
    VerbOrNoun,
    /// As a noun, sometimes as a verb: `commit`, `order`.
    NounOrVerb,
}

/// The inflection of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `delete`, and `set` in any tense.
    Base,
    /// `deletes`
    Third,
    /// `deleting`
    Continuous,
    /// `deleted`
    Past,
    /// `deletion`
    Noun,
}

/// A word of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    /// The verb in its base form.
    pub lemma: &'static str,
    /// What it says.
    pub effect: Effect,
    /// How it is used.
    pub used: Use,
    /// The inflection found.
    pub form: Form,
}

const READS: &str = "browse describe detect discover display enumerate examine explain fetch find get grep identify inspect \
    list locate look lookup obtain outline peek ping preview query read recall recommend retrieve \
    return scrape search see show suggest view";

/// Nouns and particles that stand for a reading verb in a name.
const READING_NOUNS: &str = "about exists has help info is stat stats status uuid version whoami";

const COMPUTES: &str = "analyse analyze average calculate check classify compare compute convert count decode decompile determine \
    diff disassemble divide echo encode estimate extract filter forecast format geocode hash infer lint \
    measure multiply normalize parse predict rank round sleep solve sort sqrt subtract sum summarise summarize \
    tokenize transform translate validate wait";

const ADDS: &str = "add";

/// Verbs that change something, whatever stands beside them.
const WRITES: &str = "abort acknowledge acquire activate adjust allocate alter amend append approve assign associate attach \
    authorize autofix ban bind blacklist bootstrap burn cancel clone configure consume cordon create deactivate \
    decrement deduct del delete demote deny deploy deprovision dequeue deregister destroy detach disable \
    disassociate discard disconnect dismiss donate drain edit eject enable enqueue enroll erase escalate evict \
    expel flush forget freeze fulfill grant halt hibernate hide impersonate increment ingest inject \
    insert install integrate invalidate kick kill launch lend liquidate memorize migrate mkdir modify mutate \
    mute navigate notify nuke obliterate offboard onboard overwrite pay persist populate poweroff prepend \
    promote provision prune publish purge put quarantine quit rebase reboot rebuild reconfigure redeem \
    redeploy redo regenerate reimburse reinstall reject relaunch reload relocate remember remove rename renew \
    reopen reorder replace reprovision requeue reschedule resend reset resize restart restore retract revert \
    revoke rewrite rm rmdir rotate save scaffold seize send shred snooze spawn squash stash submit subscribe \
    suspend swipe synchronize teardown terminate toggle transmit truncate unarchive unassign unblock undeploy \
    undo unfollow uninstall unlink unlock unmount unmute unpin unpublish unregister unset unshare unstar \
    unsubscribe upsert wipe withdraw write";

/// Verbs that change something, and are nouns or adjectives too.
const WRITES_OR_NOUN: &str = "apply archive backup bill boot broadcast buy cache cast change charge checkin checkout clean clear click \
    close compact complete connect copy debit deposit dial dispatch download drag drop dump duplicate empty \
    export fill fire fix flash forward hold import invite join lock login logoff logout mail mark merge mint \
    mount move optimize patch pause play pop post press purchase push react refresh refund register rent \
    repair reply reserve resolve resume rollback scale schedule scroll seed sell set share ship shut shutdown \
    sign silence speak spend stake start steer stop store swap switch sync tap touch transfer trash trigger \
    tweet update upgrade upload vacuum vote wake wire zip";

/// Nouns in most names and sentences, where they stand for a thing and not for an act.
const NOUNS: &str = "alert bid block book bookmark branch claim comment commit draft email exchange fork index \
    invoice issue label link log message order pin place record release report request stage star stream tag \
    trade train watch";

/// Verbs of which only the object shows what they do.
const RUNS: &str = "bash eval evaluate exec execute invoke run shell terminal";

/// Words for an act that are no form of a verb.
const ACTS: &str = "activation allocation cancellation creation deactivation deletion destruction erasure insertion \
    installation invocation modification removal replacement termination uninstallation";

/// Past forms that no rule makes.
const IRREGULAR: &str = "buy:bought find:found get:got,gotten give:gave,given hide:hid,hidden hold:held lend:lent \
    make:made overwrite:overwrote,overwritten pay:paid read:read rebuild:rebuilt redo:redid,redone resend:resent \
    reset:reset rewrite:rewrote,rewritten run:ran see:saw,seen sell:sold send:sent set:set show:shown shoot:shot \
    shut:shut speak:spoke,spoken spend:spent split:split undo:undid,undone unset:unset wake:woke,woken \
    withdraw:withdrew,withdrawn write:wrote,written freeze:froze,frozen put:put cut:cut cast:cast";

/// Beginnings that leave a writing verb one: `resend`, `autodelete`, `unassign`.
const PREFIXES: [&str; 9] = [
    "re", "un", "de", "dis", "over", "auto", "bulk", "batch", "mass",
];

/// Verbs that a name may run together with what follows: `deletefile`.
const RUN_TOGETHER: [&str; 8] = [
    "delete", "create", "remove", "update", "insert", "destroy", "upload", "execute",
];

/// The verb that a word in lower case is a form of.
///
/// ```
/// use mcprove_trace::verbs::{Effect, Form, find};
///
/// let verb = find("deleting").unwrap();
/// assert_eq!((verb.lemma, verb.effect, verb.form), ("delete", Effect::Writes, Form::Continuous));
/// assert_eq!(find("lists").unwrap().effect, Effect::Reads);
/// assert_eq!(find("weather"), None);
/// ```
pub fn find(word: &str) -> Option<Verb> {
    let table = table();
    // `delete2`
    let word = word.trim_end_matches(|character: char| character.is_ascii_digit());
    if let Some(verb) = table.get(word) {
        return Some(*verb);
    }
    let derived = PREFIXES
        .iter()
        .filter_map(|prefix| table.get(word.strip_prefix(prefix)?))
        .find(|verb| verb.effect == Effect::Writes && verb.used == Use::Verb);
    let run_together = || {
        let begins = |verb: &&&str| {
            let rest = word.strip_prefix(**verb).unwrap_or_default();
            rest.len() > 3
        };
        let verb = RUN_TOGETHER.iter().find(begins)?;
        table.get(*verb)
    };
    derived.or_else(run_together).copied()
}

fn table() -> &'static BTreeMap<String, Verb> {
    static TABLE: OnceLock<BTreeMap<String, Verb>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = BTreeMap::new();
        let mut add = |words: &'static str, effect, used| {
            for lemma in words.split_whitespace() {
                for (word, form) in forms(lemma) {
                    table.entry(word).or_insert(Verb {
                        lemma,
                        effect,
                        used,
                        form,
                    });
                }
            }
        };
        add(READS, Effect::Reads, Use::Verb);
        add(COMPUTES, Effect::Computes, Use::Verb);
        add(ADDS, Effect::Adds, Use::Verb);
        add(WRITES, Effect::Writes, Use::Verb);
        add(WRITES_OR_NOUN, Effect::Writes, Use::VerbOrNoun);
        add(NOUNS, Effect::Writes, Use::NounOrVerb);
        add(RUNS, Effect::Runs, Use::VerbOrNoun);
        for (words, effect) in [(READING_NOUNS, Effect::Reads), (ACTS, Effect::Writes)] {
            for lemma in words.split_whitespace() {
                let form = match effect {
                    Effect::Writes => Form::Noun,
                    _ => Form::Base,
                };
                table.entry(lemma.to_owned()).or_insert(Verb {
                    lemma,
                    effect,
                    used: Use::Verb,
                    form,
                });
            }
        }
        table
    })
}

/// Every form of a verb, the base first.
fn forms(lemma: &str) -> Vec<(String, Form)> {
    let mut forms = vec![(lemma.to_owned(), Form::Base)];
    let ends = |endings: &[&str]| endings.iter().any(|ending| lemma.ends_with(ending));
    let stem = |cut: usize| lemma.get(..lemma.len() - cut).unwrap_or(lemma).to_owned();
    let is_vowel = |letter: u8| b"aeiou".contains(&letter);
    let bytes = lemma.as_bytes();
    let before_last = bytes.len().checked_sub(2).and_then(|at| bytes.get(at));
    let after_consonant = before_last.is_some_and(|letter| !is_vowel(*letter));
    if lemma.ends_with('y') && after_consonant {
        forms.push((stem(1) + "ies", Form::Third));
        forms.push((stem(1) + "ied", Form::Past));
    } else if ends(&["s", "x", "z", "ch", "sh", "o"]) {
        forms.push((format!("{lemma}es"), Form::Third));
        forms.push((format!("{lemma}ed"), Form::Past));
    } else {
        forms.push((format!("{lemma}s"), Form::Third));
        let ending = if lemma.ends_with('e') { "d" } else { "ed" };
        forms.push((format!("{lemma}{ending}"), Form::Past));
    }
    if lemma.ends_with('e') && !ends(&["ee", "oe", "ye"]) {
        forms.push((stem(1) + "ing", Form::Continuous));
    } else {
        forms.push((format!("{lemma}ing"), Form::Continuous));
    }
    // A consonant may be doubled (`dropped`, `cancelled`); a form that does not exist does no harm.
    if let [.., vowel, last] = bytes
        && is_vowel(*vowel)
        && !is_vowel(*last)
        && !b"wxy".contains(last)
    {
        let last = char::from(*last);
        forms.push((format!("{lemma}{last}ed"), Form::Past));
        forms.push((format!("{lemma}{last}ing"), Form::Continuous));
    }
    let irregular = IRREGULAR.split_whitespace();
    let mut irregular = irregular.filter_map(|row| row.split_once(':'));
    if let Some((_, pasts)) = irregular.find(|(base, _)| *base == lemma) {
        let pasts = pasts.split(',').filter(|past| *past != lemma);
        forms.extend(pasts.map(|past| (past.to_owned(), Form::Past)));
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_inflection_of_a_verb_is_found() {
        for (word, lemma) in [
            ("deletes", "delete"),
            ("deleted", "delete"),
            ("deleting", "delete"),
            ("written", "write"),
            ("cancelled", "cancel"),
            ("canceled", "cancel"),
            ("modifies", "modify"),
            ("modified", "modify"),
            ("dropping", "drop"),
            ("publishes", "publish"),
            ("resent", "resend"),
            ("replies", "reply"),
            ("destroying", "destroy"),
        ] {
            let verb = find(word).unwrap_or_else(|| panic!("{word}"));
            assert_eq!((verb.lemma, verb.effect), (lemma, Effect::Writes), "{word}");
        }
        for word in [
            "deletion",
            "removal",
            "recreates",
            "autodelete",
            "delete2",
            "deletefile",
        ] {
            assert_eq!(
                find(word).map(|verb| verb.effect),
                Some(Effect::Writes),
                "{word}"
            );
        }
        for word in ["address", "creator", "settings", "publisher", "sender", ""] {
            let found = find(word).filter(|verb| verb.effect == Effect::Writes);
            assert_eq!(found, None, "{word}");
        }
    }

    #[test]
    fn a_word_stands_in_one_list_of_verbs() {
        let lists = [
            READS,
            COMPUTES,
            ADDS,
            WRITES,
            WRITES_OR_NOUN,
            NOUNS,
            RUNS,
            READING_NOUNS,
            ACTS,
        ];
        let mut seen = std::collections::BTreeSet::new();
        for word in lists.into_iter().flat_map(str::split_whitespace) {
            assert!(seen.insert(word), "{word}");
        }
    }
}
