//! Whether what was to be started did start: the sessions of a load, the fresh starts of `cold_start`.
//!
//! A planned start has failed when it was not open at the end, or when a try before it opened ended the server, broke
//! the protocol, or went without an answer for five times as long as any start that worked took: waiting explains a
//! shorter timeout or a refusal, but none of these. Each that failed is an error of the run. It is critical when the share of planned starts that failed is over the limit: 5 %, or the error rate
//! that is allowed. One that opened only on a retry is a warning. So are refusals by a rate limit (HTTP 429),
//! unless an error rate is given: a quota is the server's right.

use crate::prelude::*;

pub const ID: &str = "starts";

/// The share of planned starts that may fail without a limit.
pub const FAILED_SHARE_MAX: f64 = 0.05;
/// A start without an answer for so many times as long as the slowest that worked is not slow.
const TIMES_SLOWEST: u32 = 5;

/// What was to be started.
#[choice(Copy, Eq)]
pub enum StartUnit {
    /// A session of a load.
    Session,
    /// A fresh start of the server, with a handshake and `tools/list`.
    Start,
}

impl StartUnit {
    const fn noun(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Start => "start",
        }
    }
}

/// One try to start something.
#[derive(Debug, Clone, PartialEq)]
pub struct StartAttempt {
    /// Which of the planned ones.
    pub number: u32,
    /// When it ended, since the events began.
    pub at: Duration,
    /// How long it took, where that is known.
    pub took: Option<Duration>,
    /// Why it failed; none if it did not.
    pub failure: Option<StartFailure>,
}

/// Why a try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartFailure {
    /// The category.
    pub category: ErrorCategory,
    /// In words.
    pub message: String,
    /// Whether the server refused it by a rate limit.
    pub is_rate_limited: bool,
}

/// What was planned to be started, and what really did.
#[sparse]
#[data(open)]
pub struct StartsReport {
    /// What was to be started.
    pub unit: StartUnit,
    /// How many were planned.
    pub planned: u64,
    /// How many were open at the end of the load; of fresh starts, those that listed their tools.
    pub opened: u64,
    /// Of these, how many opened only on a retry.
    #[sparse]
    pub opened_late: u64,
    /// How many failed. Each is an error of the run.
    #[sparse]
    pub failed: u64,
    /// Of these, how many were still opening when the load ended.
    #[sparse]
    pub still_opening: u64,
    /// Of the failed, how many the server refused by a rate limit.
    #[sparse]
    pub rate_limited: u64,
    /// How many were not begun, because the run was interrupted.
    #[sparse]
    pub not_begun: u64,
    /// The failed ones by category.
    #[sparse]
    pub by_category: BTreeMap<ErrorCategory, u64>,
    /// The first message of each category, also of those that opened later.
    #[sparse]
    pub examples: BTreeMap<ErrorCategory, String>,
}

impl StartsReport {
    /// The share of the starts made that failed.
    pub fn failed_share(&self) -> Option<f64> {
        share(self.failed, self.planned.saturating_sub(self.not_begun))
    }
}

/// Judges the tries to start `planned` of `unit`. What came after `ended`, the end of the load, is too late.
pub fn judge(
    unit: StartUnit,
    planned: u64,
    attempts: &[StartAttempt],
    ended: Option<Duration>,
) -> StartsReport {
    let mut report = StartsReport {
        unit,
        planned,
        opened: 0,
        opened_late: 0,
        failed: 0,
        still_opening: 0,
        rate_limited: 0,
        not_begun: 0,
        by_category: BTreeMap::new(),
        examples: BTreeMap::new(),
    };
    let mut by_number = BTreeMap::<u32, Vec<&StartAttempt>>::new();
    let worked = attempts.iter().filter(|it| it.failure.is_none());
    let slowest = worked.filter_map(|it| it.took).max();
    let slow_max = slowest.map(|slowest| slowest.saturating_mul(TIMES_SLOWEST));
    for attempt in attempts {
        by_number.entry(attempt.number).or_default().push(attempt);
    }
    for tries in by_number.values_mut() {
        tries.sort_by_key(|attempt| attempt.at);
        report.add(tries, ended, slow_max);
    }
    report.not_begun = planned.saturating_sub(count(by_number.len()));
    report
}

