//! What a recording amounts to.

use crate::report::prelude::*;

/// The report on a recording in this file.
pub fn recording_document(report: &RecordingReport, file: &str) -> Document {
    let total = &report.total;
    let why = format!(
        "{}: {} ok, {} failed, {} without an end, in {:.1}s",
        counted(total.calls, "call"),
        total.succeeded,
        total.errors.values().sum::<u64>(),
        total.unanswered,
        report.duration_secs
    );
    let origin = report.origin.as_ref();
    let table = Table::new(["", "calls", "ok", "p50", "p95", "p99", "max", "errors"]).numbers(1..7);
    let rows = report.tools.iter().chain(&report.methods);
    let table = table.rows(rows.map(|(name, calls)| row(name, calls)));
    let mut events: Vec<Line> = report
        .faults
        .iter()
        .map(|fault| {
            let struck = format!(" struck {} of ", counted(fault.calls, "call"));
            Line::plain("fault ")
                .and_code(&fault.fault)
                .and(struck)
                .and_code(&fault.tool)
        })
        .collect();
    if report.cancelled > 0 {
        let requests = counted(report.cancelled, "request");
        events.push(format!("the client cancelled {requests}").into());
    }
    if report.crashes > 0 {
        let times = counted(report.crashes, "time");
        events.push(format!("the server crashed {times}").into());
    }
    let facts = origin.map(|origin| {
        let by = format!("mcprove {}", origin.by);
        [
            ("Recorded by", by.into()),
            ("Server", Line::code(&origin.target)),
        ]
    });
    let target = origin.map(|origin| origin.target.clone());
    Document {
        title: format!("Recording {file}"),
        subject: target.into_iter().chain([file.to_owned()]).collect(),
        verdict: Some(Verdict::new(Tone::Neutral, "RECORDED", why)),
        facts: facts.into_iter().flatten().collect(),
        sections: vec![
            Section::default().table(table),
            Section::default().list(events),
        ],
        ..Document::default()
    }
}

fn row(name: &str, calls: &CallReport) -> [Line; 8] {
    let latency = &calls.latency_ms;
    let [p50, p95, p99, max] = [latency.p50, latency.p95, latency.p99, latency.max]
        .map(|time| known(time, |ms| format!("{ms:.1}ms")));
    let errors = calls
        .errors
        .iter()
        .map(|(category, count)| format!("{count} {category}").into());
    let errors = Line::join(errors, ", ");
    cells![
        Line::code(name),
        calls.calls,
        calls.succeeded,
        p50,
        p95,
        p99,
        max,
        errors
    ]
}
