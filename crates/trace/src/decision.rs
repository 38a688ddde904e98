//! Random choices that do not depend on who asks first: each is a hash of the seed, a name and a
//! number.

use mcprove_settings::hash::fnv_1a;

/// A number that depends on all three and on nothing else.
pub fn decide(seed: u64, name: &str, number: u64) -> u64 {
    // FNV-1a over the name, then the finaliser of SplitMix64 over all.
    let hash = fnv_1a(name.bytes());
    mix(mix(seed ^ hash).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// The same as a number from 0 up to 1.
pub fn decide_share(seed: u64, name: &str, number: u64) -> f64 {
    share(decide(seed, name, number))
}

/// A decision as a number from 0 up to 1.
pub fn share(decision: u64) -> f64 {
    // 53 bits are what a double holds.
    #[allow(clippy::cast_precision_loss)]
    let (share, whole) = ((decision >> 11) as f64, (1_u64 << 53) as f64);
    share / whole
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_the_same_every_time_and_even() {
        assert_eq!(decide(1, "a", 2), decide(1, "a", 2));
        assert_ne!(decide(1, "a", 2), decide(1, "b", 2));
        assert_ne!(decide(1, "a", 2), decide(2, "a", 2));
        let low = (0..10_000)
            .filter(|number| decide_share(3, "tool", *number) < 0.3)
            .count();
        assert!((2800..3200).contains(&low), "{low}");
    }
}