impl StartsReport {
    /// Adds one planned start, by its tries in order of time. A start that takes longer than `slow_max` is not slow.
    fn add(
        &mut self,
        tries: &[&StartAttempt],
        ended: Option<Duration>,
        slow_max: Option<Duration>,
    ) {
        let is_in_time = |attempt: &&&StartAttempt| ended.is_none_or(|ended| attempt.at <= ended);
        let in_time: Vec<_> = tries.iter().take_while(is_in_time).collect();
        let is_open = in_time.last().is_some_and(|last| last.failure.is_none());
        let failures = tries.iter().filter_map(|attempt| attempt.failure.as_ref());
        for failure in failures.clone() {
            let example = self.examples.entry(failure.category);
            example.or_insert_with(|| failure.message.clone());
        }
        // The tries before it opened for the first time.
        let opening = tries
            .iter()
            .map_while(|attempt| attempt.failure.as_ref().zip(Some(attempt.took)));
        let is_decisive = |failure: &StartFailure, took: Option<Duration>| match failure.category {
            ErrorCategory::Crash | ErrorCategory::Malformed => true,
            ErrorCategory::Timeout => took.zip(slow_max).is_some_and(|(took, max)| took > max),
            _ => false,
        };
        let decisive = opening
            .clone()
            .find(|(failure, took)| is_decisive(failure, *took))
            .map(|(failure, _)| failure);
        let is_late = opening.count() > 0;
        if is_open {
            self.opened += 1;
            self.opened_late += u64::from(is_late);
        } else if tries.len() > in_time.len() {
            self.still_opening += 1;
        }
        if is_open && decisive.is_none() {
            return;
        }
        self.failed += 1;
        // One that opened after the end without a failure before was late, and nothing else.
        let last = || failures.clone().next_back();
        let category = decisive.or_else(last).map(|failure| failure.category);
        let category = category.unwrap_or(ErrorCategory::Timeout);
        *self.by_category.entry(category).or_default() += 1;
        let is_limited = failures.clone().all(|failure| failure.is_rate_limited);
        self.rate_limited += u64::from(is_limited && failures.count() > 0);
    }
}

/// The verdict `starts`, where there is something to say. `limit` is the error rate that is allowed, if one is given.
pub fn verdict(report: &StartsReport, limit: Option<f64>) -> Option<Verdict> {
    let noun = report.unit.noun();
    let made = report.planned.saturating_sub(report.not_begun);
    let all = counted(report.planned, noun);
    let failed_share = report.failed_share().unwrap_or_default();
    let verdict = if report.failed > 0 {
        let is_quota = report.rate_limited == report.failed && limit.is_none();
        let is_over = failed_share > limit.unwrap_or(FAILED_SHARE_MAX);
        let severity = if is_over && !is_quota {
            Severity::Critical
        } else {
            Severity::Warning
        };
        Verdict::finding(
            ID,
            severity,
            failed_sentence(report),
            sentence!(
                "read the server's stderr{}; set {} to change the share that may fail",
                tee_stderr(),
                setting("error_rate")
            ),
        )
    } else if report.opened_late > 0 {
        let (late, why) = (whole(report.opened_late), reasons(report));
        Verdict::warning(
            ID,
            format!("{late} of {all} opened only on a retry ({why})."),
            sentence!(
                "look at what the server does when several sessions open at once, or raise {}",
                setting("startup_timeout")
            ),
        )
    } else if report.not_begun > 0 {
        let made = whole(made);
        Verdict::inconclusive(
            ID,
            format!(
                "{made} of {all} were made before the run was interrupted; none of them failed."
            ),
            "let the run end",
        )
    } else if report.planned > 1 || report.unit == StartUnit::Start {
        let sentence = match report.unit {
            StartUnit::Session => format!("All {all} opened."),
            StartUnit::Start => {
                format!("{} of {all} reached the list of tools.", whole(made))
            }
        };
        Verdict::pass(ID, sentence)
    } else {
        return None;
    };
    let names = [
        "planned",
        "opened",
        "opened_late",
        "failed",
        "still_opening",
    ];
    Some(verdict.numbers_of(report, &names))
}

