//! The ways in which a character of a secret may be written by others: escaped in JSON, in the languages of
//! programs, on pages and in addresses, any number of times over.
//!
//! Letters and digits are mostly written as they are, or by their number.

/// A part of a secret that is written in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A letter or a digit of ASCII.
    Plain(u8),
    /// Any other character, and whether a backslash stands before it.
    Other(char, bool),
    /// Backslashes in a row: each time they are escaped, there are twice as many.
    Backslashes(usize),
}

/// How often backslashes may be doubled.
const DOUBLED_MAX: u32 = 5;
/// No escape has more backslashes: whoever sends a megabyte of them is not waited for.
const BACKSLASHES_MAX: usize = 64;
/// No spelling of one character is longer, unless it was escaped many times.
const SPELLING_BYTES_MAX: usize = 16;

/// A text in units.
pub(super) fn units(text: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::with_capacity(text.len());
    for letter in text.chars() {
        let is_after = matches!(units.last(), Some(Unit::Backslashes(_)));
        match (letter, units.last_mut()) {
            ('\\', Some(Unit::Backslashes(count))) => *count += 1,
            ('\\', _) => units.push(Unit::Backslashes(1)),
            (letter, _) => units.push(match u8::try_from(letter) {
                Ok(byte) if byte.is_ascii_alphanumeric() => Unit::Plain(byte),
                _ => Unit::Other(letter, is_after),
            }),
        }
    }
    units
}

impl Unit {
    /// How many characters of the secret it is.
    pub const fn chars(self) -> usize {
        match self {
            Self::Plain(_) | Self::Other(..) => 1,
            Self::Backslashes(count) => count,
        }
    }

    /// Whether it may be written with this byte first.
    pub fn may_begin_with(self, byte: u8) -> bool {
        match self {
            Self::Plain(own) => own == byte || is_escape(byte),
            Self::Backslashes(_) => is_escape(byte),
            // Behind a backslash, what is left of an escape may be a letter.
            Self::Other(_, true) => true,
            Self::Other(letter, false) => {
                let mut bytes = [0; 4];
                let first = letter.encode_utf8(&mut bytes).as_bytes().first();
                first == Some(&byte)
                    || is_escape(byte)
                    || letter == ' ' && byte == b'+'
                    || letter.is_control() && matches!(byte, b' ' | b'\r')
            }
        }
    }

    /// Adds where it ends, for every way in which it stands in a text from here on.
    pub fn ends(self, text: &[u8], from: usize, ends: &mut Vec<usize>) {
        match self {
            Self::Plain(byte) if text.get(from) == Some(&byte) => ends.push(from + 1),
            Self::Plain(byte) => ends.extend(numbered(byte, text, from)),
            Self::Other(letter, is_after) => other(letter, is_after, text, from, ends),
            Self::Backslashes(count) => backslashes(count, text, from, ends),
        }
    }

    /// Whether the end of a text may be the beginning of it.
    pub fn may_be_cut(self, rest: &[u8]) -> bool {
        if rest.is_empty() {
            return true;
        }
        let is_escape = rest.first().is_some_and(|byte| is_escape(*byte));
        match self {
            Self::Plain(_) => {
                let is_of_escape = |byte: &u8| {
                    self::is_escape(*byte) || byte.is_ascii_alphanumeric() || b"#{;".contains(byte)
                };
                is_escape && rest.len() <= SPELLING_BYTES_MAX && rest.iter().all(is_of_escape)
            }
            Self::Backslashes(_) => is_escape && rest.len() <= SPELLING_BYTES_MAX,
            Self::Other(letter, _) => {
                let mut bytes = [0; 4];
                let own = letter.encode_utf8(&mut bytes).as_bytes();
                own.starts_with(rest) || is_escape && rest.len() <= SPELLING_BYTES_MAX
            }
        }
    }
}

/// Whether an escape may begin with this byte.
pub(super) const fn is_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&')
}

