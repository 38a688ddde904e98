//! Seals on what a client is given and has to bring back unchanged.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Keys that only this process knows.
#[derive(Default)]
pub struct SignedState {
    first: RandomState,
    second: RandomState,
}

impl SignedState {
    /// The text with a seal on it.
    pub fn put(&self, text: &str) -> String {
        format!("{text}.{}", self.mark(text))
    }

    /// The text, if the seal on it is whole.
    pub fn check<'a>(&self, sealed: &'a str) -> Option<&'a str> {
        let (text, mark) = sealed.rsplit_once('.')?;
        (mark == self.mark(text)).then_some(text)
    }

    /// What stands for a text, and tells nothing of it.
    pub fn mark(&self, text: &str) -> String {
        let half = |keys: &RandomState| {
            let mut hasher = keys.build_hasher();
            hasher.write(text.as_bytes());
            hasher.finish()
        };
        format!("{:016x}{:016x}", half(&self.first), half(&self.second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_here_is_whole() {
        let seal = SignedState::default();
        let sealed = seal.put("step 1.5");
        assert_eq!(seal.check(&sealed), Some("step 1.5"));
        assert_eq!(seal.check(&format!("{sealed}-TAMPERED")), None);
        assert_eq!(seal.check(&sealed.replace('5', "6")), None);
        assert_eq!(seal.check("step 1.5"), None);
        assert_eq!(SignedState::default().check(&sealed), None);
    }
}
