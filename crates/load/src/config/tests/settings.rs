//! Servers, limits, sessions and output that are valid, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use mcprove_client::server::{Server, Transport};
use mcprove_client::session::ProtocolChoice;
use serde_json::json;

use super::super::{Format, LoadConfig, SessionSettings};
use super::{SERVER, SPECIFIED, scenario, toml, yaml};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_server_at_an_address() {
    let server = |lines: &str| {
        let config = toml(&format!(
            "[server]\n{lines}\n[scenario]\ntype = \"churn\"\n"
        ));
        (config.server.transport, !config.session.has_transport)
    };
    let url = |url: &str| (url.to_owned(), [("X-Team".into(), "a".into())].into());
    let headers = "headers = { X-Team = \"a\" }";
    let (http, headers_) = url("https://h/mcp");
    let address = format!("url = \"https://h/mcp\"\n{headers}");
    let transport = Transport::Http {
        url: http.clone(),
        headers: headers_,
    };
    assert_eq!(server(&address), (transport.clone(), true));
    let given = format!("{address}\ntransport = \"http\"");
    assert_eq!(server(&given), (transport, false));
    let (sse, headers_) = url("https://h/mcp");
    let transport = Transport::Sse {
        url: sse,
        headers: headers_,
    };
    let given = format!("{address}\ntransport = \"sse\"");
    assert_eq!(server(&given), (transport, false));
    let (ws, headers_) = url("wss://h/mcp");
    let transport = Transport::WebSocket {
        url: ws,
        headers: headers_,
    };
    assert_eq!(
        server(&format!("url = \"wss://h/mcp\"\n{headers}")).0,
        transport
    );
}

#[test]
fn a_command_may_be_a_list_and_variables_numbers() {
    let text = "[server]\ncommand = [\"python\", \"-m\"]\nargs = [\"my_mcp\"]\nenv = { PORT = 80, DEBUG = true }\n\
                startup_timeout = \"1m\"\nshutdown_timeout = \"0s\"\n[scenario]\ntype = \"churn\"\n";
    let server = Server::stdio("python")
        .args(["-m", "my_mcp"])
        .env("PORT", "80")
        .env("DEBUG", "true")
        .startup_timeout(60 * SECOND)
        .shutdown_timeout(Duration::ZERO);
    assert_eq!(toml(text).server, server);
}

#[test]
fn the_revision_may_stand_in_three_places() {
    let rest = scenario("type = \"churn\"");
    let choice: ProtocolChoice = "2025-06-18".parse().unwrap();
    let line = "protocol = \"2025-06-18\"\n";
    for text in [
        format!("{line}{rest}"),
        rest.replace("[scenario]", &format!("{line}[scenario]")),
        format!("{rest}[session]\n{line}"),
    ] {
        assert_eq!(toml(&text).session.protocol, choice, "{text}");
    }
    assert_eq!(toml(&rest).session.protocol, ProtocolChoice::Auto);
}

#[test]
fn the_session_and_the_output() {
    let text = format!(
        "{}[session]\nstrict_protocol = true\ncall_timeout = \"3s\"\nmax_frame = \"1MiB\"\naccept_requests = true\n\
         [output]\nreport_dir = \"/tmp/x\"\nformats = [\"html\", \"html\"]\ntrace = false\ntrace_value_bytes = 4096\n",
        scenario("type = \"churn\"")
    );
    let LoadConfig {
        session, output, ..
    } = toml(&text);
    assert!(session.strict_protocol && session.accept_requests == Some(true));
    assert_eq!(session.call_timeout, Some(3 * SECOND));
    assert_eq!(session.max_frame, Some(1024 * 1024));
    let options = session.options();
    assert_eq!(
        (options.call_timeout, options.max_frame),
        (Some(3 * SECOND), 1024 * 1024)
    );
    assert_eq!(output.report_dir, PathBuf::from("/tmp/x"));
    assert_eq!(output.formats, [Format::Html]);
    assert!(!output.trace);
    assert_eq!(output.trace_value_bytes, Some(4096));
    let defaults = toml(&scenario("type = \"churn\""));
    assert_eq!(defaults.output.formats, Format::ALL);
    assert!(defaults.output.trace);
}

