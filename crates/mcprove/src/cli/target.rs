//! Naming a server on the command line, the same way for every command.

use mcprove_client::session::Accept;
use mcprove_client::transport::BytesHandler;
use mcprove_load::config::SessionSettings;
use mcprove_settings::quantity::parse_size;
use mcprove_settings::secret::{is_given_secret, redact_text, redact_urls};

use crate::prelude::*;

/// A server, and how to talk to it.
#[derive(Debug, Args)]
pub struct TargetArguments {
    #[command(flatten)]
    pub server: ServerArguments,

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

    /// How an address is spoken to [default: from the address; HTTP falls back to SSE]
    #[arg(long, value_enum)]
    pub transport: Option<TransportName>,

    /// A header for every request to an address, as "Name: value"; repeatable
    #[arg(long, value_name = "HEADER")]
    pub header: Vec<String>,

    /// A variable for the server's environment, as NAME=VALUE; repeatable
    #[arg(long, value_name = "VARIABLE", conflicts_with = "url")]
    pub env: Vec<String>,

    /// The directory the server starts in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub working_dir: Option<PathBuf>,

    /// The command that starts the server, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How to talk to the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArguments {
    /// The revision to speak: auto, 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 or 2026-07-28
    #[arg(long, default_value = "auto", value_name = "REVISION")]
    pub protocol: ProtocolChoice,

    /// Fail when the server chooses another revision than the one asked for
    #[arg(long)]
    pub strict_protocol: bool,

    /// How long the server may take to answer the first request, such as 500ms, 10s or 1m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_positive)]
    pub startup_timeout: Duration,

    /// How long the server may take to exit once its input is closed
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub shutdown_timeout: Duration,

    /// How long one call may take, such as 500ms, 10s or 1m [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_positive)]
    pub call_timeout: Option<Duration>,

    /// The largest message accepted from the server, such as 512KiB or 64MiB
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = parse_size)]
    pub max_frame: usize,

    /// Answer a server that asks the client for input (elicitation, sampling) with generated values
    /// instead of declining
    #[arg(long)]
    pub accept_requests: bool,

    /// Show the server's stderr as it is written
    #[arg(long)]
    pub tee_stderr: bool,

    /// Keep the server's stderr in this file
    #[arg(long, value_name = "FILE")]
    pub stderr_log: Option<PathBuf>,
}

/// How an address is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportName {
    /// Streamable HTTP
    Http,
    /// HTTP+SSE, of revision 2024-11-05
    Sse,
    /// WebSocket
    Ws,
}

fn parse_positive(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than nothing".into()),
        read => read.map_err(|error| error.to_string()),
    }
}

impl TargetArguments {
    /// Whether a server was named at all.
    pub fn is_given(&self) -> bool {
        let given = &self.server;
        !given.server.is_empty() || !given.url.is_empty() || !given.command.is_empty()
    }

    /// The one server that was named.
    pub fn resolve(&self) -> Result<Server> {
        let mut servers = self.resolve_all()?;
        match (servers.pop(), servers.is_empty()) {
            (Some(server), true) => Ok(server),
            _ => refuse(
                "this command takes one server",
                "give one --server or --url; `mcprove run` and `mcprove compare` take several",
            ),
        }
    }

    /// Knows the secrets of the servers that were named, and the values of `--env` and `--header` that may be some.
    fn redactor(&self) -> Redactor {
        let given =
            given_secrets(&self.server.env, '=').chain(given_secrets(&self.server.header, ':'));
        // Whoever asks has looked at the problems with them.
        let servers = self.resolve_all().unwrap_or_default();
        let secrets = servers.iter().flat_map(Server::secrets);
        Redactor::of_process().with_secrets(given.chain(secrets))
    }

    /// All servers that were named: commands first, then addresses.
    pub fn resolve_all(&self) -> Result<Vec<Server>> {
        let given = &self.server;
        let mut servers = Vec::new();
        for text in &given.server {
            servers.push(started_by(&split_command(text)?)?);
        }
        for url in &given.url {
            servers.push(given.at_address(url)?);
        }
        if !given.command.is_empty() {
            servers.push(started_by(&given.command)?);
        }
        if servers.is_empty() {
            return refuse(
                "no server given",
                "name one: -s \"python -m my_mcp\", or -- python -m my_mcp, or --url http://127.0.0.1:8080/mcp",
            );
        }
        let complete = |server| self.complete(server);
        servers.into_iter().map(complete).collect()
    }

