//! Every number, metric by metric: over all runs, and of each run as far as there is room.

use mcprove_document::block::{Line, Section, Table};
use mcprove_document::figure::{self, UNKNOWN};
use mcprove_document::terminal::cut;
use mcprove_settings::printable::printable;
use serde_json::Value;

use crate::agent::{About, Scope, Target, metrics};
use crate::gate::ScoreReport;

/// How many runs have a column of their own.
const RUNS_MAX: usize = 4;
/// Decimals of a number.
const DIGITS: usize = 3;
/// The widest that a value becomes.
const VALUE_WIDTH: usize = 24;

/// The numbers of every metric that was computed: those of one run line by line, those of several in
/// tables.
pub fn sections(report: &ScoreReport) -> Vec<Section> {
    if report.runs.len() < 2 {
        return vec![Section::default().table(lines(report))];
    }
    metrics()
        .map(|metric| {
            let (overall, of_runs): (Vec<&Target>, Vec<&Target>) =
                computed(report, metric).partition(|target| target.scope == Scope::Overall);
            Section::new(format!("{}: {}", metric.name, metric.explanation))
                .table(over_runs(report, metric, &overall))
                .table(of_each_run(report, metric, &of_runs))
        })
        .collect()
}

/// One row per metric, of a single run.
fn lines(report: &ScoreReport) -> Table {
    let mut table = Table::new(["Metric", "Values"]);
    for metric in metrics() {
        let values = computed(report, metric).map(|target| {
            let of_run = || report.runs.first()?.targets.get(target.name);
            let value = report.targets.get(target.name).or_else(of_run);
            format!("{}={}", short(metric.name, target.name), shown(value))
        });
        let values: Vec<String> = values.collect();
        if !values.is_empty() {
            table.push([metric.name.to_owned(), values.join(", ")]);
        }
    }
    table
}

/// The targets of a metric that have a value.
fn computed<'a>(
    report: &'a ScoreReport,
    metric: &'a About,
) -> impl Iterator<Item = &'a Target> + use<'a> {
    metric
        .targets
        .iter()
        .filter(|target| is_computed(report, target.name))
}

fn is_computed(report: &ScoreReport, target: &str) -> bool {
    let of_run = |run: &crate::gate::RunTargets| run.targets.contains_key(target);
    report.targets.contains_key(target) || report.runs.iter().any(of_run)
}

/// Whether a number is not known.
pub fn has_unknown(report: &ScoreReport) -> bool {
    let runs = report.runs.iter().flat_map(|run| run.targets.values());
    report.targets.values().chain(runs).any(Value::is_null)
}

/// What is of all runs together, one row each.
fn over_runs(report: &ScoreReport, metric: &About, targets: &[&Target]) -> Table {
    let mut table = Table::new(["", "all runs"]);
    for target in targets {
        let name = short(metric.name, target.name).to_owned();
        let value = shown(report.targets.get(target.name));
        table.push([name, value]);
    }
    table
}

/// What is of each run, one row each. With few runs each has a column; with many, the lowest and the
/// highest do.
fn of_each_run(report: &ScoreReport, metric: &About, targets: &[&Target]) -> Table {
    let runs = report.runs.len();
    let mut header = vec![String::new(), "worst".to_owned()];
    if runs <= RUNS_MAX {
        header.extend((0..runs).map(|run| format!("run {run}")));
    } else {
        header.extend(["lowest", "highest"].map(str::to_owned));
    }
    let rows = targets
        .iter()
        .map(|target| {
            let mut cells = vec![short(metric.name, target.name).to_owned()];
            cells.push(shown(report.targets.get(target.name)));
            let values = report.runs.iter().map(|run| run.targets.get(target.name));
            if runs <= RUNS_MAX {
                cells.extend(values.map(shown));
            } else {
                cells.extend(extremes(values));
            }
            cells.into_iter().map(Line::plain).collect()
        })
        .collect();
    Table {
        header,
        rows,
        limit: None,
    }
}

/// The lowest and the highest number.
fn extremes<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> [String; 2] {
    let known: Vec<(f64, &Value)> = values
        .flatten()
        .filter_map(|value| Some((value.as_f64()?, value)))
        .collect();
    let lowest = known.iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let highest = known.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    [lowest, highest].map(|found| shown(found.map(|(_, value)| *value)))
}

/// The name without that of the metric, which stands above it.
fn short<'a>(metric: &str, target: &'a str) -> &'a str {
    target
        .strip_prefix(metric)
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(target)
}

/// A value as people read it; what is null or not there is unknown.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => UNKNOWN.to_owned(),
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(count), _) => figure::count(count),
            (None, Some(value)) => figure::decimal(value, DIGITS),
            (None, None) => UNKNOWN.to_owned(),
        },
        Some(Value::Array(values)) => {
            let values: Vec<String> = values.iter().map(|value| shown(Some(value))).collect();
            cut(&values.join(" "), VALUE_WIDTH)
        }
        Some(Value::String(text)) => cut(&printable(text, VALUE_WIDTH), VALUE_WIDTH),
        Some(other) => cut(&printable(&other.to_string(), VALUE_WIDTH), VALUE_WIDTH),
    }
}
