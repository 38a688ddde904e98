use mcprove_client::server::Server;
use mcprove_load::config::SessionSettings;
use mcprove_servers::mock::{MockSpec, ToolSpec};
use mcprove_settings::error::SourcePlace;

use super::*;
use crate::agent::WireNames;
use crate::plan::Reach;

const TIMEOUT: Duration = Duration::from_secs(20);

fn plan(name: &str, reach: Reach) -> ServerPlan {
    ServerPlan {
        name: name.to_owned(),
        place: SourcePlace { line: 1, column: 1 },
        reach,
        session: SessionSettings::default(),
        parallel: 8,
        is_fresh: false,
        min_coverage: None,
    }
}

fn mock(name: &str, faults: &[&str], spec: MockSpec) -> ServerPlan {
    let reach = Reach::Mock {
        spec: Box::new(spec),
        faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
    };
    plan(name, reach)
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name)
        .answering("found ${args.query}")
        .unwrap()
}

fn nothing() -> Environment {
    Environment::new(|_| None)
}

async fn called(
    toolbox: &LiveToolbox,
    server: &str,
    args: &Value,
    timeout: Duration,
) -> ToolAnswer {
    let request = ToolRequest {
        server,
        tool: "search",
        args,
        timeout,
    };
    toolbox.call(request).await.unwrap()
}

#[tokio::test]
async fn tools_of_several_servers_are_told_apart() {
    let mut paged = MockSpec::new("x").with_tool(tool("search"));
    for number in 0..25 {
        paged = paged.with_tool(tool(&format!("tool-{number}")));
    }
    paged.page_size = Some(10);
    let one = mock("one", &[], paged);
    let two = mock("two", &[], MockSpec::new("x").with_tool(tool("search")));
    let toolbox = LiveToolbox::connect(&[&one, &two], &nothing(), 0)
        .await
        .unwrap();
    assert_eq!(toolbox.tools().len(), 27, "all pages");
    let names = WireNames::new(toolbox.tools());
    assert_eq!(names.name(0), Some("one__search"));
    assert_eq!(names.name(26), Some("two__search"));
    let args = json!({ "query": "x" });
    let answer = called(&toolbox, "two", &args, TIMEOUT).await;
    assert!(!answer.is_error && answer.result.text().contains("found x"));
    toolbox.close().await;
}

#[tokio::test]
async fn live_faults_are_answers_that_are_errors() {
    let spec = || MockSpec::new("x").with_tool(tool("search"));
    for (fault, expected) in [
        ("error:-32007", r#""code":-32007"#),
        ("tool_error", r#""isError":true"#),
        ("hang", "timed out"),
        ("disconnect", "Disconnected"),
        ("hang,server=api", "timed out"),
    ] {
        let server = mock("api", &[fault], spec());
        let toolbox = LiveToolbox::connect(&[&server], &nothing(), 0)
            .await
            .unwrap();
        let timeout = Duration::from_millis(300);
        let answer = called(&toolbox, "api", &json!({}), timeout).await;
        assert!(answer.is_error, "{fault}");
        let text = answer.result.text();
        assert!(text.contains(expected), "{fault}: {text}");
        toolbox.close().await;
    }
}

#[tokio::test]
async fn a_server_that_is_gone_gives_errors_and_no_panic() {
    let server = mock(
        "api",
        &["disconnect,calls=1"],
        MockSpec::new("x").with_tool(tool("search")),
    );
    let toolbox = LiveToolbox::connect(&[&server], &nothing(), 0)
        .await
        .unwrap();
    for _ in 0..3 {
        let answer = called(&toolbox, "api", &json!({}), TIMEOUT).await;
        assert!(answer.is_error);
    }
    let answer = called(&toolbox, "other", &json!({}), TIMEOUT).await;
    assert!(answer.is_error);
    toolbox.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_an_error_of_the_environment() {
    let good = mock("good", &[], MockSpec::new("x"));
    let bad = plan(
        "bad",
        Reach::Server(Server::stdio("no-such-program-anywhere")),
    );
    let error = LiveToolbox::connect(&[&good, &bad], &nothing(), 0)
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains(r#"server "bad""#), "{error}");
    assert!(!error.hint.rendered().is_empty());
    let bad = plan("bad", Reach::Server(Server::http("http://127.0.0.1:9/mcp")));
    assert!(LiveToolbox::connect(&[&bad], &nothing(), 0).await.is_err());
    let unset = plan(
        "bad",
        Reach::Server(Server::stdio("x").arg("--token=${GONE}")),
    );
    let error = LiveToolbox::connect(&[&unset], &nothing(), 0)
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("GONE"), "{error}");
}

#[tokio::test]
async fn variables_are_filled_in_where_they_may_stand() {
    let mock = mcprove_servers::mock::Mock::new(
        MockSpec::new("x").with_tool(tool("search")),
        mcprove_servers::mock::MockOptions::default(),
    );
    let address = "127.0.0.1:0".parse().unwrap();
    let listening = mock
        .unwrap()
        .listen(mcprove_servers::mock::ListenerKind::Http, address)
        .await
        .unwrap();
    let url = listening.url().replace("/mcp", "/${WHERE}");
    let server = Server::http(url).header("authorization", "Bearer ${TOKEN}");
    let environment = Environment::new(|name| match name {
        "WHERE" => Some("mcp".to_owned()),
        "TOKEN" => Some("hunter2".to_owned()),
        _ => None,
    });
    let server = plan("api", Reach::Server(server));
    let toolbox = LiveToolbox::connect(&[&server], &environment, 0)
        .await
        .unwrap();
    assert_eq!(toolbox.tools().len(), 1);
    assert!(environment.secrets().contains("hunter2"));
    toolbox.close().await;
}
