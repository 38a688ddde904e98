//! Which requests a server has not answered yet.
//!
//! Where that is in doubt, an answer is still owed: waiting too long does less harm than cutting an
//! honest answer off.

use std::collections::{HashMap, VecDeque};

use super::outline::Outline;
use crate::message::IdKey;

/// How many requests are told apart; whether further ones are answered stays in doubt.
const OPEN_MAX: usize = 100_000;
/// How many cancelled requests are remembered, in case that their ids come again.
const CANCELLED_MAX: usize = 256;

/// What a server owes.
#[derive(Default)]
pub struct Debts {
    /// How many requests of an id are not answered.
    open: HashMap<IdKey, u32>,
    /// The last requests that were cancelled and may be answered all the same.
    cancelled: VecDeque<IdKey>,
    is_in_doubt: bool,
}

impl Debts {
    /// Whether it has not answered all that it was asked.
    pub fn is_any(&self) -> bool {
        self.is_in_doubt || !self.open.is_empty()
    }

    /// Something went to the server.
    pub fn client_says(&mut self, outline: Outline) {
        match outline {
            Outline::Request(id) => {
                if self.open.len() < OPEN_MAX || self.open.contains_key(&id) {
                    let count = self.open.entry(id).or_default();
                    *count = count.saturating_add(1);
                } else {
                    self.is_in_doubt = true;
                }
            }
            Outline::Cancellation(id) => {
                if self.settle(&id) {
                    if self.cancelled.len() >= CANCELLED_MAX {
                        self.cancelled.pop_front();
                    }
                    self.cancelled.push_back(id);
                }
            }
            Outline::Answer(_) => {}
        }
    }

    /// Something came from the server. What was never asked for is no credit.
    pub fn server_says(&mut self, outline: &Outline) {
        let Outline::Answer(id) = outline else { return };
        // One that comes although it was cancelled settles nothing else, even if its id is used again.
        match self.cancelled.iter().position(|other| other == id) {
            Some(place) => {
                self.cancelled.remove(place);
            }
            None => {
                self.settle(id);
            }
        }
    }

    fn settle(&mut self, id: &IdKey) -> bool {
        match self.open.get_mut(id) {
            Some(1) => self.open.remove(id).is_some(),
            Some(count) => {
                *count = count.saturating_sub(1);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> IdKey {
        IdKey::new(&number.to_string())
    }

    #[test]
    fn a_late_answer_to_what_was_cancelled_settles_nothing_else() {
        let mut debts = Debts::default();
        debts.client_says(Outline::Request(id(1)));
        debts.client_says(Outline::Request(id(2)));
        debts.client_says(Outline::Cancellation(id(1)));
        debts.client_says(Outline::Cancellation(id(1)));
        debts.server_says(&Outline::Answer(id(1)));
        debts.server_says(&Outline::Answer(id(1)));
        assert!(debts.is_any());
        debts.server_says(&Outline::Answer(id(2)));
        assert!(!debts.is_any());
        // Nor does it if the id is used again.
        debts.client_says(Outline::Request(id(3)));
        debts.client_says(Outline::Cancellation(id(3)));
        assert!(!debts.is_any());
        debts.client_says(Outline::Request(id(3)));
        debts.server_says(&Outline::Answer(id(3)));
        assert!(debts.is_any());
        debts.server_says(&Outline::Answer(id(3)));
        assert!(!debts.is_any());
    }

    #[test]
    fn requests_of_the_same_id_are_each_owed() {
        let mut debts = Debts::default();
        debts.client_says(Outline::Request(id(1)));
        debts.client_says(Outline::Request(id(1)));
        debts.server_says(&Outline::Answer(id(1)));
        assert!(debts.is_any());
        debts.server_says(&Outline::Answer(id(1)));
        assert!(!debts.is_any());
    }

    #[test]
    fn what_is_remembered_is_bounded_and_beyond_that_answers_are_owed() {
        let mut debts = Debts::default();
        for number in 0..=OPEN_MAX {
            debts.client_says(Outline::Request(id(number)));
        }
        assert_eq!(debts.open.len(), OPEN_MAX);
        for number in 0..=OPEN_MAX {
            debts.server_says(&Outline::Answer(id(number)));
        }
        assert!(debts.open.is_empty() && debts.is_any());
        for number in 0..2 * CANCELLED_MAX {
            debts.client_says(Outline::Request(id(number)));
            debts.client_says(Outline::Cancellation(id(number)));
        }
        assert_eq!(debts.cancelled.len(), CANCELLED_MAX);
    }
}
