//! When recent calls ended, by their numbers: by this it is known which calls were under way at the same time.
//!
//! Each driver notes its own calls in a ring, without locks: this is done for every call of a load. Looking is rare.

use crate::prelude::*;

/// How many calls are remembered. A call with so much smaller a number than another is forgotten.
const PLACES: usize = 1 << 13;
/// Numbers of calls that count, and of those that do not, differ in these digits.
const KIND_SHIFT: u32 = 38;

/// When a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// At this time of the run.
    At(Duration),
    /// It is under way, as far as this driver knows.
    Open,
}

/// The recent calls of one driver.
#[derive(Debug)]
pub struct RecentCalls {
    places: Box<[Place]>,
}

/// The number of a call, one more so that 0 is none, and when it ended, in nanoseconds.
#[derive(Debug, Default)]
struct Place {
    number: AtomicU64,
    ended: AtomicU64,
}

impl Default for RecentCalls {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| Place::default()).collect(),
        }
    }
}

impl RecentCalls {
    /// Notes that a call ended; on the thread of its driver only.
    pub fn note_end(&self, number: u64, at: Duration) {
        if let Some(place) = self.place(number) {
            // Whoever looks meanwhile sees no number.
            place.number.store(0, Ordering::Relaxed);
            let ended = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
            place.ended.store(ended, Ordering::Release);
            place.number.store(number + 1, Ordering::Release);
        }
    }

    /// When a call ended that is not [forgotten](is_forgotten).
    pub fn end_of(&self, number: u64) -> CallEnd {
        let Some(place) = self.place(number) else {
            return CallEnd::Open;
        };
        let found = place.number.load(Ordering::Acquire);
        let ended = place.ended.load(Ordering::Acquire);
        if found == number + 1 && place.number.load(Ordering::Relaxed) == found {
            CallEnd::At(Duration::from_nanos(ended))
        } else {
            CallEnd::Open
        }
    }

    fn place(&self, number: u64) -> Option<&Place> {
        let place = usize::try_from(number).unwrap_or_default() % PLACES;
        self.places.get(place)
    }
}

/// Whether it may no longer be known when call `number` ended, now that call `current` is made; nor is it known of calls
/// of another kind, which are made before or after.
pub fn is_forgotten(number: u64, current: u64) -> bool {
    number >> KIND_SHIFT != current >> KIND_SHIFT || current.saturating_sub(number) >= PLACES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_ended_once_that_is_noted() {
        let recent = RecentCalls::default();
        let second = Duration::from_secs(1);
        assert_eq!(recent.end_of(0), CallEnd::Open);
        recent.note_end(0, second);
        recent.note_end(7, 2 * second);
        assert_eq!(recent.end_of(0), CallEnd::At(second));
        assert_eq!(recent.end_of(7), CallEnd::At(2 * second));
        assert_eq!(recent.end_of(8), CallEnd::Open);
        // Its place belongs to a later call now, so nobody asks for it.
        recent.note_end(PLACES as u64, 3 * second);
        assert_eq!(recent.end_of(0), CallEnd::Open);
        assert!(is_forgotten(0, PLACES as u64) && !is_forgotten(1, PLACES as u64));
        assert!(!is_forgotten(9, 2) && is_forgotten(2, UNCOUNTED_FROM));
    }
}
