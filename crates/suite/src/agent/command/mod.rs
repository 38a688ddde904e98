//! An agent of the user, as a process: run once, observed, and told as a run.
//!
//! Before each of its servers stands a proxy, which writes down what passes and lets faults strike. The agent is
//! told of the proxies in place of the servers, by a file as MCP clients read it (`mcpServers`) and by its
//! environment; it gets its task on standard input, and says its last words on standard output.
//!
//! A server that is a process gets its proxy from the agent: `mcprove proxy` with a file that says the rest, so
//! that no secret of the server stands in what the agent reads. Before an address, and before a mock, the
//! proxy listens in this process.

mod config;
mod merge;
mod process;
mod proxies;
mod setup;

#[cfg(test)]
mod tests;

use self::config::Folder;
use self::process::{Ended, How, OUTPUT_BYTES_MAX, Output};
use crate::prelude::*;

pub use setup::{ProxySetup, RecordingReport};

/// What an agent is run with.
#[derive(Debug, Clone, Copy)]
pub struct CommandContext<'a> {
    /// Where the values of variables come from.
    pub environment: &'a Environment,
    /// What decides for faults that have no seed of their own.
    pub seed: u64,
    /// The program that acts as a proxy.
    pub proxy_program: Option<&'a Path>,
    /// The program that ends what the agent started if we cannot.
    pub supervisor: Option<&'a Path>,
    /// The folder that the agent starts in, unless it says otherwise.
    pub folder: &'a Path,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRun {
    /// What happened.
    pub run: AgentRun,
    /// What a reader should know of it.
    pub notes: Vec<String>,
}

/// Has the process do the task once.
pub async fn run_once(
    test: &AgentTestPlan,
    command: &CommandPlan,
    servers: &[&ServerPlan],
    context: CommandContext<'_>,
) -> DiagnosticResult<CommandRun> {
    let folder = Folder::create()
        .map_err(|error| of_file("no temporary folder can be made for the agent", &error))?;
    let proxies = proxies::start(servers, &test.inject, context, folder.path()).await?;
    let task =
        fill_texts(test, context.environment).map_err(|error| error.of("the task of the agent"))?;
    let server = config::process(&task, command, &proxies, context, &folder)?;
    let input = format!("{}\n", task.prompts.join("\n\n"));
    let redactor = context.environment.redactor();
    let ended = process::run(&server, input, test.budget.time, redactor).await;
    // First the proxies: what they wrote down is whole then.
    let recordings = proxies::stop(proxies).await;
    let ended = ended.map_err(|error| {
        Diagnostic::new(
            format!("the agent cannot be started: {error}"),
            error.hint(),
        )
    })?;
    let merged = merge::merge(&recordings, &ended)?;
    let mut finished = finish(test, command, merged, &ended)?;
    finished.run.prompt = task.prompts.into_iter().next();
    Ok(finished)
}

/// What cannot be done with a file of the agent, or of one of its proxies.
fn of_file(what: impl fmt::Display, source: &io::Error) -> Diagnostic {
    let hint = OwnLimit::of(source).map_or_else(
        || "check the permissions of the temporary folder and the space on the disk".into(),
        |limit| limit.hint(),
    );
    Diagnostic::new(format!("{what}: {source}"), hint)
}

/// The run, as far as it is known: what the proxies saw, and what the process said.
fn finish(
    test: &AgentTestPlan,
    command: &CommandPlan,
    merged: CommandRun,
    ended: &Ended,
) -> DiagnosticResult<CommandRun> {
    let CommandRun { mut run, mut notes } = merged;
    let output = match ended.how {
        How::Done => Output::read(&ended.stdout).map_err(|wrong| {
            Diagnostic::new(
                format!("what the agent printed is not right: {wrong}"),
                "print a text, or one JSON object: final_response is a text, tokens has whole numbers from 0 up (prompt, completion, total), turns is a list of objects with role and text",
            )
        })?,
        // It did not come to its end, so what it says need not be whole.
        How::Failed { .. } | How::TimedOut => {
            Output::read(&ended.stdout).unwrap_or_else(|_| Output::text(&ended.stdout))
        }
    };
    if ended.is_cut {
        notes.push(format!(
            "the standard output of the agent is longer than {OUTPUT_BYTES_MAX} bytes, the rest is left out"
        ));
    }
    let stop = stop_reason(test, &run, &output, &ended.how, &mut notes);
    run.model = output.model.or_else(|| command.model.clone());
    // What it did not say is known too.
    run.final_response = Some(output.final_response);
    run.conversation = Some(Conversation {
        stop_reason: Some(stop),
        // Whole milliseconds are the same when they are read again.
        duration_ms: Some((ended.duration.as_secs_f64() * 1e3).round()),
        tokens: output.tokens,
        turns: output.turns,
        ..Conversation::default()
    });
    recovered_by_reply(&mut run);
    Ok(CommandRun { run, notes })
}

/// An agent that noticed a fault, ended by itself and told its user something has recovered by then, whatever its calls
/// came to. Of a recording alone nobody knows that; of a process we do.
fn recovered_by_reply(run: &mut AgentRun) {
    let is_reply = |reply: &str| !reply.trim().is_empty();
    if run.stop_reason() != Some(StopReason::Completed)
        || !run.final_response.as_deref().is_some_and(is_reply)
    {
        return;
    }
    for mark in &mut run.faults {
        if let (Some(detected), None) = (mark.detected_ms, mark.recovered_ms) {
            // The recordings go on until the process has ended.
            let end = mark.watched_ms.and_then(|time| i64::try_from(time).ok());
            mark.recovered_ms = Some(end.unwrap_or(detected).max(detected));
            mark.went_on = None;
        }
    }
}

fn stop_reason(
    test: &AgentTestPlan,
    run: &AgentRun,
    output: &Output,
    how: &How,
    notes: &mut Vec<String>,
) -> StopReason {
    match how {
        How::TimedOut => {
            let time = test.budget.time;
            notes.push(format!(
                "the agent was ended after {time:?}, its time budget"
            ));
            return StopReason::TimeBudget;
        }
        How::Failed { status, stderr } => {
            let told = if stderr.is_empty() {
                "it wrote nothing to stderr".to_owned()
            } else {
                format!("its stderr ends with:\n{stderr}")
            };
            notes.push(format!("the agent ended with {status}; {told}"));
            return StopReason::Error;
        }
        How::Done => {}
    }
    // It cannot be stopped at its budget, but it went beyond it.
    let calls = count(run.tool_calls.len());
    let tokens = output.tokens.as_ref().and_then(Tokens::sum);
    if test.budget.tool_calls.is_some_and(|most| calls > most) {
        notes.push(format!(
            "the agent made {}, more than its budget",
            phrase::count(calls, "call")
        ));
        StopReason::ToolCallBudget
    } else if test.budget.tokens.is_some_and(|most| tokens > Some(most)) {
        notes.push("the agent used more tokens than its budget".to_owned());
        StopReason::TokenBudget
    } else {
        StopReason::Completed
    }
}
