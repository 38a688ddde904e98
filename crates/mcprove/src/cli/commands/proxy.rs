//! `mcprove proxy`: between any client and any server, to record and to inject faults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use mcprove_client::server::Server;
use mcprove_document::style::Style;
use mcprove_fault::{FaultSpec, file as faults, tell_apart};
use mcprove_proxy::{ProxySummary, Settings, http, stdio, summary_document};
use mcprove_recording::{Origin, Recording};
use mcprove_servers::hosting::PublicHost;
use mcprove_settings::quantity::parse_duration;
use mcprove_settings::secret::{Redactor, is_given_secret};
use mcprove_suite::agent::command::{ProxySetup, RecordingReport};

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::fault_help::kinds_of_faults;
use crate::output_file::{OutputFile, keep_apart};
use crate::patient_stderr::PatientStderr;
use crate::reports::{ReportArguments, ReportFormat, Reports, drawn};
use crate::target::{split_command, supervised};
use crate::{interrupt, listen_address, losses, serving, terminal};

/// How the summary is drawn on standard error.
const STDERR_STYLE: Style = Style::plain(80);

const EXPLANATION: &str = "\
What it does:
  1. Stands between a client and a server. With --server, or after `--`, it
     starts the server and speaks for it on its own standard streams: put
     `mcprove proxy --` before the command in the client's configuration. With
     --listen and --url, it listens for HTTP and speaks to the server at the
     address; a foreign Host or Origin gets 403, unless --public-host accepts
     it.
  2. Passes everything on as it is. Without --fault, --faults, --record and
     --summary it looks at nothing.
  3. With --fault or --faults, lets faults strike calls of tools, each call by
     itself: nothing else waits. The same calls meet the same faults in every
     run with the same --seed.
  4. With --record, writes the traffic to a file (format trace.v1) that
     `mcprove score`, `mcprove report` and `mcprove mock --tools-from` read.
     Headers are not recorded; secrets of the server and of the environment are
     redacted.
  5. At the end, tells on stderr what passed, which faults struck, and what the
     client did next after each: retried, repeated a lost write, went on with
     another tool, gave up. With --summary also as JSON (proxy-summary.v1).

Knobs: --fault, --faults, --seed, --server-name, --record, --append, --summary,
--server, --listen, --public-host, --url, --header, --shutdown-timeout, --quiet.

Exit code, over stdio: that of the server, or 128 and the signal that killed
it; 1 after the fault `crash`. Over HTTP: 1 after the fault `crash`. Both: 130
when interrupted, which is how a proxy over HTTP usually ends; else 2 when the
server cannot be started, the address cannot be listened on, a file could not be
written, or the proxy itself ran out of something, such as file descriptors.

";

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

    /// What decides for faults that strike by chance
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// The name of the server, at which faults can be aimed
    #[arg(long, value_name = "NAME", default_value = "server")]
    server_name: String,

    /// Write the traffic to this file (format trace.v1)
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Go on with the file of --record if it is there: for clients that start their server anew
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

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,

    /// Take everything from this file: how suites put a proxy before the servers of an agent
    #[arg(
        long,
        hide = true,
        value_name = "FILE",
        conflicts_with_all = ["command", "server", "listen", "fault", "faults", "record"]
    )]
    setup: Option<PathBuf>,

    /// Variables of the server, from `--setup`.
    #[arg(skip)]
    server_env: BTreeMap<String, String>,

    /// The folder that the server starts in, from `--setup`.
    #[arg(skip)]
    server_dir: Option<PathBuf>,

    /// What must not be written down, from `--setup`.
    #[arg(skip)]
    secrets: Vec<String>,

    /// Who is told what becomes of the recording, from `--setup`.
    #[arg(skip)]
    report: Option<Arc<RecordingReport>>,

    /// The command that starts the server, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(&format!("{EXPLANATION}{}\n", kinds_of_faults()));
        return Ok(ExitCode::SUCCESS);
    }
    let set_up = arguments.set_up().await?;
    let arguments = &set_up;
    let faults = arguments.all_faults()?;
    let stop = interrupt::requested();
    let pair = arguments.listen.zip(arguments.url.as_deref());
    let reports = arguments.reports()?;
    let (summary, was_stopped, status, ran_out) = if let Some(pair) = pair {
        let (ended, ran_out) = between_http(arguments, faults, pair, stop).await?;
        (ended.summary, ended.was_stopped, ended.status, ran_out)
    } else {
        let ended = between_pipes(arguments, faults, stop).await?;
        (ended.summary, ended.was_stopped, ended.status, false)
    };
    arguments.keep(&summary, &reports);
    Ok(ExitCode::worst([
        (was_stopped, ExitCode::Interrupted),
        (ran_out, ExitCode::CouldNotRun),
        (status != 0, ExitCode::of_server(status)),
    ]))
}

