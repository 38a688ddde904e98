//! The `mcprove` command as its users meet it: a process with arguments, output and an exit code.

// The helpers of tests are tests too; clippy knows only the functions themselves as such.
#![allow(clippy::unwrap_used)]

#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/compare.rs"]
mod compare;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/example_config.rs"]
mod example_config;
#[path = "cli/faults_real_clients.rs"]
mod faults_real_clients;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/lab.rs"]
mod lab;
#[path = "cli/lab_audit.rs"]
mod lab_audit;
#[path = "cli/lab_audit_export.rs"]
mod lab_audit_export;
#[path = "cli/lab_audit_follow.rs"]
mod lab_audit_follow;
#[path = "cli/lab_conformance.rs"]
mod lab_conformance;
#[path = "cli/lab_real_clients.rs"]
mod lab_real_clients;
#[path = "cli/layout.rs"]
mod layout;
#[path = "cli/load_faults.rs"]
mod load_faults;
#[path = "cli/messages.rs"]
mod messages;
#[path = "cli/mock.rs"]
mod mock;
#[path = "cli/probe_built_in.rs"]
mod probe_built_in;
#[path = "cli/probe_everything.rs"]
mod probe_everything;
#[path = "cli/probe_real.rs"]
mod probe_real;
#[path = "cli/probe_start.rs"]
mod probe_start;
#[path = "cli/proxy.rs"]
mod proxy;
#[path = "cli/proxy_arguments.rs"]
mod proxy_arguments;
#[path = "cli/proxy_http.rs"]
mod proxy_http;
#[path = "cli/proxy_told.rs"]
mod proxy_told;
#[path = "cli/real_clients.rs"]
mod real_clients;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/revision.rs"]
mod revision;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/run_files.rs"]
mod run_files;
#[path = "cli/schema.rs"]
mod schema;
#[path = "cli/score.rs"]
mod score;
#[path = "cli/score_conduct.rs"]
mod score_conduct;
#[path = "cli/score_input.rs"]
mod score_input;
#[path = "cli/score_live.rs"]
mod score_live;
#[path = "cli/score_metrics.rs"]
mod score_metrics;
#[path = "cli/score_outcome.rs"]
mod score_outcome;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/trace.rs"]
mod trace;
