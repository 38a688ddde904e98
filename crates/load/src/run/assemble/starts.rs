//! What was planned to be started and what became of it, and how long starts took.

use mcprove_score::starts::{self, StartAttempt, StartFailure};
use mcprove_trace::stream::{Note, new_histogram};

use crate::prelude::*;
use crate::run::report::LOST_LISTS;

impl RunFacts<'_> {
    /// What became of the planned starts; none where a scenario plans none, or an earlier version noted none.
    pub fn starts(&self) -> FactResult<Option<StartsReport>> {
        let Some(plan) = self.first::<PlannedStartsFact>()? else {
            return Ok(None);
        };
        let given_up = self.given_up()?;
        let ended = self.load_ended.map(|ended| ended.at);
        let mut attempts = Vec::new();
        // When each was first open.
        let mut opened = BTreeMap::<u32, Duration>::new();
        // A server that dies of `server/discover` does so each time; where others lived, it was the start.
        let all: Vec<SessionOpenedFact> = self.all()?;
        let some_lived = all.iter().any(|fact| fact.died_first.is_none());
        for (note, fact) in self.metrics.notes_of(SessionOpenedFact::NAME).zip(all) {
            let died = fact
                .died_first
                .filter(|_| some_lived)
                .map(|message| StartFailure {
                    category: ErrorCategory::Crash,
                    message,
                    is_rate_limited: false,
                });
            if died.is_some() {
                attempts.extend(attempt(note, fact.planned, died, None));
            }
            if let Some(number) = fact.planned {
                let first = opened.entry(number).or_insert(note.at);
                *first = note.at.min(*first);
            }
            attempts.extend(attempt(note, fact.planned, None, Some(fact.startup_secs)));
        }
        let mut failed = BTreeSet::new();
        for note in self.metrics.notes_of(ConnectFailedFact::NAME) {
            let fact = ConnectFailedFact::parse(&note.data)?;
            // One that was open and was given up later, or ended by a fault, has other verdicts.
            let is_judged_elsewhere = fact.planned.is_some_and(|number| {
                let was_open = opened.get(&number).is_some_and(|first| *first <= note.at);
                fact.attempt.is_some()
                    && was_open
                    && (given_up.contains(&number) || !self.header.faults.is_empty())
            });
            let Some(category) = fact.category.filter(|_| !is_judged_elsewhere) else {
                continue;
            };
            let failure = StartFailure {
                category,
                message: note.message.clone(),
                is_rate_limited: fact.is_rate_limited,
            };
            failed.extend(fact.planned);
            attempts.extend(attempt(note, fact.planned, Some(failure), fact.tried_secs));
        }
        // Notes beyond a limit are counted and not kept: what is not known to have failed did not.
        let kept = self.metrics.notes_of(SessionOpenedFact::NAME).count();
        if number::count(kept) < self.metrics.count_notes(SessionOpenedFact::NAME) {
            let unknown = (0..plan.count)
                .filter(|number| !opened.contains_key(number) && !failed.contains(number));
            attempts.extend(unknown.map(|number| StartAttempt {
                number,
                at: Duration::ZERO,
                took: None,
                failure: None,
            }));
        }
        let planned = plan.count.into();
        Ok(Some(starts::judge(plan.unit, planned, &attempts, ended)))
    }

    /// The planned sessions that were given up.
    fn given_up(&self) -> FactResult<BTreeSet<u32>> {
        let given_up: Vec<GaveUpFact> = self.all()?;
        Ok(given_up.iter().filter_map(|fact| fact.planned).collect())
    }

    /// Sessions that were given up and had been open: those that never were are failed starts.
    pub fn lost_sessions(&self) -> FactResult<u64> {
        let opened: Vec<SessionOpenedFact> = self.all()?;
        let opened: BTreeSet<u32> = opened.iter().filter_map(|fact| fact.planned).collect();
        let never_open = self.given_up()?;
        let never_open = never_open.difference(&opened).count();
        let all = self.metrics.count_notes(GaveUpFact::NAME);
        Ok(all.saturating_sub(number::count(never_open)))
    }

    /// How long the handshakes took: of the planned starts where there are some, which leaves out warm-ups.
    pub fn handshakes(&self) -> FactResult<Option<LatencyStats>> {
        let opened: Vec<SessionOpenedFact> = self.all()?;
        let has_planned = opened.iter().any(|fact| fact.planned.is_some());
        let mut histogram = new_histogram();
        for fact in &opened {
            if fact.planned.is_some() || !has_planned {
                let time = Duration::try_from_secs_f64(fact.startup_secs).unwrap_or_default();
                // Of more than 500 years.
                let _ = histogram.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            }
        }
        let is_known = !histogram.is_empty();
        Ok(is_known.then(|| LatencyStats::from_histogram(histogram)))
    }

    /// The verdict on a revision other than the one that was asked for.
    pub fn detect_revision(&self) -> FactResult<Option<Verdict>> {
        let found: Vec<RevisionFact> = self.all()?;
        Ok(found.first().map(|RevisionFact { asked, chosen }| {
            let sentence =
                sentence!("Revision {asked} was asked for, and the server chose {chosen}.");
            let hint = sentence!(
                "let the server choose: {}; or fail such runs with {}",
                assignment("protocol", "auto"),
                setting("strict_protocol")
            );
            let sessions = self.metrics.count_notes(RevisionFact::NAME);
            Verdict::warning("protocol_revision", sentence, hint).number("sessions", sessions)
        }))
    }

    /// The verdict on lists of the tools that were a step of a load and got no answer.
    pub fn detect_lost_lists(&self) -> FactResult<Option<Verdict>> {
        let silent: Vec<LostListFact> = self.all()?;
        let lost = silent.iter().filter(|fact| fact.overtaken).count();
        let requests = |count| phrase::count(number::count(count), "request");
        let verdict = if lost > 0 {
            Verdict::critical(
                LOST_LISTS,
                sentence!(
                    "{} for `tools/list` got no answer, while later ones were answered.",
                    requests(lost)
                ),
                "answer each `tools/list` with a result or an error, under load too",
            )
        } else {
            Verdict::inconclusive(
                LOST_LISTS,
                sentence!(
                    "{} for `tools/list` got no answer, and may have been queued.",
                    requests(silent.len())
                ),
                sentence!("wait longer ({})", setting("call_timeout")),
            )
        };
        Ok((!silent.is_empty()).then(|| verdict.number("unanswered", silent.len())))
    }

    /// The verdict on sessions that the server ended while they were in use.
    pub fn detect_expired_sessions(&self) -> Option<Verdict> {
        let repeated = self.metrics.count_notes(SessionExpiredFact::NAME);
        let calls = phrase::count(repeated, "call");
        (repeated > 0).then(|| {
            Verdict::warning(
                "session_expired",
                format!(
                    "The server had ended sessions (HTTP 404); {calls} had to be made again on new ones."
                ),
                "keep sessions for as long as clients may pause",
            )
            .number("calls", repeated)
        })
    }

    /// The verdict on requests of ours that the server cancelled.
    pub fn detect_stray_cancels(&self) -> FactResult<Option<Verdict>> {
        let found: Vec<StrayCancelFact> = self.all()?;
        let cancelled = found.iter().map(|fact| fact.cancelled).sum::<u64>();
        Ok(found.first().map(|first| {
            let requests = phrase::count(cancelled, "request");
            let example = &first.example;
            Verdict::warning(
                "stray_cancel",
                format!("The server cancelled {requests} of the client (such as: {example})."),
                sentence!(
                    "answer each request of the client with a result or an error; `notifications/cancelled` is for requests that the server made itself"
                ),
            )
            .number("cancelled", cancelled)
        }))
    }
}

fn attempt(
    note: &Note,
    planned: Option<u32>,
    failure: Option<StartFailure>,
    took_secs: Option<f64>,
) -> Option<StartAttempt> {
    Some(StartAttempt {
        number: planned?,
        at: note.at,
        took: took_secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok()),
        failure,
    })
}
