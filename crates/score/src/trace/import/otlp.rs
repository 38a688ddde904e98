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

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use self::span::Span;
use super::document::Document;
use super::few::many;
use super::{ImportError, ImportedRuns};

/// What an exporter writes. Spans are parsed one by one.
#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow, default, rename = "resourceSpans", alias = "resource_spans")]
    resource_spans: Vec<ResourceSpans<'a>>,
}

#[derive(Deserialize)]
struct ResourceSpans<'a> {
    #[serde(borrow, default, rename = "scopeSpans", alias = "scope_spans")]
    scope_spans: Vec<ScopeSpans<'a>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow, default)]
    spans: Vec<&'a RawValue>,
}

/// Reads every trace.
pub(super) fn read(document: &Document<'_>) -> Result<ImportedRuns, ImportError> {
    let mut traces: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    let mut count = 0_usize;
    let mut exported_again = 0_usize;
    // The place of each span in its trace.
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    for element in &document.elements {
        let spans = read_export(document, element.json).map_err(|error| element.locate(error))?;
        for (trace, mut span) in spans {
            span.place = count;
            count += 1;
            let of_trace = traces.entry(trace.clone()).or_default();
            if !has_id(&span) {
                of_trace.push(span);
                continue;
            }
            let place = places.entry((trace, span.id.clone()));
            let place = *place.or_insert(of_trace.len());
            match of_trace.get_mut(place) {
                Some(before) if before.is_same(&span) => {
                    exported_again += 1;
                    before.add(span);
                }
                _ => of_trace.push(span),
            }
        }
    }
    let mut traces: Vec<Vec<Span>> = traces
        .into_values()
        .filter(|spans| spans.iter().any(Span::is_of_agent))
        .collect();
    if traces.is_empty() {
        return Err(ImportError::shape(
            format!(
                "{} in it, and none is about a model or a tool",
                many(count, "span")
            ),
            "spans must have `gen_ai.operation.name` or `mcp.method.name`",
        ));
    }
    traces.sort_by_key(|spans| first_start(spans));
    let mut read = ImportedRuns::from(traces.into_iter().map(run::read).collect::<Vec<_>>());
    if exported_again > 0 {
        let spans = many(exported_again, "span");
        read.notes
            .push(format!("{spans} exported again, counted once"));
    }
    Ok(read)
}

/// Whether a span has an id that tells it from others: one of zeros is none.
fn has_id(span: &Span) -> bool {
    span.id.bytes().any(|byte| byte != b'0')
}

/// When the trace began; one without a time is last.
fn first_start(spans: &[Span]) -> (u64, usize) {
    let start = spans.iter().filter_map(|span| span.start).min();
    let place = spans.iter().map(|span| span.place).min();
    (start.unwrap_or(u64::MAX), place.unwrap_or(usize::MAX))
}

/// The spans of one export, each with its trace.
fn read_export<'a>(
    document: &Document<'a>,
    json: &'a str,
) -> Result<Vec<(String, Span)>, ImportError> {
    let export: Export<'a> = document.parse(json)?;
    let mut spans = Vec::new();
    for (resource, resource_spans) in export.resource_spans.into_iter().enumerate() {
        for (scope, scope_spans) in resource_spans.scope_spans.into_iter().enumerate() {
            for (index, span) in scope_spans.spans.into_iter().enumerate() {
                let read = document.parse(span.get()).and_then(span::read);
                let read = read.map_err(|error| {
                    let error = error.at(index).within("spans");
                    let error = error.at(scope).within("scopeSpans");
                    error.at(resource).within("resourceSpans")
                })?;
                spans.push(read);
            }
        }
    }
    Ok(spans)
}