/// The proxy over HTTP, and whether it ran out of something itself.
async fn between_http(
    arguments: &Arguments,
    faults: Vec<FaultSpec>,
    (listen, url): (SocketAddr, &str),
    stop: impl Future<Output = ()>,
) -> Result<(http::Ended, bool), Failure> {
    let headers = arguments.headers()?;
    let mut server = Server::http(url);
    for (name, value) in &headers {
        server = server.header(name, value);
    }
    let files = arguments.files()?;
    let bound = http::bind(listen, url, headers)
        .await
        .map_err(|error| Failure::new(error.to_string(), error.hint()))?;
    // Last, because old files are emptied: by now nothing else can keep the proxy from starting.
    let settings = arguments.settings(faults, &server)?;
    warn_of_losses(&settings, None, terminal::print_error);
    files.into_iter().for_each(OutputFile::keep);
    let proxy = bound
        .public_hosts(arguments.public_hosts.clone())
        .proxy(settings);
    terminal::print_error(&format!("listening on {}\n", proxy.url()));
    let limits = proxy.limits().clone();
    serving::report_limits(&limits);
    let ended = proxy.run(stop).await;
    if !arguments.quiet {
        terminal::print_error(&summary_document(&ended.summary).terminal(STDERR_STYLE));
    }
    Ok((ended, limits.met().is_some()))
}

