//! Which calls, by their place in the order of arrival: `"1-3,7"`, `"5-"`.

use std::ops::RangeInclusive;

use crate::prelude::*;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Ordinals(Vec<RangeInclusive<u64>>);

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
        self.0.iter().any(|range| range.contains(&ordinal))
    }

    /// The last of them; `None` if there is no end.
    pub fn last(&self) -> Option<u64> {
        let last = self.0.iter().map(|range| *range.end()).max();
        last.filter(|last| *last < u64::MAX)
    }
}

impl FromStr for Ordinals {
    type Err = OrdinalsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ranges = text.split(',').map(|part| {
            range(part).ok_or_else(|| OrdinalsError {
                part: part.trim().to_owned(),
            })
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

/// `7`, `1-3`, or `5-` without an end.
fn range(part: &str) -> Option<RangeInclusive<u64>> {
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number > 0);
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let last = match last.trim() {
        "" => u64::MAX,
        last => number(last)?,
    };
    Some(number(first)?..=last).filter(|range| !range.is_empty())
}

impl From<Ordinals> for String {
    fn from(ordinals: Ordinals) -> Self {
        ordinals.to_string()
    }
}

impl fmt::Display for Ordinals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self
            .0
            .iter()
            .map(|range| match (range.start(), range.end()) {
                (first, last) if first == last => last.to_string(),
                (first, &u64::MAX) => format!("{first}-"),
                (first, last) => format!("{first}-{last}"),
            });
        formatter.write_str(&ranges.collect::<Vec<_>>().join(","))
    }
}
