//! What a cassette is a recording of: what a test must still be, to be replayed from it.
//!
//! What the runs are held to is no part of it: a replay is judged again.

use mcprove_settings::secret::is_secret_name;

use super::difference::{first_difference, shortened};
use super::format::milliseconds;
use crate::agent::live_toolbox::offered;
use crate::prelude::*;

/// What a cassette is a recording of. Texts are as in the suite, with their `${NAME}`.
#[sparse]
#[data(Default)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Fits")]
pub struct CassetteInputs {
    /// The model; of a command, what it is called.
    pub model: Option<String>,
    /// The API of its provider: `anthropic` or `openai`.
    pub provider: Option<String>,
    /// The command line of an agent that is a process.
    pub command: Option<Vec<String>>,
    /// The system prompt.
    pub system: Option<String>,
    /// What it is asked.
    pub prompts: Vec<String>,
    /// The most tokens of one answer.
    pub max_tokens: Option<u32>,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// The limits of one run.
    pub budget: FitsBudget,
    /// How many runs there are.
    pub runs: u32,
    /// The faults that calls meet, one line each, in the order in which they are tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// How long a call that never returns takes until it is noticed, where faults are injected, in milliseconds.
    pub max_detection_ms: Option<u64>,
    /// The variables that a process is given, each with a digest of its value; of a secret, `<redacted>`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The servers and the tools that they offered.
    pub servers: Vec<FitsServer>,
}

/// The limits of one run.
#[sparse]
#[data(Default, Eq)]
#[serde(deny_unknown_fields)]
pub struct FitsBudget {
    /// The most answers of the model.
    pub turns: u32,
    /// The most tokens.
    pub tokens: Option<u64>,
    /// The most calls of tools.
    pub tool_calls: Option<u64>,
    /// The longest time, in milliseconds.
    pub time_ms: u64,
    /// The longest time of one call, in milliseconds.
    pub call_ms: u64,
}

/// A server and the tools that it offered.
#[sparse(lists)]
#[data]
#[serde(deny_unknown_fields)]
pub struct FitsServer {
    /// Its name in the suite.
    pub name: String,
    /// Its tools, in its order.
    pub tools: Vec<OfferedTool>,
    /// Of a mock: what it answers and the faults of its own.
    pub mock: Option<FitsMock>,
}

/// What a mock answers.
#[sparse(lists)]
#[data(Eq)]
#[serde(deny_unknown_fields)]
pub struct FitsMock {
    /// A digest of all that it is and answers.
    pub digest: String,
    /// Its faults, one line each.
    pub faults: Vec<String>,
}

impl CassetteInputs {
    /// What a test is, with the tools that its servers offer.
    pub fn of(test: &AgentTestPlan, tools: &[OfferedTool]) -> Self {
        let budget = &test.budget;
        let server = |name: &String| {
            let own = tools.iter().filter(|tool| tool.server == *name);
            let unnamed = |tool: &OfferedTool| OfferedTool {
                server: String::new(),
                ..tool.clone()
            };
            FitsServer {
                name: name.clone(),
                tools: own.map(unnamed).collect(),
                mock: None,
            }
        };
        let mut fits = Self {
            system: test.system.clone(),
            prompts: test.prompts.clone(),
            budget: FitsBudget {
                turns: budget.turns,
                tokens: budget.tokens,
                tool_calls: budget.tool_calls,
                time_ms: milliseconds(budget.time),
                call_ms: milliseconds(budget.call),
            },
            runs: test.runs,
            faults: written(&test.inject),
            servers: test.servers.iter().map(server).collect(),
            ..Self::default()
        };
        match &test.driver {
            Driver::Model(model) => {
                fits.model = Some(model.model.clone());
                fits.provider = Some(model.provider.name.to_owned());
                fits.max_tokens = Some(model.max_tokens);
                fits.temperature = model.temperature;
                // The time of a process is its own.
                let limit = max_detection_ms(&test.gates);
                fits.max_detection_ms = (!test.inject.is_empty()).then_some(limit);
            }
            Driver::Command(command) => {
                fits.model.clone_from(&command.model);
                let words = std::iter::once(&command.program).chain(&command.args);
                fits.command = Some(words.cloned().collect());
                let digests = command.env.iter().map(|(name, value)| {
                    let is_secret = is_secret_name(name);
                    let shown = if is_secret {
                        REDACTED.into()
                    } else {
                        digest(value)
                    };
                    (name.clone(), shown)
                });
                fits.env = digests.collect();
            }
        }
        fits
    }

    /// The same, with what the mocks of the suite answer.
    pub fn with_mocks(mut self, plan: &SuitePlan) -> Self {
        for server in &mut self.servers {
            server.mock = answers(&server.name, plan);
        }
        self
    }

