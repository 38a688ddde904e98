//! What was found in the runs, in words, as far as no failure tells it already.

use std::collections::BTreeMap;

use mcprove_settings::printable::printable;

use super::{MESSAGE_MAX, Scored, Table};

/// How many runs are told.
const RUNS_MAX: usize = 3;
/// How many sentences are told of each.
const SENTENCES_MAX: usize = 5;

/// What no failure tells already, run by run.
pub(super) fn add(table: &mut Table, scored: &Scored<'_>) {
    let mut messages: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for failure in &scored.report.failures {
        if let Some(run) = failure.run {
            messages.entry(run).or_default().push(&failure.message);
        }
    }
    let runs = scored.report.runs.iter().enumerate();
    let mut told = runs.filter_map(|(index, run)| {
        let known = messages.get(&index).map_or(&[][..], Vec::as_slice);
        let untold = untold(&run.found, known);
        (!untold.is_empty()).then_some((index, untold))
    });
    for (run, sentences) in told.by_ref().take(RUNS_MAX) {
        let name = scored.run_name(run);
        for sentence in sentences.iter().take(SENTENCES_MAX) {
            let sentence = printable(sentence, MESSAGE_MAX);
            table.row("found", format!("{name}: {sentence}"));
        }
        if sentences.len() > SENTENCES_MAX {
            table.row("", format!("{name}: and more; --json has all"));
        }
    }
    if told.next().is_some() {
        table.row("", "and something in other runs; --json has all".to_owned());
    }
}

/// The sentences that are in none of the messages.
fn untold<'a>(found: &'a [String], messages: &[&str]) -> Vec<&'a str> {
    let plain = |text: &str| text.trim_end_matches('.').to_lowercase();
    let messages: Vec<String> = messages.iter().map(|message| plain(message)).collect();
    let is_told = |sentence: &str| {
        let sentence = plain(sentence);
        messages.iter().any(|message| message.contains(&sentence))
    };
    let sentences = found.iter().map(String::as_str);
    sentences.filter(|sentence| !is_told(sentence)).collect()
}
