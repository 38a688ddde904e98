//! `mcprove proxy`: between any client and any server, to record and to inject faults.

use mcprove_fault::file::same_name;
use mcprove_fault::tell_apart;
use mcprove_proxy::{ProxySummary, Settings, http, stdio, summary_document};
use mcprove_servers::hosting::PublicHost;
use mcprove_settings::quantity::parse_duration;
use mcprove_settings::secret::is_given_secret;
use mcprove_suite::agent::command::{ProxySetup, RecordingReport};

use crate::patient_stderr::PatientStderr;
use crate::prelude::*;
use crate::target::{split_command, split_header};

/// How the summary is drawn on standard error.
const STDERR_STYLE: Style = Style::plain(80);

/// Arguments of `mcprove proxy`.
#[derive(Debug, Clone, Args)]
#[command(after_help = kinds_of_faults())]
pub struct Arguments {
    /// A fault, such as slow:1000, hang,tool=search or error,calls=1-3,rate=0.5; repeatable
    #[arg(long, value_name = "FAULT")]
    fault: Vec<String>,

    /// A file with faults (YAML or TOML, format faults.v1)
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,

    /// The seed for faults that are injected at random
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// The name of the server, at which faults can be aimed
    #[arg(long, value_name = "NAME", default_value = "server")]
    server_name: String,

    /// Write the traffic to this file (format trace.v1)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Go on with the file of --record if it is there: for clients that restart their server
    #[arg(long, requires = "record")]
    append: bool,

    /// Write the summary to this file, as JSON (format proxy-summary.v1)
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    #[command(flatten)]
    reports: ReportArguments,

    /// Print no summary
    #[arg(long)]
    quiet: bool,

    /// How long the server may take to exit once the client has left and has all
    /// its answers
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    shutdown_timeout: Duration,

    /// The command that starts the server, as one text: "python server.py"
    #[arg(short, long, value_name = "COMMAND", conflicts_with = "command")]
    server: Option<String>,

    /// Listen for HTTP on this address, such as 127.0.0.1:8080 or 8080; port 0 takes
    /// any free one
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "url",
        conflicts_with_all = ["command", "server"],
        value_parser = listen_address::parse_argument
    )]
    listen: Option<SocketAddr>,

    /// Accept this name in Host and Origin, besides loopback names and the address that is listened on; repeatable
    #[arg(long = "public-host", value_name = "NAME", requires = "listen")]
    public_hosts: Vec<PublicHost>,

    /// The address of the server that --listen speaks for
    #[arg(
        long,
        value_name = "URL",
        requires = "listen",
        conflicts_with_all = ["command", "server"]
    )]
    url: Option<String>,

    /// A header for every request to --url, as "Name: value"; repeatable
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,

    /// Take everything from this file: how suites put a proxy before the servers of an agent
    #[arg(
        long,
        hide = true,
        value_name = "FILE",
        conflicts_with_all = ["command", "server", "listen", "fault", "faults", "record"]
    )]
    setup: Option<PathBuf>,

    /// What `--setup` says besides.
    #[arg(skip)]
    of_suite: Option<OfSuite>,

    /// The command that starts the server, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What a suite says of a server, which has no flags.
#[derive(Debug, Clone)]
struct OfSuite {
    env: BTreeMap<String, String>,
    working_dir: Option<PathBuf>,
    /// What must not be written down.
    secrets: Vec<String>,
    /// Who is told what becomes of the recording.
    report: Arc<RecordingReport>,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let arguments = &arguments.set_up().await?;
    let faults = arguments.all_faults()?;
    let stop = interrupt::requested();
    let reports = arguments.reports()?;
    let (summary, code) = match arguments.listen.zip(arguments.url.as_deref()) {
        Some(pair) => between_http(arguments, faults, pair, stop).await?,
        None => between_pipes(arguments, faults, stop).await?,
    };
    let recorded = arguments.record.as_ref().zip(summary.recording.as_ref());
    losses::add(recorded.and_then(|(path, recording)| recording.loss(path)));
    let document = summary_document(&summary);
    let json = summary.to_json();
    reports.write(|format, style| drawn(&document, &json, format, style));
    Ok(code)
}

/// The exit code of a proxy that was stopped, ran out of something itself, or whose server ended so.
fn code(was_stopped: bool, ran_out: bool, status: u8) -> ExitCode {
    ExitCode::worst([
        (was_stopped, ExitCode::Interrupted),
        (ran_out, ExitCode::CouldNotRun),
        (status != 0, ExitCode::of_server(status)),
    ])
}

