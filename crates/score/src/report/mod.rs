//! What `mcprove score` prints: which gates do not hold or cannot be judged and why, then every number
//! by metric, over all runs and of each, then what a reader should know and do.

pub mod document;
mod found;
mod judged;
mod numbers;
mod rows;

use mcprove_document::figure::{UNKNOWN, counted};
use mcprove_document::style::{Color, Style};
use mcprove_document::table::{lay_out, wrap};
use mcprove_settings::printable::printable;

use crate::gate::{Gates, ScoreReport};

pub use document::ScoreDocument;
pub use judged::{Judged, Verdicts, judge};

/// The longest message that is shown whole.
const MESSAGE_MAX: usize = 600;
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

/// Rows of a title and a text.
#[derive(Default)]
struct Table(Vec<Vec<String>>);

impl Table {
    fn row(&mut self, title: &str, text: String) {
        self.0.push(vec![title.to_owned(), text]);
    }
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

/// A scored trace for people.
pub fn score_text(scored: &Scored<'_>, style: Style) -> String {
    let verdicts = judge(scored.gates, scored.report);
    let mut text = headline(scored, &verdicts, style);
    let mut table = Table::default();
    rows::add_failures(&mut table, scored, &verdicts);
    rows::add_errors(&mut table, scored, &verdicts);
    found::add(&mut table, scored);
    if !table.0.is_empty() {
        text.push('\n');
        text.push_str(&lay_out(&table.0, style.width));
    }
    text.push_str(&numbers::text(scored.report, style.width));
    text.push_str(&points("Notes", &notes(scored.report), style.width));
    text.push_str(&points("Next", &next_steps(scored), style.width));
    text
}

/// How it ended, and what was scored.
fn headline(scored: &Scored<'_>, verdicts: &Verdicts<'_>, style: Style) -> String {
    let (word, color, sentence) = outcome(scored, verdicts);
    let sentence = wrap(&sentence, style.width.saturating_sub(word.len() + 2));
    let indent = format!("\n{}", " ".repeat(word.len() + 2));
    let about = wrap(&about(scored), style.width).join("\n");
    format!(
        "{}  {}\n{about}\n",
        style.paint(word, color),
        sentence.join(&indent)
    )
}

fn outcome(scored: &Scored<'_>, verdicts: &Verdicts<'_>) -> (&'static str, Color, String) {
    let all = verdicts.gates.len();
    let (failed, unjudged) = (verdicts.failed(), verdicts.unjudged());
    let failed_words = match (failed, all) {
        (0, _) => None,
        (1, 1) => Some("the gate does not hold".to_owned()),
        (1, all) => Some(format!("1 of {all} gates does not hold")),
        (failed, all) => Some(format!("{failed} of {all} gates do not hold")),
    };
    if !scored.report.errors.is_empty() {
        let unjudged_words = match (unjudged, all) {
            (0, _) => {
                let other = verdicts.other_errors.first();
                let target = other.and_then(|error| error.target.as_deref());
                let what = target.map_or("the trace".to_owned(), |target| {
                    printable(target, MESSAGE_MAX)
                });
                format!("{what} cannot be judged")
            }
            (1, 1) => "the gate cannot be judged".to_owned(),
            (unjudged, _) if failed > 0 => format!("{unjudged} cannot be judged"),
            (unjudged, all) => format!("{unjudged} of {all} gates cannot be judged"),
        };
        let parts: Vec<String> = failed_words.into_iter().chain([unjudged_words]).collect();
        return ("ERROR", Color::Red, parts.join(", "));
    }
    match (failed_words, all) {
        (Some(words), _) => ("FAIL", Color::Red, words),
        (None, 0) => ("SCORED", Color::Green, "nothing is gated".to_owned()),
        (None, 1) => ("PASS", Color::Green, "the gate holds".to_owned()),
        (None, all) => ("PASS", Color::Green, format!("all {all} gates hold")),
    }
}

/// How many runs of which files.
fn about(scored: &Scored<'_>) -> String {
    let runs = counted(number(scored.report.runs.len()), "run");
    let mut files: Vec<&str> = Vec::new();
    for run in &scored.report.runs {
        if let Some(file) = run.file.as_deref()
            && files.last() != Some(&file)
        {
            files.push(file);
        }
    }
    if files.is_empty() {
        return runs;
    }
    let more = files.len().saturating_sub(FILES_MAX);
    let mut names: Vec<String> = files
        .iter()
        .take(FILES_MAX)
        .map(|file| printable(file, FILE_MAX))
        .collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    format!("{runs} in {}", names.join(", "))
}

fn notes(report: &ScoreReport) -> Vec<String> {
    let mut notes: Vec<String> = report.notes.iter().take(NOTES_MAX).cloned().collect();
    let more = report.notes.len().saturating_sub(NOTES_MAX);
    if more > 0 {
        let more = counted(number(more), "note");
        notes.push(format!("and {more} more; --json has all"));
    }
    notes
}

fn points(title: &str, lines: &[String], width: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| vec!["-".to_owned(), printable(line, MESSAGE_MAX)])
        .collect();
    format!("\n{title}\n{}", lay_out(&rows, width))
}

/// What to do next.
fn next_steps(scored: &Scored<'_>) -> Vec<String> {
    let report = scored.report;
    let mut steps = Vec::new();
    if !report.failures.is_empty() {
        steps.push(
            "look at the calls that are named above; runs[…].details of --json has all that was \
             found in each run"
                .to_owned(),
        );
    }
    if scored.gates.is_none() {
        steps.push(
            "to fail a build on any of these numbers, write gates and give them with --gates FILE \
             (`narrative: {}` alone catches an agent that claims what it did not do)"
                .to_owned(),
        );
    }
    if report.runs.len() == 1 {
        steps.push(
            "one run may be luck: give the traces of several runs; `mcprove score --recommend-runs \
             0.05` tells how many tell a pass rate to within 5 %"
                .to_owned(),
        );
    }
    if numbers::has_unknown(report) {
        steps.push(format!(
            "a value of {UNKNOWN} is one that the trace does not tell, which no gate can judge, or \
             of what never came about, which no gate on it lets pass"
        ));
    }
    steps
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
