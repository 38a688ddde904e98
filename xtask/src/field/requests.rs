//! What a server was asked, and whether it names anything that it should not.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// The tools that write, of the table of labelled tools.
pub struct Writers {
    tools: BTreeSet<(String, String)>,
}

#[derive(Deserialize)]
struct Row {
    server: String,
    label: String,
    tool: Tool,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

impl Writers {
    pub fn read(path: &Path) -> Result<Self> {
        let context = || format!("cannot read {}", path.display());
        let text = std::fs::read_to_string(path).with_context(context)?;
        let mut tools = BTreeSet::new();
        for line in text.lines() {
            let row: Row = serde_json::from_str(line).with_context(context)?;
            if row.label == "writes" {
                tools.insert((row.server, row.tool.name));
            }
        }
        Ok(Self { tools })
    }

    fn has(&self, package: &str, tool: &str) -> bool {
        self.tools.contains(&(package.to_owned(), tool.to_owned()))
    }
}

/// The requests of one command.
#[derive(Default)]
pub struct Requests {
    /// How often each tool was called.
    pub calls: BTreeMap<String, usize>,
    /// Whether the tools were listed.
    pub listed: bool,
    /// What is wrong with them: each kind once for each tool, with the arguments of the first call.
    pub problems: BTreeMap<String, Value>,
}

impl Requests {
    /// Reads what was noted in `folder` of a server of `package`. Arguments may name paths in `allowed`.
    pub fn read(folder: &Path, package: &str, writers: &Writers, allowed: &Path) -> Result<Self> {
        let context = || format!("cannot read {}", folder.display());
        let mut requests = Self::default();
        for entry in std::fs::read_dir(folder).with_context(context)? {
            let bytes = std::fs::read(entry.with_context(context)?.path()).with_context(context)?;
            for line in String::from_utf8_lossy(&bytes).lines() {
                // Input that is broken on purpose, or cut off at the end of the process.
                let Ok(message) = serde_json::from_str::<Value>(line) else {
                    continue;
                };
                requests.add(&message, package, writers, allowed);
            }
        }
        Ok(requests)
    }

    fn add(&mut self, message: &Value, package: &str, writers: &Writers, allowed: &Path) {
        let arguments = &message["params"]["arguments"];
        let name = message["params"]["name"].as_str().unwrap_or_default();
        match message["method"].as_str() {
            Some("tools/list") => self.listed = true,
            Some("tools/call") => {
                *self.calls.entry(name.to_owned()).or_default() += 1;
                if writers.has(package, name) {
                    self.note(format!("called {name}, which writes"), arguments);
                }
            }
            Some("prompts/get") => {}
            _ => return,
        }
        let mut found = Vec::new();
        look("", arguments, allowed, &mut found);
        for problem in found {
            self.note(format!("{name}: {problem}"), arguments);
        }
    }

    fn note(&mut self, problem: String, arguments: &Value) {
        self.problems
            .entry(problem)
            .or_insert_with(|| arguments.clone());
    }
}

/// Linux numbers processes up to here.
const PROCESS_MAX: f64 = 4_194_304.0;

/// Notes addresses other than loopback, processes that there may be, and paths outside of `allowed`.
fn look(key: &str, value: &Value, allowed: &Path, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                look(key, value, allowed, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                look(key, item, allowed, found);
            }
        }
        Value::Number(number)
            if names_process(key) && number.as_f64().is_some_and(|it| it <= PROCESS_MAX) =>
        {
            found.push(format!("{key} is process {number}"));
        }
        Value::String(text) => {
            let number: Option<f64> = text.trim().parse().ok();
            if names_process(key) && number.is_some_and(|number| number <= PROCESS_MAX) {
                found.push(format!("{key} is process {}", text.trim()));
            }
            if let Some(host) = foreign_host(text) {
                found.push(format!("{key} names the host {host}"));
            }
            let path = text.strip_prefix("file://").unwrap_or(text);
            let outside = path.starts_with('/') && !Path::new(path).starts_with(allowed);
            if outside || path.starts_with('~') || path.split('/').any(|part| part == "..") {
                found.push(format!("{key} names the path {path}"));
            }
        }
        _ => {}
    }
}

fn names_process(key: &str) -> bool {
    let key = key.to_lowercase();
    ["pid", "pids"].contains(&key.as_str())
        || key.ends_with("_pid")
        || key.ends_with("_pids")
        || key.starts_with("process")
}

/// The first host in a text that is not this machine.
fn foreign_host(text: &str) -> Option<&str> {
    /// Ends of names that are hosts and hardly anything else.
    const DOMAINS: [&str; 9] = [
        ".com",
        ".org",
        ".net",
        ".io",
        ".dev",
        ".example",
        ".test",
        ".invalid",
        ".internal",
    ];
    let is_part = |character: char| character.is_ascii_alphanumeric() || ".-".contains(character);
    let words = text.split(|character| !is_part(character));
    for word in words.map(|word| word.trim_matches('.')) {
        let is_foreign = match word.parse::<IpAddr>() {
            Ok(address) => !address.is_loopback(),
            Err(_) => DOMAINS
                .iter()
                .any(|domain| word.to_lowercase().ends_with(domain)),
        };
        if is_foreign {
            return Some(word);
        }
    }
    // A name without a dot is a host where a scheme says so.
    let (scheme, rest) = text.split_once("://")?;
    let host = rest.split(|character| !is_part(character)).next()?;
    let is_network = ["http", "https", "ws", "wss", "ftp", "ssh", "git", "tcp"].contains(&scheme);
    let is_local = host.is_empty()
        || host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    (is_network && !is_local).then_some(host)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::look;

    fn found(arguments: &Value) -> String {
        let mut found = Vec::new();
        look("", arguments, Path::new("/tmp/field"), &mut found);
        found.join("; ")
    }

    #[test]
    fn what_is_harmless_is_let_through() {
        for arguments in [
            json!({"pid": 2_147_483_646, "count": 1, "process_id": "x"}),
            json!({"url": "http://127.0.0.1:9/x", "other": "http://localhost/", "v6": "http://[::1]/"}),
            json!({"path": "/tmp/field/work/a.txt", "relative": "a/b.txt", "text": "text"}),
            json!({"uri": "demo://resource/1", "version": "1.2.3", "time": "12:00"}),
        ] {
            assert_eq!(found(&arguments), "", "{arguments}");
        }
    }

    #[test]
    fn addresses_paths_and_process_1_are_found() {
        for (arguments, expected) in [
            (json!({"pid": 1}), "pid is process 1"),
            (json!({"process_id": "1"}), "process_id is process 1"),
            (json!({"pids": [77]}), "pids is process 77"),
            (
                json!({"url": "https://example.com/x"}),
                "url names the host example.com",
            ),
            (
                json!({"a": [{"b": "10.0.0.1"}]}),
                "b names the host 10.0.0.1",
            ),
            (
                json!({"url": "http://intranet/x"}),
                "url names the host intranet",
            ),
            (
                json!({"path": "/etc/passwd"}),
                "path names the path /etc/passwd",
            ),
            (json!({"path": "file:///etc"}), "path names the path /etc"),
            (
                json!({"path": "/tmp/fieldwork"}),
                "path names the path /tmp/fieldwork",
            ),
            (
                json!({"path": "a/../../b"}),
                "path names the path a/../../b",
            ),
            (json!({"path": "~/x"}), "path names the path ~/x"),
        ] {
            assert_eq!(found(&arguments), expected, "{arguments}");
        }
    }
}
