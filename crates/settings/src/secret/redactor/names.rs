//! Names of fields of JSON whose values are secrets.
//!
//! Fewer than those of variables and headers ([`is_secret_name`]): arguments of tools have names such as
//! `key`, `page_token` or `idempotency_key`, whose values are what a test is about.

use crate::secret::{is_secret_name, words_of};
use crate::text::has_word;

/// Words beside `token` that make it none of a user's.
const OTHER_TOKENS: &str = "\
    page next previous prev continuation progress sync max min stop start end type count limit budget \
    symbol";
/// Words beside `key` that make it a secret.
const SECRET_KEYS: &str = "\
    api apikey secret private access auth authentication encryption signing master service ssh account \
    license subscription";
/// Parts of names whose values are secrets, however short.
const ALWAYS: &str =
    "authorization bearer cookie secret password passwd passphrase credential apikey pwd jwt";
/// Names of folders, by which some mean a password.
const FOLDERS: &str = "pwd oldpwd";
/// A token is longer than what a tool takes for the name of something.
const TOKEN_CHARS_MIN: usize = 8;
/// The ids of sessions that let anybody in are long.
const SESSION_CHARS_MIN: usize = 16;

/// Whether this value under this name is a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    if value.is_empty() || !is_secret_name(name) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    // Where a process is and was.
    if has_word(FOLDERS, &lower) && is_path(value) {
        return false;
    }
    if ALWAYS.split(' ').any(|part| lower.contains(part)) {
        return true;
    }
    let words = words_of(name);
    let has = |word: &str| words.iter().any(|own| own == word);
    let has_one_of = |list: &str| words.iter().any(|word| has_word(list, word));
    if has("session") || lower.contains("sess") {
        return value.len() >= SESSION_CHARS_MIN;
    }
    if has("key") || has("keys") {
        return has_one_of(SECRET_KEYS) && value.len() >= TOKEN_CHARS_MIN;
    }
    let is_token = has("token") || lower.ends_with("token");
    let is_password = words.last().is_some_and(|word| word == "pass");
    is_password || is_token && !has_one_of(OTHER_TOKENS) && value.len() >= TOKEN_CHARS_MIN
}

fn is_path(value: &str) -> bool {
    let is_drive = |rest: &str| rest.starts_with([':', '\\']);
    value.starts_with(['/', '~']) || value.get(1..).is_some_and(is_drive)
}
