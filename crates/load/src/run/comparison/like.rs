//! Whether two sets of runs did the same thing: if not, a difference says little of the servers.

use crate::prelude::*;

/// The longest value that is shown whole.
const VALUE_CHARS_MAX: usize = 60;

/// The knob that lists the tools that were called, and what stands between them.
const TOOLS: &str = "tools";
const SEPARATOR: &str = ", ";

/// What a run did, knob by knob.
pub(super) struct Setup {
    knobs: BTreeMap<String, String>,
}

impl Setup {
    /// What the run of `report` did.
    pub fn of(report: &Report) -> Self {
        let mut knobs = BTreeMap::new();
        let mut put = |name: &str, value: &Value| {
            let text = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            knobs.insert(name.trim_end_matches("_secs").to_owned(), text);
        };
        if let Ok(Value::Object(kind)) = serde_json::to_value(&report.scenario_kind) {
            for (name, value) in kind.iter().filter(|(name, _)| *name != "kind") {
                put(name, value);
            }
        }
        put("scenario", &report.scenario_kind.name().into());
        put("sessions", &report.sessions.into());
        put("rate", &report.rate.into());
        let tools: Vec<&str> = report.tools.keys().map(String::as_str).collect();
        put(TOOLS, &tools.join(SEPARATOR).into());
        Self { knobs }
    }
}

/// How the warning begins.
pub(super) const PREFIX: &str = "not like for like: ";

/// The knobs that make the load what it is. Runs that differ in one of them, or in the scenario,
/// say nothing about which server is better; other knobs are only worth a warning.
const LOAD_KNOBS: &[&str] = &["scenario", "rate", "sessions", TOOLS];

/// What the sides did differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Differences {
    /// A warning that names everything.
    pub warning: String,
    /// Whether the load itself was another one.
    pub is_other_load: bool,
}

fn is_of_load(name: &str) -> bool {
    LOAD_KNOBS.contains(&name) || name.contains("concurrent")
}

/// What the sides did differently; none if nothing.
pub(super) fn differences(baseline: &[Setup], current: &[Setup]) -> Option<Differences> {
    let names: BTreeSet<&str> = baseline
        .iter()
        .chain(current)
        .flat_map(|setup| setup.knobs.keys().map(String::as_str))
        .collect();
    let different: Vec<&str> = names
        .into_iter()
        .filter(|name| {
            let (before, now) = (values(baseline, name), values(current, name));
            // By chance a tool may not be called in one run and be called in the next.
            before != now || (before.len() > 1 && *name != TOOLS)
        })
        .collect();
    // Knobs of different scenarios are different by nature.
    let told = match different.iter().find(|name| **name == "scenario") {
        Some(scenario) => vec![*scenario],
        None => different,
    };
    if told.is_empty() {
        return None;
    }
    let texts: Vec<String> = told
        .iter()
        .map(|name| {
            let between = if *name == TOOLS { SEPARATOR } else { " or " };
            let text = |setups| join(&values(setups, name), between);
            let (before, now) = (text(baseline), text(current));
            format!("{name} is {before} in the baseline and {now} in the current runs")
        })
        .collect();
    Some(Differences {
        warning: format!("{PREFIX}{}", texts.join("; ")),
        is_other_load: told.iter().any(|name| is_of_load(name)),
    })
}

fn values<'a>(setups: &'a [Setup], name: &str) -> BTreeSet<Option<&'a str>> {
    let values = setups
        .iter()
        .map(|setup| setup.knobs.get(name).map(String::as_str));
    if name == TOOLS {
        let lists = values.flatten();
        return lists
            .flat_map(|list| list.split(SEPARATOR).map(Some))
            .collect();
    }
    values.collect()
}

fn join(values: &BTreeSet<Option<&str>>, between: &str) -> String {
    let texts: Vec<String> = values
        .iter()
        .map(|value| match value {
            None | Some("" | "null") => "not set".to_owned(),
            Some(text) => mcprove_settings::text::shorten(text, VALUE_CHARS_MAX),
        })
        .collect();
    texts.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Scenario;

    const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

    fn setup(scenario: Scenario, sessions: u32) -> Setup {
        let mut report = Report::empty(scenario.kind);
        report.sessions = sessions;
        Setup::of(&report)
    }

    #[test]
    fn only_what_differs_is_told() {
        let sustained = |concurrent| setup(Scenario::sustained().concurrent(concurrent), 1);
        assert_eq!(differences(&[sustained(5)], &[sustained(5)]), None);
        assert_eq!(
            differences(&[sustained(5), sustained(5)], &[sustained(9)]).unwrap(),
            Differences {
                warning:
                    "not like for like: concurrent is 5 in the baseline and 9 in the current runs"
                        .to_owned(),
                is_other_load: true,
            }
        );
        let longer = setup(Scenario::sustained().concurrent(5).duration(SECOND), 1);
        let longer = differences(&[sustained(5)], &[longer]).unwrap();
        assert!(longer.warning.contains("duration is "), "{longer:?}");
        assert!(!longer.is_other_load);
        let sessions = differences(
            &[sustained(5)],
            &[setup(Scenario::sustained().concurrent(5), 2)],
        );
        assert!(sessions.unwrap().is_other_load);
        let mixed = differences(&[sustained(5), sustained(9)], &[sustained(5), sustained(9)]);
        assert!(mixed.unwrap().warning.contains("concurrent is 5 or 9"));
        let other = differences(&[sustained(5)], &[setup(Scenario::soak(), 2)]);
        assert_eq!(
            other.unwrap().warning,
            "not like for like: scenario is sustained in the baseline and soak in the current runs"
        );
    }
}
