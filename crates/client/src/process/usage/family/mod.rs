//! Which processes belong to a server, and the CPU time that they used: bookkeeping from one look
//! at the system to the next, without touching the system.
//!
//! A process that ended takes its CPU time along. Its parent, if it waits for its children, gets
//! that time in `reaped`, together with the time of children that came and went unseen. So what
//! was counted for a process while it lived must not be counted again when its parent gets it.

use crate::prelude::*;
use crate::process::Identity;

#[cfg(test)]
mod tests;

/// What the system tells of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub identity: Identity,
    pub parent: u32,
    /// It ended, and its parent did not take notice yet.
    pub ended: bool,
    /// CPU time of the process itself.
    pub own: Duration,
    /// CPU time of its descendants that ended and were waited for.
    pub reaped: Duration,
    pub rss_bytes: u64,
    pub threads: Option<u32>,
}

/// The members, and all that may have become members since the last look.
#[derive(Debug, Default)]
pub struct FamilySample {
    /// When looking began.
    pub time: u64,
    pub readings: Vec<Reading>,
}

/// The processes of a server.
#[derive(Debug, Default)]
pub struct Family {
    roots: FxHashSet<Identity>,
    /// The members as they were at the last look, by process id.
    members: FxHashMap<u32, Member>,
    last_look: Option<u64>,
    /// Members that ended and that their parent, which lives, did not take notice of, at the last look. They take a place in
    /// the system's table of processes.
    pub unreaped: u32,
    /// The CPU time of all members there ever were.
    pub cpu_time: Duration,
    /// The part of it that was used under our eyes.
    pub cpu_time_observed: Duration,
}

#[derive(Debug)]
struct Member {
    identity: Identity,
    /// The root that it descends from.
    root: Identity,
    /// Its parent, if that is a member.
    parent: Option<Identity>,
    own: Duration,
    reaped: Duration,
    /// Time of children that are gone, was counted, and is not in `reaped` yet: a parent may wait
    /// for a child between our looks at the one and at the other.
    pending: Duration,
}

impl Family {
    /// Makes `roots` the roots; what descended from others is forgotten. Returns whether they are
    /// others than before.
    pub fn set_roots(&mut self, roots: impl IntoIterator<Item = Identity>) -> bool {
        let roots: FxHashSet<Identity> = roots.into_iter().collect();
        self.members
            .retain(|_, member| roots.contains(&member.root));
        let changed = roots != self.roots;
        self.roots = roots;
        changed
    }

    /// Whether a process with this id was a member at the last look.
    pub fn has_member(&self, pid: u32) -> bool {
        self.members.contains_key(&pid)
    }

