//! The exit code of a command: one order for all of them.

/// What a command came to. Where several hold, the greatest decides: `a.max(b)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitCode {
    /// 0: what was asked for was done, and nothing was found.
    Passed,
    /// 2: the evidence is not enough to decide.
    Inconclusive,
    /// 1: a gate, a threshold or a check failed.
    Finding,
    /// The exit code, other than 0, that a server of ours or behind `mcprove proxy` ended with.
    OfServer(u8),
    /// 2: something could not be started, done or written.
    CouldNotRun,
    /// 130: the user interrupted.
    Interrupted,
}

impl ExitCode {
    /// The number that the process ends with.
    pub const fn number(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Finding => 1,
            Self::Inconclusive | Self::CouldNotRun => 2,
            Self::OfServer(code) => code,
            Self::Interrupted => 130,
        }
    }

    pub const fn of_server(status: u8) -> Self {
        match status {
            0 => Self::Passed,
            status => Self::OfServer(status),
        }
    }

    /// The worst of some facts; each counts when it holds.
    pub fn worst<const N: usize>(facts: [(bool, Self); N]) -> Self {
        facts
            .into_iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, code)| code)
            .max()
            .unwrap_or(Self::Passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_same_for_every_command() {
        let order = [
            (ExitCode::Interrupted, 130),
            (ExitCode::CouldNotRun, 2),
            (ExitCode::Finding, 1),
            (ExitCode::Inconclusive, 2),
            (ExitCode::Passed, 0),
        ];
        for (index, (code, number)) in order.into_iter().enumerate() {
            assert_eq!(code.number(), number);
            for (lesser, _) in &order[index..] {
                assert_eq!(code.max(*lesser), code);
                assert_eq!(ExitCode::worst([(true, *lesser), (true, code)]), code);
            }
        }
        let none = ExitCode::worst([(false, ExitCode::Interrupted)]);
        assert_eq!(none, ExitCode::Passed);
    }
}
