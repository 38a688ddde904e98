//! What words are that are the same everywhere.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::lexicon::Class;

/// Words of each class.
const WORDS: &[(Class, &str)] = &[
    (Class::Agent, "i we"),
    (
        Class::Person,
        "you he she someone somebody anyone anybody everyone everybody nobody y'all",
    ),
    (
        Class::Thing,
        "it they everything nothing something anything none",
    ),
    (
        Class::Object,
        "me us him them itself myself ourselves yourself themselves there here",
    ),
    (Class::Which, "who which whose whom what whatever whichever"),
    (Class::That, "that"),
    (
        Class::Determiner,
        "the a an this these those my your our his her its their some any no every each
         another either neither all both several many few most such others",
    ),
    (
        Class::Number,
        "zero one two three four five six seven eight nine ten eleven twelve fifteen
         twenty thirty fifty hundred thousand dozen",
    ),
    (
        Class::Preposition,
        "of in on at from into onto for with by about under over per via through between
         against during within without across around near beyond among inside outside
         toward towards upon off out up down like despite except regarding concerning
         including above below behind besides rather instead",
    ),
    (Class::To, "to"),
    (Class::And, "and or then nor plus and/or"),
    (Class::But, "but so yet however hence therefore thus"),
    (
        Class::Subordinator,
        "if unless whether lest once when whenever where while whilst until till before
         after since because as than although though whereas how why provided assuming",
    ),
    (Class::Be, "am is are was were be been being"),
    (Class::Have, "have has had having"),
    (Class::Do, "do does did"),
    (
        Class::Modal,
        "will would can could may might must shall should ought",
    ),
    (Class::Not, "not never"),
    (
        Class::Adverb,
        "also just now already still again too even only ever always often soon today
         tomorrow yesterday tonight very quite lastly first next last together back
         please well anyway right away meanwhile otherwise hereby indeed perhaps maybe
         twice afterwards afterward later earlier ahead almost mistakenly monday tuesday
         wednesday thursday friday saturday sunday sometimes ago e.g i.e etc forever
         live online offline upstream downstream inline onsite abroad alone
         thereby moreover furthermore hopefully overnight",
    ),
    (
        Class::Adjective,
        "new old open latest recent other same stale duplicate temporary existing missing
         broken obsolete whole entire full short long big small large high low main
         correct wrong right-hand empty additional extra separate single unused brand-new
         active inactive pending public private final initial original previous current
         following relevant necessary proper own effective available",
    ),
];

/// The same, by word: every word of every text is looked up.
static CLASSES: LazyLock<BTreeMap<&str, Class>> = LazyLock::new(|| {
    let lists = WORDS.iter();
    lists
        .flat_map(|(class, list)| list.split_ascii_whitespace().map(|word| (word, *class)))
        .collect()
});

/// The class of a word that is always the same.
pub(super) fn word_class(lower: &str) -> Option<Class> {
    CLASSES.get(lower).copied()
}

/// Adverbs by their ending.
pub(super) fn is_adverb(lower: &str) -> bool {
    const OTHERS: &str = "reply family assembly anomaly supply july italy emily ally fly sally
        kelly molly holly billy apply rely multiply poly daily weekly monthly yearly hourly
        quarterly nightly friendly likely comply imply tally rally bully jelly butterfly";
    let is_other = || OTHERS.split_ascii_whitespace().any(|word| word == lower);
    lower.len() > 4 && lower.ends_with("ly") && !is_other()
}
