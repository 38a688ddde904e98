//! Numbers that look random and are decided by a seed: PCG with the DXSM output, of 128 bits of state.

use mcprove_settings::hash::fnv_1a;

/// The multiplier of the generator.
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
/// What is added at each step.
const INCREMENT: u128 = 0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f;
/// The multiplier of the output.
const MIX: u64 = 0xda94_2042_e4dd_58b5;

/// How many bits a roll has: as many as a double holds.
const ROLL_BITS: u32 = 53;

/// A generator at the beginning of its numbers.
#[derive(Debug, Clone)]
pub struct SeededRng {
    state: u128,
}

impl SeededRng {
    /// The generator of a seed and a number.
    pub fn of(seed: &str, number: i64) -> Self {
        let text = format!("{seed}|{number}");
        let high = fnv_1a(text.bytes());
        let low = fnv_1a("salt|".bytes().chain(text.bytes()));
        Self {
            state: (u128::from(high) << 64) | u128::from(low),
        }
    }

    /// The next 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let (mut high, low) = ((self.state >> 64) as u64, self.state as u64);
        high ^= high >> 32;
        high = high.wrapping_mul(MIX);
        high ^= high >> 48;
        high.wrapping_mul(low | 1)
    }

    /// A number from 0 up to 1, without 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are what a double holds"
    )]
    pub fn value(mut self) -> f64 {
        let scale = 1_u64 << ROLL_BITS;
        (self.next() & (scale - 1)) as f64 / scale as f64
    }

    /// One of the first `count` numbers.
    #[expect(clippy::cast_possible_truncation, reason = "less than `count`")]
    pub fn pick(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}
