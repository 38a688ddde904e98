//! The same load on several servers, one run each: what each came to, or why it could not be run.

use crate::prelude::*;
use mcprove_settings::whole_file::write_private;

/// What the name of its file ends in.
pub const SIDE_BY_SIDE_SUFFIX: &str = ".side-by-side.json";

/// The same load on several servers. Serialised it is of the format `side-by-side.v1`.
#[data(open)]
pub struct SideBySide {
    /// The format: `side-by-side.v1`.
    pub schema: String,
    /// Whether it was interrupted, so that servers or calls are missing.
    pub partial: bool,
    /// One run each, in the order in which they were named.
    pub servers: Vec<ServerRun>,
}

/// The run on one server.
#[sparse(marked)]
#[data]
pub struct ServerRun {
    /// The command or address.
    pub server: String,
    /// Where its files are.
    #[sparse]
    #[schemars(with = "Option<String>")]
    pub directory: Option<PathBuf>,
    /// Why there is no report.
    #[sparse]
    pub error: Option<String>,
    /// What it came to (format `metrics.v1`); null if it could not be run.
    pub report: Option<Report>,
}

impl ServerRun {
    /// A run that was made.
    pub fn made(server: String, report: Report, directory: Option<&RunDirectory>) -> Self {
        Self {
            server,
            directory: directory.map(|directory| directory.path().to_owned()),
            error: None,
            report: Some(report),
        }
    }

    /// A run that could not be made.
    pub fn failed(server: String, error: String) -> Self {
        Self {
            server,
            directory: None,
            error: Some(error),
            report: None,
        }
    }
}

impl SideBySide {
    /// These runs.
    pub fn new(servers: Vec<ServerRun>, was_interrupted: bool) -> Self {
        Self {
            schema: "side-by-side.v1".to_owned(),
            partial: was_interrupted,
            servers,
        }
    }

    /// All of it as JSON.
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }

    /// Writes it beside the directories of the runs, under the name of the first of them. Nothing
    /// is written, and there is no path, where no run was made.
    pub fn write_beside(&self) -> Result<Option<PathBuf>, Loss> {
        let Some(path) = self
            .servers
            .iter()
            .find_map(|run| run.directory.as_deref())
            .and_then(beside)
        else {
            return Ok(None);
        };
        write_private(&path, self.to_json()).map_err(|error| Loss::of_file(&path, &error))?;
        Ok(Some(path))
    }
}

/// `runs/2026-05-10T14-30-00-ABCDEF.side-by-side.json`, of `runs/2026-05-10T14-30-00-ABCDEF`.
fn beside(directory: &Path) -> Option<PathBuf> {
    let mut name = directory.file_name()?.to_owned();
    name.push(SIDE_BY_SIDE_SUFFIX);
    Some(directory.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_beside_the_first_run() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("2026-05-10T14-30-00.5-ABCDEF");
        std::fs::create_dir(&directory).unwrap();
        let failed = ServerRun::failed("false".into(), "it ended".into());
        let mut made = ServerRun::failed("true".into(), String::new());
        made.directory = Some(directory);
        let nothing = SideBySide::new(vec![failed.clone()], false);
        assert_eq!(nothing.write_beside().unwrap(), None);
        let both = SideBySide::new(vec![failed, made], true);
        let path = both.write_beside().unwrap().unwrap();
        assert!(path.ends_with("2026-05-10T14-30-00.5-ABCDEF.side-by-side.json"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<SideBySide>(&text).unwrap(), both);
    }
}
