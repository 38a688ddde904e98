//! Which calls a fault strikes.

use super::*;

#[test]
fn faults_are_aimed_by_tool_server_and_ordinal() {
    let injector = injector(&["hang,tool=search,calls=2-3,5", "slow:1,server=other"], 1);
    let struck: Vec<bool> = (0..6)
        .map(|_| {
            assert!(injector.strike(site("add", "{}")).is_none());
            injector.strike(site("search", "{}")).is_some()
        })
        .collect();
    assert_eq!(struck, [false, true, true, false, true, false]);
    let other = CallSite {
        server: "other",
        ..site("add", "{}")
    };
    let injection = injector.strike(other).unwrap();
    assert_eq!(injection.fault().kind, FaultKind::Slow);
    let counts: Vec<(u64, u64)> = injector
        .counts()
        .iter()
        .map(|count| (count.struck, count.aimed))
        .collect();
    assert_eq!(counts, [(3, 6), (1, 1)]);
}

#[test]
fn ordinals_count_arrivals_whichever_fault_strikes() {
    let injector = injector(
        &["error:1,calls=1", "error:2,calls=2", "error:3,calls=3"],
        1,
    );
    let struck: Vec<Option<String>> = (0..4)
        .map(|_| {
            let injection = injector.strike(site("search", "{}"))?;
            Some(injection.fault().to_string())
        })
        .collect();
    let expected = ["error:1,calls=1", "error:2,calls=2", "error:3,calls=3"];
    assert_eq!(struck[..3], expected.map(|text| Some(text.to_owned())));
    assert_eq!(struck[3], None);
    assert!(
        injector
            .counts()
            .iter()
            .all(|count| (count.struck, count.aimed) == (1, 4))
    );
}

#[test]
fn no_arguments_and_an_empty_object_are_the_same_call() {
    let (one, two) = (injector(&["flaky"], 3), injector(&["flaky"], 3));
    for _ in 0..50 {
        let left = one.strike(site("t", "")).is_some();
        assert_eq!(left, two.strike(site("t", "{}")).is_some());
    }
}

