//! The directory of a run: what is in it, and saved runs.

use mcprove_settings::input;
use mcprove_settings::outside::{LINKED, is_linked};
use mcprove_settings::whole_file::write_private;

use super::format;
use crate::prelude::*;

/// The largest `metrics.json` that is read.
const METRICS_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The directory of one run: `<UTC time>-<id>`, which only its owner may read, with
///
/// | file | holds |
/// |---|---|
/// | `config.toml` | what was run, without secrets; from a command only |
/// | `trace.jsonl` | everything that happened, unless turned off |
/// | `metrics.json` | the report |
/// | `summary.json` | passed or not, for CI |
/// | `report.md`, `report.html` | the report for people, unless turned off |
/// | `latency.hlog` | latency by the second, as an `HdrHistogram` log |
/// | `server.stderr.log`, `server.stdout.log` | what the server wrote besides messages |
///
/// ```no_run
/// use std::path::Path;
/// use mcprove_load::run::{RunDirectory, recompute};
///
/// let directory = RunDirectory::open(Path::new("runs/2026-05-10T14-30-00-ABCDEF")).unwrap();
/// let report = recompute(&directory).unwrap().report;
/// assert_eq!(directory.write_report(&report), []);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Creates the directory of a run that started then, under `base`.
    pub fn create(base: &Path, started: SystemTime, run_id: &str) -> io::Result<Self> {
        // The end of a ULID is its random part.
        let id = run_id
            .get(run_id.len().saturating_sub(6)..)
            .unwrap_or(run_id);
        let path = base.join(directory_name(started, id));
        std::fs::create_dir_all(base).map_err(at("create the directory", base))?;
        // Never the directory of another run.
        private_file::create_dir(&path).map_err(at("create the directory", &path))?;
        Ok(Self { path })
    }

    /// The directory at `path`, which must be one of a run.
    pub fn open(path: &Path) -> io::Result<Self> {
        let directory = Self {
            path: path.to_owned(),
        };
        if directory.trace().exists() || directory.metrics().exists() {
            Ok(directory)
        } else {
            Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!(
                    "{} is not a run directory: it has neither trace.jsonl nor metrics.json",
                    path.display()
                ),
            ))
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `config.toml`: what was run.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// `trace.jsonl`: everything that happened.
    pub fn trace(&self) -> PathBuf {
        self.path.join("trace.jsonl")
    }

    /// `metrics.json`: the report.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.json")
    }

    /// `report.md`: the report for people.
    pub fn markdown(&self) -> PathBuf {
        self.path.join("report.md")
    }

    /// `report.html`: the report for people, with pictures.
    pub fn html(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// `summary.json`: passed or not, for CI.
    pub fn summary(&self) -> PathBuf {
        self.path.join("summary.json")
    }

    /// `latency.hlog`: latency by the second.
    pub fn latency_log(&self) -> PathBuf {
        self.path.join("latency.hlog")
    }

    /// `server.stderr.log`: what the server wrote to stderr.
    pub fn server_stderr(&self) -> PathBuf {
        self.path.join("server.stderr.log")
    }

    /// `server.stdout.log`: what was on stdout and was no message.
    pub fn server_stdout(&self) -> PathBuf {
        self.path.join("server.stdout.log")
    }

    /// Writes what a report gives: `metrics.json`, `summary.json`, `report.md`, `report.html`. Those that can be
    /// written are, whatever comes of the others, and the others are returned.
    #[must_use]
    pub fn write_report(&self, report: &Report) -> Vec<Loss> {
        self.write_some(report, true, true)
    }

    /// As [`write_report`](Self::write_report), of the reports for people only those that are wanted.
    pub fn write_some(&self, report: &Report, markdown: bool, html: bool) -> Vec<Loss> {
        let losses = Losses::default();
        let put = |path: &Path, text: String| losses.check(path, write_private(path, &text));
        put(&self.metrics(), report.to_json());
        put(&self.summary(), Summary::from(report).to_json());
        let document = crate::report::document(report, None);
        if markdown {
            put(&self.markdown(), document.markdown());
        }
        #[cfg(feature = "html")]
        if html {
            put(&self.html(), document.html());
        }
        #[cfg(not(feature = "html"))]
        let _ = html;
        losses.all()
    }

    /// Writes `config.toml`.
    pub fn write_config(&self, text: &str) -> io::Result<()> {
        let path = self.config();
        write_private(&path, text).map_err(at("write", &path))
    }

    /// The names of the files for people and programs that there are, in the order of reading.
    pub fn files(&self) -> Vec<&'static str> {
        ["report.html", "report.md", "metrics.json", "trace.jsonl"]
            .into_iter()
            .filter(|name| self.path.join(name).is_file())
            .collect()
    }
}

/// The name of a directory for something that began then: `2026-05-10T14-30-00-ABCDEF`.
pub fn directory_name(started: SystemTime, id: &str) -> String {
    let time = humantime::format_rfc3339_seconds(started).to_string();
    format!("{}-{id}", time.trim_end_matches('Z').replace(':', "-"))
}

/// A run among others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunEntry {
    /// Where it is.
    pub directory: RunDirectory,
    /// Its report, or why it cannot be read.
    pub report: Result<Box<Report>, FormatError>,
}

/// The runs under `base`, the newest first, at most `limit`.
pub fn list_runs(base: &Path, limit: usize) -> io::Result<Vec<RunEntry>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(base)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    // Names begin with the time.
    paths.sort();
    paths.reverse();
    let runs = paths
        .iter()
        .filter_map(|path| RunDirectory::open(path).ok())
        .take(limit)
        .map(|directory| RunEntry {
            report: read_metrics(&directory).map(Box::new),
            directory,
        })
        .collect();
    Ok(runs)
}

/// The report in `metrics.json`.
pub fn read_metrics(directory: &RunDirectory) -> Result<Report, FormatError> {
    let path = directory.metrics();
    let unreadable = |what: String| FormatError::Unreadable(format!("{}{what}", path.display()));
    let text = input::read_file(&path, METRICS_BYTES_MAX)
        .map_err(|error| unreadable(format!(": {error}")))?;
    format::check(&path, &text, format::METRICS)?;
    serde_json::from_slice(&text).map_err(|error| {
        let why = if is_linked(&path) {
            LINKED.to_owned()
        } else {
            error.to_string()
        };
        unreadable(format!(" is not {}: {why}", format::METRICS))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_run_gets_the_directory_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        RunDirectory::create(folder.path(), now, "01J00000000000000000ABCDEF").unwrap();
        let error = RunDirectory::create(folder.path(), now, "01J00000000000000000ABCDEF");
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        RunDirectory::create(folder.path(), now, "01J00000000000000000ABCDEG").unwrap();
    }

    #[test]
    fn directories_are_named_after_the_time() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_mins(29_640_390);
        assert_eq!(directory_name(time, "ID"), "2026-05-10T14-30-00-ID");
    }
}
