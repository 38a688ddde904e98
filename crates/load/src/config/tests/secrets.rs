//! Secrets are not written down, and not run without.

use mcprove_client::server::Server;
use mcprove_settings::secret::REDACTED;

use super::super::LoadConfig;
use super::{scenario, toml, toml_errors};
use crate::drive::Scenario;

const SECRET: &str = "hunter2-planted";

fn written(server: Server) -> String {
    let text = LoadConfig::new(server, Scenario::churn()).to_toml();
    assert!(!text.contains(SECRET), "{text}");
    assert!(text.contains(REDACTED), "{text}");
    text
}

#[test]
fn planted_secrets_are_not_written() {
    for name in [
        "Authorization",
        "authorization",
        "Cookie",
        "X-Auth-Token",
        "x-api-key",
        "Client-Secret",
    ] {
        let server = Server::http("http://h/mcp").header(name, format!("Bearer {SECRET}"));
        let text = written(server.header("Accept-Language", "de"));
        assert!(text.contains("Accept-Language = \"de\""), "{text}");
    }
    for name in ["GITHUB_TOKEN", "OPENAI_API_KEY", "MY_SECRET", "db_password"] {
        let text = written(Server::stdio("x").env(name, SECRET).env("LOG", "warn"));
        assert!(text.contains("LOG = \"warn\""), "{text}");
    }
    written(Server::stdio("x").args(["--api-key", SECRET]));
    written(Server::stdio("x").env("DATABASE", format!("postgres://me:{SECRET}@db/x")));
    written(Server::http(format!("http://h/mcp?token={SECRET}")));
    written(Server::sse(format!("https://me:{SECRET}@h/sse")));
}

#[test]
fn a_variable_that_was_taken_out_is_left_to_the_environment() {
    let text = written(
        Server::stdio("x")
            .env("GITHUB_TOKEN", SECRET)
            .env("LOG", "warn"),
    );
    let config = toml(&text);
    assert_eq!(config.server, Server::stdio("x").env("LOG", "warn"));
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert!(
        config.warnings[0]
            .to_string()
            .contains("the value of GITHUB_TOKEN was taken out")
    );
}

#[test]
fn other_secrets_must_be_put_back() {
    for (server, message) in [
        (
            Server::http("http://h").header("Authorization", SECRET),
            "the value of the header Authorization was taken out",
        ),
        (
            Server::stdio("x").args(["--token", SECRET]),
            "a secret was taken out of `args`",
        ),
        (
            Server::http(format!("http://h/mcp?token={SECRET}")),
            "a secret was taken out of `url`",
        ),
    ] {
        let errors = toml_errors(&written(server));
        assert_eq!(errors.0[0].texts().0, message);
        let hint = errors.0[0].texts().1;
        assert_eq!(hint.as_deref(), Some("put the secret back in its place"));
    }
}

#[test]
fn a_wrong_secret_is_not_shown() {
    let url = "[server]\nurl = \"http://h\"\nheaders = ";
    let text = scenario("type = \"churn\"").replace(
        "[server]\ncommand = \"python\"",
        &format!("{url}{{ Authorization = \"{SECRET}\\n\" }}"),
    );
    let printed = toml_errors(&text).to_string();
    assert!(printed.starts_with("error: bench.toml:3:"), "{printed}");
    assert!(!printed.contains(SECRET), "{printed}");
}
