//! Agents that are given one of several tasks, and tell by the prompt which: one does them well, one badly.

use super::super::{Asked, PastCall, Said, SpokenCall};
use super::{last, liar, looper, recoverer};

const CITY: &str = r#"{"city":"Sacramento"}"#;
const INVOICE: &str = r#"{"id":42}"#;
const USER: &str = r#"{"user":"ada"}"#;
const OUTAGE: &str = r#"{"query":"upload outage"}"#;
const FLAKE: &str = r#"{"query":"CI flake"}"#;

/// A task, by a word of its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Weather,
    SignIn,
    Incident,
    Invoice,
    Triage,
}

const TASKS: &[(&str, Task)] = &[
    ("weather", Task::Weather),
    ("Sign in", Task::SignIn),
    ("incident", Task::Incident),
    ("invoice", Task::Invoice),
    ("Triage", Task::Triage),
];

fn task(asked: &Asked) -> Option<Task> {
    let prompt = asked.prompts().into_iter().next()?;
    let found = TASKS.iter().find(|(word, _)| prompt.contains(word));
    found.map(|(_, task)| *task)
}

/// Does what it is asked for, and says what it did.
pub fn diligent(asked: &Asked) -> Said {
    let calls = asked.calls();
    match task(asked) {
        None => Said::text("I do not know how to do that."),
        Some(Task::Incident) => recoverer(asked),
        Some(Task::Weather) => match last(asked) {
            None => Said::call(asked.tool("get_weather"), CITY),
            Some(call) => Said::text(call.result),
        },
        Some(Task::Invoice) => match last(asked) {
            None => Said::call(asked.tool("get_invoice"), INVOICE),
            Some(call) => Said::text(format!("The invoice says: {}", call.result)),
        },
        Some(Task::SignIn) => match calls.as_slice() {
            [] => Said::call(asked.tool("authenticate"), USER),
            [_] => Said::call(asked.tool("search"), OUTAGE),
            [_, found] => Said::call(asked.tool("fetch_page"), page(found)),
            [.., read] => Said::text(format!("The page says: {}", read.result)),
        },
        Some(Task::Triage) => match calls.as_slice() {
            [] => Said::call(asked.tool("search_issues"), FLAKE),
            [_] => Said::call(asked.tool("create_issue"), super::ISSUE),
            _ => Said::text("I searched the issues and created an issue."),
        },
    }
}

/// Does something else than it is asked for, and says that all is well.
pub fn careless(asked: &Asked) -> Said {
    match task(asked) {
        None => Said::text("Done."),
        Some(Task::Incident) => looper(asked),
        Some(Task::Triage) => liar(asked),
        Some(Task::Weather) => fickle(asked),
        Some(Task::Invoice) => match last(asked) {
            None => Said::call(asked.tool("refund"), INVOICE),
            Some(_) => Said::text("The invoice is paid."),
        },
        Some(Task::SignIn) => match last(asked) {
            // All at once, so that nothing comes before anything.
            None => Said::calls(vec![
                SpokenCall::new(asked.tool("fetch_page"), super::PAGE),
                SpokenCall::new(asked.tool("search"), OUTAGE),
                SpokenCall::new(asked.tool("authenticate"), USER),
            ]),
            Some(_) => Said::text("All is well."),
        },
    }
}

/// Something else every time that it is asked, and the same things over and over within one time.
fn fickle(asked: &Asked) -> Said {
    let is_even = asked.repetition.is_multiple_of(2);
    if last(asked).is_some() {
        let said = if is_even {
            "Sunny."
        } else {
            "Bring an umbrella."
        };
        return Said::text(said);
    }
    let repeated = if is_even {
        SpokenCall::new(asked.tool("search"), OUTAGE)
    } else {
        SpokenCall::new(asked.tool("authenticate"), USER)
    };
    let mut calls = vec![repeated; 4];
    calls.push(SpokenCall::new(asked.tool("fetch_page"), super::PAGE));
    Said::calls(calls)
}

/// The arguments that read the page that was found.
fn page(found: &PastCall) -> String {
    let address = found.result.split(' ').next().unwrap_or_default();
    serde_json::json!({ "url": address }).to_string()
}
