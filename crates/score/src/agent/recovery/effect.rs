//! What each kind of fault does to a call in virtual time; [`observe_run`](super::observe_run) has the
//! table.

use crate::prelude::*;
use mcprove_trace::{Execution, Special};

/// What a fault does to a call, in virtual time.
#[derive(Clone, Copy)]
pub enum Effect {
    TimesOut,
    AnswersAtOnce,
    Nothing,
    /// It depends on this, which is not told.
    Unknown(&'static str),
}

impl Effect {
    /// Of a fault that `met_before` calls met before this one.
    pub fn of(mark: &FaultMark, met_before: u64, max_detection_ms: u64) -> Self {
        let times_out_if = |times_out: bool| {
            if times_out {
                Self::TimesOut
            } else {
                Self::Nothing
            }
        };
        let kind = mark.kind;
        if !kind.is_fault() {
            Self::Nothing
        } else if kind.special() == Special::Recovers {
            let times_out = |failures| times_out_if(met_before < failures);
            mark.failures.map_or(Self::Unknown("failures"), times_out)
        } else if kind.executes() == Execution::Late {
            let times_out = |delay| times_out_if(delay >= max_detection_ms);
            mark.delay_ms.map_or(Self::Unknown("delay_ms"), times_out)
        } else if kind.is_silent() {
            Self::TimesOut
        } else {
            Self::AnswersAtOnce
        }
    }
}
