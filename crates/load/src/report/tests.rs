//! What every report looks like, kept as snapshots: they are read by people and by programs, and
//! change only on purpose.

use std::path::PathBuf;

use hdrhistogram::Histogram;
use mcprove_document::block::{Block, Document, Section};
use mcprove_document::style::Style;
use mcprove_score::verdict::Verdict;
use mcprove_settings::message::code;
use mcprove_settings::printable::printable;
use mcprove_trace::stream::new_histogram;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::run::{Report, Summary};

fn load_text(report: &Report, style: Style, files: Option<&Files>) -> String {
    document(report, files).terminal(style)
}

fn markdown(report: &Report) -> String {
    document(report, None).markdown()
}

pub fn html(report: &Report) -> String {
    document(report, None).html()
}

/// The bars of a histogram on a terminal.
fn histogram_text(latencies: &Histogram<u64>, rows: usize, style: Style) -> String {
    let bars = Block::Bars(histogram(latencies, rows));
    let document = Document {
        sections: vec![Section::default().block(bars)],
        ..Document::default()
    };
    document.terminal(style)
}

fn files(report: &Report) -> Files {
    let mut names = vec!["report.html", "report.md", "metrics.json"];
    if !report.trace_path.as_os_str().is_empty() {
        names.push("trace.jsonl");
    }
    Files {
        place: PathBuf::from("runs/2026-05-10T07-30-00-ABCDEF"),
        names,
    }
}

#[test]
fn terminal() {
    for (name, report) in samples::all() {
        let text = load_text(&report, Style::plain(80), Some(&files(&report)));
        insta::assert_snapshot!(format!("load_{name}"), text);
    }
}

#[test]
fn markdown_file() {
    for (name, report) in samples::all() {
        insta::assert_snapshot!(format!("markdown_{name}"), markdown(&report));
    }
}

#[test]
fn html_file() {
    // One whole page; the others differ in their tables, which the markdown shows.
    let page = html(&samples::ramped()).replace("><", ">\n<");
    insta::assert_snapshot!("html_ramped", page);
}

#[test]
fn metrics_file() {
    let report = samples::failing();
    let json = report.to_json();
    let back: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(back, report);
    // What is read back is plain text, and is written the same again.
    assert_eq!(back.to_json(), json);
    insta::assert_snapshot!("metrics_failing", json);
}

#[test]
fn summary_file() {
    for (name, report) in [
        ("failing", samples::failing()),
        ("interrupted", samples::interrupted()),
    ] {
        let summary = Summary::from(&report);
        let json = summary.to_json();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
        insta::assert_snapshot!(format!("summary_{name}"), json);
    }
}

#[test]
fn every_line_fits_the_width() {
    for (name, report) in samples::all() {
        for width in [40, 60, 80, 120] {
            let text = load_text(&report, Style::plain(width), Some(&files(&report)));
            for line in text.lines() {
                assert!(line.width() <= width, "{name}, {width}: {line}");
            }
        }
    }
}

#[test]
fn every_run_fits_a_screen_unless_details_are_asked_for() {
    let last = "  Report: runs/2026-05-10T07-30-00-ABCDEF/report.md";
    for (name, report) in samples::all() {
        let text = load_text(&report, Style::plain(80), Some(&files(&report)));
        assert!(text.lines().count() <= 24, "{name}: {text}");
        let word = super::headline::outcome(&report).1;
        assert!(text.starts_with(word), "{name}: {text}");
        assert!(text.ends_with(&format!("{word}{last}\n")), "{name}: {text}");
        let verbose = Style {
            verbose: true,
            ..Style::plain(80)
        };
        let all = load_text(&report, verbose, Some(&files(&report)));
        assert!(all.lines().count() > 24, "{name}: {all}");
    }
}

#[test]
fn long_names_and_sentences_fit_a_screen_and_are_whole_with_details() {
    for (name, mut report) in samples::all() {
        let long = "tool".repeat(500);
        report.server_info.target = format!("python {}", "x ".repeat(1_000));
        report.server_info.name.clone_from(&long);
        for verdict in &mut report.verdicts {
            let why = "why ".repeat(120);
            let name = code(long.clone());
            verdict.sentence = sentence!("It is slow: {why} {name}.");
            verdict.hint = Some(sentence!("look at {}", code(long.clone())));
        }
        report.meaning = vec![sentence!("{} is meant.", code(long.clone()))];
        if let Some(tool) = report.tools.pop_first() {
            report.tools.insert(long, tool.1);
        }
        let text = load_text(&report, Style::plain(80), Some(&files(&report)));
        assert!(text.lines().count() <= 24, "{name}: {text}");
        assert!(
            text.lines().all(|line| line.width() <= 80),
            "{name}: {text}"
        );
        let verbose = Style {
            verbose: true,
            ..Style::plain(80)
        };
        let all = load_text(&report, verbose, Some(&files(&report)));
        let is_longer = all.matches("why").count() > text.matches("why").count();
        assert!(is_longer || name != "failing", "{name}: {all}");
    }
}

