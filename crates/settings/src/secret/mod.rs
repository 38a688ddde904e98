//! What must not be written down or shown: the same rules for files, reports and messages.
//!
//! Here is what shows by its name or its looks that it is a secret. A [`Redactor`] takes these out, and the values that
//! are known to be secrets; [`sources`] says which are. Sinks redact while they write, so that no file has a secret at
//! any moment.

mod forms;
mod known;
mod redactor;
mod sources;
mod spelling;
mod stream;
mod words;

use known::replaced;

use crate::prelude::*;

pub use forms::SECRET_CHARS_MIN;
pub use redactor::fits;
pub use redactor::{PLACES_MAX, Redacted, Redactor};
pub use sources::{inherited, is_path};
pub use sources::{
    is_given_secret, secrets_of_arguments, secrets_of_named, secrets_of_words, within,
};
pub use stream::StreamRedactor;

/// What stands in the place of a secret.
pub const REDACTED: &str = "<redacted>";

/// Parts of the names of headers, variables and flags whose values are secrets.
const SECRET_WORDS: &str = "authorization bearer cookie token key secret password passwd passphrase credential sessionid sessid";

/// Whole words in such names: as parts of others they mean nothing.
const WHOLE_SECRET_WORDS: &str = "pwd pw jwt csrf xsrf creds pgpass webhook";

/// Words that such names end with: before others they mean nothing.
const LAST_SECRET_WORDS: &str = "pass auth pat salt";

/// Further names of secrets among the parameters of an address.
const SECRET_PARAMETERS: &str = "sig signature code";

/// The header of the protocol itself. Whoever looks for what happened in a session needs it, and it
/// lets nobody in by itself.
const SESSION_HEADER: &str = "mcp-session-id";

/// How the tokens of common services begin. They are secrets whatever their name.
pub(crate) const SECRET_PREFIXES: &str = "\
    sk- sk_live_ sk_test_ rk_live_ rk_test_ AIza ghp_ gho_ ghs_ github_pat_ glpat- xoxb- xoxp- eyJ AKIA \
    hvs.";

/// Tokens of services are longer than this.
const TOKEN_CHARS_MIN: usize = 8;
/// The names of users in addresses are mostly shorter.
const USER_KEY_CHARS_MIN: usize = 16;

/// Whether what has this name is a secret.
///
/// ```
/// use mcprove_settings::secret::is_secret_name;
///
/// assert!(is_secret_name("dbPass") && is_secret_name("X-Csrf") && is_secret_name("SESSION_ID"));
/// assert!(!is_secret_name("compass") && !is_secret_name("pass-through"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if SECRET_WORDS.split(' ').any(|word| lower.contains(word)) {
        return true;
    }
    let words = words_of(name);
    let ends_with_secret = words
        .last()
        .is_some_and(|word| has_word(LAST_SECRET_WORDS, word));
    let has_session_id = words.windows(2).any(|pair| pair == ["session", "id"]);
    ends_with_secret
        || has_session_id && lower != SESSION_HEADER
        || words.iter().any(|word| has_word(WHOLE_SECRET_WORDS, word))
}

/// Whether a text begins as the tokens of common services do.
fn has_secret_prefix(text: &str) -> bool {
    SECRET_PREFIXES
        .split(' ')
        .any(|prefix| text.starts_with(prefix))
}

/// The words of a name, in lower case: parted by what is no letter or digit, and where a capital
/// letter begins the next one.
pub(crate) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for character in name.chars() {
        let is_part = character.is_alphanumeric();
        if !is_part || was_small && character.is_uppercase() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (is_part, words.last_mut()) {
            word.push(character.to_ascii_lowercase());
        }
        was_small = is_part && !character.is_uppercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value shows by itself that it is a secret.
fn is_secret_value(value: &str) -> bool {
    let value = value.trim_start_matches(['"', '\'']);
    value.len() >= TOKEN_CHARS_MIN && has_secret_prefix(value)
}

/// Whether a value is a secret by its name, or shows it by itself.
fn is_named_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || is_secret_value(value)
}

/// The value of a header or variable, unless it is a secret.
pub fn redact_value(name: &str, value: &str) -> String {
    if is_named_secret(name, value) {
        REDACTED.to_owned()
    } else {
        redact_text(value)
    }
}

