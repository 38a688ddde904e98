//! When calls of the open model are due: an absolute schedule that no answer can move. Pure; the
//! thread that keeps to it is `pacer_thread.rs`.

use crate::prelude::*;

/// A slot that is late by less than this is still used, so that a short sleep that overshoots
/// loses nothing.
const TOLERANCE_MIN: Duration = Duration::from_millis(2);

/// Rates, each constant for a span of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Pacer {
    spans: Vec<RateSpan>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct RateSpan {
    from: Duration,
    /// The number of its first slot.
    first: u64,
    per_second: f64,
}

/// What to do with the next slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is not due yet.
    Wait,
    /// Send now.
    Send,
    /// It is too late for it: count it and go on.
    Missed,
}

impl Pacer {
    /// A pace of so many calls per second; none unless that is a positive number.
    pub fn new(per_second: f64) -> Option<Self> {
        Self::of([(Duration::ZERO, per_second)])
    }

    /// So many calls per second from each of these times on, the first of which is 0; none unless
    /// all are positive numbers.
    pub fn of(rates: impl IntoIterator<Item = (Duration, f64)>) -> Option<Self> {
        let mut spans = Vec::<RateSpan>::new();
        for (from, per_second) in rates {
            if !per_second.is_finite() || per_second <= 0.0 {
                return None;
            }
            let first = spans.last().map_or(0, |last| {
                last.first
                    .saturating_add(last.slots(from.saturating_sub(last.from)))
            });
            spans.push(RateSpan {
                from,
                first,
                per_second,
            });
        }
        (!spans.is_empty()).then_some(Self { spans })
    }

    fn span(&self, number: u64) -> Option<&RateSpan> {
        let after = self.spans.partition_point(|span| span.first <= number);
        self.spans.get(after.saturating_sub(1))
    }

    /// When slot `number` is due, since the start. Computed for each, so that nothing adds up.
    pub fn due(&self, number: u64) -> Duration {
        self.span(number)
            .map_or(Duration::MAX, |span| span.due(number))
    }

    /// What to do with slot `number` at `elapsed`.
    pub fn turn(&self, number: u64, elapsed: Duration, catch_up: bool) -> Turn {
        let due = self.due(number);
        if due > elapsed {
            return Turn::Wait;
        }
        let late = elapsed.saturating_sub(due);
        if catch_up || late <= self.tolerance(number) {
            Turn::Send
        } else {
            Turn::Missed
        }
    }

    /// Two slots.
    fn tolerance(&self, number: u64) -> Duration {
        let slot = self.span(number).map_or(0.0, |at| 1.0 / at.per_second);
        Duration::try_from_secs_f64(2.0 * slot)
            .unwrap_or(Duration::MAX)
            .max(TOLERANCE_MIN)
    }
}

impl RateSpan {
    fn due(&self, number: u64) -> Duration {
        #[allow(clippy::cast_precision_loss)]
        let seconds = number.saturating_sub(self.first) as f64 / self.per_second;
        self.from
            .saturating_add(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    /// How many slots it has, if it takes so long.
    fn slots(&self, duration: Duration) -> u64 {
        // Whatever is due a nanosecond before the end is due at the end.
        let slots = (duration.as_secs_f64() * self.per_second - 1e-6).ceil();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        {
            slots.max(0.0) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_absolute() {
        let pacer = Pacer::new(1000.0).unwrap();
        assert_eq!(pacer.due(0), Duration::ZERO);
        assert_eq!(pacer.due(1500), Duration::from_millis(1500));
        // A million slots later nothing has drifted.
        assert_eq!(pacer.due(1_000_000), Duration::from_secs(1000));
        assert!(Pacer::new(0.0).is_none() && Pacer::new(f64::NAN).is_none());
    }

    #[test]
    fn each_stretch_has_its_rate() {
        let at = Duration::from_millis;
        let pacer =
            Pacer::of([(Duration::ZERO, 100.0), (at(500), 1000.0), (at(600), 100.0)]).unwrap();
        for (number, due) in [
            (0, 0),
            (49, 490),
            (50, 500),
            (51, 501),
            (149, 599),
            (150, 600),
            (151, 610),
        ] {
            assert_eq!(pacer.due(number), at(due), "slot {number}");
        }
        // Less than one slot in a stretch is one at its beginning, and time never goes back.
        let slow = Pacer::of([(Duration::ZERO, 1.0), (at(100), 2.0)]).unwrap();
        assert_eq!(
            [slow.due(0), slow.due(1), slow.due(2)],
            [at(0), at(100), at(600)]
        );
        assert!(Pacer::of([(Duration::ZERO, 1.0), (at(1), 0.0)]).is_none());
        assert!(Pacer::of([]).is_none());
    }

    #[test]
    fn a_stall_is_not_made_up_for_in_a_burst() {
        let pacer = Pacer::new(1000.0).unwrap();
        let at = Duration::from_millis;
        assert_eq!(pacer.turn(5, at(4), false), Turn::Wait);
        assert_eq!(pacer.turn(5, at(5), false), Turn::Send);
        assert_eq!(pacer.turn(5, at(7), false), Turn::Send);
        assert_eq!(pacer.turn(5, at(8), false), Turn::Missed);
        assert_eq!(pacer.turn(5, at(8), true), Turn::Send);
        let slow = Pacer::new(1.0).unwrap();
        assert_eq!(slow.turn(1, at(2500), false), Turn::Send);
    }
}
