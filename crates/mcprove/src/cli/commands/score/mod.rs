//! `mcprove score`: what an agent's runs amount to, from traces, without a model and without a
//! server.

mod input;

use input::ChosenFormat;
use mcprove_score::agent::reliability::recommend_runs;
use mcprove_score::gate::Gates;
use mcprove_score::report::ScoreDocument;
use mcprove_suite::junit::{score_junit, unread_junit};

use crate::prelude::*;

/// The confidence unless it is given, in percent.
const CONFIDENCE: u32 = 95;

/// Arguments of `mcprove score`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The traces of an agent's runs, in order; `-` is standard input
    #[arg(value_name = "TRACE", required_unless_present_any = ["explain", "recommend_runs"])]
    traces: Vec<PathBuf>,

    /// What the runs are held to (YAML, format gates.v1)
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,

    /// Print the result as JSON (format score.v1)
    #[arg(long)]
    json: bool,

    /// Write the gates and how they ended to a file that CI systems read
    #[arg(
        long,
        value_name = "FILE",
        help = "Write the gates and how they ended to this file, as JUnit XML"
    )]
    junit: Option<PathBuf>,

    #[command(flatten)]
    report: ReportArguments,

    /// The format of the traces
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "auto",
        value_parser = ChosenFormat::parser()
    )]
    format: ChosenFormat,

    /// Print how many runs are needed to measure a pass rate to within this, such as 0.05 for 5 %
    #[arg(
        long,
        value_name = "HALF_WIDTH",
        value_parser = reads::<f64>("recommend_runs", kind::OPEN_SHARE),
        allow_negative_numbers = true,
        conflicts_with_all = ["traces", "gates", "json", "junit", "report"]
    )]
    recommend_runs: Option<f64>,

    /// With what confidence, in percent: 90, 95 or 99 [default: 95]
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = parse_confidence
    )]
    confidence: Option<u32>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result {
    if let Some(half_width) = arguments.recommend_runs {
        return recommend(half_width, arguments.confidence.unwrap_or(CONFIDENCE));
    }
    // The parser does not say so of a flag that excludes what else is given.
    if arguments.confidence.is_some() {
        return refuse(
            "--confidence does nothing without --recommend-runs",
            "leave it out, or ask how many runs to make: --recommend-runs 0.05",
        );
    }
    let read_files: Vec<PathBuf> = arguments
        .traces
        .iter()
        .chain(&arguments.gates)
        .cloned()
        .collect();
    let reports = &arguments.report;
    let mut reports = reports.resolve_with(arguments.json, &[ReportFormat::Junit], &read_files)?;
    if let Some(file) = &arguments.junit {
        reports = reports.and(ReportFormat::Junit, file, &read_files)?;
    }
    let read = read(arguments).map_err(Failure::from);
    let ended = read.and_then(|(gates, traces)| show(&traces, gates.as_ref(), &reports));
    reports.conclude_with(ended, |failure, format, style| match format {
        ReportFormat::Junit => unread_junit(failure.list()),
        format => reports.draw_failure(failure, format, style),
    })
}

/// The gates and the traces; an error is everything that is wrong with any of the files.
fn read(arguments: &Arguments) -> Result<(Option<Gates>, Traces), ConfigErrors> {
    let gates = ConfigErrors::unless_all(arguments.gates.as_deref().map(gates::read));
    let traces = input::read(&arguments.traces, arguments.format);
    match (gates, traces) {
        (Err(mut errors), Err(others)) => {
            errors.0.extend(others.0);
            Err(errors)
        }
        (gates, traces) => Ok((gates?.pop(), traces?)),
    }
}

/// Prints and writes its outcome; the exit code is the verdict.
fn show(traces: &Traces, gates: Option<&Gates>, reports: &Reports) -> Result {
    let report = match gates {
        Some(gates) => traces.score(gates),
        None => traces.score(&Gates::default()),
    };
    let scored = Scored {
        report: &report,
        gates,
    };
    let document = score_document(&scored);
    let json = json(&ScoreDocument::new(&report))?;
    reports.show_all(|format, style| match format {
        ReportFormat::Junit => score_junit(&scored),
        format => drawn(&document, &json, format, style),
    });
    let (unsure, errors): (Vec<_>, Vec<_>) = report.errors.iter().partition(|it| it.inconclusive);
    Ok(ExitCode::worst([
        (!errors.is_empty(), ExitCode::CouldNotRun),
        (!report.failures.is_empty(), ExitCode::Finding),
        (!unsure.is_empty(), ExitCode::Inconclusive),
    ]))
}

/// Prints how many runs to make: the number alone, for scripts; people are told what it means.
fn recommend(half_width: f64, confidence: u32) -> Result {
    let runs = recommend_runs(half_width, confidence).map_err(|error| {
        Failure::new(
            error.to_string(),
            "for example: --recommend-runs 0.05 --confidence 95",
        )
    })?;
    terminal::print(&format!("{runs}\n"));
    if std::io::stderr().is_terminal() {
        let percent = half_width * 100.0;
        terminal::print_error(&format!(
            "This many runs measure the pass rate to within {percent:.3} points, at {confidence} % \
             confidence, whatever it is.\n"
        ));
    }
    Ok(ExitCode::Passed)
}

fn parse_confidence(text: &str) -> Result<u32, String> {
    let known = [90, 95, 99];
    let percent = text.trim_end_matches('%').parse::<u32>().ok();
    percent
        .filter(|percent| known.contains(percent))
        .ok_or_else(|| "must be 90, 95 or 99".to_owned())
}
