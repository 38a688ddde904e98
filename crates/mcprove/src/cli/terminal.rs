//! What standard output is: how wide, and whether it takes colours.

use std::fmt::Display;

use crate::prelude::*;

/// The width assumed where none can be found out.
const WIDTH: usize = 80;
/// Lines longer than this are hard to read on any screen.
const WIDTH_MAX: usize = 120;

/// How summaries are drawn on standard error.
pub const STDERR_STYLE: Style = Style::plain(WIDTH);

/// How to draw for standard output.
pub fn style() -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let measured = || Some(usize::from(terminal_size::terminal_size()?.0.0));
    let width = columns().or_else(measured).unwrap_or(WIDTH);
    let width = width.clamp(40, WIDTH_MAX);
    let color = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style {
        width,
        color,
        unicode: is_terminal && speaks_unicode(),
        verbose: false,
    }
}

/// How to draw lines that programs take apart too: in a pipe they are as long as they are.
pub fn style_of_lines() -> Style {
    if std::io::stdout().is_terminal() {
        style()
    } else {
        Style::plain(usize::MAX)
    }
}

/// Whether the locale says that more than ASCII can be shown. Windows terminals say nothing, and
/// can.
fn speaks_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    locale.map_or(cfg!(windows), |locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// What messages are printed without.
static REDACTOR: Mutex<Option<Redactor>> = Mutex::new(None);

/// Sets which secrets messages are printed without.
pub fn redact(redactor: &Redactor) {
    *lock(&REDACTOR) = Some(redactor.clone());
}

/// A message without secrets.
pub fn redacted(text: &str) -> String {
    match &*lock(&REDACTOR) {
        Some(redactor) => redactor.plain(text).into_owned(),
        None => text.to_owned(),
    }
}

/// Writes to standard error. That nobody can read it changes nothing about how a command ends.
pub fn print_error(text: &str) {
    use std::io::Write;
    let text = redacted(text);
    let text = escape_hidden(&text);
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A text whose lines are printable, each no longer than this.
pub fn printable_lines(text: &str, line_max: usize) -> String {
    text.lines()
        .map(|line| printable(line, line_max) + "\n")
        .collect()
}

/// Tells what is odd, but harmless.
pub fn warn(warning: &dyn Display) {
    print_error(&format!("warning: {warning}\n"));
}

/// Writes to standard output, with hidden characters escaped. A reader that went away (`| head`) is no error; a
/// full disk is.
pub fn print(text: &str) {
    losses::written(Path::new("standard output"), try_print(text).map(drop));
}

/// As [`print`]; false where the reader went away.
pub fn try_print(text: &str) -> io::Result<bool> {
    use std::io::Write;
    let text = escape_hidden(text);
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    match written.and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// One line on stderr that says what is going on, and is gone when the work is done. Only people
/// see it: nothing is written when stderr is no terminal.
pub struct StatusLine {
    is_shown: bool,
}

impl StatusLine {
    /// The longest text that is shown.
    pub const WIDTH: usize = WIDTH - 1;

    /// Replaces what is shown.
    pub fn show(&self, text: &str) {
        if self.is_shown {
            let text = printable(text, Self::WIDTH - 1);
            print_error(&format!("\r\u{1b}[2K{text}"));
        }
    }
}

/// Nothing shown yet.
impl Default for StatusLine {
    fn default() -> Self {
        Self {
            is_shown: std::io::stderr().is_terminal(),
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.show("");
    }
}
