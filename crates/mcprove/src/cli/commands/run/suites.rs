//! Suites on the command line: read, choose, run, tell, and once more when something changes.

use mcprove_load::config::OutputSettings;
use mcprove_suite::agent::cassette::same_file_of_suites;
use mcprove_suite::file;
use mcprove_suite::plan::SuitePlan;
use mcprove_suite::report::explain::suite_explanation;
use mcprove_suite::report::{render, suite_list_document, suite_progress_line};
use mcprove_suite::run::{
    Chosen, Counts, FailedTests, ListedTest, RunRules, Selection, SuiteEvent, SuiteListener,
    SuiteOptions, TestKind, TestOf, collect_tests, run_suites,
};

use super::Arguments;
use super::files::recognise;
use super::watch::{Snapshot, wait_for_change};
use crate::prelude::*;
use crate::target::supervisor;

/// The further formats of their reports.
pub const FORMATS: [ReportFormat; 3] =
    [ReportFormat::Junit, ReportFormat::Tap, ReportFormat::Github];
/// The fewest tests at once unless it is said: most of the time they wait.
const JOBS_MIN: usize = 2;
/// How many files that changed are named.
const CHANGED_MAX: usize = 3;

/// Runs, lists or watches the suites.
pub async fn run(arguments: &Arguments, suites: &[PathBuf], reports: &Reports) -> Result {
    if arguments.suite.list {
        return list(arguments, suites, reports);
    }
    if arguments.suite.record && arguments.suite.repeat > 1 {
        return refuse(
            "--record and --repeat cannot be combined: a cassette would keep only the last repetition",
            "`runs:` of an agent makes several runs, all of which are recorded",
        );
    }
    let stop = stop_on_interrupt();
    if arguments.suite.watch {
        watch(arguments, suites, reports, &stop).await
    } else {
        round(arguments, suites, reports, &stop).await
    }
}

/// Runs the suites once, and tells its outcome, or why no test was run.
async fn round(
    arguments: &Arguments,
    suites: &[PathBuf],
    reports: &Reports,
    stop: &Stop,
) -> Result {
    reports.begin();
    let ended = perform(arguments, suites, reports, stop).await;
    reports.conclude_with(ended, |failure, format, style| {
        let report = SuiteReport::unrun(failure.problems());
        drawn(&report, arguments, format, style)
    })
}

