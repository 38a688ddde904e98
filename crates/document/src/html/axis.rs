//! The scale of an axis: where its ticks are, and what stands beside them.

use mcprove_settings::number::{truncated, truncated_len};

use crate::figure;

/// About how many stretches an axis has.
const STRETCHES: f64 = 5.0;
/// However odd the numbers, an axis has no more ticks than this.
const TICKS_MAX: usize = 12;

/// A change of less than this share of the value does not fill an axis.
const FLAT_SHARE: f64 = 0.01;
/// A tick this much of a step outside still counts as inside.
const NOISE: f64 = 1e-9;

/// A scale and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    step: f64,
}

impl Axis {
    /// From `low` to `high`, with round ticks between them.
    pub fn within(low: f64, high: f64) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() && low <= high {
            (low, high)
        } else {
            (0.0, 1.0)
        };
        let size = low.abs().max(high.abs());
        // A line that is flat but for its noise should look flat.
        let span = (high - low).max(size * FLAT_SHARE);
        let span = if span > 0.0 { span } else { 1.0 };
        Self::stepping(low, low + span, round_step(span / STRETCHES))
    }

    /// The same, widened so that it begins and ends with a tick.
    pub fn around(low: f64, high: f64) -> Self {
        let Self {
            low, high, step, ..
        } = Self::within(low, high);
        let first = (low / step + NOISE).floor();
        let last = (high / step - NOISE).ceil().max(first + 1.0);
        Self::stepping(first * step, last * step, step)
    }

    fn stepping(low: f64, high: f64, step: f64) -> Self {
        let mut index = (low / step - NOISE).ceil();
        let mut ticks = Vec::new();
        while index * step <= high + step * NOISE && ticks.len() < TICKS_MAX {
            ticks.push(index * step);
            index += 1.0;
        }
        Self {
            low,
            high,
            ticks,
            step,
        }
    }

    /// From nothing to a tick not below `high`.
    pub fn up_to(high: f64) -> Self {
        Self::around(0.0, if high > 0.0 { high } else { 1.0 })
    }

    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Where a value lies between the beginning (0) and the end (1).
    pub fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// A tick with the decimals that its step needs.
    pub fn label(&self, tick: f64) -> String {
        if self.step >= 1.0 && tick >= 0.0 {
            return figure::count(truncated(tick.round()));
        }
        let digits = (-self.step.log10()).ceil().clamp(0.0, 9.0);
        figure::decimal(tick, truncated_len(digits))
    }
}

/// The nearest of 1, 2, 5, 10 … that is not smaller.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powf(step.log10().floor());
    let mantissa = step / decade;
    let round = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|round| mantissa <= round * (1.0 + 1e-9))
        .unwrap_or(10.0);
    round * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> String {
        let labels: Vec<String> = axis.ticks().iter().map(|tick| axis.label(*tick)).collect();
        labels.join(" ")
    }

    #[test]
    fn ticks_are_round_and_hold_everything() {
        for (low, high, expected) in [
            (0.0, 100.0, "0 20 40 60 80 100"),
            (0.0, 60.0, "0 20 40 60"),
            (0.0, 12_345.0, "0 5,000 10,000 15,000"),
            (0.0, 0.007, "0 0.002 0.004 0.006 0.008"),
            (118.0, 121.0, "118 119 120 121"),
            (5.0, 5.0, "5 5.01 5.02 5.03 5.04 5.05"),
            (0.0, 0.0, "0 0.2 0.4 0.6 0.8 1"),
            (f64::NAN, 1.0, "0 0.2 0.4 0.6 0.8 1"),
            (-3.0, 2.0, "-3 -2 -1 0 1 2"),
        ] {
            assert_eq!(labels(&Axis::around(low, high)), expected, "{low} {high}");
        }
        assert_eq!(labels(&Axis::up_to(0.0)), "0 0.2 0.4 0.6 0.8 1");
    }

    #[test]
    fn places_are_within_the_axis() {
        let axis = Axis::up_to(100.0);
        assert!((axis.place(25.0) - 0.25).abs() < 1e-9);
        assert!(axis.place(-5.0).abs() < 1e-9 && (axis.place(500.0) - 1.0).abs() < 1e-9);
    }
}
