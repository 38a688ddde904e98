//! What an argument stands for, by its name: values of some kinds could do harm.
//!
//! Generated arguments name no living process, no path outside a fresh temporary folder, no command and no host but
//! this machine. Whatever a value comes from, [`Meaning::permits`] is asked before it is sent.

use std::path::Component;

use crate::prelude::*;

/// From here on no system numbers its processes. The numbers below the end are generated.
const NO_PROCESSES: std::ops::Range<i64> = 0x4000_0000..0x7fff_ffff;
/// The host and port of generated addresses: nothing listens at `discard`.
pub const ADDRESS: &str = "http://127.0.0.1:9/";
/// The last part of a generated path; [`Folder`](super::Folder) has such a file.
pub const FILE: &str = "text";

const PROCESSES: &str = "pid pids ppid tgid process processes proc procs";
const FOLDERS: &str = "dir dirs directory directories folder folders cwd workspace";
const FILES: &str = "path paths file files filename filenames filepath filepaths";
const ADDRESSES: &str = "url urls uri uris href link endpoint webhook callback website";
const HOSTS: &str = "host hosts hostname hostnames domain domains ip ips";
const COMMANDS: &str = "command commands cmd shell script bash powershell argv exec";
/// Switches that keep a tool from writing: they are always on.
const SAFEGUARDS: &str =
    "dry dryrun preview simulate simulated simulation readonly noop peek keep preserve";

/// What an argument stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The number of a process.
    Process,
    Folder,
    /// A file, or any path.
    File,
    /// A URL.
    Address,
    /// A host or its address.
    Host,
    Command,
    /// Anything else.
    Other,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is made here.
    Made,
    /// The schema lists it, as one of those that there are.
    Listed,
    /// The schema suggests it: a default or an example.
    Suggested,
}

/// Whether a yes or no keeps a tool from writing: `dry_run`, `no_delete`, `check_only`.
pub fn is_safeguard(name: &str) -> bool {
    let words = tokens(name);
    let is_first = |list| words.first().is_some_and(|word| has_word(list, word));
    let is_last = |list| words.last().is_some_and(|word| has_word(list, word));
    let is_read_only = words.windows(2).any(|pair| pair == ["read", "only"]);
    is_first(SAFEGUARDS)
        || is_read_only
        || (is_first("check validate plan test") && is_last("only"))
}

impl Meaning {
    /// By the name of the property at a place, and by what is said of it.
    pub fn of(requirements: &Requirements<'_>) -> Self {
        match Self::by_name(&requirements.place) {
            Self::Other if requirements.texts(&["description"]).any(is_of_path) => Self::File,
            meaning => meaning,
        }
    }

    /// By the name of the property at a place alone.
    fn by_name(place: &str) -> Self {
        let is_index = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let name = place.rsplit('/').find(|part| !is_index(part));
        let words = tokens(name.unwrap_or_default());
        let [before @ .., last] = words.as_slice() else {
            return Self::Other;
        };
        let is_number = has_word("id ids number numbers identifier", last);
        let last = match before.last() {
            Some(word) if is_number && has_word(PROCESSES, word) => word,
            _ => last,
        };
        let lists = [
            (PROCESSES, Self::Process),
            (FOLDERS, Self::Folder),
            (FILES, Self::File),
            (ADDRESSES, Self::Address),
            (HOSTS, Self::Host),
            (COMMANDS, Self::Command),
        ];
        lists
            .into_iter()
            .find(|(list, _)| has_word(list, last))
            .map_or(Self::Other, |(_, meaning)| meaning)
    }

