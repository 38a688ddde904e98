//! One place in the arguments: which values may stand there, and the one that is taken.

use std::rc::Rc;

use super::meaning::{Meaning, Origin, is_safeguard};
use super::requirements::{Trail, merge};
use super::{number, text};
use crate::prelude::*;

/// Which strings carry the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriers<'schema> {
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
pub struct Taken {
    pub index: usize,
    pub count: usize,
}

/// Makes one value; the picks say where it is to differ from the first choice.
pub struct Making<'work, 'schema> {
    pub document: &'work Document<'schema>,
    pub choice: &'work Choice,
    pub carriers: Carriers<'schema>,
    pub picks: &'work BTreeMap<String, usize>,
    pub taken: BTreeMap<String, Taken>,
    /// Variants of scalars to offer; more where items must differ.
    pub variants: usize,
    /// References followed on the way from the root: coming back to one is a recursion.
    way: Vec<&'schema Value>,
    depth: usize,
    bytes: usize,
}

impl<'work, 'schema> Making<'work, 'schema> {
    pub fn new(
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
            way: vec![document.root],
            depth: 0,
            bytes: 0,
        }
    }

    /// Makes the value for a place. The salt asks for another value than the first.
    pub fn value(&mut self, place: &str, schemas: &[&'schema Value], salt: usize) -> Result<Value> {
        self.document.step(place, 1)?;
        if self.depth >= ARGUMENTS_DEPTH_MAX {
            return Err(ArgumentsError::over_limit(
                place,
                "levels of nesting",
                &format!("over {ARGUMENTS_DEPTH_MAX}"),
                ARGUMENTS_DEPTH_MAX,
            ));
        }
        let mut failure = None;
        let mut offers = self.offers(place, schemas, &mut failure)?;
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
            let is_known = |known: &&Rc<_>| Rc::ptr_eq(known, &offer.requirements);
            if !matches!(offer.form, Form::Ready(..)) && unfillable.iter().any(is_known) {
                continue;
            }
            match self.fill(offer) {
                Ok(value) => {
                    self.taken.insert(place.to_owned(), Taken { index, count });
                    return Ok(value);
                }
                Err(error) => error.keep_in(&mut failure)?,
            }
            // Variants differ in values only, unless items may move.
            if offer.requirements.contained().is_empty() {
                unfillable.push(&offer.requirements);
            }
        }
        Err(failure.unwrap_or_else(|| {
            ArgumentsError::unsatisfiable(
                place,
                "what the schema asks for here contradicts itself",
                "check types, bounds and `enum`, or give the arguments by hand",
            )
        }))
    }

    /// Every way to fill a place, the best first, and the first reason why one is missing.
    fn offers(
        &self,
        place: &str,
        schemas: &[&'schema Value],
        failure: &mut Option<ArgumentsError>,
    ) -> Result<Vec<Offer<'schema>>> {
        let mut offers = Vec::new();
        let common = merge(self.document, place, schemas, None, &|_| 0)?;
        let suggestions = self.suggestions(&common);
        let is_free = suggestions.is_empty() && common.suggested().next().is_none();
        let common = Rc::new(common);

        let rotation = |count| self.rotate(place, count);
        let mut recursive = Vec::new();
        let mut trail = Trail::default();
        for combination in 0..BRANCHES_MAX {
            if combination > 0 && !trail.advance() {
                break;
            }
            let forms = merge(self.document, place, schemas, Some(&mut trail), &rotation).and_then(
                |requirements| {
                    let forms = if requirements.impossible {
                        Vec::new()
                    } else {
                        self.forms(&requirements, is_free)?
                    };
                    Ok((Rc::new(requirements), forms))
                },
            );
            match forms {
                Ok((requirements, forms)) => {
                    let mut references = requirements.references.iter();
                    let returns = references
                        .any(|target| self.way.iter().any(|seen| std::ptr::eq(*seen, *target)));
                    let list = if returns { &mut recursive } else { &mut offers };
                    list.extend(forms.into_iter().enumerate().map(|(rank, form)| Offer {
                        requirements: Rc::clone(&requirements),
                        form,
                        rank,
                    }));
                }
                Err(error) => error.keep_in(failure)?,
            }
        }
        // What leads back to itself comes last, or values would grow to the limit.
        recursive.sort_by_key(|offer: &Offer<'_>| !matches!(offer.form, Form::Ready(..)));
        offers.append(&mut recursive);
        let suggested = suggestions.into_iter().map(|form| Offer {
            requirements: Rc::clone(&common),
            form,
            rank: 0,
        });
        self.add_suggested(&mut offers, suggested.collect());
        Ok(offers)
    }

    /// Adds what is suggested: before all else, or, with a token wanted everywhere, after what could carry it.
    fn add_suggested<Item>(&self, items: &mut Vec<Item>, suggested: Vec<Item>) {
        let tokens_first = self.choice.token.is_some() && self.carriers != Carriers::Free;
        let at = if tokens_first { items.len() } else { 0 };
        items.splice(at..at, suggested);
    }

    fn suggestions(&self, requirements: &Requirements<'schema>) -> Vec<Form> {
        let meaning = Meaning::of(requirements);
        let folder = self.choice.folder();
        let suggested = requirements.suggested().filter(|value| {
            requirements.admits(value) && meaning.permits(value, Origin::Suggested, &folder)
        });
        suggested
            .take(self.variants)
            .map(|value| Form::Ready(value.clone(), Origin::Suggested))
            .collect()
    }

    /// The forms for one combination of branches.
    fn forms(&self, requirements: &Requirements<'schema>, is_free: bool) -> Result<Vec<Form>> {
        let place = &requirements.place;
        if let Some(list) = requirements.listed().next() {
            let others: usize = requirements.listed().map(<[Value]>::len).sum();
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
        let suggestions = self.suggestions(requirements);
        let is_free = is_free && suggestions.is_empty();
        let mut failure = None;
        for kind in requirements.types_to_try() {
            match self.forms_of_type(requirements, kind, is_free) {
                Ok(of_type) => forms.extend(of_type),
                Err(error) => error.keep_in(&mut failure)?,
            }
        }
        self.add_suggested(&mut forms, suggestions);
        match failure {
            Some(failure) if forms.is_empty() => Err(failure),
            _ => Ok(forms),
        }
    }

    fn forms_of_type(
        &self,
        requirements: &Requirements<'schema>,
        kind: JsonType,
        is_free: bool,
    ) -> Result<Vec<Form>> {
        let place = &requirements.place;
        let values = match kind {
            "object" => return Ok((0..self.variants).map(Form::Object).collect()),
            "array" => return Ok((0..self.variants).map(Form::Array).collect()),
            "integer" | "number" => match Meaning::of(requirements).numbers(self.variants) {
                Some(mut numbers) => {
                    numbers.retain(|value| number::is_within(requirements, value));
                    numbers
                }
                None if kind == "integer" => number::integers(requirements, self.variants),
                None => number::numbers(requirements, self.variants),
            },
            "boolean" if place.rsplit('/').next().is_some_and(is_safeguard) => {
                vec![true.into()]
            }
            "boolean" => {
                let first = self.rotate(place, 2) == 1;
                vec![first.into(), (!first).into()]
            }
            "null" => vec![Value::Null],
            _ => {
                let meaning = Meaning::of(requirements);
                let is_asked = || requirements.texts(text::SHAPES).next().is_some();
                let is_plain = matches!(meaning, Meaning::Other | Meaning::Command);
                let may_carry =
                    self.carriers != Carriers::Free || (is_free && is_plain && !is_asked());
                let token = self.choice.token.as_deref().filter(|_| may_carry);
                let first = meaning.texts(&self.choice.folder(), token, self.variants);
                // Where the text has a meaning, a bare token would have another.
                let token = token.filter(|_| is_plain);
                text::texts(self.document, requirements, token, first, self.variants)?
                    .into_iter()
                    .map(Value::from)
                    .collect()
            }
        };
        let values = values.into_iter();
        Ok(values.map(|it| Form::Ready(it, Origin::Made)).collect())
    }

    fn fill(&mut self, offer: &Offer<'schema>) -> Result<Value> {
        let requirements = &offer.requirements;
        let known = self.way.len();
        self.way.extend(&requirements.references);
        self.depth += 1;
        let result = match &offer.form {
            Form::Ready(value, origin) => self.permit(requirements, value, *origin),
            Form::Object(variant) => self.object(requirements, *variant),
            Form::Array(variant) => self.array(requirements, *variant),
        };
        self.depth -= 1;
        self.way.truncate(known);
        result
    }

    /// The value, unless it could do harm. Counts the size of the arguments, what was given up included.
    fn permit(
        &mut self,
        requirements: &Requirements<'schema>,
        value: &Value,
        origin: Origin,
    ) -> Result<Value> {
        let place = requirements.place.as_str();
        if !Meaning::of(requirements).permits(value, origin, &self.choice.folder()) {
            return Err(ArgumentsError::unsatisfiable(
                place,
                format!("only values such as {value} fit, which could reach something real"),
                "give the arguments by hand",
            ));
        }
        self.bytes += match value {
            Value::String(text) => text.len(),
            Value::Array(_) | Value::Object(_) => value.to_string().len(),
            _ => 8,
        };
        if self.bytes <= ARGUMENTS_BYTES_MAX {
            return Ok(value.clone());
        }
        Err(ArgumentsError::too_much_work(
            place,
            "writing bytes",
            ARGUMENTS_BYTES_MAX,
        ))
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
