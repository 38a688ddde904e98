//! Reads spans of OpenTelemetry from OTLP JSON: one export, or one per line. Attribute names are
//! those of the semantic conventions for generative AI and for MCP (version 1.41, and what they
//! were before, where instrumentations still write it).
//!
//! One trace is one run. Spans of the operation `execute_tool` and of the MCP method `tools/call`
//! are calls, in the order of their start; spans of inference give the model, the tokens and what
//! was said. One call can have several spans, one inside the other (the agent's, that of its MCP
//! client, that of the server): [`nesting`] finds those, and they are one call here. A call can also
//! stand in the messages only: [`messages`] finds it there.

mod messages;
mod nesting;
mod run;
mod span;
mod value;

use self::span::Span;
use crate::prelude::*;

/// What an exporter writes.
#[derive(Deserialize)]
struct Export {
    #[serde(default, rename = "resourceSpans", alias = "resource_spans")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
struct ResourceSpans {
    #[serde(default, rename = "scopeSpans", alias = "scope_spans")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<Span>,
}

/// Reads every trace.
pub fn read(document: &Document<'_>) -> Result<ImportedRuns> {
    let mut traces: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    let mut count = 0_usize;
    let mut exported_again = 0_usize;
    // The place of each span in its trace.
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    document.each(|element| {
        let export: Export = document.parse(element.json)?;
        let scopes = export
            .resource_spans
            .into_iter()
            .flat_map(|resource| resource.scope_spans);
        for mut span in scopes.flat_map(|scope| scope.spans) {
            span.place = count;
            count += 1;
            let of_trace = traces.entry(span.trace.clone()).or_default();
            // An id of zeros is none.
            let place = span.id.bytes().any(|byte| byte != b'0').then(|| {
                let place = places.entry((span.trace.clone(), span.id.clone()));
                *place.or_insert(of_trace.len())
            });
            match place.and_then(|place| of_trace.get_mut(place)) {
                Some(before) if before.is_same(&span) => {
                    exported_again += 1;
                    before.add(span);
                }
                _ => of_trace.push(span),
            }
        }
        Ok(())
    })?;
    let mut traces: Vec<Vec<Span>> = traces
        .into_values()
        .filter(|spans| spans.iter().any(Span::is_of_agent))
        .collect();
    if traces.is_empty() {
        return refuse(
            format!(
                "{} in it, and none is about a model or a tool",
                many(count, "span")
            ),
            "spans must have `gen_ai.operation.name` or `mcp.method.name`",
        );
    }
    traces.sort_by_key(|spans| first_start(spans));
    let mut notes = Vec::new();
    if exported_again > 0 {
        let spans = many(exported_again, "span");
        notes.push(format!("{spans} exported again, counted once"));
    }
    Ok((traces.into_iter().map(run::read).collect(), notes))
}

/// When the trace began; one without a time is last.
fn first_start(spans: &[Span]) -> (u64, usize) {
    let start = spans.iter().filter_map(|span| span.start).min();
    let place = spans.iter().map(|span| span.place).min();
    (start.unwrap_or(u64::MAX), place.unwrap_or(usize::MAX))
}
