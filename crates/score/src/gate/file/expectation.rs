//! Expectations: a target and a matcher each, with the place of whatever is wrong with them.

use mcprove_settings::reader::near;
use mcprove_settings::schemars::schema_for;
use mcprove_settings::text::shorten;

use crate::gate::evaluate::Named;
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
    let node = table::spelled(reader, node, &LABEL.into(), KEYS)?;
    let section = table::section(reader, &node, &LABEL.into(), KEYS);
    let target = table::required(reader, &section, "target").zip(section.get("target"));
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
pub fn matcher(reader: &mut Reader<'_>, node: &Node) -> Option<Matcher> {
    let value = reader.json_of(node)?;
    match Matcher::from_value(&value) {
        Ok(matcher) => Some(matcher),
        Err(error) => {
            let span = span_of(node, &error.place);
            reader.problem(&span, error.sentence(), error.hint);
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
            PathStep::Key(name) => name,
            _ => "length",
        };
        let next = match (step, &found.data) {
            (PathStep::Index(index), Data::List(nodes)) => nodes.get(*index),
            (PathStep::Key(_) | PathStep::Length, Data::Table(fields)) => {
                let field = fields.iter().find(|field| spelled(field) == name);
                field.map(|field| &field.value)
            }
            _ => None,
        };
        let Some(next) = next else { break };
        found = next;
    }
    let is_matcher = match steps.last() {
        None | Some(PathStep::Index(_)) => true,
        Some(PathStep::Key(name)) => name == "not",
        Some(_) => false,
    };
    let is_unknown = |field: &&Field| Matcher::entries().all(|(known, _)| known != spelled(field));
    let unknown = match &found.data {
        Data::Table(fields) if is_matcher => fields.iter().find(is_unknown),
        _ => None,
    };
    unknown.map_or(&found.span, |field| &field.span).clone()
}

// The target of an expectation: one of a metric, or a path into each run.

/// How much of a wrong target is repeated in a message.
const SHOWN_MAX: usize = 60;

/// What a path into a run can begin with: the keys of a run.
static RUN_KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let schema = schema_for!(AgentRun);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
});

/// The target as it is known, with `_` for `-`; else what is wrong with it, and what to try. Where a
/// target begins with what no metric and no run has, no trace can be judged by it.
pub fn resolve(target: &str, metrics: &[&dyn AnyMetric]) -> Result<String, (Message, Message)> {
    if let Some(named) = Named::find(target, metrics) {
        let spelled = format!("{}{}", named.target.name, named.rest);
        parse(&spelled)?;
        return Ok(spelled);
    }
    let targets: Vec<&str> = metrics
        .iter()
        .flat_map(|metric| metric.about().targets)
        .map(|target| target.name)
        .collect();
    let mut families = targets.iter().filter_map(|name| name.split('.').next());
    let (first, rest) = target.split_at(target.find(['.', '[']).unwrap_or(target.len()));
    let family = first.replace('-', "_");
    if families.any(|known| known == family) {
        return Err(no_such_target(&targets, &family, target));
    }
    let spelled = if is_run_key(&family) {
        format!("{family}{rest}")
    } else {
        target.to_owned()
    };
    let path = parse(&spelled)?;
    match path.steps().first() {
        Some(PathStep::Key(key)) if is_run_key(key) => Ok(spelled),
        _ => Err(leads_nowhere(&targets, first, target)),
    }
}

fn is_run_key(key: &str) -> bool {
    RUN_KEYS.iter().any(|known| known == key)
}

fn parse(target: &str) -> Result<Path, (Message, Message)> {
    Path::parse(target).map_err(|error: Diagnostic| {
        let shown = shorten(target, SHOWN_MAX);
        let message = sentence!("{shown:?} is not a path: {}", error.message);
        (message, error.hint)
    })
}

/// Only what follows the family is compared, which they all have in common.
fn no_such_target(targets: &[&str], family: &str, target: &str) -> (Message, Message) {
    let name = target.get(..target.find('[').unwrap_or(target.len()));
    let spelled = name.unwrap_or(target).replace('-', "_");
    let spelled = spelled.strip_suffix(".length").unwrap_or(&spelled);
    let siblings: Vec<&str> = targets
        .iter()
        .filter_map(|name| name.strip_prefix(family)?.strip_prefix('.'))
        .collect();
    let rest = spelled.strip_prefix(family).unwrap_or(spelled);
    let close = near(&siblings, rest.trim_start_matches('.'));
    let hint = meant(
        close.map(|close| format!("{family}.{close}")),
        format!("known: {family}.{}", siblings.join(&format!(", {family}."))),
    );
    let target = shorten(target, SHOWN_MAX);
    (sentence!("no metric has the target {target:?}"), hint)
}

fn leads_nowhere(targets: &[&str], first: &str, target: &str) -> (Message, Message) {
    let families = targets.iter().filter_map(|name| name.split('.').next());
    let mut beginnings: Vec<&str> = RUN_KEYS.iter().map(String::as_str).collect();
    beginnings.extend(families);
    beginnings.dedup();
    let hint = meant(
        near(targets, target).or_else(|| near(&beginnings, first)),
        format!("a target begins with one of {}", beginnings.join(", ")),
    );
    let target = shorten(target, SHOWN_MAX);
    (
        sentence!("{target:?} is neither the target of a metric nor a path into a run"),
        hint,
    )
}
