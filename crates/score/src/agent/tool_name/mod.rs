//! Which calls a tool is meant by, as people write it in a gates file: `search`, `web__search` and
//! `mcp__web__search` are all the tool `search`, the latter two that of the server `web`.
//!
//! A trace has the tool and its server apart. A name that is that of a recorded tool as a whole means
//! this tool, whatever is in it; else each `__` in it may be where the server ends. A call whose server
//! is unknown may or may not be meant by a name with a server, and nobody can tell.

use crate::prelude::*;

/// What stands between a server and its tool.
pub const SEPARATOR: &str = "__";

/// What clients write before a server.
const CLIENT_PREFIX: &str = "mcp__";

/// Whether a call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is not.
    No,
    /// It depends on its server, or on its arguments, which the trace does not tell.
    Unknown,
    Yes,
}

impl Fit {
    /// Of a condition.
    pub fn of(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

/// A tool as it is written, ready to be compared with.
#[derive(Debug, Clone)]
pub struct ToolName<'a> {
    pub written: &'a str,
    /// The server and the tool, wherever the name may come apart.
    parts: Vec<(&'a str, &'a str)>,
    /// Whether `*` stands for any characters.
    has_stars: bool,
}

impl<'a> ToolName<'a> {
    pub fn exact(written: &'a str) -> Self {
        Self {
            written,
            parts: parts(written),
            has_stars: false,
        }
    }

    /// The name of a tool in which `*` stands for any characters.
    pub fn pattern(written: &'a str) -> Self {
        Self {
            has_stars: true,
            ..Self::exact(written)
        }
    }

    /// All names of a list.
    pub fn all_exact(written: impl IntoIterator<Item = &'a String>) -> Vec<Self> {
        written.into_iter().map(|name| Self::exact(name)).collect()
    }

    /// All names of a list, with `*`.
    pub fn patterns(written: impl IntoIterator<Item = &'a String>) -> Vec<Self> {
        written
            .into_iter()
            .map(|name| Self::pattern(name))
            .collect()
    }

    /// Whether a call is meant.
    pub fn fit(&self, call: &ToolCall) -> Fit {
        self.fit_tool(&call.name, call.server.as_deref())
    }

    /// Whether a tool is meant.
    pub fn fit_tool(&self, name: &str, server: Option<&str>) -> Fit {
        if self.is_like(self.written, name) {
            return Fit::Yes;
        }
        self.parts
            .iter()
            .filter(|(_, tool)| self.is_like(tool, name))
            .map(|(wanted, _)| match server {
                Some(server) => Fit::of(self.is_like(wanted, server)),
                // Whichever it is, `*` fits.
                None if self.has_stars && *wanted == "*" => Fit::Yes,
                None => Fit::Unknown,
            })
            .max()
            .unwrap_or(Fit::No)
    }

    /// The server and the tool that are meant, by the first of these calls that is; `None` where the
    /// name is a tool's as a whole.
    pub fn split_by(&self, calls: &BTreeSet<Tool<'_>>) -> Option<(&'a str, &'a str)> {
        let is_called = |tool: &str, server: Option<&str>| calls.contains(&(tool, server));
        if self.parts.is_empty() || has_name(calls, self.written) {
            return None;
        }
        let parts = || self.parts.iter().copied();
        parts()
            .find(|(server, tool)| is_called(tool, Some(server)))
            .or_else(|| parts().find(|(_, tool)| is_called(tool, None)))
    }

    fn is_like(&self, written: &str, name: &str) -> bool {
        if self.has_stars {
            fits(written, name)
        } else {
            written == name
        }
    }
}

/// A tool that was called, by its name and server.
pub type Tool<'a> = (&'a str, Option<&'a str>);

pub fn tool_of(call: &ToolCall) -> Tool<'_> {
    (call.name.as_str(), call.server.as_deref())
}

/// The tools that were called, each once.
pub fn tools_of<'a>(calls: impl IntoIterator<Item = &'a ToolCall>) -> BTreeSet<Tool<'a>> {
    calls.into_iter().map(tool_of).collect()
}

/// Whether a tool of this name was called, on whatever server.
fn has_name(tools: &BTreeSet<Tool<'_>>, name: &str) -> bool {
    tools
        .range((name, None)..)
        .next()
        .is_some_and(|(found, _)| *found == name)
}

/// Wherever a name may come apart into a server and a tool.
fn parts(written: &str) -> Vec<(&str, &str)> {
    let names = [written.strip_prefix(CLIENT_PREFIX), Some(written)];
    let mut parts = Vec::new();
    for name in names.into_iter().flatten() {
        for (at, _) in name
            .as_bytes()
            .windows(SEPARATOR.len())
            .enumerate()
            .filter(|(_, pair)| *pair == SEPARATOR.as_bytes())
        {
            if let (Some(server), Some(tool)) = (name.get(..at), name.get(at + SEPARATOR.len()..))
                && !server.is_empty()
                && !tool.is_empty()
            {
                parts.push((server, tool));
            }
        }
    }
    parts
}

/// Whether one of these names means a call.
pub fn fit_any(names: &[ToolName<'_>], call: &ToolCall) -> Fit {
    names
        .iter()
        .map(|name| name.fit(call))
        .max()
        .unwrap_or(Fit::No)
}

/// Those of a list that mean no call of any run.
pub fn without_call<'a>(written: &'a [String], runs: &[AgentRun]) -> Vec<&'a str> {
    if written.is_empty() {
        return Vec::new();
    }
    let tools = tools_of(runs.iter().flat_map(|run| &run.tool_calls));
    let mut names = ToolName::patterns(written);
    names.retain(|name| {
        tools
            .iter()
            .all(|(tool, server)| name.fit_tool(tool, *server) == Fit::No)
    });
    names.into_iter().map(|name| name.written).collect()
}

/// What is wrong where one of these names has a server and a call of that tool does not.
pub fn check_servers(target: &str, names: &[ToolName<'_>], calls: &[ToolCall]) -> ScoreResult {
    let tools = tools_of(calls);
    // Most lists and most runs have nothing of the kind.
    let doubtful = tools.iter().filter(|(_, server)| server.is_none());
    for (tool, server) in doubtful {
        let mut unknown = names.iter().filter(|name| {
            // Where the whole name was called, its parts are not meant.
            name.fit_tool(tool, *server) == Fit::Unknown && !has_name(&tools, name.written)
        });
        if let Some(name) = unknown.next() {
            let place = calls
                .iter()
                .position(|call| call.name == *tool && call.server.is_none());
            let message = sentence!(
                "call {}, {}, cannot be judged: the trace does not have its server, and {} asks for it",
                place.unwrap_or_default(),
                quoted(tool),
                quoted(name.written)
            );
            let hint = "record the server of each call, or write the tool without its server";
            return Err(ScoreError::new(target, message, hint));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
