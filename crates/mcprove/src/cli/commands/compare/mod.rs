//! `mcprove compare`: is one set of runs worse than another?

mod servers;

use mcprove_load::report::comparison_document;
use mcprove_load::run::{SIDE_BY_SIDE_SUFFIX, compare_recorded};
use mcprove_score::compare::{Change, CompareLimits, RUNS_DEFAULT};

use crate::load_arguments::{FailTable, FolderTable, HangTable, SUSTAINED};
use crate::prelude::*;

/// How long each run lasts, unless told otherwise.
const DURATION: &str = "1s";
/// How many runs on each server.
const RUNS: kind::Kind = kind::Kind::Whole(1, 1000);
/// How much larger one figure may be than another.
const RATIO: kind::Kind = kind::Kind::Number(kind::Range {
    words: "number of more than 0, such as 1.2",
    placeholder: "RATIO",
    least: 0.0,
    most: f64::INFINITY,
    excludes: (true, false),
});
/// What is given to `run` and not to a comparison of directories.
const NEEDS_SERVERS: &str = "is for a comparison of servers, not of directories";

/// Arguments of `mcprove compare`.
#[derive(Debug, Args)]
#[command(mut_arg("duration", |it| it.help(format!("How long each run lasts [default: {DURATION} with {SUSTAINED}, else that of `run`]"))))]
#[command(mut_arg("runs", |it| it.help(format!("Runs on each server, alternating [default: {RUNS_DEFAULT}]"))))]
pub struct Arguments {
    /// Directories: BASELINE, then one or more CURRENT; each a run, or a directory of runs
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,

    /// Runs on each server, alternating
    #[arg(long, value_name = "COUNT", value_parser = reads::<usize>("runs", RUNS))]
    runs: Option<usize>,

    #[command(flatten)]
    hang: SettingFlags<HangTable>,

    #[command(flatten)]
    folder: SettingFlags<FolderTable>,

    /// Write a trace.jsonl for each run
    #[arg(long)]
    trace: bool,

    /// Print the comparison as JSON (format comparison.v1)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    load: LoadArguments,

    #[command(flatten)]
    target: TargetArguments,
}

/// What is allowed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
struct LimitArguments {
    /// The largest ratio of the 99th percentiles that is allowed, such as 1.2
    #[arg(long, value_name = "RATIO", value_parser = reads::<f64>("max_p99_ratio", RATIO))]
    max_p99_ratio: Option<f64>,

    /// How much the share of failed calls may rise, such as 0.01 for 1 %
    #[arg(long, value_name = "SHARE", value_parser = reads::<f64>("max_error_rate_increase", kind::SHARE))]
    max_error_rate_increase: Option<f64>,

    /// How many more deadlocks are allowed [default: 0]
    #[arg(long, value_name = "COUNT", value_parser = reads::<u64>("max_new_deadlocks", kind::WHOLE))]
    max_new_deadlocks: Option<u64>,

    /// Compare runs even if their scenarios, tools or loads differ
    #[arg(long)]
    unlike: bool,

    /// Exit with 2 when any figure is inconclusive [default: when all are]
    #[arg(long)]
    require_conclusive: bool,

    #[command(flatten)]
    fail: SettingFlags<FailTable>,
}

/// Runs the command.
pub async fn run(arguments: &Arguments, matches: &ArgMatches) -> Result {
    let read = &arguments.directories;
    let reports = arguments.report.resolve_with(arguments.json, &[], read)?;
    reports.conclude(perform(arguments, matches, &reports).await)
}

async fn perform(arguments: &Arguments, matches: &ArgMatches, reports: &Reports) -> Result {
    if arguments.target.is_given() {
        if !arguments.directories.is_empty() {
            return refuse(
                "directories and servers were given",
                "compare either recorded runs (two directories) or servers (--server A --server B)",
            );
        }
        return servers::run(arguments, matches, reports).await;
    }
    let (baseline, current) = directories(arguments)?;
    let report = compare_recorded(&baseline, &current, &arguments.limits.resolve()?)?;
    let report = super::report::redacted(report)?;
    show(&report, None, reports);
    Ok(code(&report, arguments))
}

impl LimitArguments {
    fn resolve(&self) -> Result<CompareLimits> {
        Ok(CompareLimits {
            p99_ratio: self.max_p99_ratio,
            error_rate_increase: self.max_error_rate_increase,
            new_deadlocks: self.max_new_deadlocks.unwrap_or_default(),
            unlike: self.unlike,
            fail_on: self.fail.resolve()?,
        })
    }
}

