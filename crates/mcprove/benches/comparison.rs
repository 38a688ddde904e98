//! How often a comparison is right: servers that are the same must not be told apart, and one that
//! is a fifth slower must be found.
//!
//! Run by `cargo xtask bench`, which builds the program whose built-in servers are compared. Prints
//! one JSON object per figure on stdout, and each try on stderr. With `--quick` it makes few short
//! tries and has no targets: enough to see that it works.

use std::time::Duration;

use mcprove::run::{Comparer, ComparisonReport};
use mcprove::{Run, Scenario, Server};
use mcprove_score::compare::Change;
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

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
    let program = std::env::var("MCPROVE_BIN").map_err(|_| "run this by `cargo xtask bench`")?;
    let (flags, parts): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part));
    let effort = if flags.iter().any(|flag| flag == "--quick") {
        QUICK
    } else {
        FULL
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for case in CASES.iter().filter(|case| is_wanted(case.name)) {
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
    let right = changes.iter().filter(|change| (case.is_right)(**change));
    let unit = format!("of {}", effort.tries);
    let target = effort.target.map(|target| format!(">= {target}"));
    let name = format!("{}: {}", case.name, case.right);
    println!(
        "{}",
        json!({ "name": name, "value": right.count(), "unit": unit, "target": target })
    );
    for (change, word) in [
        (Change::Unchanged, "unchanged"),
        (Change::Inconclusive, "inconclusive"),
        (Change::Improved, "improved"),
    ] {
        let value = changes.iter().filter(|found| **found == change).count();
        if value > 0 {
            let name = format!("{}: {word}", case.name);
            println!("{}", json!({ "name": name, "value": value, "unit": unit }));
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
