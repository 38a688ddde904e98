//! The faults of mocks, for agents that are models: they act in virtual time, like those that a test injects.
//!
//! A mock that hangs would have our own loop wait for nothing, and would leave no mark for the scoring of
//! recovery. So the mock is started without its faults, and the test meets them, aimed at that mock, after
//! its own. A process of the user meets them live: its clock is not ours.

use std::borrow::Cow;

use crate::plan::{AgentTestPlan, Driver, Reach, ServerPlan, SuitePlan};

/// The test with the faults of its mocks among those that its calls meet.
pub(super) fn injected<'t>(test: &'t AgentTestPlan, plan: &SuitePlan) -> Cow<'t, AgentTestPlan> {
    let mut aimed = Vec::new();
    for name in &test.servers {
        if let Some(Reach::Mock { faults, .. }) = plan.servers.get(name).map(|it| &it.reach) {
            aimed.extend(faults.iter().map(|fault| {
                let mut fault = fault.clone();
                fault.target.server = Some(name.clone());
                fault
            }));
        }
    }
    if aimed.is_empty() || matches!(test.driver, Driver::Command(_)) {
        return Cow::Borrowed(test);
    }
    let mut test = test.clone();
    test.inject.extend(aimed);
    Cow::Owned(test)
}

/// The server as this agent finds it: of the faults of a mock, a model meets none live.
pub(super) fn as_found_by<'s>(driver: &Driver, server: &'s ServerPlan) -> Cow<'s, ServerPlan> {
    match (driver, &server.reach) {
        (Driver::Model(_), Reach::Mock { spec, faults }) if !faults.is_empty() => {
            let reach = Reach::Mock {
                spec: spec.clone(),
                faults: Vec::new(),
            };
            Cow::Owned(ServerPlan {
                reach,
                ..server.clone()
            })
        }
        _ => Cow::Borrowed(server),
    }
}
