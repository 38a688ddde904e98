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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Ordinals(Vec<RangeInclusive<u64>>);

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
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let ranges: Option<_> = text.split(',').map(range).collect();
        ranges.map(Self).ok_or(())
    }
}

/// A text, a number, or a list of numbers.
impl SettingType for Ordinals {
    const KIND: Kind = Kind::Other("ordinals and ranges of them", || {
        json!({
            "anyOf": [
                { "type": "string", "minLength": 1 },
                { "type": "integer", "minimum": 1 },
                { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 },
            ],
        })
    });

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let each = match &field.value.data {
            Data::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&field.value),
        };
        let texts: Vec<String> = each.iter().filter_map(|node| node.data.plain()).collect();
        let read = texts.join(",").parse().ok();
        read.filter(|_| texts.len() == each.len()).or_else(|| {
            let hint =
                "write \"1-3,7\" for the first three and the seventh, \"5-\" from the fifth on";
            reader.refuse(field, "ordinals from 1 and ranges of them", hint)
        })
    }

    fn write(&self) -> Option<Data> {
        Some(Data::Text(self.to_string()))
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
