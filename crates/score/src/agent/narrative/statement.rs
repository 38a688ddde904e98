//! One statement of a value: the name of an argument, what ties the value to it, and the value. Numbers,
//! quotations and identifiers speak for themselves; a plain word is a value only where the name leads
//! to one (`with priority high`), and where the recorded values are such words.

use super::prelude::*;

/// Tokens of a fragment like `priority high`.
const FRAGMENT_TOKENS_MAX: usize = 4;

/// A place where a text may state a value.
pub struct Statement<'a> {
    pub tokens: &'a [Token],
    pub name: &'a str,
    pub values: &'a Recorded,
    pub link: Link,
    /// Where the name begins.
    pub start: usize,
    /// Where the value begins.
    pub at: usize,
    /// The first token of the value.
    pub first: &'a Token,
    /// Whether the sentence stated a value before.
    has_stated: bool,
}

/// A value that a text states.
pub struct Stated {
    /// As it is written.
    pub text: String,
    /// Whether some call had it.
    pub is_recorded: bool,
    /// Where it ends.
    pub end: usize,
}

impl<'a> Statement<'a> {
    /// Reads on from a name at `place`.
    pub fn read(
        tokens: &'a [Token],
        place: (usize, usize),
        name: &'a str,
        values: &'a Recorded,
        has_stated: bool,
    ) -> Option<Self> {
        let (start, end) = place;
        let (link, mut at) = read(tokens, start, end);
        // `priority: low → high`
        if link == Link::Explicit && tokens.get(at + 1).is_some_and(|token| token.is_mark('→')) {
            at += 2;
        }
        // `an amount of EUR 500`
        let is_amount = tokens
            .get(at + 1)
            .is_some_and(|token| token.kind == Kind::Number);
        if is_amount && tokens.get(at).is_some_and(|token| is_currency(&token.text)) {
            at += 1;
        }
        let statement = Self {
            first: tokens.get(at)?,
            tokens,
            name,
            values,
            link,
            start,
            at,
            has_stated,
        };
        statement.is_clear().then_some(statement)
    }

    /// Whether the name states a value here: common words need a clear sign.
    fn is_clear(&self) -> bool {
        let is_address = self.first.kind == Kind::Name && self.first.text.contains('@');
        let is_addressee = matches!(self.name, "to" | "from" | "cc" | "bcc")
            && is_address
            && self.values.has_shape(Shape::Address);
        if self.link == Link::Explicit || is_addressee {
            return true;
        }
        let is_literal = self.first.kind != Kind::Word && self.link != Link::To;
        let is_common = self.name.len() <= 2 || is_common_name(self.name);
        !is_function_word(self.name) && (!is_common || is_literal)
    }

    /// The value, if one is stated that can be held against those recorded.
    pub fn value(&self) -> Option<Stated> {
        match self.first.kind {
            Kind::Quoted => Some(self.stated(self.values.has(&self.first.text))),
            Kind::Number => self.amount(),
            Kind::Name => self.identifier(),
            Kind::Word => self.word(),
            Kind::Mark(_) => None,
        }
    }

    /// The first token as the value.
    fn stated(&self, is_recorded: bool) -> Stated {
        Stated {
            text: self.first.text.clone(),
            is_recorded,
            end: self.at + 1,
        }
    }

    fn next_word(&self) -> &'a str {
        self.tokens.lower(self.at + 1)
    }

    fn amount(&self) -> Option<Stated> {
        let amount = number(&self.first.text)?;
        // `20% higher` compares, and states nothing.
        if is_comparative(self.next_word()) {
            return None;
        }
        let is_percent = self.first.text.ends_with('%');
        let unit = if is_percent { "%" } else { self.next_word() };
        let is_explicit = self.link == Link::Explicit && !self.values.has_shape(Shape::Date);
        (self.values.takes_amount() || is_explicit)
            .then(|| self.stated(self.values.has_amount(&amount, unit)))
    }

    /// An identifier, address, path, version, or amount with a unit.
    fn identifier(&self) -> Option<Stated> {
        let (text, values) = (self.first.text.as_str(), self.values);
        if let Some((amount, unit)) = with_unit(text)
            && values.has_shape(Shape::Number)
        {
            return Some(self.stated(values.has_amount(&amount, &unit) || values.has(text)));
        }
        let begins_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
        let is_time = is_date(text) || text.contains(':') && begins_with_digit;
        let is_address = text.contains('@') && !text.starts_with('@');
        let is_comparable = if is_time || values.has_shape(Shape::Date) {
            is_date(text) && values.has_shape(Shape::Date)
        } else if is_address || values.has_shape(Shape::Address) {
            is_address && values.has_shape(Shape::Address)
        } else {
            values.has_shape(Shape::Word)
                || self.link == Link::Explicit && values.has_shape(Shape::Text)
        };
        is_comparable.then(|| self.stated(values.has(text)))
    }

    /// A word, or several behind a colon.
    fn word(&self) -> Option<Stated> {
        let (word, values) = (self.first.lower.as_str(), self.values);
        if flag(word).is_some() && values.has_shape(Shape::Flag) && self.link != Link::To {
            return Some(self.stated(values.has(word)));
        }
        if let Some(amount) = spelt_number(word)
            && values.has_shape(Shape::Number)
        {
            return Some(self.stated(values.has_amount(amount, self.next_word())));
        }
        if self.link == Link::Explicit {
            return self.text();
        }
        if self.first.is_capital() {
            return self.name_of_words();
        }
        let ends = self.tokens.get(self.at + 1).is_none_or(ends_value);
        let is_introduced = match self.link {
            Link::None => self.is_introduced(),
            Link::Is | Link::Of => values.has_shape(Shape::Choice) || self.takes_choice(),
            Link::To => true,
            Link::Explicit => false,
        };
        let is_value =
            self.is_value_word() && ends && values.takes_word(&self.first.text) && is_introduced;
        let is_recorded = || values.has(word) || stems(word).iter().any(|stem| values.has(stem));
        is_value.then(|| self.stated(is_recorded()))
    }

    /// `with priority high`, `has status open`, `for customer Alice`.
    pub fn is_introduced(&self) -> bool {
        let before = self.tokens.get(..self.start).unwrap_or_default();
        let mut before = before.iter().rev();
        let Some(before) = before.find(|token| token.class != Determiner) else {
            return self.tokens.len() <= FRAGMENT_TOKENS_MAX;
        };
        let is_bare = self.tokens.class(self.start - 1) != Determiner;
        match before.class {
            And | Comma => self.has_stated,
            Have => true,
            // `for customer support` names no customer.
            Preposition | To => match before.lower.as_str() {
                "with" => true,
                "for" | "of" | "by" | "about" => self.first.is_capital(),
                _ => is_bare || self.first.is_capital(),
            },
            _ => matches!(
                before.lower.as_str(),
                "set" | "using" | "used" | "chose" | "selected"
            ),
        }
    }

    /// Whether the word can be a value: no verb, no little word, no judgement.
    pub fn is_value_word(&self) -> bool {
        match self.first.class {
            Noun | Adjective => !is_judgement(&self.first.lower),
            Verb => {
                let is_participle =
                    |form| matches!(form, Form::PastOrParticiple | Form::Participle);
                is_participle(self.first.verb.form) && self.takes_choice()
            }
            _ => false,
        }
    }

    fn takes_choice(&self) -> bool {
        takes_choice(self.name.rsplit(' ').next().unwrap_or(self.name))
    }
}

