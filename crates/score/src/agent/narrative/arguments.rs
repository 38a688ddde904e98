//! Values that the text states: the name of a recorded argument followed by a value (`amount of $500`,
//! `with priority high`, `status=done`), held against what the calls had. A value that no call had is a
//! mismatch; a sentence that only names the argument (`the title looks good`) states none.

use std::collections::{BTreeMap, BTreeSet};

use mcprove_trace::ToolCall;

use super::argument_names::{Argument, collect, names_at};
use super::frame::question_start;
use super::lexicon::Class;
use super::noun_phrase::WINDOW;
use super::sentence::{Mood, Sentence};
use super::statement::Statement;
use super::token::{Kind, Token};
use super::vocabulary::is_unreal;

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
        let names = names_at(tokens, at).into_iter();
        let mut known = names.filter_map(|(name, end)| {
            let argument = arguments.get(&name)?;
            Some((name, end, argument))
        });
        let Some((name, end, argument)) = known.next() else {
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
            _ => matches!(token.class, Class::But | Class::Agent),
        };
        if is_other_clause {
            return true;
        }
        if matches!(token.class, Class::Not | Class::Modal) || is_unreal(&token.lower) {
            return false;
        }
    }
    true
}
