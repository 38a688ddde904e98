//! Scenarios as another crate would add them, right and wrong.

use std::path::Path;

use mcprove_client::server::Server;
use mcprove_score::verdict::{Outcome, Verdict};
use mcprove_servers::fixture;
use mcprove_trace::stream::Fact;

use super::*;
use crate::run::report::{Detail, RunOutcome};
use crate::run::{Run, RunDirectory, recompute, recompute_with};

/// Calls each tool so often.
#[derive(Debug, Clone, Settings)]
struct Calls {
    /// How often.
    #[setting(default = 2)]
    count: u32,
    /// Where it panics.
    #[setting(otherwise = "nowhere")]
    panics: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MadeFact {
    calls: u32,
}

impl Fact for MadeFact {
    const NAME: &'static str = "made";
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct MadeReport {
    calls: u32,
    wanted: u32,
}

impl Detail for MadeReport {
    const NAME: &'static str = "made";
}

impl Calls {
    fn panic_in(&self, place: &str) {
        assert!(self.panics.as_deref() != Some(place), "out of patience");
    }
}

impl ScenarioType for Calls {
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            self.panic_in("drive");
            let connection = context.connect().await?;
            let phase = context.phase(1, "calls", 1, true);
            let tools = context.list_tools(&connection.session).await?;
            let mut calls = 0;
            for call in context.prepare(&connection.session, &tools)? {
                for _ in 0..self.count {
                    calls += u32::from(connection.call(&call, phase.index).await.is_ok());
                }
            }
            context.fact("", &MadeFact { calls });
            context.end_phases([phase]);
            connection.end().await;
            Ok(())
        })
    }

    fn questions(&self) -> &'static [&'static str] {
        &["made"]
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        let made = report.detail::<MadeReport>().ok().flatten();
        let line = |it: MadeReport| format!("{} of {} calls", it.calls, it.wanted);
        let lines = made.map(line);
        vec![Section::new("Calls made").list(lines)]
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> Result<(), FactError> {
        self.panic_in("conclude");
        let calls = facts.first::<MadeFact>()?.map_or(0, |made| made.calls);
        report.verdicts.push(match self.count {
            4 => Verdict::inconclusive("made", "Four calls say nothing.", "make three"),
            _ => Verdict::pass("made", "Calls were made."),
        });
        report.add_detail(&MadeReport {
            calls,
            wanted: self.count,
        })
    }
}

fn calls(count: u32, panics: Option<&str>) -> Calls {
    let panics = panics.map(str::to_owned);
    Calls { count, panics }
}

async fn run(scenario: Scenario, base: &Path) -> Result<(Report, RunDirectory), RunError> {
    let address = "127.0.0.1:0".parse().unwrap();
    let options = fixture::FixtureOptions::default();
    let listening = fixture::listen("normal", fixture::ListenerKind::Http, address, &options);
    let listening = listening.await.unwrap();
    let run = Run::new(Server::http(listening.url()), scenario.tool("echo"))
        .with_calibration(false)
        .with_check(|report| match report.detail::<MadeReport>() {
            Ok(Some(_)) => Verdict::pass("checked", "There is a report."),
            _ => panic!("there is none"),
        })
        .with_output_dir(base.to_owned());
    let (report, directory) = run.execute_in_directory().await?;
    Ok((report, directory.unwrap()))
}

fn outcome_of(report: &Report, detector: &str) -> Option<Outcome> {
    let mut verdicts = report.verdicts.iter();
    let verdict = verdicts.find(|verdict| verdict.detector == detector);
    verdict.map(|verdict| verdict.outcome)
}

#[tokio::test]
async fn it_is_run_and_computed_again_with_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::custom("calls", calls(3, None));
    let (report, directory) = run(scenario, folder.path()).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Passed, "{report:?}");
    assert_eq!(report.throughput.total_requests, 3);
    let expected = MadeReport {
        calls: 3,
        wanted: 3,
    };
    assert_eq!(report.detail(), Ok(Some(expected)));
    let markdown = std::fs::read_to_string(directory.markdown()).unwrap();
    assert!(markdown.contains("3 of 3 calls"), "{markdown}");
    let mut other = report.clone();
    other.details.insert("made".to_owned(), true.into());
    assert!(other.detail::<MadeReport>().is_err());
    assert_eq!(outcome_of(&report, "checked"), Some(Outcome::Pass));
    let written = std::fs::read_to_string(directory.metrics()).unwrap();
    let back: Report = serde_json::from_str(&written).unwrap();
    assert_eq!(back.scenario_kind.name(), "calls");
    // The settings are those of the run, not those of the scenario that is given.
    let known = [Scenario::custom("calls", calls(7, None))];
    let again = recompute_with(&directory, &known).unwrap();
    assert_eq!(again.report.to_json(), written);
    // Unknown, the rest can still be read.
    let unknown = recompute(&directory).unwrap().report;
    assert_eq!(unknown.throughput.total_requests, 3);
    assert_eq!(outcome_of(&unknown, "made"), None);
    assert!(unknown.warnings[0].contains("\"calls\" is not known here"));
    let twice = [known[0].clone(), known[0].clone()];
    let error = recompute_with(&directory, &twice).unwrap_err();
    assert!(
        error.to_string().contains("two scenarios are called"),
        "{error}"
    );
}

