//! Which tools of its servers the tests of a suite call: noted while they run, and judged where a server asks for a
//! share. Calls of agents do not count: what a model calls differs from run to run, and a replay has no server.

use mcprove_client::permission::judge;
use mcprove_load::run::Report;
use mcprove_score::coverage::{CoverageReport, coverage};

use super::servers::Servers;
use crate::prelude::*;

/// The target of `min_coverage`.
const TARGET: &str = "coverage.share";

/// The tools of a server of a suite, and which of them its tests called.
#[data]
pub struct ServerCoverage {
    /// The file of the suite.
    pub file: String,
    /// The server.
    pub server: String,
    /// Its tools. One that a test names may be called, whatever it does.
    pub tools: CoverageReport,
}

/// What is seen of the tools of a server while tests run.
#[derive(Debug, Default)]
pub struct ToolsSeen {
    /// Those that it lists, and whether each may be called without being named; none before it listed them.
    listed: Option<BTreeMap<String, bool>>,
    exercised: BTreeSet<String>,
}

impl ToolsSeen {
    /// The server lists these.
    pub fn list(&mut self, tools: &[Tool]) {
        let tools = tools
            .iter()
            .map(|tool| (tool.name.clone(), judge(tool).is_ok()));
        self.listed = Some(tools.collect());
    }

    /// A call of this tool succeeded.
    pub fn succeeded(&mut self, tool: &str) {
        self.exercised.insert(tool.to_owned());
    }

    /// What a load called.
    pub fn add_load(&mut self, found: &Report) {
        let is_skipped = |name: &String| found.skipped_tools.iter().any(|it| it.name == *name);
        let registered = &found.coverage.registered;
        if self.listed.is_none() && !registered.is_empty() {
            let tools = registered.iter();
            self.listed = Some(
                tools
                    .map(|name| (name.clone(), !is_skipped(name)))
                    .collect(),
            );
        }
        self.exercised
            .extend(found.coverage.exercised.iter().cloned());
    }

    /// What that amounts to; none if the server did not list its tools.
    pub fn coverage(&self) -> Option<CoverageReport> {
        let listed = self.listed.as_ref()?;
        let names: Vec<String> = listed.keys().cloned().collect();
        let may_be_called = |name: &&String| listed[*name] || self.exercised.contains(*name);
        let callable: Vec<String> = names.iter().filter(may_be_called).cloned().collect();
        let calls = self.exercised.iter().map(|name| (name.clone(), 1));
        Some(coverage(&names, &calls.collect(), Some(&callable)))
    }
}

/// The report with what the tests of each suite called, and a row for each server that asks for a share.
pub fn with_coverage(
    mut report: SuiteReport,
    plans: &[SuitePlan],
    servers: &[Servers],
    chosen: &[TestOf<'_>],
) -> SuiteReport {
    let mut checks = Vec::new();
    for (suite, (plan, servers)) in plans.iter().zip(servers).enumerate() {
        let run = chosen.iter().filter(|test| test.suite == suite).count();
        for (name, server) in plan.servers.iter().filter(|_| run > 0) {
            let tools = servers.coverage(name);
            if let Some(least) = server.min_coverage {
                let all = plan.tools.len() + plan.agents.len() + plan.load.len();
                let check = CoverageCheck {
                    plan,
                    server,
                    least,
                    is_whole: run == all && !report.partial,
                };
                checks.push(check.judge(tools.as_ref()));
            }
            report.coverage.extend(tools.map(|tools| ServerCoverage {
                file: plan.file.clone(),
                server: name.clone(),
                tools,
            }));
        }
    }
    SuiteReport {
        coverage: report.coverage,
        ..SuiteReport::new([report.tests, checks].concat(), report.partial)
    }
}

/// Whether enough tools of a server were called.
struct CoverageCheck<'a> {
    plan: &'a SuitePlan,
    server: &'a ServerPlan,
    least: f64,
    /// Whether all tests of the suite were run.
    is_whole: bool,
}

impl CoverageCheck<'_> {
    fn judge(&self, tools: Option<&CoverageReport>) -> TestReport {
        let name = &self.server.name;
        let mut report = TestReport {
            name: format!("coverage of {name}"),
            kind: TestKind::Check,
            file: self.plan.file.clone(),
            line: self.server.place.line,
            ..TestReport::default()
        };
        if !self.is_whole {
            return report.not_run("not judged, because not all tests of the suite were run");
        }
        let Some(tools) = tools else {
            let error = ScoreError::new(
                TARGET,
                sentence!("no test got the list of the tools of `{name}`"),
                sentence!("call its tools in tests, or leave out `min_coverage`"),
            );
            report.errors.push(error.inconclusive());
            return report.judged();
        };
        let (share, least) = (tools.callable_share(), self.least);
        report.targets.insert(TARGET.to_owned(), json!(share));
        if share < least {
            let called = tools.callable_exercised.unwrap_or_default();
            let callable = tools.callable.unwrap_or_default();
            let what = Diagnostic::new(
                sentence!(
                    "{called} of {} that may be called had a successful call; all tools: {}",
                    phrase::count(callable, "tool"),
                    tools.line()
                ),
                sentence!("add a test for each tool that is missing, or lower `min_coverage`"),
            );
            report.fail(TARGET, format!("at least {least}"), share, what);
        }
        report.judged()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        serde_json::from_value(json!({ "name": name, "inputSchema": { "type": "object" } }))
            .unwrap()
    }

    #[test]
    fn a_tool_that_a_test_names_may_be_called() {
        let mut seen = ToolsSeen::default();
        seen.succeeded("ghost");
        assert_eq!(seen.coverage(), None, "nothing is listed");
        seen.list(&[
            tool("get_note"),
            tool("list_notes"),
            tool("delete_note"),
            tool("write_note"),
        ]);
        seen.succeeded("get_note");
        seen.succeeded("delete_note");
        let coverage = seen.coverage().unwrap();
        assert_eq!(coverage.callable, Some(3), "all but write_note");
        assert_eq!(coverage.callable_exercised, Some(2));
        assert_eq!(coverage.missing, ["list_notes", "write_note"]);
    }
}
