//! The bookkeeping on processes that are made up.

use super::*;

/// Ids that no process of a test machine has.
const ROOT: u32 = 1_000_000_010;
const CHILD: u32 = ROOT + 1;
const GRANDCHILD: u32 = ROOT + 2;
const STRANGER: u32 = ROOT + 9;

fn identity(pid: u32, start: u64) -> Identity {
    Identity { pid, start }
}

fn reading(pid: u32, parent: u32, own: u64, reaped: u64) -> Reading {
    Reading {
        identity: identity(pid, 5),
        parent,
        ended: false,
        own: Duration::from_secs(own),
        reaped: Duration::from_secs(reaped),
        rss_bytes: 1,
        threads: Some(1),
    }
}

fn family() -> Family {
    let mut family = Family::default();
    family.set_roots([identity(ROOT, 5)]);
    family
}

/// The ids of the members that live, after a look at `time`.
fn look(family: &mut Family, time: u64, readings: &[Reading]) -> Vec<u32> {
    let readings = readings.to_vec();
    let living = family.update(FamilySample { time, readings });
    let mut pids: Vec<_> = living.iter().map(|reading| reading.identity.pid).collect();
    pids.sort_unstable();
    pids
}

fn seconds(family: &Family) -> (u64, u64) {
    let (all, observed) = (family.cpu_time, family.cpu_time_observed);
    (all.as_secs(), observed.as_secs())
}

#[test]
fn members_are_found_by_descent_and_kept_when_descent_is_lost() {
    let mut family = family();
    let readings = [
        reading(GRANDCHILD, CHILD, 0, 0),
        reading(STRANGER, 1, 0, 0),
        reading(ROOT, 1, 0, 0),
        reading(CHILD, ROOT, 0, 0),
    ];
    assert_eq!(look(&mut family, 9, &readings), [ROOT, CHILD, GRANDCHILD]);
    let orphan = [reading(GRANDCHILD, 1, 0, 0), reading(STRANGER, 1, 0, 0)];
    assert_eq!(look(&mut family, 10, &orphan), [GRANDCHILD]);
    assert_eq!(look(&mut family, 11, &[]), Vec::<u32>::new());
}

#[test]
fn other_processes_with_the_same_id_are_none_of_ours() {
    let mut family = family();
    let mut later = reading(ROOT, 1, 0, 0);
    later.identity.start = 6;
    assert_eq!(look(&mut family, 9, &[later]), Vec::<u32>::new());

    let mut older = reading(CHILD, ROOT, 0, 0);
    older.identity.start = 4;
    assert_eq!(
        look(&mut family, 10, &[reading(ROOT, 1, 0, 0), older]),
        [ROOT]
    );
}

#[test]
fn we_are_no_member_unless_named() {
    let mut family = family();
    let own = std::process::id();
    let readings = [
        reading(ROOT, 1, 0, 0),
        reading(own, ROOT, 0, 0),
        reading(CHILD, own, 0, 0),
    ];
    assert_eq!(look(&mut family, 9, &readings), [ROOT]);
    family.set_roots([identity(own, 5)]);
    assert_eq!(look(&mut family, 10, &readings), [own, CHILD]);
}

#[test]
fn new_roots_replace_old_ones_and_keep_the_total() {
    let mut family = family();
    let old = [reading(ROOT, 1, 3, 0), reading(CHILD, ROOT, 4, 0)];
    look(&mut family, 9, &old);
    assert_eq!(seconds(&family), (7, 0));

    family.set_roots([identity(STRANGER, 5), identity(STRANGER + 1, 10)]);
    let mut started_since = reading(STRANGER + 1, 1, 2, 0);
    started_since.identity.start = 10;
    let readings = [old[1].clone(), reading(STRANGER, 1, 10, 0), started_since];
    assert_eq!(
        look(&mut family, 11, &readings),
        [STRANGER, STRANGER + 1],
        "what the old root left is forgotten"
    );
    assert_eq!(seconds(&family), (19, 2));
}

#[test]
fn time_of_the_ended_counts_once() {
    let mut family = family();
    let tree = [
        reading(ROOT, 1, 1, 1),
        reading(CHILD, ROOT, 10, 0),
        reading(GRANDCHILD, CHILD, 20, 0),
    ];
    look(&mut family, 9, &tree);
    assert_eq!(seconds(&family), (32, 0));
    // Both ended, each after one more second, and so did one that used 5 s and was never seen.
    look(&mut family, 10, &[reading(ROOT, 1, 2, 38)]);
    assert_eq!(seconds(&family), (40, 8));
}

#[test]
fn time_that_no_parent_gets_is_kept() {
    let mut family = family();
    let tree = |own| [reading(ROOT, 1, own, 0), reading(CHILD, ROOT, 10, 0)];
    look(&mut family, 9, &tree(1));
    // The root does not wait for its children.
    look(&mut family, 10, &[reading(ROOT, 1, 4, 0)]);
    assert_eq!(seconds(&family), (14, 3));
    look(&mut family, 11, &[]);
    assert_eq!(seconds(&family), (14, 3));
}

#[test]
fn time_that_a_parent_gets_late_counts_once() {
    let mut family = family();
    let tree = [reading(ROOT, 1, 1, 0), reading(CHILD, ROOT, 10, 0)];
    look(&mut family, 9, &tree);
    look(&mut family, 10, &[reading(ROOT, 1, 1, 0)]);
    look(&mut family, 11, &[reading(ROOT, 1, 1, 11)]);
    assert_eq!(seconds(&family), (12, 1));
    look(&mut family, 12, &[reading(ROOT, 1, 1, 14)]);
    assert_eq!(seconds(&family), (15, 4));
}

#[test]
fn the_ended_count_for_their_time_only() {
    let mut family = family();
    let mut child = reading(CHILD, ROOT, 10, 0);
    child.ended = true;
    assert_eq!(
        look(&mut family, 9, &[reading(ROOT, 1, 1, 0), child]),
        [ROOT]
    );
    assert_eq!(seconds(&family), (11, 0));
}

#[test]
fn children_that_nobody_waited_for_are_counted() {
    let mut family = family();
    let mut child = reading(CHILD, ROOT, 10, 0);
    child.ended = true;
    look(&mut family, 9, &[reading(ROOT, 1, 1, 0), child.clone()]);
    assert_eq!(family.unreaped, 1);
    // Whoever took them over will.
    child.parent = 1;
    look(&mut family, 10, &[reading(ROOT, 1, 1, 0), child]);
    assert_eq!(family.unreaped, 0);
}
