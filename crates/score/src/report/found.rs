//! What was found in the runs, in words, as far as no failure tells it already.

use mcprove_document::block::{Finding, Line, Tone};

use super::{Scored, json_has_all};
use crate::prelude::*;

/// How many runs are told.
const RUNS_MAX: usize = 3;
/// How many sentences are told of each.
const SENTENCES_MAX: usize = 5;

/// What no failure tells already, run by run.
pub fn findings(scored: &Scored<'_>) -> Vec<Finding> {
    let mut messages: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for failure in &scored.report.failures {
        if let Some(run) = failure.run {
            messages
                .entry(run)
                .or_default()
                .push(failure.message.text());
        }
    }
    let runs = scored.report.runs.iter().enumerate();
    let mut told = runs.filter_map(|(index, run)| {
        let known = messages.get(&index).map_or(&[][..], Vec::as_slice);
        let untold = untold(&run.found, known);
        (!untold.is_empty()).then_some((index, untold))
    });
    let mut findings = Vec::new();
    for (run, sentences) in told.by_ref().take(RUNS_MAX) {
        let mut finding = Finding::new(Tone::Neutral, "found", scored.run_name(run));
        let shown = sentences.iter().take(SENTENCES_MAX);
        finding
            .lines
            .extend(shown.map(|sentence| Line::of(sentence)));
        if sentences.len() > SENTENCES_MAX {
            finding = finding.line(format!("and more{}", json_has_all()));
        }
        findings.push(finding);
    }
    if told.next().is_some() {
        let more = format!("something in other runs{}", json_has_all());
        findings.push(Finding::new(Tone::Neutral, "found", more));
    }
    findings
}

/// The sentences that are in none of the messages.
fn untold<'a>(found: &'a [Message], messages: &[String]) -> Vec<&'a Message> {
    let plain = |text: &str| text.trim_end_matches('.').to_lowercase();
    let messages: Vec<String> = messages.iter().map(|message| plain(message)).collect();
    let is_told = |sentence: &&Message| {
        let sentence = plain(&sentence.text());
        messages.iter().any(|message| message.contains(&sentence))
    };
    found.iter().filter(|sentence| !is_told(sentence)).collect()
}