fn failed_sentence(report: &StartsReport) -> String {
    let (failed, why) = (whole(report.failed), reasons(report));
    let all = counted(report.planned, report.unit.noun());
    let (opened, are) = (whole(report.opened), were(report.opened));
    let what = match report.unit {
        StartUnit::Start => return format!("{failed} of {all} failed ({why})."),
        StartUnit::Session if report.opened_late > 0 => "did not open on the first try",
        StartUnit::Session => "did not open",
    };
    let late = match report.opened_late {
        0 => String::new(),
        late => format!(", {} only on a retry", whole(late)),
    };
    let opening = match report.still_opening {
        0 => String::new(),
        opening => format!("; {} still opening", whole(opening)),
    };
    format!(
        "{failed} of {all} {what} ({why}); {opened} {are} open when the load ended{late}{opening}."
    )
}

/// `3 × Timeout: no answer within 30 s`; without counts where nothing failed in the end.
fn reasons(report: &StartsReport) -> String {
    let described =
        report.examples.iter().map(
            |(category, example)| match report.by_category.get(category) {
                Some(count) => format!("{} × {category}: {example}", whole(*count)),
                None => format!("{category}: {example}"),
            },
        );
    described.collect::<Vec<String>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32, at: u64, failure: Option<ErrorCategory>) -> StartAttempt {
        StartAttempt {
            number,
            at: Duration::from_secs(at),
            took: None,
            failure: failure.map(|category| StartFailure {
                category,
                message: "why".to_owned(),
                is_rate_limited: false,
            }),
        }
    }

    fn judged(attempts: &[StartAttempt]) -> StartsReport {
        judge(
            StartUnit::Session,
            6,
            attempts,
            Some(Duration::from_secs(10)),
        )
    }

    fn severity(report: &StartsReport, limit: Option<f64>) -> Option<(Outcome, Severity)> {
        verdict(report, limit).map(|verdict| (verdict.outcome, verdict.severity))
    }

    fn with_open(open: u32, others: &[StartAttempt]) -> Vec<StartAttempt> {
        let open = (0..open).map(|number| attempt(number, 1, None));
        open.chain(others.iter().cloned()).collect()
    }

    const CRITICAL: Option<(Outcome, Severity)> = Some((Outcome::Finding, Severity::Critical));
    const WARNING: Option<(Outcome, Severity)> = Some((Outcome::Finding, Severity::Warning));

    #[test]
    fn what_never_opened_is_critical_over_the_limit() {
        use ErrorCategory::Timeout;
        let all = judged(&with_open(6, &[]));
        assert_eq!((all.opened, all.failed), (6, 0));
        assert_eq!(severity(&all, None), Some((Outcome::Pass, Severity::Info)));
        let failed = [
            attempt(3, 2, Some(Timeout)),
            attempt(4, 2, Some(Timeout)),
            attempt(5, 2, Some(Timeout)),
        ];
        let half = judged(&with_open(3, &failed));
        assert_eq!((half.opened, half.failed, half.opened_late), (3, 3, 0));
        assert_eq!(half.by_category, [(Timeout, 3)].into());
        assert_eq!(severity(&half, None), CRITICAL);
        assert_eq!(severity(&half, Some(0.5)), WARNING);
        assert_eq!(severity(&half, Some(0.4)), CRITICAL);
        let said = verdict(&half, None).unwrap().sentence.rendered();
        assert_eq!(
            said,
            "3 of 6 sessions did not open (3 × Timeout: why); 3 were open when the load ended."
        );
    }

    #[test]
    fn a_further_try_excuses_a_wait_but_no_crash() {
        use ErrorCategory::{Crash, Timeout};
        for (category, failed, expected) in [(Timeout, 0, WARNING), (Crash, 1, CRITICAL)] {
            let tries = [attempt(5, 2, Some(category)), attempt(5, 3, None)];
            let report = judged(&with_open(5, &tries));
            let counts = (report.opened, report.opened_late, report.failed);
            assert_eq!(counts, (6, 1, failed), "{category}");
            assert_eq!(severity(&report, None), expected, "{category}");
        }
    }

    #[test]
    fn a_start_that_hangs_is_not_slow() {
        // The others took a second at most.
        for (tried, failed, expected) in [(4, 0, WARNING), (5, 0, WARNING), (6, 1, CRITICAL)] {
            let mut tries = [
                attempt(5, 2, Some(ErrorCategory::Timeout)),
                attempt(5, 3, None),
            ];
            tries[0].took = Some(Duration::from_secs(tried));
            let mut attempts = with_open(5, &tries);
            attempts[0].took = Some(Duration::from_secs(1));
            attempts[1].took = Some(Duration::from_millis(100));
            let report = judged(&attempts);
            assert_eq!((report.opened_late, report.failed), (1, failed), "{tried}");
            assert_eq!(severity(&report, None), expected, "{tried}");
        }
    }

    #[test]
    fn what_opens_after_the_end_was_not_open() {
        let tries = [
            attempt(5, 2, Some(ErrorCategory::Timeout)),
            attempt(5, 11, None),
        ];
        let report = judged(&with_open(5, &tries));
        assert_eq!(
            (report.opened, report.failed, report.still_opening),
            (5, 1, 1)
        );
        let said = verdict(&report, None).unwrap().sentence.rendered();
        assert!(said.ends_with("; 1 still opening."), "{said}");
    }

    #[test]
    fn a_session_that_was_lost_and_not_replaced_failed() {
        let lost = [
            attempt(5, 1, None),
            attempt(5, 5, Some(ErrorCategory::ServerError)),
        ];
        let report = judged(&with_open(5, &lost));
        assert_eq!(
            (report.opened, report.opened_late, report.failed),
            (5, 0, 1)
        );
    }

    #[test]
    fn a_quota_is_a_warning_unless_an_error_rate_is_given() {
        let mut refused = attempt(5, 2, Some(ErrorCategory::ServerError));
        refused.failure.as_mut().unwrap().is_rate_limited = true;
        let report = judged(&with_open(5, &[refused]));
        assert_eq!(report.rate_limited, 1);
        assert_eq!(severity(&report, None), WARNING);
        assert_eq!(severity(&report, Some(0.0)), CRITICAL);
    }

    #[test]
    fn starts_that_were_not_made_prove_nothing() {
        let made = [attempt(0, 1, None), attempt(1, 2, None)];
        let report = judge(StartUnit::Start, 7, &made, None);
        assert_eq!((report.opened, report.not_begun), (2, 5));
        let outcome = verdict(&report, None).unwrap().outcome;
        assert_eq!(outcome, Outcome::Inconclusive);
        // One of two, not of seven.
        let failed = [made[0].clone(), attempt(1, 2, Some(ErrorCategory::Crash))];
        let report = judge(StartUnit::Start, 7, &failed, None);
        assert_eq!(report.failed_share(), Some(0.5));
    }

    #[test]
    fn the_one_session_of_a_load_is_not_worth_a_word() {
        let report = judge(StartUnit::Session, 1, &[attempt(0, 1, None)], None);
        assert_eq!(verdict(&report, None), None);
    }
}
