//! No key or token is in a cassette, a trace or a report, and a replay does without them.

use super::*;
use crate::run::secrets;

/// What is planted, and where it comes up.
const KEY: &str = "k3y-of-the-fake";
const TOKEN: &str = "t0ken/of \"mine\"";
const ECHOED: &str = "ghp_abcdefgh1234567890";
const NAMED: &str = "pw-that-nobody-knows";

fn say(asked: &Asked) -> Said {
    match asked.calls().last() {
        None => Said::call(
            asked.tool("search"),
            serde_json::json!({ "query": TOKEN, "password": NAMED }).to_string(),
        ),
        // It repeats what the tool said.
        Some(call) => Said::text(format!(
            "The tool says {} and the key is {KEY}.",
            call.result
        )),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_written_down() {
    for &provider in crate::agent::provider::ENTRIES {
        let model = FakeModel::start(say);
        let mut bench = Bench::new(
            &model.url(),
            2,
            "expect: [{ target: final_response, matcher: { contains: nothing of it } }]",
        );
        if let Driver::Model(model) = &mut bench.test().driver {
            model.provider = provider;
        }
        bench.test().prompts = vec!["Use ${TOKEN}, in ${PLACE}.".to_owned()];
        let answer = format!("found ${{args.query}} {ECHOED} api_key={NAMED}");
        let spec =
            MockSpec::new("api").with_tool(ToolSpec::new("search").answering(&answer).unwrap());
        if let Some(server) = bench.plan.servers.get_mut("api") {
            server.reach = Reach::Mock {
                spec: Box::new(spec),
                faults: Vec::new(),
            };
        }
        bench.options.environment = Environment::new(|name| match name {
            "FAKE_KEY" => Some(KEY.to_owned()),
            "TOKEN" => Some(TOKEN.to_owned()),
            "PLACE" => Some("NY".to_owned()),
            _ => None,
        });
        let folder = bench.plan.folder.clone();
        let asked = {
            let report = bench.run(CassetteMode::Live).await;
            assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
            model.asked()
        };
        assert!(
            asked[0]
                .headers
                .iter()
                .any(|(_, value)| value.contains(KEY)),
            "it was sent"
        );
        assert!(
            String::from_utf8_lossy(&asked[0].raw).contains("t0ken/of"),
            "so was this"
        );
        let report = bench.twice(model).await;
        let mut texts = vec![serde_json::to_string(&report).unwrap()];
        collect(&folder, &mut texts);
        assert!(texts.len() >= 3, "a report, a cassette and a trace");
        for text in &texts {
            for secret in [KEY, "t0ken/of", ECHOED, NAMED] {
                assert!(!text.contains(secret), "{secret} is in {text}");
            }
        }
        let cassette = cassette::read(&bench.cassette()).unwrap().unwrap();
        assert_eq!(cassette.variables["TOKEN"], None);
        assert_eq!(cassette.variables["PLACE"].as_deref(), Some("NY"));
        assert!(
            !cassette.variables.contains_key("FAKE_KEY"),
            "it is no part of what is asked"
        );
        assert!(cassette.runs[0].model[0].redacted[0].starts_with("request.messages[0]"));
        assert!(!cassette.runs[0].tools[0].redacted.is_empty());
    }
}

fn search_twice(asked: &Asked) -> Said {
    match asked.calls().len() {
        count @ 0..2 => Said::call(
            asked.tool("search"),
            format!("{{\"query\":\"{count} of content\"}}"),
        ),
        _ => Said::text("I searched twice, and the assistant completed the function."),
    }
}

/// Values that are words of ours or of others, of which none can be told from the text around it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_structure_is_no_secret() {
    for value in [
        "search",
        "sear",
        "api",
        "api__search",
        "query",
        "content",
        "tool_use",
        "function",
        "assistant",
        "completed",
        "gpt-of-the-fake",
        // A secret, which is in what the agent says.
        "twice",
    ] {
        for &provider in crate::agent::provider::ENTRIES {
            let model = FakeModel::start(search_twice);
            let mut bench = Bench::new(&model.url(), 1, "trajectory: { calls: [search, search] }");
            if let Driver::Model(model) = &mut bench.test().driver {
                model.provider = provider;
                model.model = "gpt-of-the-fake".to_owned();
            }
            bench.test().prompts = vec!["Please ${Q}.".to_owned()];
            bench.options.environment = Environment::new(move |name| match name {
                "FAKE_KEY" => Some(KEY.to_owned()),
                "Q" => Some(value.to_owned()),
                _ => None,
            });
            let schema = serde_json::json!({ "type": "object", "properties": { "query": {} } });
            let tool = ToolSpec::new("search").with("inputSchema", schema);
            let tool = tool.answering("found ${args.query}").unwrap();
            let spec = MockSpec::new("api").with_tool(tool);
            if let Some(server) = bench.plan.servers.get_mut("api") {
                server.reach = Reach::Mock {
                    spec: Box::new(spec),
                    faults: Vec::new(),
                };
            }
            secrets::look_up(
                std::slice::from_ref(&bench.plan),
                &bench.options.environment,
            );
            let report = bench.twice(model).await;
            assert_eq!(report.outcome, TestOutcome::Passed, "{value}: {report:?}");
            let cassette = cassette::read(&bench.cassette()).unwrap().unwrap();
            let kept = (value != "twice").then_some(value);
            assert_eq!(cassette.variables["Q"].as_deref(), kept, "{value}");
        }
    }
}

/// A tool that is not there is told of in words of ours, of which some are a secret.
#[tokio::test(flavor = "multi_thread")]
async fn words_of_ours_are_the_same_in_a_replay() {
    fn call_nothing(asked: &Asked) -> Said {
        match asked.calls().len() {
            0 => Said::call("no_such_tool", "{}"),
            _ => Said::text("There is none."),
        }
    }
    let model = FakeModel::start(call_nothing);
    let mut bench = Bench::new(&model.url(), 1, "");
    bench.test().prompts = vec!["Is ${Q} there?".to_owned()];
    bench.options.environment = Environment::new(|name| match name {
        "FAKE_KEY" => Some(KEY.to_owned()),
        "Q" => Some("there is no tool".to_owned()),
        _ => None,
    });
    bench.twice(model).await;
}

fn collect(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, texts);
        } else {
            texts.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}
