//! `mcprove run`: suites, or a load, from files or from flags.

mod files;
mod flags;
mod suites;
mod watch;

use mcprove_load::config::Format;
use mcprove_load::drive::scenario::find;
use mcprove_load::report::side_by_side_document;
use mcprove_load::run::ServerRun;

use self::files::recognise;
pub use self::flags::Given;
use self::flags::SuiteArguments;
use crate::commands::folder::warn_of_skipped_files;
use crate::explain;
use crate::load_arguments::{ThresholdTable, flags_text};
use crate::load_run::{exit_code, perform, show};
use crate::prelude::*;
use crate::target::ServerFlags;

/// One command for each job, to copy.
const EXAMPLES: &str = include_str!("../../explain/run-examples.txt");
/// What the command does with suites.
const OF_SUITES: &str = include_str!("../../explain/run-suites.txt");

/// Arguments of `mcprove run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Suites (.yml), folders of suites, or load configurations (.toml, .yml)
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The same as FILE
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,

    /// Explain what this command does (with a suite: what it would start and connect to), and do nothing
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    suite: SuiteArguments,

    #[command(flatten)]
    load: LoadArguments,

    #[command(flatten)]
    thresholds: SettingFlags<ThresholdTable>,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    target: TargetArguments,
}

impl Arguments {
    /// The files, however they were named.
    fn all_files(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.config).cloned().collect()
    }
}

/// A load on one server, ready to be made.
struct Job {
    config: LoadConfig,
    server: Server,
    session: SessionOptions,
}

/// Runs the command.
pub async fn run(arguments: &Arguments, matches: &ArgMatches) -> Result {
    let given = Given::of(matches);
    let files = arguments.all_files();
    if arguments.explain && files.is_empty() {
        // A scenario or a setting that does not exist is an error here, too.
        let config = flags(arguments, None).config(&Server::stdio("unused"))?;
        return Ok(explain(arguments, &[config]));
    }
    let (report, as_json) = (&arguments.report, arguments.output.json);
    let reports = report.resolve_with(as_json, &suites::FORMATS, &files)?;
    reports.conclude(run_files(arguments, &given, &files, &reports).await)
}

/// Runs what the files are; they may be read.
async fn run_files(
    arguments: &Arguments,
    given: &Given,
    files: &[PathBuf],
    reports: &Reports,
) -> Result {
    let first = files.first().map(|path| path.display().to_string());
    let Some(suites) = recognise(files, given.has_suite_flag())? else {
        given.check_for_loads(first.as_deref())?;
        reports.only(&[])?;
        if arguments.explain {
            let flags = flags(arguments, None);
            let configs = files.iter().map(|file| flags.over(file));
            return Ok(explain(arguments, &configs.collect::<Result<Vec<_>>>()?));
        }
        return run_loads(arguments, files, reports).await;
    };
    let first = suites.files.first().map(|path| path.display().to_string());
    given.check_for_suites(&first.unwrap_or_default())?;
    reports.apart_from(&suites.files)?;
    warn_of_skipped_files(&suites.passed_over);
    if arguments.explain {
        return suites::explain(arguments, &suites.files);
    }
    suites::run(arguments, &suites.files, reports).await
}

/// Tells what the command does, with the flags of the scenarios that were chosen. Without a choice it tells of suites too.
fn explain(arguments: &Arguments, configs: &[LoadConfig]) -> ExitCode {
    let is_chosen = arguments.load.is_given() || !arguments.all_files().is_empty();
    let mut names: Vec<&str> = configs.iter().map(|it| it.scenario.kind.name()).collect();
    names.dedup();
    let mut first = if is_chosen {
        String::new()
    } else {
        OF_SUITES.to_owned()
    };
    for entry in names.into_iter().filter_map(find) {
        let flags = flags_text(entry.all_settings());
        let _ = writeln!(first, "{}: {}\n{flags}", entry.name, entry.explanation);
    }
    terminal::print(&explain::text("run").replace("{first}", &first));
    ExitCode::Passed
}

