//! Every secret that suites may use, known before anything is run: a test that ends early must not write down
//! what only a later one takes from the environment, and what is taken out must not depend on the order. Names that
//! the suites tell are known too: they are no secrets.

use mcprove_settings::secret;

use crate::prelude::*;

/// Looks up all that these suites name. What is not set is for those to tell who need it.
pub fn look_up(plans: &[SuitePlan], environment: &Environment) {
    for plan in plans {
        plan.servers
            .values()
            .for_each(|server| of_server(server, environment));
        plan.agents
            .iter()
            .for_each(|agent| of_agent(agent, environment));
        note_names(plan, environment);
        for test in &plan.tools {
            let _ = environment.fill_value(&test.args);
        }
        for load in &plan.load {
            for call in load.config.scenario.clone().calls_mut() {
                let _ = environment.fill_value(&call.args);
            }
        }
    }
}

fn note_names(plan: &SuitePlan, environment: &Environment) {
    let servers = plan.servers.keys();
    let tools = plan.tools.iter().map(|test| &test.tool);
    let calls = plan
        .load
        .iter()
        .flat_map(|load| &load.config.scenario.tool_calls);
    let models = plan.agents.iter().filter_map(|agent| match &agent.driver {
        Driver::Model(model) => Some(&model.model),
        Driver::Command(command) => command.model.as_ref(),
    });
    let names = servers.chain(tools).chain(models);
    for name in names.chain(calls.map(|call| &call.name)) {
        environment.note_name(name);
    }
}

fn of_server(server: &ServerPlan, environment: &Environment) {
    let Reach::Server(server) = &server.reach else {
        return;
    };
    // What stands in the suite itself, by its name.
    for secret in server.secrets() {
        if !secret.contains("${") {
            environment.note(&secret);
        }
    }
    fill_all(
        texts_of(&mut server.clone()).map(|text| &*text),
        environment,
    );
    let headers = server.transport.address().map(|(_, headers)| headers);
    for values in headers.into_iter().chain([&server.env]) {
        fill_values(values, environment);
    }
}

fn of_agent(agent: &AgentTestPlan, environment: &Environment) {
    fill_all(agent.system.iter().chain(&agent.prompts), environment);
    match &agent.driver {
        Driver::Model(model) => {
            let own = model.provider.api_key_env;
            let name = model.api_key_env.as_deref().unwrap_or(own);
            let _ = environment.get(name);
            fill_all(&model.base_url, environment);
        }
        Driver::Command(command) => {
            // An agent of the user finds the keys of models by itself.
            for provider in provider::ENTRIES {
                let _ = environment.get(provider.api_key_env);
            }
            fill_all(&command.args, environment);
            fill_values(&command.env, environment);
        }
    }
}

/// Values of the suite itself are taken for secrets as those on the command line are.
fn fill_values(texts: &BTreeMap<String, String>, environment: &Environment) {
    fill_all(texts.values(), environment);
    for text in texts.values() {
        if !text.contains("${") && secret::is_given_secret(text) {
            environment.note(text);
        }
    }
}

fn fill_all<'t>(texts: impl IntoIterator<Item = &'t String>, environment: &Environment) {
    for text in texts {
        let _ = environment.fill(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_suite_itself_are_secrets_unless_they_are_ordinary() {
        let environment = Environment::new(|_| None);
        let values = [
            ("ACCESS", "plainlit-Secret9"),
            ("LOG", "info,tower=warn"),
            ("PORT", "80808080"),
            ("OTHER", "${B:-x12345678}"),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fill_values(&values.into(), &environment);
        assert_eq!(Vec::from_iter(environment.secrets()), ["plainlit-Secret9"]);
    }
}
