//! What the tests of loads share.

use std::time::Duration;

use mcprove_load::drive::scenario::{Churn, ColdStart, Ramp, SlowMix, Spike};
use mcprove_load::drive::{Scenario, ScenarioKind};

/// The command under test.
pub const MCPROVE: &str = env!("CARGO_BIN_EXE_mcprove");
/// How long a call may take before it counts as hung: long for a busy machine, short for a test.
pub const HANG: Duration = Duration::from_millis(700);

/// The scenario of that name, small.
pub fn scenario(name: &str) -> Scenario {
    let short = Duration::from_millis(600);
    let long = Duration::from_millis(1500);
    let scenario = match name {
        "cold_start" => Scenario::from(ScenarioKind::ColdStart(ColdStart {
            iterations: 2,
            warmup: false,
        })),
        "sustained" => Scenario::sustained().concurrent(5).duration(short),
        "spike" => Scenario::from(ScenarioKind::Spike(Spike::new(
            4,
            100,
            Duration::from_millis(2400),
            Duration::from_millis(700),
            Duration::from_millis(300),
        ))),
        "ramp" => Scenario::from(ScenarioKind::Ramp(Ramp::new(2, 32, 15, long))),
        "soak" => Scenario::soak().concurrent(2).duration(long),
        "pattern" => Scenario::pattern([mcprove_load::drive::scenario::preset("read_then_write")])
            .concurrent(3)
            .duration(short),
        "deadlock_probe" => Scenario::deadlock_probe()
            .concurrent(8)
            .hang_limits(HANG, HANG),
        "race_check" => Scenario::race_check().concurrent(8).iterations(2),
        "fuzzer" => Scenario::fuzzer(),
        "slow_mix" => Scenario::from(ScenarioKind::SlowMix(SlowMix {
            concurrent: 32,
            duration: long,
            slow_share: 0.5,
        })),
        "reconnect" => Scenario::reconnect().iterations(2),
        "churn" => Scenario::from(ScenarioKind::Churn(Churn {
            sessions: 12,
            concurrent: 3,
        })),
        "early_call" => Scenario::early_call().iterations(1),
        "interrupted_call" => Scenario::interrupted_call().iterations(2),
        name => panic!("the scenario {name} has no place in the table"),
    };
    scenario.seed(7)
}
