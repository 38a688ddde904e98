//! Agents that are processes: proxies stand before their servers, and tell what they did.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mcprove::Diagnostic;
use mcprove_client::server::Server;
use mcprove_load::config::SessionSettings;
use mcprove_score::agent::recovery::observe_run;
use mcprove_score::gate::Gates;
use mcprove_servers::mock::{MockSpec, ToolSpec};
use mcprove_settings::error::SourcePlace;
use mcprove_suite::agent::command::{CommandContext, CommandRun, run_once};
use mcprove_suite::plan::{
    AgentTestPlan, Budget, CommandPlan, Driver, Environment, Reach, ServerPlan, TestHead,
};
use mcprove_trace::StopReason;

use crate::support::{MCPROVE, TRANSCRIPT_FILTERS, assert_snapshot};

const PLACE: SourcePlace = SourcePlace { line: 1, column: 1 };

fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap().to_owned()
}

fn python() -> Option<&'static str> {
    let name = if cfg!(windows) { "python" } else { "python3" };
    let output = std::process::Command::new(name).arg("--version").output();
    harness::require(name, output.is_ok_and(|it| it.status.success())).then_some(name)
}

fn server(name: &str, reach: Reach) -> ServerPlan {
    ServerPlan {
        name: name.to_owned(),
        place: PLACE,
        reach,
        session: SessionSettings::default(),
        parallel: 8,
        is_fresh: false,
        min_coverage: None,
    }
}

/// The built-in server as a process.
fn process(name: &str) -> ServerPlan {
    let server_process = Server::stdio(MCPROVE)
        .args(["fixture", "normal"])
        .env("DATABASE_PASSWORD", "${DATABASE_PASSWORD}");
    server(name, Reach::Server(server_process))
}

fn mock(name: &str) -> ServerPlan {
    let tool = ToolSpec::new("weather").answering("sunny").unwrap();
    let reach = Reach::Mock {
        spec: Box::new(MockSpec::new(name).with_tool(tool)),
        faults: Vec::new(),
    };
    server(name, reach)
}

struct Agent {
    program: String,
    args: Vec<String>,
    prompt: &'static str,
    faults: &'static [&'static str],
    time: Duration,
}

impl Agent {
    fn new(program: &str, args: &[&str]) -> Self {
        Self {
            program: program.to_owned(),
            args: args.iter().map(|it| (*it).to_owned()).collect(),
            prompt: "Please echo this.",
            faults: &[],
            time: Duration::from_mins(1),
        }
    }

    /// The example.
    fn small(python: &str) -> Self {
        let script = repository().join("examples/agents/small_agent.py");
        Self::new(python, &[&script.to_string_lossy()])
    }

    fn run(self, servers: &[ServerPlan]) -> Result<CommandRun, Diagnostic> {
        let command = CommandPlan {
            program: self.program,
            args: self.args,
            env: BTreeMap::from([("OWN".to_owned(), "${DATABASE_PASSWORD}".to_owned())]),
            working_dir: None,
            model: Some("none".to_owned()),
        };
        let test = AgentTestPlan {
            head: TestHead {
                name: "agent".to_owned(),
                place: PLACE,
                tags: Vec::new(),
                skip: None,
            },
            driver: Driver::Command(command.clone()),
            servers: servers.iter().map(|server| server.name.clone()).collect(),
            system: None,
            prompts: vec![self.prompt.to_owned()],
            budget: Budget {
                turns: 10,
                tokens: None,
                tool_calls: Some(3),
                time: self.time,
                call: Duration::from_secs(30),
            },
            runs: 1,
            inject: self.faults.iter().map(|it| it.parse().unwrap()).collect(),
            gates: Gates::default(),
        };
        let environment =
            Environment::new(|name| (name == "DATABASE_PASSWORD").then(|| "hunter22".to_owned()));
        let ground = CommandContext {
            environment: &environment,
            seed: 1,
            proxy_program: Some(Path::new(MCPROVE)),
            supervisor: Some(Path::new(MCPROVE)),
            folder: &repository(),
        };
        let servers: Vec<&ServerPlan> = servers.iter().collect();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(run_once(&test, &command, &servers, ground))
    }
}

fn told(error: &Diagnostic) -> String {
    format!("error: {error}\nhint: {}\n", error.hint.rendered())
}

