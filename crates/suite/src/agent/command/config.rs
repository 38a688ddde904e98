//! What an agent is told: its task, and how it reaches its servers.
//!
//! | where | what |
//! |---|---|
//! | standard input | the task; several turns one after the other, with an empty line between |
//! | `MCPROVE_PROMPT` | the same |
//! | `MCPROVE_TURNS` | the turns, as a list in JSON |
//! | `MCPROVE_MCP_CONFIG` | the path of a file with `mcpServers` |
//! | `MCPROVE_MCP_SERVERS` | what stands in that file |
//! | `MCPROVE_SYSTEM`, `MCPROVE_MODEL` | what the suite says of them, where it does |
//! | `MCPROVE_MAX_TURNS` | the most answers of the model |

use std::sync::atomic::{AtomicU64, Ordering};

use super::proxies::Proxy;
use super::{CommandContext, of_file};
use crate::prelude::*;

/// The variable with the path of the configuration, which arguments of the command may name too.
const CONFIG_VARIABLE: &str = "MCPROVE_MCP_CONFIG";
/// A longer value of a variable is left out: systems refuse to start what has it.
const VARIABLE_BYTES_MAX: usize = 100_000;

/// A folder for the files of one run of an agent: nobody else may look into it, and it goes when the run does.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn create() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let name = format!("mcprove-agent-{}-{now}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // One that is there already is somebody else's, and an error.
        private_file::create_dir(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The agent as a process, with its configuration written into the folder. The texts of the task are filled in, those of
/// the command are not.
pub fn process(
    task: &AgentTestPlan,
    command: &CommandPlan,
    proxies: &[Proxy],
    context: CommandContext<'_>,
    folder: &Folder,
) -> DiagnosticResult<Server> {
    let entries = proxies
        .iter()
        .map(|proxy| (proxy.name.clone(), proxy.entry.clone()));
    let servers = json!({ "mcpServers": entries.collect::<Map<_, _>>() }).to_string();
    let config = folder.0.join("mcp.json");
    write_private(&config, &servers)
        .map_err(|error| of_file("the configuration of the agent cannot be written", &error))?;
    let config = config.to_string_lossy().into_owned();
    let (path, inherited) = (config.clone(), context.environment.clone());
    let environment = Environment::new(move |name| match name {
        CONFIG_VARIABLE => Some(path.clone()),
        name => inherited.get(name),
    });
    let fill = |text: &String| {
        environment
            .fill(text)
            .map_err(|error| error.of("the command of the agent"))
    };
    let args: Vec<String> = command.args.iter().map(fill).collect::<Result<_, _>>()?;
    let mut server = Server::stdio(&command.program).args(args);
    server.supervisor = context.supervisor.map(Path::to_owned);
    let folder = command.working_dir.as_deref().unwrap_or(context.folder);
    if !folder.as_os_str().is_empty() {
        server = server.working_dir(folder);
    }
    let told = [
        (CONFIG_VARIABLE, config),
        ("MCPROVE_MCP_SERVERS", servers),
        ("MCPROVE_PROMPT", task.prompts.join("\n\n")),
        ("MCPROVE_TURNS", json!(task.prompts).to_string()),
        ("MCPROVE_SYSTEM", task.system.clone().unwrap_or_default()),
        ("MCPROVE_MODEL", command.model.clone().unwrap_or_default()),
        ("MCPROVE_MAX_TURNS", task.budget.turns.to_string()),
    ];
    for (name, value) in told {
        if !value.is_empty() && value.len() <= VARIABLE_BYTES_MAX && !value.contains('\0') {
            server = server.env(name, value);
        }
    }
    for (name, value) in &command.env {
        server = server.env(name, fill(value)?);
    }
    Ok(server)
}
