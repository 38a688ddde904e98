//! What others may mean by what they write: characters as they are, or escaped in JSON, in the languages of programs, on
//! pages and in addresses, any number of times over.
//!
//! Letters and digits are mostly written as they are, or by their number.

/// A character that may be meant from some place of a text on, and where what stands for it ends.
pub type Reading = (char, usize);

/// No escape has as many backslashes: whoever sends a megabyte of them is not waited for.
const BACKSLASHES: [u8; 65] = [b'\\'; 65];
/// How many backslashes one becomes that is escaped again and again.
const DOUBLED: [usize; 5] = [1, 2, 4, 8, 16];
/// No spelling of one character is longer, unless it was escaped many times.
const SPELLING_BYTES_MAX: usize = 16;
/// Letters behind backslashes, and what they stand for.
const SHORT_ESCAPES: [(u8, char); 7] = [
    (b'n', '\n'),
    (b'r', '\r'),
    (b't', '\t'),
    (b'b', '\u{8}'),
    (b'f', '\u{c}'),
    (b'0', '\0'),
    (b'e', '\u{1b}'),
];
/// What follows `&` on a page.
const PAGE_NAMES: [(&[u8], char); 4] = [
    (b"lt;", '<'),
    (b"gt;", '>'),
    (b"quot;", '"'),
    (b"apos;", '\''),
];

/// Whether an escape may begin with this byte.
const fn is_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&')
}

/// How a text that means these two characters first may begin: a byte, or two where few others do.
pub fn beginnings(one: char, two: char) -> Vec<Vec<u8>> {
    let firsts = first_bytes(one);
    if !one.is_ascii_alphanumeric() {
        return firsts.into_iter().map(|byte| vec![byte]).collect();
    }
    let own = firsts.last().copied().unwrap_or_default();
    let as_it_is = first_bytes(two).into_iter().map(|byte| vec![own, byte]);
    let by_number = [
        (b'\\', &b"\\ux"[..]),
        (b'%', b"0123456789abcdef"),
        (b'&', b"#a"),
    ];
    let by_number = by_number
        .into_iter()
        .flat_map(|(first, seconds)| seconds.iter().map(move |second| vec![first, *second]));
    as_it_is.chain(by_number).collect()
}

/// The bytes that a text may begin with that means this character, its own last.
fn first_bytes(letter: char) -> Vec<u8> {
    let own = own_first(letter);
    (0..=u8::MAX)
        .filter(|byte| *byte != own && may_begin(letter, *byte))
        .chain([own])
        .collect()
}

/// Whether a text that means this character may begin with this byte.
pub fn may_begin(letter: char, byte: u8) -> bool {
    let is_other = match letter {
        ' ' => byte == b'+',
        letter if letter.is_control() => matches!(byte, b' ' | b'+' | b'\r'),
        _ => false,
    };
    is_other || is_escape(byte) || byte == own_first(letter)
}

fn own_first(letter: char) -> u8 {
    let mut bytes = [0; 4];
    letter.encode_utf8(&mut bytes);
    bytes[0]
}

/// Whether what is left at the end of a text may be the beginning of what stands for a character.
pub fn may_be_cut(letter: char, rest: &[u8]) -> bool {
    let is_of_escape = |byte: &u8| {
        is_escape(*byte)
            || byte.is_ascii_alphanumeric()
            || !byte.is_ascii()
            || b"#{;".contains(byte)
    };
    // Letters and digits are rarely escaped: anything else may be, in more ways than are known here.
    let is_escaped = rest.first().is_some_and(|byte| is_escape(*byte))
        && rest.len() <= SPELLING_BYTES_MAX
        && (!letter.is_ascii_alphanumeric() || rest.iter().all(is_of_escape));
    let mut own = [0; 4];
    is_escaped || letter.encode_utf8(&mut own).as_bytes().starts_with(rest)
}

/// Everything that may be meant from here on.
pub fn readings(text: &[u8], from: usize) -> Vec<Reading> {
    let mut found = Vec::new();
    found.extend(joined(text, from, as_it_is));
    let rest = text.get(from..).unwrap_or_default();
    let doubled = DOUBLED
        .iter()
        .filter(|count| rest.starts_with(&BACKSLASHES[..**count]));
    found.extend(doubled.map(|count| ('\\', from + count)));
    match rest {
        _ if rest.starts_with(&BACKSLASHES) => return found,
        [b'+', ..] => found.push((' ', from + 1)),
        [b'\r', b'\n', ..] => found.push(('\n', from + 2)),
        _ => {}
    }
    let behind = after_backslashes(text, from);
    in_address(text, from, &mut found);
    // An ampersand may be written by its number, too.
    let numbered = || literal(b"u0026", text, behind).filter(|_| behind > from);
    on_page(
        text,
        literal(b"&", text, from).or_else(numbered),
        &mut found,
    );
    if behind > from {
        let escaped = joined(text, behind, as_it_is);
        found.extend(escaped.filter(|(letter, _)| !letter.is_ascii_alphanumeric()));
        in_address(text, behind, &mut found);
        on_page(text, literal(b"&", text, behind), &mut found);
        behind_backslashes(text, behind, &mut found);
    }
    found
}

/// A character of the bytes that `byte_at` finds one after the other.
fn joined(
    text: &[u8],
    from: usize,
    byte_at: impl Fn(&[u8], usize) -> Option<(u8, usize)>,
) -> Option<Reading> {
    let (first, mut at) = byte_at(text, from)?;
    if first.is_ascii() {
        return Some((char::from(first), at));
    }
    let mut bytes = vec![first];
    // UTF-8 says in the first byte how many follow.
    for _ in 1..first.leading_ones().min(4) {
        let (byte, end) = byte_at(text, at)?;
        bytes.push(byte);
        at = end;
    }
    let letter = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some((letter, at))
}

