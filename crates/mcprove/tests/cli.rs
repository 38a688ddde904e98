//! The `mcprove` command as its users meet it: a process with arguments, output and an exit code.

// The helpers of tests are tests too; clippy knows only the functions themselves as such.
#![allow(clippy::unwrap_used)]

#[path = "cli/agent_command.rs"]
mod agent_command;
#[path = "cli/agreement.rs"]
mod agreement;
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
#[path = "cli/harmless.rs"]
mod harmless;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/hidden_characters.rs"]
mod hidden_characters;
#[path = "cli/hints.rs"]
mod hints;
#[path = "cli/init.rs"]
mod init;
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
#[cfg(unix)]
#[path = "cli/linked_files.rs"]
mod linked_files;
#[path = "cli/load_faults.rs"]
mod load_faults;
#[path = "cli/losses.rs"]
mod losses;
#[path = "cli/messages.rs"]
mod messages;
#[path = "cli/mock.rs"]
mod mock;
#[cfg(unix)]
#[path = "cli/own_limits.rs"]
mod own_limits;
#[path = "cli/permission.rs"]
mod permission;
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
#[path = "cli/samples.rs"]
mod samples;
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
#[path = "cli/scripted.rs"]
mod scripted;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/suites.rs"]
mod suites;
#[path = "cli/suites_agents.rs"]
mod suites_agents;
#[path = "cli/suites_cut.rs"]
mod suites_cut;
#[path = "cli/suites_examples.rs"]
mod suites_examples;
#[path = "cli/suites_killed.rs"]
mod suites_killed;
#[path = "cli/suites_live.rs"]
mod suites_live;
#[path = "cli/suites_mock_faults.rs"]
mod suites_mock_faults;
#[path = "cli/suites_real_servers.rs"]
mod suites_real_servers;
#[path = "cli/suites_replayed.rs"]
mod suites_replayed;
#[path = "cli/suites_secrets.rs"]
mod suites_secrets;
#[path = "cli/suites_strangers.rs"]
mod suites_strangers;
#[path = "cli/suites_told.rs"]
mod suites_told;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/trace.rs"]
mod trace;
#[path = "cli/validate.rs"]
mod validate;