/// A command line without the values of flags, variables and headers that are secrets.
pub fn redact_arguments(arguments: &[String]) -> Vec<String> {
    let found = in_words(arguments.iter().map(String::as_str));
    arguments
        .iter()
        .zip(found)
        .map(|(word, found)| without(word, found))
        .collect()
}

/// A text that may hold a whole command line, or addresses, without the secrets in it.
pub fn redact_text(text: &str) -> String {
    without(text, in_text(text))
}

/// A text without the passwords and the secret parameters of the address in it.
pub fn redact_urls(text: &str) -> String {
    without(text, in_address(text))
}

fn without(text: &str, found: Vec<Range<usize>>) -> String {
    replaced(text, found).unwrap_or_else(|| text.to_owned())
}

fn shifted(ranges: Vec<Range<usize>>, by: usize) -> impl Iterator<Item = Range<usize>> {
    ranges
        .into_iter()
        .map(move |range| range.start + by..range.end + by)
}

/// Where the secrets are in a text that may hold a whole command line, or addresses.
fn in_text(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let words = text.split_inclusive(char::is_whitespace).map(|piece| {
        let begin = at;
        at += piece.len();
        (begin, piece.trim_end())
    });
    let words: Vec<(usize, &str)> = words.filter(|(_, word)| !word.is_empty()).collect();
    if words.len() < 2 {
        return in_pair(text).map_or_else(|| in_address(text), |value| vec![value]);
    }
    let found = in_words(words.iter().map(|(_, word)| *word)).zip(&words);
    found
        .flat_map(|(found, (begin, _))| shifted(found, *begin))
        .collect()
}

/// Where the secrets are in each word of a command line.
#[allow(clippy::single_range_in_vec_init, reason = "the range of a whole word")]
fn in_words<'a>(words: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Vec<Range<usize>>> {
    let mut is_value_secret = false;
    // With which mark a secret of several words ends.
    let mut quote = None;
    words.map(move |word| {
        let whole = vec![0..word.len()];
        if let Some(mark) = quote {
            quote = (!word.contains(mark)).then_some(mark);
            return whole;
        }
        let is_flag = word.starts_with('-');
        if is_value_secret && !is_flag {
            is_value_secret = is_scheme(word);
            return if is_value_secret { Vec::new() } else { whole };
        }
        is_value_secret = is_scheme(word);
        if let Some(range) = in_pair(word) {
            let value = &word[range.clone()];
            let mark = ['\'', '"']
                .into_iter()
                .find(|mark| value.starts_with(*mark));
            quote = mark.filter(|mark| value.matches(*mark).count() == 1);
            return vec![range];
        }
        if is_secret_value(word) {
            return whole;
        }
        let is_name = !word.contains(char::is_whitespace) && is_secret_name(word);
        is_value_secret |= is_name && (is_flag || word.ends_with(':'));
        in_text(word)
    })
}

/// Whether a word announces credentials, as in the header `Authorization`.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Where the secret is in `--token=x`, `API_KEY=x` and `Authorization: x`; none if there is none.
fn in_pair(word: &str) -> Option<Range<usize>> {
    let pairs = [word.split_once('='), word.split_once(": ")];
    let mut pairs = pairs.into_iter().flatten();
    let (name, value) = pairs.find(|(name, _)| is_word(name))?;
    is_named_secret(name, value).then(|| word.len() - value.len()..word.len())
}

/// Whether a text could be the name of a flag, a variable or a header.
fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Where the password and the secret parameters are of the address in a text.
fn in_address(text: &str) -> Vec<Range<usize>> {
    let Some((_, rest)) = text.split_once("://") else {
        return Vec::new();
    };
    let (authority, path) = rest.split_at(authority_end(rest));
    let mut found = Vec::new();
    if let Some((user, _)) = authority.rsplit_once('@') {
        match user.split_once(':') {
            Some((name, _)) if !is_secret_value(name) => found.push(name.len() + 1..user.len()),
            None if !is_secret_value(user) && !is_user_key(user) => {}
            _ => found.push(0..user.len()),
        }
    }
    // A fragment has parameters too: some services put a token there.
    let query = path.find(['?', '#']).map_or(path.len(), |at| at + 1);
    let mut at = authority.len() + query;
    for part in path[query..].split_inclusive(['&', '#', ';']) {
        let parameter = part.trim_end_matches(['&', '#', ';']);
        if let Some((name, value)) = parameter.split_once('=')
            && (is_named_secret(name, value)
                || has_word(SECRET_PARAMETERS, &name.to_ascii_lowercase()))
        {
            let end = at + parameter.len();
            found.push(end - value.len()..end);
        }
        at += part.len();
    }
    shifted(found, text.len() - rest.len()).collect()
}

