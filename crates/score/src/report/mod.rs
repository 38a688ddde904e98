//! What `mcprove score` reports: which gates do not hold or cannot be judged and why, then every number
//! by metric, over all runs and of each, then what a reader should know and do.

mod numbers;

use mcprove_document::block::{Document, Finding, Line, Section, Tone, Verdict};
use mcprove_document::figure::{UNKNOWN, counted};
use mcprove_settings::printable::printable;

use crate::prelude::*;

pub use crate::gate::{GateResult, GateResults, gate_results};

/// The longest name of a file that is shown whole.
const FILE_MAX: usize = 60;
/// How many files are named at the top.
const FILES_MAX: usize = 3;
/// How many notes are shown.
const NOTES_MAX: usize = 20;

/// A trace that was scored.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// Its outcome.
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
    let findings = failures(scored, &verdicts)
        .into_iter()
        .chain(errors(scored, &verdicts))
        .chain(findings(scored));
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
                let target = verdicts
                    .other_errors
                    .first()
                    .and_then(|error| error.target.clone());
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
    let mut files: Vec<&str> = scored
        .report
        .runs
        .iter()
        .filter_map(|run| run.file.as_deref())
        .collect();
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

/// Where all of it is, after what is cut short.
fn json_has_all() -> Message {
    sentence!("; {} has all", setting("json"))
}

fn notes(report: &ScoreReport) -> Vec<Line> {
    let notes = report.notes.iter().take(NOTES_MAX).map(Line::of);
    let more = count(report.notes.len().saturating_sub(NOTES_MAX));
    let more =
        (more > 0).then(|| sentence!("and {} more{}", counted(more, "note"), json_has_all()));
    notes.chain(more.as_ref().map(Line::of)).collect()
}

/// What to do next.
fn next_steps(scored: &Scored<'_>) -> Vec<Line> {
    let report = scored.report;
    let unknown = format!(
        "a value of {UNKNOWN} is not in the trace (a gate on it is an error), or is about something \
         that never happened (a gate on it fails)"
    );
    let steps = [
        (
            !report.failures.is_empty(),
            sentence!(
                "look at the calls that are named above; runs[…].details of {} has all that was found in each run",
                setting("json")
            ),
        ),
        (
            scored.gates.is_none(),
            sentence!(
                "to fail a build on any of these numbers, write gates and give them with {} ({} alone catches an agent that claims what it did not do)",
                assignment("gates", "FILE"),
                code("narrative: {}")
            ),
        ),
        (
            report.runs.len() == 1,
            sentence!(
                "one run may be luck: give the traces of several runs; {} computes how many show a pass rate to within 5 %",
                assignment("recommend_runs", "0.05")
            ),
        ),
        (numbers::has_unknown(report), unknown.into()),
    ];
    steps
        .into_iter()
        .filter(|(is_said, _)| *is_said)
        .map(|(_, step)| Line::of(&step))
        .collect()
}

// What `mcprove score --json` prints: a report, with the version of its format.

/// The version of the format.
const SCHEMA: &str = "score.v1";

/// A scored trace for programs (format `score.v1`).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "ScoreReport")]
pub struct ScoreDocument<'a> {
    /// The version of this format: `score.v1`.
    pub schema: String,
    /// Its outcome.
    #[serde(flatten)]
    pub report: &'a ScoreReport,
}

impl<'a> ScoreDocument<'a> {
    pub fn new(report: &'a ScoreReport) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            report,
        }
    }
}

// What was found in the runs, in words, as far as no failure tells it already.

/// How many runs are told.
const RUNS_MAX: usize = 3;
/// How many sentences are told of each.
const SENTENCES_MAX: usize = 5;

/// What no failure tells already, run by run.
fn findings(scored: &Scored<'_>) -> Vec<Finding> {
    let mut told = scored
        .report
        .runs
        .iter()
        .enumerate()
        .filter_map(|(index, run)| {
            let of_run = scored
                .report
                .failures
                .iter()
                .filter(|failure| failure.run == Some(index));
            let is_told = |it: &&Message| of_run.clone().any(|told| told.message.includes(it));
            let untold: Vec<_> = run.found.iter().filter(|it| !is_told(it)).collect();
            (!untold.is_empty()).then_some((index, untold))
        });
    let mut findings = Vec::new();
    for (run, sentences) in told.by_ref().take(RUNS_MAX) {
        let mut finding = Finding::new(Tone::Neutral, "found", scored.run_name(run));
        finding.lines.extend(
            sentences
                .iter()
                .take(SENTENCES_MAX)
                .map(|sentence| Line::of(sentence)),
        );
        if sentences.len() > SENTENCES_MAX {
            finding = finding.line(Line::of(&sentence!("and more{}", json_has_all())));
        }
        findings.push(finding);
    }
    if told.next().is_some() {
        let more = sentence!("something in other runs{}", json_has_all());
        findings.push(Finding::new(Tone::Neutral, "found", Line::of(&more)));
    }
    findings
}

