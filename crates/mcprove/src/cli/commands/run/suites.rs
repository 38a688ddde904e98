//! Suites on the command line: read, choose, run, tell, and once more when something changes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mcprove_client::permission::RULE;
use mcprove_document::style::Style;
use mcprove_load::config::OutputSettings;
use mcprove_load::drive::Stop;
use mcprove_load::report::progress_line;
use mcprove_settings::error::ConfigErrors;
use mcprove_settings::sync::lock;
use mcprove_suite::agent::cassette::same_file_of_suites;
use mcprove_suite::plan::{Environment, SuitePlan};
use mcprove_suite::report::explain::suite_explanation;
use mcprove_suite::report::{render, suite_list_document, suite_progress_line};
use mcprove_suite::run::{
    CassetteMode, Counts, FailedTests, LAST_FAILED_FILE, ListedTest, RunRules, Selection,
    SuiteEvent, SuiteList, SuiteListener, SuiteOptions, SuiteProblem, SuiteReport, TestKind,
    TestOf, run_suites, tests_of,
};
use mcprove_suite::{TestError, file};

use super::Arguments;
use super::files::{self, Inputs};
use super::watch::{Snapshot, wait_for_change};
use crate::load_run::stop_on_interrupt;
use crate::target::supervisor;
use crate::{ExitCode, Failure, ReportFormat, Reports, StatusLine, losses, terminal};

/// The fewest tests at once unless it is said: most of the time they wait.
const JOBS_MIN: usize = 2;
/// How many files that changed are named.
const CHANGED_MAX: usize = 3;

/// Runs, lists or watches the suites.
pub async fn run(arguments: &Arguments, suites: &[PathBuf]) -> Result<ExitCode, Failure> {
    if arguments.suite.list {
        return list(arguments, suites);
    }
    if arguments.suite.record && arguments.suite.repeat > 1 {
        return Err(Failure::new(
            "--record and --repeat cannot be combined: a cassette would keep only the last repetition",
            "`runs:` of an agent makes several runs, all of which are recorded",
        ));
    }
    let others = [ReportFormat::Junit, ReportFormat::Tap, ReportFormat::Github];
    let reports = &arguments.report;
    let reports = reports.resolve_with(arguments.output.json, &others, suites)?;
    let stop = stop_on_interrupt();
    if arguments.suite.watch {
        watch(arguments, suites, &reports, &stop).await
    } else {
        round(arguments, suites, &reports, &stop).await
    }
}

/// Runs the suites once, and tells what came of it.
async fn round(
    arguments: &Arguments,
    suites: &[PathBuf],
    reports: &Reports,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let plans = read(suites).map_err(|errors| {
        let problems = errors.0.iter().map(SuiteProblem::from);
        tell_unrun(reports, arguments, problems.collect());
        Failure::from(errors)
    })?;
    warn(&plans);
    let options = options(arguments, stop)?;
    if options.cassettes == CassetteMode::Record {
        same_file_of_suites(&plans)?;
    }
    let before = FailedTests::read(&options.output_dir);
    let selection = select(arguments, &before)?;
    let rules = RunRules {
        repeat: arguments.suite.repeat,
        fail_fast: arguments.suite.fail_fast,
    };
    let status = Arc::new(StatusLine::default());
    let listener = listener(Arc::clone(&status));
    let ended = run_suites(&plans, &selection, &options, rules, &listener).await;
    drop(listener);
    drop(status);
    let report = ended.map_err(|nothing| {
        let problem = SuiteProblem {
            file: None,
            line: None,
            column: None,
            message: nothing.message.text(),
            hint: Some(nothing.hint.clone()),
        };
        tell_unrun(reports, arguments, vec![problem]);
        unselected(&nothing)
    })?;
    let before = before.ok().flatten();
    let before = before.unwrap_or_else(|| FailedTests::none(&options.output_dir));
    let kept = before.after(&plans, &report).write(&options.output_dir);
    losses::written(&options.output_dir.join(LAST_FAILED_FILE), kept);
    losses::add(report.losses().cloned());
    reports.show_all(|format, style| drawn(&report, arguments, format, style));
    Ok(exit_code(&report))
}