#[tokio::test]
async fn without_an_answer_to_its_question_a_run_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::custom("calls", calls(4, None));
    let (report, _) = run(scenario, folder.path()).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Inconclusive, "{report:?}");
}

/// A load of another crate.
#[derive(Debug, Clone, Settings)]
struct Stairs {
    /// How long each step lasts.
    #[setting(default = "50ms")]
    duration: Duration,
}

impl ScenarioType for Stairs {
    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn plan(&self, load: &LoadSettings) -> Result<Option<LoadPlan>, RunError> {
        let steps = Schedule::steady(load, "one", self.duration, 1).then("two", self.duration, 2);
        Ok(Some(weighted_calls(steps)))
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec!["two steps".to_owned()]
    }
}

#[tokio::test]
async fn it_can_be_a_load() {
    let folder = tempfile::tempdir().unwrap();
    let duration = Duration::from_millis(50);
    let scenario = Scenario::custom("stairs", Stairs { duration });
    let (report, _) = run(scenario, folder.path()).await.unwrap();
    let phases = report
        .phases
        .iter()
        .map(|it| (it.name.as_str(), it.concurrent));
    assert_eq!(phases.take(2).collect::<Vec<_>>(), [("one", 1), ("two", 2)]);
    assert!(report.throughput.total_requests > 0);
}

#[tokio::test]
async fn a_fact_of_another_form_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::custom("calls", calls(1, None));
    let (_, directory) = run(scenario, folder.path()).await.unwrap();
    let trace = std::fs::read_to_string(directory.trace()).unwrap();
    let known = [Scenario::custom("calls", calls(1, None))];
    for (fact, wrong) in [
        ("\"data\":{\"calls\":1}", "\"data\":{\"calls\":\"one\"}"),
        (
            "\"name\":\"calls\",\"rate\"",
            "\"title\":\"calls\",\"rate\"",
        ),
    ] {
        let place = trace.lines().position(|line| line.contains(fact)).unwrap();
        std::fs::write(directory.trace(), trace.replace(fact, wrong)).unwrap();
        let error = recompute_with(&directory, &known).unwrap_err().to_string();
        let expected = format!("trace.jsonl:{}: cannot read the record ", place + 1);
        assert!(error.contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn a_panic_and_a_wrong_name_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let panicking = Scenario::custom("calls", calls(1, Some("drive")));
    let error = run(panicking, folder.path()).await.unwrap_err();
    let expected = "the scenario calls panicked: out of patience";
    assert_eq!(error.to_string(), expected);
    // One that is known by then keeps what was measured; the check that needs its report panics too.
    let panicking = Scenario::custom("calls", calls(1, Some("conclude")));
    let (report, _) = run(panicking, folder.path()).await.unwrap();
    assert_eq!(report.outcome(), RunOutcome::Failed);
    assert_eq!(report.throughput.total_requests, 1);
    for (detector, words) in [("scenario", "out of patience"), ("check", "there is none")] {
        let mut verdicts = report.verdicts.iter();
        let verdict = verdicts.find(|it| it.detector == detector).unwrap();
        assert!(verdict.sentence.rendered().contains(words), "{verdict:?}");
    }
    for name in ["", "sustained", "slow-mix"] {
        let error = run(Scenario::custom(name, calls(1, None)), folder.path()).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains("cannot be called"), "{error}");
    }
    let refused = Scenario::custom("calls", calls(1, None)).concurrent(5);
    let error = run(refused, folder.path()).await.unwrap_err().to_string();
    assert!(
        error.contains("calls has no setting `concurrent`"),
        "{error}"
    );
}