    /// Whether it is the recording of a process.
    pub fn is_command(&self) -> bool {
        self.command.is_some()
    }

    /// The tools, as they were offered.
    pub fn tools(&self) -> Vec<OfferedTool> {
        let offered = self.servers.iter().flat_map(|server| {
            server.tools.iter().map(|tool| OfferedTool {
                server: server.name.clone(),
                ..tool.clone()
            })
        });
        offered.collect()
    }

    /// What changed since the recording, each with old and new; empty if the test can be replayed. The tools of
    /// mocks are in the suite, those of other servers are not looked at: that would need the servers.
    pub fn changes(&self, test: &AgentTestPlan, plan: &SuitePlan) -> Vec<String> {
        let now = Self::of(test, &self.tools());
        let now = Redactor::default().of_json(&now).unwrap_or(now);
        let (old, new) = (json!(self), json!(now));
        let mut changes = Vec::new();
        let mut compare = |what: &str, old: &Value, new: &Value| {
            changes.extend(change(old, new).map(|change| format!("{what}{change}")));
        };
        for key in ["model", "provider", "command", "system"] {
            compare(key, &old[key], &new[key]);
        }
        let (were, are) = (&old["prompts"], &new["prompts"]);
        if self.prompts.len() == 1 && now.prompts.len() == 1 {
            compare("prompt", &were[0], &are[0]);
        } else {
            compare("turns", were, are);
        }
        for key in ["max_tokens", "temperature", "budget", "runs"] {
            compare(key, &old[key], &new[key]);
        }
        compare("inject", &json!(self.faults), &json!(now.faults));
        // With other faults it is said already.
        if self.max_detection_ms.is_some() && now.max_detection_ms.is_some() {
            let key = "max_detection_ms";
            compare("recovery.max_detection_ms", &old[key], &new[key]);
        }
        let names = |inputs: &Self| -> Value { inputs.env.keys().cloned().collect() };
        compare("env", &names(self), &names(&now));
        for (name, old) in &self.env {
            if now.env.get(name).is_some_and(|new| new != old) {
                let (was, is) = (format!("{name} as it was"), format!("another {name}"));
                compare("env", &was.into(), &is.into());
            }
        }
        let names = |inputs: &Self| -> Value {
            inputs
                .servers
                .iter()
                .map(|server| server.name.as_str())
                .collect()
        };
        compare("servers", &names(self), &names(&now));
        for server in &self.servers {
            let now = answers(&server.name, plan);
            if let (Some(old), Some(new)) = (&server.mock, now) {
                let name = &server.name;
                let (were, are) = (json!(old.faults), json!(new.faults));
                compare(&format!("the faults of {name}"), &were, &are);
                let digest = |mock: &FitsMock| Value::from(format!("those of {}", mock.digest));
                let what = format!("the answers of {name}");
                compare(&what, &digest(old), &digest(&new));
            }
        }
        // Of a process the tools are not recorded: it asks the servers itself.
        let listed = self.servers.iter().filter(|_| !self.is_command());
        for server in listed {
            if let Some((spec, _)) = mock(&server.name, plan) {
                let tools = spec.tools.iter().filter_map(|tool| {
                    let tool = serde_json::from_value(tool.listed.clone().into()).ok()?;
                    Some(offered("", tool))
                });
                let tools: Vec<OfferedTool> = tools.collect();
                let what = format!("the tools of {}", server.name);
                compare(&what, &json!(server.tools), &json!(tools));
            }
        }
        changes
    }
}

/// Where in a recorded value it differs from that of now, but for what was taken out, and how.
fn change(recorded: &Value, now: &Value) -> Option<String> {
    if recorded == now || fits(&recorded.to_string(), &now.to_string()) {
        return None;
    }
    Some(match first_difference(recorded, now) {
        Some((path, told)) if path.is_empty() || path.starts_with('[') => format!("{path}: {told}"),
        Some((path, told)) => format!(".{path}: {told}"),
        None => format!(": recorded {}, now {}", shortened(recorded), shortened(now)),
    })
}

/// The mock that a server of the suite is; `None` for any other server.
fn mock<'p>(name: &str, plan: &'p SuitePlan) -> Option<(&'p MockSpec, &'p [FaultSpec])> {
    match &plan.servers.get(name)?.reach {
        Reach::Mock { spec, faults } => Some((spec, faults)),
        Reach::Server(_) => None,
    }
}

fn answers(name: &str, plan: &SuitePlan) -> Option<FitsMock> {
    let (spec, faults) = mock(name, plan)?;
    Some(FitsMock {
        // This way of writing it has everything that it is.
        digest: digest(&format!("{spec:?}")),
        faults: written(faults),
    })
}

/// Something short that differs where the text does.
fn digest(text: &str) -> String {
    format!("{:016x}", fnv_1a(text.bytes()))
}
