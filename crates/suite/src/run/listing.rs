//! The tests of suites, in the order of the files: what is chosen from, and what `--list` shows.

use crate::prelude::*;

/// One test of a suite.
#[derive(Debug, Clone, Copy)]
pub struct TestOf<'a> {
    pub plan: &'a SuitePlan,
    /// The place of the suite among those that are run.
    pub suite: usize,
    pub test: Test<'a>,
}

/// A test, whatever its kind.
#[derive(Debug, Clone, Copy)]
pub enum Test<'a> {
    Tool(&'a ToolTestPlan),
    Agent(&'a AgentTestPlan),
    Load(&'a LoadTestPlan),
}

/// The name of the format.
const SUITE_LIST_FORMAT: &str = "suite-list.v1";

/// The tests that would be run.
#[data(Eq)]
#[schemars(title = "suite-list.v1")]
pub struct SuiteList {
    /// The format, `suite-list.v1`.
    pub schema: String,
    /// The tests, in the order of the files.
    pub tests: Vec<ListedTest>,
}

/// A test as it is listed.
#[data(Eq)]
pub struct ListedTest {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: TestKind,
    /// The file of its suite.
    pub file: String,
    /// Its line in the file.
    pub line: usize,
    /// By which it can be chosen.
    pub tags: Vec<String>,
    /// The servers that it uses.
    pub servers: Vec<String>,
    /// Why it is not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
}

/// Every test of the suites, in the order of the files.
pub fn collect_tests(plans: &[SuitePlan]) -> Vec<TestOf<'_>> {
    let mut all = Vec::new();
    for (suite, plan) in plans.iter().enumerate() {
        let tools = plan.tools.iter().map(Test::Tool);
        let agents = plan.agents.iter().map(Test::Agent);
        let loads = plan.load.iter().map(Test::Load);
        let mut tests: Vec<TestOf<'_>> = tools
            .chain(agents)
            .chain(loads)
            .map(|test| TestOf { plan, suite, test })
            .collect();
        tests.sort_by_key(|test| test.head().place);
        all.extend(tests);
    }
    all
}

impl SuiteList {
    /// Of these tests.
    pub fn new(tests: Vec<ListedTest>) -> Self {
        Self {
            schema: SUITE_LIST_FORMAT.to_owned(),
            tests,
        }
    }

    /// The list for programs.
    pub fn to_json(&self) -> String {
        crate::report::to_json(self)
    }
}

impl<'a> TestOf<'a> {
    /// What every test has.
    pub fn head(&self) -> &'a TestHead {
        match self.test {
            Test::Tool(test) => &test.head,
            Test::Agent(test) => &test.head,
            Test::Load(test) => &test.head,
        }
    }

    pub fn name(&self) -> &'a str {
        &self.head().name
    }

    pub fn kind(&self) -> TestKind {
        match self.test {
            Test::Tool(_) => TestKind::Tool,
            Test::Agent(_) => TestKind::Agent,
            Test::Load(_) => TestKind::Load,
        }
    }

    /// The names of the servers that it uses.
    pub fn servers(&self) -> Vec<&'a str> {
        match self.test {
            Test::Tool(test) => vec![&test.server],
            Test::Agent(test) => test.servers.iter().map(String::as_str).collect(),
            Test::Load(test) => vec![&test.server],
        }
    }

    pub fn listed(&self) -> ListedTest {
        let head = self.head();
        ListedTest {
            name: head.name.clone(),
            kind: self.kind(),
            file: self.plan.file.clone(),
            line: head.place.line,
            tags: head.tags.clone(),
            servers: self.servers().into_iter().map(str::to_owned).collect(),
            skip: head.skip.clone(),
        }
    }

    /// A report of which nothing is known yet.
    pub fn report(&self) -> TestReport {
        TestReport::new(self.kind(), self.head(), self.plan)
    }
}