    /// The members at the last look, by process id.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.members.keys().copied()
    }

    /// Takes notice of `sample`; returns the members that live.
    pub fn update(&mut self, sample: FamilySample) -> Vec<Reading> {
        let found = self.find_members(sample.readings);
        let by_pid: FxHashMap<u32, Identity> = found
            .iter()
            .map(|(reading, _)| (reading.identity.pid, reading.identity))
            .collect();
        let inherited = self.inherited(&by_pid);

        let mut members = FxHashMap::default();
        let (mut living, mut ended) = (Vec::new(), Vec::new());
        for (reading, root) in found {
            let identity = reading.identity;
            let inheritance = inherited.get(&identity).copied().unwrap_or_default();
            let pending = self.count(&reading, inheritance);
            let parent = by_pid.get(&reading.parent).copied();
            let member = Member {
                identity,
                root,
                parent: parent.filter(|parent| parent.start <= identity.start),
                own: reading.own,
                reaped: reading.reaped,
                pending,
            };
            members.insert(identity.pid, member);
            if reading.ended {
                ended.push(reading.parent);
            } else {
                living.push(reading);
            }
        }
        let pids: FxHashSet<u32> = living.iter().map(|it| it.identity.pid).collect();
        ended.retain(|parent| pids.contains(parent));
        self.unreaped = u32::try_from(ended.len()).unwrap_or(u32::MAX);
        self.members = members;
        self.last_look = Some(sample.time);
        living
    }

    /// The members among `readings`, each with its root.
    fn find_members(&self, mut readings: Vec<Reading>) -> Vec<(Reading, Identity)> {
        readings.sort_unstable_by_key(|reading| reading.parent);
        let mut roots: Vec<Option<Identity>> = readings
            .iter()
            .map(|reading| self.known_root(reading.identity))
            .collect();
        let mut queue: Vec<(Identity, Identity)> = readings
            .iter()
            .zip(&roots)
            .filter_map(|(reading, root)| Some((reading.identity, (*root)?)))
            .collect();
        let ourselves = std::process::id();
        while let Some((parent, root)) = queue.pop() {
            let first = readings.partition_point(|reading| reading.parent < parent.pid);
            let children = readings
                .iter()
                .zip(&mut roots)
                .skip(first)
                .take_while(|(reading, _)| reading.parent == parent.pid);
            for (child, child_root) in children {
                let child = child.identity;
                // What is older than its parent got a parent id that was used again.
                let is_new = child_root.is_none() && child.start >= parent.start;
                if is_new && child.pid != ourselves {
                    *child_root = Some(root);
                    queue.push((child, root));
                }
            }
        }
        readings
            .into_iter()
            .zip(roots)
            .filter_map(|(reading, root)| Some((reading, root?)))
            .collect()
    }

    /// The root of a process that is one, or was a member at the last look.
    fn known_root(&self, identity: Identity) -> Option<Identity> {
        if self.roots.contains(&identity) {
            return Some(identity);
        }
        self.member(identity).map(|member| member.root)
    }

    fn member(&self, identity: Identity) -> Option<&Member> {
        let member = self.members.get(&identity.pid);
        member.filter(|member| member.identity == identity)
    }

    /// What was counted for members that are gone, by the nearest ancestor that is still there and
    /// may have got their time.
    fn inherited(&self, by_pid: &FxHashMap<u32, Identity>) -> FxHashMap<Identity, Duration> {
        let is_there = |identity: &Identity| by_pid.get(&identity.pid) == Some(identity);
        let mut inherited = FxHashMap::<Identity, Duration>::default();
        for member in self.members.values() {
            if is_there(&member.identity) {
                continue;
            }
            let heir = std::iter::successors(member.parent, |parent| self.member(*parent)?.parent)
                .take(self.members.len())
                .find(is_there);
            if let Some(heir) = heir {
                let counted = member.own.saturating_add(member.reaped);
                let sum = inherited.entry(heir).or_default();
                *sum = sum.saturating_add(counted.saturating_add(member.pending));
            }
        }
        inherited
    }

    /// Counts what a process used since the last look. Its `reaped` may hold `inheritance`, which
    /// was counted before; returns how much of that is still to come.
    fn count(&mut self, reading: &Reading, inheritance: Duration) -> Duration {
        let Some(before) = self.member(reading.identity) else {
            let used = reading.own.saturating_add(reading.reaped);
            self.cpu_time = self.cpu_time.saturating_add(used);
            // What was there at the last look, unseen, used its time before.
            if (self.last_look).is_some_and(|last_look| reading.identity.start >= last_look) {
                self.cpu_time_observed = self.cpu_time_observed.saturating_add(used);
            }
            return Duration::ZERO;
        };
        let own = reading.own.saturating_sub(before.own);
        // A parent that never waits gets nothing; so what did not come by the next look is dropped.
        let reaped = (reading.reaped)
            .saturating_sub(before.reaped)
            .saturating_sub(before.pending);
        let used = own.saturating_add(reaped.saturating_sub(inheritance));
        self.cpu_time = self.cpu_time.saturating_add(used);
        self.cpu_time_observed = self.cpu_time_observed.saturating_add(used);
        inheritance.saturating_sub(reaped)
    }
}