#[test]
fn the_calls_of_a_process_are_seen() {
    let Some(python) = python() else { return };
    let mut agent = Agent::small(python);
    agent.prompt = "echo the weather there";
    let done = agent.run(&[process("files"), mock("sky")]).unwrap();
    let run = &done.run;
    let calls = run.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|it| (it.name.as_str(), it.server.as_deref()))
        .collect();
    assert_eq!(
        calls,
        [("echo", Some("files")), ("weather", Some("sky"))],
        "{done:?}"
    );
    assert_eq!(run.tool_results.len(), 2, "{done:?}");
    assert!(run.tool_results.iter().all(|it| it.is_error == Some(false)));
    assert_eq!(run.stop_reason(), Some(StopReason::Completed));
    let said = run.final_response.as_deref().unwrap();
    assert!(said.contains("weather says: sunny"), "{said}");
    assert_eq!(run.prompt.as_deref(), Some("echo the weather there"));
    assert_eq!(run.model.as_deref(), Some("none"));
    let conversation = run.conversation.as_ref().unwrap();
    assert_eq!(conversation.tokens.unwrap().sum(), Some(0));
    assert!(conversation.duration_ms.unwrap() > 0.0);
}

#[test]
fn faults_strike_a_process_and_its_recovery_is_timed() {
    let Some(python) = python() else { return };
    for servers in [vec![process("files")], vec![process("files"), mock("sky")]] {
        let mut agent = Agent::small(python);
        agent.prompt = "echo this";
        agent.faults = &["error:-32000,tool=echo,server=files,calls=1,name=once"];
        let done = agent.run(&servers).unwrap();
        assert_eq!(done.run.tool_calls.len(), 2, "it tries again: {done:?}");
        let mark = &done.run.faults[0];
        assert_eq!((mark.call_index, mark.fault.as_deref()), (0, Some("once")));
        assert!(
            mark.detected_ms.is_some() && mark.recovered_ms.is_some(),
            "{mark:?}"
        );
        assert_eq!(done.run.tool_calls[0].server.as_deref(), Some("files"));
    }
}

#[test]
fn a_reply_over_http_that_cannot_be_read_is_judged() {
    let Some(python) = python() else { return };
    for faults in [&["malformed,tool=weather"], &["truncated,tool=weather"]] {
        let mut agent = Agent::small(python);
        agent.prompt = "the weather there";
        agent.faults = faults;
        let done = agent.run(&[mock("sky")]).unwrap();
        assert!(!done.run.faults.is_empty(), "{done:?}");
        assert_eq!(done.run.stop_reason(), Some(StopReason::Completed));
        let recovery = observe_run(&done.run, 60_000);
        assert!(recovery.is_settled(), "{faults:?}: {recovery:?}");
        assert_eq!(recovery.recovered, Some(true), "{done:?}");
    }
}

#[test]
fn secrets_of_servers_are_not_in_what_the_agent_is_told() {
    let Some(python) = python() else { return };
    let script = "import os, sys\n\
        told = open(sys.argv[1]).read() + os.environ['MCPROVE_MCP_SERVERS'] + os.environ['MCPROVE_TURNS']\n\
        assert open(sys.argv[1]).read() == os.environ['MCPROVE_MCP_SERVERS']\n\
        assert sys.stdin.read().strip() == os.environ['MCPROVE_PROMPT']\n\
        print(told, os.environ['OWN'])";
    let agent = Agent::new(python, &["-c", script, "${MCPROVE_MCP_CONFIG}"]);
    let done = agent.run(&[process("files")]).unwrap();
    let said = done
        .run
        .final_response
        .clone()
        .unwrap_or_else(|| panic!("{done:?}"));
    assert!(
        said.contains("mcpServers") && said.contains("\"files\""),
        "{said}"
    );
    let (told, own) = said.rsplit_once(' ').unwrap();
    assert_eq!(own, "hunter22", "what is its own it gets");
    assert!(
        !told.contains("hunter22") && !told.contains("DATABASE_PASSWORD"),
        "{told}"
    );
    assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
}

#[test]
fn a_server_that_is_not_there_is_not_the_agents_doing() {
    let Some(python) = python() else { return };
    let gone = Server::stdio("./no-such-server-anywhere");
    let dying = Server::stdio(python).args(["-c", "import sys; sys.exit(3)"]);
    let deaf = Server::http("http://127.0.0.1:9/mcp");
    let told = [gone, deaf, dying].map(|broken| {
        let servers = [process("files"), server("broken", Reach::Server(broken))];
        told(&Agent::small(python).run(&servers).unwrap_err())
    });
    // Of the last it is the status, unless its proxy was ended first.
    assert!(told[2].contains("\"broken\""), "{told:?}");
    let told = told[..2].join("\n");
    assert_snapshot!("agent_servers", told, TRANSCRIPT_FILTERS.to_vec());
}

