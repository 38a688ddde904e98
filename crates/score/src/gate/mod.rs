//! Gates: what a score must be, and what came of it.
//!
//! A gates file, or an agent of a suite, has [`Gates`]: blocks that switch a metric on, each with
//! its settings and the [`Expectation`]s over its targets. [`score`] computes every metric, puts
//! the numbers on a [`Scorecard`], and applies the gates. Whatever cannot be judged (a path that
//! leads nowhere, an unknown value, a metric that was not computed) is a [`ScoreError`], never a
//! pass.

mod block;
mod document;
mod evaluate;
mod judge;
mod matcher;
mod path;
mod score;
mod scorecard;

pub use block::{Expectation, Gates};
pub use judge::judge;
pub use matcher::{Answer, Difference, Matcher, MatcherError};
pub use path::{Path, PathError, Step};
pub use score::{score, score_gated};
pub use scorecard::{GateFailure, RunTargets, ScoreError, ScoreReport, Scorecard};
