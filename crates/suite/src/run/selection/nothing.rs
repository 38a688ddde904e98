//! Why no test is chosen, and what was probably meant.

use super::{Filter, Selection, Shard, TagRule};
use crate::prelude::*;
use crate::report::problems::counted;

/// How many names are told.
const NAMES_MAX: usize = 5;
/// Characters that have a meaning in patterns and are rare in names.
const PATTERN_CHARACTERS: [char; 6] = ['*', '^', '$', '|', '[', '\\'];

/// Says why none of these tests is chosen.
pub fn explain(selection: &Selection, all: &[TestOf<'_>]) -> Diagnostic {
    if all.is_empty() {
        return Diagnostic::new(
            "no test is chosen: there is none in these files",
            sentence!("add one under `tools:`, `agents:` or `load:`"),
        );
    }
    if !all.iter().any(|test| selection.has_failed(test)) {
        return Diagnostic::new(
            "no test is chosen: nothing failed last time",
            sentence!("leave out {} to run all of them", setting("last_failed")),
        );
    }
    let named: Vec<&TestOf<'_>> = all.iter().filter(|test| selection.is_named(test)).collect();
    if named.is_empty() {
        return by_name(&selection.filters, all);
    }
    let tagged = named.iter().filter(|test| selection.is_tagged(test));
    if tagged.count() == 0 {
        return by_tag(&selection.tags, all, named.len());
    }
    Diagnostic::new(
        "no test is chosen: none of those that failed last time is among these",
        sentence!(
            "leave out {}, or give the files of last time",
            setting("last_failed")
        ),
    )
}

/// Says that there are fewer tests than shares.
pub fn of_shard(shard: Shard, count: usize) -> Diagnostic {
    let tests = match count {
        1 => "the one test".to_owned(),
        count => format!("the {count} tests"),
    };
    let Shard { index, count: of } = shard;
    Diagnostic::new(
        format!("no test is chosen: share {index}/{of} has none of {tests}"),
        sentence!(
            "share them out over {count} at most: {}",
            assignment("shard", format!("1/{count}"))
        ),
    )
}

fn by_name(filters: &[Filter], all: &[TestOf<'_>]) -> Diagnostic {
    let wanted: Vec<String> = filters.iter().map(|it| format!("{:?}", it.text)).collect();
    let mut near: Vec<&str> = Vec::new();
    for name in filters.iter().flat_map(|it| near_names(&it.text, all)) {
        if !near.contains(&name) {
            near.push(name);
        }
    }
    let plain = filters.iter().find(|filter| {
        filter.pattern.is_none() && filter.text.contains(PATTERN_CHARACTERS.as_slice())
    });
    let hint = if let Some(filter) = plain {
        let pattern = assignment("filter", format!("'/{}/'", filter.text));
        sentence!("write a pattern between slashes: {pattern}")
    } else if near.is_empty() {
        let all = all.iter().map(TestOf::name).take(NAMES_MAX);
        let first = format!(" shows all; the first are {}", listed(all));
        sentence!("{}{first}", setting("list"))
    } else {
        did_you_mean(near.into_iter().take(NAMES_MAX))
    };
    let (wanted, tests) = (wanted.join(" or "), counted(all.len(), "test"));
    Diagnostic::new(
        format!("no test is chosen: {wanted} finds none of {tests}"),
        hint,
    )
}

/// Names that have the words of a text, whatever their case, or are a few slips away from it.
fn near_names<'a>(text: &str, all: &[TestOf<'a>]) -> Vec<&'a str> {
    let wanted = text
        .rsplit("::")
        .next()
        .unwrap_or(text)
        .trim_matches('/')
        .to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let has_words = |name: &&str| {
        let name = name.to_lowercase();
        !words.is_empty() && words.iter().all(|word| name.contains(word))
    };
    let names = all.iter().map(TestOf::name);
    let with_words: Vec<&str> = names.clone().filter(has_words).collect();
    if !with_words.is_empty() {
        return with_words;
    }
    if let Some(name) = nearest(names.clone(), text) {
        return vec![name];
    }
    // A slip in one word of a name.
    let is_close = |name: &&str| {
        let lower = name.to_lowercase();
        words
            .iter()
            .any(|word| nearest(lower.split_whitespace(), word).is_some_and(|_| word.len() > 2))
    };
    names.filter(is_close).collect()
}

fn by_tag(rules: &[TagRule], all: &[TestOf<'_>], named: usize) -> Diagnostic {
    let known: BTreeSet<&str> = all
        .iter()
        .flat_map(|test| test.head().tags.iter().map(String::as_str))
        .collect();
    let slip = rules
        .iter()
        .filter(|rule| !rule.is_excluded)
        .filter(|rule| !known.contains(rule.tag.as_str()))
        .find_map(|rule| nearest(known.iter().copied(), &rule.tag));
    let hint: Message = match slip {
        Some(tag) => did_you_mean(std::iter::once(tag)),
        None if known.is_empty() => sentence!("no test has a tag: add `tags: [smoke]` to some"),
        None => {
            let known = known.into_iter().take(4 * NAMES_MAX);
            format!("the tags are {}", listed(known)).into()
        }
    };
    let rules = rules.iter().map(|rule| {
        let not = if rule.is_excluded { "!" } else { "" };
        sentence!("{}", assignment("tag", format!("{not}{}", rule.tag))).rendered()
    });
    let (rules, tests) = (
        rules.collect::<Vec<String>>().join(" "),
        counted(named, "test"),
    );
    Diagnostic::new(
        format!("no test is chosen: {rules} leaves none of {tests}"),
        hint,
    )
}

fn did_you_mean<'a>(names: impl Iterator<Item = &'a str>) -> Message {
    format!("did you mean {}?", listed(names)).into()
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    names.join(", ")
}
