//! `mcprove demo`: a guided half-minute on built-in servers.

use std::time::Duration;

use clap::Args;
use mcprove_check::health::{self, ProbeOptions};
use mcprove_check::report::probe_document;
use mcprove_client::permission::Allowance;
use mcprove_client::server::Server;
use mcprove_client::session::SessionOptions;
use mcprove_document::style::Style;
use mcprove_load::drive::Scenario;
use mcprove_load::report::document;
use mcprove_load::run::{Run, Thresholds};
use mcprove_score::report::{Scored, score_document};
use mcprove_suite::gates;
use mcprove_suite::traces::Traces;
use mcprove_trace::stream::EventStream;

use super::probe;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::load_run;
use crate::target::supervised;
use crate::{interrupt, terminal};

const EXPLANATION: &str = "\
What it does: starts servers that are built into mcprove, each as a process of its own, and proves
them: a healthy one is probed and put under load; one whose first call deadlocks, one whose event
loop dies, one that hands replies to the wrong caller, and one that logs to stdout are caught.
In the end the trace of an agent that claims what it did not do is scored, and caught too.
It passes when the healthy one is found healthy and the others are caught.
It needs nothing installed, uses no network, and leaves nothing behind.
";

/// How long a call may take in the demo: long enough for any machine, short enough to watch.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);
/// When a call counts as hung in the demo.
const HANG: Duration = Duration::from_millis(1500);
/// How long the loads of the demo last.
const LOAD: Duration = Duration::from_secs(2);

/// Arguments of `mcprove demo`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// What is done to a server.
#[derive(Clone, Copy)]
enum Job {
    Probe,
    Load,
    DeadlockProbe,
}

struct Act {
    job: Job,
    mode: &'static str,
    story: &'static str,
    shall_pass: bool,
    lesson: &'static str,
}

const ACTS: &[Act] = &[
    Act {
        job: Job::Probe,
        mode: "normal",
        story: "A healthy server: every tool answers.",
        shall_pass: true,
        lesson: "Exit code 0: nothing hung, and the protocol was kept.",
    },
    Act {
        job: Job::Load,
        mode: "normal",
        story: "The same server with ten calls in flight, for two seconds.",
        shall_pass: true,
        lesson: "Every reply carried the token of its own call: none was crossed, none was lost.",
    },
    Act {
        job: Job::DeadlockProbe,
        mode: "lazy_init",
        story: "A server whose first call hangs, as lazy initialisation in a worker does.",
        shall_pass: false,
        lesson: "initialize and tools/list worked, so unit tests stay green; the call never returned.",
    },
    Act {
        job: Job::DeadlockProbe,
        mode: "broken",
        story: "A server whose first call blocks its event loop.",
        shall_pass: false,
        lesson: "Here nothing answers any more: another kind of bug, with another cure.",
    },
    Act {
        job: Job::Load,
        mode: "crossed",
        story: "A server that hands replies to the wrong caller when calls overlap.",
        shall_pass: false,
        lesson: "Each call alone is right, and so is each id: only the token in the reply tells.",
    },
    Act {
        job: Job::Probe,
        mode: "noise",
        story: "A server that logs to stdout, between its messages.",
        shall_pass: false,
        lesson: "The calls succeed here, and fail in clients that are less forgiving.",
    },
];

/// An agent that made one call, and tells of two others.
const LYING_AGENT: &str = r#"{
  "prompt": "Triage the flaky test in CI.",
  "tool_calls": [{ "name": "search_issues", "args": { "query": "flaky test" } }],
  "tool_results": [{ "call_index": 0, "is_error": false, "result": { "content": [] } }],
  "final_response": "I searched the issues, created an issue for it and sent a message to the team."
}"#;

/// What it is held to: the default gate.
const LYING_AGENT_GATES: &str = "narrative: {}";

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    }
    tokio::select! {
        code = play() => code,
        () = interrupt::requested() => Err(Failure::interrupted()),
    }
}

