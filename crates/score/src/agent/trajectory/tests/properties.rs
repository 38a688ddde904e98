use proptest::prelude::*;

use super::*;

/// Expected calls of two tools, from lenient to strict.
fn references() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        "[ab]",
        "[ab][0-3]",
        "[ab]<[0-4]",
        "[xy]/[ab]",
        "[xy]/[ab][0-2]"
    ];
    prop::collection::vec(word, 0..5)
}

fn recorded() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof!["[ab]", "[ab][0-3]", "[xy]/[ab][0-3]", "c"];
    prop::collection::vec(word, 0..6)
}

fn counted(mode: Mode, reference: &[String], recorded: &[String]) -> usize {
    report(mode, &reference.join(" "), &recorded.join(" ")).mismatch_count
}

/// Whether one recorded call fits one expected one.
fn fits(reference: &str, recorded: &str) -> bool {
    report(Mode::Strict, reference, recorded).passed
}

/// Which recorded calls fit which expected ones.
fn table(reference: &[String], recorded: &[String]) -> Vec<Vec<bool>> {
    let row = |expected: &String| recorded.iter().map(|call| fits(expected, call)).collect();
    reference.iter().map(row).collect()
}

/// The largest number of pairs, by trying everything.
fn most_pairs(table: &[Vec<bool>], taken: &mut Vec<bool>) -> usize {
    let Some((first, rest)) = table.split_first() else {
        return 0;
    };
    let mut best = most_pairs(rest, taken);
    for (place, fits) in first.iter().enumerate() {
        if *fits && !taken[place] {
            taken[place] = true;
            best = best.max(1 + most_pairs(rest, taken));
            taken[place] = false;
        }
    }
    best
}

/// The most references that occur in order, from a place on, by trying everything.
fn most_in_order(table: &[Vec<bool>], start: usize) -> usize {
    let Some((first, rest)) = table.split_first() else {
        return 0;
    };
    let found = (start..first.len()).filter(|place| first[*place]);
    let with = found.map(|place| 1 + most_in_order(rest, place + 1)).max();
    with.unwrap_or(0).max(most_in_order(rest, start))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn pairs_are_as_many_as_possible(reference in references(), recorded in recorded()) {
        let most = most_pairs(&table(&reference, &recorded), &mut vec![false; recorded.len()]);
        prop_assert_eq!(counted(Mode::Unordered, &reference, &recorded), reference.len() - most);
        prop_assert_eq!(counted(Mode::Superset, &reference, &recorded), reference.len() - most);
        prop_assert_eq!(counted(Mode::Subset, &reference, &recorded), recorded.len() - most);
    }

    #[test]
    fn as_many_as_possible_are_found_in_order(reference in references(), recorded in recorded()) {
        let count = counted(Mode::Subsequence, &reference, &recorded);
        let most = most_in_order(&table(&reference, &recorded), 0);
        prop_assert_eq!(count, reference.len() - most);
        prop_assert!(count >= counted(Mode::Unordered, &reference, &recorded));
    }

    #[test]
    fn strict_is_one_for_one(reference in references(), recorded in recorded()) {
        let wrong = reference.iter().zip(&recorded).filter(|(e, r)| !fits(e, r)).count();
        let expected = if reference.is_empty() {
            0
        } else {
            wrong + reference.len().abs_diff(recorded.len())
        };
        prop_assert_eq!(counted(Mode::Strict, &reference, &recorded), expected);
    }

    #[test]
    fn order_does_not_matter_without_order(
        (reference, shuffled) in references().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        (recorded, remade) in recorded().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        for mode in [Mode::Unordered, Mode::Superset, Mode::Subset] {
            prop_assert_eq!(
                counted(mode, &reference, &recorded),
                counted(mode, &shuffled, &remade)
            );
        }
    }

    #[test]
    fn one_more_call_never_harms_a_lower_bound(
        reference in references(),
        recorded in recorded(),
        next in "[abc][0-3]",
    ) {
        let mut longer = recorded.clone();
        longer.push(next);
        for mode in [Mode::Unordered, Mode::Superset, Mode::Subsequence] {
            prop_assert!(counted(mode, &reference, &longer) <= counted(mode, &reference, &recorded));
        }
        prop_assert!(
            counted(Mode::Subset, &reference, &longer) >= counted(Mode::Subset, &reference, &recorded)
        );
    }

    #[test]
    fn stricter_modes_imply_looser_ones(reference in references(), recorded in recorded()) {
        let passed = |mode| counted(mode, &reference, &recorded) == 0;
        if passed(Mode::Strict) {
            prop_assert!(passed(Mode::Subsequence) && passed(Mode::Unordered));
            prop_assert!(reference.is_empty() || passed(Mode::Subset));
        }
        if passed(Mode::Subsequence) {
            prop_assert!(passed(Mode::Unordered));
        }
    }

    #[test]
    fn mismatches_lead_to_real_calls(reference in references(), recorded in recorded()) {
        for mode in [Mode::Strict, Mode::Subsequence, Mode::Unordered, Mode::Superset, Mode::Subset] {
            let report = report(mode, &reference.join(" "), &recorded.join(" "));
            prop_assert_eq!(report.mismatches.len(), report.mismatch_count);
            for mismatch in report.mismatches {
                prop_assert!(mismatch.expected_index.is_none_or(|index| index < reference.len()));
                prop_assert!(mismatch.recorded_index.is_none_or(|index| index < recorded.len()));
                prop_assert!(mismatch.expected_index.or(mismatch.recorded_index).is_some());
                prop_assert!(!mismatch.reason.rendered().is_empty() && !mismatch.reason.rendered().contains('\n'));
                prop_assert!(mismatch.diffs.iter().all(|diff| !diff.message.rendered().is_empty()));
            }
        }
    }
}
