//! What the registries share (scenarios, faults, metrics, matchers, built-in servers): finding a thing by its name or
//! the nearest one, and filling its settings.
//!
//! From the entries of a registry come the names on the command line, the `--explain` texts, the JSON Schema
//! and the table in the docs, so a new one cannot be half-added.

use crate::message::{Diagnostic, DiagnosticResult};
use crate::prelude::*;
use crate::setting::Opaque;
use strsim::osa_distance;

/// One thing that can be chosen by name and built from settings.
#[derive(Opaque)]
pub struct Entry<Built: ?Sized> {
    /// The name, in `snake_case`; `-` is accepted for `_`.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it is, in one line.
    pub explanation: &'static str,
    /// What can be set.
    pub settings: fn() -> &'static [Setting],
    /// Builds it with these settings; see [`filled`].
    pub build: Build<Built>,
}

/// Builds something with settings given by name.
pub type Build<Built> = fn(&Map<String, Value>) -> DiagnosticResult<Box<Built>>;

/// Settings with these given, by name, and the defaults.
///
/// ```
/// use mcprove_settings::registry::filled;
/// use mcprove_settings::setting::Settings;
/// use serde_json::{Map, json};
///
/// #[derive(Settings)]
/// struct Crash {
///     /// which call is fatal
///     #[setting(default = 100, kind = WHOLE)]
///     every: u64,
/// }
///
/// let given = |every| Map::from_iter([("every".to_owned(), every)]);
/// assert_eq!(filled::<Crash>(&given(json!(7))).unwrap().every, 7);
/// let error = filled::<Crash>(&given(json!("7"))).map(drop).unwrap_err();
/// assert_eq!(error.to_string(), r#"`every` must be a whole number from 0 to 18446744073709551615, not "7""#);
/// ```
pub fn filled<T: Settings>(given: &Map<String, Value>) -> DiagnosticResult<T> {
    let mut settings = T::initial();
    set_given(&mut settings, given)?;
    Ok(settings)
}

fn set_given(settings: &mut dyn Settings, given: &Map<String, Value>) -> DiagnosticResult {
    let document = Document::empty("settings");
    for (name, value) in given {
        let (index, _) = find_named("setting", settings.table(), Setting::names, name)?;
        let mut reader = Reader::new(&document);
        settings.read(index, &mut reader, &Field::new(name, value.clone().into()));
        reader.finish()?;
    }
    Ok(())
}

/// Finds an entry by name, taking `-` for `_`.
pub fn find<'a, Built: ?Sized>(
    entries: &'a [Entry<Built>],
    name: &str,
) -> DiagnosticResult<&'a Entry<Built>> {
    let names =
        |entry: &Entry<Built>| std::iter::once(entry.name).chain(entry.aliases.iter().copied());
    find_named("name", entries, names, name).map(|(_, entry)| entry)
}

/// The one of this name, and its place.
fn find_named<'a, T, N: Iterator<Item = &'static str>>(
    what: &str,
    all: &'a [T],
    names: impl Fn(&'a T) -> N,
    wanted: &str,
) -> DiagnosticResult<(usize, &'a T)> {
    let normal = wanted.replace('-', "_");
    all.iter()
        .enumerate()
        .find(|(_, it)| names(it).any(|name| name == normal))
        .ok_or_else(|| {
            let hint = did_you_mean(all.iter().flat_map(names), &normal);
            Diagnostic::new(format!("unknown {what} {wanted:?}"), hint)
        })
}

/// The hint `did you mean "contains"?`, where one of these is close; else it is empty.
pub fn did_you_mean<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> String {
    let close = nearest(names, wanted);
    close.map_or_else(String::new, |close| format!("did you mean {close:?}?"))
}

/// The known name closest to `wanted`, if one is close enough to be a slip of the keyboard: a character too many, too
/// few or wrong, or two neighbours swapped.
pub fn nearest<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Option<&'a str> {
    let limit = (wanted.chars().count() / 3).max(1);
    names
        .map(|name| (osa_distance(name, wanted), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Settings)]
    struct Crash {
        /// which call
        #[setting(default = 100, kind = WHOLE)]
        every: u64,
    }

    const ENTRIES: &[Entry<u64>] = &[Entry {
        name: "slow_crash",
        aliases: &["mock_crash"],
        explanation: "exits",
        settings: Crash::declared,
        build: |given| filled::<Crash>(given).map(|crash| Box::new(crash.every)),
    }];

    #[test]
    fn entries_are_found_by_any_name() {
        for name in ["slow-crash", "slow_crash", "mock-crash"] {
            assert_eq!(
                find(ENTRIES, name).map(|entry| entry.name),
                Ok("slow_crash")
            );
        }
        let error = find(ENTRIES, "slow_crsh").map(drop).unwrap_err();
        assert_eq!(error.to_string(), r#"unknown name "slow_crsh""#);
        assert_eq!(error.hint.rendered(), r#"did you mean "slow_crash"?"#);
    }

    #[test]
    fn defaults_apply_unless_given() {
        let build = find(ENTRIES, "slow_crash").unwrap().build;
        assert_eq!(*build(&Map::new()).unwrap(), 100);
        let given = json!({ "every": 3 });
        assert_eq!(*build(given.as_object().unwrap()).unwrap(), 3);
    }

    #[test]
    fn wrong_settings_are_refused() {
        let build = find(ENTRIES, "slow_crash").unwrap().build;
        let wrong_type = json!({ "every": "x" });
        let error = build(wrong_type.as_object().unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`every` must be a whole number"),
            "{error}"
        );
        let wrong_name = json!({ "evry": 1 });
        let error = build(wrong_name.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), r#"unknown setting "evry""#);
        assert_eq!(error.hint.rendered(), r#"did you mean "every"?"#);
    }

    #[test]
    fn distances() {
        assert_eq!(nearest(["add", "echo"].into_iter(), "ehco"), Some("echo"));
        assert_eq!(nearest(["deadlock", "leak"].into_iter(), "zzzzzz"), None);
    }
}
