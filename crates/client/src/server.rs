//! How to reach the server under test: a command to start, or an address to connect to.

use http::HeaderValue;
use mcprove_settings::secret::{self, redact_arguments, redact_value};
use mcprove_settings::setting::Settings;

use crate::prelude::*;

/// The header of a token.
pub const AUTHORIZATION: &str = "Authorization";

/// How long a server may take to start and to exit.
#[derive(Debug, Clone, Copy, Settings)]
pub struct TimeLimits {
    /// How long the server may take to answer the first request.
    #[setting(default = "30s")]
    pub startup_timeout: Duration,
    /// How long the server may take to exit once its input is closed.
    #[setting(kind = TIME_OR_ZERO, default = "5s")]
    pub shutdown_timeout: Duration,
}

impl TimeLimits {
    /// The server with these limits in the place of its own.
    pub const fn apply(&self, mut server: Server) -> Server {
        server.startup_timeout = self.startup_timeout;
        server.shutdown_timeout = self.shutdown_timeout;
        server
    }
}

/// A server under test.
///
/// ```
/// use mcprove_client::server::Server;
///
/// let server = Server::stdio("python").args(["-m", "my_mcp"]).env("LOG_LEVEL", "warn");
/// assert_eq!(server.describe(), "python -m my_mcp");
///
/// let server = Server::http("http://127.0.0.1:8080/mcp").header("Authorization", "Bearer t");
/// assert_eq!(server.describe(), "http://127.0.0.1:8080/mcp");
/// // Fields have what they were given; what is shown or written has no secrets.
/// assert!(!format!("{server:?}").contains("Bearer t"));
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Server {
    /// The program to start. For an address (HTTP, SSE, WebSocket) usually empty.
    #[serde(serialize_with = "show_text")]
    pub command: String,
    /// The program's arguments.
    #[serde(serialize_with = "show_arguments")]
    pub args: Vec<String>,
    /// Variables added to the inherited environment.
    #[serde(serialize_with = "show_values")]
    pub env: Named,
    /// The directory the program starts in; ours unless given.
    pub working_dir: Option<PathBuf>,
    /// How messages travel.
    pub transport: Transport,
    /// The environment variable that the bearer token among the headers was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_env: Option<String>,
    /// How long the server may take to answer the first request.
    pub startup_timeout: Duration,
    /// How long the server may take to exit after its input closed.
    pub shutdown_timeout: Duration,
    /// The program that ends the server's processes if we cannot.
    #[serde(skip)]
    pub supervisor: Option<PathBuf>,
}

/// Variables or headers: values by name.
type Named = BTreeMap<String, String>;

/// How messages travel to a [`Server`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// Lines of JSON on the standard streams of a child process.
    Stdio,
    /// Streamable HTTP.
    Http {
        /// The MCP endpoint.
        #[serde(serialize_with = "show_url")]
        url: String,
        /// Headers added to every request.
        #[serde(serialize_with = "show_values")]
        headers: Named,
    },
    /// HTTP+SSE, the transport of revision 2024-11-05.
    Sse {
        /// The address of the event stream.
        #[serde(serialize_with = "show_url")]
        url: String,
        /// Headers added to every request.
        #[serde(serialize_with = "show_values")]
        headers: Named,
    },
    /// One message per text frame, subprotocol `mcp`.
    WebSocket {
        /// The `ws://` or `wss://` address.
        #[serde(serialize_with = "show_url")]
        url: String,
        /// Headers added to the opening request.
        #[serde(serialize_with = "show_values")]
        headers: Named,
    },
    /// A pipe to a server in this process.
    Memory(Pipe),
}

/// What a server in this process writes, and what it reads.
pub type PipeEnds = (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

/// Opens connections to a server in this process. Only its name is written to files: read from one, it leads nowhere.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Pipe {
    /// The name of the server.
    pub name: String,
    open: Arc<dyn Fn() -> PipeEnds + Send + Sync>,
}

