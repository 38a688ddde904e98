//! Repetitions of one test as one row: it passes only if it always did, and what did not hold says in
//! which repetition.

use mcprove_settings::message::{Message, sentence};

use super::report::{Repeated, TestOutcome, TestReport};

/// One row for all repetitions, which are at least one. The values are those of the first repetition that
/// did not pass.
pub(super) fn merge(mut reports: Vec<TestReport>) -> Option<TestReport> {
    if reports.len() < 2 {
        return reports.pop();
    }
    let times = reports.len();
    let is_passed = |report: &&TestReport| report.outcome == TestOutcome::Passed;
    let passed = reports.iter().filter(is_passed).count();
    let duration_ms = reports.iter().map(|report| report.duration_ms).sum();
    let mut failures = Vec::new();
    let mut errors = Vec::new();
    let mut losses = Vec::new();
    for (place, report) in reports.iter_mut().enumerate() {
        let which = |message: &Message| sentence!("repetition {} of {times}: {message}", place + 1);
        for failure in &mut report.failures {
            failure.message = which(&failure.message);
        }
        for error in &mut report.errors {
            // An inconclusive error still begins with that word.
            error.message = match error.message.without("inconclusive: ") {
                Some(message) => sentence!("inconclusive: {}", which(&message)),
                None => which(&error.message),
            };
        }
        failures.append(&mut report.failures);
        errors.append(&mut report.errors);
        losses.append(&mut report.losses);
    }
    let worst = reports
        .iter()
        .position(|report| !is_passed(&report))
        .unwrap_or_default();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    // The worst of them.
    let by_weight = [
        TestOutcome::Error,
        TestOutcome::Failed,
        TestOutcome::Skipped,
    ];
    let has = |outcome: &TestOutcome| reports.iter().any(|report| report.outcome == *outcome);
    let worst_outcome = by_weight.into_iter().find(has);
    let outcome = worst_outcome.unwrap_or(TestOutcome::Passed);
    let mut merged = reports.into_iter().nth(worst)?;
    let flaky = passed > 0 && passed < times && outcome != TestOutcome::Skipped;
    if flaky {
        merged
            .notes
            .insert(0, sentence!("flaky: it passed {passed} of {times} times"));
    }
    merged.outcome = outcome;
    merged.failures = failures;
    merged.errors = errors;
    merged.losses = losses;
    merged.duration_ms = duration_ms;
    merged.repeated = Some(Repeated {
        times: count(times),
        passed: count(passed),
        flaky,
    });
    Some(merged)
}

#[cfg(test)]
mod tests {
    use mcprove_score::gate::GateFailure;

    use super::*;
    use crate::run::report::TestKind;
    use crate::run::sample::{head, plan};

    fn report(outcome: TestOutcome) -> TestReport {
        let mut report = TestReport::new(TestKind::Tool, &head("a", 1, &[]), &plan("s.yml"));
        report.outcome = outcome;
        report.duration_ms = 2.0;
        if outcome == TestOutcome::Failed {
            report.failures.push(GateFailure {
                message: "it is 1".to_owned(),
                ..GateFailure::default()
            });
        }
        report
    }

    #[test]
    fn one_that_passes_sometimes_fails_and_is_flaky() {
        use TestOutcome::{Error, Failed, Passed};
        let merged = merge([Passed, Failed, Passed].map(report).to_vec()).unwrap();
        assert_eq!(merged.outcome, Failed);
        assert_eq!(merged.failures[0].message, "repetition 2 of 3: it is 1");
        assert_eq!(merged.notes, ["flaky: it passed 2 of 3 times"]);
        let repeated = merged.repeated.unwrap();
        assert!(repeated.flaky && repeated.times == 3 && repeated.passed == 2);
        assert!((merged.duration_ms - 6.0).abs() < f64::EPSILON);
        let merged = merge([Failed, Failed].map(report).to_vec()).unwrap();
        assert!(!merged.repeated.unwrap().flaky && merged.notes.is_empty());
        let merged = merge([Failed, Error].map(report).to_vec()).unwrap();
        assert_eq!(merged.outcome, Error);
        let merged = merge([Passed, Passed].map(report).to_vec()).unwrap();
        assert_eq!(merged.outcome, Passed);
    }

    #[test]
    fn one_alone_stays_as_it_is() {
        let one = report(TestOutcome::Failed);
        assert_eq!(merge(vec![one.clone()]), Some(one));
        assert_eq!(merge(Vec::new()), None);
    }
}
