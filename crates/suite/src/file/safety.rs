//! What a suite may not leave to variables: which program is started, and which host is contacted. This is checked in the
//! file as it stands, before anything is filled in, and again after it.
//!
//! Programs that start what their arguments say are another matter: there, a variable of the environment chooses what is
//! run, as much as if it were the program. That may be meant, so it is a warning.

use super::kinds::split_words;
use super::variables::names_one;
use crate::prelude::*;

const HINT: &str = "write it out: files of others must not choose what is started, or which host is contacted, by \
                    what they find here";

/// Refuses variables where they may not be.
pub fn check(reader: &mut Reader<'_>, root: &Node) {
    for section in root.fields() {
        let (name, value) = (section.name.as_str(), &section.value);
        if matches!(name, "servers" | "agents" | "defaults") {
            refuse_whole(reader, value, &format!("the {name}"));
        }
        if name == "defaults" {
            check_entry(reader, value);
        }
    }
    for (what, entry) in programs(root) {
        refuse_whole(reader, entry, what);
        check_entry(reader, entry);
    }
}

/// The servers and the agents, which may start programs.
fn programs(root: &Node) -> impl Iterator<Item = (&'static str, &Node)> {
    let of = |name: &str| root.get(name).map(|field| &field.value);
    let servers = of("servers").map_or(&[][..], Node::fields).iter();
    let agents = of("agents").map_or(&[][..], Node::elements).iter();
    servers
        .map(|field| ("a whole server", &field.value))
        .chain(agents.map(|agent| ("a whole agent", agent)))
}

/// A server, an agent, or the defaults.
fn check_entry(reader: &mut Reader<'_>, entry: &Node) {
    for field in entry.fields() {
        match field.name.as_str() {
            "command" => check_program(reader, field),
            "url" => check_host(reader, field),
            "provider" => {
                refuse_whole(reader, &field.value, "a whole provider");
                for field in field.value.fields() {
                    if field.name.replace('-', "_") == "base_url" {
                        check_host(reader, field);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What holds a command or an address must be there to be looked at.
fn refuse_whole(reader: &mut Reader<'_>, node: &Node, what: &str) {
    if node.text().is_some_and(names_one) {
        let message = format!("a variable cannot stand for {what}");
        reader.problem(
            &node.span,
            message,
            "write it out; variables may stand in its texts",
        );
    }
}

fn check_program(reader: &mut Reader<'_>, field: &Field) {
    let program = words_of(field).into_iter().next();
    if let Some(word) = program.filter(|word| names_one(&word.text)) {
        let message = "a variable cannot be part of a program";
        reader.problem(word.span, message, HINT);
    }
}

fn check_host(reader: &mut Reader<'_>, field: &Field) {
    let url = field.value.text();
    if url.is_some_and(|url| names_one(fixed_part(url))) {
        let message = "a variable cannot be part of a host";
        reader.problem(&field.value.span, message, HINT);
    }
}

/// The part of an address that says which host is contacted, and how: all of it up to the path. Without a scheme
/// it is all of it.
fn fixed_part(url: &str) -> &str {
    let path = parts_of_url(url).map_or("", |(.., path)| path);
    url.strip_suffix(path).unwrap_or(url)
}

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
pub fn warn_of_launchers(reader: &mut Reader<'_>, root: &Node) {
    for (_, entry) in programs(root) {
        check_words(reader, entry);
    }
}

fn check_words(reader: &mut Reader<'_>, entry: &Node) {
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
            // What cannot be split is told by the reader; until then all of it may be the program.
            let words = split_words(text).unwrap_or_else(|_| vec![text.clone()]);
            let words = words.into_iter();
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