impl Arguments {
    /// The load of one run. This is where the flags of `mcprove run` are read.
    fn config(&self, server: &Server) -> Result<LoadConfig> {
        let mut load = self.load.clone();
        let is_sustained = load.entry().is_some_and(|entry| entry.name == SUSTAINED);
        if is_sustained && !load.settings.has("calls") {
            load.settings.or_default("duration", DURATION);
        }
        let flags = LoadFlags {
            load: &load,
            others: vec![&self.hang, &self.folder],
        };
        let mut config = flags.config(server)?;
        config.output.trace = self.trace;
        Ok(config)
    }
}

/// The directories of both sides.
fn directories(arguments: &Arguments) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let given = [
        (arguments.runs.is_some(), "--runs"),
        (arguments.trace, "--trace"),
        (arguments.folder.is_given(), "--out"),
        (arguments.hang.has("hang_timeout"), "--hang-timeout"),
        (arguments.hang.has("grace_period"), "--grace-period"),
        (
            arguments.load.is_given(),
            "what a run does (--scenario, --tool, …)",
        ),
    ];
    if let Some((_, name)) = given.iter().find(|(is_given, _)| *is_given) {
        return refuse(
            format!("{name} {NEEDS_SERVERS}"),
            "leave it out, or name two servers: --server A --server B",
        );
    }
    // `runs/*` names what else we write there, too.
    let given = arguments.directories.iter().cloned();
    let (ours, directories): (Vec<PathBuf>, Vec<PathBuf>) = given.partition(|path| is_no_run(path));
    for path in ours {
        let path = printable(&path.to_string_lossy(), usize::MAX);
        terminal::print_error(&format!("skipped {path}: it is not a run\n"));
    }
    match directories.split_at_checked(1) {
        Some((baseline, current)) if !current.is_empty() => {
            Ok((baseline.to_vec(), current.to_vec()))
        }
        Some(_) => refuse(
            "there is nothing to compare the run with",
            "give two directories, BASELINE and CURRENT; `mcprove runs` lists saved runs",
        ),
        None => refuse(
            "nothing to compare was given",
            "give two directories of runs, or two servers: --server A --server B",
        ),
    }
}

/// Whether it is a file that is written beside runs.
fn is_no_run(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let is_file_of_ours = |name: &str| {
        path.is_file() && (name == LAST_FAILED_FILE || name.ends_with(SIDE_BY_SIDE_SUFFIX))
    };
    // What agents of suites left, and earlier comparisons.
    let is_other_folder = |name: &str| name == "agents" && path.is_dir();
    path.join("comparison.json").is_file()
        || name.is_some_and(|name| is_file_of_ours(&name) || is_other_folder(&name))
}

fn show(report: &ComparisonReport, directory: Option<&PathBuf>, reports: &Reports) {
    let mut document = comparison_document(report);
    if let Some(directory) = directory {
        let section = Section::new(format!("Files in {}", directory.display()));
        document.push(section.paragraph("baseline/, current/, comparison.json"));
    }
    reports.show(&document, &report.to_json());
}

/// The exit code that a comparison asks for.
fn code(report: &ComparisonReport, arguments: &Arguments) -> ExitCode {
    let code = ExitCode::worst([
        (report.partial, ExitCode::Interrupted),
        (
            report.change() == Change::Regressed || report.failing_warnings() > 0,
            ExitCode::Finding,
        ),
    ]);
    match undecided(report, arguments) {
        Some(why) if code < ExitCode::Finding => why.with_code(ExitCode::Inconclusive).report(),
        _ => code,
    }
}

/// Why it cannot be told whether the comparison passes, and what to try.
fn undecided(report: &ComparisonReport, arguments: &Arguments) -> Option<Failure> {
    let advice = report.comparison.advice.clone();
    let advice = advice.unwrap_or_else(|| "make more or longer runs".into());
    let gates = report.inconclusive_gates();
    let what = if let Some(difference) = report.unlike() {
        difference.to_owned()
    } else if report.is_empty() {
        return Some(Failure::new(
            "no call of the baseline succeeded, so there is nothing to compare with",
            "`mcprove report DIR` on one of its runs shows why",
        ));
    } else if !gates.is_empty() {
        format!(
            "the runs do not show whether a limit holds: {}",
            gates.join(", ")
        )
    } else if report.runs_missing() > 0 {
        let (missing, planned) = (report.runs_missing(), report.runs_planned());
        return Some(Failure::new(
            format!("{missing} of {planned} runs failed"),
            sentence!("`mcprove run --scenario cold_start` shows how often a server starts"),
        ));
    } else if report.comparison.decides_nothing() {
        "the comparison is inconclusive".to_owned()
    } else if arguments.limits.require_conclusive && !report.inconclusive_figures().is_empty() {
        format!("inconclusive: {}", report.inconclusive_figures().join(", "))
    } else {
        return None;
    };
    Some(Failure::new(what, advice))
}
