//! What tests share: whatever a float can be, and how a metric is gated.

use mcprove_trace::AgentTrace;
use proptest::prelude::*;

use crate::agent::{Case, Metric};
use crate::gate::{Gates, ScoreError, Scorecard};

/// What a metric puts on the card, and what its default gate does.
pub fn gated(metric: &Metric, trace: &AgentTrace, gates: &Gates) -> Result<Scorecard, ScoreError> {
    let case = Case { trace, gates };
    let mut card = Scorecard::new(trace.runs.len());
    (metric.score)(&case, &mut card)?;
    metric
        .default_gate
        .map_or(Ok(()), |gate| gate(&case, &mut card))?;
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
