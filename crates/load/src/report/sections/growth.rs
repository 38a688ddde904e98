//! What grows: memory, descriptors, latency, and the number of clients until it breaks.

use mcprove_document::prelude::*;
use mcprove_score::breaking_point::{BreakingKind, BreakingPoint};
use mcprove_score::drift::DriftReport;
use mcprove_score::leak::LeakReport;
use mcprove_score::sessions::ChurnReport;
use mcprove_score::verdict::Outcome;

use super::scenario::name;

pub fn session_ends(report: &ChurnReport) -> Section {
    let descriptors = &report.descriptors;
    let lines = [
        format!(
            "Opened: {} · Abandoned: {} · Could not be opened: {}",
            count(report.opened),
            count(report.abandoned),
            count(report.failed_opens)
        ),
        format!(
            "Processes left running: {} · Never reaped: {}",
            count(report.leftovers),
            count(report.zombies)
        ),
        format!(
            "Memory growth: {} MB (R² {}) · Descriptor growth: {} ({} per session, R² {})",
            maybe_decimal(report.memory.growth_mb, 1),
            maybe_fixed(report.memory.r_squared, 2),
            maybe_decimal(descriptors.growth, 1),
            maybe_decimal(descriptors.growth_per_session, 2),
            maybe_fixed(descriptors.r_squared, 2)
        ),
    ];
    Section::new("Sessions left behind").list(lines)
}

pub fn leak(report: &LeakReport) -> Section {
    let lines = [
        format!("Outcome: {}", name(report.outcome)),
        format!(
            "Predicted growth over the run: {} MB",
            maybe_decimal(report.growth_mb, 1)
        ),
        format!(
            "Slope: {} MB/s, 95 % between {} and {} · R² {}",
            maybe_decimal(report.slope_mb_per_s, 4),
            maybe_decimal(report.slope_low, 4),
            maybe_decimal(report.slope_high, 4),
            maybe_fixed(report.r_squared, 2)
        ),
        samples(report.samples, report.discarded),
    ];
    Section::new("Memory").list(lines)
}

pub fn drift(report: &DriftReport) -> Section {
    let outcome = match report.outcome {
        Outcome::Pass => "no drift",
        Outcome::Finding => "latency drifts",
        Outcome::Inconclusive => "inconclusive",
    };
    let lines = [
        format!("Outcome: {outcome}"),
        format!(
            "Slope: {} ms/s, 95 % between {} and {} · limit {} · R² {}",
            maybe_decimal(report.slope_ms_per_s, 4),
            maybe_decimal(report.slope_low, 4),
            maybe_decimal(report.slope_high, 4),
            maybe_decimal(report.limit_ms_per_s, 4),
            maybe_fixed(report.r_squared, 2)
        ),
        samples(report.points, report.discarded),
    ];
    Section::new("Latency drift").list(lines)
}

fn samples(used: usize, discarded: usize) -> String {
    format!("Samples: {used} used, {discarded} left out (warm-up)")
}

pub fn breaking_point(point: &BreakingPoint) -> Section {
    let mut lines = vec![
        format!("At {}: {}", point.load(), breaking_way(point.kind)),
        format!("Failed there: {}", percent(point.error_share)),
        format!(
            "p99 there: {} · in the first step: {}",
            maybe_milliseconds(point.p99_ms),
            maybe_milliseconds(point.first_p99_ms)
        ),
        format!(
            "Calls per second there: {} · best before: {}",
            maybe_decimal(point.throughput_per_s, 1),
            maybe_decimal(point.best_throughput_per_s, 1)
        ),
    ];
    if let Some(good) = point.last_good_load() {
        lines.push(format!("Last step that held: {good}"));
    }
    Section::new("Breaking point").list(lines)
}

/// In which way a server stops coping.
const fn breaking_way(kind: BreakingKind) -> &'static str {
    match kind {
        BreakingKind::Errors => "calls fail",
        BreakingKind::Latency => "more calls only wait longer",
        BreakingKind::Collapse => "throughput collapses",
    }
}
