//! The live line of a run.

use mcprove_document::figure;
use unicode_width::UnicodeWidthStr;

use crate::run::Progress;

/// How a run goes, in one line of at most `width` columns. What does not fit is left out, the
/// least important first.
///
/// ```
/// use std::time::Duration;
/// use mcprove_load::report::progress_line;
/// use mcprove_load::run::Progress;
///
/// let progress = Progress {
///     elapsed: Duration::from_secs(12),
///     remaining: Some(Duration::from_secs(48)),
///     completed: 1000,
///     rate: Some(83.3),
///     in_flight: 10,
///     ..Progress::default()
/// };
/// assert_eq!(progress_line(&progress, 80), "0:12  83.30/s  10 in flight  no errors  0:48 left");
/// ```
pub fn progress_line(progress: &Progress, width: usize) -> String {
    // In the order of reading, each with how soon it is given up.
    let mut parts = vec![(0, figure::clock(progress.elapsed))];
    let rate = progress.rate.map(figure::rate);
    parts.push((
        2,
        format!("{}/s", rate.as_deref().unwrap_or(figure::UNKNOWN)),
    ));
    parts.push((
        6,
        format!("{} in flight", figure::count(progress.in_flight)),
    ));
    if let Some(p50) = progress.p50 {
        parts.push((5, format!("p50 {}", figure::latency(p50))));
    }
    if let Some(p99) = progress.p99 {
        parts.push((3, format!("p99 {}", figure::latency(p99))));
    }
    parts.push((1, errors(progress)));
    if let Some(rss) = progress.rss_mb {
        parts.push((7, format!("RSS {rss:.0} MB")));
    }
    if let Some(remaining) = progress.remaining {
        parts.push((4, format!("{} left", figure::clock(remaining))));
    } else if let Some(share) = progress.share {
        parts.push((4, format!("{:.0}% done", share * 100.0)));
    }
    loop {
        let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
        let line = texts.join("  ");
        if line.width() <= width {
            return line;
        }
        let least = parts
            .iter()
            .enumerate()
            .max_by_key(|(_, (rank, _))| *rank)
            .map(|(index, _)| index);
        match least {
            Some(index) if parts.len() > 1 => drop(parts.remove(index)),
            // Not even the time fits.
            _ => return line.chars().take(width).collect(),
        }
    }
}

fn errors(progress: &Progress) -> String {
    match progress.failed {
        0 => "no errors".to_owned(),
        failed => format!(
            "{} ({})",
            figure::counted(failed, "error"),
            figure::rough_percent(figure::share(failed, progress.completed))
        ),
    }
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
