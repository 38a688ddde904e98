//! `mcprove mock`: a server made of a tools file, healthy or with faults.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use mcprove_fault::{FaultSpec, file as faults};
use mcprove_recording::{Origin, Recording};
use mcprove_servers::mock::{
    Bound, Eras, Mock, MockError, MockSpec, MockSummary, Options, PublicHost,
};
use mcprove_servers::tools_file as mock;
use mcprove_settings::secret::Redactor;

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::fault_help::kinds_of_faults;
use crate::output_file::keep_apart;
use crate::{interrupt, losses, serving, terminal};

const EXPLANATION: &str = "\
What it does:
  1. Reads the tools file: YAML, JSON or TOML (`mcprove schema mock` has every
     key), a recorded answer to tools/list, or a recording of
     `mcprove proxy --record` or `mcprove mock --log`, whose calls it answers as
     they were answered.
  2. Serves it over stdio, or on an address over HTTP (--http), HTTP+SSE (--sse)
     or WebSocket (--ws), in both eras of the protocol. Arguments are held to
     the schema of the tool. Over the network it answers 403 to foreign names in
     Host and Origin, unless --public-host accepts them.
  3. Lets the calls that a fault is aimed at fail. Everything but tools/call
     stays responsive, each call is on its own, and the same seed and calls meet
     the same faults.
  4. Writes every request with its time to --log FILE, as a trace that
     `mcprove score` reads.
At the end, when the client leaves or on Ctrl-C, it tells on stderr how many
calls came and what the faults did. It never calls anything itself.

Exit code: 0 the client left or Ctrl-C; 2 a file, fault or address is no good,
or the log could not be written; else 1 after the fault crash.
Knobs: --tools-from, --fault, --faults, --seed, --http, --sse, --ws,
       --public-host, --era, --log, --append.
";

/// Arguments of `mcprove mock`.
#[derive(Debug, Args)]
#[command(after_help = kinds_of_faults())]
pub struct Arguments {
    /// The tools file: YAML, JSON, TOML, or a recording
    #[arg(long, value_name = "FILE", required_unless_present = "explain")]
    tools_from: Option<PathBuf>,

    /// What goes wrong, such as hang, slow:1000 or error:-32000,tool=search,calls=1-3; repeatable
    #[arg(long = "fault", value_name = "KIND")]
    faults: Vec<String>,

    /// A file of faults (YAML or TOML, format faults.v1), before those of --fault
    #[arg(long = "faults", value_name = "FILE")]
    faults_file: Option<PathBuf>,

    /// What decides the random choices of faults
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// Serve streamable HTTP on this address, at /mcp; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["sse", "ws"])]
    http: Option<String>,

    /// Serve HTTP+SSE on this address, at /sse; of the handshake era alone
    #[arg(long, value_name = "ADDRESS", conflicts_with = "ws")]
    sse: Option<String>,

    /// Serve WebSocket on this address
    #[arg(long, value_name = "ADDRESS")]
    ws: Option<String>,

    /// Accept this name in Host and Origin, besides loopback names and the address that is listened on; repeatable
    #[arg(long = "public-host", value_name = "NAME")]
    public_hosts: Vec<PublicHost>,

    /// The eras to speak: handshake, stateless or both
    #[arg(long, default_value = "both")]
    era: Eras,

