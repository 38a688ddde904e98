//! Naming a server on the command line, the same way for every command.

use mcprove_client::transport::BytesHandler;
use mcprove_load::config::{ServerSettings, SessionSettings, read_alone};
use mcprove_settings::secret::{is_given_secret, redact_text};
use mcprove_settings::tree::{COMMAND_LINE, Data, Document, Field};

use crate::load_arguments::{Overlay, ServerTable, SessionTable, TimeTable, TransportTable};
use crate::prelude::*;

/// A server, and how to talk to it.
#[derive(Debug, Args)]
pub struct TargetArguments {
    #[command(flatten)]
    pub server: ServerArguments,

    #[command(flatten)]
    pub transport: SettingFlags<TransportTable>,

    #[command(flatten)]
    pub session: SessionArguments,
}

/// A server: a command to start, or an address.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerArguments {
    /// The command that starts the server, as one text: "python server.py"
    #[arg(short, long, value_name = "COMMAND", conflicts_with = "command")]
    pub server: Vec<String>,

    /// The address of a running server
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub url: Vec<String>,

    /// A header for every request to an address, as "Name: value"; repeatable
    #[arg(long, value_name = "HEADER")]
    pub header: Vec<String>,

    /// A variable for the server's environment, as NAME=VALUE; repeatable
    #[arg(long, value_name = "VARIABLE", conflicts_with = "url")]
    pub env: Vec<String>,

    #[command(flatten)]
    pub settings: SettingFlags<ServerTable>,

    /// The command that starts the server, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How to talk to the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArguments {
    #[command(flatten)]
    pub settings: SettingFlags<SessionTable>,

    #[command(flatten)]
    pub limits: SettingFlags<TimeTable>,

    /// Show the server's stderr as it is written
    #[arg(long)]
    pub tee_stderr: bool,

    /// Keep the server's stderr in this file
    #[arg(long, value_name = "FILE")]
    pub stderr_log: Option<PathBuf>,
}

impl TargetArguments {
    /// Whether a server was named at all.
    pub fn is_given(&self) -> bool {
        self.server.is_given()
    }

    /// The one server that was named.
    pub fn resolve(&self) -> Result<Server> {
        self.check_session()?;
        self.server.resolve(&self.settings_of_server())
    }

    /// All servers that were named: commands first, then addresses.
    pub fn resolve_all(&self) -> Result<Vec<Server>> {
        self.check_session()?;
        self.server.resolve_all(&self.settings_of_server())
    }

    /// Without a server, what is wrong with the session is told first.
    fn check_session(&self) -> Result<()> {
        if self.is_given() {
            Ok(())
        } else {
            self.settings().map(drop)
        }
    }

    fn settings_of_server(&self) -> [&dyn Overlay; 3] {
        [
            &self.transport,
            &self.session.limits,
            &self.session.settings,
        ]
    }

    /// Knows the secrets of the servers that were named, and the values of `--env` and `--header` that may be some.
    fn redactor(&self) -> Redactor {
        // Whoever asks has looked at the problems with them.
        let servers = self.resolve_all().unwrap_or_default();
        let secrets = servers.iter().flat_map(Server::secrets);
        Redactor::of_process().with_secrets(self.server.given_secrets().chain(secrets))
    }

    /// How the session behaves.
    pub fn options(&self) -> Result<SessionOptions> {
        Ok(self.options_with(&self.settings()?, &[]))
    }

    /// The same for a config file.
    pub fn settings(&self) -> Result<SessionSettings> {
        let mut document = Document::empty(COMMAND_LINE);
        self.session.settings.overlay(&mut document);
        Ok(SessionSettings {
            has_transport: self.transport.has("transport"),
            ..read_alone(&document)?.1
        })
    }

    /// How a session with these settings behaves. What is printed has no secret of these servers from now on.
    pub fn options_with(&self, settings: &SessionSettings, servers: &[Server]) -> SessionOptions {
        let given = &self.session;
        let mut options = settings.options();
        options.stderr_file.clone_from(&given.stderr_log);
        options.losses = losses::list();
        options.on_stderr = given
            .tee_stderr
            .then(|| Arc::new(show_stderr) as BytesHandler);
        let secrets = servers.iter().flat_map(Server::secrets);
        let redactor = self.redactor().with_secrets(secrets);
        terminal::redact(&redactor);
        options.redactor = Some(redactor);
        options
    }
}

impl ServerArguments {
    /// Whether a server was named at all.
    pub const fn is_given(&self) -> bool {
        !(self.server.is_empty() && self.url.is_empty() && self.command.is_empty())
    }

    /// The one server that was named, with what else is said of it.
    pub fn resolve(&self, more: &[&dyn Overlay]) -> Result<Server> {
        let mut servers = self.resolve_all(more)?;
        match (servers.pop(), servers.is_empty()) {
            (Some(server), true) => Ok(server),
            _ => refuse(
                "this command takes one server",
                "give one --server or --url; `mcprove run` and `mcprove compare` take several",
            ),
        }
    }