    fn complete(&self, mut server: Server) -> Result<Server> {
        let Self {
            server: given,
            session,
        } = self;
        for variable in &given.env {
            let (name, value) = split_pair(variable, '=', "--env", "NAME=VALUE")?;
            server = server.env(name, value);
        }
        // clap lets these pass beside --server, with which they would do nothing.
        if given.url.is_empty() && (!given.header.is_empty() || given.transport.is_some()) {
            return refuse(
                "--header and --transport are for a server at an address",
                "leave them out, or give --url instead of a command",
            );
        }
        for header in &given.header {
            let (name, value) = split_header(header)?;
            if !is_header(name, value) {
                let untrimmed = header.split(':').next().unwrap_or_default();
                return refuse(
                    format!("--header {untrimmed:?} holds what HTTP does not allow in a header"),
                    "write --header \"Name: value\", in visible characters",
                );
            }
            server = server.header(name, value);
        }
        server.working_dir.clone_from(&given.working_dir);
        Ok(supervised(server)
            .startup_timeout(session.startup_timeout)
            .shutdown_timeout(session.shutdown_timeout))
    }

    /// How the session behaves.
    pub fn options(&self) -> SessionOptions {
        self.over(self.settings().options(), &[])
    }

    /// The same for a config file.
    pub fn settings(&self) -> SessionSettings {
        let given = &self.session;
        SessionSettings {
            protocol: given.protocol,
            strict_protocol: given.strict_protocol,
            call_timeout: given.call_timeout,
            max_frame: Some(given.max_frame),
            accept_requests: given.accept_requests.then_some(true),
            fall_back_to_sse: self.server.transport.is_none(),
        }
    }

    /// What a config file says, with the flags that were given over it. What is printed has no secret of these servers
    /// from now on.
    pub fn over(&self, mut options: SessionOptions, servers: &[Server]) -> SessionOptions {
        let given = &self.session;
        if given.protocol != ProtocolChoice::Auto {
            options.protocol = given.protocol;
        }
        options.strict_protocol |= given.strict_protocol;
        if let Some(timeout) = given.call_timeout {
            options.call_timeout = timeout;
        }
        if given.accept_requests {
            options.responder = Arc::new(Accept);
        }
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
    fn at_address(&self, url: &str) -> Result<Server> {
        let shown = redact_urls(url);
        let scheme = url
            .split_once("://")
            .filter(|(_, rest)| !rest.is_empty() && !rest.starts_with('/'))
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        let is_websocket = match scheme.as_deref() {
            Some("http" | "https") => false,
            Some("ws" | "wss") => true,
            _ => {
                return refuse(
                    format!("--url {shown:?} is not an address that mcprove supports"),
                    "use http://, https://, ws:// or wss://, such as http://127.0.0.1:8080/mcp",
                );
            }
        };
        match (self.transport, is_websocket) {
            (None | Some(TransportName::Ws), true) => Ok(Server::websocket(url)),
            (None | Some(TransportName::Http), false) => Ok(Server::http(url)),
            (Some(TransportName::Sse), false) => Ok(Server::sse(url)),
            (Some(TransportName::Ws), false) => refuse(
                format!("--transport ws does not fit the address {shown:?}"),
                "use ws:// or wss://",
            ),
            (Some(_), true) => refuse(
                format!("the address {shown:?} is for WebSocket only"),
                "leave out --transport, or use http://",
            ),
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

/// Whether HTTP can carry this header.
fn is_header(name: &str, value: &str) -> bool {
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_in_value = |character: char| character == '\t' || !character.is_control();
    name.bytes().all(is_in_name) && value.chars().all(is_in_value)
}

pub fn split_command(text: &str) -> Result<Vec<String>> {
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

fn started_by(words: &[String]) -> Result<Server> {
    match words.split_first() {
        Some((program, rest)) if !program.trim().is_empty() => {
            Ok(Server::stdio(program).args(rest.iter().cloned()))
        }
        _ => refuse(
            "the command that starts the server is empty",
            "give a program: -s \"python -m my_mcp\"",
        ),
    }
}

/// The values of pairs as they are given that may be secrets.
pub fn given_secrets(pairs: &[String], separator: char) -> impl Iterator<Item = String> {
    let values = pairs
        .iter()
        .filter_map(move |it| it.split_once(separator))
        .map(|(_, value)| value.trim().to_owned());
    values.filter(|value| is_given_secret(value))
}

/// A header as it is given, in two.
pub fn split_header(text: &str) -> Result<(&str, &str)> {
    let (name, value) = split_pair(text, ':', "--header", "\"Name: value\"")?;
    Ok((name.trim(), value.trim()))
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