#[test]
fn the_first_fault_that_strikes_wins_and_one_that_is_over_lets_the_next_strike() {
    let injector = injector(&["recover-after:2", "error"], 1);
    let kinds: Vec<FaultKind> = ["a", "b", "c"]
        .iter()
        .map(|tool| injector.strike(site(tool, "{}")).unwrap().fault().kind)
        .collect();
    let expected = [
        FaultKind::RecoverAfter,
        FaultKind::RecoverAfter,
        FaultKind::Error,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn vanished_tools_are_not_listed() {
    let always = injector(&["vanish,tool=search"], 1);
    assert!(always.hides("api", "search"));
    assert!(!always.hides("api", "add"));
    let later = injector(&["vanish,tool=search,calls=2"], 1);
    assert!(!later.hides("api", "search"));
    later.strike(site("search", "{}"));
    assert!(!later.hides("api", "search"));
    later.strike(site("search", "{}"));
    assert!(later.hides("api", "search"));
    later.strike(site("search", "{}"));
    assert!(!later.hides("api", "search"));
}

/// The calls, by tool and arguments, that are struck when they arrive in this order.
fn struck_in_order(order: &[(usize, usize)]) -> BTreeSet<(usize, usize, usize)> {
    let injector = injector(&["flaky:0.4,seed=5"], 0);
    let mut seen = std::collections::HashMap::new();
    let mut struck = BTreeSet::new();
    for (tool, argument) in order {
        let nth = seen.entry((*tool, *argument)).or_insert(0);
        let arguments = json!({ "n": argument }).to_string();
        if injector
            .strike(site(&format!("tool-{tool}"), &arguments))
            .is_some()
        {
            struck.insert((*tool, *argument, *nth));
        }
        *nth += 1;
    }
    struck
}

proptest! {
    #[test]
    fn the_same_calls_meet_the_same_faults_in_any_order(
        calls in prop::collection::vec((0_usize..3, 0_usize..4), 0..60).prop_flat_map(|calls| {
            (Just(calls.clone()), Just(calls).prop_shuffle())
        })
    ) {
        prop_assert_eq!(struck_in_order(&calls.0), struck_in_order(&calls.1));
    }

    #[test]
    fn any_text_is_a_fault_or_an_error(text in ".{0,60}") {
        let _ = text.parse::<FaultSpec>();
    }
}

#[test]
fn rates_are_met_and_depend_on_the_seed_and_not_on_the_order_of_keys() {
    let rated = |seed| {
        let injector = injector(&["error,rate=0.3"], seed);
        let strike = |n: usize| injector.strike(site("t", &json!({ "n": n }).to_string()));
        (0..10_000).map(|n| strike(n).is_some()).collect::<Vec<_>>()
    };
    let struck = rated(1).iter().filter(|struck| **struck).count();
    assert!((2_800..3_200).contains(&struck), "{struck}");
    assert_ne!(rated(1), rated(2));
    assert_eq!(rated(1), rated(1));
    let (one, two) = (
        injector(&["error,rate=0.5"], 3),
        injector(&["error,rate=0.5"], 3),
    );
    for _ in 0..50 {
        let left = one.strike(site("t", r#"{"a":1,"b":2}"#)).is_some();
        assert_eq!(
            left,
            two.strike(site("t", r#"{ "b": 2, "a": 1 }"#)).is_some()
        );
    }
}

/// Which of a thousand calls are struck by the fault with this number.
fn chosen(faults: &[&str], number: usize) -> Vec<usize> {
    let mut specs: Vec<FaultSpec> = faults.iter().map(|text| text.parse().unwrap()).collect();
    make_distinct(specs.iter_mut());
    let wanted = specs[number].name.clone();
    let injector = Injector::new(specs, 3);
    let is_struck = |n: &usize| {
        let arguments = json!({ "n": n }).to_string();
        let call = site("search", &arguments);
        // The others are off, so that they take no call away.
        injector
            .strike_if(call, |spec| spec.name == wanted)
            .is_some()
    };
    (0..1_000).filter(is_struck).collect()
}

#[test]
fn whom_a_fault_strikes_does_not_depend_on_its_name_or_on_other_faults() {
    let alone = chosen(&["error,tool=search,rate=0.3"], 0);
    let second = ["error,tool=other,rate=0.3", "error,tool=search,rate=0.3"];
    assert_eq!(chosen(&second, 1), alone);
    let named = ["error,name=mine,tool=search,rate=0.3"];
    assert_eq!(chosen(&named, 0), alone);
    let default = ["error:-32000,tool=search,rate=0.3"];
    assert_eq!(chosen(&default, 0), alone);
    let more = chosen(&["error,tool=search,rate=0.6"], 0);
    assert!(alone.iter().all(|call| more.contains(call)));
}

#[test]
fn faults_that_differ_and_equal_ones_choose_apart() {
    let faults = [
        "error,rate=0.3",
        "error,rate=0.3",
        "error,tool=search,rate=0.3",
        "error,server=api,rate=0.3",
        "error:-32001,rate=0.3",
        "tool-error,rate=0.3",
    ];
    let all: BTreeSet<Vec<usize>> = (0..faults.len())
        .map(|number| chosen(&faults, number))
        .collect();
    assert_eq!(all.len(), faults.len());
}

/// Choices by chance depend on it, and cassettes hold the text: neither may change.
#[test]
fn identities_and_spellings_stay() {
    let kinds = kinds().map(|kind| kind.name().to_owned());
    let others = [
        "slow:1000,tool=search",
        "error:-32000,tool=search,calls=1-3,7",
        "http-status:429-30,rate=0.2,seed=7",
        "flaky:0.25,server=api,tool=a*",
        "jitter:10-20",
        "recover-after:3",
    ];
    let lines = kinds.chain(others.map(str::to_owned)).map(|text| {
        let fault: FaultSpec = text.parse().unwrap();
        format!("{text}\n  {}\n  {fault}\n", fault.identity())
    });
    insta::assert_snapshot!(lines.collect::<String>());
}
