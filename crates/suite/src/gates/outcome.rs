//! The blocks about how runs turn out: `stability`, `reliability`, `recovery` and `orchestration`.

use mcprove_score::agent::orchestration::OrchestrationBlock;
use mcprove_score::agent::recovery::RecoveryBlock;
use mcprove_score::agent::reliability::ReliabilityBlock;
use mcprove_score::agent::stability::StabilityBlock;
use mcprove_score::gate::Gates;
use mcprove_settings::reader::{Reader, Section};

use super::expectation::expectations;
use super::keys::TIME_MS_MAX;

pub(super) fn stability(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let expect = expectations(reader, section);
    gates.stability = Some(StabilityBlock { expect });
}

pub(super) fn reliability(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let expect = expectations(reader, section);
    gates.reliability = Some(ReliabilityBlock { expect });
}

pub(super) fn orchestration(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let expect = expectations(reader, section);
    gates.orchestration = Some(OrchestrationBlock { expect });
}

pub(super) fn recovery(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let default = RecoveryBlock::default();
    gates.recovery = Some(RecoveryBlock {
        max_detection_ms: reader
            .integer(section, "max_detection_ms", 1..=TIME_MS_MAX)
            .unwrap_or(default.max_detection_ms),
        max_recovery_ms: reader.integer(section, "max_recovery_ms", 0..=TIME_MS_MAX),
        require_clean_timeout: reader
            .boolean(section, "require_clean_timeout")
            .unwrap_or(default.require_clean_timeout),
        expect: expectations(reader, section),
    });
}
