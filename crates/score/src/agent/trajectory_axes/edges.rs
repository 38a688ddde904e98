//! Where tools were called, and why an edge between two does not hold.

use super::{Dependency, Order};
use crate::prelude::*;

/// Where a tool was called first and last.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

/// Where the tools were called, by their names and by their servers too.
pub struct Spans<'a>(BTreeMap<Tool<'a>, Span>);

impl<'a> Spans<'a> {
    pub fn of(calls: &'a [ToolCall]) -> Self {
        let mut spans: BTreeMap<Tool<'a>, Span> = BTreeMap::new();
        for (index, call) in calls.iter().enumerate() {
            let once = Span {
                first: index,
                last: index,
            };
            spans.entry(tool_of(call)).or_insert(once).last = index;
        }
        Self(spans)
    }

    /// Where a tool was called, as it is written.
    fn get(&self, written: &str) -> Option<Span> {
        let name = ToolName::exact(written);
        let of_tool = self.0.iter();
        let fitting =
            of_tool.filter(|((tool, server), _)| name.fit_tool(tool, *server) == Fit::Yes);
        fitting.map(|(_, span)| *span).reduce(|one, other| Span {
            first: one.first.min(other.first),
            last: one.last.max(other.last),
        })
    }
}

/// Why a dependency does not hold.
pub fn broken_dependency(edge: &Dependency, spans: &Spans<'_>) -> Option<String> {
    let (producer, consumer) = match spans_of(&edge.producer, &edge.consumer, spans) {
        Ok(both) => both,
        Err(reason) => return Some(reason),
    };
    (consumer.last <= producer.last).then(|| {
        format!(
            "{} was last called at call {}, not after {}, whose output it reads and which was last called at call {}",
            phrase::name(&edge.consumer),
            consumer.last,
            phrase::name(&edge.producer),
            producer.last,
        )
    })
}

/// Why an order does not hold.
pub fn broken_order(edge: &Order, spans: &Spans<'_>) -> Option<String> {
    let (first, second) = match spans_of(&edge.first, &edge.second, spans) {
        Ok(both) => both,
        Err(reason) => return Some(reason),
    };
    (first.first >= second.last).then(|| {
        format!(
            "{} was first called at call {}, not before {}, which was last called at call {}",
            phrase::name(&edge.first),
            first.first,
            phrase::name(&edge.second),
            second.last,
        )
    })
}

/// Where both tools were called, or which of them was not.
fn spans_of(earlier: &str, later: &str, spans: &Spans<'_>) -> Result<(Span, Span), String> {
    match (spans.get(earlier), spans.get(later)) {
        (Some(earlier), Some(later)) => Ok((earlier, later)),
        (None, None) if earlier != later => Err(format!(
            "{} and {} were never called",
            phrase::name(earlier),
            phrase::name(later)
        )),
        (None, _) => Err(format!(
            "{} was never called, but must come before {}",
            phrase::name(earlier),
            phrase::name(later)
        )),
        (Some(_), None) => Err(format!(
            "{} was never called, but must come after {}",
            phrase::name(later),
            phrase::name(earlier)
        )),
    }
}
