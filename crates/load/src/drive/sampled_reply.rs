//! A sample of the replies of a load that hold no token: after the load they are compared with what the same calls get
//! alone.

use mcprove_trace::decision::decide_share;

use crate::prelude::*;

/// The share of calls that is sampled.
const SHARE: f64 = 0.01;
/// The first calls are sampled too, so that a short load has a sample.
const FIRST: u64 = 20;
/// The most that are kept: those whose shares are smallest, so that they are from all of the load.
const KEPT_MAX: usize = 200;
/// How far from a call's number those of calls under way at the same time are looked for.
const REACH: u64 = 64;

/// A reply to be compared.
pub struct SampledReply {
    pub call: PreparedCall,
    pub number: u64,
    pub request_id: u64,
    /// Tells its text from others.
    pub hash: u64,
    /// Calls whose reply it may be instead: those that were under way at the same time, nearest first.
    pub others: Vec<u64>,
    /// What decided that it is in the sample.
    share: f64,
}

/// The sample of a run.
#[derive(Default)]
pub struct SampledReplies {
    kept: Vec<SampledReply>,
}

/// Whether a call is in the sample, with what decides who stays in it.
pub fn share_of_sample(seed: u64, number: u64) -> Option<f64> {
    let share = decide_share(seed, "sample", number);
    (share < SHARE || number < FIRST).then_some(share)
}

/// Whether a call of the sample has other numbers than those beside it, where nothing else tells calls apart.
pub fn has_other_numbers(seed: u64, number: u64) -> bool {
    share_of_sample(seed, number).is_some() && (number >= FIRST || number % 2 == 1)
}

/// Calls with numbers near that of a call, nearest first.
pub fn neighbours(number: u64) -> impl Iterator<Item = u64> {
    (1..=REACH).flat_map(move |distance| {
        [number.checked_sub(distance), number.checked_add(distance)]
            .into_iter()
            .flatten()
    })
}

impl SampledReply {
    /// A reply with its place in the sample.
    pub fn new(
        call: &PreparedCall,
        number: u64,
        reply: &Reply,
        others: Vec<u64>,
        share: f64,
    ) -> Option<Self> {
        Some(Self {
            call: call.clone(),
            number,
            request_id: reply.request_id,
            hash: hash(&canonical_reply(reply)?),
            others,
            share,
        })
    }
}

impl SampledReplies {
    /// Adds a reply; of too many, the one with the largest share goes.
    pub fn add(&mut self, reply: SampledReply) {
        let place = self.kept.partition_point(|kept| kept.share <= reply.share);
        if place < KEPT_MAX {
            self.kept.insert(place, reply);
            self.kept.truncate(KEPT_MAX);
        }
    }

    /// The replies, in an order that chance decides.
    pub fn take(&mut self) -> Vec<SampledReply> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_in_a_hundred_is_sampled_after_the_first_ones() {
        let count = |range: Range<u64>| range.filter_map(|it| share_of_sample(3, it)).count();
        assert_eq!(count(0..20), 20);
        let later = count(20..100_000);
        assert!((900..1100).contains(&later), "{later}");
    }

    #[test]
    fn neighbours_begin_with_the_nearest() {
        let near: Vec<u64> = neighbours(1).take(4).collect();
        assert_eq!(near, [0, 2, 3, 4]);
        assert_eq!(neighbours(1000).count() as u64, 2 * REACH);
    }
}
