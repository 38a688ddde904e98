//! A histogram that is small where little was measured: many are kept at once, one for each tool and
//! stretch of time. A value is known to 1.6 %.

use crate::prelude::*;

/// Cells for each doubling of the value.
const CELLS_PER_DOUBLING: u64 = 32;
/// The digits of a value that decide on its cell: the first and those of its place in the doubling.
const CELL_BITS: u32 = 5;

/// Counts by value.
///
/// ```
/// use mcprove_trace::sparse::SparseHistogram;
///
/// let mut histogram = SparseHistogram::default();
/// (1..=1_000).for_each(|value| histogram.record(value * 1_000));
/// let median = histogram.quantile(0.5).unwrap();
/// assert!((490_000..510_000).contains(&median), "{median}");
/// assert_eq!(histogram.count_above(2_000_000), 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    /// Cells that are not empty, by place.
    cells: Vec<(u16, u64)>,
    count: u64,
}

impl SparseHistogram {
    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.add_to_cell(cell_of(value), 1);
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &Self) {
        for (cell, count) in &other.cells {
            self.add_to_cell(*cell, *count);
        }
    }

    fn add_to_cell(&mut self, cell: u16, count: u64) {
        match self.cells.binary_search_by_key(&cell, |(cell, _)| *cell) {
            Ok(place) => {
                if let Some((_, known)) = self.cells.get_mut(place) {
                    *known = known.saturating_add(count);
                }
            }
            Err(place) => self.cells.insert(place, (cell, count)),
        }
        self.count = self.count.saturating_add(count);
    }

    /// How many values were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The value that this share keeps to; `None` of nothing.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = float(self.count) * share;
        let mut seen = 0_u64;
        let mut last = None;
        for (cell, count) in &self.cells {
            seen = seen.saturating_add(*count);
            last = Some(middle_of(*cell));
            if float(seen) >= wanted {
                break;
            }
        }
        last
    }

    /// How many values are above this one, by their cells.
    pub fn count_above(&self, value: u64) -> u64 {
        let limit = cell_of(value);
        self.cells
            .iter()
            .filter(|(cell, _)| *cell > limit)
            .map(|(_, count)| count)
            .sum()
    }
}

/// The cell that holds a value.
fn cell_of(value: u64) -> u16 {
    if value < CELLS_PER_DOUBLING {
        return u16::try_from(value).unwrap_or(u16::MAX);
    }
    let doublings = value.ilog2() - CELL_BITS;
    let within = (value >> doublings) - CELLS_PER_DOUBLING;
    let cell = CELLS_PER_DOUBLING * (u64::from(doublings) + 1) + within;
    u16::try_from(cell).unwrap_or(u16::MAX)
}

/// The value in the middle of a cell.
fn middle_of(cell: u16) -> u64 {
    let cell = u64::from(cell);
    if cell < 2 * CELLS_PER_DOUBLING {
        return cell;
    }
    let doublings = cell / CELLS_PER_DOUBLING - 1;
    let lowest = (cell % CELLS_PER_DOUBLING + CELLS_PER_DOUBLING) << doublings;
    lowest + (1 << doublings) / 2
}

/// The calls of one tool that ended in one stretch of time and that no fault struck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeBucket {
    /// How long the successful ones took, in nanoseconds.
    pub latency_ns: SparseHistogram,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that were lost with a connection that a fault ended.
    pub lost: u64,
}

impl TimeBucket {
    /// Adds the calls of another one.
    pub fn add(&mut self, other: &Self) {
        self.latency_ns.add(&other.latency_ns);
        self.failed = self.failed.saturating_add(other.failed);
        self.lost = self.lost.saturating_add(other.lost);
    }

    pub fn failures(&self) -> u64 {
        self.failed.saturating_add(self.lost)
    }

    pub fn calls(&self) -> u64 {
        self.latency_ns.count().saturating_add(self.failures())
    }

    pub fn failure_share(&self) -> f64 {
        mcprove_settings::number::share(self.failures(), self.calls()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_comes_back_to_two_percent(value in any::<u64>()) {
            let mut histogram = SparseHistogram::default();
            histogram.record(value);
            let back = histogram.quantile(0.5).unwrap();
            let off = mcprove_settings::number::float(back.abs_diff(value));
            prop_assert!(off <= mcprove_settings::number::float(value) * 0.016, "{back}");
        }

        #[test]
        fn sums_do_not_depend_on_the_order(values in prop::collection::vec(any::<u64>(), 0..50), cut in 0_usize..50) {
            let of = |values: &[u64]| {
                let mut histogram = SparseHistogram::default();
                for value in values {
                    histogram.record(*value);
                }
                histogram
            };
            let (left, right) = values.split_at(cut.min(values.len()));
            let (mut one, mut other) = (of(left), of(right));
            one.add(&of(right));
            other.add(&of(left));
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(&one, &of(&values));
            prop_assert_eq!(one.count(), values.len() as u64);
        }
    }

    #[test]
    fn what_is_above_is_counted() {
        let mut histogram = SparseHistogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=100_u64).for_each(|value| histogram.record(value * 1_000_000));
        assert_eq!(histogram.count_above(200_000_000), 0);
        assert_eq!(histogram.count_above(0), 100);
        let above = histogram.count_above(50_000_000);
        assert!((48..=50).contains(&above), "{above}");
    }
}
