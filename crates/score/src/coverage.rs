//! Which of a server's tools a run really exercised.
//!
//! A tool counts as exercised with one successful call: a tool that only ever failed has shown
//! nothing. share = exercised / registered, and 1 for a server without tools: nothing is missing.

use mcprove_settings::printable::printable;

use crate::prelude::*;

/// Names of tools in one line.
const LINE_NAMES_MAX: usize = 3;
/// The longest name there.
const NAME_MAX: usize = 40;

/// Which tools were exercised; each list is sorted and has no tool twice.
#[sparse]
#[data]
pub struct CoverageReport {
    /// The tools that the server lists.
    pub registered: Vec<String>,
    /// Those with a successful call.
    pub exercised: Vec<String>,
    /// Those without one.
    pub missing: Vec<String>,
    /// Exercised over registered, 0 to 1.
    pub share: f64,
    /// How many of the registered tools may be called; not known to earlier versions.
    pub callable: Option<u64>,
    /// How many of these have a successful call.
    pub callable_exercised: Option<u64>,
}

impl CoverageReport {
    /// The share of the tools that may be called that have a successful call; 1 where none may be called.
    pub fn callable_share(&self) -> f64 {
        let counts = self.callable_exercised.zip(self.callable);
        counts.map_or(self.share, |(exercised, callable)| {
            share(exercised, callable).unwrap_or(1.0)
        })
    }

    /// The same in one line: `2 of 6 tools; not add, wait, store and 1 more`.
    pub fn line(&self) -> String {
        let shown = self.missing.iter().take(LINE_NAMES_MAX);
        let shown: Vec<String> = shown.map(|name| printable(name, NAME_MAX)).collect();
        let not = match self.missing.len().saturating_sub(LINE_NAMES_MAX) {
            _ if shown.is_empty() => String::new(),
            0 => format!("; not {}", shown.join(", ")),
            more => format!("; not {} and {more} more", shown.join(", ")),
        };
        let tools = counted(count(self.registered.len()), "tool");
        format!("{} of {tools}{not}", self.exercised.len())
    }
}

/// Compares the listed tools with the successful calls per tool. A tool that was called but is not
/// listed does not count. `callable` are those that may be called, where that is known.
pub fn coverage(
    registered: &[String],
    exercised: &BTreeMap<String, u64>,
    callable: Option<&[String]>,
) -> CoverageReport {
    let registered: BTreeSet<&String> = registered.iter().collect();
    let (hit, missing): (Vec<&String>, Vec<&String>) = registered.iter().partition(|tool| {
        exercised
            .get(**tool)
            .is_some_and(|successes| *successes > 0)
    });
    let share = ratio(float_len(hit.len()), float_len(registered.len())).unwrap_or(1.0);
    let callable: Option<BTreeSet<&String>> = callable.map(|it| it.iter().collect());
    let callable_hit = |callable: &BTreeSet<&String>| {
        let hit = hit.iter().filter(|tool| callable.contains(**tool));
        count(hit.count())
    };
    let callable_exercised = callable.as_ref().map(callable_hit);
    let owned = |tools: Vec<&String>| tools.into_iter().cloned().collect();
    CoverageReport {
        exercised: owned(hit),
        missing: owned(missing),
        share,
        callable: callable.map(|callable| count(callable.len())),
        callable_exercised,
        registered: owned(registered.into_iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn only_successes_of_listed_tools_count() {
        let calls = BTreeMap::from([("a".into(), 3), ("b".into(), 0), ("ghost".into(), 9)]);
        let callable = texts(&["a", "b"]);
        let report = coverage(&texts(&["c", "b", "a", "d", "a"]), &calls, Some(&callable));
        assert_eq!(report.registered, texts(&["a", "b", "c", "d"]));
        assert_eq!(report.exercised, texts(&["a"]));
        assert_eq!(report.missing, texts(&["b", "c", "d"]));
        assert!((report.share - 0.25).abs() < f64::EPSILON);
        assert!((report.callable_share() - 0.5).abs() < f64::EPSILON);
        assert_eq!(report.line(), "1 of 4 tools; not b, c, d");
        let report = coverage(&texts(&["a", "b", "c", "d", "e"]), &BTreeMap::new(), None);
        assert_eq!(report.line(), "0 of 5 tools; not a, b, c and 2 more");
    }

    #[test]
    fn a_server_without_tools_misses_nothing() {
        let report = coverage(&[], &BTreeMap::from([("ghost".into(), 1)]), Some(&[]));
        assert_eq!((report.share, report.exercised.len()), (1.0, 0));
    }

    proptest! {
        #[test]
        fn every_tool_is_in_one_list(
            registered in prop::collection::vec("[a-d]", 0..6),
            calls in prop::collection::btree_map("[a-e]", 0_u64..3, 0..5),
        ) {
            let report = coverage(&registered, &calls, None);
            prop_assert_eq!(report.exercised.len() + report.missing.len(), report.registered.len());
            prop_assert!((0.0..=1.0).contains(&report.share));
        }
    }
}