/// Whether a user without a password is a key, as some services have it.
fn is_user_key(user: &str) -> bool {
    user.len() >= USER_KEY_CHARS_MIN && user.bytes().any(|byte| byte.is_ascii_digit())
}

/// Where the user, the password and the host of an address end. A password may have marks that should be encoded.
fn authority_end(rest: &str) -> usize {
    let end = |from: usize| {
        rest.get(from..)
            .unwrap_or_default()
            .find(['/', '?', '#'])
            .map_or(rest.len(), |at| from + at)
    };
    let first = rest.get(..end(0)).unwrap_or(rest);
    let port = first.split_once(':').map(|(_, port)| port);
    let is_password = port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_password || first.contains('@') || first.starts_with('[') {
        return first.len();
    }
    rest.find('@').map_or(first.len(), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-Api-Key",
            "GITHUB_TOKEN",
            "client_secret",
            "DB_PASSWORD",
            "DB_PASS",
            "pass",
            "--pass",
            "pass:",
            "smtpPass",
            "MYSQL_PWD",
            "X-JWT-Assertion",
            "jwt",
            "x-csrf",
            "Session-Id",
            "sessionId",
            "JSESSIONID",
            "X-Other-Session-Id",
            "DB_PW",
            "MY_CREDS",
            "REGISTRY_AUTH",
            "GITHUB_PAT",
            "PGPASS",
            "SIGNING_SALT",
            "SLACK_WEBHOOK",
            "SLACK_WEBHOOK_URL",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "LOG_LEVEL",
            "Accept",
            "PATH",
            "compass",
            "bypass",
            "pass-through",
            "PASS_RATE",
            "passenger",
            "session",
            "session_idle",
            "Mcp-Session-Id",
            "AUTH_MODE",
            "SSH_AUTH_SOCK",
            "PATTERN",
            "SALT_MASTER",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn command_lines_lose_their_secrets() {
        let arguments = [
            "-m",
            "my_mcp",
            "--token",
            "s3cret",
            "--api-key=s3cret",
            "--key",
            "--verbose",
            "API_TOKEN=s3cret",
            "--db=postgres://me:s3cret@db/x?sslmode=off",
            "https://h/p?access_token=s3cret&x=1",
            "print(\"token=1\")",
            "--header",
            "Authorization: Bearer s3cret",
            "exec other --token s3cret -x",
            "NAME=sk-s3cret-s3cret",
            "curl -H 'X: Bearer s3cret'",
        ]
        .map(str::to_owned);
        let redacted = redact_arguments(&arguments);
        assert_eq!(
            redacted,
            [
                "-m",
                "my_mcp",
                "--token",
                REDACTED,
                "--api-key=<redacted>",
                "--key",
                "--verbose",
                "API_TOKEN=<redacted>",
                "--db=postgres://me:<redacted>@db/x?sslmode=off",
                "https://h/p?access_token=<redacted>&x=1",
                "print(\"token=1\")",
                "--header",
                "Authorization: <redacted>",
                "exec other --token <redacted> -x",
                "NAME=<redacted>",
                "curl -H 'X: Bearer <redacted>",
            ]
        );
    }

    #[test]
    fn addresses_lose_their_secrets() {
        for (url, redacted) in [
            ("http://h/p?x=1", "http://h/p?x=1"),
            ("http://me@h/p", "http://me@h/p"),
            ("http://ghp_s3cret00@h/p", "http://<redacted>@h/p"),
            (
                "ws://h?a=1&api_key=s3cret#x",
                "ws://h?a=1&api_key=<redacted>#x",
            ),
            (
                "http://h/#access_token=s3cret&b=2",
                "http://h/#access_token=<redacted>&b=2",
            ),
            ("http://h?q=sk-s3cret-s3cret", "http://h?q=<redacted>"),
            (
                "http://h?sig=s3cret&code=x1",
                "http://h?sig=<redacted>&code=<redacted>",
            ),
            ("https://0123456789abcdef@h/1", "https://<redacted>@h/1"),
            (
                "https://some-long-user-name@h/1",
                "https://some-long-user-name@h/1",
            ),
        ] {
            assert_eq!(redact_urls(url), redacted);
        }
    }
}
