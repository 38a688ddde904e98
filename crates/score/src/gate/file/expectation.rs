//! Expectations: a target and a matcher each, with the place of whatever is wrong with them.

use std::ops::Range;

use mcprove_settings::table;

use crate::gate::{Expectation, Step};
use crate::prelude::*;

/// The target as it is known; else what is wrong with it, and what to try.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Result<String, (Message, Message)>;

const LABEL: &str = "an expectation";
const KEYS: &[&str] = &["target", "matcher"];

/// The expectations in a list, whose targets `resolve` knows.
pub fn expectations_of(
    reader: &mut Reader<'_>,
    field: &Field,
    resolve: Resolve<'_>,
) -> Vec<Expectation> {
    let hint = sentence!("write a line `- {{ target: …, matcher: {{ … }} }}` for each");
    let nodes = reader.list(field, hint);
    if matches!(&field.value.data, Data::List(nodes) if nodes.is_empty()) {
        let hint = sentence!(
            "list a target and a matcher each; leave `expect` out for the default gate, where there is one"
        );
        let message = sentence!("`expect` gates nothing: it is empty");
        reader.problem(&field.value.span, message, hint);
    }
    nodes
        .iter()
        .filter_map(|node| expectation(reader, node, resolve))
        .collect()
}

fn expectation(reader: &mut Reader<'_>, node: &Node, resolve: Resolve<'_>) -> Option<Expectation> {
    let node = table::spelled(reader, node, LABEL, KEYS)?;
    let section = table::section(reader, &node, LABEL, KEYS);
    let target = table::required(reader, &section, "target");
    let target = target.zip(section.get("target"));
    // What is no target is a problem: nothing could be judged by it.
    let target = target.and_then(|(target, field)| match resolve(&target) {
        Ok(target) => Some(target),
        Err((message, hint)) => {
            reader.problem(&field.value.span, message, hint);
            None
        }
    });
    let matcher = if let Some(field) = section.get("matcher") {
        matcher(reader, &field.value)
    } else {
        let message = sentence!("{LABEL} has no `matcher`");
        let hint = sentence!("add `matcher: {{ exact: … }}`, or another one");
        reader.problem(section.span(), message, hint);
        None
    };
    Some(Expectation {
        target: target?,
        matcher: matcher?,
    })
}

/// A matcher; what is wrong with it is told where it stands.
pub(crate) fn matcher(reader: &mut Reader<'_>, node: &Node) -> Option<Matcher> {
    let value = json(reader, node)?;
    match Matcher::from_value(&value) {
        Ok(matcher) => Some(matcher),
        Err(error) => {
            let span = span_of(node, &error.place);
            reader.problem(&span, error.to_string(), error.hint);
            None
        }
    }
}

/// Where in the file a place of a matcher is, such as `all_of[1].regex`. Where a matcher should be and
/// is none, its name is meant.
fn span_of(matcher: &Node, place: &str) -> Range<usize> {
    let path = Path::parse(place);
    let steps = path.as_ref().map_or(&[][..], Path::steps);
    let spelled = |field: &Field| field.name.replace('-', "_");
    let mut found = matcher;
    for step in steps {
        let name = match step {
            Step::Key(name) => name,
            _ => "length",
        };
        let next = match (step, &found.data) {
            (Step::Index(index), Data::List(nodes)) => nodes.get(*index),
            (Step::Key(_) | Step::Length, Data::Table(fields)) => {
                let field = fields.iter().find(|field| spelled(field) == name);
                field.map(|field| &field.value)
            }
            _ => None,
        };
        let Some(next) = next else { break };
        found = next;
    }
    let is_matcher = match steps.last() {
        None | Some(Step::Index(_)) => true,
        Some(Step::Key(name)) => name == "not",
        Some(_) => false,
    };
    let is_unknown = |field: &&Field| Matcher::entries().all(|(known, _)| known != spelled(field));
    let unknown = match &found.data {
        Data::Table(fields) if is_matcher => fields.iter().find(is_unknown),
        _ => None,
    };
    unknown.map_or(&found.span, |field| &field.span).clone()
}

/// A value as JSON.
pub fn json(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    let beyond = node.beyond_json();
    for node in &beyond {
        let message = match node.data {
            Data::Integer(_) => "a whole number beyond 64 bits is not kept exactly",
            _ => "JSON has no such number",
        };
        let hint = "write it as a text, or leave it out";
        reader.problem(&node.span, message.to_owned(), hint);
    }
    node.to_json().ok().filter(|_| beyond.is_empty())
}
