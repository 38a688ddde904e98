//! `mcprove proxy`: between any client and any server, to record and to inject faults.

use mcprove_fault::file::same_name;
use mcprove_fault::make_distinct;
use mcprove_proxy::{Ended, Settings, http, stdio, summary_document};
use mcprove_suite::agent::command::{ProxySetup, RecordingReport};

use crate::load_arguments::ExitTable;
use crate::patient_stderr::PatientStderr;
use crate::prelude::*;
use crate::target::ServerArguments;

/// Arguments of `mcprove proxy`.
#[derive(Debug, Args)]
#[command(after_help = kinds_of_faults())]
#[command(mut_arg("url", |it| it.requires("listen")))]
pub struct Arguments {
    #[command(flatten)]
    faults: FaultArguments,

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

    #[command(flatten)]
    exit: SettingFlags<ExitTable>,

    /// Listen for HTTP on this address, such as 127.0.0.1:8080 or 8080; port 0 takes
    /// any free one
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "url",
        conflicts_with_all = ["command", "server"],
        value_parser = serving::parse_address
    )]
    listen: Option<SocketAddr>,

    /// Accept this name in Host and Origin, besides loopback names and the address that is listened on; repeatable
    #[arg(long = "public-host", value_name = "NAME", requires = "listen")]
    public_hosts: Vec<PublicHost>,

    #[command(flatten)]
    server: ServerArguments,

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
}

/// What a suite says of a server, which has no flags.
#[derive(Debug)]
struct OfSuite {
    env: BTreeMap<String, String>,
    working_dir: Option<PathBuf>,
    shutdown_timeout: Duration,
    /// What must not be written down.
    secrets: Vec<String>,
    /// Who is told what becomes of the recording.
    report: Arc<RecordingReport>,
}

/// Runs the command.
pub async fn run(mut arguments: Box<Arguments>) -> Result {
    arguments.set_up().await?;
    let faults = arguments.all_faults()?;
    let stop = interrupt::requested();
    let reports = arguments.reports()?;
    let server = arguments.server()?;
    let (ended, ran_out) = match arguments.listen {
        Some(address) => between_http(&arguments, faults, (address, &server), stop).await?,
        None => (
            between_pipes(&arguments, faults, &server, stop).await?,
            false,
        ),
    };
    let summary = &ended.summary;
    let recorded = arguments.record.as_ref().zip(summary.recording.as_ref());
    losses::add(recorded.and_then(|(path, recording)| recording.loss(path)));
    let document = summary_document(summary);
    let json = summary.to_json();
    reports.write(|format, style| drawn(&document, &json, format, style));
    Ok(ExitCode::worst([
        (ended.was_stopped, ExitCode::Interrupted),
        (ran_out, ExitCode::CouldNotRun),
        (true, ExitCode::of_server(ended.status)),
    ]))
}

/// The proxy over HTTP: how it ended, and whether it ran out of something itself.
async fn between_http(
    arguments: &Arguments,
    faults: Vec<FaultSpec>,
    (listen, server): (SocketAddr, &Server),
    stop: impl Future<Output = ()>,
) -> Result<(Ended, bool)> {
    let (url, headers) = server.transport.address().unzip();
    let headers = headers.cloned().unwrap_or_default().into_iter().collect();
    let file = arguments.reserve()?;
    let proxy = http::listen(listen, url.map_or("", String::as_str), headers).await?;
    // Last, because old files are emptied: by now nothing else can keep the proxy from starting.
    let settings = arguments.settings(faults, server)?;
    arguments.warn_of_losses(&settings, terminal::print_error);
    file.into_iter().for_each(OutputFile::keep);
    let proxy = proxy.public_hosts(arguments.public_hosts.clone());
    let limits = proxy.limits().clone();
    serving::announce(&proxy.url(), &limits);
    let ended = proxy.run(settings, stop).await;
    if !arguments.quiet {
        terminal::print_error(&summary_document(&ended.summary).terminal(terminal::STDERR_STYLE));
    }
    Ok((ended, limits.met().is_some()))
}

async fn between_pipes(
    arguments: &Arguments,
    faults: Vec<FaultSpec>,
    server: &Server,
    stop: impl Future<Output = ()>,
) -> Result<Ended> {
    let file = arguments.reserve()?;
    let stderr = PatientStderr::new();
    let shown = Arc::clone(&stderr);
    let on_stderr = Arc::new(move |bytes: &[u8]| shown.write(bytes));
    let started = stdio::start(server, on_stderr).await;
    let started =
        started.inspect_err(|error| arguments.report_to_suite(server, &error.to_string()))?;
    let settings = match arguments.settings(faults, server) {
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
        let summary = summary_document(&ended.summary).terminal(terminal::STDERR_STYLE);
        stderr.write(summary.as_bytes());
    }
    stderr.finish().await;
    Ok(ended)
}

