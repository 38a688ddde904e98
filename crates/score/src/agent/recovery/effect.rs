//! What each kind of fault does to a call in virtual time; [`observe_run`](super::observe_run) has the
//! table.

use mcprove_trace::{FaultKind, FaultMark};

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
        match mark.kind {
            FaultKind::None => Self::Nothing,
            FaultKind::Hang
            | FaultKind::Wedged
            | FaultKind::LoseRequest
            | FaultKind::LoseReply
            | FaultKind::ProgressForever => Self::TimesOut,
            FaultKind::Slow | FaultKind::ReplyAfterCancel | FaultKind::Jitter => {
                let times_out = |delay| times_out_if(delay >= max_detection_ms);
                mark.delay_ms.map_or(Self::Unknown("delay_ms"), times_out)
            }
            FaultKind::RecoverAfter => {
                let times_out = |failures| times_out_if(met_before < failures);
                mark.failures.map_or(Self::Unknown("failures"), times_out)
            }
            FaultKind::Error
            | FaultKind::ToolError
            | FaultKind::Flaky
            | FaultKind::Malformed
            | FaultKind::Truncated
            | FaultKind::Corrupt
            | FaultKind::Empty
            | FaultKind::Oversized
            | FaultKind::Disconnect
            | FaultKind::Crash
            | FaultKind::Duplicate
            | FaultKind::WrongId
            | FaultKind::Reorder
            | FaultKind::Noise
            | FaultKind::Vanish
            | FaultKind::HttpStatus => Self::AnswersAtOnce,
        }
    }
}
