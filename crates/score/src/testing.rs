//! What tests share: whatever a float can be, and how a metric is gated.

use mcprove_trace::AgentTrace;
use proptest::prelude::*;

use crate::agent::AnyMetric;
use crate::gate::{GateFailure, GateId, Gates, ScoreError, Scorecard};

/// What a metric puts on the card, with what its default gate finds.
pub fn gated(
    metric: &dyn AnyMetric,
    trace: &AgentTrace,
    gates: &Gates,
) -> Result<Scorecard, ScoreError> {
    let mut card = Scorecard::new(trace.runs.len());
    metric.score_under(gates, trace, &mut card)?;
    let name = metric.about().name;
    if let Some(block) = gates.get(name) {
        let offered = std::mem::take(&mut card.default_gate);
        if block.is_default() {
            card.found.adopt(offered, |_| GateId::Default(name));
        }
        let limits = std::mem::take(&mut card.limits);
        let gate = |failure: &GateFailure| GateId::Target(failure.target.clone());
        card.found.adopt(limits, gate);
    }
    Ok(card)
}

/// Any float: everyday values, and zero, huge, infinite and not a number among them.
pub(crate) fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1_000.0_f64,
        2 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -0.0, -1.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE]),
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
    ]
}

/// Any float, or none.
pub(crate) fn maybe_floats() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(floats())
}