/// What the flags say of a load; `server` is what they say of that of a file.
fn flags<'a>(arguments: &'a Arguments, server: Option<&'a ServerFlags>) -> LoadFlags<'a> {
    let mut flags = LoadFlags {
        load: &arguments.load,
        others: vec![
            &arguments.thresholds,
            &arguments.output.settings,
            &arguments.target.session.settings,
        ],
    };
    if let Some(server) = server {
        flags.others.push(server);
        flags.others.push(&arguments.target.server.settings);
        flags.others.push(&arguments.target.transport);
        flags.others.push(&arguments.target.session.limits);
    }
    flags
}

/// Makes the loads.
async fn run_loads(arguments: &Arguments, files: &[PathBuf], reports: &Reports) -> Result {
    let log = arguments.target.session.stderr_log.as_deref();
    for file in files {
        keep_apart(("--stderr-log", log), &[("the input", Some(file))])?;
    }
    let jobs = jobs(arguments, files)?;
    let stop = stop_on_interrupt();
    let mut runs: Vec<ServerRun> = Vec::new();
    let mut worst = ExitCode::Passed;
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
                    show(&report, directory.as_ref(), reports, is_shown);
                } else if is_shown && reports.is_for_people() {
                    // Of several, the other reports are one document, made at the end.
                    show(&report, directory.as_ref(), &reports.for_people(), true);
                }
                runs.push(ServerRun::made(name, report, directory.as_ref()));
            }
            Err(failure) => {
                if is_one {
                    return Err(failure);
                }
                // The others are still worth a run.
                runs.push(ServerRun::failed(name.clone(), failure.message()));
                worst = worst.max(failure.within(&name).report());
            }
        }
    }
    if !is_one {
        let side_by_side = SideBySide::new(runs, !stop.is_running());
        put_side_by_side(&side_by_side, reports, is_anything_shown);
    }
    Ok(worst)
}

/// Tells what all servers came to, and writes it beside their runs.
fn put_side_by_side(runs: &SideBySide, reports: &Reports, is_shown: bool) {
    let written = runs.write_beside();
    let document = side_by_side_document(&runs.servers);
    let is_for_people = is_shown && reports.is_for_people();
    let has_runs = runs.servers.iter().any(|run| run.report.is_some());
    if is_for_people && has_runs {
        terminal::print("\n");
    }
    let is_shown = is_shown && (has_runs || !is_for_people);
    let json = runs.to_json();
    reports.show_if(is_shown, |format, style| {
        drawn(&document, &json, format, style)
    });
    match written {
        Ok(Some(path)) if is_for_people => {
            terminal::print(&format!("\nSide by side in {}\n", path.display()));
        }
        Ok(_) => {}
        Err(loss) => losses::add([loss]),
    }
}

fn jobs(arguments: &Arguments, files: &[PathBuf]) -> Result<Vec<Job>> {
    let server = arguments.target.server.flags()?;
    let is_of_file = !arguments.target.is_given();
    let flags = flags(arguments, Some(&server).filter(|_| is_of_file));
    if files.is_empty() {
        let servers = arguments.target.resolve_all()?;
        let session = arguments.target.options()?;
        let job = |server: Server| {
            let mut config = flags.config(&server)?;
            config.session = arguments.target.settings()?;
            let session = session.clone();
            Ok(Job {
                config,
                server,
                session,
            })
        };
        return servers.into_iter().map(job).collect();
    }
    let mut jobs = Vec::new();
    for file in files {
        let config = flags.over(file)?;
        for warning in &config.warnings {
            terminal::warn(warning);
        }
        let servers = if arguments.target.is_given() {
            arguments.target.resolve_all()?
        } else {
            vec![supervised(config.server.clone())]
        };
        let session = arguments.target.options_with(&config.session, &servers);
        jobs.extend(servers.into_iter().map(|server| Job {
            config: config.clone(),
            server,
            session: session.clone(),
        }));
    }
    Ok(jobs)
}