/// The proxy over HTTP.
async fn between_http(
    arguments: &Arguments,
    faults: Vec<FaultSpec>,
    (listen, url): (SocketAddr, &str),
    stop: impl Future<Output = ()>,
) -> Result<(ProxySummary, ExitCode), Failure> {
    let mut headers = Vec::new();
    let mut server = Server::http(url);
    for header in &arguments.header {
        let (name, value) = split_header(header)?;
        server = server.header(name, value);
        headers.push((name.to_owned(), value.to_owned()));
    }
    let file = arguments.reserve()?;
    let bound = http::bind(listen, url, headers).await?;
    // Last, because old files are emptied: by now nothing else can keep the proxy from starting.
    let settings = arguments.settings(faults, &server)?;
    arguments.warn_of_losses(&settings, terminal::print_error);
    file.into_iter().for_each(OutputFile::keep);
    let proxy = bound
        .public_hosts(arguments.public_hosts.clone())
        .proxy(settings);
    let limits = proxy.limits().clone();
    serving::announce(&proxy.url(), &limits);
    let ended = proxy.run(stop).await;
    if !arguments.quiet {
        terminal::print_error(&summary_document(&ended.summary).terminal(STDERR_STYLE));
    }
    let code = code(ended.was_stopped, limits.met().is_some(), ended.status);
    Ok((ended.summary, code))
}

async fn between_pipes(
    arguments: &Arguments,
    faults: Vec<FaultSpec>,
    stop: impl Future<Output = ()>,
) -> Result<(ProxySummary, ExitCode), Failure> {
    let command = match &arguments.server {
        Some(text) => split_command(text)?,
        None => arguments.command.clone(),
    };
    let Some((program, rest)) = command.split_first() else {
        return Err(Failure::new(
            "no server given",
            "name one: `mcprove proxy -- python -m my_mcp`, or --listen 127.0.0.1:0 --url http://127.0.0.1:8080/mcp",
        ));
    };
    let mut server = supervised(Server::stdio(program))
        .args(rest.iter().cloned())
        .shutdown_timeout(arguments.shutdown_timeout);
    if let Some(suite) = &arguments.of_suite {
        server.env.clone_from(&suite.env);
        server.working_dir.clone_from(&suite.working_dir);
    }
    let file = arguments.reserve()?;
    let stderr = PatientStderr::new();
    let shown = Arc::clone(&stderr);
    let on_stderr = Arc::new(move |bytes: &[u8]| shown.write(bytes));
    let started = match stdio::start(&server, on_stderr).await {
        Ok(started) => started,
        Err(error) => {
            arguments.tell_suite(&server, &error.to_string());
            return Err(error.into());
        }
    };
    let settings = match arguments.settings(faults, &server) {
        Ok(settings) => settings,
        Err(failure) => {
            started.give_up().await;
            return Err(failure);
        }
    };
    let told = Arc::clone(&stderr);
    arguments.warn_of_losses(&settings, move |text| told.write(text.as_bytes()));
    file.into_iter().for_each(OutputFile::keep);
    let ends = (stdio::standard_input(), stdio::standard_output());
    let ended = started.run(settings, ends, stop).await;
    if !arguments.quiet {
        let summary = summary_document(&ended.summary).terminal(STDERR_STYLE);
        stderr.write(summary.as_bytes());
    }
    stderr.finish().await;
    let code = code(ended.was_stopped, false, ended.status);
    Ok((ended.summary, code))
}

impl Arguments {
    /// The arguments with what the file of `--setup` says.
    async fn set_up(&self) -> Result<Self, Failure> {
        let arguments = self.clone();
        let Some(path) = &self.setup else {
            return Ok(arguments);
        };
        let fetched = ProxySetup::fetch(path).await;
        let (setup, report) = fetched.map_err(|error| {
            Failure::new(
                format!("{}: cannot be read: {error}", path.display()),
                "a suite writes this file for each run of an agent; it is gone when the run is over",
            )
        })?;
        Ok(Self {
            server_name: setup.server_name,
            command: std::iter::once(setup.program).chain(setup.args).collect(),
            shutdown_timeout: Duration::from_millis(setup.shutdown_timeout_ms),
            fault: setup.faults,
            seed: setup.seed,
            record: Some(setup.record),
            append: true,
            quiet: true,
            of_suite: Some(OfSuite {
                env: setup.env,
                working_dir: setup.working_dir,
                secrets: setup.secrets,
                report: Arc::new(report),
            }),
            ..arguments
        })
    }

