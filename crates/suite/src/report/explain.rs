//! What a run would start and reach, told from the suites alone: nothing is started, and no connection is made.

use mcprove_settings::secret::redact_text;

use super::problems::{counted, line};
use crate::agent::cassette::{FOLDER, file_name};
use crate::prelude::*;
use crate::run::TestOf;

/// What running these tests would start and reach. Variables stand as they are in the files.
pub fn suite_explanation(tests: &[TestOf<'_>], cassettes: CassetteMode, results: &Path) -> String {
    let mut text = String::new();
    for of_suite in tests.chunk_by(|one, other| one.suite == other.suite) {
        let Some(first) = of_suite.first() else {
            continue;
        };
        let run: Vec<&TestOf<'_>> = of_suite
            .iter()
            .filter(|test| test.head().skip.is_none())
            .collect();
        let skipped = of_suite.len() - run.len();
        let _ = write!(
            text,
            "{}: {}",
            line(&first.plan.file),
            counted(run.len(), "test")
        );
        if skipped > 0 {
            let _ = write!(text, ", and {skipped} skipped");
        }
        text.push('\n');
        for told in of_servers(first.plan, &run, cassettes) {
            let _ = writeln!(text, "  {told}");
        }
        for test in run {
            match test.test {
                Test::Tool(_) => {}
                Test::Agent(agent) => {
                    let told = of_agent(agent, first.plan, cassettes);
                    let _ = writeln!(text, "  agent {:?}: {told}", line(&agent.head.name));
                }
                Test::Load(load) => {
                    let (name, server) = (line(&load.head.name), line(&load.server));
                    let kind = load.config.scenario.kind.name();
                    let _ = writeln!(text, "  load {name:?}: {kind} on {server}");
                }
            }
        }
    }
    let results = results.display().to_string();
    let _ = writeln!(
        text,
        "\nResults would be written to {}. Nothing was started, and no connection was made.",
        line(&results)
    );
    text
}

/// The servers that these tests need, by name. A replay needs none.
fn of_servers(plan: &SuitePlan, run: &[&TestOf<'_>], cassettes: CassetteMode) -> Vec<String> {
    let needs = |test: &&&TestOf<'_>| match test.test {
        Test::Agent(agent) => !is_replayed(agent, plan, cassettes),
        _ => true,
    };
    let names: BTreeSet<&str> = run
        .iter()
        .filter(needs)
        .flat_map(|test| test.servers())
        .collect();
    let told = names
        .into_iter()
        .filter_map(|name| plan.servers.get(name))
        .map(|server| {
            let name = line(&server.name);
            match &server.reach {
                Reach::Mock { .. } => format!("server {name}: a mock within mcprove"),
                Reach::Server(server) => format!("server {name}: {}", of_server(server)),
            }
        });
    told.collect()
}

fn of_server(server: &Server) -> String {
    let told = server.describe();
    match &server.transport {
        Transport::Stdio => starts(&told, server.working_dir.as_deref(), &server.env),
        _ => format!("connects to {}", line(&told)),
    }
}

/// What program is started, where, and with which variables; their values may be secrets.
fn starts(command: &str, folder: Option<&Path>, variables: &BTreeMap<String, String>) -> String {
    let mut told = format!("starts `{}`", line(command));
    if let Some(folder) = folder {
        let _ = write!(told, " in {}", line(&folder.display().to_string()));
    }
    let names: Vec<String> = variables.keys().map(|name| line(name)).collect();
    if !names.is_empty() {
        let _ = write!(told, " with {} set", names.join(", "));
    }
    told
}

fn is_replayed(agent: &AgentTestPlan, plan: &SuitePlan, cassettes: CassetteMode) -> bool {
    cassettes == CassetteMode::Replay && cassette::path(agent, plan).is_file()
}

fn of_agent(agent: &AgentTestPlan, plan: &SuitePlan, cassettes: CassetteMode) -> String {
    if is_replayed(agent, plan, cassettes) {
        return format!("replays {FOLDER}/{}", line(&file_name(agent)));
    }
    let runs = match agent.runs {
        1 => String::new(),
        runs => format!(", {runs} times"),
    };
    let records = match cassettes {
        CassetteMode::Record => format!(", and records {FOLDER}/{}", line(&file_name(agent))),
        _ => String::new(),
    };
    let driver = match &agent.driver {
        Driver::Model(model) => of_model(model),
        Driver::Command(command) => of_command(command),
    };
    format!("{driver}{runs}{records}")
}

fn of_model(model: &ModelPlan) -> String {
    let entry = model.provider;
    let address = match &model.base_url {
        Some(base) => line(&redact_urls(base)),
        None => format!("{} (or what {} says)", entry.base_url, entry.base_url_env),
    };
    let key = model.api_key_env.as_deref().unwrap_or(entry.api_key_env);
    let (name, key) = (line(&model.model), line(key));
    format!("asks the model {name} at {address}, with the key in {key}")
}

fn of_command(command: &CommandPlan) -> String {
    let mut words = vec![redact_text(&command.program)];
    words.extend(redact_arguments(&command.args));
    let folder = command.working_dir.as_deref();
    starts(&words.join(" "), folder, &command.env)
}
