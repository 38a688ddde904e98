//! A figure: what was measured, what it should be, and what it is read by.

use serde_json::{Value, json};

use crate::Outcome;

/// One line of the table that `cargo xtask bench` prints.
#[derive(Debug, Clone)]
pub struct Figure {
    name: String,
    value: f64,
    unit: String,
    target: Value,
    reference: Value,
}

impl Figure {
    /// A figure without a target.
    pub fn new(name: impl Into<String>, value: f64, unit: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.into(),
            target: Value::Null,
            reference: Value::Null,
        }
    }

    /// The value must not be above `bound`.
    #[must_use]
    pub fn at_most(mut self, bound: f64) -> Self {
        self.target = json!(format!("<= {bound}"));
        self
    }

    /// The value must not be below `bound`.
    #[must_use]
    pub fn at_least(mut self, bound: f64) -> Self {
        self.target = json!(format!(">= {bound}"));
        self
    }

    /// What was measured beside it, in words.
    #[must_use]
    pub fn beside(mut self, reference: impl Into<String>) -> Self {
        self.reference = json!(reference.into());
        self
    }

    /// Prints the line.
    pub fn print(&self) {
        println!(
            "{}",
            json!({
                "name": self.name, "value": self.value, "unit": self.unit,
                "target": self.target, "reference": self.reference,
            })
        );
    }
}

/// The median of so many `rounds`.
pub fn median(rounds: usize, mut measure: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    let mut values = (0..rounds)
        .map(|_| measure())
        .collect::<Outcome<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    Ok(*values.get(rounds / 2).ok_or("no rounds")?)
}
