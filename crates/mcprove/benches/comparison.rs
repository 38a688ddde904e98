//! How often a comparison is right: servers that are the same must not be told apart, and one that
//! is a fifth slower must be found.
//!
//! Run by `cargo xtask bench`, which builds the program whose built-in servers are compared. Prints
//! one JSON object per figure on stdout, and each try on stderr. With `--quick` it makes few short
//! tries and has no targets: enough to see that it works.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::run::{Comparer, ComparisonReport, Run};
use mcprove_score::compare::Change;
use measuring::{Figure, Outcome, Selection, program, runtime};

/// Runs of each side.
const RUNS: usize = 8;
/// Calls in flight.
const CONCURRENT: u32 = 10;

/// How often and how long.
struct Effort {
    tries: u32,
    duration: Duration,
    /// How many tries must be right.
    target: Option<u32>,
}

const FULL: Effort = Effort {
    tries: 20,
    duration: Duration::from_secs(1),
    target: Some(19),
};
const QUICK: Effort = Effort {
    tries: 2,
    duration: Duration::from_millis(200),
    target: None,
};

/// Two servers and what must come of comparing them.
struct Case {
    name: &'static str,
    baseline: &'static [&'static str],
    current: &'static [&'static str],
    is_right: fn(Change) -> bool,
    right: &'static str,
}

/// A server whose time is all waiting, one whose time is all work, and one that waits a fifth
/// longer.
const CASES: &[Case] = &[
    Case {
        name: "compare, the same waiting server",
        baseline: &["slow", "--set", "delay_ms=10"],
        current: &["slow", "--set", "delay_ms=10"],
        is_right: |change| change != Change::Regressed,
        right: "no regression",
    },
    Case {
        name: "compare, the same busy server",
        baseline: &["normal"],
        current: &["normal"],
        is_right: |change| change != Change::Regressed,
        right: "no regression",
    },
    Case {
        name: "compare, a fifth slower",
        baseline: &["slow", "--set", "delay_ms=10"],
        current: &["slow", "--set", "delay_ms=12"],
        is_right: |change| change == Change::Regressed,
        right: "regression found",
    },
];

fn main() -> Outcome<()> {
    let program = program()?;
    let selection = Selection::from_arguments();
    let effort = if selection.has("--quick") {
        QUICK
    } else {
        FULL
    };
    let runtime = runtime()?;
    for case in CASES.iter().filter(|case| selection.wants(case.name)) {
        runtime.block_on(count(&program, case, &effort))?;
    }
    Ok(())
}

/// Tries a case, and tells how often the outcome was right and what the outcomes were.
async fn count(program: &str, case: &Case, effort: &Effort) -> Outcome<()> {
    let server = |mode: &[&str]| {
        let arguments = std::iter::once("fixture").chain(mode.iter().copied());
        Server::stdio(program).args(arguments)
    };
    let scenario = Scenario::sustained()
        .concurrent(CONCURRENT)
        .duration(effort.duration)
        .tool("echo");
    let mut changes = Vec::new();
    for attempt in 1..=effort.tries {
        let report = Comparer::new(
            Run::new(server(case.baseline), scenario.clone()),
            Run::new(server(case.current), scenario.clone()),
        )
        .with_runs(RUNS)
        .execute()
        .await?;
        eprintln!("{}, try {attempt}: {}", case.name, line(&report));
        changes.push(report.change());
    }
    let count = |is_meant: &dyn Fn(Change) -> bool| {
        #[allow(clippy::cast_precision_loss)]
        {
            changes.iter().filter(|change| is_meant(**change)).count() as f64
        }
    };
    let unit = format!("of {}", effort.tries);
    let name = format!("{}: {}", case.name, case.right);
    let figure = Figure::new(name, count(&case.is_right), &unit);
    match effort.target {
        Some(target) => figure.at_least(target.into()),
        None => figure,
    }
    .print();
    for (change, word) in [
        (Change::Unchanged, "unchanged"),
        (Change::Inconclusive, "inconclusive"),
        (Change::Improved, "improved"),
    ] {
        let value = count(&|found| found == change);
        if value > 0.0 {
            Figure::new(format!("{}: {word}", case.name), value, &unit).print();
        }
    }
    Ok(())
}

/// One try in one line: the outcome, and the ratio and corrected p of each metric.
fn line(report: &ComparisonReport) -> String {
    let metrics: Vec<String> = report
        .comparison
        .metrics
        .iter()
        .map(|metric| {
            let number =
                |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.3}"));
            let (ratio, p) = (number(metric.ratio), number(metric.adjusted_p));
            format!("{} × {ratio} (p {p})", metric.metric)
        })
        .collect();
    let warnings = report.warnings.join("; ");
    format!("{:?}, {} {warnings}", report.change(), metrics.join(", "))
}