async fn perform(
    arguments: &Arguments,
    suites: &[PathBuf],
    reports: &Reports,
    stop: &Stop,
) -> Result {
    let plans = read_with_warnings(suites)?;
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
    let report = ended?;
    let kept = before
        .ok()
        .flatten()
        .unwrap_or_else(|| FailedTests::none(&options.output_dir))
        .after(&plans, &report)
        .write(&options.output_dir);
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

/// Runs the suites whenever something changes, until the user has enough.
async fn watch(
    arguments: &Arguments,
    suites: &[PathBuf],
    reports: &Reports,
    stop: &Stop,
) -> Result {
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
        let Some(changed) = wait_for_change([sources, cassettes], now, stop).await else {
            return Ok(ExitCode::Passed);
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
    match recognise(&arguments.all_files(), true) {
        Ok(Some(suites)) => suites.files,
        _ => before.to_vec(),
    }
}

/// Lists the tests that would be run.
fn list(arguments: &Arguments, suites: &[PathBuf], reports: &Reports) -> Result {
    reports.only(&[])?;
    let plans = read_with_warnings(suites)?;
    let tests = collect_tests(&plans);
    let chosen = choose(arguments, &tests)?;
    for warning in &chosen.warnings {
        terminal::warn(warning);
    }
    let listed: Vec<ListedTest> = chosen.tests.iter().map(TestOf::listed).collect();
    let list = SuiteList::new(listed);
    let (document, json) = (suite_list_document(&list), list.to_json());
    reports.show_all(|format, style| match format {
        ReportFormat::Terminal => document.terminal(terminal::style_of_lines()),
        _ => crate::reports::drawn(&document, &json, format, style),
    });
    Ok(ExitCode::Passed)
}

/// Tells what would be started and reached.
pub fn explain(arguments: &Arguments, suites: &[PathBuf]) -> Result {
    let plans = read_with_warnings(suites)?;
    let tests = collect_tests(&plans);
    let tests = &choose(arguments, &tests)?.tests;
    let cassettes = arguments.suite.cassettes();
    let explanation = suite_explanation(tests, cassettes, &output_dir(arguments));
    terminal::print(&explanation);
    // Other tests name their tools.
    if tests.iter().any(|test| test.kind() == TestKind::Load) {
        let all = "`allow_writes: true` in a load calls every tool.";
        terminal::print(&format!("\n{RULE}  {all}\n"));
    }
    Ok(ExitCode::Passed)
}

/// Reads all suites, and warns of what is odd in them; an error is everything that is wrong with any of them.
fn read_with_warnings(suites: &[PathBuf]) -> Result<Vec<SuitePlan>, ConfigErrors> {
    let plans = ConfigErrors::unless_all(suites.iter().map(|path| file::read(path)))?;
    for warning in plans.iter().flat_map(|plan| &plan.warnings) {
        terminal::warn(warning);
    }
    Ok(plans)
}

fn output_dir(arguments: &Arguments) -> PathBuf {
    arguments
        .output
        .out()
        .unwrap_or_else(|| OutputSettings::default().report_dir)
}

fn options(arguments: &Arguments, stop: &Stop) -> Result<SuiteOptions> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.suite.jobs;
    let mut options = SuiteOptions::default()
        .with_jobs(jobs.unwrap_or_else(|| cores().max(JOBS_MIN)))
        .with_seed(arguments.load.seed()?.unwrap_or_default())
        .with_output_dir(output_dir(arguments))
        .with_stop(stop.clone());
    options.cassettes = arguments.suite.cassettes();
    options.is_output_dir_given = arguments.output.out().is_some();
    options.proxy_program = std::env::current_exe().ok();
    options.supervisor = supervisor();
    Ok(options)
}

fn choose<'a>(arguments: &Arguments, tests: &[TestOf<'a>]) -> Result<Chosen<'a>> {
    let failed = FailedTests::read(&output_dir(arguments));
    Ok(select(arguments, &failed)?.choose(tests)?)
}

/// What is chosen.
fn select(
    arguments: &Arguments,
    failed: &DiagnosticResult<Option<FailedTests>>,
) -> Result<Selection> {
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
        Err(error) => return Err(error.clone().into()),
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
    struct SuiteProgress {
        tests: usize,
        counts: Counts,
        current: Option<String>,
    }
    let suite = Mutex::new(SuiteProgress::default());
    Arc::new(move |event| {
        let mut suite = lock(&suite);
        match event {
            SuiteEvent::Chosen { tests, warnings } => {
                suite.tests = *tests;
                for warning in *warnings {
                    terminal::warn(warning);
                }
            }
            SuiteEvent::Started(test) => suite.current = Some(test.name().to_owned()),
            SuiteEvent::Ended { counts, .. } => suite.counts = *counts,
            SuiteEvent::Load(progress) => {
                status.show(&progress_line(progress, StatusLine::WIDTH));
                return;
            }
        }
        let current = suite.current.as_deref();
        let line = suite_progress_line(suite.counts, suite.tests, current, StatusLine::WIDTH);
        status.show(&line);
    })
}

/// The exit code that a report asks for.
fn exit_code(report: &SuiteReport) -> ExitCode {
    let tests = &report.tests;
    let mut errors = tests.iter().flat_map(|test| &test.errors);
    let has_error = errors.any(|error| !error.inconclusive);
    let has_failure = tests.iter().any(|test| !test.failures.is_empty());
    ExitCode::worst([
        (report.partial, ExitCode::Interrupted),
        (has_error, ExitCode::CouldNotRun),
        (has_failure, ExitCode::Finding),
        (report.counts().errors > 0, ExitCode::Inconclusive),
    ])
}