    /// Write every request with its time to this file, as a trace (format trace.v1)
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Go on with the file of --log if it is there: for clients that start their server anew
    #[arg(long, requires = "log")]
    append: bool,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Some(tools) = arguments.tools_from.as_ref().filter(|_| !arguments.explain) else {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    };
    let file = mock::read(tools).map_err(|errors| Failure::of_file(&errors.to_string()))?;
    for warning in &file.warnings {
        terminal::print_error(&format!("warning: {warning}\n"));
    }
    let faults = faults(arguments)?;
    warn_of_misses(&file.spec, &faults);
    let Arguments { http, sse, ws, .. } = arguments;
    let address = serving::address(http.as_ref(), sse.as_ref(), ws.as_ref())?;
    serving::check_public_hosts(&arguments.public_hosts, address.is_some())?;
    serving::check_era(sse.as_ref(), arguments.era)?;
    keep_apart(
        ("--log", arguments.log.as_deref()),
        &[
            ("--tools-from", arguments.tools_from.as_deref()),
            ("--faults", arguments.faults_file.as_deref()),
        ],
    )?;
    let server = file.spec.name.clone();
    let options = Options {
        eras: arguments.era,
        faults: faults.clone(),
        seed: arguments.seed,
        public_hosts: arguments.public_hosts.clone(),
        recording: None,
    };
    let mock = Mock::new(file.spec, options).map_err(|error| unmade(&error))?;
    let bound = match address {
        None => None,
        Some((kind, address)) => {
            let bound = Bound::to(address).await;
            Some((kind, bound.map_err(|error| serving::cannot_listen(&error))?))
        }
    };
    // Last, because an old log is emptied: by now nothing else can keep the mock from starting.
    let recording = recording(arguments, &server, &faults)?;
    if let Some(recording) = &recording {
        recording.on_failure(|reason| {
            let text = format!("warning: the log cannot be written: {reason}; the mock goes on\n");
            terminal::print_error(&text);
        });
        mock.record(recording.clone());
    }
    let stop = interrupt::requested();
    let status = match bound {
        None => {
            serving::explain_stdio();
            mock.serve_until(stop).await
        }
        Some((kind, bound)) => {
            let listening = mock.listen_on(kind, bound);
            serving::report_limits(listening.limits());
            terminal::print_error(&format!("listening on {}\n", listening.url()));
            let status = tokio::select! {
                status = listening.ended() => status,
                () = stop => 0,
            };
            // So that what is open has its end in the log.
            listening.shutdown().await;
            status
        }
    };
    let mut summary = mock.summary();
    summary.recording = recording.map(|recording| recording.finish());
    terminal::print_error(&describe(&summary));
    let log = arguments.log.as_ref().zip(summary.recording);
    losses::add(log.and_then(|(path, log)| log.loss(path)));
    Ok(ExitCode::of_server(status))
}

/// The faults of the file, then those of the flags.
fn faults(arguments: &Arguments) -> Result<Vec<FaultSpec>, Failure> {
    let mut all = match &arguments.faults_file {
        Some(path) => {
            faults::read_file(path).map_err(|errors| Failure::of_file(&errors.to_string()))?
        }
        None => Vec::new(),
    };
    for text in &arguments.faults {
        let fault = text.parse::<FaultSpec>().map_err(|error| {
            Failure::new(
                format!("--fault {text:?}: {error}"),
                "`mcprove mock --help` lists the faults, and how to aim them",
            )
        })?;
        all.push(fault);
    }
    Ok(all)
}

/// A fault that can strike nothing is a slip, though a client may call what is not there.
fn warn_of_misses(spec: &MockSpec, faults: &[FaultSpec]) {
    for fault in faults {
        let target = &fault.target;
        let has_tool = |name: &String| spec.tools.iter().any(|tool| tool.name() == name);
        if let Some(tool) = target.tool.as_ref().filter(|name| !has_tool(name)) {
            terminal::print_error(&format!(
                "warning: fault {fault} is aimed at {tool:?}, and there is no such tool\n"
            ));
        }
        if let Some(server) = target.server.as_ref().filter(|name| **name != spec.name) {
            terminal::print_error(&format!(
                "warning: fault {fault} is aimed at server {server:?}, and this one is {:?}\n",
                spec.name
            ));
        }
    }
}

fn recording(
    arguments: &Arguments,
    server: &str,
    faults: &[FaultSpec],
) -> Result<Option<Recording>, Failure> {
    let Some(path) = &arguments.log else {
        return Ok(None);
    };
    let mut origin = Origin::new("mock", server);
    origin.target = arguments
        .tools_from
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    origin.seed = Some(arguments.seed);
    origin.faults = faults.iter().map(ToString::to_string).collect();
    let recording = if arguments.append {
        Recording::append(path, &origin, &Redactor::of_process())
    } else {
        Recording::create(path, &origin, &Redactor::of_process())
    };
    let recording = recording.map_err(|error| {
        Failure::new(
            format!("cannot write {}: {error}", path.display()),
            "check that the folder exists and can be written to",
        )
    })?;
    Ok(Some(recording))
}

fn unmade(error: &MockError) -> Failure {
    Failure::new(error.to_string(), "mend the tools file")
}

/// The end, for people.
fn describe(summary: &MockSummary) -> String {
    let calls = match summary.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let mut text = format!("mock: {calls}\n");
    for fault in &summary.faults {
        let kind = fault.kind.name().replace('_', "-");
        let name = if fault.fault == fault.kind.name() {
            kind
        } else {
            format!("{} ({kind})", fault.fault)
        };
        let _ = writeln!(text, "  {name}: struck {} of {}", fault.struck, fault.aimed);
    }
    if let Some(recording) = &summary.recording {
        let (all, missing) = (recording.requests, recording.unrecorded);
        let _ = match missing {
            0 => writeln!(text, "  log: {all} requests"),
            missing => writeln!(text, "  log: {} of {all} requests", all - missing),
        };
    }
    text
}
