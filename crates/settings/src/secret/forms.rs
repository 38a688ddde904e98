//! What is a secret, and the forms in which it may come back: as it is, line by line, and in base64.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::REDACTED;
use super::words::is_of_formats;
use crate::prelude::*;

/// A shorter value of a variable is no secret: it would be found everywhere.
pub const SECRET_CHARS_MIN: usize = 4;
/// A shorter piece of base64 may be part of any word.
const BASE64_CHARS_MIN: usize = 10;
/// A number with fewer digits may be a port, a year or a count.
const NUMBER_CHARS_MIN: usize = 8;

/// A shorter line of a secret of several is no secret by itself.
const LINE_CHARS_MIN: usize = 8;

/// Values of variables that are settings, whatever their names: words that any text has.
const SETTINGS: &str = "\
    auto critical debug default dev development disabled enabled error false http https info json local \
    localhost none normal null prod production quiet stage staging stdio test text trace true verbose \
    warn warning";

/// Whether the value of a variable is a secret.
pub fn is_secret(value: &str) -> bool {
    let is_number = value.trim().parse::<f64>().is_ok();
    let is_setting = has_word(SETTINGS, &value.to_ascii_lowercase());
    let is_word = is_setting || is_number && value.len() < NUMBER_CHARS_MIN;
    let is_short = value.trim().chars().count() < SECRET_CHARS_MIN;
    // Or what stands in the place of a secret would have one.
    let is_in_place = REDACTED.contains(value);
    ![is_word, is_short, is_in_place, is_of_formats(value)].contains(&true)
}

/// Whether it is a secret that could stand as a number in JSON.
pub fn is_long_number(value: &str) -> bool {
    is_secret(value) && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds every form of a value, if it is a secret. How each of its characters may be written is the business of
/// `spelling`.
pub fn add(value: &str, forms: &mut BTreeSet<String>) {
    let lines = value
        .lines()
        .map(str::trim)
        .filter(|line| line.chars().count() >= LINE_CHARS_MIN);
    for value in [value, value.trim()].into_iter().chain(lines) {
        if is_secret(value) {
            forms.insert(value.to_owned());
            forms.extend(in_base64(value));
        }
    }
}

/// The characters of base64 that a value alone decides, wherever it stands in what is encoded.
fn in_base64(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3_usize {
        let mut bytes = vec![0_u8; before];
        bytes.extend_from_slice(value.as_bytes());
        // The first characters are also of what stands before, the last of what comes after.
        let begin = (before * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        for engine in [&STANDARD, &URL_SAFE] {
            let encoded = engine.encode(&bytes);
            let inside = encoded.get(begin..end).unwrap_or_default();
            if inside.len() >= BASE64_CHARS_MIN {
                forms.push(inside.to_owned());
            }
        }
    }
    forms
}