impl Arguments {
    /// Takes over what the file of `--setup` says.
    async fn set_up(&mut self) -> Result<()> {
        let Some(path) = &self.setup else {
            return Ok(());
        };
        let (setup, report) = ProxySetup::fetch(path).await.map_err(|error| {
            Failure::new(
                format!("{}: cannot be read: {error}", path.display()),
                "a suite writes this file for each run of an agent; it is gone when the run is over",
            )
        })?;
        self.server_name = setup.server_name;
        self.server.command = std::iter::once(setup.program).chain(setup.args).collect();
        self.faults.fault = setup.faults;
        self.faults.seed = setup.seed;
        self.record = Some(setup.record);
        self.append = true;
        self.quiet = true;
        self.of_suite = Some(OfSuite {
            env: setup.env,
            working_dir: setup.working_dir,
            shutdown_timeout: Duration::from_millis(setup.shutdown_timeout_ms),
            secrets: setup.secrets,
            report: Arc::new(report),
        });
        Ok(())
    }

    /// The server that it stands before.
    fn server(&self) -> Result<Server> {
        if !self.server.is_given() {
            return refuse(
                "no server given",
                "name one: `mcprove proxy -- python -m my_mcp`, or --listen 127.0.0.1:0 --url http://127.0.0.1:8080/mcp",
            );
        }
        let mut server = self.server.resolve(&[&self.exit])?;
        if let Some(suite) = &self.of_suite {
            server.env.clone_from(&suite.env);
            server.working_dir.clone_from(&suite.working_dir);
            server.shutdown_timeout = suite.shutdown_timeout;
        }
        Ok(server)
    }

    fn all_faults(&self) -> Result<Vec<FaultSpec>> {
        let mut all = self.faults.read()?;
        make_distinct(all.iter_mut());
        match same_name(&all) {
            Some(name) => refuse(
                format!("two faults are called {name:?}"),
                "give one of them another name: --fault slow:500,name=slower",
            ),
            None => Ok(all),
        }
    }

    /// The file of the recording, which keeps what it holds until there is something to write.
    fn reserve(&self) -> Result<Option<OutputFile>> {
        let record = self.record.as_deref();
        let faults = ("--faults", self.faults.faults.as_deref());
        keep_apart(("--record", record), &[faults])?;
        let file =
            record.map(|path| OutputFile::reserve_private(path).map_err(Failure::unwritten(path)));
        file.transpose()
    }

    /// The reports at its end; what goes through it has standard output.
    fn reports(&self) -> Result<Reports> {
        let file = &self.faults.faults;
        let faults = ("--faults", file.as_deref());
        let record = ("--record", self.record.as_deref());
        keep_apart(("--summary", self.summary.as_deref()), &[faults, record])?;
        let read: Vec<PathBuf> = file.iter().chain(&self.record).cloned().collect();
        let reports = self.reports.resolve_to_files(&read)?;
        match &self.summary {
            Some(file) => reports.and(ReportFormat::Json, file, &read),
            None => Ok(reports),
        }
    }

    fn settings(&self, faults: Vec<FaultSpec>, server: &Server) -> Result<Settings> {
        let origin = Origin {
            target: server.describe(),
            ..Origin::new("proxy", &self.server_name)
        };
        let file = (self.record.as_deref(), self.append);
        let redactor = self.redactor(server);
        let recording = self
            .faults
            .open_recording(file, origin, &faults, &redactor)?;
        if let (Some(recording), Some(suite)) = (&recording, &self.of_suite) {
            recording.write_at_once();
            suite.report.begun();
        }
        Ok(Settings {
            server_name: self.server_name.clone(),
            faults,
            seed: self.faults.seed,
            recording,
            counts_calls: self.summary.is_some() || self.reports.is_given(),
        })
    }

    /// Knows the secrets of the server, which may come back in what passes.
    fn redactor(&self, server: &Server) -> Redactor {
        let of_suite = self.of_suite.iter().flat_map(|suite| suite.secrets.clone());
        let given = self.server.given_secrets().chain(of_suite);
        server.redactor().with_secrets(given)
    }

    /// Writes down for the suite that it stands here for that there is no server: an agent need not tell.
    fn report_to_suite(&self, server: &Server, why: &str) {
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
        let Some(recording) = &settings.recording else {
            return;
        };
        let report = self
            .of_suite
            .as_ref()
            .map(|suite| Arc::clone(&suite.report));
        recording.on_failure(move |reason| {
            if let Some(report) = &report {
                report.lost(reason);
            }
            tell(&format!(
                "mcprove: warning: the recording cannot be written: {reason}; the proxy goes on\n"
            ));
        });
    }
}
