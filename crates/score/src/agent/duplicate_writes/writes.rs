//! Which calls write, what, and with which idempotency key.

use mcprove_trace::words::seems_to_write;

use crate::agent::tool_name::fit_any;

use super::prelude::*;

/// The names of arguments that make a call safe to repeat, by their words.
const IDEMPOTENCY_KEYS: [[&str; 2]; 3] = [
    ["idempotency", "key"],
    ["request", "id"],
    ["client", "token"],
];

pub struct Write<'a> {
    pub index: usize,
    pub call: &'a ToolCall,
    pub key: Option<String>,
    /// Whether its tool may be called twice without harm.
    pub is_idempotent: bool,
}

/// The calls that write, and what each of them writes.
pub fn writes<'c>(
    block: &DuplicateWritesBlock,
    calls: &'c [ToolCall],
) -> (Vec<Write<'c>>, Vec<Identity<'c>>) {
    let lists = block.lists().map(|(_, names)| ToolName::patterns(names));
    let mut tools: BTreeMap<Tool<'c>, (bool, bool)> = BTreeMap::new();
    let (mut writes, mut identities) = (Vec::new(), Vec::new());
    for (index, call) in calls.iter().enumerate() {
        let nature = tools.entry(tool_of(call));
        let (is_write, is_idempotent) = *nature.or_insert_with(|| nature_of(call, &lists));
        if is_write {
            let (identity, key) = identify(call);
            identities.push(identity);
            writes.push(Write {
                index,
                call,
                key: key.or_else(|| key_beside(call)),
                is_idempotent,
            });
        }
    }
    (writes, identities)
}

/// Whether the tool of a call writes, and whether it writes the same when it is called twice.
fn nature_of(call: &ToolCall, lists: &[Vec<ToolName<'_>>; 3]) -> (bool, bool) {
    let [is_mutating, is_readonly, is_idempotent] =
        lists.each_ref().map(|list| fit_any(list, call) == Fit::Yes);
    // What the gates say goes first, then what the server says, then the name.
    let hints = call.annotations.unwrap_or_default();
    let writes = || match hints.read_only_hint {
        Some(only_reads) => !only_reads,
        None => seems_to_write(&call.name),
    };
    (
        !is_readonly && (is_mutating || writes()),
        is_idempotent || hints.idempotent_hint == Some(true),
    )
}

/// The idempotency key in `_meta`, where names have a prefix: `com.example/idempotencyKey`.
fn key_beside(call: &ToolCall) -> Option<String> {
    let keys = call
        .meta
        .as_deref()?
        .as_object()?
        .iter()
        .filter(|(name, value)| {
            let bare = name
                .rsplit_once('/')
                .map_or(name.as_str(), |(_, bare)| bare);
            is_key(bare, value)
        });
    let keys: Map<String, Value> = keys
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (!keys.is_empty()).then(|| canonical::text(&Value::Object(keys)))
}

/// What a call writes, without the idempotency key in its arguments, and that key.
fn identify(call: &ToolCall) -> (Identity<'_>, Option<String>) {
    if may_have_key(call.args.text())
        && let Value::Object(args) = call.args.value()
    {
        let (keys, rest): (Map<String, Value>, Map<String, Value>) = args
            .into_iter()
            .partition(|(name, value)| is_key(name, value));
        if !keys.is_empty() {
            let rest = Value::Object(rest).to_string();
            let key = canonical::text(&Value::Object(keys));
            return (Identity::with_args(call, rest), Some(key));
        }
    }
    (Identity::of(call), None)
}

/// Whether a text may have the name of an idempotency key in it; most have not, and need not be
/// looked into.
fn may_have_key(args: &str) -> bool {
    let has = |word: &str| {
        args.as_bytes()
            .windows(word.len())
            .any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    };
    // Whatever is written with a backslash may be anything.
    args.contains('\\') || IDEMPOTENCY_KEYS.iter().any(|[word, _]| has(word))
}

/// Whether an argument is an idempotency key; an empty one is none.
fn is_key(name: &str, value: &Value) -> bool {
    if value.is_null() || value.as_str().is_some_and(str::is_empty) {
        return false;
    }
    let tokens = tokens(name);
    IDEMPOTENCY_KEYS.iter().any(|words| tokens == words)
}