fn drawn(
    report: &SuiteReport,
    arguments: &Arguments,
    format: ReportFormat,
    style: Style,
) -> String {
    render(&format.name(), report, &output_dir(arguments), style)
}

/// Says in every report why no test was run. Nothing of an earlier run stays behind: nobody must take it
/// for one of this run. People are told by the error itself.
fn tell_unrun(reports: &Reports, arguments: &Arguments, problems: Vec<SuiteProblem>) {
    let report = SuiteReport::unrun(problems);
    let draw = |format, style| drawn(&report, arguments, format, style);
    if reports.is_for_people() {
        reports.write(draw);
    } else {
        reports.show_all(draw);
    }
}

/// Runs the suites whenever something changes, until the user has enough.
async fn watch(
    arguments: &Arguments,
    suites: &[PathBuf],
    reports: &Reports,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let mut suites = suites.to_vec();
    loop {
        let sources = Snapshot::of_sources(&suites);
        let ended = round(arguments, &suites, reports, stop).await;
        losses::report(ended.unwrap_or_else(|failure| failure.report()));
        if !stop.is_running() {
            // A run was broken off.
            return Ok(ExitCode::Interrupted);
        }
        // Ours may be among them, so they are looked at only now.
        let cassettes = Snapshot::of_cassettes(&suites);
        terminal::print_error("\nwaiting for changes; Ctrl-C ends\n");
        let now = || again(arguments, &suites);
        let Some(changed) = wait_for_change(&sources, &cassettes, now, stop).await else {
            return Ok(ExitCode::SUCCESS);
        };
        suites = again(arguments, &suites);
        let names = changed.iter().take(CHANGED_MAX);
        let names: Vec<String> = names.map(|path| path.display().to_string()).collect();
        let mut names = names.join(", ");
        if changed.len() > CHANGED_MAX {
            names = format!("{names} and {} more", changed.len() - CHANGED_MAX);
        }
        terminal::print_error(&format!("\nchanged: {names}\n\n"));
    }
}

/// The suites as they are now: folders may have others. Those that were there stay, so that a file that is
/// being written is not lost.
fn again(arguments: &Arguments, before: &[PathBuf]) -> Vec<PathBuf> {
    match files::recognise(&arguments.all_files(), true) {
        Ok(Inputs::Suites(suites)) => suites.files,
        _ => before.to_vec(),
    }
}

