//! `mcprove schema`: the published JSON Schemas, generated from the types.

use clap::Args;
use mcprove_check::health::ProbeReport;
use mcprove_fault::file as faults;
use mcprove_lab::audit::{AuditList, RowComparison};
use mcprove_load::config as load;
use mcprove_load::run::{ComparisonReport, RecordingReport, Report, RunList, SideBySide, Summary};
use mcprove_proxy::ProxySummary;
use mcprove_score::report::document::ScoreDocument;
use mcprove_servers::tools_file as mock;
use mcprove_settings::registry::nearest;
use mcprove_suite::agent::cassette::Cassette;
use mcprove_suite::run::{SuiteList, SuiteReport};
use mcprove_suite::{Validation, file, gates};
use mcprove_trace::{AgentTraceFile, TraceRecord};
use schemars::{Schema, schema_for};

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::terminal;

/// A published format: its name, what it describes, and its schema.
struct Format {
    name: &'static str,
    explanation: &'static str,
    schema: fn() -> Schema,
}

const FORMATS: &[Format] = &[
    Format {
        name: "agent-trace.v1",
        explanation: "what an agent did in its runs, as `mcprove score` reads it",
        schema: || schema_for!(AgentTraceFile),
    },
    Format {
        name: "audit-comparison.v1",
        explanation: "what `mcprove lab audit FILE compare --json` and `replay --json` print",
        schema: || schema_for!(RowComparison),
    },
    Format {
        name: "audit.v1",
        explanation: "what `mcprove lab audit --json` prints; --export jsonl prints its rows",
        schema: || schema_for!(AuditList),
    },
    Format {
        name: "cassette.v1",
        explanation: "the recorded runs of an agent test, as `mcprove run --record` writes them",
        schema: || schema_for!(Cassette),
    },
    Format {
        name: "comparison.v1",
        explanation: "what `mcprove compare --json` prints",
        schema: || schema_for!(ComparisonReport),
    },
    Format {
        name: "config.v1",
        explanation: "a load configuration, as `mcprove run` reads it",
        schema: load::schema::schema,
    },
    Format {
        name: "faults.v1",
        explanation: "faults to inject, as `--faults FILE` reads them",
        schema: faults::schema,
    },
    Format {
        name: "gates.v1",
        explanation: "what `mcprove score --gates` holds traces to",
        schema: gates::schema,
    },
    Format {
        name: "metrics.v1",
        explanation: "metrics.json of a run: everything that was measured and found",
        schema: || schema_for!(Report),
    },
    Format {
        name: "mock.v1",
        explanation: "a tools file, as `mcprove mock --tools-from` reads it",
        schema: mock::schema,
    },
    Format {
        name: "probe.v1",
        explanation: "what `mcprove probe --json` prints",
        schema: || schema_for!(ProbeReport),
    },
    Format {
        name: "proxy-summary.v1",
        explanation: "what `mcprove proxy --summary FILE` writes",
        schema: || schema_for!(ProxySummary),
    },
    Format {
        name: "recording-report.v1",
        explanation: "what `mcprove report --json FILE` prints of a recording",
        schema: || schema_for!(RecordingReport),
    },
    Format {
        name: "runs.v1",
        explanation: "what `mcprove runs --json` prints",
        schema: || schema_for!(RunList),
    },
    Format {
        name: "score.v1",
        explanation: "what `mcprove score --json` prints",
        schema: || schema_for!(ScoreDocument<'static>),
    },
    Format {
        name: "side-by-side.v1",
        explanation: "what `mcprove run --json` prints of several servers",
        schema: || schema_for!(SideBySide),
    },
    Format {
        name: "suite-list.v1",
        explanation: "what `mcprove run --list --json` prints of suites",
        schema: || schema_for!(SuiteList),
    },
    Format {
        name: "suite-report.v1",
        explanation: "what `mcprove run --report json` prints of suites",
        schema: || schema_for!(SuiteReport),
    },
    Format {
        name: "suite.v1",
        explanation: "a suite, as `mcprove run` reads it",
        schema: file::schema,
    },
    Format {
        name: "summary.v1",
        explanation: "summary.json of a run: how it ended, for CI",
        schema: || schema_for!(Summary),
    },
    Format {
        name: "trace.v1",
        explanation: "one line of trace.jsonl",
        schema: || schema_for!(TraceRecord),
    },
    Format {
        name: "validation.v1",
        explanation: "what `mcprove validate --json` prints",
        schema: || schema_for!(Validation),
    },
];

const EXPLANATION: &str = "\
What it does: prints the JSON Schema of a format that mcprove reads or writes, so that editors and
other programs can check it. Without a name it lists the formats.
";

/// Arguments of `mcprove schema`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The format, with or without its version; without a name they are listed
    name: Option<String>,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    }
    let Some(name) = &arguments.name else {
        for format in FORMATS {
            terminal::print(&format!("{}  {}\n", format.name, format.explanation));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let wanted = name.strip_suffix(".v1").unwrap_or(name);
    let short_names = FORMATS
        .iter()
        .map(|format| format.name.trim_end_matches(".v1"));
    let Some(format) = FORMATS
        .iter()
        .find(|format| format.name.trim_end_matches(".v1") == wanted)
    else {
        let hint = match nearest(short_names.clone(), wanted) {
            Some(close) => format!("did you mean {close:?}?"),
            None => format!(
                "known formats: {}",
                short_names.collect::<Vec<_>>().join(", ")
            ),
        };
        return Err(Failure::new(format!("no format is called {name:?}"), hint));
    };
    let json = serde_json::to_string_pretty(&(format.schema)()).map_err(anyhow::Error::from)?;
    terminal::print(&format!("{json}\n"));
    Ok(ExitCode::SUCCESS)
}
