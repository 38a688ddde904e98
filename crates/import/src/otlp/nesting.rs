//! Which spans stand inside which, and which of them tell of the same thing.
//!
//! An agent's `execute_tool` span can have the span of its MCP client in it, and that the span of
//! the server: one call, told three times. An inner span is the same call when the name is the
//! same, the arguments do not differ, and either one of both is of MCP or they have the same call
//! id. Each span stands for one inner span only: a second one is a call that was made again, and no
//! call may hide behind another.

use super::span::{Kind, Span};
use crate::prelude::*;

/// How the spans of a trace stand inside each other.
pub struct Nesting {
    /// For each span the outermost one that tells of the same thing; often itself.
    pub tellers: Vec<usize>,
    /// Whether a span is part of what a tool does, such as the replies of a sub-agent.
    pub is_in_tool: Vec<bool>,
}

/// Where to look next.
enum Next {
    Found(usize),
    Go(usize),
    Nowhere,
}

/// Finds out about the spans of one trace, which are in the order of their start.
pub fn find(spans: &[Span]) -> Nesting {
    let around = spans_around(spans);
    let is_in_tool = follow(spans.len(), |at| match around[at] {
        None => Next::Nowhere,
        Some(outer) if matches!(spans[outer].kind, Kind::Tool(_)) => Next::Found(outer),
        Some(outer) => Next::Go(outer),
    });
    let hosts = hosts(spans, &around);
    let tellers = follow(spans.len(), |at| {
        hosts[at].map_or(Next::Found(at), Next::Go)
    });
    Nesting {
        tellers: (0..)
            .zip(tellers)
            .map(|(at, teller)| teller.unwrap_or(at))
            .collect(),
        is_in_tool: is_in_tool.iter().map(Option::is_some).collect(),
    }
}

/// For each span the nearest one around it that is about a tool, a model or an agent; spans of
/// HTTP and the like are looked through.
fn spans_around(spans: &[Span]) -> Vec<Option<usize>> {
    let places: BTreeMap<&str, usize> = spans
        .iter()
        .enumerate()
        .filter(|(_, span)| !span.id.is_empty())
        .map(|(place, span)| (span.id.as_str(), place))
        .collect();
    follow(spans.len(), |at| {
        match places.get(spans[at].parent.as_str()) {
            Some(&outer) if spans[outer].is_of_agent() => Next::Found(outer),
            Some(&outer) => Next::Go(outer),
            None => Next::Nowhere,
        }
    })
}

/// For each span the one around it that tells of the same thing.
fn hosts(spans: &[Span], around: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut has_guest = vec![false; spans.len()];
    spans
        .iter()
        .zip(around)
        .map(|(span, outer)| {
            let outer = (*outer)?;
            let is_guest = !has_guest[outer] && is_same(&spans[outer].kind, &span.kind);
            has_guest[outer] |= is_guest;
            is_guest.then_some(outer)
        })
        .collect()
}

fn is_same(outer: &Kind, inner: &Kind) -> bool {
    let (outer, inner) = match (outer, inner) {
        (Kind::Tool(outer), Kind::Tool(inner)) => (outer, inner),
        (Kind::Model(_), Kind::Model(_)) => return true,
        _ => return false,
    };
    let have_same_arguments =
        !outer.has_arguments || !inner.has_arguments || outer.call.args == inner.call.args;
    let are_linked = outer.is_mcp || inner.is_mcp || (outer.id.is_some() && outer.id == inner.id);
    outer.call.name == inner.call.name
        && outer.may_have_server_of(inner)
        && have_same_arguments
        && are_linked
}

/// Goes on from every place until something is found; what is found holds for all places on the
/// way, so each is visited once. Nothing is found in a circle.
fn follow(count: usize, next: impl Fn(usize) -> Next) -> Vec<Option<usize>> {
    let mut found = vec![None; count];
    let mut is_visited = vec![false; count];
    let mut way = Vec::new();
    for start in 0..count {
        let mut at = start;
        let end = loop {
            if at >= count || is_visited[at] {
                break found.get(at).copied().flatten();
            }
            is_visited[at] = true;
            way.push(at);
            match next(at) {
                Next::Found(end) => break Some(end),
                Next::Go(on) => at = on,
                Next::Nowhere => break None,
            }
        };
        for place in way.drain(..) {
            found[place] = end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_found_holds_for_all_on_the_way() {
        // 0 → 1 → 2, which has found 7; 3 and 4 are a circle; 5 leads out of it all.
        let ends = follow(6, |at| match at {
            0 | 1 => Next::Go(at + 1),
            2 => Next::Found(7),
            3 => Next::Go(4),
            4 => Next::Go(3),
            _ => Next::Go(99),
        });
        assert_eq!(ends, [Some(7), Some(7), Some(7), None, None, None]);
    }

    proptest! {
        #[test]
        fn every_way_ends(steps in prop::collection::vec(0..40_usize, 0..40)) {
            let ends = follow(steps.len(), |at| match steps[at] {
                step if step < steps.len() => Next::Go(step),
                step => Next::Found(step),
            });
            prop_assert_eq!(ends.len(), steps.len());
            prop_assert!(ends.into_iter().flatten().all(|end| end >= steps.len()));
        }
    }
}
