//! A report as blocks and spans, and what draws them: terminal, Markdown, HTML.

pub mod block;
pub mod figure;
#[cfg(feature = "html")]
pub mod html;
mod markdown;
pub mod style;
pub mod terminal;

/// What every report is made of.
pub mod prelude {
    pub use crate::block::{
        Block, Chart, Document, Figure, Finding, Limit, Line, Screen, Section, Table, Tone, Verdict,
    };
    pub use crate::cells;
    pub use crate::figure::{
        self, count, counted, known, latency, maybe_decimal, maybe_fixed, maybe_milliseconds,
        megabytes, milliseconds, percent, rate, rough_percent,
    };
}
