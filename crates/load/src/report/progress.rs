//! The live line of a run.

use crate::report::prelude::*;
use unicode_width::UnicodeWidthStr;

/// How a run goes, in one line of at most `width` columns. What does not fit is left out, the
/// least important first.
///
/// ```
/// use std::time::Duration;
/// use mcprove_load::report::progress_line;
/// use mcprove_load::run::Progress;
///
/// let mut progress = Progress::default();
/// progress.elapsed = Duration::from_secs(12);
/// progress.remaining = Some(Duration::from_secs(48));
/// progress.completed = 1000;
/// progress.rate = Some(83.3);
/// progress.in_flight = 10;
/// assert_eq!(progress_line(&progress, 80), "0:12  83.30/s  10 in flight  no errors  0:48 left");
/// ```
pub fn progress_line(progress: &Progress, width: usize) -> String {
    // In the order of reading, each with how soon it is given up.
    let errors = match progress.failed {
        0 => "no errors".to_owned(),
        failed => {
            let share = figure::share(failed, progress.completed);
            format!("{} ({})", counted(failed, "error"), rough_percent(share))
        }
    };
    let left = progress
        .remaining
        .map(|left| format!("{} left", figure::clock(left)));
    let done = progress
        .share
        .map(|share| format!("{:.0}% done", share * 100.0));
    // Each with its rank: the highest goes first where there is no room.
    let parts = [
        (0, Some(figure::clock(progress.elapsed))),
        (2, Some(format!("{}/s", known(progress.rate, rate)))),
        (6, Some(format!("{} in flight", count(progress.in_flight)))),
        (5, progress.p50.map(|p50| format!("p50 {}", latency(p50)))),
        (3, progress.p99.map(|p99| format!("p99 {}", latency(p99)))),
        (1, Some(errors)),
        (7, progress.rss_mb.map(|rss| format!("RSS {rss:.0} MB"))),
        (4, left.or(done)),
    ];
    let mut line = String::new();
    for most in (0..parts.len()).rev() {
        let shown: Vec<&str> = parts
            .iter()
            .filter(|(rank, _)| *rank <= most)
            .filter_map(|(_, text)| text.as_deref())
            .collect();
        line = shown.join("  ");
        if line.width() <= width {
            return line;
        }
    }
    line.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn progress() -> Progress {
        Progress {
            elapsed: Duration::from_secs(3671),
            remaining: Some(Duration::from_secs(59)),
            share: None,
            completed: 123_456,
            failed: 45,
            rate: Some(12_345.6),
            in_flight: 1000,
            p50: Some(Duration::from_micros(812)),
            p99: Some(Duration::from_micros(12_345)),
            rss_mb: Some(156.3),
        }
    }

    #[test]
    fn everything_is_shown_where_there_is_room() {
        assert_eq!(
            progress_line(&progress(), 120),
            "1:01:11  12,346/s  1,000 in flight  p50 0.812ms  p99 12.3ms  45 errors (<0.1%)  RSS 156 MB  0:59 left"
        );
        let steps = Progress {
            remaining: None,
            share: Some(0.4),
            failed: 0,
            ..progress()
        };
        assert!(progress_line(&steps, 120).ends_with("no errors  RSS 156 MB  40% done"));
        let begun = Progress {
            in_flight: 10,
            ..Progress::default()
        };
        assert_eq!(
            progress_line(&begun, 120),
            "0:00  –/s  10 in flight  no errors"
        );
    }

    #[test]
    fn it_fits_whatever_the_width() {
        for width in 0..130 {
            let line = progress_line(&progress(), width);
            assert!(line.width() <= width, "{width}: {line}");
        }
        assert_eq!(
            progress_line(&progress(), 40),
            "1:01:11  12,346/s  45 errors (<0.1%)"
        );
    }
}
