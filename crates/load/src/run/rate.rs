//! How many calls end per second, lately: for the live view, which must not wait for what the
//! drivers hand over once a second.

use std::collections::VecDeque;
use std::time::Duration;

/// How far back a rate looks.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts of ended calls at moments, for a rate.
#[derive(Debug, Default)]
pub(super) struct RateMeter {
    seen: VecDeque<(Duration, u64)>,
}

impl RateMeter {
    /// Notes that `ended` calls had ended by `at`. The rate since the oldest count of the last
    /// second; none before there are two of a load that has begun, since how long the calls up to
    /// the first took is not known.
    pub fn rate(&mut self, at: Duration, ended: u64) -> Option<f64> {
        if ended == 0 {
            return None;
        }
        self.seen.push_back((at, ended));
        while self.seen.len() > 2
            && self
                .seen
                .front()
                .is_some_and(|(oldest, _)| at.saturating_sub(*oldest) > WINDOW)
        {
            self.seen.pop_front();
        }
        let (since, before) = self.seen.front().copied()?;
        let seconds = at.saturating_sub(since).as_secs_f64();
        #[allow(clippy::cast_precision_loss)]
        let count = ended.saturating_sub(before) as f64;
        (seconds > 0.0).then(|| count / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_right_from_the_first_that_is_shown() {
        let mut meter = RateMeter::default();
        // 1000 calls per second from 600 ms on, looked at four times a second; none from 2 s on.
        for (at_ms, ended, rate) in [
            (250, 0, None),
            (500, 0, None),
            (750, 150, None),
            (1000, 400, Some(1000.0)),
            (1250, 650, Some(1000.0)),
            (2000, 1400, Some(1000.0)),
            (2250, 1400, Some(750.0)),
            (5000, 1400, Some(0.0)),
        ] {
            let at = Duration::from_millis(at_ms);
            assert_eq!(meter.rate(at, ended), rate, "at {at:?}");
        }
    }
}
