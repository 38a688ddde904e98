//! The forms in which a secret may come back: as it is, in JSON, on a page, in an address, in base64, and
//! line by line.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::REDACTED;

/// A shorter value of a variable is no secret: it would be found everywhere.
pub const SECRET_CHARS_MIN: usize = 4;
/// A shorter piece of base64 may be part of any word.
const BASE64_CHARS_MIN: usize = 10;
/// A number with fewer digits may be a port, a year or a count.
const NUMBER_CHARS_MIN: usize = 8;

/// A shorter line of a secret of several is no secret by itself.
const LINE_CHARS_MIN: usize = 8;

/// How often a secret may be escaped as a text of JSON.
const ESCAPED_MAX: usize = 3;

/// Values of variables that are settings, whatever their names: words that any text has.
const SETTINGS: &[&str] = &[
    "auto",
    "critical",
    "debug",
    "default",
    "dev",
    "development",
    "disabled",
    "enabled",
    "error",
    "false",
    "http",
    "https",
    "info",
    "json",
    "local",
    "localhost",
    "none",
    "normal",
    "null",
    "prod",
    "production",
    "quiet",
    "stage",
    "staging",
    "stdio",
    "test",
    "text",
    "trace",
    "true",
    "verbose",
    "warn",
    "warning",
];

/// Whether the value of a variable is a secret.
fn is_secret(value: &str) -> bool {
    let is_number = value.trim().parse::<f64>().is_ok();
    let is_setting = SETTINGS.contains(&value.to_ascii_lowercase().as_str());
    let is_word = is_setting || is_number && value.len() < NUMBER_CHARS_MIN;
    let is_short = value.trim().chars().count() < SECRET_CHARS_MIN;
    // Or what stands in the place of a secret would have one.
    let is_in_place = REDACTED.contains(value);
    ![is_word, is_short, is_in_place].contains(&true)
}

/// Whether it is a secret that could stand as a number in JSON.
pub(super) fn is_long_number(value: &str) -> bool {
    is_secret(value) && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds every form of a value, if it is a secret.
pub(super) fn add(value: &str, forms: &mut BTreeSet<String>) {
    let lines = value.lines().map(str::trim);
    let lines = lines.filter(|line| line.chars().count() >= LINE_CHARS_MIN);
    for value in [value, value.trim()].into_iter().chain(lines) {
        if !is_secret(value) {
            continue;
        }
        // JSON in JSON in JSON, where the text around it is none that could be looked into.
        let mut new = vec![value.to_owned()];
        for _ in 0..ESCAPED_MAX {
            let again = new.last().map(|last| in_json(last)).unwrap_or_default();
            new.push(again);
        }
        new.extend(in_ascii(value));
        new.push(in_page(value));
        new.push(in_page(&in_json(value)));
        new.extend([true, false].map(|is_upper| in_address(value, is_upper)));
        new.push(in_address(value, true).replace("%20", "+"));
        new.extend(in_base64(value));
        new.retain(|form| !REDACTED.contains(form.as_str()));
        forms.extend(new);
    }
}

/// As in a text of JSON, without its quotes.
fn in_json(value: &str) -> String {
    let text = serde_json::Value::from(value).to_string();
    let inside = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or(value).to_owned()
}

/// As other languages quote it: without what is not ASCII, and with the quotes that they have.
fn in_ascii(value: &str) -> [String; 4] {
    let debug = format!("{value:?}");
    let debug = debug.get(1..debug.len().saturating_sub(1));
    let mut ascii = String::with_capacity(value.len());
    let mut pair = [0; 2];
    for letter in in_json(value).chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut pair) {
                // Writing to a text cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    let single = in_json(value).replace("\\\"", "\"");
    [
        debug.unwrap_or(value).to_owned(),
        ascii,
        single.replace('\'', "\\'"),
        single,
    ]
}

/// As on a page of HTML.
fn in_page(value: &str) -> String {
    let value = value.replace('&', "&amp;");
    let value = value.replace('<', "&lt;").replace('>', "&gt;");
    value.replace('"', "&quot;").replace('\'', "&#39;")
}

fn in_address(value: &str, is_upper: bool) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = if is_upper {
                write!(text, "%{byte:02X}")
            } else {
                write!(text, "%{byte:02x}")
            };
        }
    }
    text
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