/// Whether a value of one word ends before this token.
pub fn ends_value(token: &Token) -> bool {
    matches!(
        token.class,
        Stop | Comma | And | But | Preposition | To | Subordinator | Which | That | Adverb
    )
}

// How a value is tied to the name of an argument: `priority: high`, `an amount of 50`, `the status is
// done`, `raised the limit to 20`, `price 19.95`.

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing.
    None,
    /// `:`, `=`, an arrow, the border of a table.
    Explicit,
    /// `is`, `was`.
    Is,
    /// `of`, `as`, `at`.
    Of,
    /// `to`, after a verb of change.
    To,
}

/// Reads what follows a name at `start..end`, and where the value begins.
pub fn read(tokens: &[Token], start: usize, end: usize) -> (Link, usize) {
    // `the priority field is`, `the limit parameter to`
    let end = end + usize::from(is_filler(tokens.lower(end)));
    let Some(token) = tokens.get(end) else {
        return (Link::None, end);
    };
    // `- Priority – high`
    let begins = start == 0 || tokens.class(start - 1) == Stop;
    if token.is_mark('—') && begins {
        return (Link::Explicit, end + 1);
    }
    if matches!(token.kind, Kind::Mark(':' | '=' | '→' | '|')) {
        let mut at = end + 1;
        while tokens
            .get(at)
            .is_some_and(|token| matches!(token.kind, Kind::Mark(':' | '=' | '|' | '•')))
        {
            at += 1;
        }
        return (Link::Explicit, at);
    }
    let next = end + 1;
    match token.lower.as_str() {
        "of" | "as" | "at" => (Link::Of, next),
        "to" if is_changed(tokens, start) => (Link::To, next),
        "from" => match change_target(tokens, end) {
            Some(at) => (Link::To, at),
            None => (Link::None, end),
        },
        "set" | "changed" | "updated" | "equal" if tokens.lower(next) == "to" => {
            (Link::To, next + 1)
        }
        "equals" => (Link::Is, next),
        _ if matches!(token.class, Be | Have) => linked(tokens, end),
        _ => (Link::None, end),
    }
}

/// `is`, `is now`, `was set to`, `has been changed from low to`.
fn linked(tokens: &[Token], from: usize) -> (Link, usize) {
    let ties = |token: &&Token| matches!(token.class, Be | Have | Adverb);
    let at = from
        + tokens
            .rest(from)
            .iter()
            .take(WINDOW)
            .take_while(ties)
            .count();
    if !is_change(tokens.lower(at)) {
        // `has` alone ties nothing.
        return if tokens.class(from) == Be {
            (Link::Is, at)
        } else {
            (Link::None, from)
        };
    }
    match tokens.lower(at + 1) {
        "to" => (Link::To, at + 2),
        "from" => change_target(tokens, at + 1).map_or((Link::Is, at), |at| (Link::To, at)),
        // `the status was updated` states none.
        _ => (Link::None, from),
    }
}

/// Behind the `to` of `from low to high`.
fn change_target(tokens: &[Token], from: usize) -> Option<usize> {
    let mut places = from + 1..from + 5;
    Some(places.find(|at| tokens.class(*at) == To)? + 1)
}

/// Whether a verb before the name says that it was changed: only then is what follows `to` its value,
/// and not where it went.
fn is_changed(tokens: &[Token], start: usize) -> bool {
    let from = start.saturating_sub(WINDOW / 2);
    tokens
        .get(from..start)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|token| !matches!(token.class, Stop | Agent))
        .any(|token| is_change(&token.lower))
}
