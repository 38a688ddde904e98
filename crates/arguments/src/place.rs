//! One place in the arguments: which values may stand there, and the one that is taken.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::document::Document;
use super::kind::Kind;
use super::limits::{ARGUMENTS_BYTES_MAX, ARGUMENTS_DEPTH_MAX, BRANCHES_MAX, VARIANTS};
use super::meaning::{Meaning, Origin, is_safeguard};
use super::requirements::{Requirements, merge_branches, merge_common};
use super::trail::Trail;
use super::{ArgumentsError, Choice, number, text};

/// Which strings carry the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carriers<'schema> {
    /// Those that nothing else is suggested or asked for.
    Free,
    /// Every string that allows it.
    All,
    /// Every string that allows it, and this optional property of the root.
    Optional(&'schema str),
}

/// A way to fill a place.
enum Form {
    Ready(Value, Origin),
    Object(usize),
    Array(usize),
}

/// A form, with what was asked of it.
struct Offer<'schema> {
    requirements: Rc<Requirements<'schema>>,
    form: Form,
    /// The position among the forms of the same branch.
    rank: usize,
}

/// Which offer was taken at a place, of how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) index: usize,
    pub(super) count: usize,
}

/// Makes one value; the picks say where it is to differ from the first choice.
pub(super) struct Making<'work, 'schema> {
    pub(super) document: &'work Document<'schema>,
    pub(super) choice: &'work Choice,
    pub(super) carriers: Carriers<'schema>,
    pub(super) picks: &'work BTreeMap<String, usize>,
    pub(super) taken: BTreeMap<String, Taken>,
    /// Variants of scalars to offer; more where items must differ.
    pub(super) variants: usize,
    /// References followed on the way from the root: coming back to one is a recursion.
    way: Vec<&'schema Value>,
    depth: usize,
    bytes: usize,
}

impl<'work, 'schema> Making<'work, 'schema> {
    pub(super) fn new(
        document: &'work Document<'schema>,
        choice: &'work Choice,
        carriers: Carriers<'schema>,
        picks: &'work BTreeMap<String, usize>,
    ) -> Self {
        Self {
            document,
            choice,
            carriers,
            picks,
            taken: BTreeMap::new(),
            variants: VARIANTS,
            way: vec![document.root()],
            depth: 0,
            bytes: 0,
        }
    }

