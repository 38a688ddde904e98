//! Numbers within bounds.

use serde_json::Number;

use crate::prelude::*;

/// Multiples looked at to find one that is whole.
const WHOLE_MULTIPLE_MAX: u32 = 1_000;
/// Beyond this a double is no exact integer.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Whole numbers that satisfy the bounds, the plainest first.
///
/// A minimum that is not negative is taken at its word. Otherwise the number nearest to one is
/// taken: zero is what servers refuse most often, and generators write the least integer there is
/// where they mean no minimum.
pub fn integers(requirements: &Requirements<'_>, variants: usize) -> Vec<Value> {
    let (low, high) = whole_bounds(requirements);
    let multiples: Vec<&Value> = requirements.all(&["multipleOf"]).collect();
    let Some(step) = common_step(&multiples) else {
        return Vec::new();
    };
    let least = low.unwrap_or(i128::from(i64::MIN));
    let most = high.unwrap_or(i128::from(u64::MAX));
    let wanted = match low {
        Some(low) if low >= 0 => low,
        _ => 1.clamp(least.min(most), most),
    };
    // Up from the wanted number, then down from it.
    let above = round_up(wanted, step);
    let up = (0..).map(|index| above + step * index);
    let down = (1..).map(|index| above - step * index);
    let within = |number: &i128| (least..=most).contains(number);
    up.take_while(within)
        .take(variants)
        .chain(down.take_while(within).take(variants))
        .take(variants)
        .filter_map(Number::from_i128)
        .map(Value::Number)
        .collect()
}

/// Whether a whole number satisfies the bounds.
pub fn is_within(requirements: &Requirements<'_>, value: &Value) -> bool {
    let (low, high) = whole_bounds(requirements);
    value.as_i64().map(i128::from).is_some_and(|number| {
        low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)
    })
}

/// The least and the greatest whole number that the bounds allow.
fn whole_bounds(requirements: &Requirements<'_>) -> (Option<i128>, Option<i128>) {
    let lowest = |(number, exclusive)| {
        let (whole, exact) = to_whole(number, f64::ceil)?;
        Some(whole + i128::from(exclusive && exact))
    };
    let highest = |(number, exclusive)| {
        let (whole, exact) = to_whole(number, f64::floor)?;
        Some(whole - i128::from(exclusive && exact))
    };
    let (lower, upper) = (requirements.lower_bounds(), requirements.upper_bounds());
    (
        lower.into_iter().filter_map(lowest).max(),
        upper.into_iter().filter_map(highest).min(),
    )
}

/// Numbers that satisfy the bounds: whole ones, then fractions.
pub fn numbers(requirements: &Requirements<'_>, variants: usize) -> Vec<Value> {
    let mut found = integers(requirements, variants);
    let tightest = |bounds: Vec<(&Value, bool)>, tighter: fn(f64, f64) -> f64| {
        bounds
            .into_iter()
            .filter_map(|(number, _)| number.as_f64())
            .reduce(tighter)
    };
    let low = tightest(requirements.lower_bounds(), f64::max);
    let high = tightest(requirements.upper_bounds(), f64::min);
    let mut add = |number: f64| {
        if let Some(number) = Number::from_f64(number) {
            found.push(Value::Number(number));
        }
    };
    let multiple = requirements.all(&["multipleOf"]).next();
    let multiple = multiple.and_then(Value::as_f64);
    match (multiple, low, high) {
        (Some(multiple), low, high) if multiple > 0.0 => {
            let start = low.map_or_else(
                || high.map_or(0.0, |high| (high / multiple).floor() - 2.0),
                |low| (low / multiple).ceil(),
            );
            for index in [0.0, 1.0, 2.0] {
                add((start + index) * multiple);
            }
        }
        (_, Some(low), Some(high)) => {
            for share in [0.5, 0.25, 0.75, 0.125] {
                add((high - low).mul_add(share, low));
            }
            add(low);
            add(high);
        }
        (_, Some(low), None) => {
            add(low + 0.5);
            add(low + low.abs());
        }
        (_, None, Some(high)) => {
            add(high - 0.5);
            add(high - high.abs());
        }
        (_, None, None) => add(0.5),
    }
    found
}

/// The number rounded to an integer, and whether it was one.
#[allow(clippy::cast_possible_truncation)]
fn to_whole(value: &Value, round: fn(f64) -> f64) -> Option<(i128, bool)> {
    if let Some(number) = value.as_number()?.as_i128() {
        return Some((number, true));
    }
    let number = value.as_f64()?;
    // Far beyond what JSON integers hold here, and far from overflow.
    let bounded = number.clamp(-1e30, 1e30);
    Some((round(bounded) as i128, number.fract() == 0.0))
}

/// The least distance of integers that are multiples of all.
fn common_step(multiples: &[&Value]) -> Option<i128> {
    multiples.iter().try_fold(1_i128, |step, value| {
        let multiple = whole_multiple(value)?;
        let common = step.checked_mul(multiple)? / greatest_common_divisor(step, multiple);
        (common <= i128::from(u64::MAX)).then_some(common)
    })
}

#[allow(clippy::cast_possible_truncation)]
fn whole_multiple(value: &Value) -> Option<i128> {
    if let Some(number) = value.as_u64() {
        return (number > 0).then_some(i128::from(number));
    }
    let number = value.as_f64().filter(|number| *number > 0.0)?;
    (1..=WHOLE_MULTIPLE_MAX)
        .map(|factor| number * f64::from(factor))
        .find(|product| {
            let nearest = product.round();
            (1.0..EXACT_MAX).contains(&nearest) && (product - nearest).abs() < 1e-9
        })
        .map(|product| product.round() as i128)
}

const fn greatest_common_divisor(mut left: i128, mut right: i128) -> i128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

const fn round_up(number: i128, step: i128) -> i128 {
    let rest = number.rem_euclid(step);
    if rest == 0 {
        number
    } else {
        number + step - rest
    }
}
