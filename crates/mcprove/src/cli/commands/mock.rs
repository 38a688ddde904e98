//! `mcprove mock`: a server made of a tools file, healthy or with faults.

use mcprove_document::block::{Document, Tone, Verdict};
use mcprove_servers::mock::{Bound, Mock, MockOptions, MockSpec, MockSummary};
use mcprove_servers::tools_file as mock;
use mcprove_settings::phrase::count;

use crate::prelude::*;

/// Arguments of `mcprove mock`.
#[derive(Debug, Args)]
#[command(after_help = kinds_of_faults())]
pub struct Arguments {
    /// The tools file: YAML, JSON, TOML, or a recording
    #[arg(
        long,
        value_name = "FILE",
        required = false,
        required_unless_present = "explain"
    )]
    tools_from: PathBuf,

    #[command(flatten)]
    faults: FaultArguments,

    #[command(flatten)]
    listen: ListenArguments,

    /// Write every request with its time to this file, as a trace (format trace.v1)
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Go on with the file of --log if it is there: for clients that restart their server
    #[arg(long, requires = "log")]
    append: bool,

    #[command(flatten)]
    reports: ReportArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let file = mock::read(&arguments.tools_from)?;
    for warning in &file.warnings {
        terminal::warn(warning);
    }
    let faults = arguments.faults.read()?;
    warn_of_misses(&file.spec, &faults);
    let address = arguments.listen.given()?;
    keep_apart(
        ("--log", arguments.log.as_deref()),
        &[
            ("--tools-from", Some(arguments.tools_from.as_path())),
            ("--faults", arguments.faults.faults.as_deref()),
        ],
    )?;
    let flags = &arguments.faults;
    let read = [
        Some(&arguments.tools_from),
        flags.faults.as_ref(),
        arguments.log.as_ref(),
    ];
    let read: Vec<PathBuf> = read.into_iter().flatten().cloned().collect();
    let reports = arguments.reports.resolve_to_files(&read)?;
    let server = file.spec.name.clone();
    let options = MockOptions {
        eras: arguments.listen.address.era,
        faults: faults.clone(),
        seed: arguments.faults.seed,
        public_hosts: arguments.listen.public_hosts.clone(),
        recording: None,
    };
    let mock = Mock::new(file.spec, options)
        .map_err(|error| Failure::new(error.to_string(), "fix the tools file"))?;
    let bound = match address {
        None => None,
        Some((kind, address)) => Some((kind, Bound::to(address).await?)),
    };
    // Last, because an old log is emptied: by now nothing else can keep the mock from starting.
    let origin = Origin {
        target: arguments.tools_from.display().to_string(),
        ..Origin::new("mock", &server)
    };
    let file = (arguments.log.as_deref(), arguments.append);
    let redactor = Redactor::of_process();
    let recording = flags.open_recording(file, origin, &faults, &redactor)?;
    if let Some(recording) = &recording {
        recording.on_failure(|reason| {
            terminal::warn(&format!(
                "the log cannot be written: {reason}; the mock goes on"
            ));
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
            serving::announce(&listening.url(), listening.limits());
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
    let document = summary_document(&summary, server);
    terminal::print_error(&document.terminal(terminal::STDERR_STYLE));
    let json = json(&summary)?;
    reports.write(|format, style| drawn(&document, &json, format, style));
    let log = arguments.log.as_ref().zip(summary.recording);
    losses::add(log.and_then(|(path, log)| log.loss(path)));
    Ok(ExitCode::of_server(status))
}

/// A fault that can strike nothing is a slip, though a client may call what is not there.
fn warn_of_misses(spec: &MockSpec, faults: &[FaultSpec]) {
    for fault in faults {
        let target = &fault.target;
        let has_tool = |name: &String| spec.tools.iter().any(|tool| tool.name() == name);
        if let Some(tool) = target.tool.as_ref().filter(|name| !has_tool(name)) {
            let missing = "and there is no such tool";
            terminal::warn(&format!("fault {fault} is aimed at {tool:?}, {missing}"));
        }
        if let Some(server) = target.server.as_ref().filter(|name| **name != spec.name) {
            let own = &spec.name;
            terminal::warn(&format!(
                "fault {fault} is aimed at server {server:?}, and this one is {own:?}"
            ));
        }
    }
}

/// The end, for people.
fn summary_document(summary: &MockSummary, server: String) -> Document {
    let faults = summary.faults.iter().map(|fault| {
        let kind = fault.kind.name().replace('_', "-");
        let name = if fault.fault == fault.kind.name() {
            kind
        } else {
            format!("{} ({kind})", fault.fault)
        };
        format!("{name}: struck {} of {}", fault.struck, fault.aimed)
    });
    let log = summary.recording.iter().map(|log| match log.unrecorded {
        0 => format!("log: {} requests", log.requests),
        missing => format!(
            "log: {} of {} requests",
            log.requests - missing,
            log.requests
        ),
    });
    let calls = count(summary.calls, "call");
    Document {
        title: format!("Mock of {server}"),
        subject: vec![server],
        verdict: Some(Verdict::new(Tone::Neutral, "MOCK", calls)),
        sections: vec![Section::default().list(faults.chain(log))],
        ..Document::default()
    }
}
