//! Suites and reports of tests that never ran, for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mcprove_load::config::SessionSettings;
use mcprove_servers::mock::MockSpec;
use mcprove_settings::error::SourcePlace;
use serde_json::json;

use super::report::{SuiteReport, TestKind, TestOutcome, TestReport};
use crate::plan::{Reach, ServerPlan, SuitePlan, TestHead, ToolTestPlan};

/// A suite without a test.
pub(crate) fn plan(file: &str) -> SuitePlan {
    SuitePlan {
        file: file.to_owned(),
        folder: PathBuf::new(),
        servers: BTreeMap::new(),
        faults: Vec::new(),
        tools: Vec::new(),
        agents: Vec::new(),
        load: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What every test has.
pub(crate) fn head(name: &str, line: usize, tags: &[&str]) -> TestHead {
    TestHead {
        name: name.to_owned(),
        place: SourcePlace { line, column: 5 },
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        skip: None,
    }
}

/// A test of a tool of the server `api`.
pub(crate) fn tool(name: &str, line: usize, tags: &[&str]) -> ToolTestPlan {
    ToolTestPlan {
        head: head(name, line, tags),
        server: "api".to_owned(),
        tool: "search".to_owned(),
        args: json!({}),
        timeout: Duration::from_secs(1),
        expect: Vec::new(),
        negative_path: None,
    }
}

pub(crate) fn report_of(plan: &SuitePlan, outcomes: &[(&str, TestOutcome)]) -> SuiteReport {
    let tests = outcomes.iter().map(|(name, outcome)| {
        let mut test = TestReport::new(TestKind::Tool, &head(name, 1, &[]), plan);
        test.outcome = *outcome;
        test
    });
    SuiteReport::new(tests.collect(), false)
}

/// A mock without a tool.
pub(crate) fn mock_server(name: &str) -> ServerPlan {
    ServerPlan {
        name: name.to_owned(),
        place: SourcePlace { line: 1, column: 1 },
        reach: Reach::Mock {
            spec: Box::new(MockSpec::new(name)),
            faults: Vec::new(),
        },
        session: SessionSettings::default(),
        parallel: 8,
        is_fresh: false,
        min_coverage: None,
    }
}