    /// All servers that were named: commands first, then addresses.
    pub fn resolve_all(&self, more: &[&dyn Overlay]) -> Result<Vec<Server>> {
        let mut ways = Vec::new();
        let mut commands = Vec::new();
        for text in &self.server {
            commands.push(split_command(text)?);
        }
        commands.extend(Some(self.command.clone()).filter(|words| !words.is_empty()));
        for words in commands {
            if words
                .first()
                .is_none_or(|program| program.trim().is_empty())
            {
                return refuse(
                    "the command that starts the server is empty",
                    "give a program: -s \"python -m my_mcp\"",
                );
            }
            ways.push(("command", Data::texts(words)));
        }
        let urls = self.url.iter().cloned();
        ways.extend(urls.map(|url| ("url", Data::Text(url))));
        if ways.is_empty() {
            return refuse(
                "no server given",
                "name one: -s \"python -m my_mcp\", or -- python -m my_mcp, or --url http://127.0.0.1:8080/mcp",
            );
        }
        let read = |way| self.read(way, more);
        ways.into_iter().map(read).collect()
    }

    /// The server that is reached in this way, read as that of a config file is.
    fn read(&self, way: (&'static str, Data), more: &[&dyn Overlay]) -> Result<Server> {
        let mut document = Document::empty(COMMAND_LINE);
        ServerFlags(vec![way]).overlay(&mut document);
        self.flags()?.overlay(&mut document);
        self.settings.overlay(&mut document);
        for table in more {
            table.overlay(&mut document);
        }
        Ok(supervised(read_alone(&document)?.0))
    }

    /// The values of `--env` and `--header` that may be secrets.
    pub fn given_secrets(&self) -> impl Iterator<Item = String> {
        given_secrets(&self.env, '=').chain(given_secrets(&self.header, ':'))
    }

    /// The variables and the headers of a server.
    pub fn flags(&self) -> Result<ServerFlags> {
        let mut values = Vec::new();
        let (mut env, mut headers) = (Vec::new(), Vec::new());
        for variable in &self.env {
            let (name, value) = split_pair(variable, '=', "--env", "NAME=VALUE")?;
            env.push(Field::new(name, Data::Text(value.into())));
        }
        for header in &self.header {
            let (name, value) = split_pair(header, ':', "--header", "\"Name: value\"")?;
            headers.push(Field::new(name.trim(), Data::Text(value.trim().into())));
        }
        for (name, fields) in [("env", env), ("headers", headers)] {
            if !fields.is_empty() {
                values.push((name, Data::Table(fields)));
            }
        }
        Ok(ServerFlags(values))
    }
}

/// Values for `[server]`.
pub struct ServerFlags(Vec<(&'static str, Data)>);

impl Overlay for ServerFlags {
    /// Variables and headers are added to those of the file.
    fn overlay(&self, document: &mut Document) {
        for (name, data) in &self.0 {
            let mut data = data.clone();
            let server = document.root.get("server");
            let own = server.and_then(|it| it.value.get(name));
            if let (Data::Table(given), Some(own)) = (&mut data, own) {
                let names: Vec<String> = given.iter().map(|it| it.name.clone()).collect();
                let kept = own.value.fields().iter();
                given.extend(kept.filter(|it| !names.contains(&it.name)).cloned());
            }
            let mut settings = ServerSettings::declared().iter();
            let setting = settings.find(|it| it.name == *name);
            document.overlay("server", setting.map(|it| (it, data)));
        }
    }
}

fn show_stderr(lines: &[u8]) {
    let text = String::from_utf8_lossy(lines);
    terminal::print_error(&printable_lines(&text, usize::MAX));
}

/// The server, which this very program ends with all it started, whatever ends us.
pub fn supervised(server: Server) -> Server {
    match supervisor() {
        Some(program) => server.with_supervisor(program),
        None => server,
    }
}

/// This very program, on Linux even if its file was replaced meanwhile.
pub fn supervisor() -> Option<PathBuf> {
    let file = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && file.exists() {
        return Some(file);
    }
    std::env::current_exe().ok()
}

fn split_command(text: &str) -> Result<Vec<String>> {
    shell_words::split(text).map_err(|error| {
        Failure::new(
            format!(
                "--server {:?} cannot be split into words: {error}",
                redact_text(text)
            ),
            "check the quotes, or give the command after `--`",
        )
    })
}

/// The values of pairs as they are given that may be secrets.
fn given_secrets(pairs: &[String], separator: char) -> impl Iterator<Item = String> {
    let values = pairs
        .iter()
        .filter_map(move |it| it.split_once(separator))
        .map(|(_, value)| value.trim().to_owned());
    values.filter(|value| is_given_secret(value))
}

fn split_pair<'a>(
    text: &'a str,
    separator: char,
    flag: &str,
    form: &str,
) -> Result<(&'a str, &'a str)> {
    text.split_once(separator)
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or_else(|| {
            Failure::new(
                format!("{flag} {:?} is not of the form {form}", redact_text(text)),
                format!("write {flag} {form}"),
            )
        })
}
