//! Which calls, by their place in the order of arrival: `"1-3,7"`, `"5-"`.

use std::fmt;
use std::str::FromStr;

/// Calls by ordinal, counted from 1.
///
/// ```
/// use mcprove_fault::Ordinals;
///
/// let ordinals: Ordinals = "1-3,7,20-".parse().unwrap();
/// let struck: Vec<u64> = (1..=9).filter(|ordinal| ordinals.contains(*ordinal)).collect();
/// assert_eq!(struck, [1, 2, 3, 7]);
/// assert!(ordinals.contains(1_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordinals(Vec<Range>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u64,
    /// `None` for no end.
    last: Option<u64>,
}

/// Why a text names no calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part:?} names no calls: give ordinals from 1 and ranges, such as \"1-3,7\" or \"5-\"")]
pub struct OrdinalsError {
    /// The part that was not understood.
    pub part: String,
}

impl Ordinals {
    /// Whether this call is one of them.
    pub fn contains(&self, ordinal: u64) -> bool {
        self.0
            .iter()
            .any(|range| range.first <= ordinal && range.last.is_none_or(|last| ordinal <= last))
    }

    /// The last of them; `None` if there is no end.
    pub fn last(&self) -> Option<u64> {
        let lasts: Option<Vec<u64>> = self.0.iter().map(|range| range.last).collect();
        lasts?.into_iter().max()
    }
}

impl FromStr for Ordinals {
    type Err = OrdinalsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ranges: Result<Vec<Range>, _> = text.split(',').map(range).collect();
        Ok(Self(ranges?))
    }
}

fn range(part: &str) -> Result<Range, OrdinalsError> {
    let error = || OrdinalsError {
        part: part.trim().to_owned(),
    };
    let number = |text: &str| -> Result<u64, OrdinalsError> {
        let number = text.trim().parse().ok();
        number.filter(|number| *number > 0).ok_or_else(error)
    };
    let (first, last) = match part.split_once('-') {
        None => (part, Some(part)),
        Some((first, last)) => (first, Some(last).filter(|last| !last.trim().is_empty())),
    };
    let range = Range {
        first: number(first)?,
        last: last.map(number).transpose()?,
    };
    if range.last.is_some_and(|last| last < range.first) {
        return Err(error());
    }
    Ok(range)
}

impl fmt::Display for Ordinals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.0.iter().map(|range| match range.last {
            Some(last) if last == range.first => last.to_string(),
            Some(last) => format!("{}-{last}", range.first),
            None => format!("{}-", range.first),
        });
        formatter.write_str(&ranges.collect::<Vec<_>>().join(","))
    }
}