    /// Makes the value for a place. The salt asks for another value than the first.
    pub(super) fn value(
        &mut self,
        place: &str,
        schemas: &[&'schema Value],
        salt: usize,
    ) -> Result<Value, ArgumentsError> {
        self.document.step(place, 1)?;
        if self.depth >= ARGUMENTS_DEPTH_MAX {
            return Err(ArgumentsError::OverLimit {
                place: place.to_owned(),
                what: "levels of nesting",
                needs: format!("over {ARGUMENTS_DEPTH_MAX}"),
                limit: ARGUMENTS_DEPTH_MAX,
            });
        }
        let (mut offers, mut failure) = self.offers(place, schemas)?;
        if salt > 0 {
            // What is above has failed with the first choice: other branches before other values.
            offers.sort_by_key(|offer| offer.rank);
        }
        let count = offers.len();
        let start = self.picks.get(place).copied().unwrap_or(0);
        let mut unfillable: Vec<&Rc<Requirements<'schema>>> = Vec::new();
        for index in start..count {
            let Some(offer) = offers.get((index + salt) % count) else {
                break;
            };
            if unfillable
                .iter()
                .any(|known| Rc::ptr_eq(known, &offer.requirements))
                && !matches!(offer.form, Form::Ready(..))
            {
                continue;
            }
            match self.fill(place, offer) {
                Ok(value) => {
                    self.taken.insert(place.to_owned(), Taken { index, count });
                    return Ok(value);
                }
                Err(error) if error.is_final() => return Err(error),
                Err(error) => {
                    failure = failure.or(Some(error));
                    // Variants differ in values only, unless items may move.
                    if offer.requirements.contained.is_empty() {
                        unfillable.push(&offer.requirements);
                    }
                }
            }
        }
        Err(failure.unwrap_or_else(|| ArgumentsError::Unsatisfiable {
            place: place.to_owned(),
            reason: "what the schema asks for here contradicts itself".to_owned(),
            hint: "check types, bounds and `enum`, or give the arguments by hand",
        }))
    }

    /// Every way to fill a place, the best first, and the first reason why one is missing.
    #[allow(clippy::type_complexity)]
    fn offers(
        &self,
        place: &str,
        schemas: &[&'schema Value],
    ) -> Result<(Vec<Offer<'schema>>, Option<ArgumentsError>), ArgumentsError> {
        let mut failure = None;
        let mut offers = Vec::new();
        let common = Rc::new(merge_common(self.document, place, schemas)?);
        // With a token wanted everywhere, suggestions wait until nothing could carry it.
        let suggestions = self.suggestions(place, &common);
        let tokens_first = self.choice.token.is_some() && self.carriers != Carriers::Free;
        let free = suggestions.is_empty() && common.suggested.is_empty();

        let rotation = |count| self.rotate(place, count);
        let mut recursive = Vec::new();
        let mut trail = Trail::default();
        for combination in 0..BRANCHES_MAX {
            if combination > 0 && !trail.advance() {
                break;
            }
            let merged = merge_branches(self.document, place, schemas, &mut trail, &rotation);
            let requirements = match merged {
                Ok(requirements) => Rc::new(requirements),
                Err(error) if error.is_final() => return Err(error),
                Err(error) => {
                    failure = failure.or(Some(error));
                    continue;
                }
            };
            if requirements.impossible {
                continue;
            }
            match self.forms(place, &requirements, free) {
                Ok(forms) => {
                    let returns = requirements
                        .references
                        .iter()
                        .any(|target| self.way.iter().any(|seen| std::ptr::eq(*seen, *target)));
                    let list = if returns { &mut recursive } else { &mut offers };
                    list.extend(forms.into_iter().enumerate().map(|(rank, form)| Offer {
                        requirements: Rc::clone(&requirements),
                        form,
                        rank,
                    }));
                }
                Err(error) if error.is_final() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        // What leads back to itself comes last, or values would grow to the limit.
        recursive.sort_by_key(|offer: &Offer<'_>| !matches!(offer.form, Form::Ready(..)));
        offers.append(&mut recursive);
        let suggested = suggestions.into_iter().map(|value| Offer {
            requirements: Rc::clone(&common),
            form: Form::Ready(value, Origin::Suggested),
            rank: 0,
        });
        if tokens_first {
            offers.extend(suggested);
        } else {
            offers.splice(0..0, suggested);
        }
        Ok((offers, failure))
    }

    fn suggestions(&self, place: &str, requirements: &Requirements<'schema>) -> Vec<Value> {
        let meaning = Meaning::of(place, requirements);
        requirements
            .suggested
            .iter()
            .filter(|value| {
                let folder = &self.choice.folder();
                requirements.admits(value) && meaning.permits(value, Origin::Suggested, folder)
            })
            .take(self.variants)
            .map(|value| (*value).clone())
            .collect()
    }

    /// The forms for one combination of branches.
    fn forms(
        &self,
        place: &str,
        requirements: &Requirements<'schema>,
        free: bool,
    ) -> Result<Vec<Form>, ArgumentsError> {
        if let Some(list) = requirements.listed.first() {
            let others: usize = requirements.listed.iter().map(|other| other.len()).sum();
            self.document.step(place, list.len() * others / 256)?;
            let values = list.iter().filter(|value| requirements.admits(value));
            let values = values.take(self.variants.max(64));
            let values = values.map(|value| Form::Ready(value.clone(), Origin::Listed));
            let mut values: Vec<Form> = values.collect();
            let turn = self.rotate(place, values.len());
            values.rotate_left(turn);
            return Ok(values);
        }
        let mut forms = Vec::new();
        let suggestions = self.suggestions(place, requirements);
        let free = free && suggestions.is_empty();
        let mut failure = None;
        for kind in requirements.kinds_to_try() {
            match self.forms_of_kind(place, requirements, kind, free) {
                Ok(of_kind) => forms.extend(of_kind),
                Err(error) if error.is_final() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let ready = suggestions.into_iter();
        let ready = ready.map(|value| Form::Ready(value, Origin::Suggested));
        if self.choice.token.is_some() && self.carriers != Carriers::Free {
            forms.extend(ready);
        } else {
            forms.splice(0..0, ready);
        }
        match failure {
            Some(failure) if forms.is_empty() => Err(failure),
            _ => Ok(forms),
        }
    }

    fn forms_of_kind(
        &self,
        place: &str,
        requirements: &Requirements<'schema>,
        kind: Kind,
        free: bool,
    ) -> Result<Vec<Form>, ArgumentsError> {
        let made = |value| Form::Ready(value, Origin::Made);
        let ready = |values: Vec<Value>| values.into_iter().map(made).collect();
        Ok(match kind {
            Kind::Object => (0..self.variants).map(Form::Object).collect(),
            Kind::Array => (0..self.variants).map(Form::Array).collect(),
            Kind::Integer | Kind::Number => {
                let special = Meaning::of(place, requirements).numbers(self.variants);
                let numbers = match (special, kind) {
                    (Some(mut numbers), _) => {
                        numbers.retain(|value| number::is_within(requirements, value));
                        numbers
                    }
                    (None, Kind::Integer) => number::integers(requirements, self.variants),
                    (None, _) => number::numbers(requirements, self.variants),
                };
                ready(numbers)
            }
            Kind::Boolean => {
                if place.rsplit('/').next().is_some_and(is_safeguard) {
                    return Ok(vec![made(true.into())]);
                }
                let first = self.rotate(place, 2) == 1;
                vec![made(first.into()), made((!first).into())]
            }
            Kind::Null => vec![made(Value::Null)],
            Kind::Text => {
                let meaning = Meaning::of(place, requirements);
                let unasked = requirements.patterns.is_empty() && requirements.formats.is_empty();
                let is_plain = matches!(meaning, Meaning::Other | Meaning::Command);
                let may_carry = self.carriers != Carriers::Free || (free && unasked && is_plain);
                let token = self.choice.token.as_deref().filter(|_| may_carry);
                let first = meaning.texts(&self.choice.folder(), token, self.variants);
                // Where the text has a meaning, a bare token would have another.
                let token = token.filter(|_| is_plain);
                let texts = text::texts(
                    self.document,
                    requirements,
                    token,
                    first,
                    self.variants,
                    place,
                )?;
                ready(texts.into_iter().map(Value::from).collect())
            }
        })
    }

    fn fill(&mut self, place: &str, offer: &Offer<'schema>) -> Result<Value, ArgumentsError> {
        let known = self.way.len();
        self.way.extend(&offer.requirements.references);
        self.depth += 1;
        let result = match &offer.form {
            Form::Ready(value, origin) => self.permit(place, offer, value, *origin),
            Form::Object(variant) => self.object(place, &offer.requirements, *variant),
            Form::Array(variant) => self.array(place, &offer.requirements, *variant),
        };
        self.depth -= 1;
        self.way.truncate(known);
        result
    }

    /// The value, unless it could do harm.
    fn permit(
        &mut self,
        place: &str,
        offer: &Offer<'schema>,
        value: &Value,
        origin: Origin,
    ) -> Result<Value, ArgumentsError> {
        let meaning = Meaning::of(place, &offer.requirements);
        if meaning.permits(value, origin, &self.choice.folder()) {
            return self.weigh(place, value).map(|()| value.clone());
        }
        Err(ArgumentsError::Unsatisfiable {
            place: place.to_owned(),
            reason: format!("only values such as {value} fit, which could reach something real"),
            hint: "give the arguments by hand",
        })
    }

    /// Counts the size of the arguments, what was given up included.
    fn weigh(&mut self, place: &str, value: &Value) -> Result<(), ArgumentsError> {
        self.bytes += match value {
            Value::String(text) => text.len(),
            Value::Array(_) | Value::Object(_) => value.to_string().len(),
            _ => 8,
        };
        if self.bytes <= ARGUMENTS_BYTES_MAX {
            return Ok(());
        }
        Err(ArgumentsError::TooMuchWork {
            place: place.to_owned(),
            what: "writing bytes",
            limit: ARGUMENTS_BYTES_MAX,
        })
    }

    /// Where to start among so many choices: at the first, unless a seed is given.
    fn rotate(&self, place: &str, count: usize) -> usize {
        if self.choice.seed == 0 || count < 2 {
            return 0;
        }
        // The same on every machine.
        let bytes = self.choice.seed.to_le_bytes();
        let hash = mcprove_settings::hash::fnv_1a(bytes.into_iter().chain(place.bytes()));
        // The high bits are the well mixed ones.
        usize::try_from((hash >> 32) % count as u64).unwrap_or(0)
    }
}
