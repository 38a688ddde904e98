//! The report of a run as a document, in the order in which it is read: what it comes to, what was
//! measured, what only this scenario looks for, and what the numbers rest on.

mod basis;
mod charts;
mod faults;
mod findings;
mod measured;

pub use findings::{found, violation};

use crate::report::prelude::*;

/// The longest command of a server that is shown whole.
const SERVER_MAX: usize = 200;

/// What a terminal shows without details: server and scenario are all that it says of what was run.
const SCREEN: Screen = Screen {
    lines: 24,
    facts: 2,
};

/// The files of a run, to be read on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The directory.
    pub place: PathBuf,
    /// Those that there are.
    pub names: Vec<&'static str>,
}

/// What a run comes to. `files` is what was written, if it is to be named.
pub fn document(report: &Report, files: Option<&Files>) -> Document {
    let info = &report.server_info;
    let known = headline::server(report);
    let mut server = Line::code(printable(&info.target, SERVER_MAX));
    if !known.is_empty() {
        server = server.and(format!(" ({known})"));
    }
    let scenario = headline::scenario(report);
    let name = if info.name.is_empty() {
        &info.target
    } else {
        &info.name
    };
    let has = |name| files.is_some_and(|files| files.names.contains(&name));
    let seeded = format!("{scenario}, seed {}", report.seed);
    let mut sections = vec![
        measured::summary(report),
        findings::verdicts(report),
        measured::errors(report),
        basis::starts(report),
    ];
    sections.extend(report.scenario_kind.as_type().sections(report));
    sections.extend([
        faults::faults(report),
        skipped_section(&report.skipped_tools),
        basis::generator(report),
        basis::trace(report),
        measured::tools(report),
        findings::meaning(report),
        measured::latency(report),
        charts::over_time(report),
        measured::phases(report),
        measured::slowest(report),
        measured::process(report),
        basis::isolation(report),
        basis::coverage(report),
        findings::grades(report),
    ]);
    sections.extend(files.map(|files| list_files(report, files)));
    Document {
        title: format!("Run {}", report.run_id),
        subject: vec![name.clone(), scenario.clone()],
        verdict: Some(headline::verdict(report)),
        facts: vec![
            ("Server", server),
            ("Scenario", seeded.into()),
            ("Started", figure::time(report.started_at).into()),
        ],
        sections,
        screen: Some(SCREEN),
        saved_as: files.and_then(|files| {
            let mut names = ["report.md"].into_iter().chain(files.names.iter().copied());
            let name = names.find(|name| has(name))?;
            Some(files.place.join(name).display().to_string())
        }),
        more_in: if has("report.md") {
            " in report.md".to_owned()
        } else if has("metrics.json") {
            " in metrics.json".to_owned()
        } else {
            String::new()
        },
        ..Document::default()
    }
}

fn list_files(report: &Report, files: &Files) -> Section {
    let names: Vec<&str> = files
        .names
        .iter()
        .map(|name| match *name {
            "trace.jsonl" if report.trace_loss().is_some() => "trace.jsonl (incomplete)",
            "trace.jsonl" => "trace.jsonl (every call)",
            name => name,
        })
        .collect();
    if names.is_empty() {
        return Section::default();
    }
    Section::new(format!("Files in {}", files.place.display()))
        .paragraph(names.join(", "))
        .detail()
}