/// Whether the escape of a letter or a digit may begin with these bytes.
pub(super) const fn is_number(first: u8, second: u8) -> bool {
    match first {
        b'\\' => matches!(second, b'\\' | b'u' | b'U' | b'x'),
        b'%' => second.is_ascii_hexdigit(),
        b'&' => matches!(second, b'#' | b'a'),
        _ => false,
    }
}

/// Where a letter or a digit ends that is written by its number: `\u0047`, `%47`, `&#71;`.
fn numbered(byte: u8, text: &[u8], from: usize) -> Option<usize> {
    if !is_number(*text.get(from)?, *text.get(from + 1)?) {
        return None;
    }
    let behind = after_backslashes(text, from);
    if behind > from {
        return escaped(char::from(byte), &[byte], text, behind);
    }
    in_address(&[byte], text, from).or_else(|| on_page(char::from(byte), text, from))
}

fn other(letter: char, is_after: bool, text: &[u8], from: usize, ends: &mut Vec<usize>) {
    let mut bytes = [0; 4];
    let own = letter.encode_utf8(&mut bytes).as_bytes();
    let behind = after_backslashes(text, from);
    for at in [from, behind] {
        ends.extend(literal(own, text, at));
        ends.extend(in_address(own, text, at));
        ends.extend(on_page(letter, text, at));
        if behind == from {
            break;
        }
    }
    if behind > from || is_after {
        ends.extend(escaped(letter, own, text, behind));
    }
    match letter {
        // What it is escaped with may also be what the secret goes on with.
        '%' => again(b"%", b"25", text, behind, ends),
        '&' => again(b"&", b"amp;", text, behind, ends),
        ' ' => ends.extend(literal(b"+", text, from)),
        '\n' => ends.extend(literal(b"\r\n", text, from)),
        _ => {}
    }
    if letter.is_control() {
        // On one line.
        ends.extend(literal(b" ", text, from));
    }
}

/// Where a character ends that is escaped with itself, for every number of times.
fn again(own: &[u8], more: &[u8], text: &[u8], from: usize, ends: &mut Vec<usize>) {
    let mut at = literal(own, text, from);
    while let Some(behind) = at.and_then(|at| literal(more, text, at)) {
        ends.push(behind);
        at = Some(behind);
    }
}

fn backslashes(count: usize, text: &[u8], from: usize, ends: &mut Vec<usize>) {
    let rest = text.get(from..).unwrap_or_default();
    let most = count.saturating_mul(BACKSLASHES_MAX);
    let there = rest.iter().take(most);
    let there = there.take_while(|byte| **byte == b'\\').count();
    let doubled = (0..DOUBLED_MAX).map_while(|times| count.checked_shl(times));
    ends.extend(
        doubled
            .take_while(|count| *count <= there)
            .map(|count| from + count),
    );
    for spelled in [encoded_backslash, paged_backslash, numbered_backslash] {
        let all = (0..count).try_fold(from, |at, _| spelled(text, at));
        ends.extend(all);
    }
}

fn encoded_backslash(text: &[u8], at: usize) -> Option<usize> {
    in_address(b"\\", text, at)
}

fn paged_backslash(text: &[u8], at: usize) -> Option<usize> {
    on_page('\\', text, at)
}

fn numbered_backslash(text: &[u8], at: usize) -> Option<usize> {
    let behind = after_backslashes(text, at);
    (behind > at).then(|| escaped('\\', b"\\", text, behind))?
}

fn literal(own: &[u8], text: &[u8], at: usize) -> Option<usize> {
    let is_there = text.get(at..)?.starts_with(own);
    is_there.then_some(at + own.len())
}

fn literal_in_any_case(own: &str, text: &[u8], at: usize) -> Option<usize> {
    let there = text.get(at..at.checked_add(own.len())?)?;
    let is_it = there.eq_ignore_ascii_case(own.as_bytes());
    is_it.then_some(at + own.len())
}

