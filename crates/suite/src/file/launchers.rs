//! Programs that start what their arguments say: there, a variable of the environment chooses what is run,
//! as much as if it were the program. That may be meant, so it is a warning.

use mcprove_settings::message::sentence;
use std::ops::Range;

use mcprove_settings::reader::Reader;
use mcprove_settings::tree::{Data, Field, Node};

use super::kinds::split_words;
use super::safety::programs;
use crate::plan::{Part, parts};

/// Programs that run a program, a package or a piece of code that they are given, with their options.
const LAUNCHERS: &str = include_str!("launchers.txt");
/// First arguments that say no more than that something is to be run.
const SUBCOMMANDS: &[&str] = &["dlx", "exec", "run", "tool", "x"];
/// Variables that decide what a program loads.
const LOADING: &[&str] = &["NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "BASH_ENV", "ENV"];
/// Variables with this in front are set by us, for agents.
const OURS: &str = "MCPROVE_";

/// A word of a command, and where it stands.
struct Word<'n> {
    text: String,
    span: &'n Range<usize>,
}

/// Warns of variables of the environment that choose what is run. Those of the suite are filled in by now.
pub(super) fn warn(reader: &mut Reader<'_>, root: &Node) {
    for (_, entry) in programs(root) {
        check(reader, entry);
    }
}

fn check(reader: &mut Reader<'_>, entry: &Node) {
    let words = ["command", "args"]
        .into_iter()
        .filter_map(|name| entry.get(name));
    let mut words = words.flat_map(words_of);
    let mut launcher = words.next().and_then(|word| launcher_named(&word.text));
    let mut value = None;
    while let (Some((name, options)), Some(word)) = (launcher, words.next()) {
        let text = word.text.as_str();
        let value_of = std::mem::take(&mut value);
        let set = text
            .split_once('=')
            .map(|(name, _)| name)
            .filter(|name| !name.starts_with('-') && !name.contains(char::is_whitespace));
        let is_harmless = value_of == Some(Value::Setting) || set.is_some_and(is_setting);
        if !is_harmless && has_variable(text) {
            let message = sentence!(
                "a variable of the environment chooses what `{name}` runs; write it out if the file is meant \
                 for others"
            );
            reader.warn(word.span, message);
        }
        if value_of.is_some() || set.is_some() || SUBCOMMANDS.contains(&text) {
            continue;
        }
        value = value_after(options, text);
        let is_option = text.starts_with('-') || name == "cmd" && text.starts_with('/');
        // `timeout 5 …`
        let is_number = text.starts_with(|first: char| first.is_ascii_digit());
        if !is_option && !is_number {
            // This is what is run. It may be a launcher itself.
            launcher = launcher_named(text);
        }
    }
}

/// What the argument after an option is, where what is run comes only after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// What is run besides.
    Code,
    /// How it is run.
    Setting,
}

fn value_after(options: &str, option: &str) -> Option<Value> {
    let mut options = options.split_whitespace();
    let kind = match options.next()? {
        "code" => Value::Code,
        _ => Value::Setting,
    };
    options.any(|known| known == option).then_some(kind)
}

/// Whether a variable that a command sets says nothing about what is loaded.
fn is_setting(name: &str) -> bool {
    let is_loading = name.ends_with("PATH") || name.starts_with("LD_") || name.starts_with("DYLD_");
    !is_loading && !LOADING.contains(&name) && !has_variable(name)
}

fn words_of(field: &Field) -> Vec<Word<'_>> {
    match &field.value.data {
        Data::Text(text) => {
            let words = split_words(text).unwrap_or_default().into_iter();
            let span = &field.value.span;
            words.map(|text| Word { text, span }).collect()
        }
        Data::List(nodes) => {
            let words = nodes.iter().filter_map(|node| {
                let text = node.text()?.to_owned();
                let span = &node.span;
                Some(Word { text, span })
            });
            words.collect()
        }
        _ => Vec::new(),
    }
}

/// The launcher that a path names, and its options: `/usr/bin/python3.12` is `python`, `CMD.EXE` is `cmd`.
fn launcher_named(path: &str) -> Option<(&'static str, &'static str)> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let name = lower.trim_end_matches(".exe").trim_end_matches(".cmd");
    let bare = name.trim_end_matches(|end: char| end.is_ascii_digit() || end == '.');
    let lines = LAUNCHERS.lines().filter_map(|line| line.split_once(':'));
    [name, bare].into_iter().find_map(|wanted| {
        let is_it = |known: &&str| *known == wanted;
        lines
            .clone()
            .find_map(|(names, options)| Some((names.split(' ').find(is_it)?, options)))
    })
}

fn has_variable(text: &str) -> bool {
    let is_theirs =
        |part: &Part<'_>| matches!(part, Part::Variable { name, .. } if !name.starts_with(OURS));
    parts(text).iter().any(is_theirs)
}