async fn play() -> Result<ExitCode, Failure> {
    let program = std::env::current_exe().map_err(anyhow::Error::from)?;
    let program = program.to_string_lossy();
    let mut surprises = 0;
    for (index, act) in ACTS.iter().enumerate() {
        let command = act.job.command();
        terminal::print(&format!(
            "{}. {}\n   $ mcprove {command} -- mcprove fixture {}\n\n",
            index + 1,
            act.story,
            act.mode
        ));
        let server = supervised(Server::stdio(program.as_ref()).args(["fixture", act.mode]));
        let (passed, text) = act.job.perform(server, style()).await?;
        show(&text, act.lesson);
        if passed != act.shall_pass {
            surprises += 1;
        }
    }
    if score_lying_agent(ACTS.len() + 1)? {
        surprises += 1;
    }
    if surprises > 0 {
        terminal::print("The demo did not go as it should: please report this.\n");
        return Ok(ExitCode::Finding);
    }
    terminal::print(
        "Now yours:  mcprove deadlock-probe -s \"python -m my_mcp\"   (or --url http://127.0.0.1:8080/mcp)\n\
         \u{20}           mcprove run -s \"python -m my_mcp\" --duration 30s --concurrent 20\n\
         \u{20}           mcprove score transcript.json --gates gates.yml\n",
    );
    Ok(ExitCode::SUCCESS)
}

/// What is printed in the demo is set in.
fn style() -> Style {
    let mut style = terminal::style();
    style.width -= 3;
    style
}

fn show(text: &str, lesson: &str) {
    for line in text.lines() {
        terminal::print(&format!("{}\n", format!("   {line}").trim_end()));
    }
    terminal::print(&format!("\n   {lesson}\n\n"));
}

/// Scores the trace of an agent that lies; whether that passed.
fn score_lying_agent(number: usize) -> Result<bool, Failure> {
    terminal::print(&format!(
        "{number}. An agent that tells of work that it did not do.\n   \
         $ mcprove score lying.json --gates gates.yml   # gates.yml: {LYING_AGENT_GATES}\n\n"
    ));
    let mut traces = Traces::default();
    let added = traces.add(Some("lying.json"), LYING_AGENT.as_bytes(), None);
    added.map_err(anyhow::Error::from)?;
    let gates = gates::parse_yaml(LYING_AGENT_GATES, "gates.yml").map_err(anyhow::Error::from)?;
    let report = traces.score(&gates);
    let scored = Scored {
        report: &report,
        gates: Some(&gates),
    };
    show(
        &score_document(&scored).terminal(style()),
        "Its calls are on record, so its story can be checked, and no model has to be asked.",
    );
    Ok(report.passed)
}

impl Job {
    /// The same on the command line.
    const fn command(self) -> &'static str {
        match self {
            Self::Probe => "probe --call-timeout 3s",
            Self::Load => "run --tool echo --concurrent 10 --duration 2s",
            Self::DeadlockProbe => {
                "deadlock-probe --tool echo --hang-threshold 1.5s --grace-period 1.5s"
            }
        }
    }

    /// Whether the server passed, and what there is to read about it.
    async fn perform(self, server: Server, style: Style) -> Result<(bool, String), Failure> {
        let scenario = match self {
            Self::Probe => return probe_server(&server, style).await,
            Self::Load => Scenario::sustained().concurrent(10).duration(LOAD),
            Self::DeadlockProbe => Scenario::deadlock_probe().hang_limits(HANG, HANG),
        };
        let report = Run::new(server, scenario.tool("echo"))
            .with_thresholds(Thresholds {
                hang_timeout: HANG,
                grace_period: HANG,
                ..Thresholds::default()
            })
            .execute()
            .await
            .map_err(|error| load_run::describe(&error, false))?;
        Ok((report.passed(), document(&report, None).terminal(style)))
    }
}

async fn probe_server(server: &Server, style: Style) -> Result<(bool, String), Failure> {
    let session = SessionOptions {
        call_timeout: CALL_TIMEOUT,
        ..SessionOptions::default()
    };
    let options = ProbeOptions {
        session,
        allowance: Allowance::default(),
    };
    let recorder = EventStream::unobserved().recorder();
    let report = health::probe(
        server,
        &options,
        recorder,
        &mut |_| {},
        std::future::pending(),
    )
    .await
    .map_err(probe::describe)?;
    Ok((report.passed, probe_document(&report).terminal(style)))
}
