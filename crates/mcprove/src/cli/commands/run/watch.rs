//! Running again whenever something changes: the suites, the files of their mocks, and their cassettes.
//!
//! Files are looked at a few times a second, which works on every system and disk.

use mcprove_load::drive::StopLevel;

use super::files::mocks_of;
use crate::prelude::*;

/// How often files are looked at.
const INTERVAL: Duration = Duration::from_millis(300);
/// The most files that are looked at.
const FILES_MAX: usize = 10_000;
/// Where the recordings of agents are, beside the suite.
const CASSETTES: &str = "cassettes";

/// What can be seen of a file without reading it; none where it is not there.
type Look = Option<(Option<SystemTime>, u64)>;

/// What files looked like.
#[derive(Debug)]
pub struct Snapshot(BTreeMap<PathBuf, Look>);

impl Snapshot {
    /// Of the suites and of what they are made of.
    pub fn of_sources(suites: &[PathBuf]) -> Self {
        let mocks = suites.iter().flat_map(|suite| mocks_of(suite));
        Self::of(suites.iter().cloned().chain(mocks))
    }

    /// Of the recordings of the suites' agents.
    pub fn of_cassettes(suites: &[PathBuf]) -> Self {
        let folders = suites
            .iter()
            .map(|suite| suite.parent().unwrap_or(Path::new("")).join(CASSETTES));
        let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
        Self::of(
            entries
                .flatten()
                .filter_map(|entry| Some(entry.ok()?.path())),
        )
    }

    fn of(paths: impl Iterator<Item = PathBuf>) -> Self {
        let looks = paths.take(FILES_MAX).map(|path| {
            let there = std::fs::metadata(&path).ok();
            let look = there.map(|there| (there.modified().ok(), there.len()));
            (path, look)
        });
        Self(looks.collect())
    }

    /// What is new, gone or not as it was.
    pub fn changed(&self, after: &Self) -> Vec<PathBuf> {
        let gone = self.0.keys().filter(|path| !after.0.contains_key(*path));
        let others = after.0.iter();
        let others = others.filter(|(path, look)| self.0.get(*path) != Some(look));
        gone.chain(others.map(|(path, _)| path)).cloned().collect()
    }
}

/// Waits until something has changed of the sources and the cassettes that were seen before, and nothing changes any
/// more; none when the user stops. The suites may become more or fewer meanwhile, so they are asked for each time.
pub async fn wait_for_change(
    mut before: [Snapshot; 2],
    suites: impl Fn() -> Vec<PathBuf>,
    stop: &Stop,
) -> Option<Vec<PathBuf>> {
    let mut changed = BTreeSet::new();
    loop {
        tokio::select! {
            () = stop.requested(StopLevel::Drain) => return None,
            () = tokio::time::sleep(INTERVAL) => {}
        }
        let suites = suites();
        let now = [
            Snapshot::of_sources(&suites),
            Snapshot::of_cassettes(&suites),
        ];
        let fresh: Vec<PathBuf> = before
            .iter()
            .zip(&now)
            .flat_map(|(before, now)| before.changed(now))
            .collect();
        before = now;
        if fresh.is_empty() && !changed.is_empty() {
            return Some(changed.into_iter().collect());
        }
        changed.extend(fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_gone_or_different_is_seen() {
        let look = |size: u64| Some((None, size));
        let snapshot = |files: &[(&str, Look)]| {
            let files = files.iter();
            Snapshot(
                files
                    .map(|(name, look)| (PathBuf::from(name), *look))
                    .collect(),
            )
        };
        let before = snapshot(&[("a", look(1)), ("b", look(1)), ("c", look(1)), ("d", None)]);
        let after = snapshot(&[("a", look(1)), ("b", look(2)), ("d", look(0)), ("e", None)]);
        let changed = before.changed(&after);
        assert_eq!(changed, ["c", "b", "d", "e"].map(PathBuf::from));
        assert!(before.changed(&before).is_empty());
    }

    #[test]
    fn suites_their_mocks_and_their_cassettes_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let suite = folder.path().join("suite.yml");
        let text = "servers:\n  a: { mock: ./tools.yml }\n  b: { command: [x] }\n";
        std::fs::write(&suite, text).unwrap();
        let suites = [suite.clone()];
        let sources = Snapshot::of_sources(&suites);
        let paths: Vec<&PathBuf> = sources.0.keys().collect();
        assert_eq!(paths, [&suite, &folder.path().join("tools.yml")]);
        assert!(Snapshot::of_cassettes(&suites).0.is_empty());
        std::fs::create_dir(folder.path().join(CASSETTES)).unwrap();
        std::fs::write(folder.path().join(CASSETTES).join("a.json"), "{}").unwrap();
        assert_eq!(Snapshot::of_cassettes(&suites).0.len(), 1);
        std::fs::write(folder.path().join("tools.yml"), "x").unwrap();
        assert_eq!(sources.changed(&Snapshot::of_sources(&suites)).len(), 1);
    }
}
