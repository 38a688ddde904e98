//! What a suite may not leave to variables: which program is started, and which host is spoken to.
//!
//! This is checked in the file as it stands, before anything is filled in, and again after it.

use super::kinds::split_words;
use super::variables::names_one;
use crate::prelude::*;

const HINT: &str = "write it out: files of others must not choose what is started, or who is spoken to, by \
                    what they find here";

/// Refuses variables where they may not be.
pub(super) fn check(reader: &mut Reader<'_>, root: &Node) {
    for section in root.fields() {
        let value = &section.value;
        match section.name.as_str() {
            "servers" => refuse_whole(reader, value, "the servers"),
            "agents" => refuse_whole(reader, value, "the agents"),
            "defaults" => {
                refuse_whole(reader, value, "the defaults");
                check_entry(reader, value);
            }
            _ => {}
        }
    }
    for (what, entry) in programs(root) {
        refuse_whole(reader, entry, what);
        check_entry(reader, entry);
    }
}

/// The servers and the agents, which may start programs.
pub(super) fn programs(root: &Node) -> impl Iterator<Item = (&'static str, &Node)> {
    let of = |name: &str| root.get(name).map(|field| &field.value);
    let servers = of("servers").map_or(&[][..], Node::fields).iter();
    let agents = of("agents").map_or(&[][..], Node::elements).iter();
    let servers = servers.map(|field| ("a whole server", &field.value));
    servers.chain(agents.map(|agent| ("a whole agent", agent)))
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
    let (program, node) = match &field.value.data {
        Data::Text(text) => {
            // What cannot be split is told by the reader; until then all of it may be the program.
            let words = split_words(text).unwrap_or_else(|_| vec![text.clone()]);
            (words.into_iter().next(), &field.value)
        }
        Data::List(nodes) => match nodes.first() {
            Some(node) => (node.text().map(str::to_owned), node),
            None => return,
        },
        _ => return,
    };
    if program.is_some_and(|program| names_one(&program)) {
        let message = "a variable cannot be part of a program".to_owned();
        reader.problem(&node.span, message, HINT);
    }
}

fn check_host(reader: &mut Reader<'_>, field: &Field) {
    if field
        .value
        .text()
        .is_some_and(|url| names_one(fixed_part(url)))
    {
        let message = "a variable cannot be part of a host".to_owned();
        reader.problem(&field.value.span, message, HINT);
    }
}

/// The part of an address that says who is spoken to, and how: all of it up to the path. Without a scheme
/// it is all of it.
fn fixed_part(url: &str) -> &str {
    let Some(scheme) = url.find("://") else {
        return url;
    };
    let start = scheme + "://".len();
    let rest = url.get(start..).unwrap_or_default();
    let end = rest
        .find(['/', '?', '#'])
        .map_or(url.len(), |end| start + end);
    url.get(..end).unwrap_or(url)
}
