//! The sections of a report, in the order in which they are read: what it comes to, what was
//! measured, what only this scenario looks for, and what the numbers rest on.

mod basis;
mod faults;
mod findings;
mod growth;
mod measured;
mod scenario;

pub use faults::{apart, fault_table};
pub use findings::{expectation, outcome_name};
pub use growth::breaking_way;
pub use measured::{percentile_note, phase_table, tool_table};

use mcprove_document::block::Section;

use crate::run::Report;

/// All sections that have something to say.
pub(super) fn all(report: &Report) -> Vec<Section> {
    let mut sections = vec![
        Some(measured::summary(report)),
        findings::meaning(report),
        findings::verdicts(report),
        Some(measured::latency(report)),
        measured::phases(report),
        measured::tools(report),
        measured::slowest(report),
    ];
    sections.push(faults::faults(report));
    sections.extend(scenario::all(report).into_iter().map(Some));
    sections.extend([
        Some(measured::errors(report)),
        Some(measured::process(report)),
        basis::isolation(report),
        basis::coverage(report),
        Some(basis::generator(report)),
        findings::grades(report),
        Some(findings::violations(report)),
        Some(basis::trace(report)),
    ]);
    sections.into_iter().flatten().collect()
}
