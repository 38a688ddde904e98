//! `mcprove run`: suites, or a load, from files or from flags.

mod files;
mod flags;
mod suites;
mod watch;

use std::path::PathBuf;

use clap::Args;
use mcprove_client::server::Server;
use mcprove_client::session::SessionOptions;
use mcprove_load::config::{Format, LoadConfig};
use mcprove_load::report::side_by_side_document;
use mcprove_load::run::{ServerRun, SideBySide};

use self::files::{Inputs, recognise};
use self::flags::{Given, SuiteArguments};
use crate::commands::folder::tell_passed_over;
use crate::commands::list_scenarios::settings_text;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::load_arguments::{LoadArguments, LoadFlags, OutputArguments, ThresholdArguments};
use crate::load_run::{describe, exit_code, perform, show, stop_on_interrupt};
use crate::reports::{ReportArguments, Reports, drawn};
use crate::target::{ServerArguments, SessionArguments, supervised};
use crate::{losses, terminal};

const EXPLANATION: &str = "\
What it does with suites (YAML with `servers:` and `tools:`, `agents:` or
`load:`; a folder stands for every suite in it, and names what is none):
  1. Reads all of them; every problem is told at once, with its place.
  2. Chooses tests: --filter, --tag, --last-failed, then a share: --shard.
     That nothing is chosen is an error. --list shows them and runs none.
  3. Starts servers when the first test needs them, and runs as many tests at
     once as --jobs and the servers allow; loads alone, after all others.
     Agents are replayed from their cassettes where there are any, without a
     network and without a server; --record and --live ask the models.
     A test that fails, loops or breaks stops no other, except with
     --fail-fast; --repeat makes each prove itself several times.
  4. Tells what failed, why and what to try, and writes every --report.
     What did not pass is kept in runs/last-failed.json. --last-failed chooses
     it, and all tests of suites that were never run; that nothing failed is
     an error, since nothing is tested then.
  5. With --watch, does it again when a suite, a mock or a cassette changes.
With --explain and a suite: tells which servers, models, agents and loads it
would start or reach, and which cassettes it would replay.

What it does with a load:
  1. Reads the config files, or takes one scenario from the flags (both have
     the same settings; with a file, flags stand in for its values).
  2. Calibrates itself against a built-in server for 200 ms.
  3. Starts the server (or connects to --url), lists its tools, makes
     arguments from their schemas unless given. Each call then carries a
     unique token; a reply with another call's token is a crossed reply.
  4. Makes the load: closed (so many calls in flight) or open (--rate: a fixed
     schedule, latency counted from the intended start). A call without an
     answer within --hang-timeout is hung; after --grace-period more it is a
     deadlock, and the server is asked whether it still lives. A server that
     dies is started again, and counted.
  5. Makes up to 20 calls of each tool one at a time, within a second, to
     grade by; not of tools that took longer than that.
  6. Writes runs/<time>-<id>/ with config.toml, trace.jsonl, metrics.json,
     summary.json, report.md, report.html, latency.hlog and the server's
     stderr; prints the summary.
With several servers (--server A --server B) the same load is made on each in
turn, and put side by side: printed, with --json as one document (format
side-by-side.v1), and written beside the runs as
runs/<time>-<id of the first>.side-by-side.json.

Exit code: 0 passed; 1 a test failed, a threshold was violated or a detector
has a critical finding; 2 a test or the run could not be done, or something
could not be judged or written, or no test was chosen, or mcprove itself ran out
of something, such as file descriptors; 130 interrupted, after a partial report.
Of several: 130, 2 not done or written, 1, 2 not judged.
More: --help, `mcprove list-scenarios` and `mcprove example-config`.
";

/// One command for each job, to copy.
const EXAMPLES: &str = "\
Examples:
  mcprove init -s \"python -m my_mcp\"         a first suite: mcprove.yml
  mcprove validate mcprove.yml               is it written right?
  mcprove run mcprove.yml                    its tests; agents from cassettes
  mcprove run mcprove.yml --record           ask the models, keep the answers
  mcprove run tests/ --report junit=out.xml  every suite of a folder, for CI
  mcprove run mcprove.yml --last-failed      what did not pass, again
  mcprove run -s \"python -m my_mcp\" -c 50 -d 60s --p99 500ms
                                             a load, with a limit";

/// Arguments of `mcprove run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    // First, since the others take what they read away.
    #[command(flatten)]
    given: Given,

    /// Suites (.yml), folders of suites, or load configurations (.toml, .yml)
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The same as FILE
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,

    /// Tell what this command does, with a suite what it would start and reach, and do nothing
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    suite: SuiteArguments,

    #[command(flatten)]
    load: LoadArguments,

    #[command(flatten)]
    thresholds: ThresholdArguments,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    server: ServerArguments,

    #[command(flatten)]
    session: SessionArguments,
}

impl Arguments {
    /// The files, however they were named.
    fn all_files(&self) -> Vec<&PathBuf> {
        self.files.iter().chain(&self.config).collect()
    }
}

