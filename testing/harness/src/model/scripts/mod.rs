//! Agents, good and bad. Their tools are `search` and `fetch_page`, which read, and `create_issue`, which
//! writes, on whatever server. Those of `tasks` have others too.

mod tasks;

use std::sync::Arc;

pub use tasks::{careless, diligent};

use super::{Asked, PastCall, Said, Speech, SpeechEnd, SpokenCall};

/// What a model says to a request.
pub type Script = Arc<dyn Fn(&Asked) -> Said + Send + Sync>;

/// A script, by its name.
pub type NamedScript = (&'static str, fn(&Asked) -> Said);

/// Every script, by name.
pub const ALL: &[NamedScript] = &[
    ("honest", honest),
    ("liar", liar),
    ("looper", looper),
    ("recoverer", recoverer),
    ("surrenderer", surrenderer),
    ("stubborn", stubborn),
    ("retrier", retrier),
    ("parallel", parallel),
    ("coder", coder),
    ("throttled", throttled),
    ("overloaded", overloaded),
    ("garbage", garbage),
    ("mumbler", mumbler),
    ("dreamer", dreamer),
    ("cut_short", cut_short),
    ("decliner", decliner),
    ("uncounted", uncounted),
    ("talker", talker),
    ("diligent", diligent),
    ("careless", careless),
];

/// The script with this name.
pub fn find(name: &str) -> Option<Script> {
    let (_, script) = ALL.iter().find(|(known, _)| *known == name)?;
    Some(Arc::new(*script))
}

const QUERY: &str = r#"{"query":"incident"}"#;
const PAGE: &str = r#"{"url":"https://status.test/"}"#;
const ISSUE: &str = r#"{"title":"CI flake"}"#;

fn last(asked: &Asked) -> Option<PastCall> {
    asked.calls().pop()
}

/// Creates an issue and says so, or says that it could not.
pub fn honest(asked: &Asked) -> Said {
    match last(asked) {
        None => Said::call(asked.tool("create_issue"), ISSUE),
        Some(call) if call.is_error => Said::text("I was unable to create the issue."),
        Some(_) => Said::text("I created the issue."),
    }
}

/// Says that it created an issue, and did nothing.
pub fn liar(_: &Asked) -> Said {
    Said::text("I created the issue.")
}

/// Searches for the same thing for ever.
pub fn looper(asked: &Asked) -> Said {
    Said::call(asked.tool("search"), QUERY)
}

/// Searches; where that fails, reads a page instead.
pub fn recoverer(asked: &Asked) -> Said {
    match last(asked) {
        None => Said::call(asked.tool("search"), QUERY),
        Some(call) if call.is_error && call.name.ends_with("search") => {
            Said::call(asked.tool("fetch_page"), PAGE)
        }
        Some(call) if call.is_error => Said::text("Neither search nor the page can be reached."),
        Some(call) => Said::text(format!("This is what there is: {}", call.result)),
    }
}

/// Searches; where that fails, says so.
pub fn surrenderer(asked: &Asked) -> Said {
    match last(asked) {
        None => Said::call(asked.tool("search"), QUERY),
        Some(call) if call.is_error => Said::text("The search does not answer, so I cannot tell."),
        Some(call) => Said::text(format!("This is what there is: {}", call.result)),
    }
}

/// Searches; where that fails, once more; then says so.
pub fn stubborn(asked: &Asked) -> Said {
    match asked.calls().as_slice() {
        [] => Said::call(asked.tool("search"), QUERY),
        [call] if call.is_error => Said::call(asked.tool("search"), QUERY),
        [.., call] if call.is_error => Said::text("The search does not answer, so I cannot tell."),
        [.., call] => Said::text(format!("This is what there is: {}", call.result)),
    }
}

/// Creates an issue; where that seems to fail, the same once more.
pub fn retrier(asked: &Asked) -> Said {
    match asked.calls().as_slice() {
        [] => Said::call(asked.tool("create_issue"), ISSUE),
        [call] if call.is_error => Said::call(asked.tool("create_issue"), ISSUE),
        [.., call] if call.is_error => Said::text("I was unable to create the issue."),
        _ => Said::text("I created the issue."),
    }
}

/// Makes three calls at once.
pub fn parallel(asked: &Asked) -> Said {
    if last(asked).is_some() {
        return Said::text("All three are done.");
    }
    Said::calls(vec![
        SpokenCall::new(asked.tool("search"), QUERY),
        SpokenCall::new(asked.tool("fetch_page"), PAGE),
        SpokenCall::new(asked.tool("search"), r#"{"query":"second"}"#),
    ])
}

/// Makes its calls in code, where the provider has that.
pub fn coder(asked: &Asked) -> Said {
    if last(asked).is_some() {
        return Said::text("The code is done.");
    }
    let of_code = |name: String, arguments: &str| SpokenCall {
        is_of_code: true,
        ..SpokenCall::new(name, arguments)
    };
    Said::calls(vec![
        of_code(asked.tool("search"), QUERY),
        of_code(asked.tool("create_issue"), ISSUE),
    ])
}

/// Honest, behind a provider that has too much to do at first, and then breaks once.
pub fn throttled(asked: &Asked) -> Said {
    let fail = |status, retry_after| Said::Status {
        status,
        retry_after,
    };
    match asked.repetition {
        0 => fail(429, Some("0")),
        1 => fail(500, Some("0")),
        _ => honest(asked),
    }
}

/// A provider that never has time.
pub fn overloaded(_: &Asked) -> Said {
    Said::Status {
        status: 529,
        retry_after: Some("0"),
    }
}

/// A provider that is none.
pub fn garbage(_: &Asked) -> Said {
    Said::Raw("<html>Welcome</html>")
}

/// Calls with arguments that are none, then as it should.
pub fn mumbler(asked: &Asked) -> Said {
    match last(asked) {
        None => Said::call(asked.tool("search"), r#"{"query": "inc"#),
        Some(call) if call.is_error => Said::call(asked.tool("search"), QUERY),
        Some(_) => Said::text("Found it."),
    }
}

/// Calls a tool that does not exist.
pub fn dreamer(asked: &Asked) -> Said {
    match last(asked) {
        None => Said::call("nowhere__dig", r#"{"deep":true}"#),
        Some(_) => Said::text("There is no such tool."),
    }
}

/// Its first answer is cut off in the second of two calls.
pub fn cut_short(asked: &Asked) -> Said {
    if last(asked).is_some() {
        return Said::text("Only the search was done.");
    }
    Said::Speech(Speech {
        calls: vec![
            SpokenCall::new(asked.tool("search"), QUERY),
            SpokenCall::new(asked.tool("create_issue"), "{}"),
        ],
        end: SpeechEnd::Cut,
        ..Speech::default()
    })
}

/// Searches, and then does not want to go on, in the middle of a call.
pub fn decliner(asked: &Asked) -> Said {
    if last(asked).is_none() {
        return Said::call(asked.tool("search"), QUERY);
    }
    Said::Speech(Speech {
        text: "I cannot help with that.".to_owned(),
        calls: vec![SpokenCall::new(asked.tool("create_issue"), "{}")],
        end: SpeechEnd::Declined,
        ..Speech::default()
    })
}

/// Honest, and its provider does not count tokens.
pub fn uncounted(asked: &Asked) -> Said {
    match honest(asked) {
        Said::Speech(speech) => Said::Speech(Speech {
            is_uncounted: true,
            ..speech
        }),
        other => other,
    }
}

/// Repeats what its user said last.
pub fn talker(asked: &Asked) -> Said {
    let prompts = asked.prompts();
    let last = prompts.last().map(String::as_str);
    Said::text(format!("You said: {}", last.unwrap_or_default()))
}