async fn between_pipes(
    arguments: &Arguments,
    faults: Vec<FaultSpec>,
    stop: impl Future<Output = ()>,
) -> Result<stdio::Ended, Failure> {
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
    server.env.clone_from(&arguments.server_env);
    server.working_dir.clone_from(&arguments.server_dir);
    let files = arguments.files()?;
    let stderr = PatientStderr::new().map_err(anyhow::Error::from)?;
    let on_stderr = {
        let stderr = Arc::clone(&stderr);
        Arc::new(move |bytes: &[u8]| stderr.write(bytes))
    };
    let started = match stdio::start(&server, on_stderr).await {
        Ok(started) => started,
        Err(error) => {
            arguments.tell_suite(&server, &error.to_string());
            return Err(Failure::new(error.to_string(), error.hint()));
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
    let report = arguments.report.as_ref();
    warn_of_losses(&settings, report, move |text| told.write(text.as_bytes()));
    files.into_iter().for_each(OutputFile::keep);
    let ends = (stdio::standard_input(), stdio::standard_output());
    let ended = started.run(settings, ends, stop).await;
    if !arguments.quiet {
        stderr.write(
            summary_document(&ended.summary)
                .terminal(STDERR_STYLE)
                .as_bytes(),
        );
    }
    stderr.finish().await;
    Ok(ended)
}

impl Arguments {
    /// The arguments with what the file of `--setup` says.
    async fn set_up(&self) -> Result<Self, Failure> {
        let mut arguments = self.clone();
        let Some(path) = &self.setup else {
            return Ok(arguments);
        };
        let unreadable = |error: String| {
            Failure::new(
                format!("{}: cannot be read: {error}", path.display()),
                "a suite writes this file for each run of an agent; it is gone when the run is over",
            )
        };
        let setup = ProxySetup::fetch(path).await;
        let (setup, report) = setup.map_err(|error| unreadable(error.to_string()))?;
        arguments.report = Some(Arc::new(report));
        arguments.server_name = setup.server_name;
        arguments.command = std::iter::once(setup.program).chain(setup.args).collect();
        arguments.server_env = setup.env;
        arguments.server_dir = setup.working_dir;
        arguments.secrets = setup.secrets;
        arguments.shutdown_timeout = Duration::from_millis(setup.shutdown_timeout_ms);
        arguments.fault = setup.faults;
        arguments.seed = setup.seed;
        arguments.record = Some(setup.record);
        arguments.append = true;
        arguments.quiet = true;
        Ok(arguments)
    }

    fn all_faults(&self) -> Result<Vec<FaultSpec>, Failure> {
        let mut all = match &self.faults {
            Some(path) => {
                faults::read_file(path).map_err(|errors| Failure::of_file(&errors.to_string()))?
            }
            None => Vec::new(),
        };
        for text in &self.fault {
            let fault = text.parse::<FaultSpec>().map_err(|error| {
                Failure::new(
                    format!("--fault {text:?}: {error}"),
                    "`mcprove proxy --help` lists the kinds of faults",
                )
            })?;
            all.push(fault);
        }
        tell_apart(all.iter_mut());
        if let Some(name) = faults::same_name(&all) {
            return Err(Failure::new(
                format!("two faults are called {name:?}"),
                "give one of them another name: --fault slow:500,name=slower",
            ));
        }
        Ok(all)
    }

    fn headers(&self) -> Result<Vec<(String, String)>, Failure> {
        let split = |header: &String| {
            let pair = header.split_once(':');
            let pair = pair.filter(|(name, _)| !name.trim().is_empty());
            pair.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .ok_or_else(|| {
                    let shown = mcprove_settings::secret::redact_text(header);
                    Failure::new(
                        format!("--header {shown:?} is not of the form \"Name: value\""),
                        "write --header \"Name: value\"",
                    )
                })
        };
        self.header.iter().map(split).collect()
    }

    /// The files that it writes, which keep what they hold until there is something to write.
    fn files(&self) -> Result<Vec<OutputFile>, Failure> {
        let faults = ("--faults", self.faults.as_deref());
        let record = ("--record", self.record.as_deref());
        keep_apart(record, &[faults])?;
        let record = self.record.as_deref();
        let record = record.map(|path| (path, OutputFile::reserve_private(path)));
        let files = record.into_iter();
        files
            .map(|(path, file)| file.map_err(|error| unwritable(path, &error)))
            .collect()
    }

    /// The reports at its end; what goes through it has standard output.
    fn reports(&self) -> Result<Reports, Failure> {
        let faults = ("--faults", self.faults.as_deref());
        let record = ("--record", self.record.as_deref());
        keep_apart(("--summary", self.summary.as_deref()), &[faults, record])?;
        let read: Vec<PathBuf> = self.faults.iter().chain(&self.record).cloned().collect();
        let reports = self.reports.resolve_with(false, &[], &read)?;
        match reports.printed() {
            None | Some(ReportFormat::Terminal) => match &self.summary {
                Some(file) => reports.and(ReportFormat::Json, file, &read),
                None => Ok(reports),
            },
            Some(format) => Err(Failure::new(
                "standard output carries messages, and no report",
                format!("write it to a file: --report {}=FILE", format.name()),
            )),
        }
    }

    fn settings(&self, faults: Vec<FaultSpec>, server: &Server) -> Result<Settings, Failure> {
        let redactor = self.redactor(server);
        let mut origin = Origin::new("proxy", &self.server_name);
        origin.target = server.describe();
        origin.seed = Some(self.seed);
        origin.faults = faults.iter().map(ToString::to_string).collect();
        let recording = match &self.record {
            Some(path) => {
                let recording = if self.append {
                    Recording::append(path, &origin, &redactor)
                } else {
                    Recording::create(path, &origin, &redactor)
                };
                Some(recording.map_err(|error| unwritable(path, &error))?)
            }
            None => None,
        };
        if let (Some(recording), Some(report)) = (&recording, &self.report) {
            recording.write_at_once();
            report.begun();
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
        let given = self
            .header
            .iter()
            .filter_map(|header| header.split_once(':'));
        let given = given.map(|(_, value)| value.trim().to_owned());
        let given = given.filter(|value| is_given_secret(value));
        server
            .redactor()
            .with_secrets(given.chain(self.secrets.iter().cloned()))
    }

    /// Writes down for the suite that it stands here for that there is no server: an agent need not tell.
    fn tell_suite(&self, server: &Server, why: &str) {
        let Some(report) = &self.report else { return };
        let settings = self.settings(Vec::new(), server).ok();
        if let Some(recording) = settings.and_then(|settings| settings.recording) {
            recording.crashed(why);
            if let Some(reason) = recording.finish().failure {
                report.lost(&reason);
            }
        }
    }

    /// Writes how it went to the file for it, and notes what is missing in the recording.
    fn keep(&self, summary: &ProxySummary, reports: &Reports) {
        let recorded = self.record.as_ref().zip(summary.recording.as_ref());
        let loss = recorded.and_then(|(path, recording)| recording.loss(path));
        if let Some(loss) = loss {
            losses::add([loss]);
        }
        let document = summary_document(summary);
        let json = summary.to_json();
        reports.write(|format, style| drawn(&document, &json, format, style));
    }
}

/// Tells at once, and not only at the end, that the recording cannot be written.
fn warn_of_losses(
    settings: &Settings,
    report: Option<&Arc<RecordingReport>>,
    tell: impl Fn(&str) + Send + Sync + 'static,
) {
    let report = report.cloned();
    if let Some(recording) = &settings.recording {
        recording.on_failure(move |reason| {
            let text = format!(
                "mcprove: warning: the recording cannot be written: {reason}; the proxy goes on\n"
            );
            if let Some(report) = &report {
                report.lost(reason);
            }
            tell(&text);
        });
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{}: cannot be written: {error}", path.display()),
        "check the path, its permissions and the space on the disk",
    )
}
