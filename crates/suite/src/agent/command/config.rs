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

use std::path::{Path, PathBuf};

use mcprove_client::server::Server;
use mcprove_settings::whole_file::write_private;
use serde_json::{Map, Value, json};

use super::proxies::Proxy;
use super::{CommandContext, of_file};
use crate::error::{SET_VARIABLE, TestError};
use crate::plan::{AgentTestPlan, CommandPlan, Environment};

/// The variable with the path of the configuration, which arguments of the command may name too.
pub const CONFIG_VARIABLE: &str = "MCPROVE_MCP_CONFIG";
/// The variable with what stands in the configuration.
pub const SERVERS_VARIABLE: &str = "MCPROVE_MCP_SERVERS";
/// The variable with the task.
pub const PROMPT_VARIABLE: &str = "MCPROVE_PROMPT";
/// The variable with the turns, as JSON.
pub const TURNS_VARIABLE: &str = "MCPROVE_TURNS";
/// A longer value of a variable is left out: systems refuse to start what has it.
const VARIABLE_BYTES_MAX: usize = 100_000;

/// A text with its variables filled in; `of` is whose text it is.
fn filled(of: &str, text: &str, environment: &Environment) -> Result<String, TestError> {
    let filled = environment.fill(text);
    filled.map_err(|error| TestError::new(format!("{of}: {error}"), SET_VARIABLE))
}

/// What an agent is told, with its variables filled in.
pub(super) struct Spoken {
    pub prompts: Vec<String>,
    system: Option<String>,
    max_turns: u32,
    /// The environment, with the path of the configuration.
    environment: Environment,
    config: PathBuf,
}

impl Spoken {
    pub fn fill(
        test: &AgentTestPlan,
        environment: &Environment,
        folder: &Path,
    ) -> Result<Self, TestError> {
        let fill = |text: &String| filled("the task of the agent", text, environment);
        let config = folder.join("mcp.json");
        let (path, inherited) = (config.to_string_lossy().into_owned(), environment.clone());
        Ok(Self {
            prompts: test.prompts.iter().map(fill).collect::<Result<_, _>>()?,
            system: test.system.as_ref().map(fill).transpose()?,
            max_turns: test.budget.turns,
            environment: Environment::new(move |name| match name {
                CONFIG_VARIABLE => Some(path.clone()),
                name => inherited.get(name),
            }),
            config,
        })
    }

    /// What goes to standard input.
    pub fn input(&self) -> Vec<u8> {
        let mut text = self.prompts.join("\n\n");
        text.push('\n');
        text.into_bytes()
    }

    /// The agent as a process, with the configuration written.
    pub fn command(
        &self,
        command: &CommandPlan,
        proxies: &[Proxy],
        context: CommandContext<'_>,
    ) -> Result<Server, TestError> {
        let entries: Map<String, Value> = proxies
            .iter()
            .map(|proxy| (proxy.name.clone(), proxy.entry.clone()))
            .collect();
        let servers = json!({ "mcpServers": entries }).to_string();
        write_private(&self.config, &servers)
            .map_err(|error| of_file("the configuration of the agent cannot be written", &error))?;
        let fill = |text: &String| filled("the command of the agent", text, &self.environment);
        let args: Vec<String> = command.args.iter().map(fill).collect::<Result<_, _>>()?;
        let mut server = Server::stdio(&command.program).args(args);
        server.supervisor = context.supervisor.map(Path::to_owned);
        let folder = command.working_dir.as_deref().unwrap_or(context.folder);
        if !folder.as_os_str().is_empty() {
            server = server.working_dir(folder);
        }
        let turns = Value::from(self.prompts.clone()).to_string();
        let told = [
            (CONFIG_VARIABLE, self.config.to_string_lossy().into_owned()),
            (SERVERS_VARIABLE, servers),
            (PROMPT_VARIABLE, self.prompts.join("\n\n")),
            (TURNS_VARIABLE, turns),
            ("MCPROVE_SYSTEM", self.system.clone().unwrap_or_default()),
            ("MCPROVE_MODEL", command.model.clone().unwrap_or_default()),
            ("MCPROVE_MAX_TURNS", self.max_turns.to_string()),
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
}
