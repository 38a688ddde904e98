//! Inputs for property tests: whatever a float can be.

use proptest::prelude::*;

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