fn as_it_is(text: &[u8], at: usize) -> Option<(u8, usize)> {
    Some((*text.get(at)?, at + 1))
}

/// As a byte in an address: `%2F`, or again `%252F`.
fn encoded(text: &[u8], from: usize) -> Option<(u8, usize)> {
    let mut at = literal(b"%", text, from)?;
    while let Some(behind) = literal(b"25", text, at) {
        at = behind;
    }
    Some((u8::try_from(hex(text, at, 2)?).ok()?, at + 2))
}

/// As a byte in the language of a program: `\xc3`.
fn in_program(text: &[u8], from: usize) -> Option<(u8, usize)> {
    let at = literal(b"x", text, after_backslashes(text, from))?;
    Some((u8::try_from(hex(text, at, 2)?).ok()?, at + 2))
}

fn in_address(text: &[u8], from: usize, found: &mut Vec<Reading>) {
    found.extend(joined(text, from, encoded));
    // What it is escaped with may also be what a secret goes on with.
    again('%', (literal(b"%", text, from), b"25"), text, found);
}

/// As on a page of HTML, behind an ampersand: `&lt;`, `&#60;`, `&#x3c;`, or again `&amp;lt;`.
fn on_page(text: &[u8], at: Option<usize>, found: &mut Vec<Reading>) {
    let Some(at) = at else { return };
    let at = again('&', (Some(at), b"amp;"), text, found).unwrap_or(at);
    let rest = text.get(at..).unwrap_or_default();
    let named = PAGE_NAMES.iter().filter(|(name, _)| rest.starts_with(name));
    found.extend(named.map(|(name, letter)| (*letter, at + name.len())));
    let (digits, radix) = match rest {
        [b'#', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'#', digits @ ..] => (digits, 10),
        _ => return,
    };
    let length = digits
        .iter()
        .take_while(|it| it.is_ascii_hexdigit())
        .count();
    let (digits, behind) = digits.split_at(length);
    let letter = number(digits, radix)
        .and_then(char::from_u32)
        .filter(|_| behind.starts_with(b";"));
    found.extend(letter.map(|letter| (letter, text.len() - behind.len() + 1)));
}

/// Adds a character that is escaped with itself, for every number of times. Where the last one ends.
fn again(
    letter: char,
    (mut at, more): (Option<usize>, &[u8]),
    text: &[u8],
    found: &mut Vec<Reading>,
) -> Option<usize> {
    while let Some(behind) = at.and_then(|at| literal(more, text, at)) {
        found.push((letter, behind));
        at = Some(behind);
    }
    at
}

/// What comes behind the backslashes of an escape: `n`, `u00e4`, `u{e4}`, `xe4`, `U000000e4`.
pub fn behind_backslashes(text: &[u8], at: usize, found: &mut Vec<Reading>) {
    let Some(kind) = text.get(at) else { return };
    let short = SHORT_ESCAPES.iter().filter(|(own, _)| own == kind);
    found.extend(short.map(|(_, letter)| (*letter, at + 1)));
    let mut add = |number: Option<u32>, end: usize| {
        let letter = number.and_then(char::from_u32);
        found.extend(letter.map(|letter| (letter, end)));
    };
    match kind.to_ascii_lowercase() {
        b'u' => {
            add(hex(text, at + 1, 8), at + 9);
            add(hex(text, at + 1, 4), at + 5);
            let digits = text.get(at + 2..).unwrap_or_default();
            let length = digits
                .iter()
                .take_while(|it| it.is_ascii_hexdigit())
                .count();
            if text.get(at + 1) == Some(&b'{') && digits.get(length) == Some(&b'}') {
                add(hex(text, at + 2, length), at + 3 + length);
            }
            add_pair(text, at, found);
        }
        b'x' => {
            add(hex(text, at + 1, 2), at + 3);
            found.extend(joined(text, at, in_program));
        }
        _ => {}
    }
}

/// A character that is written as two numbers: `\ud83d\ude00`, behind the backslashes of the first.
fn add_pair(text: &[u8], at: usize, found: &mut Vec<Reading>) {
    let second = after_backslashes(text, at + 5);
    let unit = |at: usize| u16::try_from(hex(text, literal(b"u", text, at)?, 4)?).ok();
    let units = [unit(at), unit(second).filter(|_| second > at + 5)];
    let letters = char::decode_utf16(units.into_iter().flatten());
    if let [Ok(letter)] = letters.collect::<Vec<_>>().as_slice()
        && letter.len_utf16() == 2
    {
        found.push((*letter, second + 5));
    }
}

/// Where the backslashes from here on end, however they are written.
fn after_backslashes(text: &[u8], from: usize) -> usize {
    let mut at = from;
    for _ in BACKSLASHES {
        at = match text.get(at) {
            Some(b'\\') => at + 1,
            Some(b'%') => match encoded(text, at) {
                Some((b'\\', behind)) => behind,
                _ => break,
            },
            _ => break,
        };
    }
    at
}

/// Where a text ends that stands here, in any case.
fn literal(own: &[u8], text: &[u8], at: usize) -> Option<usize> {
    let end = at.checked_add(own.len())?;
    text.get(at..end)?.eq_ignore_ascii_case(own).then_some(end)
}

fn hex(text: &[u8], at: usize, digits: usize) -> Option<u32> {
    number(text.get(at..at.checked_add(digits)?)?, 16)
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}
