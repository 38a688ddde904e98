//! The section `tools`: calls of tools, and what must come back.

use mcprove_client::session::options::CALL_TIMEOUT;

use super::entry::{self, SuiteScope};
use super::kinds::Nested;
use super::settings::ToolTestSettings;
use super::targets;
use crate::gates::expectations_of;
use crate::prelude::*;

const LABEL: &str = "a test of `tools`";

/// Reads one test; none only when there were problems.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    scope: &SuiteScope<'_>,
) -> Option<ToolTestPlan> {
    let defaults = &mut scope.defaults.iter();
    let node = entry::completed::<ToolTestSettings>(reader, node, LABEL, &[], defaults)?;
    let (given, section): (ToolTestSettings, _) = entry::settings(reader, &node, LABEL, &[]);
    let head = entry::head(reader, &section, given.tags, given.skip);
    let server = entry::server(reader, &section, scope.servers);
    let tool = table::required(reader, &section, "tool");
    let resolve = if section.get("negative_path").is_some() {
        targets::resolve
    } else {
        targets::resolve_of_call
    };
    let expect = section
        .get("expect")
        .map(|field| expectations_of(reader, field, &resolve));
    let server = server?;
    let of_server = scope
        .servers
        .plans
        .get(&server)
        .and_then(|server| server.session.call_timeout);
    Some(ToolTestPlan {
        head,
        server,
        tool: tool?,
        args: given.args.0.into(),
        timeout: given.timeout_ms.or(of_server).unwrap_or(CALL_TIMEOUT),
        expect: expect.unwrap_or_default(),
        negative_path: given.negative_path.map(|Nested(given)| NegativePathPlan {
            checks: given
                .checks
                .map_or_else(|| Probe::ALL.to_vec(), |checks| checks.0),
            timeout: given.timeout_ms,
            expect: given.expect.map(|expect| expect.0),
        }),
    })
}
