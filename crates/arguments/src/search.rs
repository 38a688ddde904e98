//! Makes a value, has it judged, and makes the place that failed anew: until one is valid.

use mcprove_trace::verbs::{Effect, Use, find};

use super::cost::Cost;
use super::place::Taken;
use super::validation::find_failure;
use super::{Maker, carries_token};
use crate::prelude::*;

const HINT: &str = "give the arguments by hand, or add an `examples` entry to the schema";

/// Everything that stays the same over all attempts.
struct Search<'work, 'schema> {
    maker: &'schema Maker,
    choice: &'work Choice,
    document: &'work Document<'schema>,
    cost: Cost<'work, 'schema>,
}

/// Finds arguments; with a token, those that carry it if there are any.
pub fn search(maker: &Maker, choice: &Choice) -> Result<Value> {
    let document = Document::new(&maker.schema);
    let mut search = Search {
        maker,
        choice,
        document: &document,
        cost: Cost::new(&document),
    };
    let plain = search.run(Carriers::Free)?;
    let Some(token) = choice.token.as_deref() else {
        return Ok(plain);
    };
    if carries_token(&plain, token) {
        return Ok(plain);
    }
    let others = optional_names(&maker.schema)
        .into_iter()
        .map(Carriers::Optional);
    for carriers in std::iter::once(Carriers::All).chain(others) {
        match search.run(carriers) {
            Ok(value) if carries_token(&value, token) => return Ok(value),
            // Valid arguments are at hand; a better set was only a wish.
            Err(error) if error.is_final() => break,
            _ => {}
        }
    }
    Ok(plain)
}

/// Names of arguments that say what is looked for or repeated, so that a value changes nothing.
const ASKING: &str = "q query search term terms text message keyword keywords prompt input phrase pattern question echo";

/// Whether giving an optional argument is as harmless as not giving it.
fn is_asking(name: &str, schema: &Value) -> bool {
    let is_write = |word: &String| {
        find(word).is_some_and(|verb| verb.effect == Effect::Writes && verb.used == Use::Verb)
    };
    let words = tokens(name);
    let last = words.last().map(String::as_str);
    let said = tokens(schema["description"].as_str().unwrap_or_default());
    last.is_some_and(|last| has_word(ASKING, last)) && !words.iter().chain(&said).any(is_write)
}

/// Optional properties that may carry a token, those without a default first.
fn optional_names(schema: &Value) -> Vec<&str> {
    let Some(declared) = schema["properties"].as_object() else {
        return Vec::new();
    };
    let is_listed = |schema: &Value| schema.get("enum").is_some() || schema.get("const").is_some();
    let may_carry =
        |(name, schema): &(&String, &Value)| !is_listed(schema) && is_asking(name, schema);
    let mut carriers: Vec<(&String, &Value)> = declared.iter().filter(may_carry).collect();
    carriers.sort_by_key(|(_, schema)| schema.get("default").is_some());
    carriers
        .into_iter()
        .map(|(name, _)| name.as_str())
        .take(TOKEN_CARRIERS_MAX)
        .collect()
}

impl<'schema> Search<'_, 'schema> {
    fn run(&mut self, carriers: Carriers<'schema>) -> Result<Value> {
        let Maker {
            schema,
            object,
            validator,
        } = self.maker;
        let mut picks = BTreeMap::new();
        // What failed first says most.
        let mut first = None;
        for _ in 0..ATTEMPTS_MAX {
            let mut making = Making::new(self.document, self.choice, carriers, &picks);
            let value = match making.value("", &[schema, object], 0) {
                Ok(value) => value,
                Err(error) if error.is_final() => return Err(error),
                Err(error) => return Err(first.unwrap_or(error)),
            };
            let taken = making.taken;
            self.cost.add_validation(schema, &value)?;
            let Some((place, reason)) = find_failure(validator, &value) else {
                return Ok(value);
            };
            let is_moved = move_on(&mut picks, &taken, &place);
            first.get_or_insert(ArgumentsError::unsatisfiable(place, reason, HINT));
            if !is_moved {
                break;
            }
        }
        Err(first.unwrap_or_else(|| ArgumentsError::too_much_work("", "attempts", ATTEMPTS_MAX)))
    }
}

/// Picks the next offer at the place that failed, or at the nearest one above that has another.
fn move_on(
    picks: &mut BTreeMap<String, usize>,
    taken: &BTreeMap<String, Taken>,
    failed: &str,
) -> bool {
    let mut place = failed;
    loop {
        if let Some(known) = taken.get(place)
            && known.index + 1 < known.count
        {
            // What was picked below belongs to the old value.
            let below = format!("{place}/");
            picks.retain(|other, _| !other.starts_with(&below));
            picks.insert(place.to_owned(), known.index + 1);
            return true;
        }
        match place.rfind('/') {
            Some(end) => place = place.get(..end).unwrap_or_default(),
            None => return false,
        }
    }
}
