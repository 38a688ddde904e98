//! The faults of mocks, for agents that are models: they act in virtual time, like those that a test injects.
//!
//! A mock that hangs would have our own loop wait for nothing, and would leave no mark for the scoring of
//! recovery. So the mock is started without its faults, and the test meets them, aimed at that mock, after
//! its own. A process of the user meets them live: its clock is not ours.

use crate::plan::{AgentTestPlan, Driver, Reach, ServerPlan, SuitePlan};

/// The test with the faults of its mocks among those that its calls meet.
pub(super) fn injected(test: &AgentTestPlan, plan: &SuitePlan) -> AgentTestPlan {
    let mut injected = test.clone();
    let names = test.servers.iter();
    for name in names.filter(|_| matches!(test.driver, Driver::Model(_))) {
        if let Some(Reach::Mock { faults, .. }) = plan.servers.get(name).map(|it| &it.reach) {
            injected
                .inject
                .extend(faults.iter().cloned().map(|mut fault| {
                    fault.target.server = Some(name.clone());
                    fault
                }));
        }
    }
    injected
}

/// The server as this agent finds it: of the faults of a mock, a model meets none live.
pub(super) fn as_found_by(driver: &Driver, server: &ServerPlan) -> ServerPlan {
    let mut server = server.clone();
    if let (Driver::Model(_), Reach::Mock { faults, .. }) = (driver, &mut server.reach) {
        faults.clear();
    }
    server
}
