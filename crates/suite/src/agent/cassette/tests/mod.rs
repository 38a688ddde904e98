mod files;
mod fitting;
mod replaying;

use std::time::Duration;

use mcprove_settings::error::SourcePlace;

use crate::agent::toolbox::OfferedTool;
use crate::plan::{AgentTestPlan, Budget, CommandPlan, Driver, ModelPlan, SuitePlan, TestHead};

pub(super) fn a_test(name: &str, model: &str) -> AgentTestPlan {
    AgentTestPlan {
        head: TestHead {
            name: name.to_owned(),
            place: SourcePlace { line: 1, column: 1 },
            tags: Vec::new(),
            skip: None,
        },
        driver: Driver::Model(ModelPlan {
            model: model.to_owned(),
            provider: &crate::agent::provider::anthropic::ENTRY,
            base_url: None,
            api_key_env: None,
            temperature: None,
            max_tokens: 1024,
        }),
        servers: vec!["api".to_owned()],
        system: None,
        prompts: vec!["Find it.".to_owned()],
        budget: Budget {
            turns: 10,
            tokens: None,
            tool_calls: None,
            time: Duration::from_mins(5),
            call: Duration::from_secs(30),
        },
        runs: 1,
        inject: Vec::new(),
        gates: mcprove_score::gate::Gates::default(),
    }
}

pub(super) fn a_command(name: &str, program: &str) -> AgentTestPlan {
    AgentTestPlan {
        driver: Driver::Command(CommandPlan {
            program: program.to_owned(),
            args: vec!["--fast".to_owned()],
            env: std::collections::BTreeMap::new(),
            working_dir: None,
            model: None,
        }),
        ..a_test(name, "")
    }
}

pub(super) fn a_suite(agents: Vec<AgentTestPlan>) -> SuitePlan {
    SuitePlan {
        file: "suite.yml".to_owned(),
        folder: std::path::PathBuf::new(),
        servers: std::collections::BTreeMap::new(),
        faults: Vec::new(),
        tools: Vec::new(),
        agents,
        load: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(super) fn a_tool(name: &str) -> OfferedTool {
    OfferedTool {
        server: "api".to_owned(),
        name: name.to_owned(),
        description: None,
        input_schema: serde_json::json!({ "type": "object" }),
        annotations: None,
    }
}
