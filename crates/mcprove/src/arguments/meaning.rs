//! What an argument stands for, by its name: values of some kinds could do harm.
//!
//! Generated arguments name no living process, no path outside a fresh temporary folder, no command and no host but
//! this machine.

use std::path::Path;

use serde_json::Value;

use super::requirements::Requirements;

/// No system gives a process such a number.
const NO_PROCESS: i64 = 2_147_483_646;
/// The host and port of generated addresses: nothing listens at `discard`.
pub(super) const ADDRESS: &str = "http://127.0.0.1:9/";
/// The last part of a generated path; [`Folder`](super::Folder) has such a file.
pub(super) const FILE: &str = "text";

const PROCESSES: &str = "pid pids ppid tgid";
const FOLDERS: &str = "dir dirs directory directories folder folders cwd workspace";
const FILES: &str = "path paths file files filename filenames filepath filepaths";
const ADDRESSES: &str = "url urls uri uris href link endpoint webhook callback website";
const HOSTS: &str = "host hosts hostname hostnames domain domains ip ips";
const COMMANDS: &str = "command commands cmd shell script bash powershell argv exec";
/// Folders of every system: an example with such a path is not used.
const ROOTS: [&str; 17] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/mnt", "/opt", "/private", "/proc", "/root",
    "/srv", "/sys", "/tmp", "/usr", "/var", "/Users",
];

/// What an argument stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The number of a process.
    Process,
    /// A folder.
    Folder,
    /// A file, or any path.
    File,
    /// A URL.
    Address,
    /// A host or its address.
    Host,
    /// A command.
    Command,
    /// Anything else.
    Other,
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

impl Meaning {
    /// By the name of the property at a place, and by what is said of it.
    pub(super) fn of(place: &str, requirements: &Requirements<'_>) -> Self {
        let is_index = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let name = place.rsplit('/').find(|part| !is_index(part));
        let words = mcprove_score::agent::words::tokens(name.unwrap_or_default());
        let last = words.last().map_or("", String::as_str);
        let before = words.len().checked_sub(2).and_then(|at| words.get(at));
        if is_in(PROCESSES, last) || (last == "id" && before.is_some_and(|word| word == "process"))
        {
            Self::Process
        } else if is_in(FOLDERS, last) {
            Self::Folder
        } else if is_in(FILES, last) {
            Self::File
        } else if is_in(ADDRESSES, last) {
            Self::Address
        } else if is_in(HOSTS, last) {
            Self::Host
        } else if is_in(COMMANDS, last) {
            Self::Command
        } else if requirements
            .descriptions
            .iter()
            .any(|text| is_of_path(text))
        {
            Self::File
        } else {
            Self::Other
        }
    }

    /// The texts that come before any other, without or with a word to be found again.
    pub(super) fn texts(self, folder: &Path, token: Option<&str>) -> Vec<String> {
        let is_word = |token: &&str| {
            let mut characters = token.chars();
            characters.all(|character| character.is_ascii_alphanumeric() || character == '-')
        };
        let token = token.filter(is_word);
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        match self {
            Self::Process => vec![NO_PROCESS.to_string()],
            Self::Folder => vec![token.map_or_else(|| folder.to_string_lossy().into_owned(), path)],
            Self::File => vec![path(token.unwrap_or(FILE))],
            Self::Address => vec![format!("{ADDRESS}{}", token.unwrap_or_default())],
            Self::Host => vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
            Self::Command | Self::Other => Vec::new(),
        }
    }

    /// The number that comes before any other.
    pub(super) fn number(self) -> Option<Value> {
        (self == Self::Process).then(|| NO_PROCESS.into())
    }

