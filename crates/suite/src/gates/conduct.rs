//! The blocks about how an agent behaves: `narrative`, `loops` and `duplicate_writes`.

use mcprove_score::agent::duplicate_writes::DuplicateWritesBlock;
use mcprove_score::agent::loops::LoopsBlock;
use mcprove_score::agent::narrative::NarrativeBlock;
use mcprove_score::gate::Gates;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table::names;

use super::expectation::expectations;
use super::keys::COUNT_MAX;

pub(super) fn narrative(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let default = NarrativeBlock::default();
    gates.narrative = Some(NarrativeBlock {
        mutating_tools: names(reader, section, "mutating_tools"),
        readonly_tools: names(reader, section, "readonly_tools"),
        max_divergence_score: reader.number(
            section,
            "max_divergence_score",
            "a number from 0 to 1",
            |value| (0.0..=1.0).contains(&value),
        ),
        llm_assisted: reader
            .boolean(section, "llm_assisted")
            .unwrap_or(default.llm_assisted),
        expect: expectations(reader, section),
    });
}

pub(super) fn loops(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let default = LoopsBlock::default();
    let mut count = |name: &str, least: u64, default: u64| {
        let value = reader.integer(section, name, least..=COUNT_MAX);
        value.unwrap_or(default)
    };
    gates.loops = Some(LoopsBlock {
        // A single call is a streak of one.
        max_repeats: count("max_repeats", 1, default.max_repeats),
        max_cycle_repeats: count("max_cycle_repeats", 0, default.max_cycle_repeats),
        max_stagnation: count("max_stagnation", 0, default.max_stagnation),
        expect: expectations(reader, section),
    });
}

pub(super) fn duplicate_writes(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    gates.duplicate_writes = Some(DuplicateWritesBlock {
        mutating_tools: names(reader, section, "mutating_tools"),
        readonly_tools: names(reader, section, "readonly_tools"),
        idempotent_tools: names(reader, section, "idempotent_tools"),
        expect: expectations(reader, section),
    });
}
