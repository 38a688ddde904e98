//! What `mcprove score` reports: which gates do not hold or cannot be judged and why, then every number
//! by metric, over all runs and of each, then what a reader should know and do.

pub mod document;
mod found;
mod numbers;
mod rows;

use mcprove_document::block::{Document, Line, Section, Tone, Verdict};
use mcprove_document::figure::{UNKNOWN, counted};
use mcprove_settings::message::assignment;
use mcprove_settings::printable::printable;

use crate::gate::ScoreReport;
use crate::prelude::*;

pub use crate::gate::{GateResult, GateResults, gate_results};
pub use document::ScoreDocument;

/// The longest name of a file that is shown whole.
const FILE_MAX: usize = 60;
/// How many files are named at the top.
const FILES_MAX: usize = 3;
/// How many notes are shown.
const NOTES_MAX: usize = 20;

/// A trace that was scored.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// What came of it.
    pub report: &'a ScoreReport,
    /// What it was held to; `None` where nothing was given.
    pub gates: Option<&'a Gates>,
}

impl Scored<'_> {
    /// The file that a run came from.
    pub fn file(&self, run: usize) -> Option<&str> {
        self.report.runs.get(run)?.file.as_deref()
    }

    /// A run, with the file that it came from where there are several.
    fn run_name(&self, run: usize) -> String {
        let runs = &self.report.runs;
        let first = runs.first().and_then(|run| run.file.as_ref());
        let is_one = runs.iter().all(|run| run.file.as_ref() == first);
        match self.file(run) {
            Some(file) if !is_one => {
                let short = file.rsplit(['/', '\\']).next().unwrap_or(file);
                format!("run {run} ({})", printable(short, FILE_MAX))
            }
            _ => format!("run {run}"),
        }
    }
}

/// A scored trace as a document.
pub fn score_document(scored: &Scored<'_>) -> Document {
    let verdicts = gate_results(scored.gates, scored.report);
    let (tone, word, why) = outcome(scored, &verdicts);
    let files = files(scored);
    let findings = rows::failures(scored, &verdicts)
        .into_iter()
        .chain(rows::errors(scored, &verdicts))
        .chain(found::findings(scored));
    let mut document = Document {
        title: "Score".to_owned(),
        subject: files.iter().map(|file| (*file).to_owned()).collect(),
        verdict: Some(Verdict::new(tone, word, why)),
        facts: vec![("Runs", about(scored, &files).into())],
        sections: vec![Section::default().findings(findings)],
        ..Document::default()
    };
    document.sections.extend(numbers::sections(scored.report));
    document.push(Section::new("Notes").list(notes(scored.report)));
    document.next_steps(next_steps(scored));
    document
}

fn outcome(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> (Tone, &'static str, String) {
    let all = verdicts.gates.len();
    let (failed, unjudged) = (verdicts.failed(), verdicts.unjudged());
    let failed_words = match (failed, all) {
        (0, _) => None,
        (1, 1) => Some("the gate does not hold".to_owned()),
        (1, all) => Some(format!("1 of {all} gates does not hold")),
        (failed, all) => Some(format!("{failed} of {all} gates do not hold")),
    };
    if !scored.report.errors.is_empty() {
        let what = match (unjudged, all) {
            (0, _) => {
                let other = verdicts.other_errors.first();
                let target = other.and_then(|error| error.target.clone());
                target.unwrap_or_else(|| "the trace".to_owned())
            }
            (1, 1) => "the gate".to_owned(),
            _ if failed > 0 => unjudged.to_string(),
            _ => format!("{unjudged} of {all} gates"),
        };
        let unjudged_words = format!("{what} cannot be judged");
        let parts: Vec<String> = failed_words.into_iter().chain([unjudged_words]).collect();
        return (Tone::Bad, "ERROR", parts.join(", "));
    }
    match (failed_words, all) {
        (Some(words), _) => (Tone::Bad, "FAIL", words),
        (None, 0) => (Tone::Good, "SCORED", "no gates given".to_owned()),
        (None, 1) => (Tone::Good, "PASS", "the gate holds".to_owned()),
        (None, all) => (Tone::Good, "PASS", format!("all {all} gates hold")),
    }
}

/// The files that the runs came from.
fn files<'a>(scored: &Scored<'a>) -> Vec<&'a str> {
    let runs = scored.report.runs.iter();
    let mut files: Vec<&str> = runs.filter_map(|run| run.file.as_deref()).collect();
    files.dedup();
    files
}

/// How many runs of which files.
fn about(scored: &Scored<'_>, files: &[&str]) -> String {
    let runs = counted(count(scored.report.runs.len()), "run");
    if files.is_empty() {
        return runs;
    }
    let more = files.len().saturating_sub(FILES_MAX);
    let names = files.iter().take(FILES_MAX);
    let mut names: Vec<String> = names.map(|file| printable(file, FILE_MAX)).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    format!("{runs} in {}", names.join(", "))
}

/// Where all of it is, after what is cut short.
fn json_has_all() -> String {
    message!["; ", setting("json"), " has all"].text()
}

fn notes(report: &ScoreReport) -> Vec<Line> {
    let notes = report.notes.iter().take(NOTES_MAX).map(Line::of);
    let more = count(report.notes.len().saturating_sub(NOTES_MAX));
    let more = (more > 0).then(|| format!("and {} more{}", counted(more, "note"), json_has_all()));
    notes.chain(more.map(Line::plain)).collect()
}

/// What to do next.
fn next_steps(scored: &Scored<'_>) -> Vec<Line> {
    let report = scored.report;
    let unknown = format!(
        "a value of {UNKNOWN} is one that the trace does not have, which no gate can judge, or \
         of what never came about, which no gate on it lets pass"
    );
    let steps = [
        (
            !report.failures.is_empty(),
            message![
                "look at the calls that are named above; runs[…].details of ",
                setting("json"),
                " has all that was found in each run"
            ],
        ),
        (
            scored.gates.is_none(),
            message![
                "to fail a build on any of these numbers, write gates and give them with ",
                assignment("gates", "FILE"),
                " (",
                code("narrative: {}"),
                " alone catches an agent that claims what it did not do)"
            ],
        ),
        (
            report.runs.len() == 1,
            message![
                "one run may be luck: give the traces of several runs; ",
                assignment("recommend_runs", "0.05"),
                " computes how many show a pass rate to within 5 %"
            ],
        ),
        (numbers::has_unknown(report), unknown.into()),
    ];
    let said = steps.into_iter().filter(|(is_said, _)| *is_said);
    said.map(|(_, step)| Line::of(&step)).collect()
}
