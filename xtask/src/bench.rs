//! `cargo xtask bench`: runs the benchmarks and compares what they measured with the targets. A
//! benchmark prints one JSON object per line to stdout, and its progress to stderr.

use std::io::{BufRead, BufReader};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Deserialize;

use crate::step::{announce, describe, run as run_command, succeeds};
use crate::workspace::Workspace;

/// The benchmarks of the engine, in the order of the table.
const BENCHMARKS: [&str; 8] = [
    "client",
    "load",
    "comparison",
    "proxy",
    "score",
    "suite",
    "audit",
    "soak",
];

/// How large the program may be that is shipped.
const PROGRAM_MAX_MB: f64 = 25.0;

const COLUMNS: [&str; 5] = ["name", "measured", "target", "reference", "ok"];

#[derive(Args)]
pub struct Options {
    /// Fail if a target is missed
    #[arg(long)]
    strict: bool,
    /// How the program and the benchmarks are built: `dist` is what is shipped, `release` what a newcomer builds
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Make few and short comparisons, without targets: 20 of a kind take eight minutes
    #[arg(long)]
    quick: bool,
    /// Arguments for the benchmarks: parts of the names of what to measure
    #[arg(last = true, value_name = "ARGUMENT")]
    benchmark: Vec<String>,
}

/// One line of the benchmark.
#[derive(Deserialize)]
struct Measurement {
    name: String,
    value: f64,
    unit: String,
    #[serde(default)]
    target: Option<Target>,
    /// What the same measurement gave elsewhere, to read the value by.
    #[serde(default)]
    reference: Option<Amount>,
}

/// A number, or a text to show as it is.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(f64),
    Text(String),
}

/// What the value should be: `"<= 5"`, `">= 5"`, or a bare number, which a rate (`…/s`) should
/// reach and anything else should not exceed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Target {
    Number(f64),
    Comparison(String),
}

impl Measurement {
    /// The target as text and whether it is met.
    fn verdict(&self) -> Result<Option<(String, bool)>> {
        let (at_least, bound) = match &self.target {
            None => return Ok(None),
            Some(Target::Number(bound)) => (self.unit.ends_with("/s"), *bound),
            Some(Target::Comparison(text)) => parse_comparison(text)
                .with_context(|| format!("{}: unknown target `{text}`", self.name))?,
        };
        let (sign, met) = if at_least {
            (">=", self.value >= bound)
        } else {
            ("<=", self.value <= bound)
        };
        Ok(Some((format!("{sign} {}", amount(bound, &self.unit)), met)))
    }
}

/// Whether the value must be at least the bound, and the bound.
fn parse_comparison(text: &str) -> Option<(bool, f64)> {
    let (at_least, bound) = match text.strip_prefix(">=") {
        Some(bound) => (true, bound),
        None => (false, text.strip_prefix("<=")?),
    };
    Some((at_least, bound.trim().parse().ok()?))
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    // The built-in servers that are driven are part of the program.
    let mut build = workspace.cargo([
        "build",
        "--profile",
        &options.profile,
        "--package",
        "mcprove",
    ]);
    announce("bench", &describe(&build));
    run_command(&mut build)?;
    let mut flags = options.benchmark.clone();
    if options.quick {
        flags.push("--quick".into());
    }
    if succeeds(workspace.command("sh").args(["-c", "command -v wrk"])) {
        flags.push("--wrk".into());
    } else {
        announce("bench", "wrk is not installed: nothing is compared with it");
    }
    let mut measurements = vec![program_size(workspace, &options.profile)?];
    for name in BENCHMARKS {
        measurements.extend(measure(workspace, name, &options.profile, &flags)?);
    }
    ensure!(measurements.len() > 1, "the benchmarks measured nothing");
    let missed = print_table(&measurements)?;
    if missed > 0 && options.strict {
        bail!("{missed} targets missed");
    }
    Ok(ExitCode::SUCCESS)
}

/// How large the program is; what is shipped has a limit.
fn program_size(workspace: &Workspace, profile: &str) -> Result<Measurement> {
    let program = workspace.built("mcprove", profile);
    let bytes = std::fs::metadata(&program)
        .context("the program is not built")?
        .len();
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let megabytes = bytes as f64 / 1e6;
    Ok(Measurement {
        name: "program".to_owned(),
        value: megabytes,
        unit: "MB".to_owned(),
        target: (profile == "dist").then_some(Target::Number(PROGRAM_MAX_MB)),
        reference: None,
    })
}

/// What one benchmark measured.
fn measure(
    workspace: &Workspace,
    name: &str,
    profile: &str,
    flags: &[String],
) -> Result<Vec<Measurement>> {
    let mut command = workspace.cargo([
        "bench",
        "--profile",
        profile,
        "--package",
        "mcprove",
        "--bench",
        name,
        "--",
    ]);
    command.env("MCPROVE_BIN", workspace.built("mcprove", profile));
    command.args(flags);
    announce("bench", &describe(&command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", describe(&command)))?;
    let mut measurements = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.context("cannot read what the benchmark prints")?;
            if line.starts_with('{') {
                measurements.push(
                    serde_json::from_str(&line)
                        .with_context(|| format!("not a measurement: {line}"))?,
                );
            }
        }
    }
    let status = child.wait().context("cannot wait for the benchmark")?;
    if !status.success() {
        bail!("`{}` ended with {status}", describe(&command));
    }
    Ok(measurements)
}

/// Prints the table and counts the targets that were missed.
fn print_table(measurements: &[Measurement]) -> Result<usize> {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    let mut missed = 0;
    for measurement in measurements {
        let (target, verdict) = match measurement.verdict()? {
            None => (String::new(), ""),
            Some((target, true)) => (target, "yes"),
            Some((target, false)) => {
                missed += 1;
                (target, "NO")
            }
        };
        let reference = match &measurement.reference {
            None => String::new(),
            Some(Amount::Text(text)) => text.clone(),
            Some(Amount::Number(number)) => amount(*number, &measurement.unit),
        };
        rows.push([
            measurement.name.clone(),
            amount(measurement.value, &measurement.unit),
            target,
            reference,
            verdict.to_owned(),
        ]);
    }
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        println!("{}", cells.join("  ").trim_end());
    }
    Ok(missed)
}

/// Three significant decimals for what is small, none for what is large.
fn amount(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        _ => 3,
    };
    format!("{value:.digits$} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::Measurement;

    fn verdict(line: &str) -> Option<(String, bool)> {
        serde_json::from_str::<Measurement>(line)
            .unwrap()
            .verdict()
            .unwrap()
    }

    #[test]
    fn rates_must_be_reached_and_the_rest_not_exceeded() {
        let rate = r#"{"name":"r","value":900,"unit":"calls/s","target":1000,"reference":null}"#;
        assert_eq!(verdict(rate), Some((">= 1000 calls/s".to_owned(), false)));
        let time = r#"{"name":"t","value":9,"unit":"ms","target":10,"reference":"wrk: 8"}"#;
        assert_eq!(verdict(time), Some(("<= 10.0 ms".to_owned(), true)));
        let share = r#"{"name":"s","value":0.9,"unit":"of wrk","target":">= 0.8"}"#;
        assert_eq!(verdict(share), Some((">= 0.800 of wrk".to_owned(), true)));
        assert_eq!(
            verdict(r#"{"name":"n","value":1,"unit":"ms","target":null}"#),
            None
        );
    }
}
