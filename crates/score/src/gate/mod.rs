//! Gates: what a score must be, and its outcome.
//!
//! A gates file, or an agent of a suite, has [`Gates`]: blocks that switch a metric on, each with
//! its settings and the [`Expectation`]s over its targets. [`score`] computes every metric, puts
//! the numbers on a [`Scorecard`], and applies the gates. Whatever cannot be judged (a path that
//! leads nowhere, an unknown value, a metric that was not computed) is a [`ScoreError`], never a
//! pass. [`file`] reads gates from YAML.

mod block;
mod document;
mod evaluate;
pub mod file;
mod matcher;
mod path;
mod result;
mod run_card;
mod score;
mod scorecard;

pub use block::*;
pub use evaluate::judge;
pub use matcher::{Answer, Difference, Matcher};
pub use path::{Path, PathStep};
pub use result::*;
pub use run_card::RunCard;
pub use score::*;
pub use scorecard::{
    Findings, GateFailure, GateId, RunTargets, ScoreError, ScoreReport, ScoreResult, Scorecard,
};
