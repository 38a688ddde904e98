//! Whether a fault explains what became of a call that it struck.
//!
//! A fault excuses only what it can cause. A call that is merely held back, and then fails or never
//! returns, fails by the server's own doing.

use super::{ClientView, FaultKind, Special};
use crate::prelude::*;

/// The fault may have a tenth of the time of a call that hangs before it counts as a reason.
const HELD_SHARE: u32 = 10;

/// A fault that struck a call.
///
/// ```
/// use std::time::Duration;
/// use mcprove_trace::{ErrorCategory, FaultKind, Strike};
///
/// let slow = Strike { kind: FaultKind::Slow, held: Duration::from_millis(5) };
/// assert!(!slow.explains(ErrorCategory::ServerError, Duration::from_millis(9), None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strike {
    /// Its kind.
    pub kind: FaultKind,
    /// How long it held the call up at most, where it lets the server answer.
    pub held: Duration,
}

impl Strike {
    /// Whether the fault can have made a call fail like this after `took`. Calls count as hung from
    /// `hung_from` on, where that is known.
    pub fn explains(
        self,
        category: ErrorCategory,
        took: Duration,
        hung_from: Option<Duration>,
    ) -> bool {
        let heard = self.kind.client_view();
        match category {
            ErrorCategory::Cancelled => true,
            _ if matches!(heard, ClientView::Failure | ClientView::Nothing) => true,
            ErrorCategory::Malformed => {
                heard == ClientView::Altered || self.kind.special() == Special::Junk
            }
            ErrorCategory::Hang | ErrorCategory::Deadlock | ErrorCategory::Timeout => {
                self.explains_wait(took, hung_from)
            }
            _ => false,
        }
    }

    /// Whether a call that has had no answer for `waited` waits for the fault: it was held up for a good
    /// part of that, and the rest alone would be no hang.
    pub fn explains_wait(self, waited: Duration, hung_from: Option<Duration>) -> bool {
        if matches!(
            self.kind.client_view(),
            ClientView::Failure | ClientView::Nothing
        ) {
            return true;
        }
        let own = waited.saturating_sub(self.held);
        let is_brief = self.held.saturating_mul(HELD_SHARE) <= waited;
        !is_brief && hung_from.is_none_or(|limit| own < limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn strike(kind: FaultKind, held: Duration) -> Strike {
        Strike { kind, held }
    }

    #[test]
    fn a_fault_explains_only_what_it_can_cause() {
        for kind in [
            FaultKind::Slow,
            FaultKind::Jitter,
            FaultKind::ReplyAfterCancel,
            FaultKind::Duplicate,
            FaultKind::Reorder,
            FaultKind::Noise,
            FaultKind::Corrupt,
            FaultKind::Empty,
            FaultKind::Oversized,
        ] {
            let short = strike(kind, Duration::from_millis(5));
            for category in [
                ErrorCategory::ServerError,
                ErrorCategory::ProtocolError,
                ErrorCategory::ToolError,
                ErrorCategory::Crash,
                ErrorCategory::Disconnected,
                ErrorCategory::Deadlock,
                ErrorCategory::Hang,
                ErrorCategory::Timeout,
            ] {
                assert!(!short.explains(category, 5 * SECOND, None), "{kind:?}");
            }
            assert!(short.explains(ErrorCategory::Cancelled, SECOND, None));
        }
        for kind in [FaultKind::Hang, FaultKind::Error, FaultKind::LoseReply] {
            let strike = strike(kind, Duration::ZERO);
            assert!(strike.explains(ErrorCategory::Deadlock, 5 * SECOND, Some(SECOND)));
        }
        let huge = strike(FaultKind::Oversized, Duration::ZERO);
        assert!(huge.explains(ErrorCategory::Malformed, SECOND, None));
        let slow = strike(FaultKind::Slow, Duration::ZERO);
        assert!(!slow.explains(ErrorCategory::Malformed, SECOND, None));
    }

    #[test]
    fn a_wait_is_the_faults_as_far_as_it_held_the_call_up() {
        let slow = strike(FaultKind::Slow, 4 * SECOND);
        let limit = Some(5 * SECOND);
        assert!(slow.explains_wait(5 * SECOND, limit));
        assert!(slow.explains(ErrorCategory::Hang, 6 * SECOND, limit));
        assert!(!slow.explains(ErrorCategory::Deadlock, 15 * SECOND, limit));
        assert!(slow.explains(ErrorCategory::Timeout, 5 * SECOND, None));
    }
}
