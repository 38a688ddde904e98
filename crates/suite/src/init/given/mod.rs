//! How a server was given, as a suite says it: secrets become variables of the environment.

use mcprove_client::session::ProtocolChoice;
use mcprove_settings::secret::redact_value;

use super::DraftOptions;
use super::yaml::{escaped, literal, text};
use crate::prelude::*;

/// Where a server starts, as a suite has to say it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StartFolder {
    #[default]
    Suite,
    /// In this folder, seen from that of the suite.
    Folder(String),
}

/// How a server was given.
#[derive(Debug, Default)]
pub struct Given {
    /// The lines below its name in the suite.
    pub lines: Vec<String>,
    /// The variables that they name, in order.
    pub variables: Vec<String>,
    /// What must not be written down.
    secrets: Vec<String>,
    redactor: Redactor,
}

pub fn given(server: &Server, options: &DraftOptions) -> Given {
    let redactor = options.session.redactor.clone();
    let mut given = Given {
        redactor: redactor.unwrap_or_else(|| server.redactor()),
        ..Given::default()
    };
    match server.transport.address() {
        None => given.command(server, options),
        Some((url, headers)) => given.address(url, headers),
    }
    if matches!(server.transport, Transport::Sse { .. }) {
        given.lines.push("transport: sse".to_owned());
    }
    let timeout = |name: &str, time: Duration, usual: Duration| {
        (time != usual).then(|| format!("{name}_timeout_ms: {}", time.as_millis()))
    };
    let (session, usual) = (&options.session, TimeLimits::initial());
    let lines = [
        timeout("startup", server.startup_timeout, usual.startup_timeout),
        timeout("shutdown", server.shutdown_timeout, usual.shutdown_timeout),
        match session.protocol {
            ProtocolChoice::Revision(revision) => Some(format!("protocol: \"{revision}\"")),
            ProtocolChoice::Auto => None,
        },
        session
            .strict_protocol
            .then(|| "strict_protocol: true".to_owned()),
        options
            .accepts_requests
            .then(|| "accept_requests: true".to_owned()),
    ];
    given.lines.extend(lines.into_iter().flatten());
    given
}

impl Given {
    fn command(&mut self, server: &Server, options: &DraftOptions) {
        let redacted = redact_arguments(&server.args);
        let mut words = vec![literal(&server.command)];
        let mut before = "";
        for (argument, redacted) in server.args.iter().zip(&redacted) {
            let redacted = self.redactor.plain(redacted).into_owned();
            words.push(text(&self.concealed(argument, &redacted, before)));
            before = argument;
        }
        self.lines.push(format!("command: [{}]", words.join(", ")));
        if let StartFolder::Folder(folder) = &options.place {
            self.lines.push(format!("cwd: {}", literal(folder)));
        }
        self.table("env", &server.env);
    }

    fn address(&mut self, url: &str, headers: &BTreeMap<String, String>) {
        let (url, has_password) = without_password(url);
        let redacted = self.redactor.plain(&redact_urls(&url)).into_owned();
        let shown = self.concealed(&url, &redacted, "");
        self.lines.push(format!("url: {}", text(&shown)));
        let mut headers = headers.clone();
        if has_password {
            // The value is not known here: whoever has the password makes it.
            let name = "Authorization".to_owned();
            headers.entry(name).or_insert_with(|| "Basic".to_owned());
        }
        self.table("headers", &headers);
    }

    /// Texts by name; a value that is a secret becomes a variable of the same name.
    fn table(&mut self, key: &str, values: &BTreeMap<String, String>) {
        if values.is_empty() {
            return;
        }
        self.lines.push(format!("{key}:"));
        for (name, value) in values {
            let is_known = self.redactor.plain(value) != *value;
            let shown = if redact_value(name, value) == *value && !is_known {
                escaped(value)
            } else {
                self.secrets.push(value.clone());
                self.variable(name)
            };
            self.lines
                .push(format!("  {}: {}", text(name), text(&shown)));
        }
    }

    /// A text with variables for what was redacted in it. The name of a variable is that before the secret:
    /// in the text, or the flag before it.
    fn concealed(&mut self, whole: &str, redacted: &str, before: &str) -> String {
        if whole == redacted {
            return escaped(whole);
        }
        self.secrets.push(whole.to_owned());
        if whole.contains(char::is_whitespace) {
            // Redaction may have changed the spaces.
            return self.variable(before);
        }
        let mut shown = String::new();
        let mut rest = redacted;
        while let Some((left, right)) = rest.split_once(REDACTED) {
            let named = left.trim_end_matches(['=', ':']);
            let start = named.rfind(|letter: char| !is_of_name(letter));
            let named = named
                .get(start.map_or(0, |start| start + 1)..)
                .unwrap_or("");
            let variable = self.variable(if named.is_empty() { before } else { named });
            shown.push_str(&escaped(left));
            shown.push_str(&variable);
            rest = right;
        }
        shown + &escaped(rest)
    }

    /// A variable by this name, as it is written.
    fn variable(&mut self, name: &str) -> String {
        let is_other = |letter: char| !letter.is_ascii_alphanumeric();
        let name = name.trim_matches(is_other).replace(is_other, "_");
        let name = name.to_ascii_uppercase();
        let wanted = match name.chars().next() {
            None => "SECRET".to_owned(),
            Some(first) if first.is_ascii_digit() => format!("SECRET_{name}"),
            Some(_) => name,
        };
        let mut name = wanted.clone();
        let mut number = 2_u32;
        while self.variables.contains(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        let written = format!("${{{name}}}");
        self.variables.push(name);
        written
    }

    /// What a server said, without the secrets that it was given.
    pub fn masked(&self, said: &str) -> String {
        // Of a flag, an address or a header, the secret is only a part.
        let parts = self.secrets.iter().flat_map(|secret| {
            secret
                .split(['=', ' ', '&', '?'])
                .chain([secret.as_str()])
                .map(str::to_owned)
        });
        self.redactor.with_secrets(parts).plain(said).into_owned()
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// An address without its user and password, where it has a password: no part of a host can be a variable.
fn without_password(url: &str) -> (String, bool) {
    let without = parts_of_url(url).and_then(|(scheme, authority, path)| {
        let (_, host) = authority.rsplit_once('@')?;
        Some((format!("{scheme}://{host}{path}"), true))
    });
    without.unwrap_or_else(|| (url.to_owned(), false))
}

#[cfg(test)]
mod tests;
