//! Which of a server's tools a run really exercised.
//!
//! A tool counts as exercised with one successful call: a tool that only ever failed has shown
//! nothing. share = exercised / registered, and 1 for a server without tools: nothing is missing.

use crate::prelude::*;

/// Which tools were exercised; each list is sorted and has no tool twice.
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
}

/// Compares the listed tools with the successful calls per tool. A tool that was called but is not
/// listed does not count.
pub fn coverage(registered: &[String], exercised: &BTreeMap<String, u64>) -> CoverageReport {
    let registered: BTreeSet<&String> = registered.iter().collect();
    let (hit, missing): (Vec<&String>, Vec<&String>) = registered.iter().partition(|tool| {
        exercised
            .get(**tool)
            .is_some_and(|successes| *successes > 0)
    });
    let share = ratio(float_len(hit.len()), float_len(registered.len())).unwrap_or(1.0);
    let owned = |tools: Vec<&String>| tools.into_iter().cloned().collect();
    CoverageReport {
        exercised: owned(hit),
        missing: owned(missing),
        share,
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
        let report = coverage(&texts(&["c", "b", "a", "d", "a"]), &calls);
        assert_eq!(report.registered, texts(&["a", "b", "c", "d"]));
        assert_eq!(report.exercised, texts(&["a"]));
        assert_eq!(report.missing, texts(&["b", "c", "d"]));
        assert!((report.share - 0.25).abs() < f64::EPSILON);
    }

    #[test]
    fn a_server_without_tools_misses_nothing() {
        let report = coverage(&[], &BTreeMap::from([("ghost".into(), 1)]));
        assert_eq!((report.share, report.exercised.len()), (1.0, 0));
    }

    proptest! {
        #[test]
        fn every_tool_is_in_one_list(
            registered in prop::collection::vec("[a-d]", 0..6),
            calls in prop::collection::btree_map("[a-e]", 0_u64..3, 0..5),
        ) {
            let report = coverage(&registered, &calls);
            prop_assert_eq!(report.exercised.len() + report.missing.len(), report.registered.len());
            prop_assert!((0.0..=1.0).contains(&report.share));
        }
    }
}
