//! Values that the text states: the name of a recorded argument followed by a value (`amount of $500`,
//! `with priority high`, `status=done`), held against what the calls had. A value that no call had is a
//! mismatch; a sentence that only names the argument (`the title looks good`) states none.

use mcprove_trace::words::tokens;

use super::prelude::*;

/// A value that the text states and no call had.
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// The argument, as the calls name it.
    pub argument: String,
    /// The value that the text states.
    pub stated: String,
    /// The value of the first call that has the argument.
    pub recorded: String,
    /// The place of that call.
    pub call_index: usize,
    /// The place of the sentence.
    pub sentence: usize,
}

/// Every value that is stated wrongly, once.
pub fn find(sentences: &[Sentence], calls: &[ToolCall]) -> Vec<Mismatch> {
    let arguments = collect(sentences, calls);
    let mut mismatches = Vec::new();
    let mut known = BTreeSet::new();
    if arguments.is_empty() {
        return mismatches;
    }
    for (place, sentence) in sentences.iter().enumerate() {
        for (name, stated) in stated_wrongly(sentence, &arguments) {
            let Some(argument) = arguments.get(&name) else {
                continue;
            };
            if known.insert((name, stated.to_lowercase())) {
                mismatches.push(Mismatch {
                    argument: argument.name.clone(),
                    stated,
                    recorded: argument.values.example.clone().unwrap_or_default(),
                    call_index: argument.call_index,
                    sentence: place,
                });
            }
        }
    }
    mismatches
}

/// The arguments of which a sentence states a value that no call had, and the values.
fn stated_wrongly(
    sentence: &Sentence,
    arguments: &BTreeMap<String, Argument>,
) -> Vec<(String, String)> {
    let tokens = sentence.tokens.as_slice();
    let end = match (sentence.mood, sentence.is_question) {
        (Mood::Unreal, _) => 0,
        (_, true) => question_start(tokens),
        (_, false) => tokens.len(),
    };
    let mut wrong = Vec::new();
    let mut has_stated = false;
    let mut at = 0;
    while at < end {
        let Some((argument, name, end)) = names_at(tokens, at)
            .into_iter()
            .find_map(|(name, end)| Some((arguments.get(&name)?, name, end)))
        else {
            at += 1;
            continue;
        };
        let statement = Statement::read(tokens, (at, end), &name, &argument.values, has_stated);
        let stated = statement.and_then(|statement| statement.value());
        has_stated |= stated.is_some();
        at = match stated {
            None => at + 1,
            Some(value) => {
                if !value.is_recorded && is_fact(tokens, at) {
                    wrong.push((name, value.text));
                }
                value.end.max(at + 1)
            }
        };
    }
    wrong
}

/// Whether the clause up to here tells a fact: no `not`, `will`, `if`, `please` before it.
fn is_fact(tokens: &[Token], at: usize) -> bool {
    let from = at.saturating_sub(2 * WINDOW);
    for token in tokens.get(from..at).unwrap_or_default().iter().rev() {
        let is_other_clause = match token.kind {
            Kind::Mark(mark) => !matches!(mark, ',' | '=' | ':' | '|' | '→'),
            _ => matches!(token.class, But | Agent),
        };
        if is_other_clause {
            return true;
        }
        if matches!(token.class, Not | Modal) || is_unreal(&token.lower) {
            return false;
        }
    }
    true
}

/// Words of the longest name that is looked for.
const NAME_WORDS_MAX: usize = 4;

/// Characters of the longest identifier that is taken for a name.
const NAME_CHARS_MAX: usize = 80;

/// An argument of some calls.
#[derive(Debug, Default)]
struct Argument {
    /// Its name, as the first of the calls has it.
    name: String,
    /// The values that it had.
    values: Recorded,
    /// The place of the first call that has it.
    call_index: usize,
}

/// The arguments that the text names, by the words of their names.
fn collect(sentences: &[Sentence], calls: &[ToolCall]) -> BTreeMap<String, Argument> {
    let mut named = BTreeSet::new();
    for sentence in sentences {
        for at in 0..sentence.tokens.len() {
            named.extend(names_at(&sentence.tokens, at).into_iter().map(first));
        }
    }
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut arguments: BTreeMap<String, Argument> = BTreeMap::new();
    for (call_index, call) in calls.iter().enumerate() {
        // Most calls have no argument that the text names: they are not taken apart.
        let is_named = written_names(call.args.text()).any(|name| {
            let is_named = known.entry(name);
            *is_named.or_insert_with(|| named.contains(&key(name)))
        });
        if is_named {
            add(&call.args.value(), call_index, &named, &mut arguments);
        }
    }
    arguments.retain(|_, argument| argument.values.example.is_some());
    arguments
}

fn first((name, _): (String, usize)) -> String {
    name
}

/// Adds the arguments of one call, also those within others.
fn add(
    args: &Value,
    call_index: usize,
    named: &BTreeSet<String>,
    arguments: &mut BTreeMap<String, Argument>,
) {
    let mut open = vec![args];
    while let Some(value) = open.pop() {
        let members = match value {
            Value::Array(values) => {
                open.extend(values);
                continue;
            }
            Value::Object(members) => members,
            _ => continue,
        };
        for (name, value) in members {
            open.push(value);
            let key = key(name);
            if named.contains(&key) {
                let argument = arguments.entry(key).or_insert_with(|| Argument {
                    name: name.clone(),
                    call_index,
                    ..Argument::default()
                });
                argument.values.add(value);
            }
        }
    }
}

/// The words of an argument's name.
fn key(name: &str) -> String {
    normal_key(&tokens(name).join(" "))
}

/// `labels` and `label` are the same argument.
fn normal_key(name: &str) -> String {
    match name.rsplit_once(' ') {
        Some((front, last)) => format!("{front} {}", singular(last)),
        None => singular(name),
    }
}

/// The names in a JSON text, as they are written: every text before a colon.
fn written_names(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let (_, behind) = rest.split_once('"')?;
            let mut is_escaped = false;
            let end = behind.bytes().position(|byte| {
                let ends = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                ends
            })?;
            let (text, after) = (behind.get(..end)?, behind.get(end + 1..)?);
            rest = after;
            if after.trim_start().starts_with(':') {
                return Some(text);
            }
        }
    })
}

/// What names an argument may have that are written here, the longest first, and where they end.
fn names_at(all: &[Token], at: usize) -> Vec<(String, usize)> {
    let Some(first) = all.get(at) else {
        return Vec::new();
    };
    if first.kind != Kind::Word || first.lower.contains('-') {
        let is_short = first.text.len() <= NAME_CHARS_MAX;
        let is_name = is_short && !matches!(first.kind, Kind::Mark(_) | Kind::Number);
        let name = is_name.then(|| key(&first.text));
        let name = name.filter(|name| !name.is_empty());
        return name.map(|name| (name, at + 1)).into_iter().collect();
    }
    let mut names = Vec::new();
    let mut name = String::new();
    for (place, token) in all.iter().enumerate().skip(at).take(NAME_WORDS_MAX) {
        if token.kind != Kind::Word {
            break;
        }
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(&token.lower);
        names.push((normal_key(&name), place + 1));
    }
    names.reverse();
    names
}
