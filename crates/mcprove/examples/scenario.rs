//! A scenario of one's own: the same call again and again on one session, with a pause before each that is twice as
//! long as the last, and whether the server still answers after the longest.
//!
//! ```sh
//! cargo run --example scenario -- my_server --its-arguments
//! ```

use std::time::Duration;

use mcprove::scenario::{BoxFuture, Detail, Fact, FactError, RunFacts, Section, recompute_with};
use mcprove::settings::Settings as _;
use mcprove::{
    Report, Run, RunContext, RunDirectory, RunError, Scenario, ScenarioType, Server, Settings,
    Severity, Verdict,
};
use serde::{Deserialize, Serialize};

/// The settings: a field each.
#[derive(Debug, Clone, Settings)]
struct IdleProbe {
    /// How many pauses there are.
    #[setting(default = 4)]
    pauses: u32,
    /// How long the first pause is.
    #[setting(default = "10ms")]
    first: Duration,
}

/// What is noted after each pause, in the trace too.
#[derive(Debug, Serialize, Deserialize)]
struct PauseFact {
    pause_ms: u64,
    answered: bool,
}

impl Fact for PauseFact {
    const NAME: &'static str = "pause";
}

/// What is in the report.
#[derive(Debug, Serialize, Deserialize)]
struct IdleReport {
    answered: usize,
    pauses: usize,
}

impl Detail for IdleReport {
    const NAME: &'static str = "idle";
}

impl ScenarioType for IdleProbe {
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            let connection = context.connect().await?;
            let phase = context.phase(1, "idle", 1, true);
            let tools = context.list_tools(&connection.session).await?;
            for call in context.prepare(&connection.session, &tools)? {
                let mut pause = self.first;
                for done in 1..=self.pauses {
                    context.pause(pause).await;
                    let outcome = connection.call(&call, phase.index).await;
                    let fact = PauseFact {
                        pause_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
                        answered: outcome.is_ok(),
                    };
                    context.fact("", &fact);
                    context.progress(done, self.pauses);
                    pause *= 2;
                }
            }
            context.end_phases([phase]);
            connection.end().await;
            Ok(())
        })
    }

    // Without an answer to this a run does not pass.
    fn questions(&self) -> &'static [&'static str] {
        &["idle"]
    }

    // In every report, below what all loads show.
    fn sections(&self, report: &Report) -> Vec<Section> {
        let idle = report.detail::<IdleReport>().ok().flatten();
        let line =
            |it: IdleReport| format!("Answered after {} of {} pauses", it.answered, it.pauses);
        let lines = idle.map(line);
        vec![Section::new("Idle sessions").list(lines)]
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> Result<(), FactError> {
        let pauses: Vec<PauseFact> = facts.all()?;
        let silent = pauses.iter().find(|pause| !pause.answered);
        report.verdicts.push(match silent {
            None => Verdict::pass("idle", "The server answers after every pause."),
            Some(pause) => Verdict::finding(
                "idle",
                Severity::Critical,
                format!("No answer after a pause of {} ms.", pause.pause_ms),
                "look for a timeout of idle sessions",
            ),
        });
        report.add_detail(&IdleReport {
            answered: pauses.iter().filter(|pause| pause.answered).count(),
            pauses: pauses.len(),
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().ok_or("which server?")?;
    let server = Server::stdio(command).args(arguments);
    let probe = IdleProbe {
        pauses: 3,
        ..IdleProbe::initial()
    };
    let folder = std::env::temp_dir().join(format!("mcprove-scenario-{}", std::process::id()));
    // All tools of the server, also those that may write.
    let scenario = Scenario::custom("idle_probe", probe).allow_writes(true);
    let run = Run::new(server, scenario)
        .with_output_dir(folder.clone())
        .with_check(|report| match report.detail::<IdleReport>() {
            Ok(Some(idle)) if idle.pauses > 0 => Verdict::pass("tried", "There was a pause."),
            _ => Verdict::inconclusive("tried", "There was no pause.", "name a tool"),
        });
    let (report, directory) = run.execute_in_directory().await?;
    print(&report)?;
    // From the trace, given the scenario, the report is the same.
    let directory = RunDirectory::open(directory.ok_or("no files")?.path())?;
    let known = [Scenario::custom("idle_probe", IdleProbe::initial())];
    print(&recompute_with(&directory, &known)?.report)?;
    // Without, all but what it concludes.
    for warning in mcprove::recompute(&directory)?.report.warnings {
        println!("{warning}");
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn print(report: &Report) -> Result<(), FactError> {
    let idle = report.detail::<IdleReport>()?;
    let (answered, pauses) = idle.map_or((0, 0), |idle| (idle.answered, idle.pauses));
    let calls = report.throughput.total_requests;
    println!("{calls} calls, {answered} of {pauses} answered after a pause");
    for detector in ["idle", "tried"] {
        let mut verdicts = report.verdicts.iter();
        if let Some(verdict) = verdicts.find(|verdict| verdict.detector == detector) {
            println!("{detector}: {}", verdict.sentence.rendered());
        }
    }
    Ok(())
}