    fn all_faults(&self) -> Result<Vec<FaultSpec>, Failure> {
        let hint = "`mcprove proxy --help` lists the kinds of faults";
        let mut all = read_faults(self.faults.as_deref(), &self.fault, hint)?;
        tell_apart(all.iter_mut());
        match same_name(&all) {
            Some(name) => Err(Failure::new(
                format!("two faults are called {name:?}"),
                "give one of them another name: --fault slow:500,name=slower",
            )),
            None => Ok(all),
        }
    }

    /// The file of the recording, which keeps what it holds until there is something to write.
    fn reserve(&self) -> Result<Option<OutputFile>, Failure> {
        let record = self.record.as_deref();
        keep_apart(
            ("--record", record),
            &[("--faults", self.faults.as_deref())],
        )?;
        let file = record.map(|path| {
            OutputFile::reserve_private(path).map_err(|error| unwritable(path, &error))
        });
        file.transpose()
    }

    /// The reports at its end; what goes through it has standard output.
    fn reports(&self) -> Result<Reports, Failure> {
        let faults = ("--faults", self.faults.as_deref());
        let record = ("--record", self.record.as_deref());
        keep_apart(("--summary", self.summary.as_deref()), &[faults, record])?;
        let read: Vec<PathBuf> = self.faults.iter().chain(&self.record).cloned().collect();
        let reports = self.reports.resolve_with(false, &[], &read)?;
        match (reports.printed(), &self.summary) {
            (None | Some(ReportFormat::Terminal), Some(file)) => {
                reports.and(ReportFormat::Json, file, &read)
            }
            (None | Some(ReportFormat::Terminal), None) => Ok(reports),
            (Some(format), _) => Err(Failure::new(
                "standard output carries messages, and no report",
                format!("write it to a file: --report {}=FILE", format.name()),
            )),
        }
    }

    fn settings(&self, faults: Vec<FaultSpec>, server: &Server) -> Result<Settings, Failure> {
        let mut origin = Origin::new("proxy", &self.server_name);
        origin.target = server.describe();
        origin.seed = Some(self.seed);
        origin.faults = faults.iter().map(ToString::to_string).collect();
        let recording = self.record.as_ref().map(|path| {
            open_recording(path, self.append, &origin, &self.redactor(server))
                .map_err(|error| unwritable(path, &error))
        });
        let recording = recording.transpose()?;
        if let (Some(recording), Some(suite)) = (&recording, &self.of_suite) {
            recording.write_at_once();
            suite.report.begun();
        }
        Ok(Settings {
            server_name: self.server_name.clone(),
            faults,
            seed: self.seed,
            recording,
            counts_calls: self.summary.is_some() || self.reports.is_given(),
        })
    }

    /// Knows the secrets of the server, which may come back in what passes.
    fn redactor(&self, server: &Server) -> Redactor {
        let given = self.header.iter().filter_map(|it| it.split_once(':'));
        let given = given.map(|(_, value)| value.trim().to_owned());
        let given = given.filter(|value| is_given_secret(value));
        let of_suite = self.of_suite.iter().flat_map(|suite| suite.secrets.clone());
        server.redactor().with_secrets(given.chain(of_suite))
    }

    /// Writes down for the suite that it stands here for that there is no server: an agent need not tell.
    fn tell_suite(&self, server: &Server, why: &str) {
        let Some(suite) = &self.of_suite else { return };
        let settings = self.settings(Vec::new(), server).ok();
        if let Some(recording) = settings.and_then(|settings| settings.recording) {
            recording.crashed(why);
            if let Some(reason) = recording.finish().failure {
                suite.report.lost(&reason);
            }
        }
    }

    /// Tells at once, and not only at the end, that the recording cannot be written.
    fn warn_of_losses(&self, settings: &Settings, tell: impl Fn(&str) + Send + Sync + 'static) {
        let suite = self.of_suite.clone();
        let Some(recording) = &settings.recording else {
            return;
        };
        recording.on_failure(move |reason| {
            if let Some(suite) = &suite {
                suite.report.lost(reason);
            }
            tell(&format!(
                "mcprove: warning: the recording cannot be written: {reason}; the proxy goes on\n"
            ));
        });
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{}: cannot be written: {error}", path.display()),
        "check the path, its permissions and the space on the disk",
    )
}
