//! Several faults in a run, and loads that change.

use super::*;

fn named(name: &str, window: (f64, f64)) -> FaultFacts {
    FaultFacts {
        name: name.to_owned(),
        window: Some(window),
        ..facts()
    }
}

#[test]
fn the_damage_of_one_fault_is_not_charged_to_another() {
    // What the first does lasts until 5 s, where the second is on from 4 s to 4.5 s.
    let hurt = timeline(|number, _| match number {
        12..20 => stretch(50, 5, 50),
        _ => stretch(100, 5, 0),
    });
    let both = [named("first", (3.0, 3.5)), named("second", (4.0, 4.5))];
    let alone = judge(&both[1], &[], &hurt);
    assert_eq!(alone.suffered, ["add"]);
    let impacts = judge_all(&both, &hurt);
    assert_eq!(impacts[1].suffered, Vec::<String>::new());
    assert_eq!(
        (impacts[0].recovery, impacts[0].open),
        (Recovery::Unknown, Some(OpenReason::OtherFault))
    );
    // Far enough from each other, each has its own.
    let apart = [named("first", (3.0, 3.5)), named("second", (9.0, 9.5))];
    let impacts = judge_all(&apart, &hurt);
    assert_eq!(impacts[0].suffered, ["add"]);
    assert_eq!(
        (impacts[0].recovery, impacts[0].recovery_secs),
        (Recovery::Back, Some(1.5))
    );
    assert_eq!(impacts[1].suffered, Vec::<String>::new());
    assert_eq!(impacts[1].recovery_secs, Some(0.0));
}

#[test]
fn a_fault_that_is_on_all_the_time_is_how_the_run_is() {
    let even = timeline(|_, _| stretch(100, 5, 0));
    let faults = [named("always", (0.0, 12.0)), named("once", (4.0, 6.0))];
    let impacts = judge_all(&faults, &even);
    assert_eq!(impacts[0].recovery, Recovery::Unknown);
    assert_eq!(impacts[1].recovery, Recovery::Back);
}

#[test]
fn only_times_of_the_same_load_are_compared() {
    // A burst from 3 s to 9 s, in which everything takes longer.
    let mut burst = timeline(|number, _| match number {
        12..36 => stretch(100, 40, 0),
        _ => stretch(100, 5, 0),
    });
    let before_it = named("before it", (2.0, 2.5));
    let blamed = judge(&before_it, &[], &burst);
    assert_eq!(blamed.recovery_secs, Some(6.5));
    burst.load_changes = vec![3.0, 9.0];
    assert_eq!(judge(&before_it, &[], &burst).recovery, Recovery::Unknown);
    let within = judge(&facts(), &[], &burst);
    assert_eq!(
        (within.recovery, within.recovery_secs),
        (Recovery::Back, Some(0.0))
    );
    assert!((within.before.duration_secs - 1.0).abs() < 1e-9);
    let across = judge(&named("across", (2.0, 4.0)), &[], &burst);
    assert_eq!(
        (across.recovery, across.open),
        (Recovery::Unknown, Some(OpenReason::LoadChanged))
    );
    assert_eq!(across.suffered, Vec::<String>::new());
}
