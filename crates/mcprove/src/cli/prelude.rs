//! What most commands use: their arguments, servers, what is printed and written, and how they end.

pub use std::fmt::Write as _;
pub use std::io::IsTerminal;
pub use std::net::SocketAddr;
pub use std::str::FromStr;

pub use clap::{ArgAction, ArgMatches, Args, Subcommand, ValueEnum};
pub use mcprove_check::health::{self, ProbeOptions};
pub use mcprove_check::report::probe_document;
pub use mcprove_client::permission::{Allowance, RULE};
pub use mcprove_client::server::Server;
pub use mcprove_client::session::{ProtocolChoice, SessionOptions};
pub use mcprove_document::block::Section;
pub use mcprove_document::style::Style;
pub use mcprove_fault::FaultSpec;
pub use mcprove_lab::audit::{AuditError, AuditReader, Filter, Order, RowComparison};
pub use mcprove_load::config::LoadConfig;
pub use mcprove_load::drive::Stop;
pub use mcprove_load::report::progress_line;
pub use mcprove_load::run::{
    CompareError, ComparisonReport, FormatError, Run, RunDirectory, RunList, SideBySide,
};
pub use mcprove_recording::{Origin, Recording};
pub use mcprove_score::report::{Scored, score_document};
pub use mcprove_servers::hosting::PublicHost;
pub use mcprove_settings::error::ConfigErrors;
pub use mcprove_settings::input;
pub use mcprove_settings::kind;
pub use mcprove_settings::printable::{escape_hidden, printable, printable_json};
pub use mcprove_settings::reader::meant;
pub use mcprove_settings::registry::{did_you_mean, nearest};
pub use mcprove_settings::setting::{Setting, Settings, reads};
pub use mcprove_settings::whole_file::write_whole;
pub use mcprove_suite::plan::Environment;
pub use mcprove_suite::run::{CassetteMode, LAST_FAILED_FILE, SuiteList, SuiteReport};
pub use mcprove_suite::traces::Traces;
pub use mcprove_suite::{FileKind, Recognised, gates, recognise_file};
pub use mcprove_trace::prelude::*;

pub use crate::exit::ExitCode;
pub use crate::failure::{Failure, Result, refuse};
pub use crate::fault_arguments::{FaultArguments, kinds_of_faults};
pub use crate::load_arguments::{LoadArguments, LoadFlags, OutputArguments, SettingFlags};
pub use crate::load_run::stop_on_interrupt;
pub use crate::output_file::{OutputFile, keep_apart};
pub use crate::reports::{ReportArguments, ReportFormat, Reports, drawn, json};
pub use crate::serving::ListenArguments;
pub use crate::target::{TargetArguments, supervised};
pub use crate::terminal::{StatusLine, printable_lines};
pub(crate) use crate::{interrupt, losses, serving, terminal};