/// Where the backslashes from here on end, however they are written.
fn after_backslashes(text: &[u8], from: usize) -> usize {
    let mut at = from;
    for _ in 0..BACKSLASHES_MAX {
        match literal(b"\\", text, at).or_else(|| encoded_backslash(text, at)) {
            Some(behind) => at = behind,
            None => break,
        }
    }
    at
}

/// What comes behind the backslashes of an escape: `n`, `u00e4`, `u{e4}`, `xe4`, `U000000e4`.
fn escaped(letter: char, own: &[u8], text: &[u8], at: usize) -> Option<usize> {
    let short: &[u8] = match letter {
        '\n' => b"n",
        '\r' => b"r",
        '\t' => b"t",
        '\u{8}' => b"b",
        '\u{c}' => b"f",
        '\0' => b"0",
        '\u{1b}' => b"e",
        _ => b"",
    };
    if !short.is_empty()
        && let Some(end) = literal(short, text, at)
    {
        return Some(end);
    }
    let number = u32::from(letter);
    let mut pair = [0; 2];
    let pieces = letter.encode_utf16(&mut pair).iter();
    let in_pieces = in_row(pieces.map(|unit| format!("u{unit:04x}")), text, at);
    let in_bytes = || in_row(own.iter().map(|byte| format!("x{byte:02x}")), text, at);
    in_pieces
        .or_else(in_bytes)
        .or_else(|| literal_in_any_case(&format!("u{{{number:x}}}"), text, at))
        .or_else(|| literal_in_any_case(&format!("U{number:08x}"), text, at))
        .or_else(|| {
            let is_byte = number <= 0xff;
            is_byte.then(|| literal_in_any_case(&format!("x{number:02x}"), text, at))?
        })
}

/// Escapes one after the other; the backslashes of the first one are passed already.
fn in_row(pieces: impl Iterator<Item = String>, text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    for (place, piece) in pieces.enumerate() {
        if place > 0 {
            let behind = after_backslashes(text, at);
            if behind == at {
                return None;
            }
            at = behind;
        }
        at = literal_in_any_case(&piece, text, at)?;
    }
    Some(at)
}

/// As in an address: `%2F`, or again `%252F`.
fn in_address(own: &[u8], text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    for byte in own {
        at = literal(b"%", text, at)?;
        let mut again = at;
        while let Some(behind) = literal(b"25", text, again) {
            again = behind;
        }
        at = if *byte == b'%' && again > at {
            again
        } else {
            literal_in_any_case(&format!("{byte:02x}"), text, again)?
        };
    }
    Some(at)
}

/// As on a page of HTML: `&lt;`, `&#60;`, `&#x3c;`, or again `&amp;lt;`.
fn on_page(letter: char, text: &[u8], from: usize) -> Option<usize> {
    let mut at = literal(b"&", text, from).or_else(|| {
        let behind = after_backslashes(text, from);
        literal(b"u0026", text, behind).filter(|_| behind > from)
    })?;
    let begin = at;
    while let Some(behind) = literal(b"amp;", text, at) {
        at = behind;
    }
    if letter == '&' && at > begin {
        return Some(at);
    }
    if let Some(number) = literal(b"#", text, at) {
        let value = u32::from(letter);
        let (digits, own) = match literal_in_any_case("x", text, number) {
            Some(digits) => (digits, format!("{value:x};")),
            None => (number, format!("{value};")),
        };
        let rest = text.get(digits..)?;
        let zeros = rest.iter().take_while(|byte| **byte == b'0').count();
        return literal_in_any_case(&own, text, digits + zeros);
    }
    let name: &[u8] = match letter {
        '<' => b"lt;",
        '>' => b"gt;",
        '"' => b"quot;",
        '\'' => b"apos;",
        _ => return None,
    };
    literal(name, text, at)
}