#[test]
fn of_many_findings_the_first_are_shown_and_the_others_counted() {
    let mut report = samples::failing();
    for number in 0..40 {
        let sentence = format!("Finding {number} of many.");
        let finding = Verdict::critical(format!("detector_{number}"), sentence, "look");
        report.verdicts.push(finding);
    }
    let text = load_text(&report, Style::plain(80), Some(&files(&report)));
    assert!(text.lines().count() <= 24, "{text}");
    let more = text
        .lines()
        .find(|line| line.contains(" more in report.md"));
    assert!(more.is_some(), "{text}");
    assert!(text.contains("Total requests"), "{text}");
}

#[test]
fn only_files_that_exist_are_named() {
    for (name, report) in samples::all() {
        let mut files = files(&report);
        files.names = vec!["metrics.json"];
        let text = load_text(&report, Style::plain(120), Some(&files));
        assert!(
            !text.contains("report.") && !text.contains("trace.jsonl"),
            "{name}: {text}"
        );
        assert!(text.trim_end().ends_with("metrics.json"), "{name}: {text}");
        let text = load_text(&report, Style::plain(120), None);
        assert!(
            !text.contains("report.md") && !text.contains("metrics.json"),
            "{name}: {text}"
        );
    }
}

#[test]
fn colors_only_add_codes() {
    let plain = Style {
        unicode: true,
        ..Style::plain(80)
    };
    let colored = Style {
        color: true,
        ..plain
    };
    for (name, report) in samples::all() {
        let text = load_text(&report, colored, None);
        assert!(text.contains("\u{1b}["), "{name}");
        let stripped: Vec<String> = text.lines().map(|line| printable(line, 1000)).collect();
        let expected = load_text(&report, plain, None);
        assert_eq!(stripped, expected.lines().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn nothing_of_a_server_gets_through() {
    let report = samples::failing();
    for text in [
        load_text(&report, Style::plain(80), None),
        markdown(&report),
        html(&report),
    ] {
        assert!(!text.contains('\u{1b}'));
    }
    let page = html(&report);
    for planted in ["<script", "<b>odd", "<not>"] {
        assert!(!page.contains(planted), "{planted}");
    }
}

#[test]
fn latency_as_bars() {
    let mut histogram = new_histogram();
    for (milliseconds, count) in [(0.8, 40), (1.5, 400), (3.0, 900), (12.0, 55), (480.0, 2)] {
        let nanoseconds = std::time::Duration::from_secs_f64(milliseconds / 1e3).as_nanos();
        let nanoseconds = u64::try_from(nanoseconds).unwrap();
        histogram.record_n(nanoseconds, count).unwrap();
    }
    insta::assert_snapshot!(
        "histogram_plain",
        histogram_text(&histogram, 10, Style::plain(70))
    );
    let unicode = Style {
        unicode: true,
        ..Style::plain(70)
    };
    insta::assert_snapshot!("histogram_unicode", histogram_text(&histogram, 5, unicode));
    let mut one = new_histogram();
    one.record(5_000_000).unwrap();
    insta::assert_snapshot!("histogram_one", histogram_text(&one, 10, Style::plain(70)));
    assert_eq!(histogram_text(&new_histogram(), 10, Style::plain(70)), "");
}

#[test]
fn no_bar_leaves_a_call_out() {
    for rows in 1..20 {
        for values in [
            vec![1],
            vec![1, u64::MAX / 4],
            vec![999, 1000, 1001],
            vec![3; 7],
        ] {
            let mut histogram = new_histogram();
            for value in &values {
                histogram.record(*value).unwrap();
            }
            let buckets = super::histogram::buckets(&histogram, rows);
            let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
            assert_eq!(total, histogram.len(), "{rows} {values:?}");
            assert!(buckets.len() <= rows, "{rows} {values:?}");
        }
    }
}
