//! Agent traces from several files, scored together: the runs of one agent, in order.
//!
//! Whoever reads the files hands over their bytes, one file after the other.

use mcprove_import::{ImportError, import};
use mcprove_score::gate::{ScoreReport, score};
use mcprove_settings::tree::not_text;

use crate::prelude::*;

/// What a source without a file is called in messages.
const NAMELESS: &str = "standard input";

/// The runs of an agent, and where they are from.
///
/// ```
/// use mcprove_suite::traces::Traces;
/// use mcprove_score::gate::Gates;
///
/// let mut traces = Traces::default();
/// traces.add(Some("a.json"), br#"{"tool_calls":[]}"#, None).unwrap();
/// let error = traces.add(Some("b.json"), b"{", None).unwrap_err();
/// assert!(error.to_string().starts_with("error: b.json:1:"));
///
/// let report = traces.score(&Gates::default());
/// assert_eq!(report.runs[0].file.as_deref(), Some("a.json"));
/// ```
#[derive(Debug, Clone)]
pub struct Traces {
    trace: AgentTrace,
    /// The file of each run.
    files: Vec<Option<String>>,
    /// How many sources were taken.
    sources: usize,
    /// What a reader should know of each source.
    notes: Vec<(String, String)>,
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            trace: AgentTrace::new(Vec::new()),
            files: Vec::new(),
            sources: 0,
            notes: Vec::new(),
        }
    }
}

impl Traces {
    /// Adds the runs of a file, after those that are there; without a name it is standard input. The
    /// format is found out unless it is given.
    pub fn add(
        &mut self,
        file: Option<&str>,
        bytes: &[u8],
        format: Option<Format>,
    ) -> Result<(), ConfigErrors> {
        let name = file.unwrap_or(NAMELESS);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            ConfigErrors::of(ConfigError {
                hint: Some("is it a trace at all? traces are JSON, in UTF-8".into()),
                ..not_text(name, bytes, error.valid_up_to())
            })
        })?;
        let imported = match format {
            None => import(text),
            Some(format) => import_as(text, format),
        };
        let imported = imported.map_err(|error| ConfigErrors::of(describe(name, error)))?;
        let runs = imported.trace.runs;
        let files = std::iter::repeat_n(file.map(str::to_owned), runs.len());
        self.files.extend(files);
        self.trace.runs.extend(runs);
        self.sources += 1;
        let notes = imported.notes.into_iter();
        self.notes.extend(notes.map(|note| (name.to_owned(), note)));
        Ok(())
    }

    /// Tells the reader something about a source that was added.
    pub fn note(&mut self, file: Option<&str>, note: impl Into<String>) {
        let name = file.unwrap_or(NAMELESS).to_owned();
        self.notes.push((name, note.into()));
    }

    /// Scores all runs together, and tells the file of each.
    pub fn score(&self, gates: &Gates) -> ScoreReport {
        let mut report = score(&self.trace, gates);
        for (run, file) in report.runs.iter_mut().zip(&self.files) {
            run.file.clone_from(file);
        }
        let notes = self.notes.iter().map(|(name, note)| match self.sources {
            1 => note.clone().into(),
            _ => sentence!("{name}: {note}"),
        });
        report.notes.splice(..0, notes);
        report
    }
}

/// What is wrong with a trace, where, and what to try.
fn describe(name: &str, error: ImportError) -> ConfigError {
    let message = match error.path {
        Some(path) => error.message.after(format!("{path}: ")),
        None => error.message,
    };
    let place = match (error.line, error.column) {
        (Some(line), column) => Some(SourcePlace {
            line,
            column: column.unwrap_or(1),
        }),
        (None, _) => None,
    };
    ConfigError {
        place,
        ..ConfigError::of_file(name, message, error.hint)
    }
}

#[cfg(test)]
mod tests;
