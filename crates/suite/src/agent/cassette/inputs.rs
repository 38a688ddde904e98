//! What a cassette is a recording of: what a test must still be, to be replayed from it.
//!
//! What the runs are held to is no part of it: a replay is judged anew.

use std::collections::BTreeMap;

use mcprove_score::agent::recovery::max_detection_ms;
use mcprove_settings::hash::fnv_1a;
use mcprove_settings::secret::{REDACTED, Redactor, fits, is_secret_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::difference::{first_difference, shortened};
use super::format::milliseconds;
use crate::agent::provider;
use crate::agent::toolbox::OfferedTool;
use crate::plan::{AgentTestPlan, Driver, Reach, SuitePlan};

/// What a cassette is a recording of. Texts are as in the suite, with their `${NAME}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Fits")]
pub struct CassetteInputs {
    /// The model; of a command, what it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How its provider is spoken to: `anthropic` or `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The command line of an agent that is a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// What the model is told before all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// What it is asked.
    pub prompts: Vec<String>,
    /// The most tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How freely the model chooses its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The limits of one run.
    pub budget: FitsBudget,
    /// How many runs there are.
    pub runs: u32,
    /// The faults that calls meet, as after `--fault`, in the order in which they are tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// How long a call that never returns takes until it is noticed, where faults are injected, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_detection_ms: Option<u64>,
    /// The variables that a process is given, each with a digest of its value; of a secret, `<redacted>`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The servers and the tools that they offered.
    pub servers: Vec<FitsServer>,
}

/// The limits of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FitsBudget {
    /// The most answers of the model.
    pub turns: u32,
    /// The most tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The most calls of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// The longest time, in milliseconds.
    pub time_ms: u64,
    /// The longest time of one call, in milliseconds.
    pub call_ms: u64,
}

/// A server and the tools that it offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FitsServer {
    /// Its name in the suite.
    pub name: String,
    /// Its tools, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
    /// Of a mock: what it answers and the faults of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mock: Option<FitsMock>,
}

/// What a mock answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FitsMock {
    /// A digest of all that it is and answers.
    pub digest: String,
    /// Its faults, as after `--fault`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl CassetteInputs {
    /// What a test is, with the tools that its servers offer.
    pub fn of(test: &AgentTestPlan, tools: &[OfferedTool]) -> Self {
        let budget = &test.budget;
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
            faults: test.inject.iter().map(ToString::to_string).collect(),
            servers: test
                .servers
                .iter()
                .map(|name| server(name, tools))
                .collect(),
            ..Self::default()
        };
        match &test.driver {
            Driver::Model(model) => {
                fits.model = Some(model.model.clone());
                fits.provider = Some(provider::entry(model.provider).name.to_owned());
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
                    let digest = if is_secret_name(name) {
                        REDACTED.to_owned()
                    } else {
                        digest(value)
                    };
                    (name.clone(), digest)
                });
                fits.env = digests.collect();
            }
        }
        fits
    }

    /// The same, with what the mocks of the suite answer.
    #[must_use]
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
        let redactor = Redactor::default();
        let now = Self::of(test, &self.tools());
        let now = redactor.of_json(&now).unwrap_or(now);
        let mut changes = Vec::new();
        let mut compare = |what: &str, old: Value, new: Value| {
            if !same(&old, &new) {
                let (path, told) = first_difference(&old, &new).map_or_else(
                    || {
                        let (old, new) = (shortened(&old), shortened(&new));
                        (String::new(), format!("recorded {old}, now {new}"))
                    },
                    |difference| (dotted(&difference.path), difference.told),
                );
                changes.push(format!("{what}{path}: {told}"));
            }
        };
        let (old, new) = (as_value(self), as_value(&now));
        let of = |inputs: &Value, key: &str| inputs.get(key).cloned().unwrap_or_default();
        for key in ["model", "provider", "command", "system"] {
            compare(key, of(&old, key), of(&new, key));
        }
        match (self.prompts.as_slice(), now.prompts.as_slice()) {
            ([old], [new]) => compare("prompt", old.as_str().into(), new.as_str().into()),
            (old, new) => compare("turns", old.into(), new.into()),
        }
        for key in ["max_tokens", "temperature", "budget", "runs"] {
            compare(key, of(&old, key), of(&new, key));
        }
        compare("inject", as_value(&self.faults), as_value(&now.faults));
        // With other faults it is said already.
        if let (Some(old), Some(new)) = (self.max_detection_ms, now.max_detection_ms) {
            compare("recovery.max_detection_ms", old.into(), new.into());
        }
        let names = |inputs: &Self| -> Value { inputs.env.keys().cloned().collect() };
        compare("env", names(self), names(&now));
        for (name, old) in &self.env {
            if now.env.get(name).is_some_and(|new| new != old) {
                compare(
                    "env",
                    format!("{name} as it was").into(),
                    format!("another {name}").into(),
                );
            }
        }
        let names = |inputs: &Self| -> Value {
            let servers = inputs.servers.iter();
            servers.map(|server| server.name.as_str()).collect()
        };
        compare("servers", names(self), names(&now));
        for server in &self.servers {
            let now = answers(&server.name, plan);
            if let (Some(old), Some(new)) = (&server.mock, now) {
                let name = &server.name;
                let (were, are) = (as_value(&old.faults), as_value(&new.faults));
                compare(&format!("the faults of {name}"), were, are);
                let digest = |mock: &FitsMock| Value::from(format!("those of {}", mock.digest));
                compare(&format!("the answers of {name}"), digest(old), digest(&new));
            }
        }
        // Of a process the tools are not recorded: it asks the servers itself.
        let listed = self.servers.iter().filter(|_| !self.is_command());
        for server in listed {
            if let Some(offered) = mocked(&server.name, plan) {
                let what = format!("the tools of {}", server.name);
                compare(&what, as_value(&server.tools), as_value(&offered));
            }
        }
        changes
    }
}

