//! Which values are secrets: those with names or looks of one, and the passwords within others.
//!
//! | where | what |
//! |---|---|
//! | inherited variables | those with names of secrets, from 8 characters on, and passwords within the others |
//! | variables and headers of a server | those with names or looks of secrets, and passwords within the others |
//! | arguments and addresses | values of flags and parameters with names of secrets, passwords, what looks like a key |
//! | `--env`, `--header` | all of these, and every other value that [`is_given_secret`] |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use super::redactor::names;
use super::{forms, in_address, in_text, in_words, is_named_secret, is_scheme, is_secret_name};
use crate::prelude::*;

/// Shorter values of inherited variables, and of variables without the name of a secret, are no secrets.
const UNNAMED_CHARS_MIN: usize = 8;
/// Where a process is and was, by which shells mean no password.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// A secret, and the words of it that are secrets too, as in `Token 9944b091`: the last one, and others that
/// are no plain words.
fn parts(value: &str) -> Vec<String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let last = words.len().saturating_sub(1);
    let is_secret = |(place, word): &(usize, &&str)| {
        word.chars().count() >= UNNAMED_CHARS_MIN && (*place == last || is_given_secret(word))
    };
    let words = words
        .iter()
        .enumerate()
        .filter(is_secret)
        .map(|(_, word)| (*word).to_owned());
    std::iter::once(value.to_owned()).chain(words).collect()
}

/// Whether an inherited variable is a secret by its name.
pub fn is_inherited_secret(name: &str, value: &str) -> bool {
    !FOLDERS.contains(&name)
        && is_secret_name(name)
        && value.chars().count() >= UNNAMED_CHARS_MIN
        && !is_path(value)
}

/// Whether it is the path of something on this machine.
pub fn is_path(value: &str) -> bool {
    let path = Path::new(value);
    path.is_absolute() && path.exists()
}

/// The secrets in a variable that is no text: the parts of it that are.
fn texts_of(name: &str, value: &[u8]) -> Vec<String> {
    value
        .utf8_chunks()
        .map(|chunk| chunk.valid())
        .filter(|text| is_inherited_secret(name, text))
        .map(str::to_owned)
        .collect()
}

/// The secrets in the environment of this process.
pub fn inherited() -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let Some(value) = value.to_str() else {
            secrets.extend(texts_of(&name, value.as_encoded_bytes()));
            continue;
        };
        if is_inherited_secret(&name, value) {
            secrets.extend(parts(value));
        } else {
            let long = |secret: &String| secret.chars().count() >= UNNAMED_CHARS_MIN;
            secrets.extend(within(value).into_iter().filter(long));
        }
    }
    secrets
}

/// The secrets among the words of a command line.
pub fn secrets_of_words(words: &[String]) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for (word, found) in words.iter().zip(in_words(words.iter().map(String::as_str))) {
        secrets.extend(taken_out(word, found));
        secrets.extend(within(word));
    }
    secrets
}

/// The secrets in a variable or header.
pub fn secrets_of_named(name: &str, value: &str) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    if !is_path(value) && is_named_secret(name, value) {
        secrets.extend(parts(value));
    }
    if name.to_ascii_lowercase().contains("cookie") {
        let values = value.split(';').filter_map(|part| part.split_once('='));
        let values = values.map(|(_, value)| value.trim().to_owned());
        secrets.extend(values.filter(|value| value.len() >= UNNAMED_CHARS_MIN));
    }
    secrets.extend(within(value));
    secrets
}

/// Whether a value that was given on the command line is a secret though its name does not say so: one of at least 8
/// characters that is no number, no known setting, no path or address, and not letters alone.
///
/// ```
/// use mcprove_settings::secret::is_given_secret;
///
/// assert!(is_given_secret("opensesame99") && is_given_secret("wJalrXUtnFEMI/K7MDENG"));
/// assert!(!is_given_secret("production") && !is_given_secret("info,tower=warn"));
/// assert!(!is_given_secret("12345678") && !is_given_secret("http://127.0.0.1:8080/mcp"));
/// assert!(!is_given_secret("/var/lib/data-1") && !is_given_secret("~/.cache/v2"));
/// ```
pub fn is_given_secret(value: &str) -> bool {
    let is_letters = value
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || b" _-.,:;=/*".contains(&byte));
    value.chars().count() >= UNNAMED_CHARS_MIN
        && !is_letters
        && !value.contains("://")
        && !is_like_path(value)
        && value.trim().parse::<f64>().is_err()
        && forms::is_secret(value)
}

/// Whether a value names files or folders, whether they are there or not.
fn is_like_path(value: &str) -> bool {
    let is_drive = |rest: &str| rest.starts_with(":\\") || rest.starts_with(":/");
    value.starts_with(['/', '.', '~', '\\'])
        || value.get(1..).is_some_and(is_drive)
        || Path::new(value).exists()
}