#[test]
fn limits_tool_by_tool() {
    let text = format!(
        "{}[thresholds]\nerror_rate = 0\n[thresholds.tools.search]\np99_latency = \"1s\"\n\
         [thresholds.tools.\"a.b\"]\nerror_rate = 1\n",
        scenario("type = \"sustained\"")
    );
    let thresholds = toml(&text).thresholds;
    assert_eq!(thresholds.error_rate, Some(0.0));
    assert_eq!(thresholds.tools["search"].p99_latency, Some(SECOND));
    assert_eq!(thresholds.tools["a.b"].error_rate, Some(1.0));
}

#[test]
fn arguments_may_be_json() {
    let args = |value: &str| {
        let lines = format!("type = \"churn\"\n[[scenario.tool_call]]\nname = \"t\"\n{value}");
        toml(&scenario(&lines)).scenario.tool_calls[0].args.clone()
    };
    assert_eq!(args(""), json!(null));
    assert_eq!(args("args = {}"), json!({}));
    assert_eq!(args("args = '{\"a\": null}'"), json!({ "a": null }));
    let nested = "args = { a = [1, 2.5, { b = true }], day = 2026-06-19 }";
    assert_eq!(
        args(nested),
        json!({ "a": [1, 2.5, { "b": true }], "day": "2026-06-19" })
    );
}

#[test]
fn yaml_is_the_same() {
    let text = r"
server:
  command: python
  args: [-m, my_mcp]
  env: {LOG_LEVEL: warn}
  working_dir: /path/to/proj
  transport: stdio
  startup_timeout: 10s
scenario:
  type: sustained
  duration: 60s
  concurrent: 50
  tool_call:
    - name: get_market_data
      args: {ticker: AAPL}
      weight: 1.0
    - name: analyze_options
      args: {ticker: SPY, expiry: 2026-06-19}
      weight: 0.3
thresholds:
  p50_latency: 100ms
  p99_latency: 500ms
  error_rate: 0.01
  hang_timeout: 5s
  memory_growth_mb: 50
session:
output:
  report_dir: ./runs
  formats: [markdown, json, terminal]
";
    let mut specified = toml(SPECIFIED);
    specified.warnings.clear();
    assert_eq!(yaml(text), specified);
    let null = "server: {command: x}\nscenario: {type: churn, tool_call: [{name: t, args: {a: null, b: 'no', c: no}}]}\n";
    let args = yaml(null).scenario.tool_calls[0].args.clone();
    assert_eq!(args, json!({ "a": null, "b": "no", "c": "no" }));
}

#[test]
fn what_does_nothing_is_a_warning() {
    let warnings = |lines: &str| -> Vec<String> {
        let config = toml(&scenario(lines));
        config.warnings.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        warnings("type = \"sustained\"\nmax_in_flight = 5"),
        ["bench.toml:5:1: `max_in_flight` does nothing without `rate`"]
    );
    assert_eq!(
        warnings("type = \"ramp\"\nconcurrent = 5\nramp_to = 9"),
        ["bench.toml:5:1: ramp does not use `concurrent`, because `ramp_to` is given"]
    );
    let lines = "type = \"pattern\"\n[[scenario.tool_call]]\nname = \"a\"\n[[scenario.pattern]]\nname = \"p\"\nsteps = [{ tool = \"b\" }]";
    assert_eq!(warnings(lines).len(), 1);
    let text = format!("{SERVER}[scenario]\ntype = \"churn\"\n").replace('\n', "\r\n");
    assert!(toml(&text).warnings.is_empty());
    assert!(toml(&format!("\u{feff}{text}")).warnings.is_empty());
}

/// Of a call the words say more than the default does.
#[test]
fn the_default_of_a_call_is_in_its_words() {
    use mcprove_client::session::CallLimits;
    use mcprove_settings::setting::Settings;

    let mut session = SessionSettings::declared().iter();
    let words = session.find(|it| it.name == "call_timeout").unwrap();
    let (time, _) = words.default_words().split_once(';').unwrap();
    assert_eq!(time, CallLimits::CALL_TIMEOUT.default_words());
}