fn as_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A path behind what it is a path into.
fn dotted(path: &str) -> String {
    if path.is_empty() || path.starts_with('[') {
        path.to_owned()
    } else {
        format!(".{path}")
    }
}

fn server(name: &str, tools: &[OfferedTool]) -> FitsServer {
    let own = tools
        .iter()
        .filter(|tool| tool.server == name)
        .map(|tool| OfferedTool {
            server: String::new(),
            ..tool.clone()
        });
    FitsServer {
        name: name.to_owned(),
        tools: own.collect(),
        mock: None,
    }
}

/// What a mock of the suite answers; `None` for any other server.
fn answers(name: &str, plan: &SuitePlan) -> Option<FitsMock> {
    let Reach::Mock { spec, faults } = &plan.servers.get(name)?.reach else {
        return None;
    };
    Some(FitsMock {
        // This way of writing it has everything that it is.
        digest: digest(&format!("{spec:?}")),
        faults: faults.iter().map(ToString::to_string).collect(),
    })
}

/// Something short that differs where the text does.
fn digest(text: &str) -> String {
    format!("{:016x}", fnv_1a(text.bytes()))
}

/// The tools that a mock of the suite lists; `None` for any other server.
fn mocked(name: &str, plan: &SuitePlan) -> Option<Vec<OfferedTool>> {
    let Reach::Mock { spec, .. } = &plan.servers.get(name)?.reach else {
        return None;
    };
    let tools = spec.tools.iter().map(|tool| {
        let text = |key: &str| tool.listed.get(key)?.as_str().map(str::to_owned);
        let value = |key: &str| tool.listed.get(key).cloned().unwrap_or_default();
        OfferedTool {
            server: String::new(),
            name: text("name").unwrap_or_default(),
            description: text("description"),
            input_schema: value("inputSchema"),
            annotations: serde_json::from_value(value("annotations")).ok().flatten(),
        }
    });
    Some(tools.collect())
}

/// Whether a recorded value is this one, but for what was taken out.
fn same(recorded: &Value, now: &Value) -> bool {
    recorded == now || fits(&recorded.to_string(), &now.to_string())
}