// What failed, and what cannot be judged, gate by gate.

/// How many runs are told of each gate that does not hold.
const RUNS_PER_GATE: usize = 3;
/// How many gates that do not hold are told.
const GATES_MAX: usize = 20;
/// How many gates are named beside what is wrong with all of them.
const NAMES_MAX: usize = 5;

/// What failed and why.
fn failures(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> Vec<Finding> {
    let failed = verdicts.gates.iter().filter(|gate| gate.has_failed());
    first_few(failed, ("failed", "gate"), |gate| failure(scored, gate))
}

/// The first few findings, and how many more there are of what.
fn first_few<T>(
    items: impl IntoIterator<Item = T>,
    (word, noun): (&'static str, &str),
    finding: impl Fn(T) -> Finding,
) -> Vec<Finding> {
    let mut items = items.into_iter();
    let mut findings: Vec<Finding> = items.by_ref().take(GATES_MAX).map(finding).collect();
    let more = items.count();
    if more > 0 {
        let text = sentence!("{} more{}", counted(count(more), noun), json_has_all());
        findings.push(Finding::new(Tone::Bad, word, Line::of(&text)));
    }
    findings
}

fn failure(scored: &Scored<'_>, gate: &GateResult<'_>) -> Finding {
    let mut targets: Vec<&str> = Vec::new();
    for failure in gate.failures.values().flatten() {
        if !targets.contains(&failure.target.as_str()) {
            targets.push(&failure.target);
        }
    }
    let mut finding = Finding::new(Tone::Bad, "failed", targets.join(", "));
    for failure in gate.failures.values().take(RUNS_PER_GATE).flatten() {
        let place = failure.run.map(|run| scored.run_name(run).into());
        let target = (targets.len() > 1).then(|| Line::plain(&failure.target));
        let message = Line::of(&failure.message);
        let parts = place.into_iter().chain(target).chain([message]);
        finding = finding.line(Line::join(parts, ": "));
    }
    let mut failures = gate.failures.values().flatten();
    let hint = failures.find(|it| !it.hint.is_empty()).map(|it| &it.hint);
    let finding = finding.hint(hint);
    match gate.failures.len().saturating_sub(RUNS_PER_GATE) {
        0 => finding,
        more => finding.line(format!("and in {} more", counted(count(more), "run"))),
    }
}

/// What cannot be judged, why, and what to try.
fn errors(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> Vec<Finding> {
    first_few(&scored.report.errors, ("error", "error"), |error| {
        let place = error.run.map(|run| scored.run_name(run).into());
        let message = Line::of(&error.message);
        let message = Line::join(place.into_iter().chain([message]), ": ");
        Finding::new(
            Tone::Bad,
            "error",
            Line::of(&unjudged_name(error, verdicts)),
        )
        .line(message)
        .hint(Some(&error.hint))
    })
}

/// What an error is about, with the gates that cannot be judged for it where they have other names.
fn unjudged_name(error: &ScoreError, verdicts: &GateResults<'_>) -> Message {
    let target = error.target.as_deref();
    let target_name = target.unwrap_or("the trace");
    let is_meant = |gate: &&GateResult<'_>| {
        let errors = gate.errors.get(&error.run);
        errors.is_some_and(|errors| errors.contains(&error)) && gate.target != target
    };
    let mut gates = verdicts.gates.iter().filter(is_meant);
    let mut names: Vec<Message> = gates
        .by_ref()
        .take(NAMES_MAX)
        .map(GateResult::full_name)
        .collect();
    names.extend(gates.next().map(|_| "…".into()));
    if names.is_empty() {
        sentence!("{target_name} cannot be judged")
    } else {
        sentence!(
            "{target_name} cannot be judged ({})",
            Message::join(names, ", ")
        )
    }
}
