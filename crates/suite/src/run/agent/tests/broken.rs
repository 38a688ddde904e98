//! A run that breaks takes nothing from the others.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A model that lies twice, and whose provider refuses the second answer of the run after that.
fn breaking() -> FakeModel {
    let asked_before = AtomicUsize::new(0);
    FakeModel::start(
        move |asked| match asked_before.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => scripts::liar(asked),
            2 => scripts::honest(asked),
            _ => Said::Status {
                status: 400,
                retry_after: None,
            },
        },
    )
}

fn one_at_a_time(bench: &mut Bench) {
    bench.plan.servers.get_mut("api").unwrap().parallel = 1;
}

fn trace_of(bench: &Bench) -> AgentTrace {
    let trace = std::fs::read_to_string(bench.trace()).unwrap();
    serde_json::from_str(&trace).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_before_it_are_judged_and_all_are_kept() {
    let model = breaking();
    let mut bench = Bench::new(&model.url(), 5, "narrative: {}\nstability: {}");
    one_at_a_time(&mut bench);
    let report = bench.run(CassetteMode::Record).await;
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    assert_eq!(report.errors.len(), 1, "{report:?}");
    assert_eq!(report.errors[0].run, Some(2));
    assert!(
        report.errors[0].message.rendered().contains("HTTP 400"),
        "{report:?}"
    );
    let failed: Vec<_> = report.failures.iter().map(|it| it.run).collect();
    assert_eq!(failed, [Some(0), Some(1)], "{report:?}");
    assert_eq!(report.runs.len(), 2);
    let told = "2 of 5 runs came to an end, and runs 0 to 1 were judged, each by itself";
    assert!(
        report.notes.iter().any(|note| note.rendered() == told),
        "{report:?}"
    );
    let unrecorded = |note: &mcprove_settings::message::Message| {
        note.rendered().starts_with("nothing was recorded")
    };
    assert!(report.notes.iter().any(unrecorded), "{report:?}");
    assert!(!bench.cassette().exists());
    assert!(report.details.is_some());

    let trace = trace_of(&bench);
    let passed: Vec<_> = trace.runs.iter().map(|run| run.passed).collect();
    assert_eq!(passed, [Some(false), Some(false), None]);
    let broken = &trace.runs[2];
    assert_eq!(broken.stop_reason(), Some(mcprove_trace::StopReason::Error));
    assert_eq!(broken.tool_calls.len(), 1, "what it had done");
    let error = broken.conversation.as_ref().unwrap().error.clone();
    assert!(error.unwrap().contains("HTTP 400"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_alone_is_kept_too() {
    let model = FakeModel::start(|_| Said::Raw("<html>"));
    let mut bench = Bench::new(&model.url(), 1, "narrative: {}");
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    assert_eq!(
        (report.runs.len(), report.notes.len()),
        (0, 0),
        "{report:?}"
    );
    assert_eq!(trace_of(&bench).runs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_breaks_tells_of_the_runs_before() {
    let model = model(scripts::liar);
    let mut bench = Bench::new(&model.url(), 3, "narrative: {}");
    bench.run(CassetteMode::Record).await;
    let path = bench.cassette();
    let mut cassette = cassette::read(&path).unwrap().unwrap();
    cassette.runs[1].model.clear();
    cassette::write(&path, &cassette).unwrap();
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    assert_eq!(report.errors[0].run, Some(1), "{report:?}");
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert!(
        report.notes[0].rendered().starts_with("1 of 3 runs"),
        "{report:?}"
    );
    assert_eq!(trace_of(&bench).runs.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_trace_is_not_left_for_the_new_one() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 1, "");
    bench.run(CassetteMode::Live).await;
    assert!(bench.trace().exists());
    bench.options.environment = Environment::new(|_| None);
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    assert_eq!(report.details, None);
    assert!(!bench.trace().exists());
}