impl Pipe {
    /// One more connection.
    pub fn open(&self) -> PipeEnds {
        (self.open)()
    }
}

impl From<String> for Pipe {
    fn from(name: String) -> Self {
        let open = Arc::new(|| -> PipeEnds {
            (Box::new(tokio::io::empty()), Box::new(tokio::io::sink()))
        });
        Self { name, open }
    }
}

impl From<Pipe> for String {
    fn from(pipe: Pipe) -> Self {
        pipe.name
    }
}

impl PartialEq for Pipe {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.open, &other.open)
    }
}

impl Eq for Pipe {}

impl Transport {
    /// The name used on the command line and in files: `stdio`, `http`, `sse` or `ws`; and `memory`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
            Self::WebSocket { .. } => "ws",
            Self::Memory(_) => "memory",
        }
    }

    /// The address of a server that is not started by us, and the headers for it.
    pub const fn address(&self) -> Option<(&String, &Named)> {
        match self {
            Self::Stdio | Self::Memory(_) => None,
            Self::Http { url, headers }
            | Self::Sse { url, headers }
            | Self::WebSocket { url, headers } => Some((url, headers)),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("command", &redact_text(&self.command))
            .field("args", &redact_arguments(&self.args))
            .field("env", &redact_values(&self.env))
            .field("working_dir", &self.working_dir)
            .field("transport", &self.transport)
            .field("bearer_env", &self.bearer_env)
            .field("startup_timeout", &self.startup_timeout)
            .field("shutdown_timeout", &self.shutdown_timeout)
            .field("supervisor", &self.supervisor)
            .finish()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Stdio => "Stdio",
            Self::Http { .. } => "Http",
            Self::Sse { .. } => "Sse",
            Self::WebSocket { .. } => "WebSocket",
            Self::Memory(_) => "Memory",
        };
        let Some((url, headers)) = self.address() else {
            return formatter.write_str(name);
        };
        formatter
            .debug_struct(name)
            .field("url", &redact_urls(url))
            .field("headers", &redact_values(headers))
            .finish()
    }
}

fn redact_values(values: &Named) -> BTreeMap<&str, String> {
    values
        .iter()
        .map(|(name, value)| (name.as_str(), redact_value(name, value)))
        .collect()
}

// How the parts of a server are serialised: without secrets.

macro_rules! shown {
    ($($show:ident: $kind:ty = $redact:ident,)*) => {$(
        fn $show<S: Serializer>(value: &$kind, serializer: S) -> Result<S::Ok, S::Error> {
            $redact(value).serialize(serializer)
        }
    )*};
}

shown! {
    show_text: str = redact_text,
    show_url: str = redact_urls,
    show_arguments: [String] = redact_arguments,
    show_values: Named = redact_values,
}

impl Server {
    /// A server started as a child process that speaks on its standard streams.
    pub fn stdio(command: impl Into<String>) -> Self {
        Self::over(command.into(), Transport::Stdio)
    }

    /// Where the server listens, if its address names this machine by number or as `localhost`.
    pub fn local_address(&self) -> Option<std::net::SocketAddr> {
        let (url, _) = self.transport.address()?;
        let uri: http::Uri = url.parse().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']);
        let port = uri.port_u16().unwrap_or(80);
        let address: std::net::IpAddr = match host {
            "localhost" => std::net::Ipv4Addr::LOCALHOST.into(),
            host => host.parse().ok()?,
        };
        address.is_loopback().then(|| (address, port).into())
    }

    /// A server at a streamable HTTP endpoint.
    pub fn http(url: impl Into<String>) -> Self {
        Self::at(url, |url, headers| Transport::Http { url, headers })
    }

    /// A server at an HTTP+SSE endpoint (revision 2024-11-05).
    pub fn sse(url: impl Into<String>) -> Self {
        Self::at(url, |url, headers| Transport::Sse { url, headers })
    }

    /// A server at a WebSocket address.
    pub fn websocket(url: impl Into<String>) -> Self {
        Self::at(url, |url, headers| Transport::WebSocket { url, headers })
    }

