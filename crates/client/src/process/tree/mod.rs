//! Which processes are ours: those that descend from a process we started.
//!
//! A [`Snapshot`] of the system's processes comes from `/proc`, or from `ps` where there is none.
//! Descent is followed from parent to child; where a parent died and descent was lost, the mark
//! in the environment, the process group and what was seen before tell.

use super::Identity;
use crate::prelude::*;

#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
use proc as source;

#[cfg(any(test, not(target_os = "linux")))]
mod ps;
#[cfg(not(target_os = "linux"))]
use ps as source;

/// What is known of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub identity: Identity,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// It ended, and its parent did not take notice yet.
    pub zombie: bool,
    /// The value of the mark in its environment.
    pub mark: Option<String>,
}

impl Entry {
    pub fn is_our_child(&self) -> bool {
        self.parent == std::process::id()
    }
}

/// What makes a process the descendant of one that we started.
pub struct Claim<'a> {
    /// The process that we started, as long as its id is certain to mean it.
    pub root: Option<u32>,
    /// What it and its descendants have in their mark.
    pub token: &'a str,
    /// Descendants that were seen before.
    pub known: &'a HashSet<Identity>,
}

impl Claim<'_> {
    fn covers(&self, entry: &Entry) -> bool {
        self.known.contains(&entry.identity)
            || self
                .root
                .is_some_and(|root| entry.group == root || entry.session == root)
            || entry
                .mark
                .as_ref()
                .is_some_and(|mark| mark.contains(self.token))
    }
}

/// The processes of the system at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    entries: Vec<Entry>,
}

impl Snapshot {
    /// A snapshot taken after this call. Callers that wait at the same time share one, so that a
    /// thousand servers that end at once cost a few snapshots and not a thousand.
    pub fn shared() -> Arc<Self> {
        static LAST: Mutex<Option<(Instant, Arc<Snapshot>)>> = Mutex::new(None);
        let asked = Instant::now();
        let mut last = lock(&LAST);
        if let Some((taken, snapshot)) = &*last
            && *taken > asked
        {
            return Arc::clone(snapshot);
        }
        let taken = Instant::now();
        let snapshot = Arc::new(Self {
            entries: source::all(),
        });
        *last = Some((taken, Arc::clone(&snapshot)));
        snapshot
    }

    /// A snapshot of nothing but our descendants.
    #[cfg(target_os = "linux")]
    pub fn of_our_descendants() -> Self {
        Self {
            entries: source::our_descendants(),
        }
    }

    /// All descendants that `claim` covers, without the root.
    pub fn family(&self, claim: &Claim<'_>) -> Vec<&Entry> {
        let mut queue = Vec::from_iter(claim.root);
        let mut seen: HashSet<u32> = claim.root.into_iter().collect();
        // Never ourselves, whatever our own environment says.
        seen.insert(std::process::id());
        let mut family = Vec::new();
        for entry in self.entries.iter().filter(|entry| claim.covers(entry)) {
            if seen.insert(entry.identity.pid) {
                queue.push(entry.identity.pid);
                family.push(entry);
            }
        }
        self.descend(queue, &mut seen, &mut family);
        family
    }

    /// The descendants of `root` that ended, and that their parent takes no notice of.
    pub fn zombies_under(&self, root: u32) -> Vec<u32> {
        let mut found = Vec::new();
        self.descend(vec![root], &mut HashSet::from([root]), &mut found);
        found
            .iter()
            .filter(|entry| entry.zombie)
            .map(|entry| entry.identity.pid)
            .collect()
    }

    /// Adds to `found` what descends from `queue` and was not `seen` yet.
    fn descend<'a>(
        &'a self,
        mut queue: Vec<u32>,
        seen: &mut HashSet<u32>,
        found: &mut Vec<&'a Entry>,
    ) {
        let mut children = HashMap::<u32, Vec<&Entry>>::new();
        for entry in &self.entries {
            children.entry(entry.parent).or_default().push(entry);
        }
        while let Some(parent) = queue.pop() {
            for child in children.get(&parent).into_iter().flatten() {
                if seen.insert(child.identity.pid) {
                    queue.push(child.identity.pid);
                    found.push(child);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: u32, parent: u32, group: u32, mark: Option<&str>) -> Entry {
        Entry {
            identity: Identity { pid, start: 1 },
            parent,
            group,
            session: 1,
            zombie: false,
            mark: mark.map(str::to_owned),
        }
    }

    fn family(entries: Vec<Entry>, root: Option<u32>, known: &[u32]) -> Vec<u32> {
        let known = known
            .iter()
            .map(|pid| Identity {
                pid: *pid,
                start: 1,
            })
            .collect();
        let claim = Claim {
            root,
            token: "t-1:",
            known: &known,
        };
        let snapshot = Snapshot { entries };
        let mut pids: Vec<_> = snapshot
            .family(&claim)
            .iter()
            .map(|entry| entry.identity.pid)
            .collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn descendants_are_found_by_every_trace() {
        let entries = || {
            vec![
                entry(1_000_010, 1, 1_000_010, Some("t-1:")),
                entry(1_000_011, 1_000_010, 5, None),
                entry(1_000_012, 1_000_011, 5, None),
                entry(1_000_013, 1, 1_000_010, None),
                entry(1_000_014, 1, 6, Some("outer:t-1:")),
                entry(1_000_015, 1, 6, Some("t-12:")),
                entry(1_000_016, 1, 7, None),
                entry(1_000_017, 1_000_016, 7, None),
            ]
        };
        let with_root = family(entries(), Some(1_000_010), &[1_000_016]);
        assert_eq!(
            with_root,
            [
                1_000_011, 1_000_012, 1_000_013, 1_000_014, 1_000_016, 1_000_017
            ]
        );
        let without = family(entries().split_off(3), None, &[]);
        assert_eq!(without, [1_000_014]);
    }

    #[test]
    fn only_ended_descendants_are_zombies() {
        let zombie = |pid, parent| Entry {
            zombie: true,
            ..entry(pid, parent, 1, None)
        };
        let snapshot = Snapshot {
            entries: vec![
                entry(1_000_010, 1, 1, None),
                entry(1_000_011, 1_000_010, 1, None),
                zombie(1_000_012, 1_000_011),
                zombie(1_000_013, 1),
            ],
        };
        assert_eq!(snapshot.zombies_under(1_000_010), [1_000_012]);
        assert!(snapshot.zombies_under(u32::MAX).is_empty());
    }

    #[test]
    fn we_are_never_part_of_a_family() {
        let own = std::process::id();
        assert!(family(vec![entry(own, 1, 1, Some("t-1:"))], None, &[own]).is_empty());
    }

    #[test]
    fn a_later_process_with_the_same_id_is_another() {
        let mut later = entry(1_000_020, 1, 1, None);
        later.identity.start = 2;
        assert!(family(vec![later], None, &[1_000_020]).is_empty());
    }

    #[test]
    fn we_are_in_our_own_snapshot() {
        let own = std::process::id();
        assert!(
            Snapshot::shared()
                .entries
                .iter()
                .any(|entry| entry.identity.pid == own)
        );
    }
}
