//! The target of an expectation: one of a metric, or a path into each run.

use std::sync::LazyLock;

use mcprove_settings::reader::near;
use mcprove_settings::text::shorten;
use schemars::schema_for;

use crate::gate::evaluate::Named;
use crate::gate::{PathError, Step};
use crate::prelude::*;

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
    let targets = metrics.iter().flat_map(|metric| metric.about().targets);
    let targets: Vec<&str> = targets.map(|target| target.name).collect();
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
        Some(Step::Key(key)) if is_run_key(key) => Ok(spelled),
        _ => Err(leads_nowhere(&targets, first, target)),
    }
}

fn is_run_key(key: &str) -> bool {
    RUN_KEYS.iter().any(|known| known == key)
}

fn parse(target: &str) -> Result<Path, (Message, Message)> {
    Path::parse(target).map_err(|error: PathError| {
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
    let targets = targets.iter();
    let siblings = targets.filter_map(|name| name.strip_prefix(family)?.strip_prefix('.'));
    let siblings: Vec<&str> = siblings.collect();
    let rest = spelled.strip_prefix(family).unwrap_or(spelled);
    let hint = near(&siblings, rest.trim_start_matches('.')).map_or_else(
        || format!("known: {family}.{}", siblings.join(&format!(", {family}."))),
        |close| format!("did you mean \"{family}.{close}\"?"),
    );
    let target = shorten(target, SHOWN_MAX);
    (
        sentence!("no metric has the target {target:?}"),
        hint.into(),
    )
}

fn leads_nowhere(targets: &[&str], first: &str, target: &str) -> (Message, Message) {
    let families = targets.iter().filter_map(|name| name.split('.').next());
    let mut beginnings: Vec<&str> = RUN_KEYS.iter().map(String::as_str).collect();
    beginnings.extend(families);
    beginnings.dedup();
    let hint = near(targets, target)
        .or_else(|| near(&beginnings, first))
        .map_or_else(
            || format!("a target begins with one of {}", beginnings.join(", ")),
            |close| format!("did you mean {close:?}?"),
        );
    let target = shorten(target, SHOWN_MAX);
    (
        sentence!("{target:?} is neither the target of a metric nor a path into a run"),
        hint.into(),
    )
}