    /// The texts that come before any other, without or with a word to be found again.
    pub fn texts(self, folder: &Path, token: Option<&str>, variants: usize) -> Vec<String> {
        let token = token.filter(|token| is_word(token));
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let several = |first: String| {
            let others = (1..variants).map(|number| format!("{first}{number}"));
            std::iter::once(first.clone()).chain(others).collect()
        };
        match self {
            Self::Process => numbers(variants).map(|number| number.to_string()).collect(),
            Self::Folder => {
                let folder = folder.to_string_lossy().into_owned();
                let others = (1..variants).map(|number| path(&number.to_string()));
                let first = token.map_or(folder, path);
                std::iter::once(first).chain(others).collect()
            }
            Self::File => several(path(token.unwrap_or(FILE))),
            Self::Address => several(format!("{ADDRESS}{}", token.unwrap_or_default())),
            Self::Host => {
                let others = (2..250.min(variants)).map(|number| format!("127.0.0.{number}"));
                ["localhost", "127.0.0.1"]
                    .map(str::to_owned)
                    .into_iter()
                    .chain(others)
                    .collect()
            }
            Self::Command | Self::Other => Vec::new(),
        }
    }

    /// The only numbers to send, where not all are as good.
    pub fn numbers(self, variants: usize) -> Option<Vec<Value>> {
        (self == Self::Process).then(|| numbers(variants).map(Value::from).collect())
    }

    /// Whether a value may be sent.
    pub fn permits(self, value: &Value, origin: Origin, folder: &Path) -> bool {
        match value {
            Value::String(text) => self.permits_text(text, origin, folder),
            Value::Number(number) => {
                self != Self::Process
                    || number
                        .as_i64()
                        .is_some_and(|number| NO_PROCESSES.contains(&number))
            }
            Value::Array(items) => items.iter().all(|item| self.permits(item, origin, folder)),
            Value::Object(members) => members.iter().all(|(name, member)| {
                let switched_off = *member == false && is_safeguard(name);
                !switched_off && Self::by_name(name).permits(member, origin, folder)
            }),
            Value::Null | Value::Bool(_) => true,
        }
    }

    fn permits_text(self, text: &str, origin: Origin, folder: &Path) -> bool {
        let path = Path::new(text);
        let is_climbing = path
            .components()
            .any(|component| component == Component::ParentDir);
        let is_within = path.starts_with(folder) && !is_climbing;
        let is_suggested = origin == Origin::Suggested;
        match self {
            Self::Process => {
                let number: Option<i64> = text.parse().ok();
                number.is_some_and(|number| NO_PROCESSES.contains(&number))
            }
            Self::Folder | Self::File => {
                let is_name = !text.contains(['/', '\\']) && is_harmless(text);
                is_within || (origin == Origin::Listed && is_name)
            }
            Self::Address => text.contains("://") && is_harmless(text),
            Self::Host => is_loopback(text),
            Self::Command => !is_suggested && is_harmless(text),
            Self::Other => is_within || (is_harmless(text) && !(is_suggested && is_host(text))),
        }
    }
}

/// Whether a token can be a part of a path, an address or a host.
pub fn is_word(token: &str) -> bool {
    let mut characters = token.chars();
    characters.all(|character| character.is_ascii_alphanumeric() || character == '-')
}