#[test]
fn processes_end_badly() {
    let Some(python) = python() else { return };
    let script = "import sys; print('half'); print('no such luck', file=sys.stderr); sys.exit(3)";
    let done = Agent::new(python, &["-c", script]).run(&[]).unwrap();
    assert_eq!(done.run.stop_reason(), Some(StopReason::Error));
    assert_eq!(done.run.final_response.as_deref(), Some("half"));
    let mut all = done.notes;

    // Its children too.
    let script = "import subprocess, sys, time\n\
        subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n\
        time.sleep(600)";
    let mut agent = Agent::new(python, &["-c", script]);
    agent.time = Duration::from_millis(800);
    let began = Instant::now();
    let done = agent.run(&[]).unwrap();
    assert_eq!(done.run.stop_reason(), Some(StopReason::TimeBudget));
    assert!(began.elapsed() < Duration::from_mins(1));

    let error = Agent::new("no-such-agent-anywhere", &[]).run(&[]);
    all.push(told(&error.unwrap_err()));
    let address = Server::websocket("ws://127.0.0.1:1/");
    let error = Agent::new(python, &[]).run(&[server("x", Reach::Server(address))]);
    all.push(told(&error.unwrap_err()));
    assert_snapshot!("agent_ends", all.join("\n"));
}

#[test]
fn the_folder_of_a_suite_is_applied_once() {
    let Some(python) = python() else { return };
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("sub");
    std::fs::create_dir(&folder).unwrap();
    let tools = "name: demo\ntools:\n  - name: echo\n    response: ok\n";
    std::fs::write(folder.join("tools.yml"), tools).unwrap();
    let script = repository().join("examples/agents/small_agent.py");
    let suite = format!(
        "servers:\n  demo: {{ command: [{MCPROVE:?}, mock, --tools-from, tools.yml] }}\n\
         agents:\n  - name: echoes\n    command: [{python}, {script:?}]\n    servers: [demo]\n    \
         prompt: Please echo this.\n    trajectory: {{ calls: [{{ name: echo }}] }}\n"
    );
    std::fs::write(folder.join("suite.yml"), suite).unwrap();
    let mut command = crate::support::mcprove(&["run", "sub/suite.yml"]);
    command.current_dir(base.path());
    let output = crate::support::finish(command);
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_of_which_not_all_was_recorded_is_not_judged() {
    let Some(python) = python() else { return };
    // Each kills its server, as many clients do after a while.
    let script = "import json, os, resource, subprocess, sys\n\
        path = os.environ['MCPROVE_MCP_CONFIG']\n\
        entry = list(json.load(open(path))['mcpServers'].values())[0]\n\
        record = os.path.join(os.path.dirname(path), '0.jsonl')\n\
        if sys.argv[1] == 'unwritable': os.mkdir(record)\n\
        def limit():\n \
            if sys.argv[1] == 'limited': resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n\
        server = subprocess.Popen([entry['command']] + entry['args'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=limit)\n\
        def ask(id, method, params):\n \
            message = {'jsonrpc': '2.0', 'id': id, 'method': method, 'params': params}\n \
            try:\n  \
                server.stdin.write(json.dumps(message).encode() + b'\\n')\n  \
                server.stdin.flush()\n  \
                server.stdout.readline()\n \
            except BrokenPipeError: pass\n\
        ask(0, 'initialize', {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'c', 'version': '1'}})\n\
        for id in range(1, 51): ask(id, 'tools/call', {'name': 'echo', 'arguments': {'text': 'x' * 100}})\n\
        server.kill()\n\
        server.wait()\n\
        print('done')";
    let run = |how: &str| Agent::new(python, &["-c", script, how]).run(&[process("files")]);
    let done = run("killed").unwrap();
    assert_eq!(done.run.tool_calls.len(), 50, "all that passed is there");
    let told = ["limited", "unwritable"].map(|how| told(&run(how).unwrap_err()));
    assert_snapshot!("agent_not_recorded", told.join("\n"));
}