    /// Whether one of the values that the schema lists may be sent: a listed command or file name is the server's
    /// own word, a path of this system or another host is not.
    pub(super) fn accepts_listed(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Command | Self::File | Self::Folder, Value::String(text)) => is_harmless(text),
            _ => self.accepts(value),
        }
    }

    /// Whether a value that the schema suggests may be sent.
    pub(super) fn accepts(self, value: &Value) -> bool {
        let is_free = matches!(self, Self::Other | Self::Address | Self::Host);
        match value {
            Value::String(text) => {
                let is_host = self == Self::Host && !is_loopback(text);
                is_free && !is_host && is_harmless(text)
            }
            Value::Number(_) => self != Self::Process,
            Value::Array(items) => items.iter().all(|item| self.accepts(item)),
            Value::Object(members) => members
                .iter()
                .all(|(name, member)| Self::of(name, &Requirements::default()).accepts(member)),
            _ => true,
        }
    }
}

/// Whether a description is about a path.
fn is_of_path(text: &str) -> bool {
    let text = text.get(..300).unwrap_or(text).to_lowercase();
    [
        "path to ",
        "file path",
        "absolute path",
        "path of ",
        "directory to ",
        "path or ",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Whether a text names neither a path of this system nor another host.
pub(super) fn is_harmless(text: &str) -> bool {
    let is_path = text.starts_with('~')
        || text.contains("../")
        || text.contains("..\\")
        || text.get(1..3) == Some(":\\")
        || ROOTS.iter().any(|root| {
            text.strip_prefix(root)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    let is_foreign = text.split_once("://").is_some_and(|(_, rest)| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or(rest);
        let host = authority.rsplit('@').next().unwrap_or(authority);
        !is_loopback(host)
    });
    !is_path && !is_foreign
}

/// Whether a host, with a port or without, is this machine.
fn is_loopback(host: &str) -> bool {
    let host = match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') =>
        {
            name
        }
        _ => host,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_name = host == "localhost" || host.ends_with(".localhost");
    let address: Option<std::net::IpAddr> = host.parse().ok();
    is_name || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_say_what_an_argument_stands_for() {
        let of = |place: &str| Meaning::of(place, &Requirements::default());
        for (place, meaning) in [
            ("/pid", Meaning::Process),
            ("/processId", Meaning::Process),
            ("/filePath", Meaning::File),
            ("/paths/0", Meaning::File),
            ("/working_directory", Meaning::Folder),
            ("/webhook_url", Meaning::Address),
            ("/hostname", Meaning::Host),
            ("/command", Meaning::Command),
            ("/file_type", Meaning::Other),
            ("/message", Meaning::Other),
            ("", Meaning::Other),
        ] {
            assert_eq!(of(place), meaning, "{place}");
        }
    }

    #[test]
    fn suggestions_that_lead_elsewhere_are_not_used() {
        for (meaning, value, expected) in [
            (Meaning::Other, json!("text"), true),
            (Meaning::Other, json!("/owner/repository"), true),
            (Meaning::Other, json!("/etc/passwd"), false),
            (Meaning::Other, json!("~/notes"), false),
            (Meaning::Other, json!("C:\\Windows"), false),
            (Meaning::Other, json!("https://example.com/a"), false),
            (Meaning::Other, json!("http://user@127.0.0.1:80/a"), true),
            (Meaning::Address, json!("http://[::1]:80/"), true),
            (Meaning::Host, json!("example.com"), false),
            (Meaning::Host, json!("localhost:80"), true),
            (Meaning::Process, json!(1), false),
            (Meaning::Command, json!("ls -l"), false),
            (Meaning::File, json!("notes.txt"), false),
            (Meaning::Other, json!({"pid": 1}), false),
            (Meaning::Other, json!([{"host": "example.com"}]), false),
            (Meaning::Other, json!(7), true),
        ] {
            assert_eq!(meaning.accepts(&value), expected, "{meaning:?} {value}");
        }
        for (meaning, value, expected) in [
            (Meaning::Command, json!("status"), true),
            (Meaning::File, json!("notes.txt"), true),
            (Meaning::File, json!("/etc/passwd"), false),
            (Meaning::Host, json!("example.com"), false),
            (Meaning::Process, json!(1), false),
            (Meaning::Other, json!("https://example.com"), false),
        ] {
            let accepted = meaning.accepts_listed(&value);
            assert_eq!(accepted, expected, "{meaning:?} {value}");
        }
    }
}
