//! The narrative check against messages that people labelled: precision and recall over the flags for
//! claimed-but-absent actions and wrong values.

#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::path::Path;

use mcprove_score::agent::narrative::{NarrativeBlock, NarrativeReport, score_narrative};
use mcprove_trace::ToolCall;
use serde::Deserialize;

/// A closing message, the calls that were made, and how many divergences a reader finds.
#[derive(Deserialize)]
struct Labelled {
    text: String,
    calls: Vec<ToolCall>,
    claimed_but_absent: u64,
    arg_mismatch: u64,
    present_but_unclaimed: u64,
}

/// How right the flags are.
#[derive(Default)]
struct Tally {
    right: u64,
    expected: u64,
    actual: u64,
}

impl Tally {
    fn add(&mut self, expected: u64, actual: u64) {
        self.right += expected.min(actual);
        self.expected += expected;
        self.actual += actual;
    }

    fn precision(&self) -> f64 {
        share(self.right, self.actual)
    }

    fn recall(&self) -> f64 {
        share(self.right, self.expected)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    let float = |count: u64| f64::from(u32::try_from(count).unwrap());
    if whole == 0 {
        1.0
    } else {
        float(part) / float(whole)
    }
}

fn read(file: &str) -> Vec<Labelled> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/narrative")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn report(case: &Labelled) -> NarrativeReport {
    score_narrative(&case.text, &case.calls, &NarrativeBlock::default())
}

fn tally(cases: &[Labelled]) -> Tally {
    let mut tally = Tally::default();
    for case in cases {
        let report = report(case);
        tally.add(case.claimed_but_absent, report.claimed_but_absent);
        tally.add(case.arg_mismatch, report.arg_mismatch);
    }
    tally
}

fn tell(file: &str, tally: &Tally) {
    println!(
        "{file}: precision {:.4}, recall {:.4}",
        tally.precision(),
        tally.recall()
    );
}

/// Prints each message whose counts differ from its labels.
fn tell_misses(cases: &[Labelled]) {
    for case in cases {
        let report = report(case);
        let found = (
            report.claimed_but_absent,
            report.arg_mismatch,
            report.present_but_unclaimed,
        );
        let labelled = (
            case.claimed_but_absent,
            case.arg_mismatch,
            case.present_but_unclaimed,
        );
        if found != labelled {
            println!(
                "found {found:?}, labelled {labelled:?}: {}\n    {:?}",
                case.text, report.items
            );
        }
    }
}

#[test]
fn the_labelled_messages_are_told_apart() {
    let cases = read("labelled.jsonl");
    assert!(cases.len() >= 150, "{}", cases.len());
    let tally = tally(&cases);
    tell("labelled.jsonl", &tally);
    tell_misses(&cases);
    assert!(tally.precision() >= 0.97, "precision {}", tally.precision());
    assert!(tally.recall() >= 0.97, "recall {}", tally.recall());
}

/// These were written without sight of the rules, and the rules without sight of them: only the two
/// numbers are printed, so that nobody fits a rule to a case.
#[test]
fn unseen_messages_are_told_apart_too() {
    let cases = read("unseen.jsonl");
    assert!(cases.len() >= 60, "{}", cases.len());
    let tally = tally(&cases);
    tell("unseen.jsonl", &tally);
    assert!(tally.precision() >= 0.9, "precision {}", tally.precision());
    assert!(tally.recall() >= 0.9, "recall {}", tally.recall());
}

/// These were written without sight of the rules too. The first measure was precision 0.9649 and recall
/// 1.0; after it two rules were mended with an eye on what was missed, so they are unseen no more.
#[test]
fn fresh_messages_are_told_apart_as_well() {
    let cases = read("fresh.jsonl");
    assert!(cases.len() >= 120, "{}", cases.len());
    let tally = tally(&cases);
    tell("fresh.jsonl", &tally);
    tell_misses(&cases);
    assert!(tally.precision() >= 0.97, "precision {}", tally.precision());
    assert!(tally.recall() >= 0.97, "recall {}", tally.recall());
}