    fn at(url: impl Into<String>, transport: fn(String, Named) -> Transport) -> Self {
        Self::over(String::new(), transport(url.into(), BTreeMap::new()))
    }

    /// A server in this process. `open` is called for each connection, in the runtime of whoever connects: it starts
    /// the server on one end of a pipe and returns the other.
    pub fn in_memory<R, W>(
        name: impl Into<String>,
        open: impl Fn() -> (R, W) + Send + Sync + 'static,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let name = name.into();
        let open = Arc::new(move || -> PipeEnds {
            let (output, input) = open();
            (Box::new(output), Box::new(input))
        });
        Self::over(name.clone(), Transport::Memory(Pipe { name, open }))
    }

    fn over(command: String, transport: Transport) -> Self {
        let limits = TimeLimits::initial();
        Self {
            command,
            args: Vec::new(),
            env: BTreeMap::new(),
            working_dir: None,
            transport,
            bearer_env: None,
            startup_timeout: limits.startup_timeout,
            shutdown_timeout: limits.shutdown_timeout,
            supervisor: None,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets one environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the directory the process starts in.
    pub fn working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// Adds a header to every request; without effect over stdio.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Http { headers, .. }
        | Transport::Sse { headers, .. }
        | Transport::WebSocket { headers, .. } = &mut self.transport
        {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Sends `Authorization: Bearer …` with every request, with the token that the environment variable `name` holds;
    /// none if it is not set, or its value cannot stand in a header.
    ///
    /// ```
    /// use mcprove_client::server::Server;
    ///
    /// let server = Server::http("http://h/mcp");
    /// assert!(server.bearer_env("NO_SUCH_VARIABLE_OF_MCPROVE").is_none());
    /// ```
    #[must_use]
    pub fn bearer_env(mut self, name: &str) -> Option<Self> {
        let token = std::env::var(name).ok()?;
        let token = token.trim();
        let value = format!("Bearer {token}");
        if token.is_empty() || HeaderValue::from_str(&value).is_err() {
            return None;
        }
        self.bearer_env = Some(name.to_owned());
        Some(self.header(AUTHORIZATION, value))
    }

    /// Sets how long the server may take to answer the first request.
    pub fn startup_timeout(mut self, timeout: Duration) -> Self {
        self.startup_timeout = timeout;
        self
    }

    /// Sets how long the server may take to exit after its input closed.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// Names the program that ends the server and all it started when this program ends, however
    /// that happens. It must call [`supervise`](crate::process::supervise) first thing in `main`;
    /// usually it is `std::env::current_exe()`. [`process`](crate::process) says what holds with it
    /// and without. It does nothing on Windows, and for a server at an address.
    pub fn with_supervisor(mut self, program: impl Into<PathBuf>) -> Self {
        self.supervisor = Some(program.into());
        self
    }

    /// The secrets that it is started or reached with: variables, headers, arguments and addresses that name or
    /// hold one.
    pub fn secrets(&self) -> BTreeSet<String> {
        let mut words = vec![self.command.clone()];
        words.extend_from_slice(&self.args);
        let mut secrets = secret::secrets_of_words(&words);
        let mut named = Vec::from_iter(&self.env);
        if let Some((url, headers)) = self.transport.address() {
            named.extend(headers);
            secrets.extend(secret::within(url));
        }
        for (name, value) in named {
            secrets.extend(secret::secrets_of_named(name, value));
        }
        secrets
    }

    /// Takes out its [secrets](Self::secrets) and those that this process inherited.
    ///
    /// ```
    /// use mcprove_client::server::Server;
    ///
    /// let server = Server::stdio("my_mcp").env("DB", "postgres://me:hunter22@db/x");
    /// let redactor = server.redactor().with_secrets(["other-one".to_owned()]);
    /// assert_eq!(redactor.text("hunter22, other-one"), "<redacted>, <redacted>");
    /// ```
    pub fn redactor(&self) -> Redactor {
        Redactor::of_process().with_secrets(self.secrets())
    }

    /// The command line or address, for people and for reports: the values of secrets (flags,
    /// variables, parameters and passwords that are named like one) are left out.
    ///
    /// ```
    /// use mcprove_client::server::Server;
    ///
    /// let server = Server::stdio("my_mcp").args(["--api-key", "hunter2"]);
    /// assert_eq!(server.describe(), "my_mcp --api-key <redacted>");
    /// let server = Server::http("http://h/mcp?token=hunter2");
    /// assert_eq!(server.describe(), "http://h/mcp?token=<redacted>");
    /// ```
    pub fn describe(&self) -> String {
        if let Some((url, _)) = self.transport.address() {
            return redact_urls(url);
        }
        let mut words = vec![redact_text(&self.command)];
        words.extend(redact_arguments(&self.args));
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_serialize_shows_secrets() {
        let command = Server::stdio("env")
            .args(["A_TOKEN=hunter22", "my_mcp", "--password", "hunter22"])
            .env("DB_PASS", "hunter22")
            .env("DB", "postgres://me:hunter22@db/x")
            .env("LOG", "debug");
        let mut servers = vec![command];
        let url = "http://me:hunter22@h/mcp?token=hunter22";
        for server in [Server::http(url), Server::sse(url), Server::websocket(url)] {
            servers.push(server.header("Authorization", "Bearer hunter22"));
        }
        for server in servers {
            let shown = format!("{server:#?}{server:?}");
            let written = serde_json::to_string(&server).unwrap();
            for text in [&shown, &written] {
                assert!(!text.contains("hunter22"), "{text}");
                assert!(text.contains("<redacted>"), "{text}");
            }
            let read: Server = serde_json::from_str(&written).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), written);
        }
    }

    #[test]
    fn the_secrets_of_a_command() {
        let server = Server::stdio("env")
            .args(["A_TOKEN=t-1", "my_mcp", "--key", "k-2", "--log", "debug"])
            .env("DB", "postgres://me:p%40ss-3@db:5432/x")
            .env("DB_PASS", "w-4")
            .env("DSN", "host=h password=p-5 dbname=d")
            .env("ADO", "Server=h;Password=p-6;Timeout=3")
            .env("LOG", "debug")
            .env("CREDENTIALS", r#"{"type":"x","private_key":"k-7\nk-8"}"#);
        let found = server.secrets();
        for secret in [
            "t-1", "k-2", "p%40ss-3", "p@ss-3", "w-4", "p-5", "p-6", "k-7\nk-8",
        ] {
            assert!(found.iter().any(|it| *it == secret), "{secret}: {found:?}");
        }
        assert!(!found.iter().any(|it| it == "debug" || it == "my_mcp"));
    }

    #[test]
    fn words_behind_any_scheme_are_secrets() {
        let server = Server::http("http://h/")
            .header("Authorization", "Token 9944b09199c62bcf")
            .header("X-Api-Key", "ApiKey abcdefghijkl");
        let found = server.secrets();
        for secret in ["9944b09199c62bcf", "abcdefghijkl"] {
            assert!(found.iter().any(|it| *it == secret), "{secret}: {found:?}");
        }
        assert!(!found.iter().any(|it| it == "Token" || it == "ApiKey"));
    }

    #[test]
    fn the_secrets_of_an_address() {
        let basic = "bWU6cC0x".to_owned();
        let server = Server::http("http://u:p-2@h/mcp?api_key=k-3&page=2")
            .header("Authorization", format!("Basic {basic}"))
            .header("Cookie", "sid=cookie-4; theme=dark")
            .header("X-Other", "Bearer b-5")
            .header("Accept", "text/html");
        let found = server.secrets();
        for secret in [
            "p-1",
            &basic,
            "p-2",
            "k-3",
            "sid=cookie-4; theme=dark",
            "b-5",
        ] {
            assert!(found.iter().any(|it| *it == secret), "{secret}: {found:?}");
        }
        assert!(!found.iter().any(|it| it == "text/html"));
    }
}
