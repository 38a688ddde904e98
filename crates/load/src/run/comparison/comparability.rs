//! Whether two sets of runs did the same thing: if not, a difference says little of the servers.

use crate::prelude::*;

/// The longest value that is shown whole.
const VALUE_CHARS_MAX: usize = 60;

/// The tools that were called.
const TOOLS: &str = "tools";

/// What a run did, setting by setting.
pub type LoadSetup = BTreeMap<String, Vec<String>>;

/// What the run of `report` did.
pub fn setup_of(report: &Report) -> LoadSetup {
    let mut kind = serde_json::to_value(&report.scenario_kind).unwrap_or_default();
    let own = kind
        .as_object_mut()
        .map(std::mem::take)
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, _)| name != "kind");
    let common = [
        ("scenario", report.scenario_kind.name().into()),
        ("sessions", report.sessions.into()),
        ("rate", report.rate.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    let settings = own.chain(common).map(|(name, value)| {
        let text = match value {
            Value::String(text) => text,
            value => value.to_string(),
        };
        (name.trim_end_matches("_secs").to_owned(), vec![text])
    });
    let tools = report.tools.keys().cloned().collect();
    settings.chain([(TOOLS.to_owned(), tools)]).collect()
}

/// The settings that make the load what it is. Runs that differ in one of them, or in the scenario,
/// say nothing about which server is better; other settings are only worth a warning.
const LOAD_SETTINGS: &[&str] = &[
    "scenario",
    "rate",
    "sessions",
    TOOLS,
    "concurrent",
    "from_concurrent",
    "to_concurrent",
    "baseline_concurrent",
    "spike_concurrent",
];

/// What the sides did differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differences {
    /// A warning that names everything.
    pub warning: String,
    /// Whether the load itself was another one.
    pub is_other_load: bool,
}

/// What the sides did differently; none if nothing.
pub fn differences(baseline: &[LoadSetup], current: &[LoadSetup]) -> Option<Differences> {
    let names: BTreeSet<&str> = baseline
        .iter()
        .chain(current)
        .flat_map(|setup| setup.keys().map(String::as_str))
        .collect();
    let different: Vec<&str> = names
        .into_iter()
        .filter(|name| {
            let (before, now) = (values(baseline, name), values(current, name));
            // By chance a tool may not be called in one run and be called in the next.
            before != now || (before.len() > 1 && *name != TOOLS)
        })
        .collect();
    // Settings of different scenarios are different by nature.
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
            let between = if *name == TOOLS { ", " } else { " or " };
            let text = |setups| join(&values(setups, name), between);
            let (before, now) = (text(baseline), text(current));
            format!("{name} is {before} in the baseline and {now} in the current runs")
        })
        .collect();
    Some(Differences {
        warning: format!("not like for like: {}", texts.join("; ")),
        is_other_load: told.iter().any(|name| LOAD_SETTINGS.contains(name)),
    })
}

fn values<'a>(setups: &'a [LoadSetup], name: &str) -> BTreeSet<Option<&'a str>> {
    let of = |setup: &'a LoadSetup| match setup.get(name) {
        Some(values) => values.iter().map(|it| Some(it.as_str())).collect(),
        None => vec![None],
    };
    setups.iter().flat_map(of).collect()
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

    fn setup(scenario: Scenario, sessions: u32) -> LoadSetup {
        let mut report = Report::empty(scenario.kind);
        report.sessions = sessions;
        setup_of(&report)
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