/// A load on one server, ready to be made.
struct Job {
    config: LoadConfig,
    server: Server,
    session: SessionOptions,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = arguments.all_files();
    if arguments.explain && files.is_empty() {
        explain(arguments);
        return Ok(ExitCode::SUCCESS);
    }
    let first = files.first().map(|path| path.display().to_string());
    match recognise(&files, arguments.given.has_suite_flag())? {
        Inputs::Suites(found) => {
            let first = found.files.first().map(|path| path.display().to_string());
            arguments
                .given
                .check_for_suites(&first.unwrap_or_default())?;
            tell_passed_over(&found.passed_over);
            if arguments.explain {
                return suites::explain(arguments, &found.files);
            }
            suites::run(arguments, &found.files).await
        }
        Inputs::Loads => {
            arguments.given.check_for_loads(first.as_deref())?;
            if arguments.explain {
                for file in files {
                    LoadConfig::read(file)
                        .map_err(|errors| Failure::of_file(&errors.to_string()))?;
                }
                explain(arguments);
                return Ok(ExitCode::SUCCESS);
            }
            run_loads(arguments).await
        }
    }
}

/// What the command does, with the settings of the scenario that was chosen.
fn explain(arguments: &Arguments) {
    let settings = arguments.load.entry().map_or_else(String::new, |entry| {
        let begin = format!("\nSettings of {}:\n", entry.name);
        begin + &settings_text(entry.all_settings())
    });
    super::explain(&format!("{EXPLANATION}{settings}"));
}

/// Makes the loads.
async fn run_loads(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let reports = arguments.report.resolve(arguments.output.json)?;
    let jobs = jobs(arguments)?;
    let stop = stop_on_interrupt();
    let mut runs: Vec<ServerRun> = Vec::new();
    let mut worst = ExitCode::SUCCESS;
    let is_one = jobs.len() == 1;
    let mut is_anything_shown = false;
    for job in jobs {
        if !stop.is_running() {
            worst = ExitCode::Interrupted;
            break;
        }
        let name = job.server.describe();
        // A file may ask for files only.
        let is_asked = reports.printed().is_some();
        let is_shown = is_asked || job.config.output.formats.contains(&Format::Terminal);
        is_anything_shown |= is_shown;
        match perform(&job.config, job.server, job.session, &stop).await {
            Ok((report, directory)) => {
                worst = worst.max(exit_code(&report, !stop.is_running()));
                if is_one {
                    show(&report, directory.as_ref(), &reports, is_shown);
                } else if is_shown && reports.is_for_people() {
                    // Of several, the other reports are one document, made at the end.
                    show(&report, directory.as_ref(), &Reports::default(), true);
                }
                runs.push(ServerRun::made(name, report, directory.as_ref()));
            }
            Err(error) => {
                let failure = describe(&error, !stop.is_running());
                if is_one {
                    return Err(failure);
                }
                // The others are still worth a run.
                runs.push(ServerRun::failed(
                    name.clone(),
                    failure.message().to_owned(),
                ));
                worst = worst.max(failure.within(&name).report());
            }
        }
    }
    if !is_one {
        let side_by_side = SideBySide::new(runs, !stop.is_running());
        put_side_by_side(&side_by_side, &reports, is_anything_shown);
    }
    Ok(worst)
}

/// Tells what all servers came to, and writes it beside their runs.
fn put_side_by_side(runs: &SideBySide, reports: &Reports, is_shown: bool) {
    let written = runs.write_beside();
    let document = side_by_side_document(&runs.servers);
    let draw = |format, style| drawn(&document, &runs.to_json(), format, style);
    let is_for_people = is_shown && reports.is_for_people();
    let has_runs = runs.servers.iter().any(|run| run.report.is_some());
    if is_for_people && has_runs {
        terminal::print("\n");
    }
    if is_shown && (has_runs || !is_for_people) {
        reports.show_all(draw);
    } else {
        reports.write(draw);
    }
    match written {
        Ok(Some(path)) if is_for_people => {
            terminal::print(&format!("\nSide by side in {}\n", path.display()));
        }
        Ok(_) => {}
        Err(loss) => losses::add([loss]),
    }
}

fn jobs(arguments: &Arguments) -> Result<Vec<Job>, Failure> {
    let files = arguments.all_files();
    let flags = LoadFlags {
        load: &arguments.load,
        others: vec![&arguments.thresholds, &arguments.output.settings],
    };
    if files.is_empty() {
        let session = arguments.session.options(&arguments.server);
        let servers = arguments.server.resolve_all(&arguments.session)?;
        return servers
            .into_iter()
            .map(|server| {
                let mut config = flags.config(&server)?;
                config.session = arguments.session.settings(&arguments.server);
                let session = session.clone();
                Ok(Job {
                    config,
                    server,
                    session,
                })
            })
            .collect();
    }
    let mut jobs = Vec::new();
    for file in files {
        let config = flags.over(file)?;
        for warning in &config.warnings {
            terminal::print_error(&format!("warning: {warning}\n"));
        }
        let servers = if arguments.server.is_given() {
            arguments.server.resolve_all(&arguments.session)?
        } else {
            vec![supervised(config.server.clone())]
        };
        let session = config.session.options();
        let session = arguments.session.over(session, &servers, &arguments.server);
        jobs.extend(servers.into_iter().map(|server| Job {
            config: config.clone(),
            server,
            session: session.clone(),
        }));
    }
    Ok(jobs)
}
