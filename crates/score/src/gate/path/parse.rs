//! Reading a path, with the place of whatever is wrong with it.

use super::{Path, PathError, Step, is_plain_character};

const EXAMPLE: &str =
    "write it as in tool_calls[0].name, tool_calls[*].args.query or args[\"a key\"]";

impl Path {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let steps = Parser {
            characters: text.chars().collect(),
            at: 0,
        }
        .steps()?;
        Ok(Self { steps })
    }
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

impl Parser {
    fn steps(&mut self) -> Result<Vec<Step>, PathError> {
        let mut steps = Vec::new();
        match (self.peek(), self.characters.get(1).copied()) {
            (None, _) => return Err(self.error("the path is empty", EXAMPLE)),
            (Some('$'), None | Some('.' | '[')) => {
                return Err(self.error(
                    "a path does not begin with `$`",
                    "leave it out: paths begin with a key",
                ));
            }
            (Some('.'), _) => {
                return Err(self.error(
                    "a path does not begin with a dot",
                    "leave it out: paths begin with a key",
                ));
            }
            (Some('['), _) => {}
            (Some(_), _) => steps.push(Step::Key(self.name()?)),
        }
        while let Some(character) = self.peek() {
            steps.push(match character {
                '[' => self.bracket()?,
                '.' => {
                    self.at += 1;
                    match self.name()? {
                        name if name == "length" => Step::Length,
                        name => Step::Key(name),
                    }
                }
                _ => return Err(self.unexpected("a `.` or a `[`")),
            });
        }
        Ok(steps)
    }

    /// A name, up to the next step.
    fn name(&mut self) -> Result<String, PathError> {
        let mut name = String::new();
        while let Some(character) = self.peek().filter(|next| is_plain_character(*next)) {
            name.push(character);
            self.at += 1;
        }
        match self.peek() {
            Some('*') => Err(self.error(
                format!("`*` stands in brackets, at character {}", self.at + 1),
                "write [*] for every element of a list",
            )),
            None | Some('.' | '[') if !name.is_empty() => Ok(name),
            _ if name.is_empty() => Err(self.unexpected("a name")),
            _ => Err(self.unexpected("a `.` or a `[`")),
        }
    }

    /// What stands in brackets.
    fn bracket(&mut self) -> Result<Step, PathError> {
        let begin = self.at;
        self.at += 1;
        let step = match self.peek() {
            Some('*') => {
                self.at += 1;
                Step::Every
            }
            Some(quote @ ('"' | '\'')) => Step::Key(self.quoted(quote)?),
            Some('0'..='9') => Step::Index(self.index()?),
            Some('-') => {
                return Err(self.error(
                    format!(
                        "an index is never negative, but one is at character {}",
                        self.at + 1
                    ),
                    "indices count from 0, from the first element on; write [*] for all of them",
                ));
            }
            None => return Err(self.unclosed(begin)),
            Some(_) => {
                return Err(self.error(
                    format!(
                        "brackets hold an index, `*` or a name in quotes, but not what is at character {}",
                        self.at + 1
                    ),
                    "write [0], [*] or [\"a key\"]",
                ));
            }
        };
        match self.peek() {
            Some(']') => {
                self.at += 1;
                Ok(step)
            }
            Some(':') => Err(self.error(
                format!(
                    "there are no ranges, but one is at character {}",
                    self.at + 1
                ),
                "write [0] for one element, [*] for all",
            )),
            Some(_) => Err(self.unexpected("a `]`")),
            None => Err(self.unclosed(begin)),
        }
    }

    fn index(&mut self) -> Result<usize, PathError> {
        let begin = self.at;
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.at += 1;
        }
        digits.parse().map_err(|_| {
            self.at = begin;
            let message = format!("the index at character {} is too large", begin + 1);
            self.error(message, "indices count from 0")
        })
    }

    /// A name in quotes; a backslash takes the next character as it is.
    fn quoted(&mut self, quote: char) -> Result<String, PathError> {
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
        self.at = begin;
        let message = format!("the quote at character {} is never closed", begin + 1);
        Err(self.error(message, format!("add a {quote} and a ]")))
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn unclosed(&mut self, begin: usize) -> PathError {
        self.at = begin;
        let message = format!("the bracket at character {} is never closed", begin + 1);
        self.error(message, "add a ]")
    }

    fn unexpected(&self, expected: &str) -> PathError {
        let message = match self.peek() {
            Some(found) => format!(
                "expected {expected} at character {}, not {found:?}",
                self.at + 1
            ),
            None => format!("expected {expected} at the end"),
        };
        let hint = match self.peek() {
            Some(' ') | None => EXAMPLE,
            Some(_) => "put a name with such characters in brackets and quotes: [\"a key\"]",
        };
        self.error(message, hint)
    }

    fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> PathError {
        PathError {
            position: Some(self.at + 1),
            message: message.into(),
            hint: hint.into(),
        }
    }
}
