//! Reading a path, with the place of whatever is wrong with it.

use super::{Path, PathStep, is_plain_character};
use crate::prelude::{Diagnostic, DiagnosticResult, Message, sentence};

const EXAMPLE: &str =
    "write it as in tool_calls[0].name, tool_calls[*].args.query or args[\"a key\"]";

impl Path {
    /// Reads a path.
    pub fn parse(text: &str) -> DiagnosticResult<Self> {
        let characters = text.chars().collect();
        let steps = Parser { characters, at: 0 }.steps()?;
        Ok(Self { steps })
    }
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

impl Parser {
    fn steps(&mut self) -> DiagnosticResult<Vec<PathStep>> {
        let leave_out = "leave it out: paths begin with a key";
        let mut steps = Vec::new();
        match self.characters[..] {
            [] => return Err(Diagnostic::new("the path is empty", EXAMPLE)),
            ['$'] | ['$', '.' | '[', ..] => {
                return Err(Diagnostic::new(
                    sentence!("a path does not begin with `$`"),
                    leave_out,
                ));
            }
            ['.', ..] => {
                return Err(Diagnostic::new(
                    "a path does not begin with a dot",
                    leave_out,
                ));
            }
            ['[', ..] => {}
            _ => steps.push(PathStep::Key(self.name()?)),
        }
        while self.peek().is_some() {
            let step = if self.eat('[') {
                self.bracket()?
            } else if self.eat('.') {
                match self.name()? {
                    name if name == "length" => PathStep::Length,
                    name => PathStep::Key(name),
                }
            } else {
                return Err(self.unexpected(sentence!("a `.` or a `[`")));
            };
            steps.push(step);
        }
        Ok(steps)
    }

    /// A name, up to the next step.
    fn name(&mut self) -> DiagnosticResult<String> {
        let name = self.take_while(is_plain_character);
        match self.peek() {
            Some('*') => {
                let message = sentence!("`*` stands in brackets, {}", self.here());
                Err(Diagnostic::new(
                    message,
                    "write [*] for every element of a list",
                ))
            }
            None | Some('.' | '[') if !name.is_empty() => Ok(name),
            _ if name.is_empty() => Err(self.unexpected("a name")),
            _ => Err(self.unexpected(sentence!("a `.` or a `[`"))),
        }
    }

    /// What stands in brackets, of which the first is behind.
    fn bracket(&mut self) -> DiagnosticResult<PathStep> {
        let begin = self.at - 1;
        let here = self.here();
        let step = match self.peek() {
            Some(quote @ ('"' | '\'')) => PathStep::Key(self.quoted(quote)?),
            Some('0'..='9') => self.index()?,
            Some('-') => {
                return Err(Diagnostic::new(
                    format!("an index is never negative, but one is {here}"),
                    "indices count from 0, from the first element on; write [*] for all of them",
                ));
            }
            Some(_) if self.eat('*') => PathStep::Every,
            Some(_) => {
                return Err(Diagnostic::new(
                    sentence!(
                        "brackets hold an index, `*` or a name in quotes, but not what is {here}"
                    ),
                    "write [0], [*] or [\"a key\"]",
                ));
            }
            // Whatever it was to be: that it is not closed is told below.
            None => PathStep::Every,
        };
        match self.peek() {
            Some(_) if self.eat(']') => Ok(step),
            Some(':') => {
                let message = format!("there are no ranges, but one is {}", self.here());
                Err(Diagnostic::new(
                    message,
                    "write [0] for one element, [*] for all",
                ))
            }
            Some(_) => Err(self.unexpected(sentence!("a `]`"))),
            None => Err(self.error_from(begin, "the bracket", "is never closed", "add a ]")),
        }
    }

    fn index(&mut self) -> DiagnosticResult<PathStep> {
        let begin = self.at;
        self.take_while(|character| character.is_ascii_digit())
            .parse()
            .map(PathStep::Index)
            .map_err(|_| {
                self.error_from(begin, "the index", "is too large", "indices count from 0")
            })
    }

    /// A name in quotes; a backslash takes the next character as it is.
    fn quoted(&mut self, quote: char) -> DiagnosticResult<String> {
        let begin = self.at;
        self.at += 1;
        let mut name = String::new();
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                _ if character == quote => return Ok(name),
                '\\' => {
                    name.extend(self.peek());
                    self.at += 1;
                }
                _ => name.push(character),
            }
        }
        let hint = format!("add a {quote} and a ]");
        Err(self.error_from(begin, "the quote", "is never closed", hint))
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    /// Whether this character is next; it is behind then.
    fn eat(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        self.at += usize::from(is_next);
        is_next
    }

    fn take_while(&mut self, is_taken: fn(char) -> bool) -> String {
        let taken: String = self
            .characters
            .iter()
            .skip(self.at)
            .copied()
            .take_while(|character| is_taken(*character))
            .collect();
        self.at += taken.chars().count();
        taken
    }

    fn here(&self) -> String {
        format!("at character {}", self.at + 1)
    }

    fn unexpected(&self, expected: impl Into<Message>) -> Diagnostic {
        let expected = expected.into();
        let (message, hint) = match self.peek() {
            Some(found) => (
                sentence!("expected {expected} {}, not {found:?}", self.here()),
                match found {
                    ' ' => EXAMPLE,
                    _ => "put a name with such characters in brackets and quotes: [\"a key\"]",
                },
            ),
            None => (sentence!("expected {expected} at the end"), EXAMPLE),
        };
        Diagnostic::new(message, hint)
    }

    /// What is wrong with what begins at `begin`.
    fn error_from(
        &mut self,
        begin: usize,
        what: &str,
        problem: &str,
        hint: impl Into<Message>,
    ) -> Diagnostic {
        self.at = begin;
        Diagnostic::new(format!("{what} {} {problem}", self.here()), hint)
    }
}
