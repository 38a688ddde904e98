//! Calls along a clock: which one begins first after a moment, and of those that begin after it,
//! when the first success ends.

use crate::prelude::*;

/// A moment of a recording, to the microsecond in which its times are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimePoint(i64);

impl TimePoint {
    /// So many seconds after the start of the recording.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a time beyond the range of the type is the last one in it"
    )]
    pub fn at_seconds(seconds: f64) -> Self {
        Self((seconds * 1e6).round() as i64)
    }

    /// The moment after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// So many milliseconds later.
    pub fn plus_ms(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds.saturating_mul(1_000)))
    }

    /// The whole milliseconds since another moment; `None` before it.
    pub fn ms_since(self, start: Self) -> Option<u64> {
        let microseconds = self.0.checked_sub(start.0)?;
        u64::try_from(microseconds).ok().map(|since| since / 1_000)
    }
}

/// Some calls along the clock.
#[derive(Debug, Default)]
pub struct Timeline {
    begins: BTreeSet<TimePoint>,
    /// When successes end, by when they begin: only those that no later begun one ends before.
    successes: BTreeMap<TimePoint, TimePoint>,
}

impl Timeline {
    /// Adds a call; `success` is when it ended, if it ended well.
    pub fn add(&mut self, began: TimePoint, success: Option<TimePoint>) {
        self.begins.insert(began);
        let Some(ended) = success else { return };
        if self.success_from(began).is_some_and(|first| first <= ended) {
            return;
        }
        while let Some((&earlier, &later_end)) = self.successes.range(..=began).next_back()
            && later_end >= ended
        {
            self.successes.remove(&earlier);
        }
        self.successes.insert(began, ended);
    }

    /// When the first call begins at this moment or later.
    pub fn begin_from(&self, moment: TimePoint) -> Option<TimePoint> {
        self.begins.range(moment..).next().copied()
    }

    /// When the first success ends of the calls that begin at this moment or later.
    pub fn success_from(&self, moment: TimePoint) -> Option<TimePoint> {
        // Whatever begins later ends later, or the earlier one would not be here.
        let (_, ended) = self.successes.range(moment..).next()?;
        Some(*ended)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments_are_whole_microseconds_and_times_whole_milliseconds() {
        let start = TimePoint::at_seconds(0.100_000_4);
        assert_eq!(start, TimePoint::at_seconds(0.1));
        let since = |seconds: f64| TimePoint::at_seconds(seconds).ms_since(start);
        assert_eq!(since(0.1), Some(0));
        assert_eq!(since(3.100_999), Some(3_000));
        assert_eq!(since(0.099), None);
        assert_eq!(since(f64::MAX), Some(9_223_372_036_854_675));
        assert_eq!(since(f64::MIN), None);
        assert_eq!(start.plus_ms(i64::MAX), TimePoint(i64::MAX));
    }

    proptest! {
        #[test]
        fn it_finds_what_a_search_through_all_finds(
            calls in prop::collection::vec((0_i64..20, prop::option::of(0_i64..20)), 0..20),
            moment in 0_i64..20,
        ) {
            let mut timeline = Timeline::default();
            for (began, took) in &calls {
                timeline.add(TimePoint(*began), took.map(|took| TimePoint(began + took)));
            }
            let later = || calls.iter().filter(|(began, _)| *began >= moment);
            let begin = later().map(|(began, _)| TimePoint(*began)).min();
            prop_assert_eq!(timeline.begin_from(TimePoint(moment)), begin);
            let success = later().filter_map(|(began, took)| Some(TimePoint(began + (*took)?))).min();
            prop_assert_eq!(timeline.success_from(TimePoint(moment)), success);
        }
    }
}