/// Lists the tests that would be run.
fn list(arguments: &Arguments, suites: &[PathBuf]) -> Result<ExitCode, Failure> {
    if arguments.report.is_given() {
        return Err(Failure::new(
            "--list runs nothing, so there is no report",
            "leave out --report; --json prints the list as JSON",
        ));
    }
    let plans = read(suites)?;
    warn(&plans);
    let output_dir = output_dir(arguments);
    let before = FailedTests::read(&output_dir);
    let selection = select(arguments, &before)?;
    let tests = tests_of(&plans);
    let chosen = selection.choose(&tests).map_err(|it| unselected(&it))?;
    for warning in &chosen.warnings {
        terminal::warn(warning);
    }
    let listed: Vec<ListedTest> = chosen.tests.iter().map(TestOf::listed).collect();
    let list = SuiteList::new(listed);
    if arguments.output.json {
        terminal::print_json(&list.to_json());
    } else {
        let style = terminal::style_of_lines();
        terminal::print(&suite_list_document(&list).terminal(style));
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells what would be started and reached.
pub fn explain(arguments: &Arguments, suites: &[PathBuf]) -> Result<ExitCode, Failure> {
    let plans = read(suites)?;
    warn(&plans);
    let output_dir = output_dir(arguments);
    let selection = select(arguments, &FailedTests::read(&output_dir))?;
    let tests = tests_of(&plans);
    let chosen = selection.choose(&tests).map_err(|it| unselected(&it))?;
    let cassettes = arguments.suite.cassettes();
    let tests = &chosen.tests;
    terminal::print(&suite_explanation(tests, cassettes, &output_dir));
    // Other tests name their tools.
    if tests.iter().any(|test| test.kind() == TestKind::Load) {
        let all = "`allow_writes: true` in a load calls every tool.";
        terminal::print(&format!("\n{RULE}  {all}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads all suites; an error is everything that is wrong with any of them.
fn read(suites: &[PathBuf]) -> Result<Vec<SuitePlan>, ConfigErrors> {
    ConfigErrors::unless_all(suites.iter().map(|path| file::read(path)))
}

fn warn(plans: &[SuitePlan]) {
    for warning in plans.iter().flat_map(|plan| &plan.warnings) {
        terminal::warn(warning);
    }
}

fn output_dir(arguments: &Arguments) -> PathBuf {
    let given = arguments.output.out();
    given.unwrap_or_else(|| OutputSettings::default().report_dir)
}

fn options(arguments: &Arguments, stop: &Stop) -> Result<SuiteOptions, Failure> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(SuiteOptions {
        jobs: arguments
            .suite
            .jobs
            .map_or_else(|| cores().max(JOBS_MIN), usize::from),
        cassettes: arguments.suite.cassettes(),
        environment: Environment::of_process(),
        seed: arguments.load.seed()?.unwrap_or_default(),
        output_dir: output_dir(arguments),
        is_output_dir_given: arguments.output.out().is_some(),
        proxy_program: std::env::current_exe().ok(),
        supervisor: supervisor(),
        stop: stop.clone(),
    })
}

/// What is chosen.
fn select(
    arguments: &Arguments,
    failed: &Result<Option<FailedTests>, TestError>,
) -> Result<Selection, Failure> {
    let mut selection = Selection {
        filters: arguments.suite.filter.clone(),
        tags: arguments.suite.tag.clone(),
        last_failed: None,
        shard: arguments.suite.shard,
    };
    if !arguments.suite.last_failed {
        return Ok(selection);
    }
    match failed {
        Err(error) => return Err(unselected(error)),
        Ok(None) => terminal::print_error(&format!(
            "no earlier run is known under {}: all tests are chosen\n",
            output_dir(arguments).display()
        )),
        Ok(Some(failed)) => selection.last_failed = Some(failed.clone()),
    }
    Ok(selection)
}

/// Shows people how it goes.
fn listener(status: Arc<StatusLine>) -> SuiteListener {
    #[derive(Default)]
    struct Shown {
        tests: usize,
        counts: Counts,
        current: Option<String>,
    }
    let shown = Mutex::new(Shown::default());
    Arc::new(move |event| {
        let mut shown = lock(&shown);
        match event {
            SuiteEvent::Chosen { tests, warnings } => {
                shown.tests = *tests;
                for warning in *warnings {
                    terminal::warn(warning);
                }
            }
            SuiteEvent::Started(test) => shown.current = Some(test.name().to_owned()),
            SuiteEvent::Ended { counts, .. } => shown.counts = *counts,
            SuiteEvent::Load(progress) => {
                status.show(&progress_line(progress, StatusLine::WIDTH));
                return;
            }
        }
        let current = shown.current.as_deref();
        let line = suite_progress_line(shown.counts, shown.tests, current, StatusLine::WIDTH);
        status.show(&line);
    })
}

fn unselected(nothing: &TestError) -> Failure {
    Failure::new(nothing.message.text(), nothing.hint.clone())
}

/// The exit code that a report asks for.
fn exit_code(report: &SuiteReport) -> ExitCode {
    let tests = &report.tests;
    let mut errors = tests.iter().flat_map(|test| &test.errors);
    let has_error = errors.any(|error| !error.is_inconclusive());
    let has_failure = tests.iter().any(|test| !test.failures.is_empty());
    ExitCode::worst([
        (report.partial, ExitCode::Interrupted),
        (has_error, ExitCode::CouldNotRun),
        (has_failure, ExitCode::Finding),
        (report.counts().errors > 0, ExitCode::Inconclusive),
    ])
}
