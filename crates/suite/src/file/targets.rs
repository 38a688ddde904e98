//! The targets of a tool test: what can be said about the one call, and about the bad requests.

use mcprove_score::gate::{Path, PathError, ScoreError, Step};
use mcprove_settings::message::{Message, sentence};
use mcprove_settings::reader::near;
use mcprove_settings::text::shorten;

use super::SHOWN_MAX;

/// What a target begins with.
pub(crate) const BEGINNINGS: [&str; 5] = [
    "result",
    "is_error",
    "error",
    "duration_ms",
    "negative_path",
];
/// What an error has.
const OF_ERROR: [&str; 4] = ["category", "code", "message", "data"];
/// What there is about the bad requests.
pub(crate) const OF_NEGATIVE_PATH: [&str; 3] = ["checks_run", "failures", "gate_passed"];

type Resolved = Result<String, (Message, Message)>;

/// The target of a test as it is known, with `_` for `-`; else what is wrong with it, and what to try.
pub(super) fn resolve(target: &str) -> Resolved {
    let (first, rest) = split_first(target);
    let family = first.replace('-', "_");
    let spelled = match family.as_str() {
        "negative_path" => target.replace('-', "_"),
        known if BEGINNINGS.contains(&known) => format!("{family}{rest}"),
        _ => return Err(unknown(target, first)),
    };
    let path = Path::parse(&spelled).map_err(|error: PathError| {
        let shown = shorten(target, SHOWN_MAX);
        let ScoreError { message, hint, .. } = error.about(target);
        (sentence!("{shown:?} is not a path: {message}"), hint)
    })?;
    match (family.as_str(), path.steps().get(1)) {
        ("result", _) | ("is_error" | "duration_ms" | "error", None) => Ok(spelled),
        ("error", Some(step)) => within(&spelled, "error", step, &OF_ERROR),
        ("negative_path", Some(step)) => {
            let target = within(&spelled, "negative_path", step, &OF_NEGATIVE_PATH)?;
            if path.steps().len() > 2 {
                return Err((
                    sentence!(
                        "{:?} is a number, with nothing in it",
                        shorten(&target, SHOWN_MAX)
                    ),
                    "leave out what follows it".into(),
                ));
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
pub(super) fn resolve_of_call(target: &str) -> Resolved {
    let target = resolve(target)?;
    if target.starts_with("negative_path") {
        let message = sentence!("{target:?}, but the test has no `negative_path`");
        return Err((message, sentence!("add `negative_path: {{}}`")));
    }
    Ok(target)
}

/// The same where nothing but the bad requests is meant.
pub(super) fn resolve_of_negative_path(target: &str) -> Resolved {
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
fn within(target: &str, family: &str, step: &Step, known: &[&str]) -> Resolved {
    let name = match step {
        Step::Key(name) => name.as_str(),
        _ => "",
    };
    if known.contains(&name) {
        return Ok(target.to_owned());
    }
    let hint = near(known, name).map_or_else(
        || format!("known: {family}.{}", known.join(&format!(", {family}."))),
        |close| format!("did you mean \"{family}.{close}\"?"),
    );
    let target = shorten(target, SHOWN_MAX);
    let message = sentence!("a tool test has no target {target:?}");
    Err((message, hint.into()))
}

fn unknown(target: &str, first: &str) -> (Message, Message) {
    let hint = near(&BEGINNINGS, first).map_or_else(
        || {
            let example = "such as result.content[0].text";
            format!(
                "a target begins with one of {}, {example}",
                BEGINNINGS.join(", ")
            )
        },
        |close| format!("did you mean {close:?}?"),
    );
    let target = shorten(target, SHOWN_MAX);
    let message = sentence!("a tool test has no target {target:?}");
    (message, hint.into())
}
