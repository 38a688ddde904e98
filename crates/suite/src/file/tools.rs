//! The section `tools`: calls of tools, and what must come back; and its targets: what can be said about the one call, and
//! about the bad requests.

use super::SHOWN_MAX;
use super::entry::{self, SuiteScope};
use super::kinds::Nested;
use super::settings::ToolTestSettings;
use crate::gates::expectations_of;
use crate::prelude::*;
use mcprove_score::gate::{Path, PathStep};

/// Reads one test; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, node: &Node, scope: &SuiteScope<'_>) -> Option<ToolTestPlan> {
    let defaults = &mut scope.defaults.iter();
    let label = &sentence!("a test of `tools`");
    let node = entry::completed::<ToolTestSettings>(reader, node, label, &[], defaults)?;
    let (given, section): (ToolTestSettings, _) = entry::settings(reader, &node, label, &[]);
    let head = entry::head(reader, &section, &given.test);
    let server = entry::server(reader, &section, given.server, scope.servers);
    let resolve = if section.get("negative_path").is_some() {
        resolve
    } else {
        resolve_of_call
    };
    let expect = section
        .get("expect")
        .map(|field| expectations_of(reader, field, &resolve));
    let server = server?;
    let of_server = scope
        .servers
        .plans
        .get(&server)
        .and_then(|server| server.session.call_timeout);
    Some(ToolTestPlan {
        head,
        server,
        tool: given.tool,
        args: given.args.0.into(),
        timeout: given
            .timeout_ms
            .or(of_server)
            .unwrap_or(CALL_LIMITS.call_timeout),
        expect: expect.unwrap_or_default(),
        negative_path: given.negative_path.map(|Nested(given)| NegativePathPlan {
            checks: given
                .checks
                .map_or_else(|| Probe::ALL.to_vec(), |checks| checks.0),
            timeout: given.timeout_ms,
            expect: given.expect.map(|expect| expect.0),
        }),
    })
}

/// What a target begins with.
pub const BEGINNINGS: [&str; 5] = [
    "result",
    "is_error",
    "error",
    "duration_ms",
    "negative_path",
];
const OF_ERROR: [&str; 4] = ["category", "code", "message", "data"];
/// What there is about the bad requests.
pub const OF_NEGATIVE_PATH: [&str; 3] = ["checks_run", "failures", "gate_passed"];

type Resolved = Result<String, (Message, Message)>;

/// The target of a test as it is known, with `_` for `-`; else what is wrong with it, and what to try.
pub fn resolve(target: &str) -> Resolved {
    let (first, rest) = split_first(target);
    let family = first.replace('-', "_");
    let spelled = match family.as_str() {
        "negative_path" => target.replace('-', "_"),
        known if BEGINNINGS.contains(&known) => format!("{family}{rest}"),
        _ => {
            let close = near(&BEGINNINGS, first).map(str::to_owned);
            let known = BEGINNINGS.join(", ");
            let otherwise =
                format!("a target begins with one of {known}, such as result.content[0].text");
            return Err(unknown(target, close, otherwise));
        }
    };
    let path = Path::parse(&spelled).map_err(|error| {
        let shown = shorten(target, SHOWN_MAX);
        let Diagnostic { message, hint, .. } = error;
        (sentence!("{shown:?} is not a path: {message}"), hint)
    })?;
    match (family.as_str(), path.steps().get(1)) {
        ("result", _) | ("is_error" | "duration_ms" | "error", None) => Ok(spelled),
        ("error", Some(step)) => within(&spelled, "error", step, &OF_ERROR),
        ("negative_path", Some(step)) => {
            let target = within(&spelled, "negative_path", step, &OF_NEGATIVE_PATH)?;
            if path.steps().len() > 2 {
                let target = shorten(&target, SHOWN_MAX);
                let message = sentence!("{target:?} is a number, with nothing in it");
                return Err((message, "leave out what follows it".into()));
            }
            Ok(target)
        }
        ("negative_path", None) => Err((
            "\"negative_path\" is not a target by itself".into(),
            sentence!("add one of .{}", OF_NEGATIVE_PATH.join(", .")),
        )),
        (family, Some(_)) => Err((
            sentence!("{family:?} has nothing in it"),
            sentence!("write {family:?} alone"),
        )),
        (_, None) => Ok(spelled),
    }
}

/// The same where there are no bad requests.
pub fn resolve_of_call(target: &str) -> Resolved {
    let target = resolve(target)?;
    if target.starts_with("negative_path") {
        let message = sentence!("{target:?}, but the test has no `negative_path`");
        return Err((message, sentence!("add `negative_path: {{}}`")));
    }
    Ok(target)
}

/// The same where nothing but the bad requests is meant.
pub fn resolve_of_negative_path(target: &str) -> Resolved {
    let resolved = resolve(target)?;
    if resolved.starts_with("negative_path") {
        return Ok(resolved);
    }
    let message = sentence!(
        "{:?} is not about the bad requests",
        shorten(target, SHOWN_MAX)
    );
    let hint = sentence!("put it under the `expect` of the test");
    Err((message, hint))
}

/// The first name of a target, and what follows it.
fn split_first(target: &str) -> (&str, &str) {
    target.split_at(target.find(['.', '[']).unwrap_or(target.len()))
}

/// A name below a family is one that it has.
fn within(target: &str, family: &str, step: &PathStep, known: &[&str]) -> Resolved {
    let name = match step {
        PathStep::Key(name) => name.as_str(),
        _ => "",
    };
    if known.contains(&name) {
        return Ok(target.to_owned());
    }
    let close = near(known, name).map(|close| format!("{family}.{close}"));
    let otherwise = format!("known: {family}.{}", known.join(&format!(", {family}.")));
    Err(unknown(target, close, otherwise))
}

/// That there is no such target, and what may be meant.
fn unknown(target: &str, close: Option<String>, otherwise: String) -> (Message, Message) {
    let target = shorten(target, SHOWN_MAX);
    let message = sentence!("a tool test has no target {target:?}");
    (message, meant(close, otherwise))
}
