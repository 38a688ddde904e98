//! How a text is drawn: for a terminal, or plain for a pipe.

/// How a text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours are used.
    pub color: bool,
    /// Whether bars are drawn with block characters; else with `#`.
    pub unicode: bool,
}

impl Style {
    /// Without colours and block characters, for pipes and files.
    pub const fn plain(width: usize) -> Self {
        Self {
            width,
            color: false,
            unicode: false,
        }
    }

    /// `text` in a colour, if colours are used. Only for texts that are laid out already: the
    /// codes have no width, and what measures texts does not know that.
    pub fn paint(self, text: &str, color: Color) -> String {
        if self.color {
            format!("\u{1b}[{}m{text}\u{1b}[0m", color.code())
        } else {
            text.to_owned()
        }
    }
}

/// A colour with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// It holds.
    Green,
    /// It failed.
    Red,
    /// Worth a look.
    Yellow,
}

impl Color {
    const fn code(self) -> &'static str {
        match self {
            Self::Green => "32",
            Self::Red => "31",
            Self::Yellow => "33",
        }
    }
}
