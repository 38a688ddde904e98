//! How a text is drawn: for a terminal, or plain for a pipe.

use crate::block::Tone;

/// How a text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours are used.
    pub color: bool,
    /// Whether bars are drawn with block characters; else with `#`.
    pub unicode: bool,
    /// Whether details are shown, and no table or list is cut short.
    pub verbose: bool,
}

impl Style {
    /// Without colours and block characters, for pipes and files.
    pub const fn plain(width: usize) -> Self {
        Self {
            width,
            color: false,
            unicode: false,
            verbose: false,
        }
    }

    /// `text` in the colour of its tone, if colours are used.
    pub fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Unclear => "33",
            Tone::Neutral => return text.to_owned(),
        };
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
