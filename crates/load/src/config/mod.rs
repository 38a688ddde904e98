//! The configuration of a load run: a server, a scenario, limits, and what is written.
//!
//! [`LoadConfig`] is read from TOML or YAML, which have the same structure, and written as TOML
//! with secrets taken out. Its settings are those of [`sections`].

mod scenario;
pub mod schema;
pub mod sections;
mod server;
mod settings;
mod write;

use crate::prelude::*;
use mcprove_client::session::CallLimits;
use mcprove_settings::error::{ConfigError, ConfigErrors};
use mcprove_settings::reader::Warning;
use mcprove_settings::tree::{Document, Wanted};

pub use mcprove_settings::secret::REDACTED;
pub use server::{
    CommandWords, Headers, ServerSettings, Variables, address, parts_of_url, read_alone, read_table,
};
pub use settings::read_parts;

/// The configuration that `mcprove example-config` prints: everything explained in comments. What is not commented out
/// is valid as it is, for a server that its user edits.
pub fn example() -> &'static str {
    include_str!("example.toml")
}

/// What to say of a file that cannot be read.
const WANTED: Wanted = Wanted {
    when_missing: || {
        sentence!(
            "check the path{}{}",
            command(", or write a new one: ", "init", " for a suite, "),
            command("", "example-config", " for a load")
        )
    },
    when_too_large: || {
        sentence!(
            "is it a configuration at all?{}",
            command(" ", "example-config", " prints one")
        )
    },
};

/// A load run, as a file describes it.
///
/// ```
/// use mcprove_load::config::LoadConfig;
///
/// let text = r#"
/// [server]
/// command = "python"
/// args = ["-m", "my_mcp"]
///
/// [scenario]
/// type = "sustained"
/// concurrent = 50
/// "#;
/// let config = LoadConfig::parse_toml(text, "bench.toml").unwrap();
/// assert_eq!(config.scenario.kind.concurrent(), 50);
///
/// let wrong = text.replace("concurrent", "concurent");
/// let errors = LoadConfig::parse_toml(&wrong, "bench.toml").unwrap_err();
/// assert!(errors.to_string().starts_with("error: bench.toml:8:1: unknown key \"concurent\""));
/// assert!(errors.to_string().ends_with("hint: did you mean \"concurrent\"?"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LoadConfig {
    /// The server under test.
    pub server: Server,
    /// What is done to it.
    pub scenario: Scenario,
    /// What it must keep to.
    pub thresholds: Thresholds,
    /// What goes wrong on purpose meanwhile.
    pub faults: Vec<LoadFault>,
    /// Settings of the session.
    pub session: SessionSettings,
    /// What is written and shown.
    pub output: OutputSettings,
    /// What is odd about the file but harmless, each with its place.
    pub warnings: Vec<Warning>,
}

/// Settings of a session with a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Settings)]
pub struct SessionSettings {
    /// The revision to speak.
    #[setting(default = "auto")]
    pub protocol: ProtocolChoice,
    /// Fail when the server chooses another revision than the one asked for.
    #[setting(default = false)]
    pub strict_protocol: bool,
    #[setting(like = CallLimits::CALL_TIMEOUT, otherwise = "30s; in a load as long as a queued call is waited for")]
    pub call_timeout: Option<Duration>,
    #[setting(like = CallLimits::MAX_FRAME)]
    pub max_frame: Option<usize>,
    /// Answer a server that asks for input (elicitation, sampling) with generated values instead of declining.
    #[setting(default = false)]
    pub accept_requests: Option<bool>,
    /// Whether the transport was named: only an address without one falls back from HTTP to HTTP+SSE.
    pub has_transport: bool,
}

/// What is written and shown.
#[derive(Debug, Clone, PartialEq, Eq, Settings)]
pub struct OutputSettings {
    /// Where the directory of the run is made.
    #[setting(default = "./runs", flag = "out")]
    pub report_dir: PathBuf,
    /// Which reports are written, and whether the terminal shows one.
    #[setting(otherwise = "all of them", flag = false)]
    pub formats: Vec<Format>,
    /// Whether every call is written to trace.jsonl.
    #[setting(default = true, flag = "no-trace")]
    pub trace: bool,
    /// How much of each result is kept in the trace.
    #[setting(otherwise = "1KiB")]
    pub trace_value_bytes: Option<usize>,
}

/// A report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `report.md`.
    Markdown,
    /// `metrics.json` and `summary.json`.
    Json,
    /// On the terminal.
    Terminal,
    /// `report.html`.
    Html,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Json, Self::Terminal, Self::Html];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Json => "json",
            Self::Terminal => "terminal",
            Self::Html => "html",
        }
    }
}

impl LoadConfig {
    /// Of a server and a scenario, everything else as when nothing is given.
    pub fn new(server: Server, scenario: Scenario) -> Self {
        Self {
            server,
            scenario,
            thresholds: Thresholds::default(),
            faults: Vec::new(),
            session: SessionSettings::default(),
            output: OutputSettings::default(),
            warnings: Vec::new(),
        }
    }

    /// The run that it describes, on this server. `described` is what `config.toml` says of it.
    pub fn run(&self, server: Server, described: &Self) -> Run {
        let has = |format| self.output.formats.contains(&format);
        let run = Run::new(server, self.scenario.clone())
            .with_thresholds(self.thresholds.clone())
            .with_faults(self.faults.clone())
            .with_output_dir(self.output.report_dir.clone())
            .with_trace(self.output.trace)
            .with_config(described.to_toml())
            .with_reports(has(Format::Markdown), has(Format::Html))
            .with_session(self.session.options());
        match self.output.trace_value_bytes {
            Some(bytes) => run.with_trace_value_bytes(bytes),
            None => run,
        }
    }

    /// Reads TOML; `file` is its name in messages.
    pub fn parse_toml(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        Self::from_document(&Document::from_toml(text, file)?)
    }

    /// The document of a file, to be read by [`LoadConfig::from_document`].
    pub fn document(path: &Path) -> Result<Document, ConfigErrors> {
        Document::read_by_name(path, WANTED)
    }

    /// Takes a document apart.
    pub fn from_document(document: &Document) -> Result<Self, ConfigErrors> {
        Self::read_document(document, None)
    }

    /// The same without a server, which is given besides: that of the file, if it has one, is left out.
    pub fn for_server(document: &Document, server: &Server) -> Result<Self, ConfigErrors> {
        Self::read_document(document, Some(server))
    }

    fn read_document(document: &Document, server: Option<&Server>) -> Result<Self, ConfigErrors> {
        let mut reader = Reader::new(document);
        let config = settings::read_config(&mut reader, &document.root, server);
        let warnings = reader.finish()?;
        let config = config.ok_or_else(|| {
            ConfigErrors::of(ConfigError::of_file(
                &document.file,
                "is not a load configuration",
                command("", "example-config", " prints one"),
            ))
        })?;
        Ok(Self { warnings, ..config })
    }

    /// The configuration as TOML: everything that is needed to run it again, except secrets, in
    /// whose place stands [`REDACTED`].
    ///
    /// ```
    /// use mcprove_load::config::LoadConfig;
    /// use mcprove_client::server::Server;
    /// use mcprove_load::drive::Scenario;
    ///
    /// let server = Server::http("http://127.0.0.1:8080/mcp").header("Authorization", "Bearer t");
    /// let text = LoadConfig::new(server, Scenario::sustained()).to_toml();
    /// assert!(text.contains("Authorization = \"<redacted>\""));
    /// ```
    pub fn to_toml(&self) -> String {
        write::to_toml(self)
    }
}

#[cfg(test)]
mod tests;
