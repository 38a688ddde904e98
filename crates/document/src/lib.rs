//! A report as blocks and spans, and what draws them: terminal, Markdown, HTML.

pub mod block;
pub mod figure;
#[cfg(feature = "html")]
pub mod html;
mod markdown;
pub mod style;
pub mod terminal;
