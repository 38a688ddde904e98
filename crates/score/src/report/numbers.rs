//! Every number, metric by metric: over all runs, and of each run as far as there is room.

use mcprove_document::block::{Heading, Line, Section, Table};
use mcprove_document::figure::{self, UNKNOWN};
use mcprove_document::terminal::cut;
use mcprove_settings::printable::printable;

use crate::prelude::*;

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
    let section = |metric: &'static About| {
        let (overall, of_runs): (Vec<&Target>, Vec<&Target>) =
            computed(report, metric).partition(|target| target.scope == Scope::Overall);
        let mut of_all = Table::new(["", "all runs"]).numbers(1..);
        for target in overall {
            let value = shown(report.targets.get(target.name));
            of_all.push([short(metric, target).to_owned(), value]);
        }
        Section::new(format!("{}: {}", metric.name, metric.explanation))
            .table(of_all)
            .table(of_each_run(report, metric, &of_runs))
    };
    metrics().map(section).collect()
}

/// One row per metric, of a single run.
fn lines(report: &ScoreReport) -> Table {
    let mut table = Table::new(["Metric", "Values"]);
    for metric in metrics() {
        let values: Vec<String> = computed(report, metric)
            .map(|target| {
                let of_run = || report.runs.first()?.targets.get(target.name);
                let value = report.targets.get(target.name).or_else(of_run);
                format!("{}={}", short(metric, target), shown(value))
            })
            .collect();
        if !values.is_empty() {
            table.push([metric.name.to_owned(), values.join(", ")]);
        }
    }
    table
}

/// The targets of a metric that have a value.
fn computed<'a>(
    report: &'a ScoreReport,
    metric: &'static About,
) -> impl Iterator<Item = &'static Target> + use<'a> {
    let is_computed = |target: &&Target| {
        let of_run = |run: &RunTargets| run.targets.contains_key(target.name);
        report.targets.contains_key(target.name) || report.runs.iter().any(of_run)
    };
    metric.targets.iter().filter(is_computed)
}

/// Whether a number is not known.
pub fn has_unknown(report: &ScoreReport) -> bool {
    let runs = report.runs.iter().flat_map(|run| run.targets.values());
    report.targets.values().chain(runs).any(Value::is_null)
}

/// What is of each run, one row each. With few runs each has a column; with many, the lowest and the
/// highest do.
fn of_each_run(report: &ScoreReport, metric: &About, targets: &[&Target]) -> Table {
    let runs = report.runs.len();
    let mut header: Vec<Heading> = vec!["".into(), "worst".into()];
    if runs <= RUNS_MAX {
        header.extend((0..runs).map(|run| format!("run {run}").into()));
    } else {
        header.extend(["lowest", "highest"].map(Heading::from));
    }
    let row = |target: &&Target| {
        let worst = shown(report.targets.get(target.name));
        let mut cells = vec![short(metric, target).to_owned(), worst];
        let values = report.runs.iter().map(|run| run.targets.get(target.name));
        if runs <= RUNS_MAX {
            cells.extend(values.map(shown));
        } else {
            cells.extend(extremes(values));
        }
        cells.into_iter().map(Line::plain).collect()
    };
    Table {
        header,
        rows: targets.iter().map(row).collect(),
        limit: None,
    }
    .numbers(1..)
}

/// The lowest and the highest number.
fn extremes<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> [String; 2] {
    let mut known: Vec<(f64, &Value)> = values
        .flatten()
        .filter_map(|value| Some((value.as_f64()?, value)))
        .collect();
    known.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    [known.first(), known.last()].map(|found| shown(found.map(|(_, value)| *value)))
}

/// The name without that of the metric, which stands above it.
fn short<'a>(metric: &About, target: &'a Target) -> &'a str {
    let rest = target.name.strip_prefix(metric.name);
    rest.and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(target.name)
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
