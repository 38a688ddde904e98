//! What `mcprove runs` prints: what was run, when, and how it ended.

use crate::report::prelude::*;
use crate::run::report::RunOutcome;

/// The runs in this directory, as they are given, a row each.
pub fn runs_document(runs: &[RunEntry], base: &Path) -> Document {
    let runs = runs.iter();
    let rows = runs.map(|run| (run.directory.path(), run.report.as_deref()));
    of_rows(base, rows)
}

fn of_rows<'a>(
    base: &Path,
    runs: impl Iterator<Item = (&'a Path, Result<&'a Report, &'a FormatError>)>,
) -> Document {
    let mut table = Table::new([
        "when (UTC)",
        "outcome",
        "scenario",
        "requests",
        "p99",
        "errors",
        "directory and server",
    ])
    .numbers(3..6);
    let (mut has_partial, mut passed) = (false, 0);
    for (directory, report) in runs {
        let place = Line::code(directory.display().to_string()).and("  ");
        let unknown = figure::UNKNOWN;
        table.push(match report {
            Ok(report) => {
                let (tone, word) = headline::outcome(report);
                has_partial |= report.partial;
                passed += usize::from(report.outcome() == RunOutcome::Passed);
                let star = if report.partial { "*" } else { "" };
                let when: String = figure::time(report.started_at).chars().take(16).collect();
                cells![
                    when,
                    Line::toned(tone, format!("{word}{star}")),
                    report.scenario_kind.name(),
                    count(report.throughput.total_requests),
                    headline::quantile(&report.latency, 0.99),
                    headline::error_rate(report),
                    place.and_code(&report.server_info.target),
                ]
            }
            Err(problem) => {
                let place = place.and(problem);
                cells![
                    unknown,
                    "unreadable",
                    unknown,
                    unknown,
                    unknown,
                    unknown,
                    place
                ]
            }
        });
    }
    let (all, base) = (table.rows.len(), base.display());
    let mut section = Section::default();
    if table.rows.is_empty() {
        let command = Line::plain("No runs yet. ").and_code("mcprove run");
        section = section.paragraph(command.and(" makes one."));
    }
    section = section.table(table);
    if has_partial {
        section = section.paragraph("* ended early");
    }
    Document {
        title: format!("{passed} of {all} runs passed: {base}"),
        sections: vec![section],
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use mcprove_document::style::Style;

    use super::*;
    use crate::report::samples;

    fn text(width: usize) -> String {
        let problem = "metrics.json is not metrics.v1: expected value at line 1";
        let problem = FormatError::Unreadable(problem.to_owned());
        let place = |name: &str| Path::new("runs").join(name);
        let places = ["ABCDEF", "BCDEFG", "CDEFGH", "DEFGHI"]
            .map(|id| place(&format!("2026-05-10T07-30-00-{id}")));
        let reports = [
            samples::healthy(),
            samples::failing(),
            samples::interrupted(),
        ];
        let reports = reports.iter().map(Ok).chain([Err(&problem)]);
        let document = of_rows(
            Path::new("runs"),
            places.iter().map(PathBuf::as_path).zip(reports),
        );
        document.terminal(Style::plain(width))
    }

    #[test]
    fn narrow() {
        insta::assert_snapshot!("runs_80", text(80));
    }

    #[test]
    fn wide() {
        insta::assert_snapshot!("runs_200", text(200));
    }

    #[test]
    fn nothing_yet() {
        assert!(
            runs_document(&[], Path::new("runs"))
                .terminal(Style::plain(80))
                .contains("mcprove run")
        );
    }
}