/// Numbers that no process has.
fn numbers(variants: usize) -> impl Iterator<Item = i64> {
    NO_PROCESSES.rev().take(variants.max(1))
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

/// Whether a text looks like a host or a mail address elsewhere: `db.example.com`, `me@example.com`.
fn is_host(text: &str) -> bool {
    let end = text.find(['/', ':', '?', '#']).unwrap_or(text.len());
    let first = text.get(..end).unwrap_or(text);
    let host = first.rsplit('@').next().unwrap_or(first);
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let mut bytes = label.bytes();
        !label.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_letters =
        |label: &&str| label.len() > 1 && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let is_name =
        labels.len() > 1 && labels.iter().all(is_label) && labels.last().is_some_and(is_letters);
    (is_address || is_name || first.contains('@')) && !is_loopback(host)
}

/// Whether a text names neither a path of this system nor another host.
fn is_harmless(text: &str) -> bool {
    let mut parts = text.split(['/', '\\']);
    let is_drive = text.as_bytes().get(1) == Some(&b':')
        && matches!(text.as_bytes().get(2), Some(b'/' | b'\\') | None)
        && text.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_path = text.starts_with(['/', '\\', '~', '$', '%'])
        || is_drive
        || text.starts_with("file:")
        || text.starts_with("mailto:")
        || parts.any(|part| part == "..");
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
    is_name || address.is_some_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_say_what_an_argument_stands_for() {
        let of = Meaning::by_name;
        for (place, meaning) in [
            ("/pid", Meaning::Process),
            ("/processId", Meaning::Process),
            ("/process_ids/0", Meaning::Process),
            ("/proc_number", Meaning::Process),
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
        for (name, expected) in [
            ("dry_run", true),
            ("dryRun", true),
            ("check_only", true),
            ("is_read_only", true),
            ("dryer", false),
            ("only_open", false),
        ] {
            assert_eq!(is_safeguard(name), expected, "{name}");
        }
    }

    #[test]
    fn values_that_lead_elsewhere_are_not_sent() {
        use Meaning::{Address, Command, File, Host, Other, Process};
        use Origin::{Listed, Made, Suggested};
        let folder = Path::new("/tmp/mcprove-7");
        for (meaning, origin, value, expected) in [
            (Other, Suggested, json!("text"), true),
            (Other, Suggested, json!("owner/repository"), true),
            (Other, Made, json!("/a/b"), false),
            (Other, Suggested, json!("/etc/passwd"), false),
            (Other, Suggested, json!("~/notes"), false),
            (Other, Suggested, json!(".."), false),
            (Other, Suggested, json!("a/../b"), false),
            (Other, Suggested, json!("$HOME/.ssh/id"), false),
            (Other, Suggested, json!("C:\\Windows"), false),
            (Other, Suggested, json!("C:/Windows"), false),
            (Other, Suggested, json!("\\\\server\\share"), false),
            (Other, Suggested, json!("file:/etc/passwd"), false),
            (Other, Suggested, json!("https://example.com/a"), false),
            (Other, Suggested, json!("db.example.com"), false),
            (Other, Suggested, json!("10.0.0.1:80"), false),
            (Other, Suggested, json!("me@example.com"), false),
            (Other, Suggested, json!("git@example.com:a/b.git"), false),
            (Other, Suggested, json!("a 1.5 b"), true),
            (Other, Made, json!("user@mail.localhost"), true),
            (Other, Listed, json!("created.desc"), true),
            (Other, Listed, json!("https://example.com"), false),
            (Other, Made, json!("/tmp/mcprove-7/text"), true),
            (Other, Made, json!("http://user@127.0.0.1:80/a"), true),
            (Address, Suggested, json!("http://[::1]:80/"), true),
            (Address, Suggested, json!("www.example.com"), false),
            (Address, Suggested, json!("//example.com/x"), false),
            (Address, Made, json!("text"), false),
            (Host, Suggested, json!("example.com"), false),
            (Host, Made, json!("a.a.com"), false),
            (Host, Made, json!("::ffff:127.0.0.2"), true),
            (Host, Suggested, json!("localhost:80"), true),
            (Process, Made, json!(1), false),
            (Process, Made, json!(4_194_304), false),
            (Process, Listed, json!([1, 2]), false),
            (Process, Made, json!("0"), false),
            (Process, Made, json!(2_147_483_646), true),
            (Command, Suggested, json!("ls -l"), false),
            (Command, Listed, json!("status"), true),
            (Command, Made, json!("text"), true),
            (File, Suggested, json!("notes.txt"), false),
            (File, Listed, json!("notes.txt"), true),
            (File, Listed, json!("/etc/passwd"), false),
            (File, Made, json!("/a"), false),
            (File, Made, json!("/tmp/mcprove-7/../x"), false),
            (File, Made, json!("/tmp/mcprove-7/text"), true),
            (Other, Suggested, json!({"pid": 1}), false),
            (Other, Suggested, json!({"dry_run": false}), false),
            (Other, Suggested, json!([{"host": "example.com"}]), false),
            (Other, Suggested, json!(7), true),
        ] {
            let permitted = meaning.permits(&value, origin, folder);
            assert_eq!(permitted, expected, "{meaning:?} {origin:?} {value}");
        }
    }
}