/// The secrets within a value: passwords and parameters of addresses, values after flags and names of secrets, what
/// follows `Bearer` or `Basic`, texts of JSON under names of secrets.
pub fn within(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(json @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(value) {
        within_json(&json, &is_named_secret, &mut found);
        return found;
    }
    let trimmed = value.trim();
    if let Some((scheme, rest)) = trimmed.split_once(' ')
        && is_scheme(scheme)
    {
        let credentials = rest.trim();
        found.push(credentials.to_owned());
        let decoded = STANDARD
            .decode(credentials)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
            found.push(password.to_owned());
        }
        return found;
    }
    // Of several in a row, as in cookies and connection strings.
    for part in value.split([';', ',']).chain([value]) {
        let part = part.trim();
        found.extend(taken_out(part, in_text(part)));
    }
    // There, commas and spaces are of the value.
    let pairs = value.split(';').filter_map(|part| part.split_once('='));
    let pairs = pairs.filter(|(name, _)| is_secret_name(name) && !name.contains("://"));
    found.extend(pairs.map(|(_, value)| value.trim().to_owned()));
    found.extend(quoted(value));
    found.extend(taken_out(trimmed, in_address(trimmed)));
    found
}

/// Values in quotes behind names of secrets: `password='two words'`.
fn quoted(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in value.match_indices('=') {
        let (before, behind) = (&value[..at], &value[at + 1..]);
        let name = before.rsplit([' ', ';', ',', '&']).next();
        let mut marks = ['\'', '"'].into_iter();
        let inside = marks.find_map(|mark| behind.strip_prefix(mark)?.split(mark).next());
        if let (Some(name), Some(inside)) = (name, inside)
            && is_secret_name(name)
        {
            found.push(inside.to_owned());
        }
    }
    found
}

/// The secrets in the arguments of a tool: texts under names such as `password` or `api_key`.
///
/// ```
/// use mcprove_settings::secret::secrets_of_arguments;
///
/// let arguments = serde_json::json!({ "password": "hunter22", "key": "a-name", "page_token": "12345678" });
/// assert_eq!(secrets_of_arguments(&arguments), ["hunter22"]);
/// ```
pub fn secrets_of_arguments(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    within_json(arguments, &names::is_secret, &mut found);
    found
}

/// Texts that are secrets by their names, which those of a list have from the list.
fn within_json(json: &Value, is_secret: &dyn Fn(&str, &str) -> bool, found: &mut Vec<String>) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                let own = match value {
                    Value::Array(values) => values.as_slice(),
                    value => std::slice::from_ref(value),
                };
                let texts = own
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|text| is_secret(name, text));
                found.extend(texts.map(str::to_owned));
                for value in own {
                    within_json(value, is_secret, found);
                }
            }
        }
        Value::Array(values) => {
            let deeper = |value| within_json(value, is_secret, found);
            values.iter().for_each(deeper);
        }
        _ => {}
    }
}

/// The secrets in a text, as they are and as an address means them.
fn taken_out(text: &str, found: Vec<Range<usize>>) -> impl Iterator<Item = String> {
    found.into_iter().flat_map(|range| {
        let secret = &text[range];
        let decoded = percent_decode_str(secret)
            .decode_utf8()
            .ok()
            .filter(|decoded| decoded != secret);
        std::iter::once(secret.to_owned()).chain(decoded.map(Cow::into_owned))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inherited_is_a_secret_by_its_name() {
        assert!(is_inherited_secret("MY_API_KEY", "12345678"));
        assert!(!is_inherited_secret("MY_API_KEY", "1234567"));
        assert!(!is_inherited_secret("HOME", "/places/somebody"));
        assert!(!is_inherited_secret("PWD", "/places/somebody"));
        assert!(!is_inherited_secret("OLDPWD", "/places/somebody"));
        assert!(is_inherited_secret("MYSQL_PWD", "/places/somebody"));
        let parts = texts_of("RAW_API_KEY", b"\xe9Nutf-8Key77\xffshort");
        assert_eq!(parts, ["Nutf-8Key77"]);
    }

    #[test]
    fn passwords_within_values_are_whole() {
        for (value, secret) in [
            (
                "host=h password='my s3cret phrase' db=d",
                "my s3cret phrase",
            ),
            ("Server=h;Password=hun,ter2222;Timeout=3", "hun,ter2222"),
            ("Server=h;Password=two words 9;Timeout=3", "two words 9"),
            ("amqp://u:pa ss word9@h/", "pa ss word9"),
            (r#"{"tokens":["Tr0ub4dorXY"]}"#, "Tr0ub4dorXY"),
            ("https://0123456789abcdef@h/1", "0123456789abcdef"),
        ] {
            let found = within(value);
            assert!(found.iter().any(|it| it == secret), "{value}: {found:?}");
        }
        assert_eq!(within("level=debug;name='two words'"), Vec::<String>::new());
        let shown = super::super::redact_text("host=h password='my s3cret phrase' db=d");
        assert_eq!(
            shown,
            "host=h password=<redacted> <redacted> <redacted> db=d"
        );
    }

    #[test]
    fn a_password_may_have_marks_of_an_address() {
        let found = within("postgres://me:pa/ss#w?rd@db:5432/x");
        assert_eq!(found.first().map(String::as_str), Some("pa/ss#w?rd"));
        assert_eq!(within("http://host:8080/path@x?y=1"), Vec::<String>::new());
    }
}
