//! Where a suite may name variables of the environment: only where they are filled in when a test runs.
//! Everywhere else they would be taken as they stand, so there they are problems.

use super::SHOWN_MAX;
use super::variables::{Rewrite, Variables, is_name};
use crate::prelude::*;

/// How variables are written.
const WRITE: &str = "write ${NAME} or ${NAME:-otherwise}, the name with letters, digits and `_`; $${ stands for \
                     the characters themselves";
/// What to do about one that is not filled in.
const NAME_IT: &str = "name it under `variables`, or write $${ for the characters themselves";
/// What to do about one within another.
const UNNEST: &str = "name the inner one under `variables`, or write out what it stands for";

/// A variable that a text needs, and where the text stands.
pub type Needed = (String, Range<usize>);

/// Whether texts with these keys above them are filled in when they are used.
fn is_filled(path: &[&str]) -> bool {
    matches!(
        path,
        [
            "servers",
            _,
            "command" | "args" | "env" | "headers" | "url",
            ..
        ] | ["tools", "args", ..]
            | [
                "agents",
                "command" | "args" | "env" | "system" | "prompt" | "turns" | "provider",
                ..
            ]
            | ["defaults", "system" | "provider", ..]
            | [
                "load",
                "scenario",
                "tool_call" | "tool-call" | "pattern",
                "args",
                ..
            ]
            | [
                "load",
                "scenario",
                "tool_call" | "tool-call" | "pattern",
                "steps",
                "args",
                ..
            ]
    )
}

/// The tree ready to be read: texts that are filled in later as they are, all others with `${` for `$${`; and what
/// is needed of the environment.
pub fn settle(reader: &mut Reader<'_>, root: &Node) -> (Node, Vec<Needed>) {
    let mut settling = Settling {
        reader,
        needed: Vec::new(),
    };
    let root = settling.node(root, &mut Vec::new());
    (root, settling.needed)
}

struct Settling<'r, 'd> {
    reader: &'r mut Reader<'d>,
    needed: Vec<Needed>,
}

impl Rewrite for Settling<'_, '_> {
    /// Keys are taken as they stand, wherever they are.
    fn key(&mut self, field: &Field, path: &[&str]) -> String {
        let is_plain = |part: &Part<'_>| matches!(part, Part::Plain(_) | Part::Escape);
        if !parts(&field.name).iter().all(is_plain) {
            let name = shorten(&field.name, SHOWN_MAX);
            let message = sentence!("nothing is filled in in the name of a key: {name:?}");
            let hint = "write the name out, or $${ for the characters themselves";
            self.reader.problem(&field.span, message, hint);
        }
        match path {
            ["variables", ..] => field.name.clone(),
            // Nobody fills in keys later.
            _ => field.name.replace("$${", "${"),
        }
    }

    fn text(&mut self, text: &str, span: &Range<usize>, path: &[&str]) -> Data {
        // Values of variables were settled wherever they were put; what stands nowhere else must be sound too.
        let is_value = path.first() == Some(&"variables");
        let is_filled = is_filled(path);
        for part in parts(text) {
            let (message, hint) = match part {
                Part::Variable { name, .. } if !is_name(name) => {
                    let name = shorten(name, SHOWN_MAX);
                    (sentence!("`${{…}}` names no variable: {name:?}"), WRITE)
                }
                Part::Variable {
                    name, otherwise, ..
                } if is_filled => {
                    if otherwise.is_none() {
                        self.needed.push((name.to_owned(), span.clone()));
                    }
                    continue;
                }
                Part::Variable { name, .. } if !is_value => {
                    let name = shorten(name, SHOWN_MAX);
                    let message =
                        sentence!("nothing is filled in here from the environment: {name:?}");
                    (message, NAME_IT)
                }
                Part::Open(_) => (sentence!("`${{` has no end"), WRITE),
                Part::Nested(whole) => {
                    let whole = shorten(whole, SHOWN_MAX);
                    let message = sentence!("a variable cannot stand within a variable: {whole:?}");
                    (message, UNNEST)
                }
                _ => continue,
            };
            self.reader.problem(span, message, hint);
        }
        Data::Text(if is_filled || is_value {
            text.to_owned()
        } else {
            text.replace("$${", "${")
        })
    }
}

/// Warns of what is needed and not there.
pub fn warn_of_unset(
    reader: &mut Reader<'_>,
    needed: &[Needed],
    variables: &Variables,
    environment: &Environment,
) {
    let mut seen = BTreeSet::new();
    for (name, span) in needed {
        if !seen.insert(name) || environment.get(name).is_some() {
            continue;
        }
        let mut message = sentence!(
            "the variable {:?} is neither under `variables` nor in the environment",
            shorten(name, SHOWN_MAX)
        );
        if let Some(close) = near(&variables.names(), name) {
            message = sentence!("{message}; did you mean {close:?}?");
        }
        reader.warn(span, message);
    }
}
